/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A capture session of one trace unit: its bytes, as they are or in CoreSight's frames (frame.h),
 * through a decoder (ete.h) with the memory that it saw (memory.h), to a sink. Sessions of a
 * snapshot directory (snapshot.h) find their bytes, registers and memory in it.
 *
 * Losses and damage are gaps in the flow and counts here; what to report of them is the caller's.
 */
#ifndef FLOWTAP_TRACE_SESSION_H
#define FLOWTAP_TRACE_SESSION_H

#include <flowtap/block.h>
#include <flowtap/ete.h>
#include <flowtap/flow.h>
#include <flowtap/frame.h>
#include <flowtap/memory.h>
#include <flowtap/snapshot.h>
#include <stdbool.h>
#include <stddef.h>
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

/* --- The bytes of one trace unit out of a file. --- */

struct flowtap_trace_feed {
	/* Set by the caller; zeros below. */
	int fd;				/* borrowed; read from its beginning by pread */
	bool framed;			/* in frames; syncs between them are seen by themselves */
	bool dstream;			/* a DSTREAM probe's file: see FLOWTAP_SNAPSHOT_DSTREAM */
	uint8_t id;			/* of frames: which source */
	/*
	 * Each returns 0, or below 0 to stop. `lost` is called for frames, with what is missing
	 * there of any source; its detail has the offset in the file.
	 */
	int (*bytes)(struct flowtap_trace_feed *feed, const uint8_t *bytes, size_t size);
	int (*lost)(struct flowtap_trace_feed *feed, const struct flowtap_gap *gap);
	/* May be NULL: so many more bytes of the file were read. */
	void (*progress)(struct flowtap_trace_feed *feed, size_t bytes);
	void *argument;			/* the caller's own */

	/* Current, for the caller to read. */
	uint64_t read;			/* of the file */
	uint64_t damages;		/* frames that are damaged, those in a row as one */
	uint64_t ids[FLOWTAP_FRAME_LAST + 1];	/* bytes of each source */
};

/*
 * The whole file, in pieces of at most 1 MiB. 0; -errno of pread; what a call returned below 0;
 * -ENOMEM.
 */
int flowtap_trace_feed(struct flowtap_trace_feed *feed);

/* --- A session. --- */

struct flowtap_trace_session {
	/* Set by the caller; zeros below. What is pointed to is borrowed during the call. */
	struct flowtap_ete_config config;
	const struct flowtap_ete_options *ete;	/* may be NULL */
	struct flowtap_memory *memory;
	struct flowtap_blocks *blocks;	/* of flowtap_trace_session_blocks */
	bool wfx;			/* they were made for a config with flowtap_ete_wfx_is_p0 */
	struct flowtap_sink *sink;
	int fd;				/* as in struct flowtap_trace_feed, and so the next three */
	bool framed;
	bool dstream;
	uint8_t id;
	bool has_cpu;			/* contexts are given this number of a CPU */
	uint32_t cpu;
	/* May be NULL: so many more bytes of the file were read and decoded. */
	void (*progress)(struct flowtap_trace_session *session, size_t bytes);
	/*
	 * May be NULL: at this address there was no code; called each time that it is looked for.
	 */
	void (*missing)(struct flowtap_trace_session *session, uint64_t address);
	void *argument;			/* the caller's own */

	/* Out, whatever is returned; read is current during the calls. */
	uint64_t read;			/* bytes of the file */
	struct flowtap_ete_counts counts;
	uint64_t damages;		/* as in struct flowtap_trace_feed */
	uint64_t ids[FLOWTAP_FRAME_LAST + 1];
};

/*
 * Decodes the file to the sink: SESSION first, then what flowtap_ete_decode says, with a gap for
 * each loss of frames. 0, whatever is wrong with the bytes; -ENODEV: a trace unit with this
 * configuration is no ETE that can be decoded; -EPROTOTYPE: it needs blocks other than wfx says;
 * -errno of pread; what the sink returned below 0; -ENOMEM.
 */
int flowtap_trace_session(struct flowtap_trace_session *session);

/* Of one that was decoded: its bytes are in frames, and none of them are of the source `id`. */
bool flowtap_trace_session_is_empty(const struct flowtap_trace_session *session);

/* A cache of blocks for sessions of this configuration, as flowtap_blocks_new. */
struct flowtap_blocks *flowtap_trace_session_blocks(const struct flowtap_ete_config *config,
						    size_t limit);

/* --- The sessions of a snapshot. --- */

/* What it was at when it failed. */
enum flowtap_snapshot_step {
	FLOWTAP_SNAPSHOT_MEMORY,	/* the memory that the source's processor saw */
	FLOWTAP_SNAPSHOT_IMAGES,	/* what the caller adds to it */
	FLOWTAP_SNAPSHOT_BUFFER,	/* opening the buffer */
	FLOWTAP_SNAPSHOT_SESSION,	/* decoding */
};

struct flowtap_snapshot_sessions {
	/*
	 * Set by the caller; zeros below. Of `session` what all have in common: ete, blocks, wfx,
	 * sink, has_cpu, progress, missing and argument; may be changed between sessions. The rest
	 * is filled in for each: then it is the last one's, counts and all.
	 */
	struct flowtap_snapshot *snapshot;	/* borrowed until flowtap_snapshot_sessions_end */
	struct flowtap_trace_session session;
	/* May be NULL: adds to a memory what is not in the snapshot. Below 0 stops. */
	int (*images)(struct flowtap_snapshot_sessions *sessions, struct flowtap_memory *memory);

	/* Out. */
	enum flowtap_snapshot_step step;	/* of the last session */
	uint64_t code_bytes;		/* of memory that were read, once the sessions are ended */

	/* The library's own. */
	struct flowtap_memory *memory;
	const struct flowtap_snapshot_source *source;	/* whose memory it is */
	uint32_t next_key;
};

/*
 * Decodes the session of one source. Sessions of one processor have one memory where they are from
 * one buffer, or are without frames. What blocks are made of can be asked for until the next
 * session. 0, and what flowtap_trace_session, flowtap_snapshot_memory, images and
 * flowtap_snapshot_open_buffer return below 0: `step` says which.
 */
int flowtap_snapshot_session(struct flowtap_snapshot_sessions *sessions,
			     const struct flowtap_snapshot_source *source);
/* After the last one, or after an error: frees the memory, and with it the code of blocks. */
void flowtap_snapshot_sessions_end(struct flowtap_snapshot_sessions *sessions);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_TRACE_SESSION_H */
