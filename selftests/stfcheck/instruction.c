// SPDX-License-Identifier: GPL-2.0-only
/* The rules of an opcode and what was said of it: where it goes, and in which mode. */
#include "opcode.h"
#include "state.h"

/* Where the instruction goes, by its opcode, against where its records say. */
static int check_transfer(struct state *state, enum opcode_kind kind, uint64_t target)
{
	const struct group *group = &state->group;

	if (kind == OPCODE_BAD)
		return bad(state, "opcode %#x in a record of %u bytes", state->insn.opcode,
			   state->insn.size);
	if (group->target && (kind == OPCODE_PLAIN || kind == OPCODE_TRAP))
		return bad(state, "INST_PC_TARGET on %#x, which cannot branch", state->insn.opcode);
	if (group->target && (kind == OPCODE_BRANCH || kind == OPCODE_JUMP) &&
	    group->target_pc != target)
		return bad(state, "INST_PC_TARGET %#llx, but %#x at %#llx goes to %#llx",
			   (unsigned long long)group->target_pc, state->insn.opcode,
			   (unsigned long long)state->insn.pc, (unsigned long long)target);
	if (!group->target && !group->trap &&
	    (kind == OPCODE_JUMP || (kind == OPCODE_INDIRECT && riscv(state))))
		return bad(state, "unconditional jump %#x without INST_PC_TARGET",
			   state->insn.opcode);
	return 0;
}

static enum opcode_arm arm_of(const struct stfcheck_insn *insn)
{
	return insn->arm == 64 ? ARM_A64 : insn->arm == 32 ? ARM_A32 : insn->arm ? ARM_T32 :
								       ARM_UNKNOWN;
}

/*
 * Whether the group's change of mode holds for the instruction itself already. Of two the first
 * does.
 */
static bool at_once(const struct state *state, enum opcode_kind kind)
{
	const struct stfcheck_insn *insn = &state->insn;
	bool returns = kind == OPCODE_RETURN ||
		       (!riscv(state) && opcode_arm_returns(arm_of(insn), insn->opcode));

	return state->group.modes == 2 || (!insn->index && !returns) ||
	       (state->group.forces && !returns && !state->group.trap);
}

/* Of Arm's traces. */
static int check_our_arm(struct state *state, const struct stfcheck_insn *insn)
{
	if (!insn->arm)
		return bad(state, "no comment says what ISA it is");
	if (insn->mode != state->level)
		return bad(state, "mode %u, but EL%u", insn->mode, state->level);
	if (state->group.trap)
		return bad(state, "an EVENT with a cause, which Arm has not");
	return 0;
}

/* By the last EVENT that says it, or the last comment since. */
static uint8_t mode_of(const struct state *state)
{
	return riscv(state) && state->level != MODE_UNKNOWN ? state->level : state->insn.mode;
}

/* Our own traps and modes. */
static int check_ours(struct state *state, enum opcode_kind kind)
{
	const struct stfcheck_insn *insn = &state->insn;
	const struct group *group = &state->group;
	bool kernel = insn->pc >> 63, ecall = insn->opcode == 0x73;

	if (!state->check->strict)
		return 0;
	if (!riscv(state))
		return check_our_arm(state, insn);
	if (mode_of(state) != kernel)
		return bad(state, "mode %u at %#llx", mode_of(state), (unsigned long long)insn->pc);
	if (!group->trap)
		return 0;
	if (kind != OPCODE_TRAP || group->cause != (ecall ? 8U + kernel : 3U))
		return bad(state, "exception %llu on %#x", (unsigned long long)group->cause,
			   insn->opcode);
	if (!group->event_target || !(group->event_pc >> 63))
		return bad(state, "a trap without a handler in the kernel");
	return 0;
}

