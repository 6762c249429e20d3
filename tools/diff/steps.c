// SPDX-License-Identifier: GPL-2.0-only
/* Passes batches of steps from the reading thread to the comparing one under a lock. */
#include "diff/steps.h"

#include "common/isa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- The reader's thread. --- */

/* Waits for a free batch. 0, -ECANCELED: nobody asks any more. */
static int wait_for_space(struct steps *steps)
{
	bool stopped;

	pthread_mutex_lock(&steps->lock);
	while (steps->filled - steps->emptied == STEPS_BATCHES && !steps->stopped)
		pthread_cond_wait(&steps->changed, &steps->lock);
	stopped = steps->stopped;
	pthread_mutex_unlock(&steps->lock);
	return stopped ? -ECANCELED : 0;
}

static void hand_over(struct steps *steps)
{
	pthread_mutex_lock(&steps->lock);
	steps->sizes[steps->filled % STEPS_BATCHES] = steps->at_fill;
	steps->filled++;
	pthread_cond_broadcast(&steps->changed);
	pthread_mutex_unlock(&steps->lock);
	steps->at_fill = 0;
}

/* Space for one more step; NULL: nobody asks any more. */
static struct step *new_step(struct steps *steps)
{
	if (steps->at_fill == STEPS_BATCH)
		hand_over(steps);
	if (!steps->at_fill && wait_for_space(steps))
		return NULL;
	return &steps->batches[steps->filled % STEPS_BATCHES][steps->at_fill++];
}

/* What comes next is where the damage is, and only that. */
static bool clear_damaged(struct steps *steps)
{
	bool damaged = steps->damaged;

	steps->damaged = false;
	return damaged;
}

/* Of what could not be read its reader makes such a gap; one that was written has no problem. */
static void detect_damage(struct steps *steps, const struct flowtap_element *element)
{
	uint64_t problems = steps->file->read.problems;

	if (element->kind != FLOWTAP_ELEMENT_GAP || element->gap.reason != FLOWTAP_GAP_BAD_RECORD ||
	    problems == steps->problems)
		return;
	steps->problems = problems;
	steps->damaged = true;
}

bool step_same_context(const struct flowtap_context *a, const struct flowtap_context *b)
{
	return a->pid == b->pid && a->tid == b->tid && a->cpu == b->cpu &&
	       a->mode == b->mode && a->security == b->security && a->vmid == b->vmid &&
	       a->contextid == b->contextid;
}

/*
 * Several contexts in a row are one, and one that says nothing new is none. Where the mode stands at
 * instructions it is the last one's until another comes.
 */
static int emit_context(struct steps *steps, bool instruction)
{
	struct flowtap_context context = steps->pending;
	struct step *step;

	if (instruction || steps->holds & FORMAT_HOLDS_MODE_APART) {
		steps->has_pending = false;
	} else {
		context.mode = steps->context.mode;
		context.security = steps->context.security;
	}
	if (step_same_context(&context, &steps->context))
		return 0;
	step = new_step(steps);
	if (!step)
		return -ECANCELED;
	steps->context = context;
	/* Damage may be before it or after: what follows is marked as well. */
	*step = (struct step){ .kind = STEP_CONTEXT, .damaged = steps->damaged,
			       .context = steps->context };
	return 0;
}

