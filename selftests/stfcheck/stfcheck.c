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
#include "state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int bad(struct state *state, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(state->check->reason, sizeof(state->check->reason), format, arguments);
	va_end(arguments);
	return -EBADMSG;
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
	return check_opcode(state, payload, descriptor == RECORD_INST_32 ? 4 : 2);
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
