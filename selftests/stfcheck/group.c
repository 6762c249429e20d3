// SPDX-License-Identifier: GPL-2.0-only
/* The rules of the records before an opcode, and of comments. */
#include "state.h"

#include <string.h>

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

int check_any(struct state *state, uint8_t descriptor, const uint8_t *payload)
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

int check_group(struct state *state, uint8_t descriptor, const uint8_t *payload)
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
