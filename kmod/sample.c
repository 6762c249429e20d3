// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads the entries of a source into a SAMPLE record, or keeps them for the task until it runs
 * again.
 */
#ifdef __KERNEL__
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#endif

#include "sample.h"
#include "stream.h"

void sample_add_loss(struct flowtap_stream *stream, struct flowtap_member *member, u32 cause)
{
	member->loss |= 1U << cause;
	stream->output.stats.losses[cause]++;
}

/* Where the trigger interrupted a mode that is recorded: FLOWTAP_MISC_, else 0. */
static u16 interrupted(const struct flowtap_stream *stream, struct pt_regs *regs)
{
	if (!regs)
		return 0;
	if (user_mode(regs))
		return stream->recording.modes & FLOWTAP_MODE_USER ? FLOWTAP_MISC_USER : 0;
	return stream->recording.modes & FLOWTAP_MODE_KERNEL ? FLOWTAP_MISC_KERNEL : 0;
}

/* Once, until a sample has said so. */
static void add_wrapped(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (!(member->loss & 1U << FLOWTAP_CAUSE_WRAPPED))
		sample_add_loss(stream, member, FLOWTAP_CAUSE_WRAPPED);
}

/* All of the record but its entries. Any loss makes the sequence number jump. */
static __always_inline void describe(struct flowtap_stream *stream, struct flowtap_member *member,
				     u64 time, u32 trigger, int nr, unsigned long size,
				     struct pt_regs *regs, struct flowtap_record_sample *sample)
{
	const u16 mode = interrupted(stream, regs);
	const u64 ip = mode ? instruction_pointer(regs) : 0;

	if (nr == stream->recording.depth)
		add_wrapped(stream, member);
	if (stream->named != member->task)
		stream_name_recorded(stream, member->task);
	member->sequence += member->loss ? 2 : 1;
	/* The reader may write to it already: nothing is read back. */
	*sample = (struct flowtap_record_sample){
		.header.type = FLOWTAP_RECORD_SAMPLE,
		.header.misc = mode | stream->output.misc,
		.header.size = size,
		.time = time,
		.sequence = member->sequence,
		.control = stream->recording.control,
		.ip = ip,
		.cpu = stream->cpu,
		.trigger = trigger,
		.loss = member->loss,
		.depth = stream->recording.depth,
		.nr = nr,
		.pid = stream->thread.pid,
		.tid = stream->thread.tid,
	};
}

/* Somebody else's overflow or breakpoint had stopped recording, nobody knows when. */
static void add_frozen(struct flowtap_stream *stream, struct flowtap_member *member)
{
	sample_add_loss(stream, member, FLOWTAP_CAUSE_FROZEN);
	stream_write_gap(stream, member->task, member->since, FLOWTAP_CAUSE_FROZEN);
}

/* Not of u32: the compiler would clear the upper half, here and where it is used. */
static __always_inline unsigned long size_of(int nr)
{
	return sizeof(struct flowtap_record_sample) + nr * sizeof(struct flowtap_entry);
}

/* There is no space in one piece. False: none at all, it is lost. */
static noinline bool write_in_pieces(struct flowtap_stream *stream, struct flowtap_member *member,
				     u64 time, u32 trigger, int nr, struct pt_regs *regs,
				     struct flowtap_entry *scratch)
{
	struct flowtap_record_sample sample;

	describe(stream, member, time, trigger, nr, size_of(nr), regs, &sample);
	stream->source->drain(&stream->recording, scratch, nr);
	return output_write(&stream->output, time, &sample, sizeof(sample), scratch,
			    nr * sizeof(*scratch));
}

/* The record with the source's nr entries. False: no space for it, they are lost. */
static __always_inline bool write_sample(struct flowtap_stream *stream,
					 struct flowtap_member *member, u64 time, u32 trigger,
					 int nr, struct pt_regs *regs,
					 struct flowtap_entry *scratch)
{
	const unsigned long size = size_of(nr);
	struct flowtap_record_sample *sample = output_reserve(&stream->output, size);

	if (!sample)
		return write_in_pieces(stream, member, time, trigger, nr, regs, scratch);
	describe(stream, member, time, trigger, nr, size, regs, sample);
	stream->source->drain(&stream->recording, (struct flowtap_entry *)(sample + 1), nr);
	output_commit(&stream->output, size);
	return true;
}

/*
 * A trigger that stops recording by itself interrupted where the entries end only if it was what
 * stopped it: one trap may serve several interrupts, and the path from there to here was recorded
 * as well if the kernel is.
 */
static __always_inline bool ends_elsewhere(const struct flowtap_stream *stream, u32 trigger,
					   bool frozen)
{
	return trigger == stream->recording.stopping &&
	       (frozen ? stream->recording.stale : stream->recording.modes & FLOWTAP_MODE_KERNEL);
}

