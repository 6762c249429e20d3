/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples: what a stream's source holds becomes a record, and what a task had in it is kept until
 * it is back. All while the stream holds the source.
 */
#ifndef FLOWTAP_KMOD_SAMPLE_H
#define FLOWTAP_KMOD_SAMPLE_H

#include <linux/types.h>

struct flowtap_member;
struct flowtap_entry;
struct pt_regs;
struct flowtap_stream;

/**
 * sample_add_loss() - count a loss; the member's next record names its cause
 * @stream: counts it.
 * @member: whose loss it is.
 * @cause: FLOWTAP_CAUSE_.
 *
 * Context: the stream's CPU, interrupts off.
 */
void sample_add_loss(struct flowtap_stream *stream, struct flowtap_member *member, u32 cause);

/**
 * sample_write() - empty the source into one record
 * @stream: holds the source; recording is paused afterwards.
 * @member: the task's.
 * @trigger: FLOWTAP_TRIGGER_. A CPU-wide stream writes no empty sample at a switch.
 * @regs: what the trigger interrupted, or NULL.
 * @scratch: FLOWTAP_DEPTH_MAX entries, for a record that does not fit in one piece.
 *
 * Context: the stream's CPU, interrupts off.
 * Return: entries that the source had.
 */
u32 sample_write(struct flowtap_stream *stream, struct flowtap_member *member, u32 trigger,
		struct pt_regs *regs, struct flowtap_entry *scratch);

/**
 * sample_keep() - move what the source holds into the member's history
 * @stream: holds the source; recording is paused.
 * @member: has a history.
 * @frozen: recording had been stopped before it was paused: a sample is written instead. Where the
 *	source is somebody else's there is nothing to keep, and the loss is recorded.
 * @scratch: as for sample_write().
 *
 * Context: the stream's CPU, interrupts off.
 */
void sample_keep(struct flowtap_stream *stream, struct flowtap_member *member, bool frozen,
		 struct flowtap_entry *scratch);

/**
 * sample_restart() - begin anew: what the source holds is of no interest any more
 * @stream: holds the source; recording is paused afterwards.
 * @member: the task's. Where recording had been stopped, or the source is somebody else's, it loses
 *	what came since then.
 *
 * Context: the stream's CPU, interrupts off.
 */
void sample_restart(struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * sample_start() - start the source, paused, with what was kept
 * @stream: holds the source.
 * @member: the task's; its history is empty afterwards.
 *
 * Context: the stream's CPU, interrupts off.
 */
void sample_start(struct flowtap_stream *stream, struct flowtap_member *member);

#endif /* FLOWTAP_KMOD_SAMPLE_H */
