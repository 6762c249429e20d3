// SPDX-License-Identifier: GPL-2.0-only
/*
 * Passes blocks and elements on only while the context is the one asked for, and lists the
 * threads and CPUs it sees.
 */
#include "decode/pick.h"

#include "common/tool.h"

#include <flowtap/block.h>
#include <string.h>

/* --- What there is. --- */

void pick_add(struct pick_list *list, uint32_t number)
{
	size_t at = 0;

	while (at < list->n && list->numbers[at] < number)
		at++;
	if (at < list->n && list->numbers[at] == number)
		return;
	if (list->n == PICK_LISTED) {
		list->more = true;
		return;
	}
	memmove(&list->numbers[at + 1], &list->numbers[at],
		(list->n - at) * sizeof(list->numbers[0]));
	list->numbers[at] = number;
	list->n++;
}

void pick_advise(const struct pick_list *list, const char *what)
{
	char line[PICK_LISTED * 12 + 1] = "";
	size_t size = 0;

	for (size_t i = 0; i < list->n; i++)
		size += (size_t)snprintf(line + size, sizeof(line) - size, "%s%u", i ? ", " : "",
					 list->numbers[i]);
	if (list->n)
		advise("%s: %s%s", what, line, list->more ? " and others" : "");
}

void pick_nothing(const struct pick *pick, const char *input)
{
	if (pick->tid && pick->one_cpu)
		complain("'%s' has no trace of thread %u on CPU %u", input, pick->tid, pick->cpu);
	else if (pick->tid)
		complain("'%s' has no trace of thread %u", input, pick->tid);
	else
		complain("'%s' has no trace of CPU %u", input, pick->cpu);
	if (pick->tid)
		pick_advise(&pick->threads, "threads that it has");
	if (pick->one_cpu)
		pick_advise(&pick->cpus, "CPUs that it has");
}

/* --- The sink. --- */

bool pick_some(const struct pick *pick)
{
	return pick->tid || pick->one_cpu;
}

bool pick_meet(struct pick *pick, uint32_t tid, uint32_t cpu)
{
	bool picked = (!pick->tid || tid == pick->tid) && (!pick->one_cpu || cpu == pick->cpu);

	if (tid)
		pick_add(&pick->threads, tid);
	pick_add(&pick->cpus, cpu);
	pick->here |= picked;
	pick->found |= picked;
	return picked;
}

static int mark_others(struct pick *pick)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = FLOWTAP_GAP_SWITCH,
			.size = UINT64_MAX,
			.detail = "other threads ran",
		},
	};

	return pick->next->element(pick->next, &gap);
}

/* A context comes before the first element of each task on each CPU. */
static int choose(struct pick *pick, const struct flowtap_context *context)
{
	bool before = pick->here, was_other = pick->other;

	pick->other = !pick_meet(pick, context->tid, context->cpu);
	if (pick->marks_others && before && was_other && !pick->other)
		return mark_others(pick);
	return 0;
}

static int handle_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	struct pick *pick = (struct pick *)sink;

	if (!pick->other)
		return pick->next->block(pick->next, block, taken, target);
	((struct flowtap_block *)block)->executed--;
	return 0;
}

static int handle_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct pick *pick = (struct pick *)sink;
	int error = 0;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT)
		error = choose(pick, &element->context);
	return error || pick->other ? error : pick->next->element(pick->next, element);
}

void pick_begin(struct pick *pick, bool hand_on)
{
	pick->other = !hand_on;
	pick->here = false;
}

void pick_init(struct pick *pick, struct flowtap_sink *next, uint32_t tid, const uint32_t *cpu)
{
	*pick = (struct pick){
		.sink = { .block = handle_block, .element = handle_element },
		.next = next,
		.tid = tid,
		.cpu = cpu ? *cpu : 0,
		.one_cpu = cpu,
		.other = tid || cpu,
	};
}
