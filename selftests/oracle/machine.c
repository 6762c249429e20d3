// SPDX-License-Identifier: GPL-2.0-only
/* Merges the logs of all harts by their stamps, and applies each event to its hart's state. */
#include "machine_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "opcode.h"

int machine_open(struct machine *machine, const char *prefix)
{
	int err;

	memset(machine, 0, sizeof(*machine));
	err = oracle_code_open(&machine->code, prefix);
	if (err)
		return err;
	while (machine->n < MACHINE_HARTS) {
		struct machine_hart *hart = &machine->harts[machine->n];

		err = oracle_hart_open(&hart->log, &machine->code, prefix, machine->n);
		if (err)
			break;
		hart->task = hart->window.task = NO_TASK;
		hart->window.one_task = hart->window.one_satp = true;
		machine->n++;
		err = oracle_hart_next(&hart->log, &hart->event);
		if (err < 0)
			break;
		hart->ended = !err;
	}
	if (err == -ENOENT && machine->n)
		err = 0;
	if (err < 0)
		machine_close(machine);
	return err < 0 ? err : 0;
}

void machine_close(struct machine *machine)
{
	for (unsigned int i = 0; i < machine->n; i++) {
		free(machine->harts[i].window.steps);
		history_free(&machine->harts[i].history);
		oracle_hart_close(&machine->harts[i].log);
	}
	for (uint32_t i = 0; i < machine->n_tasks; i++) {
		history_free(&machine->tasks[i].history);
		free(machine->tasks[i].stack);
		free(machine->tasks[i].saved_window.steps);
	}
	free(machine->tasks);
	oracle_code_close(&machine->code);
}

static int set_task(struct machine *machine, struct machine_hart *hart, uint64_t pointer)
{
	if (hart->task != NO_TASK && machine->tasks[hart->task].pointer == pointer)
		return 0;
	return task_find(machine, pointer, &hart->task);
}

/* In user mode. Who has called exit never comes back there: its memory is another task's now. */
static int set_user_task(struct machine *machine, struct machine_hart *hart, uint64_t pointer)
{
	int err = set_task(machine, hart, pointer);
	struct task *old, *new;
	uint32_t before;

	if (err || !machine->tasks[hart->task].exits)
		return err;
	before = hart->task;
	machine->tasks[before].pointer = 0;
	err = task_find(machine, pointer, &hart->task);
	if (err)
		return err;
	old = &machine->tasks[before];
	new = &machine->tasks[hart->task];
	old->heir = hart->task;
	/* What it did in the kernel before. */
	memcpy(new->saved, old->saved, sizeof(new->saved));
	new->n_saved = old->n_saved;
	new->saved_window = old->saved_window;
	old->n_saved = 0;
	memset(&old->saved_window, 0, sizeof(old->saved_window));
	return 0;
}

static void freeze(struct machine_hart *hart, const struct transfer *trap, bool breakpoint)
{
	hart->ctr.status |= ORACLE_STATUS_FROZEN;
	/* What comes after a breakpoint is not recorded: it stays the end. */
	hart->froze_by_breakpoint |= breakpoint;
	hart->froze = true;
	hart->overflowed = !breakpoint;
	hart->froze_user = trap->from == PRIVILEGE_U;
	hart->froze_pc = trap->source;
}

static int last_before_trap(struct machine *machine, struct machine_hart *hart, uint64_t from,
			    bool interrupt)
{
	if (!hart->has_last)
		return 0;
	if (!interrupt && hart->last.pc == from && !opcode_type(hart->last.opcode)) {
		run_undo(machine, hart);
		return 0;
	}
	return run_complete(machine, hart, from);
}

