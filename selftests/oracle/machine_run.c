// SPDX-License-Identifier: GPL-2.0-only
/* What was executed: into the window where it was recorded, and the transfers that it made. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "machine_internal.h"
#include "opcode.h"

static enum privilege privilege_of(uint64_t pc)
{
	return oracle_is_kernel(pc) ? PRIVILEGE_S : PRIVILEGE_U;
}

bool run_recorded(const struct machine_hart *hart, enum privilege mode)
{
	return ctr_enabled(hart->ctr.control, mode) && !ctr_frozen(&hart->ctr);
}

int run_append(struct machine_hart *hart, struct step step)
{
	struct window *window = &hart->window;

	if (window->n + 2 > window->capacity) {
		size_t capacity = window->capacity ? 2 * window->capacity : 4096;
		struct step *more = reallocarray(window->steps, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		window->steps = more;
		window->capacity = capacity;
	}
	if (hart->broken && window->n)
		window->steps[window->n++] = (struct step){ .kind = STEP_BREAK };
	hart->broken = false;
	window->steps[window->n++] = step;
	return 0;
}

void run_own(struct machine *machine, struct machine_hart *hart)
{
	struct window *window = &hart->window;
	struct task *task = &machine->tasks[hart->task];

	if (window->task == NO_TASK)
		window->task = hart->task;
	window->one_task &= window->task == hart->task;
	if (!window->satp)
		window->satp = hart->satp;
	window->one_satp &= window->satp == hart->satp;
	task->satp = hart->satp;
	if (task->began == UINT64_MAX) {
		task->began = task->instructions;
		task->began_at = task->history.n;
	}
}

static int push(struct task *task, const struct transfer *transfer)
{
	if (task->frames == task->frames_capacity) {
		size_t capacity = task->frames_capacity ? 2 * task->frames_capacity : 256;
		struct frame *more = reallocarray(task->stack, capacity, sizeof(*more));

		if (!more)
			return -ENOMEM;
		task->stack = more;
		task->frames_capacity = capacity;
	}
	task->stack[task->frames++] = (struct frame){
		transfer->source, transfer->target, transfer->type,
	};
	return 0;
}

/* Smctr 6.4, but for a stack of any depth. */
static int call(struct task *task, const struct transfer *transfer)
{
	switch (transfer->type) {
	case TYPE_SWAP:
		task->frames -= task->frames > 0;
		return push(task, transfer);
	case TYPE_INDIRECT_CALL:
	case TYPE_DIRECT_CALL:
		return push(task, transfer);
	case TYPE_RETURN:
		task->frames -= task->frames > 0;
		return 0;
	default:
		return 0;
	}
}

int run_transfer(struct machine *machine, struct machine_hart *hart,
		 const struct transfer *transfer, bool optional, bool again, bool *recorded)
{
	struct origin origin = {
		.in_hart = hart->history.n,
		.step = hart->window.n - 1,
		.task = NO_TASK,
		.hart = hart - machine->harts,
	};
	int err = 0;

	if (transfer->from == PRIVILEGE_U) {
		struct task *task = &machine->tasks[hart->task];

		origin.task = hart->task;
		origin.in_task = task->history.n;
		err = history_add(&task->history, transfer, optional);
		if (!err)
			err = call(task, transfer);
	}
	if (optional && !again)
		hart->froze_at = origin;
	if (!err)
		err = history_add(&hart->history, transfer, optional);
	*recorded = ctr_record(&hart->ctr, transfer, &origin);
	return err;
}

static int contradiction(struct machine *machine, const struct step *step, uint64_t next)
{
	static char line[160];

	snprintf(line, sizeof(line), "the log contradicts itself, the plugin is wrong: 0x%" PRIx64
		 " (%08x) cannot be followed by 0x%" PRIx64, step->pc, step->opcode, next);
	machine->why = line;
	return -EBADMSG;
}

int run_complete(struct machine *machine, struct machine_hart *hart, uint64_t next)
{
	const struct step *last = &hart->last;
	unsigned int type = opcode_type(last->opcode);
	struct transfer made = {
		.source = last->pc,
		.target = next,
		.type = type,
		.from = privilege_of(last->pc),
		.to = privilege_of(next),
	};
	bool recorded;

	hart->has_last = false;
	if (!type || type == TYPE_TAKEN) {
		bool follows = next == last->pc + oracle_length(last->opcode);

		if (!type)
			return follows && !opcode_traps(last->opcode) ? 0 :
			       contradiction(machine, last, next);
		if (follows && !hart->last_taken)
			made.type = TYPE_NOT_TAKEN;
	}
	return run_transfer(machine, hart, &made, false, false, &recorded);
}

static int insn(struct machine *machine, struct machine_hart *hart, const struct step *step)
{
	enum privilege mode = privilege_of(step->pc);
	int err = 0;

	if (hart->has_last)
		err = run_complete(machine, hart, step->pc);
	hart->last = *step;
	hart->has_last = true;
	hart->last_taken = false;
	hart->last_recorded = run_recorded(hart, mode);
	if (err)
		return err;
	if (hart->last_recorded) {
		machine->counts.recorded++;
		err = run_append(hart, *step);
	}
	if (mode == PRIVILEGE_S) {
		machine->counts.kernel++;
		return err;
	}
	if (hart->last_recorded)
		run_own(machine, hart);
	else if (!run_recorded(hart, PRIVILEGE_S))
		hart->broken = true;
	machine->tasks[hart->task].instructions++;
	machine->counts.instructions++;
	return err;
}

int run_event(struct machine *machine, struct machine_hart *hart, const struct oracle_event *event)
{
	const struct oracle_piece *piece = &machine->code.pieces[event->field[0]];
	uint64_t pc = piece->address + oracle_unzigzag(event->field[1]);
	struct step step = { .kind = STEP_INSN };

	if (hart->task == NO_TASK && !oracle_is_kernel(pc)) {
		machine->why = "user mode runs, but which task is not known";
		return -EBADMSG;
	}
	for (uint64_t i = 0; i < event->field[3]; i++) {
		step.pc = pc;
		for (uint64_t j = 0; j < event->field[2]; j++) {
			int err;

			step.opcode = piece->opcodes[j];
			err = insn(machine, hart, &step);
			if (err)
				return err;
			step.pc += oracle_length(step.opcode);
		}
	}
	return 0;
}

void run_undo(struct machine *machine, struct machine_hart *hart)
{
	hart->has_last = false;
	if (opcode_traps(hart->last.opcode))
		return;
	if (hart->last_recorded) {
		hart->window.n--;
		machine->counts.recorded--;
	}
	if (oracle_is_kernel(hart->last.pc)) {
		machine->counts.kernel--;
	} else {
		machine->counts.instructions--;
		machine->tasks[hart->task].instructions--;
	}
}
