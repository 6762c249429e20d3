/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * CoreSight formatted frames (Arm CoreSight Architecture Specification v3.0, IHI 0029, D4): the
 * bytes of several trace sources in one stream.
 *
 *	byte	0   1   2   3   ...  12  13  14  15
 *		mix dat mix dat ...  mix dat mix aux
 *
 * A frame has 16 bytes. Bit 0 of an even byte says what it is: 1 a new trace ID in bits 7 to 1, 0
 * data, of which bit 0 is in the auxiliary byte, one bit there for each even byte. Where the
 * even byte is an ID that bit says whether the byte after it is still the old ID's.
 *
 * Between frames there can be full syncs (ff ff ff 7f), in a frame half syncs (ff 7f), before any even
 * byte: both begin with what no frame can have, ID 0x7F. Four full syncs in the place of a frame
 * without syncs are what Linux puts into a buffer where the trace is not continuous.
 */
#ifndef FLOWTAP_FRAME_H
#define FLOWTAP_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FLOWTAP_FRAME_SIZE 16

enum flowtap_frame_id {
	FLOWTAP_FRAME_NULL = 0x00,	/* padding */
	FLOWTAP_FRAME_FIRST = 0x01,	/* of trace sources */
	FLOWTAP_FRAME_LAST = 0x6f,
	FLOWTAP_FRAME_TRIGGER = 0x7d,
	FLOWTAP_FRAME_RESERVED = 0x7f,
};

enum flowtap_frame_loss {
	FLOWTAP_FRAME_UNSYNCED,		/* bytes before the first full sync */
	FLOWTAP_FRAME_BARRIER,		/* a mark that the trace is not continuous */
	FLOWTAP_FRAME_MISALIGNED,	/* a full sync within a frame, which is lost */
	FLOWTAP_FRAME_BAD_ID,		/* an ID that cannot be: up to the next frame */
	FLOWTAP_FRAME_UNKNOWN_ID,	/* data before the first ID */
	FLOWTAP_FRAME_CUT,		/* the input ends within a frame */
	FLOWTAP_FRAME_LOSSES
};

struct flowtap_frames {
	/*
	 * Set by the caller before the first bytes, zeros below.
	 *
	 * synced: frame syncs are there, and are needed to begin (trace ports, DSTREAM). Else the
	 * first frame begins with the first byte, and no frame's offset depends on what is in it.
	 */
	bool synced;
	/* A trace source's ID: data of others is not handed out; 0: of none. */
	uint8_t only;
	/* Bytes of one trace source; offset in the input of the first one's frame. */
	int (*data)(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		    uint64_t offset);
	/*
	 * May be NULL. Of any source: bytes [offset, offset + size) of the input are lost. Losses
	 * of one kind without data between them are reported as one, and data after a loss of which
	 * no ID is known with that loss. The size of a barrier is 0, or reaches to after such data.
	 */
	int (*lost)(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		    uint64_t size);
	void *argument;

	/* Current, for the caller to read. */
	uint64_t bytes;			/* of the input */
	uint64_t padding;		/* data of ID 0 and the reserved ones */
	uint64_t triggers;
	uint64_t losses[FLOWTAP_FRAME_LOSSES];

	/* The deformatter's own. */
	uint8_t frame[FLOWTAP_FRAME_SIZE];
	uint8_t fill;
	uint8_t id;			/* the current one */
	bool id_known;
	bool aligned;			/* where frames begin is known */
	enum flowtap_frame_loss skipping;	/* not aligned: why */
	uint64_t begin;			/* offset of the frame, or of what is skipped */
	bool pending;			/* a loss that is not reported yet */
	enum flowtap_frame_loss loss;
	uint64_t lost_offset;
	uint64_t lost_size;
	uint8_t out_id;
	size_t out_size;
	uint64_t out_offset;
	uint8_t out[4096];
};

/*
 * The next bytes, in pieces of any size. 0; what data or lost returned below 0, and then the rest
 * is not looked at. What is wrong with the bytes is no error: it is reported to lost, and it goes
 * on at the next frame, or where syncs are at the next full sync.
 */
int flowtap_frames_decode(struct flowtap_frames *frames, const uint8_t *bytes, size_t size);
/* The input ends. Returns as decode. */
int flowtap_frames_finish(struct flowtap_frames *frames);

/* One line for people. */
const char *flowtap_frame_loss_text(enum flowtap_frame_loss loss);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_FRAME_H */
