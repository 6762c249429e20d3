// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The words of the flow grammar. */
#include <flowtap/flow.h>

static const char *const names[FLOWTAP_GAP_REASONS] = {
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
	return (unsigned int)reason < FLOWTAP_GAP_REASONS ? names[reason] : "unknown";
}