static int check_mode(struct state *state, enum opcode_kind kind)
{
	const struct group *group = &state->group;
	bool forced = group->forces, begins = !state->insn.index;

	if (state->check->strict && begins && (group->mode == MODE_UNKNOWN || !group->processes))
		return bad(state, "no MODE_CHANGE or PROCESS_ID_EXT before the first instruction");
	if (group->modes == 2 && !forced && !begins && group->before != state->insn.mode)
		return bad(state, "a switch to mode %u without FORCE_PC", group->before);
	/* An EVENT that changes to user mode breaks the rule even if it is that already. */
	if (group->mode == MODE_UNKNOWN || begins ||
	    (group->mode == state->insn.mode && (group->mode || !riscv(state))) ||
	    kind == OPCODE_RETURN || kind == OPCODE_ANY)
		return 0;
	if (!group->mode && (riscv(state) || !forced))
		return bad(state, "a switch to user mode on %#x, no xRET", state->insn.opcode);
	if (!group->trap && !forced)
		return bad(state, "a switch to mode %u without a trap or xRET", group->mode);
	return 0;
}

static int check_force(struct state *state)
{
	const struct group *group = &state->group;

	if (state->lost && !group->forces)
		return bad(state, "no FORCE_PC after an instruction that went nobody knows where");
	if (state->check->strict && group->forces && !group->comments && !group->processes)
		return bad(state, "FORCE_PC, and nothing says why");
	return 0;
}

static void count(struct state *state, enum opcode_kind kind)
{
	struct stfcheck_counts *counts = &state->check->counts;

	counts->instructions++;
	counts->taken += state->group.target;
	counts->not_taken += kind == OPCODE_BRANCH && !state->group.target && !state->group.trap;
	if (mode_of(state) < 4)
		counts->modes[mode_of(state)]++;
}

/* target: of direct branches. */
static enum opcode_kind kind_of(const struct state *state, uint64_t *target)
{
	const struct stfcheck_insn *insn = &state->insn;
	enum opcode_kind kind;
	int64_t offset;

	if (!riscv(state))
		return opcode_arm_kind(arm_of(insn), insn->opcode, insn->size, insn->pc, target);
	kind = opcode_kind(insn->opcode, insn->size, state->check->iem == 1, &offset);
	*target = insn->pc + offset;
	if (state->check->iem == 1)
		*target = insn->pc >> 32 << 32 | (*target & UINT32_MAX);
	return kind;
}

/* Whether it went nobody knows where. */
static bool is_lost(const struct state *state, enum opcode_kind kind)
{
	const struct group *group = &state->group;
	const struct stfcheck_insn *insn = &state->insn;

	if (group->trap)
		return !group->target && !group->event_target;
	if (group->target)
		return false;
	return kind == OPCODE_RETURN || kind == OPCODE_INDIRECT ||
	       (kind == OPCODE_TRAP && state->check->strict &&
		!(insn->opcode == 0x73 && insn->pc >> 63));
}

static void set_mode(struct state *state, uint8_t mode)
{
	state->insn.mode = mode;
	if (riscv(state))
		state->level = MODE_UNKNOWN;
}

int check_opcode(struct state *state, const uint8_t *payload, unsigned int size)
{
	enum opcode_kind kind;
	struct stfcheck_insn *insn = &state->insn;
	struct group *group = &state->group;
	uint64_t target;
	int error;

	insn->offset = state->check->offset;
	insn->pc = group->forces ? group->force_pc : state->pc;
	insn->target = group->target ? group->target_pc : group->event_pc;
	insn->opcode = get(payload, size);
	insn->size = size;
	insn->taken = group->target;
	insn->trapped = group->trap;
	insn->forced = group->forces;
	kind = kind_of(state, &target);
	error = check_force(state);
	if (!error)
		error = check_transfer(state, kind, target);
	if (!error)
		error = check_mode(state, kind);
	if (error)
		return error;

	if (group->mode != MODE_UNKNOWN && at_once(state, kind))
		set_mode(state, group->modes == 2 ? group->before : group->mode);
	error = check_ours(state, kind);
	if (error)
		return error;
	count(state, kind);
	insn->next = insn->pc + size;
	if (group->target || group->event_target)
		insn->next = group->event_target ? group->event_pc : group->target_pc;
	if (state->check->insn) {
		struct stfcheck_insn told = *insn;

		told.mode = mode_of(state);
		error = state->check->insn(state->check->argument, &told);
	}
	if (group->mode != MODE_UNKNOWN)
		set_mode(state, group->mode);
	insn->index++;
	state->pc = insn->next;
	state->lost = is_lost(state, kind);
	*group = (struct group){ .mode = MODE_UNKNOWN };
	return error;
}