static int trap(struct machine *machine, struct machine_hart *hart,
		const struct oracle_event *event)
{
	uint64_t flags = event->field[0], from = event->field[1], cause = event->field[3];
	bool interrupt = flags & ORACLE_TRAP_INTERRUPT, again, recorded;
	bool freezes = oracle_freezes(hart->ctr.control, flags, cause);
	struct transfer made = {
		.source = from,
		.target = event->field[2],
		.type = interrupt ? TYPE_INTERRUPT : TYPE_EXCEPTION,
		.from = flags & ORACLE_TRAP_USER ? PRIVILEGE_U : PRIVILEGE_S,
		.to = flags & ORACLE_TRAP_MACHINE ? PRIVILEGE_M : PRIVILEGE_S,
	};
	bool seen = run_recorded(hart, made.from) || run_recorded(hart, made.to);
	struct step step = {
		.kind = STEP_TRAP,
		.pc = run_recorded(hart, made.from) ? from : 0,
		.interrupt = interrupt,
	};
	bool idle = interrupt && made.to == PRIVILEGE_S && cause != ORACLE_CAUSE_LCOFI &&
		    run_recorded(hart, PRIVILEGE_U);
	int err = last_before_trap(machine, hart, from, interrupt);

	if (!err)
		err = made.from == PRIVILEGE_U ? set_user_task(machine, hart, event->field[4]) :
						 set_task(machine, hart, event->field[4]);
	if (err)
		return err;
	if (made.from == PRIVILEGE_U) {
		hart->user_pc = from;
		err = entries_bind(machine, hart);
	}
	if (seen && !err)
		err = run_append(hart, step);
	if (seen && made.from == PRIVILEGE_U && step.pc)
		run_own(machine, hart);
	again = hart->froze;
	if (freezes)
		freeze(hart, &made, !interrupt);
	if (!err)
		err = run_transfer(machine, hart, &made, freezes, again, &recorded);
	machine->tasks[hart->task].exits |= !!(flags & ORACLE_TRAP_EXIT);
	if (seen && !err)
		hart->window.steps[hart->window.n - 1].recorded = recorded;
	if (made.from == PRIVILEGE_U) {
		hart->costing = freezes;
		hart->costs = (struct oracle_cost){};
		hart->costs_entries = 0;
		hart->idle = idle;
		hart->looked = false;
	} else if (interrupt && cause == ORACLE_CAUSE_LCOFI) {
		/* A counter's came meanwhile. */
		hart->idle = false;
	}
	return err;
}

static void add_cost(struct machine_hart *hart, const uint64_t counts[3])
{
	hart->costs.kernel += counts[0];
	hart->costs.module += counts[1];
	hart->costs.machine += counts[2];
}

static int returned(struct machine *machine, struct machine_hart *hart,
		    const struct oracle_event *event)
{
	struct machine_counts *counts = &machine->counts;
	int err = set_user_task(machine, hart, event->field[0]);

	if (err)
		return err;
	add_cost(hart, event->field + 1);
	if (hart->costing && hart->costs_entries) {
		counts->samples++;
		counts->cost.kernel += hart->costs.kernel;
		counts->cost.module += hart->costs.module;
		counts->cost.machine += hart->costs.machine;
		counts->entries_read += hart->costs_entries;
	}
	hart->costing = false;
	counts->interrupts += hart->idle;
	counts->looked += hart->idle && hart->looked;
	hart->idle = false;
	/*
	 * The kernel's last instruction was sret, if it was recorded; its target comes with the
	 * run.
	 */
	if (hart->has_last && opcode_type(hart->last.opcode) != TYPE_TRAP_RETURN)
		hart->has_last = false;
	return entries_bind(machine, hart);
}

static void add_entry(struct entry_cost *cost, uint64_t kernel)
{
	if (!cost->pairs || kernel < cost->least)
		cost->least = kernel;
	if (kernel > cost->most)
		cost->most = kernel;
	cost->kernel += kernel;
	cost->pairs++;
}

static void read_entry(struct machine *machine, struct machine_hart *hart, uint64_t kernel)
{
	/* A source alone is looked at to find out how many entries there are. */
	if (hart->draining && !hart->whole)
		hart->costs_entries -= hart->reads;
	if (!hart->draining || !hart->whole) {
		hart->draining = true;
		hart->reads = 0;
		hart->whole = false;
		hart->drain.ordered = true;
	} else {
		add_entry(&machine->counts.read, kernel);
	}
	hart->drain.ordered &= ctr_selected(&hart->ctr) == ctr_entry(&hart->ctr, hart->reads);
	hart->reads++;
	hart->costs_entries++;
}

static int read_csr(struct machine *machine, struct machine_hart *hart,
		    const struct oracle_event *event)
{
	int err = 0;

	add_cost(hart, event->field + 1);
	hart->looked = true;
	hart->since_entry += event->field[1];
	if (!ctr_selected(&hart->ctr))
		return 0;
	if (event->field[0] == ORACLE_SIREG) {
		if (!hart->draining)
			err = entries_bind(machine, hart);
		read_entry(machine, hart, hart->since_entry);
		hart->since_entry = 0;
	} else if (event->field[0] == ORACLE_SIREG2) {
		hart->whole = true;
	}
	return err;
}

/* The counts since the one before: between them only this entry's registers were written. */
static void put_back_entry(struct machine *machine, struct machine_hart *hart,
			   const struct oracle_event *event)
{
	add_cost(hart, event->field);
	if (hart->putting)
		add_entry(&machine->counts.put_back, event->field[0]);
	hart->putting = true;
}

