// SPDX-License-Identifier: GPL-2.0-only
/*
 * Collects bytes of the AUX area at switches, at ticks and when the area fills up, and writes the
 * AUX, CLOCK and GAP records around them.
 *
 * The host's unit tests run this file with a collector of their own.
 */
#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#endif

#include "displace.h"
#include "piece.h"
#include "sample.h"
#include "stream.h"
#include "timer.h"

#define RETRY_NS	(2 * NSEC_PER_MSEC)	/* when nothing could be collected */

static bool strobes(const struct flowtap_stream *stream)
{
	return stream->recording.ete.strobe_off_ns;
}

/* The strobe goes by the clock, so that short time slices do not change its duty. */
static bool rests(const struct flowtap_stream *stream, u64 now, u64 *left)
{
	const u64 on = stream->recording.ete.strobe_on_ns,
		  period = on + stream->recording.ete.strobe_off_ns;
	u64 at;

	div64_u64_rem(now, period, &at);
	*left = at < on ? on - at : period - at;
	return at >= on;
}

static void start_tick(struct flowtap_stream *stream)
{
	u64 next = U64_MAX, left;

	if (strobes(stream)) {
		rests(stream, ktime_get_mono_fast_ns(), &left);
		next = left;
	}
	if (stream->piece.since && stream->output.flush_ns && !stream->output.aux.overwrite)
		next = min(next, stream->output.flush_ns);
	if (!stream->piece.since && !stream->piece.resting)
		next = min_t(u64, next, RETRY_NS);
	if (next != U64_MAX)
		timer_start_in(&stream->tick, next);
}

/* The counter of the trace's time stamps and our clock at one moment. */
static u64 read_clocks(struct flowtap_stream *stream, u64 *counter)
{
	*counter = stream->source->collector->counter();
	return ktime_get_raw_fast_ns();
}

static void write_clock(struct flowtap_stream *stream)
{
	struct flowtap_record_clock clock = {
		.header = { .type = FLOWTAP_RECORD_CLOCK, .size = sizeof(clock) },
	};

	clock.time = read_clocks(stream, &clock.counter);
	output_write(&stream->output, clock.time, &clock, sizeof(clock), NULL, 0);
}

static void write_start(struct flowtap_stream *stream, const struct flowtap_member *member)
{
	struct flowtap_thread thread = stream_name_task(stream, member->task);
	struct flowtap_record_itrace_start start = {
		.header = { .type = FLOWTAP_RECORD_ITRACE_START, .size = sizeof(start) },
		.time = ktime_get_raw_fast_ns(),
		.pid = thread.pid,
		.tid = thread.tid,
	};

	output_write(&stream->output, start.time, &start, sizeof(start), NULL, 0);
}

static void write_switch(struct flowtap_stream *stream, const struct flowtap_member *member,
			 u32 misc)
{
	struct flowtap_record_switch record = {
		.header = { .type = FLOWTAP_RECORD_SWITCH, .misc = misc, .size = sizeof(record) },
		.time = ktime_get_raw_fast_ns(),
	};
	struct flowtap_thread thread;

	if (!stream_is_wide(stream))
		return;
	thread = stream_name_task(stream, member->task);
	record.pid = thread.pid;
	record.tid = thread.tid;
	output_write(&stream->output, record.time, &record, sizeof(record), NULL, 0);
}

/*
 * From `since` on something is missing; one GAP record says so when it is over. What has no space
 * after a full buffer is the reader's fault all along; what has none after the unit failed, which had
 * a fault or cannot be used, is not.
 */
static void emit_loss(struct flowtap_stream *stream, u64 since, u32 cause, bool failed, u64 bytes)
{
	struct flowtap_piece *piece = &stream->piece;

	if (!piece->lost_since) {
		piece->lost_since = since;
		piece->lost_bytes = 0;
		piece->lost_failed = false;
	}
	if (!piece->lost_failed)
		piece->lost_cause = cause;
	piece->lost_failed |= failed;
	if (bytes == FLOWTAP_UNKNOWN)
		piece->lost_bytes = bytes;
	if (piece->lost_bytes != FLOWTAP_UNKNOWN)
		piece->lost_bytes += bytes;
}

static bool gap_fits(struct flowtap_stream *stream)
{
	return !stream->piece.lost_since || output_gap_fits(&stream->output);
}

/* Where there is no space for a GAP record the next AUX record has the cause. */
static void write_gap(struct flowtap_stream *stream, struct flowtap_member *member)
{
	struct flowtap_piece *piece = &stream->piece;

	if (!piece->lost_since)
		return;
	sample_add_loss(stream, member, piece->lost_cause);
	if (gap_fits(stream) &&
	    output_write_gap(&stream->output, stream_name_task(stream, member->task),
			     piece->lost_since, piece->lost_cause, piece->lost_bytes))
		member->gaps_written |= 1U << piece->lost_cause;
	piece->lost_since = 0;
}