static void handle_context(struct steps *steps, const struct flowtap_context *context)
{
	struct flowtap_context *pending = &steps->pending;

	*pending = *context;
	if (!(steps->holds & FORMAT_HOLDS_TASK))
		pending->pid = pending->tid = 0;
	if (!(steps->holds & FORMAT_HOLDS_CPU))
		pending->cpu = 0;
	if (!(steps->holds & FORMAT_HOLDS_MODE))
		pending->mode = 0;
	if (!(steps->holds & FORMAT_HOLDS_SECURITY))
		pending->security = 0;
	if (!(steps->holds & FORMAT_HOLDS_IDS))
		pending->vmid = 0, pending->contextid = 0;
	steps->has_pending = true;
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct steps *steps = (struct steps *)sink;
	uint32_t offset = 0;

	(void)taken;
	(void)target;
	if (steps->has_pending && emit_context(steps, true))
		return -ECANCELED;
	while (offset < block->size) {
		size_t size = isa_length((enum flowtap_isa)block->isa, block->bytes + offset,
					 block->size - offset);
		struct step *step = size ? new_step(steps) : NULL;
		uint32_t opcode = 0;

		if (!step)
			return size ? -ECANCELED : -EINVAL;
		memcpy(&opcode, block->bytes + offset, size);
		*step = (struct step){
			.kind = STEP_INSTRUCTION,
			.isa = block->isa,
			.size = (uint8_t)size,
			.damaged = clear_damaged(steps),
			.opcode = opcode,
			.address = block->address + offset,
		};
		offset += (uint32_t)size;
	}
	return 0;
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct steps *steps = (struct steps *)sink;
	struct step *step;

	detect_damage(steps, element);
	if (!(steps->holds & 1ULL << element->kind))
		return 0;
	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		handle_context(steps, &element->context);
		return 0;
	}
	if (element->kind != FLOWTAP_ELEMENT_GAP && element->kind != FLOWTAP_ELEMENT_EXCEPTION)
		return 0;
	if (steps->has_pending && emit_context(steps, false))
		return -ECANCELED;
	step = new_step(steps);
	if (!step)
		return -ECANCELED;
	if (element->kind == FLOWTAP_ELEMENT_GAP)
		*step = (struct step){ .kind = STEP_GAP, .damaged = clear_damaged(steps),
				       .gap.reason = element->gap.reason };
	else
		*step = (struct step){ .kind = STEP_EXCEPTION, .damaged = clear_damaged(steps),
				       .exception = element->exception };
	return 0;
}

static void *run(void *argument)
{
	struct steps *steps = argument;
	int error = tracefile_read(steps->file, &steps->sink);

	if (steps->at_fill)
		hand_over(steps);
	pthread_mutex_lock(&steps->lock);
	steps->error = error == -ECANCELED ? 0 : error;
	steps->ended = true;
	pthread_cond_broadcast(&steps->changed);
	pthread_mutex_unlock(&steps->lock);
	return NULL;
}

/* --- Whoever asks. --- */

int steps_begin(struct steps *steps, struct tracefile *file, uint64_t holds)
{
	int error;

	*steps = (struct steps){
		.sink = { .block = handle_block, .element = handle_element },
		.file = file,
		.holds = holds,
	};
	pthread_mutex_init(&steps->lock, NULL);
	pthread_cond_init(&steps->changed, NULL);
	for (size_t i = 0; i < STEPS_BATCHES; i++) {
		steps->batches[i] = malloc(STEPS_BATCH * sizeof(struct step));
		if (!steps->batches[i])
			return -ENOMEM;
	}
	error = pthread_create(&steps->thread, NULL, run, steps);
	steps->started = !error;
	return -error;
}

/* A batch that is full; false: there is none any more. */
static bool wait_for_batch(struct steps *steps)
{
	bool there;

	pthread_mutex_lock(&steps->lock);
	while (steps->filled == steps->emptied && !steps->ended)
		pthread_cond_wait(&steps->changed, &steps->lock);
	there = steps->filled != steps->emptied;
	pthread_mutex_unlock(&steps->lock);
	return there;
}

static void give_back(struct steps *steps)
{
	pthread_mutex_lock(&steps->lock);
	steps->emptied++;
	pthread_cond_broadcast(&steps->changed);
	pthread_mutex_unlock(&steps->lock);
	steps->at = 0;
}

const struct step *steps_next(struct steps *steps)
{
	/* The batch that is read stays the reader's until all of it was taken. */
	if (steps->at && steps->at == steps->sizes[steps->emptied % STEPS_BATCHES])
		give_back(steps);
	if (!steps->at && !wait_for_batch(steps))
		return NULL;
	return &steps->batches[steps->emptied % STEPS_BATCHES][steps->at++];
}

bool steps_damaged(const struct steps *steps, const struct step *step)
{
	return step ? step->damaged : steps->damaged || steps->file->read.truncated;
}

void steps_end(struct steps *steps)
{
	if (steps->started) {
		pthread_mutex_lock(&steps->lock);
		steps->stopped = true;
		pthread_cond_broadcast(&steps->changed);
		pthread_mutex_unlock(&steps->lock);
		pthread_join(steps->thread, NULL);
	}
	for (size_t i = 0; i < STEPS_BATCHES; i++)
		free(steps->batches[i]);
	pthread_mutex_destroy(&steps->lock);
	pthread_cond_destroy(&steps->changed);
}
