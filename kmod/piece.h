/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pieces: what a source stored in the AUX area while a task ran becomes AUX records, and what was
 * lost becomes GAP records. For sources with a collector, as sample.h is for those with entries.
 * All on the stream's CPU with interrupts off, while the stream holds the source.
 */
#ifndef FLOWTAP_PIECE_H
#define FLOWTAP_PIECE_H

#include "output.h"

struct flowtap_member;
struct stream;

/* Of the stream that holds the source. */
struct piece {
	u64 since;		/* when the piece began; 0: nothing is collected */
	u64 spare_since;	/* there is no room: it is seen whether anything comes; 0: it is not */
	u64 lost_since;		/* something is lost, since then; 0: nothing */
	u64 lost_bytes;		/* FLOWTAP_UNKNOWN: nobody has seen how many */
	u32 lost_cause;
	struct flowtap_thread thread; /* whose it is; an exec may change the numbers */
	bool continues;		/* the trace unit was not disabled since the record before */
	bool resting;		/* off_ns of strobing */
	bool faulted;		/* the piece before ended so */
};

/* The member's task is on the CPU. Recording is paused, as after all of these but piece_end. */
void piece_begin(struct stream *stream, struct flowtap_member *member);
/* It leaves, or is to be recorded no more: the hardware is off. */
void piece_end(struct stream *stream, struct flowtap_member *member);
/* What there is goes to the reader now; how many bytes. */
u32 piece_take(struct stream *stream, struct flowtap_member *member);
/* The hardware has interrupted. */
void piece_interrupted(struct stream *stream, struct flowtap_member *member);
/*
 * It executed another program, of which nothing has run yet: what came before is a record of its
 * own, and the stream begins anew.
 */
void piece_executed(struct stream *stream, struct flowtap_member *member);
/* The stream's timer: strobing, flushing, another try. */
void piece_tick(struct stream *stream, struct flowtap_member *member);

#endif /* FLOWTAP_PIECE_H */
