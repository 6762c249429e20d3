// SPDX-License-Identifier: GPL-2.0-only
/*
 * The rules. strict adds what only flowtap's own writer promises:
 *
 * - the header is COMMENT, ISA, INST_IEM, TRACE_INFO, FEATURE, PROCESS_ID_EXT, FORCE_PC,
 *   END_HEADER; its version is 1.5, no physical addresses, and features for what is used;
 * - a PROCESS_ID_EXT and a mode stand before the first instruction's opcode, and there is one;
 * - a group has at most one FORCE_PC, and a COMMENT or PROCESS_ID_EXT that says why;
 * - after an ecall or ebreak without an EVENT there is one, but for an ecall of S mode: M mode,
 *   which is not recorded, goes on after it;
 * - an exception is an ecall (8 in U mode, 9 in S mode) or a breakpoint (3), on that instruction,
 *   with one field and an EVENT_PC_TARGET in S mode, where the next instruction is executed;
 * - U mode has addresses without the sign bit, S mode with it. After a gap no EVENT may say that
 *   it is U, so a comment `context RV64 ... mode=U` does;
 * - there are no records but those of the header and COMMENT, PROCESS_ID_EXT, FORCE_PC,
 *   INST_PC_TARGET, EVENT, EVENT_PC_TARGET, INST_32 and INST_16;
 * - the last record is an opcode. Comments between "after the next instruction" and it are of what
 *   comes after it.
 *
 * Of Arm's traces:
 *
 * - INST_IEM is 0; a comment `context ISA ELn ...` stands before the first instruction and holds
 *   until the next one: EVENTs say the same mode, and opcodes are of that ISA;
 * - EVENTs are changes of mode;
 * - what may have gone somewhere by a register, and says nothing of it, is followed by a FORCE_PC.
 */
#include "stfcheck.h"

#include "opcode.h"
#include "records.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FEATURE_PHYS	(1ULL << 0)
#define FEATURE_EVENT	(1ULL << 3)
#define FEATURE_RV64	(1ULL << 5)
#define FEATURE_PROCESS	(1ULL << 10)
#define FEATURE_EVENT64	(1ULL << 19)
#define MODE_UNKNOWN	0xff

enum { ISA_RISCV = 1, ISA_ARM = 2 };

/* What was read since the last opcode. */
struct group {
	uint8_t last;		/* descriptor of the last record that has an order */
	uint8_t mode;		/* by the last MODE_CHANGE, or MODE_UNKNOWN */
	uint8_t before;		/* by the first, where there are two */
	unsigned int modes;	/* MODE_CHANGEs */
	uint64_t cause;		/* of the last EVENT of a trap */
	unsigned int records;	/* all but comments */
	unsigned int comments;
	unsigned int processes;
	unsigned int forces;
	bool target, event, trap, event_target;
	bool after; /* comments from here on are of what comes after the opcode */
	uint64_t force_pc, target_pc, event_pc;
};

struct state {
	struct stfcheck *check;
	struct record_widths widths;
	struct group group;
	struct stfcheck_insn insn;	/* pid, tid, hw, mode that hold */
	uint64_t pc;			/* of the next instruction */
	uint8_t level;			/* by the last comment `context`, or MODE_UNKNOWN; RISC-V: */
					/* if no EVENT came since */
	bool lost;			/* ... is not known: a FORCE_PC has to come */
	bool body;
	uint8_t header_last;
};

__attribute__((format(printf, 2, 3)))
static int bad(struct state *state, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(state->check->reason, sizeof(state->check->reason), format, arguments);
	va_end(arguments);
	return -EBADMSG;
}

static uint64_t seen(const struct state *state, uint8_t descriptor)
{
	return state->check->counts.records[descriptor];
}

static bool riscv(const struct state *state)
{
	return state->check->isa == ISA_RISCV;
}

