// SPDX-License-Identifier: GPL-2.0-only
#include "steps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opcode.h"

#define CONTROL_U (1ULL << 0)
#define CONTROL_STE (1ULL << 8)
#define CONTROL_LCOFIFRZ (1ULL << 12)
#define STATUS_FROZEN (1ULL << 31)
#define SELECT_CTR 0x200

int steps_open(struct steps *steps, const struct truth_code *code, const char *prefix,
	       unsigned int hart)
{
	memset(steps, 0, sizeof(*steps));
	steps->one_task = steps->one_satp = true;
	steps->counts.entry_least = UINT64_MAX;
	return truth_hart_open(&steps->hart, code, prefix, hart);
}

void steps_close(struct steps *steps)
{
	free(steps->steps);
	free(steps->tasks);
	truth_hart_close(&steps->hart);
}

static bool recording(const struct steps *steps)
{
	return (steps->control & CONTROL_U) && !steps->frozen;
}

static int append(struct steps *steps, struct step step)
{
	if (steps->n == steps->room) {
		size_t room = steps->room ? 2 * steps->room : 65536;
		struct step *more = reallocarray(steps->steps, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		steps->steps = more;
		steps->room = room;
	}
	steps->steps[steps->n++] = step;
	steps->drained = false;
	return 0;
}

/* The task's entry, made if it is new; NULL: no memory. */
static struct ran *task_of(struct steps *steps, uint64_t task)
{
	for (size_t i = steps->n_tasks; i--;)
		if (steps->tasks[i].task == task)
			return &steps->tasks[i];
	if (steps->n_tasks == steps->room_tasks) {
		size_t room = steps->room_tasks ? 2 * steps->room_tasks : 64;
		struct ran *more = reallocarray(steps->tasks, room, sizeof(*more));

		if (!more)
			return NULL;
		steps->tasks = more;
		steps->room_tasks = room;
	}
	steps->tasks[steps->n_tasks] = (struct ran){ .task = task };
	return &steps->tasks[steps->n_tasks++];
}

/* Whether CTR records step i (but for types that are filtered out). */
static bool transfers(const struct steps *steps, size_t i)
{
	const struct step *step = &steps->steps[i];
	unsigned int type;

	if (step->kind != STEP_INSN)
		return step->recorded;
	type = opcode_type(step->opcode);
	if (type != TYPE_TAKEN || i + 1 == steps->n)
		return type;
	return step->pc + truth_length(step->opcode) != step[1].pc;
}

/* SCTRCLR: what was not drained is lost to its task. */
static int clear(struct steps *steps)
{
	for (size_t i = 0; i < steps->n && !steps->drained; i++) {
		struct ran *ran;

		if (!transfers(steps, i))
			continue;
		ran = task_of(steps, steps->window_task);
		if (!ran)
			return -ENOMEM;
		ran->lost = true;
		break;
	}
	steps->n = 0;
	steps->window_task = steps->window_satp = 0;
	steps->one_task = steps->one_satp = true;
	return 0;
}

static int run(struct steps *steps, const struct truth_piece *piece, uint64_t pc, uint64_t n)
{
	struct step step = { .kind = STEP_INSN, .pc = pc };
	int err;

	steps->counts.instructions += n;
	steps->ran = n > 0;
	for (uint64_t i = 0; i < n; i++) {
		step.opcode = piece->opcodes[i];
		steps->last = step;
		if (recording(steps)) {
			err = append(steps, step);
			if (err)
				return err;
			steps->counts.recorded++;
		}
		step.pc += truth_length(step.opcode);
	}
	if (!recording(steps) && steps->n && steps->steps[steps->n - 1].kind != STEP_BREAK)
		return append(steps, (struct step){ .kind = STEP_BREAK });
	if (recording(steps)) {
		if (!steps->window_satp)
			steps->window_satp = steps->satp;
		steps->one_satp &= steps->window_satp == steps->satp;
	}
	return 0;
}

static int run_event(struct steps *steps, const struct truth_event *event)
{
	const struct truth_piece *piece = &steps->hart.code->pieces[event->field[0]];
	uint64_t pc = piece->address + truth_unzigzag(event->field[1]);
	int err = 0;

	if (steps->drained && steps->n) {
		steps->counts.uncleared++;
		err = clear(steps);
	}
	for (uint64_t i = 0; i < event->field[3] && !err; i++)
		err = run(steps, piece, pc, event->field[2]);
	return err;
}

/* The instruction that raised the exception was told but did not complete. */
static void undo_last(struct steps *steps, uint64_t pc)
{
	if (!steps->ran || steps->last.pc != pc || opcode_traps(steps->last.opcode) ||
	    opcode_type(steps->last.opcode))
		return;
	steps->counts.instructions--;
	if (recording(steps)) {
		steps->n--;
		steps->counts.recorded--;
	}
}

static int trap(struct steps *steps, const struct truth_event *event)
{
	uint64_t from = event->field[1], to = event->field[2], task = event->field[4];
	bool interrupt = event->field[0] & TRUTH_TRAP_INTERRUPT;
	bool user = event->field[0] & TRUTH_TRAP_USER;
	bool lcofi = interrupt && event->field[3] == TRUTH_CAUSE_LCOFI &&
		     (steps->control & CONTROL_LCOFIFRZ);
	struct step step = { .kind = STEP_TRAP, .pc = from, .interrupt = interrupt };
	int err = 0;

	if (user) {
		if (!interrupt)
			undo_last(steps, from);
		step.recorded = !lcofi && truth_is_kernel(to) && (steps->control & CONTROL_STE);
		if (recording(steps)) {
			err = append(steps, step);
			if (!steps->window_task)
				steps->window_task = task;
			if (steps->window_task != task) {
				steps->counts.strays += steps->one_task;
				steps->one_task = false;
			}
		} else if (steps->ran) {
			struct ran *ran = task_of(steps, task);

			if (!ran)
				return -ENOMEM;
			ran->lost = true;
		}
		steps->costing = lcofi;
		steps->cost = (struct truth_cost){};
		steps->cost_entries = 0;
	}
	if (lcofi) {
		steps->frozen = true;
		steps->frozen_in_user = user;
	}
	return err;
}

static void add_cost(struct steps *steps, const uint64_t counts[3])
{
	steps->cost.kernel += counts[0];
	steps->cost.module += counts[1];
	steps->cost.machine += counts[2];
}

static void entry(struct steps *steps, uint64_t kernel)
{
	struct drain *drain = &steps->drain;

	if (!steps->draining && !steps->asked)
		return;
	if (!steps->draining) {
		steps->draining = true;
		*drain = (struct drain){
			.offset = steps->hart.offset,
			.ordered = true,
			.by_overflow = steps->frozen,
			.from_user = steps->frozen && steps->frozen_in_user,
		};
	} else {
		struct steps_counts *counts = &steps->counts;

		counts->entry_pairs++;
		counts->entry_cost += kernel;
		if (kernel < counts->entry_least)
			counts->entry_least = kernel;
		if (kernel > counts->entry_most)
			counts->entry_most = kernel;
	}
	drain->ordered &= steps->select == SELECT_CTR + drain->reads;
	drain->reads++;
	steps->counts.entries++;
	steps->cost_entries++;
}

static void csr_write(struct steps *steps, const struct truth_event *event)
{
	uint64_t keep = event->field[1], set = event->field[2];

	switch (event->field[0]) {
	case TRUTH_SCTRCTL:
		steps->control = (steps->control & keep) | set;
		steps->costing = false;
		break;
	case TRUTH_SCTRSTATUS:
		if (!(keep & STATUS_FROZEN))
			steps->frozen = false;
		if (set & STATUS_FROZEN)
			steps->frozen = true;
		break;
	case TRUTH_SISELECT:
		steps->select = (steps->select & keep) | set;
		break;
	case TRUTH_SATP:
		steps->satp = (steps->satp & keep) | set;
		steps->costing = false;
		break;
	}
}

static void returned(struct steps *steps)
{
	struct steps_counts *counts = &steps->counts;

	if (steps->costing && steps->cost_entries) {
		counts->samples++;
		counts->cost.kernel += steps->cost.kernel;
		counts->cost.module += steps->cost.module;
		counts->cost.machine += steps->cost.machine;
		counts->entries_read += steps->cost_entries;
	}
	steps->costing = false;
}

static bool is_ctr(const struct steps *steps)
{
	return steps->select >= SELECT_CTR && steps->select < SELECT_CTR + 256;
}

/* Whether a drain goes on through this event. */
static bool drains(const struct steps *steps, const struct truth_event *event)
{
	switch (event->kind) {
	case TRUTH_READ:
		return event->field[0] == TRUTH_SCTRSTATUS || is_ctr(steps);
	case TRUTH_WRITE:
		return event->field[0] == TRUTH_SISELECT;
	default:
		return false;
	}
}

static int take(struct steps *steps, const struct truth_event *event)
{
	int err = 0;

	if (!drains(steps, event))
		steps->asked = false;
	switch (event->kind) {
	case TRUTH_RUN:
		return run_event(steps, event);
	case TRUTH_TRAP:
		err = trap(steps, event);
		break;
	case TRUTH_RETURN:
		add_cost(steps, event->field);
		returned(steps);
		break;
	case TRUTH_READ:
		add_cost(steps, event->field + 1);
		if (event->field[0] == TRUTH_SCTRSTATUS)
			steps->asked = true;
		else if (event->field[0] == TRUTH_SIREG && is_ctr(steps))
			entry(steps, event->field[1]);
		break;
	case TRUTH_WRITE:
		csr_write(steps, event);
		break;
	case TRUTH_CLEAR:
		add_cost(steps, event->field);
		err = clear(steps);
		break;
	default:
		break;
	}
	steps->ran = false;
	return err;
}

static int finish_drain(struct steps *steps, struct drain *drain)
{
	struct ran *ran = task_of(steps, steps->window_task);

	if (!ran)
		return -ENOMEM;
	steps->draining = false;
	steps->drained = true;
	steps->counts.drains++;
	steps->drain.steps = steps->steps;
	steps->drain.n = steps->n;
	steps->drain.control = steps->control;
	steps->drain.task = steps->window_task;
	steps->drain.satp = steps->window_satp;
	steps->drain.one_task = steps->one_task;
	steps->drain.one_satp = steps->one_satp;
	steps->drain.lost = ran->lost;
	ran->lost = false;
	*drain = steps->drain;
	return 1;
}

int steps_next(struct steps *steps, struct drain *drain)
{
	for (;;) {
		int err;

		if (!steps->pending) {
			err = truth_hart_next(&steps->hart, &steps->event);
			if (err < 0)
				return err;
			if (!err)
				steps->event.kind = TRUTH_END;
		}
		steps->pending = false;
		if (steps->draining && !drains(steps, &steps->event)) {
			steps->pending = true;
			return finish_drain(steps, drain);
		}
		if (steps->event.kind == TRUTH_END) {
			steps->pending = true;
			return 0;
		}
		err = take(steps, &steps->event);
		if (err)
			return err;
	}
}