static u32 flags_of(const struct flowtap_piece *piece, const struct flowtap_collected *collected)
{
	return (collected->full ? FLOWTAP_AUX_TRUNCATED : 0) |
	       (collected->fault ? FLOWTAP_AUX_PARTIAL : 0) |
	       (collected->wrapped ? FLOWTAP_AUX_OVERWRITE : 0) |
	       (collected->collision ? FLOWTAP_AUX_COLLISION : 0) |
	       (piece->continues ? FLOWTAP_AUX_CONTINUES : 0);
}

/*
 * How many bytes it has. 0: no record would name the bytes, and the next ones are to take their place.
 */
static u64 write_record(struct flowtap_stream *stream, struct flowtap_member *member,
			const struct flowtap_collected *collected)
{
	const u64 area = stream->output.aux.size;
	u64 skipped = collected->skipped;
	struct flowtap_record_aux record = {
		.header = {
			.type = FLOWTAP_RECORD_AUX,
			.misc = stream->output.misc,
			.size = sizeof(record),
		},
		.since = stream->piece.since,
		.sequence = member->sequence + (member->loss ? 2 : 1),
		.offset = stream->output.aux.head + collected->skipped,
		.size = collected->size,
		.flags = flags_of(&stream->piece, collected),
		.cpu = stream->cpu,
		.loss = member->loss,
	};

	/* More than the area can hold: the newest. */
	if (record.size > area) {
		record.offset += record.size - area;
		record.size = area;
	}
	/* It may have gone round more than once: then nothing older is left. */
	if (collected->wrapped && skipped + collected->size < area) {
		record.offset += area;
		skipped += area;
	}
	record.time = read_clocks(stream, &record.counter);
	record.pid = stream->piece.thread.pid;
	record.tid = stream->piece.thread.tid;
	/*
	 * The head is there when a reader sees the record, so whether there is space is asked first.
	 * He may make some meanwhile: the answer stands, or a record would name bytes that are not.
	 */
	if (!ring_fits(&stream->output.ring, sizeof(record))) {
		output_lose(&stream->output, record.time, sizeof(record));
		stream->output.stats.lost_samples++;
		return 0;
	}
	aux_publish(&stream->output.aux, skipped + collected->size);
	/* No space now: the reader has taken it back. This counts the record. */
	if (!output_write(&stream->output, record.time, &record, sizeof(record), NULL, 0)) {
		stream->output.stats.lost_samples++;
		return 0;
	}
	member->sequence = record.sequence;
	member->loss = 0;
	member->gaps_written = 0;
	member->since = record.time;
	stream->output.stats.samples++;
	stream->output.stats.aux_bytes += record.size;
	return record.size;
}

/* No record names these. */
static void emit_counted_loss(struct flowtap_stream *stream, u64 since,
			      const struct flowtap_collected *collected)
{
	stream->output.stats.lost_bytes += collected->size;
	emit_loss(stream, since, FLOWTAP_CAUSE_RING_FULL, false,
		  collected->wrapped ? FLOWTAP_UNKNOWN : collected->size);
}

/* Ends the piece; how many bytes became a record. stop: the trace unit is disabled as well. */
static u64 cut(struct flowtap_stream *stream, struct flowtap_member *member, bool stop)
{
	struct flowtap_piece *piece = &stream->piece;
	struct flowtap_collected collected = { 0 };
	u64 written = 0;

	stream->source->collector->close(&stream->recording, stop, &collected);
	piece->faulted = collected.fault;
	if (collected.size)
		written = write_record(stream, member, &collected);
	if (written) {
		output_published(&stream->output);
		piece->continues = true;
	} else if (collected.fault && stream->output.aux.overwrite) {
		/* Nobody knows what was overwritten. */
		aux_publish(&stream->output.aux, stream->output.aux.size);
	}
	if (collected.full || collected.fault)
		emit_loss(stream, piece->since, FLOWTAP_CAUSE_HARDWARE, collected.fault,
			  FLOWTAP_UNKNOWN);
	if (collected.size && !written)
		emit_counted_loss(stream, piece->since, &collected);
	if (stop || piece->lost_since)
		piece->continues = false;
	piece->since = 0;
	return written;
}

/* What the spare pages took is lost; most often the task has not left the kernel: nothing came. */
static void close_spare(struct flowtap_stream *stream)
{
	struct flowtap_piece *piece = &stream->piece;
	const u64 since = piece->spare_since;
	struct flowtap_collected collected = { 0 };

	stream->source->collector->close(&stream->recording, true, &collected);
	piece->spare_since = 0;
	piece->faulted = collected.fault;
	if (collected.fault)
		emit_loss(stream, since, FLOWTAP_CAUSE_HARDWARE, true, FLOWTAP_UNKNOWN);
	else if (collected.size)
		emit_counted_loss(stream, since, &collected);
}

/* Ends what is going on; how many bytes became a record. stop: what comes next begins anew. */
static u64 end(struct flowtap_stream *stream, struct flowtap_member *member, bool stop)
{
	if (stream->piece.since)
		return cut(stream, member, stop);
	if (stream->piece.spare_since)
		close_spare(stream);
	else if (stop)
		stream->source->collector->reset(&stream->recording);
	return 0;
}

/*
 * There is no space. Where it is known that an unknown amount is lost there is nothing to be seen.
 */