static int check_version(struct state *state, const uint8_t *payload)
{
	struct stfcheck *check = state->check;

	check->version[0] = get(payload, 4);
	check->version[1] = get(payload + 4, 4);
	if (check->version[0] != 1 || check->version[1] < 2)
		return bad(state, "version %u.%u", check->version[0], check->version[1]);
	if (check->strict && check->version[1] != 5)
		return bad(state, "version %u.%u, ours is 1.5", check->version[0],
			   check->version[1]);
	return 0;
}

static int check_isa(struct state *state, const uint8_t *payload)
{
	state->check->isa = get(payload, 2);
	if (state->check->isa != ISA_RISCV && state->check->isa != ISA_ARM)
		return bad(state, "ISA %u", state->check->isa);
	return 0;
}

static int check_iem(struct state *state, const uint8_t *payload)
{
	unsigned int iem = get(payload, 2);

	if (!seen(state, RECORD_ISA))
		return bad(state, "INST_IEM before ISA");
	if (riscv(state) ? iem != 1 && iem != 2 : iem != 0 && iem != 2)
		return bad(state, "INST_IEM %u for ISA %u", iem, state->check->isa);
	if (state->check->strict && iem != (riscv(state) ? 2 : 0))
		return bad(state, "INST_IEM %u is none of ours", iem);
	state->check->iem = iem;
	return 0;
}

static int check_features(struct state *state, const uint8_t *payload)
{
	uint64_t features = get(payload, 8);

	state->check->features = features;
	state->widths.event_id = features & FEATURE_EVENT64 ? 8 : 4;
	if (state->check->strict && features & FEATURE_PHYS)
		return bad(state, "feature PHYSICAL_ADDRESS");
	return 0;
}

static int check_vlen(struct state *state, const uint8_t *payload)
{
	state->widths.vlen = get(payload, 4);
	if (state->widths.vlen < 64)
		return bad(state, "vector length %u", state->widths.vlen);
	return 0;
}

static int take_process(struct state *state, const uint8_t *payload)
{
	state->insn.hw = get(payload, 4);
	state->insn.pid = get(payload + 4, 4);
	state->insn.tid = get(payload + 8, 4);
	state->group.processes++;
	if (state->check->strict && !(state->check->features & FEATURE_PROCESS))
		return bad(state, "PROCESS_ID_EXT without its feature bit");
	return 0;
}

static int take_force(struct state *state, const uint8_t *payload)
{
	struct group *group = &state->group;

	group->force_pc = get(payload, 8);
	group->forces++;
	if (riscv(state) && group->force_pc & 1)
		return bad(state, "FORCE_PC %#llx is odd", (unsigned long long)group->force_pc);
	if (state->check->strict && group->forces > 1)
		return bad(state, "two FORCE_PC for one instruction");
	if (!state->body)
		return 0;
	state->check->counts.forced++;
	return 0;
}

static int end_header(struct state *state)
{
	static const uint8_t needed[] = { RECORD_ISA, RECORD_IEM, RECORD_TRACE_INFO,
					  RECORD_FEATURE, RECORD_FORCE_PC };
	struct stfcheck *check = state->check;

	for (size_t i = 0; i < sizeof(needed); i++) {
		if (!seen(state, needed[i]))
			return bad(state, "header without %s", stfcheck_name(needed[i]));
	}
	if (check->strict && (!seen(state, RECORD_COMMENT) || !seen(state, RECORD_PROCESS)))
		return bad(state, "header without COMMENT or PROCESS_ID_EXT");
	if (riscv(state) && (check->iem == 2) != !!(check->features & FEATURE_RV64))
		return bad(state, "feature RV64 contradicts INST_IEM");
	state->body = true;
	state->pc = state->group.force_pc;
	state->group = (struct group){ .mode = MODE_UNKNOWN };
	return 0;
}

/* Those that are assigned, and 0xff, which every reader takes. */
static bool is_generator(uint8_t generator)
{
	return (generator >= 1 && generator <= 14) || generator == 0x40 || generator == 0xff;
}

