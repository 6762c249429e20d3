/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A capture session: the bytes of one trace unit, out of frames (frame.h) or as they are.
 */
#ifndef FLOWTAP_SESSION_H
#define FLOWTAP_SESSION_H

#include <flowtap/flow.h>
#include <flowtap/frame.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The gap that a loss of `size` bytes of frames is, whatever the frames come out of:
 *
 *	MISALIGNED, BAD_ID	BAD_PACKET	a frame is damaged
 *	UNSYNCED, UNKNOWN_ID	UNSYNCED	the input begins within frames
 *	CUT			TRUNCATED	the input ends within a frame
 *	BARRIER			TRUNCATED	the buffer was full; nobody knows how much is missing
 *
 * detail is flowtap_frame_loss_text's, the rest 0.
 */
struct flowtap_gap flowtap_frame_gap(enum flowtap_frame_loss loss, uint64_t size);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SESSION_H */
