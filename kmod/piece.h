/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pieces: what a source stored in the AUX area while a task ran becomes AUX records, and what was
 * lost becomes GAP records. For sources with a collector, as sample.h is for those with entries.
 * Each call but piece_end() leaves recording paused, and ready to be resumed.
 */
#ifndef FLOWTAP_KMOD_PIECE_H
#define FLOWTAP_KMOD_PIECE_H

#include "output.h"

struct flowtap_member;
struct flowtap_stream;

/**
 * struct flowtap_piece - the piece of a stream that holds the source
 */
struct flowtap_piece {
	/** @since: when the piece began; 0: nothing is collected. */
	u64 since;
	/** @spare_since: there is no space: it is seen whether anything comes; 0: it is not. */
	u64 spare_since;
	/** @lost_since: something is lost, since then; 0: nothing. */
	u64 lost_since;
	/** @lost_bytes: FLOWTAP_UNKNOWN: nobody has seen how many. */
	u64 lost_bytes;
	/** @lost_cause: FLOWTAP_CAUSE_. */
	u32 lost_cause;
	/** @lost_failed: the unit failed meanwhile, and is the cause whatever follows. */
	bool lost_failed;
	/** @thread: whose it is; an exec may change the numbers. */
	struct flowtap_thread thread;
	/** @continues: the trace unit was not disabled since the record before. */
	bool continues;
	/** @resting: strobe_off_ns passes. */
	bool resting;
	/** @faulted: the piece before ended so. */
	bool faulted;
};

/**
 * piece_begin() - collect for a task that has come onto the CPU
 * @stream: holds the source.
 * @member: the task's.
 *
 * Context: the stream's CPU, interrupts off.
 */
void piece_begin(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * piece_end() - write the last record of a task that leaves, or is to be recorded no more
 * @stream: holds the source.
 * @member: the task's.
 *
 * The hardware is off afterwards.
 *
 * Context: the stream's CPU, interrupts off.
 */
void piece_end(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * piece_write() - write a record with what is there now, and go on collecting
 * @stream: holds the source.
 * @member: the current task's.
 *
 * Context: the stream's CPU, interrupts off.
 * Return: bytes that were collected, at most U32_MAX.
 */
u32 piece_write(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * piece_interrupted() - the hardware has interrupted: watermark, full, or a fault
 * @stream: holds the source.
 * @member: the current task's.
 *
 * Context: the stream's CPU, interrupts off.
 */
void piece_interrupted(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * piece_executed() - begin anew for a task that has executed another program
 * @stream: holds the source.
 * @member: the current task's. Nothing of the program has run yet: what came before is a record of
 *	its own.
 *
 * Context: the stream's CPU, interrupts off.
 */
void piece_executed(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * piece_tick() - strobe, flush, or try again after a failure
 * @stream: holds the source; its timer has expired.
 * @member: the current task's.
 *
 * Context: the stream's CPU, interrupts off.
 */
void piece_tick(struct flowtap_stream *stream, struct flowtap_member *member);

#endif /* FLOWTAP_KMOD_PIECE_H */