/* Ascending, but for TRACE_INFO, of which there may be many; in ours nothing else. */
static int check_header(struct state *state, uint8_t descriptor, const uint8_t *payload)
{
	bool repeats = descriptor == RECORD_TRACE_INFO || descriptor == RECORD_CLOCK;

	if (seen(state, descriptor) > 1 && !repeats)
		return bad(state, "a second %s", stfcheck_name(descriptor));
	if (state->check->strict && descriptor < state->header_last)
		return bad(state, "%s after %s", stfcheck_name(descriptor),
			   stfcheck_name(state->header_last));
	state->header_last = descriptor;
	switch (descriptor) {
	case RECORD_IDENTIFIER:
		return memcmp(payload, "STF", 3) ? bad(state, "no STF") : 0;
	case RECORD_VERSION:
		return check_version(state, payload);
	case RECORD_ISA:
		return check_isa(state, payload);
	case RECORD_IEM:
		return check_iem(state, payload);
	case RECORD_TRACE_INFO:
		if (!payload[0] || (state->check->strict && !is_generator(payload[0])))
			return bad(state, "generator %u", payload[0]);
		return 0;
	case RECORD_FEATURE:
		return check_features(state, payload);
	case RECORD_VLEN:
		return check_vlen(state, payload);
	case RECORD_PROTOCOL:
		state->widths.protocol = payload[0];
		return 0;
	case RECORD_END_HEADER:
		return end_header(state);
	default:
		return 0;
	}
}

/* "context RV64 ... mode=U" */
static void take_mode(struct state *state, const char *text, uint64_t size)
{
	static const char begin[] = "context RV64 ", mode[] = " mode=";
	const char *modes = "USHM", *found;

	if (size < sizeof(begin) + sizeof(mode) || memcmp(text, begin, sizeof(begin) - 1) ||
	    memcmp(text + size - sizeof(mode), mode, sizeof(mode) - 1))
		return;
	found = strchr(modes, text[size - 1]);
	if (found && *found)
		state->level = found - modes;
}

/* "context A64 EL1 ...". */
static void take_context(struct state *state, const char *text, uint64_t size)
{
	static const struct {
		const char *begin;
		uint8_t arm;
	} lines[] = { { "context A64 EL", 64 }, { "context A32 EL", 32 }, { "context T32 EL", 16 } };

	if (riscv(state)) {
		take_mode(state, text, size);
		return;
	}
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		size_t length = strlen(lines[i].begin);

		if (size <= length || memcmp(text, lines[i].begin, length))
			continue;
		state->insn.arm = lines[i].arm;
		state->level = text[length] - '0';
	}
}

static void take_comment(struct state *state, const char *text, uint64_t size)
{
	static const char after[] = "after the next instruction";

	state->group.comments++;
	if (size == sizeof(after) - 1 && !memcmp(text, after, size))
		state->group.after = true;
	else if (!state->group.after)
		take_context(state, text, size);
}

static int check_any(struct state *state, uint8_t descriptor, const uint8_t *payload)
{
	if (seen(state, RECORD_VERSION) == 0)
		return bad(state, "%s before VERSION", stfcheck_name(descriptor));
	if (descriptor == RECORD_COMMENT) {
		take_comment(state, (const char *)payload + 4, get(payload, 4));
		return 0;
	}
	if (!state->body && descriptor == RECORD_FORCE_PC && seen(state, descriptor) > 1)
		return bad(state, "a second FORCE_PC in the header");
	if (!state->body && state->check->strict && descriptor < state->header_last)
		return bad(state, "%s after %s", stfcheck_name(descriptor),
			   stfcheck_name(state->header_last));
	if (!state->body)
		state->header_last = descriptor;
	state->group.records++;
	return descriptor == RECORD_FORCE_PC ? take_force(state, payload) :
					       take_process(state, payload);
}