static int open_spare(struct flowtap_stream *stream)
{
	struct flowtap_piece *piece = &stream->piece;
	int error;

	if (piece->lost_since && piece->lost_bytes == FLOWTAP_UNKNOWN)
		return -ENOSPC;
	error = stream->source->collector->open(&stream->recording, true);
	if (!error)
		piece->spare_since = ktime_get_raw_fast_ns();
	return error;
}

/* Collects from now on, or tries again later. */
static void open(struct flowtap_stream *stream, struct flowtap_member *member)
{
	struct flowtap_piece *piece = &stream->piece;
	int error = -ENOSPC;

	if (gap_fits(stream))
		error = stream->source->collector->open(&stream->recording, false);
	if (!error) {
		write_gap(stream, member);
		piece->since = ktime_get_raw_fast_ns();
		return;
	}
	piece->continues = false;
	if (error == -ENOSPC)
		error = open_spare(stream);
	if (!error)
		return;
	emit_loss(stream, ktime_get_raw_fast_ns(), error == -ENOSPC ?
		  FLOWTAP_CAUSE_RING_FULL : FLOWTAP_CAUSE_HARDWARE, error != -ENOSPC, FLOWTAP_UNKNOWN);
	stream->source->collector->reset(&stream->recording);
}

/* The unit goes on where nothing was lost, so that its stream does. */
static void reopen(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (stream->piece.lost_since)
		stream->source->collector->reset(&stream->recording);
	open(stream, member);
}

static void open_unless_resting(struct flowtap_stream *stream, struct flowtap_member *member)
{
	u64 left;

	stream->piece.resting = strobes(stream) && rests(stream, ktime_get_mono_fast_ns(), &left);
	if (!stream->piece.resting) {
		open(stream, member);
		return;
	}
	write_gap(stream, member);
	if (!(member->loss & 1U << FLOWTAP_CAUSE_STROBE))
		sample_add_loss(stream, member, FLOWTAP_CAUSE_STROBE);
}

/*
 * Whose the pieces are. A thread that executes becomes its process's first one, whose records have
 * a sequence of their own.
 */
static void name_piece(struct flowtap_stream *stream, struct flowtap_member *member)
{
	struct flowtap_piece *piece = &stream->piece;

	piece->thread = stream_name_task(stream, member->task);
	if (!stream_is_wide(stream) && set_member_renamed(member)) {
		member->loss |= 1U << FLOWTAP_CAUSE_START;
		member->started = false;
	}
}

/* The task's first piece. */
static void announce(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (!(member->loss & 1U << FLOWTAP_CAUSE_START) || member->started)
		return;
	member->started = true;
	write_clock(stream);
	write_start(stream, member);
}

void piece_begin(struct flowtap_stream *stream, struct flowtap_member *member)
{
	stream->piece = (struct flowtap_piece){ 0 };
	name_piece(stream, member);
	displace_end(stream, member);
	announce(stream, member);
	write_switch(stream, member, 0);
	open_unless_resting(stream, member);
	start_tick(stream);
}

/* What comes next is a stream of its own. */
static void begin_anew(struct flowtap_stream *stream, struct flowtap_member *member)
{
	end(stream, member, true);
	open_unless_resting(stream, member);
}

void piece_executed(struct flowtap_stream *stream, struct flowtap_member *member)
{
	stream->source->pause(&stream->recording);
	end(stream, member, true);
	name_piece(stream, member);
	announce(stream, member);
	begin_anew(stream, member);
	start_tick(stream);
}

void piece_end(struct flowtap_stream *stream, struct flowtap_member *member)
{
	stream->source->pause(&stream->recording);
	end(stream, member, true);
	write_gap(stream, member);
	write_switch(stream, member, FLOWTAP_MISC_OUT);
	hrtimer_try_to_cancel(&stream->tick);
}

u32 piece_write(struct flowtap_stream *stream, struct flowtap_member *member)
{
	u64 size = 0;

	stream->source->pause(&stream->recording);
	if (stream->piece.since) {
		size = cut(stream, member, false);
		reopen(stream, member);
		start_tick(stream);
	}
	stream->output.stats.triggers++;
	return min_t(u64, size, U32_MAX);
}

void piece_interrupted(struct flowtap_stream *stream, struct flowtap_member *member)
{
	struct flowtap_piece *piece = &stream->piece;

	stream->source->pause(&stream->recording);
	if (!piece->since && !piece->spare_since)
		return;
	stream->output.stats.interrupts++;
	end(stream, member, false);
	/* A fault that comes again and again is not to keep the CPU busy. */
	if (piece->lost_since && piece->faulted)
		stream->source->collector->reset(&stream->recording);
	else
		reopen(stream, member);
	start_tick(stream);
}

void piece_tick(struct flowtap_stream *stream, struct flowtap_member *member)
{
	struct flowtap_piece *piece = &stream->piece;
	u64 left;

	stream->source->pause(&stream->recording);
	if (strobes(stream) && rests(stream, ktime_get_mono_fast_ns(), &left) != piece->resting) {
		begin_anew(stream, member);
	} else if (!piece->resting) {
		end(stream, member, false);
		reopen(stream, member);
	}
	start_tick(stream);
}
