// SPDX-License-Identifier: GPL-2.0-only
/* Entries that leave a buffer and come back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "machine_internal.h"
#include "opcode.h"

int task_find(struct machine *machine, uint64_t pointer, uint32_t *task)
{
	for (uint32_t i = machine->n_tasks; i--;) {
		if (machine->tasks[i].pointer == pointer) {
			*task = i;
			return 0;
		}
	}
	if (machine->n_tasks == machine->tasks_capacity) {
		uint32_t capacity = machine->tasks_capacity ? 2 * machine->tasks_capacity : 64;
		struct task *more = reallocarray(machine->tasks, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		machine->tasks = more;
		machine->tasks_capacity = capacity;
	}
	*task = machine->n_tasks++;
	memset(&machine->tasks[*task], 0, sizeof(machine->tasks[*task]));
	machine->tasks[*task].pointer = pointer;
	machine->tasks[*task].began = UINT64_MAX;
	machine->tasks[*task].heir = NO_TASK;
	return 0;
}

static void begin_window(struct machine_hart *hart)
{
	hart->window.n = 0;
	hart->window.task = NO_TASK;
	hart->window.satp = 0;
	hart->window.one_task = hart->window.one_satp = true;
	hart->broken = false;
}

static bool same(const struct entry *a, const struct entry *b)
{
	return a->source == b->source && a->target == b->target && a->data == b->data;
}

/* The saved window comes before what the hart did since. */
static int join(struct machine_hart *hart, struct task *task)
{
	struct window *old = &task->saved_window, *new = &hart->window;
	bool kernel = hart->ctr.control & ORACLE_CONTROL_S;
	size_t n = old->n + kernel + new->n;
	struct step *steps;

	hart->restored = true;
	if (n > old->capacity) {
		steps = reallocarray(old->steps, n, sizeof(*steps));
		if (!steps)
			return -ENOMEM;
		old->steps = steps;
		old->capacity = n;
	}
	/* The scheduler's and the driver's own steps in between were not recorded. */
	if (kernel)
		old->steps[old->n] = (struct step){ .kind = STEP_BREAK };
	if (new->n)
		memcpy(old->steps + old->n + kernel, new->steps, new->n * sizeof(*steps));
	for (int i = 0; i < CTR_ENTRIES; i++)
		if (!hart->ctr.entries[i].written)
			hart->ctr.entries[i].origin.step += old->n + kernel;
	old->n = n;
	old->one_task &= new->one_task && (new->task == NO_TASK || old->task == NO_TASK ||
					   new->task == old->task);
	old->one_satp &= new->one_satp && (!new->satp || !old->satp || new->satp == old->satp);
	if (new->task != NO_TASK)
		old->task = new->task;
	if (new->satp)
		old->satp = new->satp;
	free(new->steps);
	*new = *old;
	memset(old, 0, sizeof(*old));
	return 0;
}

/* What a driver adds after another's overflow has frozen recording: the trap as it was. */
void entries_thaw(struct machine_hart *hart)
{
	struct entry *entry = ctr_entry(&hart->ctr, 0);

	if (!hart->froze || !entry->valid || !entry->written || entry->target ||
	    entry->source != hart->froze_pc || entry->data != TYPE_INTERRUPT)
		return;
	entry->origin = hart->froze_at;
	entry->written = false;
	if (entry->origin.step < hart->window.n)
		hart->window.steps[entry->origin.step].recorded = true;
}

/*
 * Who put entries in is known now: they must be the newest of what was saved for the task. Those
 * that are not stay `written`.
 */
