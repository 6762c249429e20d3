// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The table of what losses of CoreSight frames are in the flow. */
#include <flowtap/trace_session.h>

static const enum flowtap_gap_reason reasons[FLOWTAP_FRAME_LOSSES] = {
	[FLOWTAP_FRAME_UNSYNCED] = FLOWTAP_GAP_UNSYNCED,
	[FLOWTAP_FRAME_BARRIER] = FLOWTAP_GAP_TRUNCATED,
	[FLOWTAP_FRAME_MISALIGNED] = FLOWTAP_GAP_BAD_PACKET,
	[FLOWTAP_FRAME_BAD_ID] = FLOWTAP_GAP_BAD_PACKET,
	[FLOWTAP_FRAME_UNKNOWN_ID] = FLOWTAP_GAP_UNSYNCED,
	[FLOWTAP_FRAME_CUT] = FLOWTAP_GAP_TRUNCATED,
};

struct flowtap_gap flowtap_frame_gap(enum flowtap_frame_loss loss, uint64_t size)
{
	return (struct flowtap_gap){
		.reason = reasons[loss],
		.size = loss == FLOWTAP_FRAME_BARRIER ? UINT64_MAX : size,
		.detail = flowtap_frame_loss_text(loss),
	};
}
