// SPDX-License-Identifier: GPL-2.0-only
#include "transfers.h"

#include <errno.h>
#include <stdlib.h>

#include "opcode.h"

#define CONTROL_NTBREN (1ULL << 36)

static int add(struct transfers *transfers, struct transfer transfer)
{
	if (transfers->n == transfers->room) {
		size_t room = transfers->room ? 2 * transfers->room : 4096;
		struct transfer *more = reallocarray(transfers->list, room, sizeof(*more));

		if (!more)
			return -ENOMEM;
		transfers->list = more;
		transfers->room = room;
	}
	transfers->list[transfers->n++] = transfer;
	return 0;
}

/* sctrctl's inhibit bits stand at 32 + type; of not-taken branches it is an enable bit. */
static bool filtered(uint64_t control, unsigned int type)
{
	if (type == TYPE_NOT_TAKEN)
		return !(control & CONTROL_NTBREN);
	return control >> (32 + type) & 1;
}

static int of_insn(struct transfers *transfers, const struct drain *drain, size_t i)
{
	const struct step *step = &drain->steps[i], *next = step + 1;
	uint64_t after = step->pc + truth_length(step->opcode);
	unsigned int type = opcode_type(step->opcode);
	uint64_t target = next->pc;

	if (i + 1 == drain->n || next->kind == STEP_BREAK)
		return -EBADMSG;
	if (opcode_traps(step->opcode)) {
		bool its_trap = next->kind == STEP_TRAP && !next->interrupt && target == step->pc;

		return its_trap ? 0 : -EBADMSG;
	}
	if (!type)
		return target == after ? 0 : -EBADMSG;
	if (type == TYPE_TAKEN && target == after)
		type = TYPE_NOT_TAKEN;
	if (filtered(drain->control, type))
		return 0;
	return add(transfers, (struct transfer){ step->pc, target, i, type });
}

int transfers_make(struct transfers *transfers, const struct drain *drain, size_t *bad)
{
	int err = 0;

	transfers->n = 0;
	for (size_t i = 0; i < drain->n && !err; i++) {
		const struct step *step = &drain->steps[i];

		*bad = i;
		if (step->kind == STEP_INSN)
			err = of_insn(transfers, drain, i);
		else if (step->kind == STEP_TRAP && step->recorded)
			err = add(transfers, (struct transfer){ step->pc, 0, i,
				step->interrupt ? TYPE_INTERRUPT : TYPE_EXCEPTION });
	}
	return err;
}

void transfers_free(struct transfers *transfers)
{
	free(transfers->list);
}
