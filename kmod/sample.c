// SPDX-License-Identifier: GPL-2.0-only
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "sample.h"
#include "stream.h"

void sample_note_loss(struct stream *stream, struct flowtap_member *member, u32 cause)
{
	member->loss |= 1U << cause;
	stream->output.stats.losses[cause]++;
}

/* Where the trigger interrupted a mode that is recorded: FLOWTAP_MISC_, else 0. */
static u16 interrupted(const struct stream *stream, struct pt_regs *regs)
{
	if (!regs)
		return 0;
	if (user_mode(regs))
		return stream->recording.modes & FLOWTAP_MODE_USER ? FLOWTAP_MISC_USER : 0;
	return stream->recording.modes & FLOWTAP_MODE_KERNEL ? FLOWTAP_MISC_KERNEL : 0;
}

/* Once, until a sample has told. */
static void note_wrapped(struct stream *stream, struct flowtap_member *member)
{
	if (!(member->loss & 1U << FLOWTAP_CAUSE_WRAPPED))
		sample_note_loss(stream, member, FLOWTAP_CAUSE_WRAPPED);
}

/* All of the record but its entries. Any loss makes the sequence number jump. */
static void describe(struct stream *stream, struct flowtap_member *member, u32 trigger, u32 nr,
		     struct pt_regs *regs, struct flowtap_record_sample *sample)
{
	struct flowtap_thread thread = stream_name_task(stream, member->task);

	if (nr == stream->recording.depth)
		note_wrapped(stream, member);
	member->sequence += member->loss ? 2 : 1;
	*sample = (struct flowtap_record_sample){
		.header.type = FLOWTAP_RECORD_SAMPLE,
		.header.misc = interrupted(stream, regs),
		.header.size = sizeof(*sample) + nr * sizeof(struct flowtap_entry),
		.time = ktime_get_raw_fast_ns(),
		.sequence = member->sequence,
		.control = stream->recording.control,
		.cpu = stream->cpu,
		.trigger = trigger,
		.loss = member->loss,
		.depth = stream->recording.depth,
		.nr = nr,
		.pid = thread.pid,
		.tid = thread.tid,
	};
	if (sample->header.misc)
		sample->ip = instruction_pointer(regs);
	sample->header.misc |= stream->output.misc;
}

/* Somebody else's overflow or breakpoint had stopped recording, nobody knows when. */
static void note_frozen(struct stream *stream, struct flowtap_member *member)
{
	sample_note_loss(stream, member, FLOWTAP_CAUSE_FROZEN);
	stream_write_gap(stream, member->task, member->since, FLOWTAP_CAUSE_FROZEN);
}

/* The last nr entries of scratch. */
static void put(struct stream *stream, struct flowtap_member *member, u32 trigger, struct pt_regs *regs,
		bool frozen, const struct flowtap_entry *scratch, u32 nr)
{
	struct flowtap_record_sample sample;

	describe(stream, member, trigger, nr, regs, &sample);
	stream->output.stats.triggers++;
	if (output_write(&stream->output, sample.time, &sample, sizeof(sample),
			 scratch + stream->recording.depth - nr, nr * sizeof(scratch[0]))) {
		member->loss = 0;
		member->displaced = false;
		stream->output.stats.samples++;
		stream->output.stats.entries += nr;
	} else {
		stream->output.stats.lost_samples++;
		stream->output.stats.lost_entries += nr;
		sample_note_loss(stream, member, FLOWTAP_CAUSE_RING_FULL);
	}
	/* Our own counter's overflow freezes on purpose; anything else was somebody else's. */
	if (frozen && trigger != FLOWTAP_TRIGGER_OVERFLOW)
		note_frozen(stream, member);
	else if (frozen && stream->recording.breakpoints)
		sample_note_loss(stream, member, FLOWTAP_CAUSE_FROZEN);
	member->since = sample.time;
}

u32 sample_take(struct stream *stream, struct flowtap_member *member, u32 trigger, struct pt_regs *regs,
		struct flowtap_entry *scratch)
{
	bool frozen = stream->source->pause(&stream->recording);
	u32 nr = stream->source->drain(&stream->recording, scratch);

	/* A CPU goes from task to task all the time, most have nothing to tell. */
	if (nr || frozen || trigger != FLOWTAP_TRIGGER_SWITCH || !stream_is_wide(stream))
		put(stream, member, trigger, regs, frozen, scratch, nr);
	return nr;
}

void sample_keep(struct stream *stream, struct flowtap_member *member, bool frozen,
		 const struct flowtap_entry *scratch, u32 nr)
{
	/* What comes next does not follow: this is a sample of its own. */
	if (frozen) {
		put(stream, member, FLOWTAP_TRIGGER_SWITCH, NULL, true, scratch, nr);
		return;
	}
	if (nr == stream->recording.depth || nr > member->room)
		note_wrapped(stream, member);
	nr = min(nr, member->room);
	memcpy(member->history, scratch + stream->recording.depth - nr, nr * sizeof(scratch[0]));
	member->nr = nr;
	member->control = stream->recording.control;
}

void sample_start(struct stream *stream, struct flowtap_member *member)
{
	u32 nr = member->nr, skip = 0;

	/* CPUs may differ in what they record and how much. */
	if (nr && member->control != stream->recording.control) {
		sample_note_loss(stream, member, FLOWTAP_CAUSE_SWITCH);
		nr = 0;
	} else if (nr > stream->recording.depth) {
		note_wrapped(stream, member);
		skip = nr - stream->recording.depth;
		nr = stream->recording.depth;
	}
	stream->source->start(&stream->recording, member->history + skip, nr);
	member->nr = 0;
}
