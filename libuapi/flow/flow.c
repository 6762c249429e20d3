// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The words of the flow grammar; the sink that does nothing. */
#include <flowtap/flow.h>

static const char *const gap_names[FLOWTAP_GAP_REASONS] = {
	[FLOWTAP_GAP_START] = "start",
	[FLOWTAP_GAP_WRAPPED] = "wrapped",
	[FLOWTAP_GAP_SWITCH] = "switch",
	[FLOWTAP_GAP_FROZEN] = "frozen",
	[FLOWTAP_GAP_DISPLACED] = "displaced",
	[FLOWTAP_GAP_RING_FULL] = "ring_full",
	[FLOWTAP_GAP_DISABLED] = "disabled",
	[FLOWTAP_GAP_NO_STREAM] = "no_stream",
	[FLOWTAP_GAP_THROTTLED] = "throttled",
	[FLOWTAP_GAP_OFFLINE] = "offline",
	[FLOWTAP_GAP_SKID] = "skid",
	[FLOWTAP_GAP_EXEC] = "exec",
	[FLOWTAP_GAP_HARDWARE] = "hardware",
	[FLOWTAP_GAP_MEMORY] = "memory",
	[FLOWTAP_GAP_STROBE] = "strobe",
	[FLOWTAP_GAP_EXCLUDED] = "excluded",
	[FLOWTAP_GAP_TRAP] = "trap",
	[FLOWTAP_GAP_NO_IMAGE] = "no_image",
	[FLOWTAP_GAP_NO_CODE] = "no_code",
	[FLOWTAP_GAP_IMPOSSIBLE] = "impossible",
	[FLOWTAP_GAP_BAD_RECORD] = "bad_record",
	[FLOWTAP_GAP_FILTERED] = "filtered",
	[FLOWTAP_GAP_RECORDER] = "recorder",
	[FLOWTAP_GAP_GUEST] = "guest",
	[FLOWTAP_GAP_USER] = "user",
	[FLOWTAP_GAP_OVERFLOW] = "overflow",
	[FLOWTAP_GAP_UNSYNCED] = "unsynced",
	[FLOWTAP_GAP_BAD_PACKET] = "bad_packet",
	[FLOWTAP_GAP_NO_ADDRESS] = "no_address",
	[FLOWTAP_GAP_UNRESOLVED] = "unresolved",
	[FLOWTAP_GAP_TRUNCATED] = "truncated",
};

const char *flowtap_gap_name(enum flowtap_gap_reason reason)
{
	return (unsigned int)reason < FLOWTAP_GAP_REASONS ? gap_names[reason] : "unknown";
}

static const char *const transfer_names[] = {
	[FLOWTAP_TRANSFER_NONE] = "unknown",
	[FLOWTAP_TRANSFER_EXCEPTION] = "exception",
	[FLOWTAP_TRANSFER_INTERRUPT] = "interrupt",
	[FLOWTAP_TRANSFER_TRAP_RETURN] = "trap_return",
	[FLOWTAP_TRANSFER_NOT_TAKEN] = "not_taken_branch",
	[FLOWTAP_TRANSFER_TAKEN] = "taken_branch",
	[FLOWTAP_TRANSFER_INDIRECT_CALL] = "indirect_call",
	[FLOWTAP_TRANSFER_DIRECT_CALL] = "direct_call",
	[FLOWTAP_TRANSFER_INDIRECT_JUMP] = "indirect_jump",
	[FLOWTAP_TRANSFER_DIRECT_JUMP] = "direct_jump",
	[FLOWTAP_TRANSFER_SWAP] = "co_routine_swap",
	[FLOWTAP_TRANSFER_RETURN] = "function_return",
	[FLOWTAP_TRANSFER_INDIRECT_LINK] = "other_indirect_jump",
	[FLOWTAP_TRANSFER_DIRECT_LINK] = "other_direct_jump",
	[FLOWTAP_TRANSFER_RECORDING] = "ctr_write",
};

const char *flowtap_transfer_name(unsigned int type)
{
	const size_t n = sizeof(transfer_names) / sizeof(transfer_names[0]);

	return type < n && transfer_names[type] ? transfer_names[type] : "reserved";
}

static int ignore_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			uint64_t target)
{
	(void)sink;
	(void)block;
	(void)taken;
	(void)target;
	return 0;
}

static int ignore_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	(void)sink;
	(void)element;
	return 0;
}

struct flowtap_sink *flowtap_sink_nowhere(void)
{
	static struct flowtap_sink nowhere = { ignore_block, ignore_element };

	return &nowhere;
}
