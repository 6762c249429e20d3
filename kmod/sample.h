/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples: what a stream's source holds becomes a record, and what a task had in it is kept until
 * it is back. All on the stream's CPU with interrupts off, while the stream holds the source.
 */
#ifndef FLOWTAP_SAMPLE_H
#define FLOWTAP_SAMPLE_H

#include <linux/types.h>

struct flowtap_member;
struct flowtap_entry;
struct pt_regs;
struct stream;

/* The member's next sample, or a GAP record, will tell of it. */
void sample_note_loss(struct stream *stream, struct flowtap_member *member, u32 cause);

/*
 * Empties the source into one record; how many entries it has. Recording is paused afterwards.
 * scratch: FLOWTAP_DEPTH_MAX entries. regs: what the trigger interrupted, or NULL.
 */
u32 sample_take(struct stream *stream, struct flowtap_member *member, u32 trigger, struct pt_regs *regs,
		struct flowtap_entry *scratch);
/*
 * What the source holds goes into the member's history. Recording is paused, frozen: it had been stopped
 * before.
 */
void sample_keep(struct stream *stream, struct flowtap_member *member, bool frozen,
		 struct flowtap_entry *scratch);
/* Starts the source, paused, with what was kept. */
void sample_start(struct stream *stream, struct flowtap_member *member);

#endif /* FLOWTAP_SAMPLE_H */