int entries_bind(struct machine *machine, struct machine_hart *hart)
{
	struct task *task = hart->task == NO_TASK ? NULL : &machine->tasks[hart->task];
	unsigned int depth = ctr_depth(&hart->ctr), saved = task ? task->n_saved : 0;
	bool any = false;

	if (!hart->written)
		return 0;
	hart->written = false;
	for (unsigned int i = 0; i < depth; i++) {
		struct entry *entry = ctr_entry(&hart->ctr, i);

		if (!entry->valid || !entry->written)
			continue;
		if (saved && !hart->restored && same(entry, &task->saved[saved - 1])) {
			entry->origin = task->saved[--saved].origin;
			any = true;
		}
	}
	if (!any)
		return 0;
	machine->counts.restored += task->n_saved - saved;
	if (join(hart, task))
		return -ENOMEM;
	saved = task->n_saved;
	for (unsigned int i = 0; i < depth; i++) {
		struct entry *entry = ctr_entry(&hart->ctr, i);

		if (entry->valid && entry->written && saved &&
		    same(entry, &task->saved[saved - 1])) {
			entry->written = false;
			saved--;
		}
	}
	task->n_saved = 0;
	return 0;
}

int entries_clear(struct machine *machine, struct machine_hart *hart)
{
	int err = entries_bind(machine, hart);

	if (err)
		return err;
	for (unsigned int i = 0; i < ctr_depth(&hart->ctr); i++) {
		if (!ctr_entry(&hart->ctr, i)->valid || ctr_entry(&hart->ctr, i)->taken)
			continue;
		hart->dropped = true;
		if (hart->task != NO_TASK)
			machine->tasks[hart->task].dropped = true;
	}
	machine->counts.strays += !hart->window.one_task;
	ctr_clear(&hart->ctr);
	begin_window(hart);
	hart->restored = false;
	return history_mark(&hart->history);
}

static void fill(struct machine_hart *hart)
{
	struct drain *drain = &hart->drain;

	drain->nr = 0;
	drain->again = false;
	while (drain->nr < ctr_depth(&hart->ctr) && ctr_entry(&hart->ctr, drain->nr)->valid)
		drain->nr++;
	for (unsigned int i = 0; i < drain->nr; i++) {
		struct entry *entry = ctr_entry(&hart->ctr, drain->nr - 1 - i);

		drain->entries[i] = *entry;
		drain->again |= entry->taken;
	}
}

void machine_drain(struct machine *machine, struct machine_hart *hart)
{
	struct drain *drain = &hart->drain;

	fill(hart);
	drain->hart = hart - machine->harts;
	drain->offset = hart->log.offset;
	drain->window = &hart->window;
	drain->depth = ctr_depth(&hart->ctr);
	drain->control = hart->ctr.control;
	drain->task = hart->task;
	drain->unsure = hart->task != NO_TASK && machine->tasks[hart->task].exits &&
			machine->tasks[hart->task].satp != hart->satp;
	drain->in_task = hart->task == NO_TASK ? 0 : machine->tasks[hart->task].history.n;
	drain->user = hart->task == NO_TASK ? 0 : machine->tasks[hart->task].instructions;
	drain->in_hart = hart->history.n;
	drain->by_overflow = hart->froze && hart->overflowed;
	drain->by_breakpoint = hart->froze && hart->froze_by_breakpoint;
	drain->from_user = hart->froze && hart->froze_user;
	drain->ip = hart->froze_pc;
	drain->user_pc = hart->user_pc;
	/* The task went on after a breakpoint, unrecorded. */
	if (drain->by_breakpoint && hart->froze_at.task == drain->task) {
		drain->in_task = hart->froze_at.in_task;
		drain->in_hart = hart->froze_at.in_hart;
	}
}

static void set_taken(struct machine_hart *hart)
{
	for (unsigned int i = 0; i < hart->drain.nr; i++)
		ctr_entry(&hart->ctr, i)->taken = true;
}

void machine_sampled(struct machine *machine)
{
	struct machine_hart *hart = &machine->harts[machine->last_drained];

	set_taken(hart);
	begin_window(hart);
}

int machine_saved(struct machine *machine)
{
	struct machine_hart *hart = &machine->harts[machine->last_drained];
	struct task *task;

	if (hart->task == NO_TASK || !hart->drain.nr)
		return 0;
	task = &machine->tasks[hart->task];
	memcpy(task->saved, hart->drain.entries, hart->drain.nr * sizeof(task->saved[0]));
	task->n_saved = hart->drain.nr;
	free(task->saved_window.steps);
	task->saved_window = hart->window;
	memset(&hart->window, 0, sizeof(hart->window));
	set_taken(hart);
	begin_window(hart);
	return 0;
}