/* Somebody else's counter, or a breakpoint. */
static __always_inline bool stopped_by_others(const struct flowtap_stream *stream, u32 trigger)
{
	return trigger != stream->recording.stopping || stream->recording.stale;
}

static __always_inline void write_record(struct flowtap_stream *stream,
					 struct flowtap_member *member, u32 trigger,
					 struct pt_regs *regs, bool frozen,
					 struct flowtap_entry *scratch, int nr)
{
	u64 time = ktime_get_raw_fast_ns();

	if (ends_elsewhere(stream, trigger, frozen))
		regs = NULL;
	if (write_sample(stream, member, time, trigger, nr, regs, scratch)) {
		member->loss = 0;
		member->displaced = false;
		stream->output.stats.samples++;
		stream->output.stats.entries += nr;
	} else {
		stream->output.stats.lost_samples++;
		stream->output.stats.lost_entries += nr;
		sample_add_loss(stream, member, FLOWTAP_CAUSE_RING_FULL);
	}
	if (frozen && stopped_by_others(stream, trigger))
		add_frozen(stream, member);
	else if (frozen && stream->recording.breakpoints)
		sample_add_loss(stream, member, FLOWTAP_CAUSE_FROZEN);
	member->since = time;
}

static noinline void write_frozen(struct flowtap_stream *stream, struct flowtap_member *member,
				struct flowtap_entry *scratch, int nr)
{
	write_record(stream, member, FLOWTAP_TRIGGER_SWITCH, NULL, true, scratch, nr);
}

/* Somebody else has the source: what it holds is not the task's, and is dropped. It begins anew. */
static noinline void take_back(struct flowtap_stream *stream, struct flowtap_member *member)
{
	stream->source->start(&stream->recording, NULL, 0);
	sample_add_loss(stream, member, FLOWTAP_CAUSE_HARDWARE);
	stream_write_gap(stream, member->task, member->since, FLOWTAP_CAUSE_HARDWARE);
	member->since = ktime_get_raw_fast_ns();
}

u32 notrace sample_write(struct flowtap_stream *stream, struct flowtap_member *member, u32 trigger,
		struct pt_regs *regs, struct flowtap_entry *scratch)
{
	u32 count = stream->source->count(&stream->recording);
	int nr;

	if (unlikely(count & SOURCE_FOREIGN)) {
		take_back(stream, member);
		/* Not 0, by which the compiler would have all that follows twice. */
		count &= ~SOURCE_FOREIGN;
	}
	nr = count & SOURCE_ENTRIES;
	/* A CPU goes from task to task all the time, most have nothing to write. */
	if (count || trigger != FLOWTAP_TRIGGER_SWITCH || !stream_is_wide(stream))
		write_record(stream, member, trigger, regs, count & SOURCE_STOPPED, scratch, nr);
	else
		stream->source->drain(&stream->recording, scratch, 0);
	return nr;
}

void sample_keep(struct flowtap_stream *stream, struct flowtap_member *member, bool frozen,
		 struct flowtap_entry *scratch)
{
	u32 count = stream->source->count(&stream->recording), nr = count & SOURCE_ENTRIES;

	if (unlikely(count & SOURCE_FOREIGN)) {
		take_back(stream, member);
		return;
	}
	/* What comes next does not follow: this is a sample of its own. */
	if (frozen) {
		write_frozen(stream, member, scratch, nr);
		return;
	}
	if (nr == stream->recording.depth || nr > member->capacity)
		add_wrapped(stream, member);
	nr = min(nr, member->capacity);
	stream->source->drain(&stream->recording, member->history, nr);
	member->nr = nr;
	member->control = stream->recording.control;
	member->data = stream->recording.data;
}

void sample_restart(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (stream->source->pause(&stream->recording)) {
		if (stream->source->count(&stream->recording) & SOURCE_FOREIGN) {
			take_back(stream, member);
			return;
		}
		add_frozen(stream, member);
		member->since = ktime_get_raw_fast_ns();
	}
	stream->source->start(&stream->recording, NULL, 0);
}

void sample_start(struct flowtap_stream *stream, struct flowtap_member *member)
{
	u32 nr = member->nr, skip = 0;

	/* CPUs may differ in what they record, what they can hold of it, and how much. */
	if (nr && (member->control != stream->recording.control ||
		   member->data != stream->recording.data)) {
		sample_add_loss(stream, member, FLOWTAP_CAUSE_SWITCH);
		nr = 0;
	} else if (nr > stream->recording.depth) {
		add_wrapped(stream, member);
		skip = nr - stream->recording.depth;
		nr = stream->recording.depth;
	}
	stream->source->start(&stream->recording, member->history + skip, nr);
	member->nr = 0;
}