/* Whether entries are put back on through this event. */
static bool puts_back(const struct oracle_event *event)
{
	switch (event->kind) {
	case ORACLE_COUNTS:
		return true;
	case ORACLE_WRITE:
		return event->field[0] >= ORACLE_SISELECT && event->field[0] <= ORACLE_SIREG3;
	default:
		return false;
	}
}

/* Kernel recording that begins has not seen what the kernel did before. */
static int write_csr(struct machine_hart *hart, const struct oracle_event *event)
{
	bool kernel = run_recorded(hart, PRIVILEGE_S);
	uint64_t csr = event->field[0];

	/* siselect selects others' registers as well. */
	hart->idle &= csr == ORACLE_SISELECT;
	if (csr == ORACLE_SATP) {
		hart->satp = (hart->satp & event->field[1]) | event->field[2];
		hart->costing = false;
		return 0;
	}
	if (csr == ORACLE_SCTRCTL)
		hart->costing = false;
	if (csr == ORACLE_SCTRSTATUS && hart->froze &&
	    !((event->field[1] | event->field[2]) & ORACLE_STATUS_FROZEN)) {
		entries_thaw(hart);
		hart->froze = hart->froze_by_breakpoint = hart->overflowed = false;
	}
	ctr_write(&hart->ctr, csr, event->field[1], event->field[2]);
	if (csr >= ORACLE_SIREG && csr <= ORACLE_SIREG3)
		hart->written = true;
	if (kernel == run_recorded(hart, PRIVILEGE_S))
		return 0;
	hart->has_last = false;
	if (kernel)
		return 0;
	hart->broken = true;
	return history_mark(&hart->history);
}

/* Whether a drain goes on through this event. */
static bool drains(const struct machine_hart *hart, const struct oracle_event *event)
{
	switch (event->kind) {
	case ORACLE_READ:
		return event->field[0] >= ORACLE_SIREG && event->field[0] <= ORACLE_SIREG3;
	case ORACLE_WRITE:
		return event->field[0] == ORACLE_SISELECT;
	default:
		return false;
	}
}

static int take(struct machine *machine, struct machine_hart *hart,
		const struct oracle_event *event)
{
	hart->putting &= puts_back(event);
	switch (event->kind) {
	case ORACLE_RUN:
		return run_event(machine, hart, event);
	case ORACLE_TRAP:
		return trap(machine, hart, event);
	case ORACLE_RETURN:
		return returned(machine, hart, event);
	case ORACLE_READ:
		return read_csr(machine, hart, event);
	case ORACLE_WRITE:
		return write_csr(hart, event);
	case ORACLE_CLEAR:
		add_cost(hart, event->field);
		hart->idle = false;
		return entries_clear(machine, hart);
	case ORACLE_TAKEN:
		hart->last_taken = true;
		return 0;
	case ORACLE_TASK:
		return set_task(machine, hart, event->field[0]);
	case ORACLE_COUNTS:
		put_back_entry(machine, hart, event);
		return 0;
	default:
		return 0;
	}
}

/* Whose event is next; NULL: nobody's. */
static struct machine_hart *earliest(struct machine *machine)
{
	struct machine_hart *first = NULL;

	for (unsigned int i = 0; i < machine->n; i++) {
		struct machine_hart *hart = &machine->harts[i];

		if (!hart->ended && (!first || hart->event.stamp < first->event.stamp))
			first = hart;
	}
	return first;
}

/* A look at one source alone is no drain, nor is finding nothing. */
static bool finish_drain(struct machine *machine, struct machine_hart *hart)
{
	hart->draining = false;
	if (!hart->whole && !(hart->reads == 1 && !ctr_entry(&hart->ctr, 0)->valid))
		return false;
	machine_drain(machine, hart);
	machine->last_drained = hart - machine->harts;
	machine->counts.drains += hart->drain.nr > 0;
	machine->counts.entries += hart->drain.nr;
	return true;
}

int machine_next(struct machine *machine, const struct drain **drain)
{
	struct machine_hart *hart;

	while ((hart = earliest(machine))) {
		int err;

		if (hart->draining && !drains(hart, &hart->event) && finish_drain(machine, hart)) {
			*drain = &hart->drain;
			return 1;
		}
		err = take(machine, hart, &hart->event);
		if (err)
			return err;
		err = oracle_hart_next(&hart->log, &hart->event);
		if (err < 0) {
			machine->why = "a hart's log is damaged";
			return err;
		}
		hart->ended = !err;
	}
	/* Nothing came after the last drain. */
	for (unsigned int i = 0; i < machine->n; i++) {
		if (machine->harts[i].draining && finish_drain(machine, &machine->harts[i])) {
			*drain = &machine->harts[i].drain;
			return 1;
		}
	}
	return 0;
}