/* Pairs repeat: several accesses with their data, a trap and then its change of mode. */
static bool in_order(uint8_t last, uint8_t next)
{
	return next >= last || (last == RECORD_MEM_CONTENT && next == RECORD_MEM_ACCESS) ||
	       (last == RECORD_BUS_CONTENT && next == RECORD_BUS_ACCESS) ||
	       (last == RECORD_EVENT_PC_TARGET && next == RECORD_EVENT);
}

static int take_event(struct state *state, const uint8_t *payload)
{
	unsigned int width = state->widths.event_id, fields = payload[width];
	uint64_t id = get(payload, width), top = width == 8 ? 1ULL << 63 : 1ULL << 31;
	struct stfcheck_counts *counts = &state->check->counts;

	state->group.event = true;
	if (state->check->strict && !(state->check->features & FEATURE_EVENT))
		return bad(state, "EVENT without its feature bit");
	if (!(id & top >> 1)) {
		if (state->check->strict && state->group.trap)
			return bad(state, "two traps for one instruction");
		if (state->check->strict && fields != 1)
			return bad(state, "a trap with %u fields", fields);
		state->group.trap = true;
		state->group.cause = id;
		counts->traps += !(id & top);
		counts->interrupts += !!(id & top);
		return 0;
	}
	if (id != top >> 1)
		return bad(state, "event %#llx", (unsigned long long)id);
	if (fields != 1 || get(payload + width + 1, 8) > 3)
		return bad(state, "MODE_CHANGE with %u fields or an unknown mode", fields);
	if (state->group.modes++)
		state->group.before = state->group.mode;
	state->group.mode = payload[width + 1];
	if (state->group.modes > 2)
		return bad(state, "three changes of mode for one instruction");
	counts->mode_changes++;
	return 0;
}

/* A PC that a record gives, once in a group. */
static int take_target(struct state *state, const uint8_t *payload, const char *name, bool *have,
		       uint64_t *pc)
{
	if (*have)
		return bad(state, "a second %s for one instruction", name);
	*have = true;
	*pc = get(payload, 8);
	if (riscv(state) && *pc & 1)
		return bad(state, "%s %#llx is odd", name, (unsigned long long)*pc);
	return 0;
}

static int check_group(struct state *state, uint8_t descriptor, const uint8_t *payload)
{
	struct group *group = &state->group;
	uint8_t last = group->last;

	if (!in_order(last, descriptor))
		return bad(state, "%s after %s", stfcheck_name(descriptor), stfcheck_name(last));
	group->last = descriptor;
	group->records++;
	switch (descriptor) {
	case RECORD_PC_TARGET:
		return take_target(state, payload, "INST_PC_TARGET", &group->target,
				   &group->target_pc);
	case RECORD_MEM_CONTENT:
		if (last != RECORD_MEM_ACCESS && last != RECORD_MEM_CONTENT)
			return bad(state, "INST_MEM_CONTENT without INST_MEM_ACCESS");
		return 0;
	case RECORD_BUS_CONTENT:
		if (last != RECORD_BUS_ACCESS && last != RECORD_BUS_CONTENT)
			return bad(state, "BUS_MASTER_CONTENT without BUS_MASTER_ACCESS");
		return 0;
	case RECORD_EVENT:
		return take_event(state, payload);
	case RECORD_EVENT_PC_TARGET:
		if (!group->event)
			return bad(state, "EVENT_PC_TARGET without EVENT");
		if (state->check->strict && !group->trap)
			return bad(state, "EVENT_PC_TARGET without a trap");
		return take_target(state, payload, "EVENT_PC_TARGET", &group->event_target,
				   &group->event_pc);
	default:
		return 0;
	}
}

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
	return kind;
}

/* Whether it went nobody knows where. */
static bool is_lost(const struct state *state, enum opcode_kind kind)
{
	const struct group *group = &state->group;
	const struct stfcheck_insn *insn = &state->insn;

	if (group->target || group->trap)
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

static int take_opcode(struct state *state, const uint8_t *payload, unsigned int size)
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

static bool is_ours(uint8_t descriptor)
{
	return descriptor <= RECORD_FORCE_PC || descriptor == RECORD_END_HEADER ||
	       descriptor == RECORD_PC_TARGET || descriptor == RECORD_EVENT ||
	       descriptor == RECORD_EVENT_PC_TARGET || descriptor == RECORD_INST_32 ||
	       descriptor == RECORD_INST_16;
}

static int check_record(struct state *state, uint8_t descriptor, const uint8_t *payload)
{
	int place = record_place(descriptor);

	if (state->check->strict && !is_ours(descriptor))
		return bad(state, "%s, which ours never has", stfcheck_name(descriptor));
	if (descriptor != RECORD_IDENTIFIER && !seen(state, RECORD_IDENTIFIER))
		return bad(state, "does not begin with IDENTIFIER");
	state->check->counts.records[descriptor]++;
	if (place == PLACE_ANY)
		return check_any(state, descriptor, payload);
	if (place == PLACE_HEADER) {
		if (state->body)
			return bad(state, "%s after END_HEADER", stfcheck_name(descriptor));
		if (descriptor > RECORD_VERSION && !seen(state, RECORD_VERSION))
			return bad(state, "%s before VERSION", stfcheck_name(descriptor));
		return check_header(state, descriptor, payload);
	}
	if (!state->body)
		return bad(state, "%s in the header", stfcheck_name(descriptor));
	if (place == PLACE_BETWEEN)
		return 0;
	if (place == PLACE_GROUP)
		return check_group(state, descriptor, payload);
	return take_opcode(state, payload, descriptor == RECORD_INST_32 ? 4 : 2);
}

static int check_end(struct state *state)
{
	if (!state->body) {
		bad(state, "ends within the header");
		return -ENODATA;
	}
	if (state->group.records || state->group.after) {
		bad(state, "ends within the records of an instruction");
		return -ENODATA;
	}
	if (state->check->strict && !state->insn.index) {
		bad(state, "ends before the first instruction");
		return -ENODATA;
	}
	if (state->check->strict && state->group.comments) {
		bad(state, "ends with a comment");
		return -ENODATA;
	}
	return 0;
}

/* The payload of the record at *bytes, checked to be there. */
static int measure(struct state *state, const uint8_t *bytes, size_t available, uint64_t *size)
{
	const char *reason = NULL;

	if (record_place(bytes[0]) == PLACE_NONE)
		return bad(state, "descriptor %#x", bytes[0]);
	*size = record_size(&state->widths, bytes[0], bytes + 1, available - 1, &reason);
	if (reason)
		return bad(state, "%s", reason);
	if (*size <= available - 1)
		return 0;
	bad(state, "%s is truncated", stfcheck_name(bytes[0]));
	return -ENODATA;
}

int stfcheck_run(struct stfcheck *check, const uint8_t *bytes, size_t size)
{
	struct state state = {
		.check = check,
		.widths = { .event_id = 4 },
		.group = { .mode = MODE_UNKNOWN },
		.level = MODE_UNKNOWN,
		.insn = { .mode = MODE_UNKNOWN },
	};
	uint64_t payload = 0;
	int error;

	memset(&check->counts, 0, sizeof(check->counts));
	check->reason[0] = '\0';
	for (check->offset = 0; check->offset < size; check->offset += 1 + payload) {
		const uint8_t *record = bytes + check->offset;

		error = measure(&state, record, size - check->offset, &payload);
		if (error)
			return error;
		if (check->record)
			check->record(check->argument, check->offset, record[0], record + 1,
				      payload);
		error = check_record(&state, record[0], record + 1);
		if (error)
			return error;
	}
	return check_end(&state);
}
