/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kmod/piece.c, output.c, ring.c and aux.c, compiled into the program that includes this, with a
 * collector, a stream, a member and a reader of its own.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_PIECE_DRIVER_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_PIECE_DRIVER_H

#include "support/kselftest_harness.h"

#include "kernel_output.h"

#define U32_MAX		(~0U)
#define U64_MAX		(~0ULL)

static u64 mono_ns;

#define ktime_get_mono_fast_ns()			(mono_ns)
#define div64_u64_rem(value, by, remainder)		\
	((void)(*(remainder) = (value) % (by)))

/* --- In place of kmod/compat.h and timer.h. --- */

#define FLOWTAP_KMOD_COMPAT_H
#define FLOWTAP_KMOD_TIMER_H

#include "../../../kmod/ring.c"
#include "../../../kmod/aux.c"
#include "../../../kmod/output.c"
#include "../../../kmod/source.h"
#include "../../../kmod/piece.h"

/* --- In place of kmod/stream.h, set.h, sample.h and displace.h: one stream, one member. --- */

#define FLOWTAP_KMOD_STREAM_H
#define FLOWTAP_KMOD_SAMPLE_H
#define FLOWTAP_KMOD_DISPLACE_H

struct flowtap_member {
	struct task_struct *task;
	u64 sequence, since;
	u32 loss, gaps_written;
	bool started;
};

struct flowtap_stream {
	struct flowtap_recording recording;
	const struct flowtap_source *source;
	u32 cpu, flags;
	struct flowtap_output output;
	struct flowtap_piece piece;
	struct hrtimer tick;
};

static bool stream_is_wide(const struct flowtap_stream *stream)
{
	return stream->flags & FLOWTAP_CPU_WIDE;
}

static struct flowtap_thread stream_name_task(const struct flowtap_stream *stream,
					      struct task_struct *task)
{
	return output_thread(&stream->output, task);
}

static bool set_member_renamed(struct flowtap_member *member)
{
	return false;
}

static void sample_add_loss(struct flowtap_stream *stream, struct flowtap_member *member, u32 cause)
{
	member->loss |= 1U << cause;
	stream->output.stats.losses[cause]++;
}

static void displace_end(struct flowtap_stream *stream, struct flowtap_member *member)
{
}

#include "../../../kmod/piece.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define AUX_RECORD ((u32)sizeof(struct flowtap_record_aux))
#define GAP_RECORD ((u32)sizeof(struct flowtap_record_gap))
#define LOST_RECORD ((u32)sizeof(struct flowtap_record_lost))
#define FILLER 77	/* a type that there is not */

/* --- The collector. --- */

static struct unit {
	/* What comes to pass next. */
	int error, spare_error;			/* of an opening */
	struct flowtap_collected finds;		/* a closing, once */
	/* What it is asked for. */
	bool open, spare, paused;
	bool on;				/* it was not disabled since the opening before */
	unsigned int resets, wrong;
} unit;

static int unit_open(struct flowtap_recording *recording, bool spare)
{
	const int error = spare ? unit.spare_error : unit.error;

	unit.wrong += unit.open || !unit.paused;
	if (error)
		return error;
	unit.open = unit.on = true;
	unit.spare = spare;
	return 0;
}

static void unit_close(struct flowtap_recording *recording, bool stop,
		       struct flowtap_collected *collected)
{
	unit.wrong += !unit.open || !unit.paused;
	*collected = unit.finds;
	unit.finds = (struct flowtap_collected){ 0 };
	unit.open = false;
	unit.on &= !stop;
}

static void unit_reset(struct flowtap_recording *recording)
{
	unit.wrong += unit.open;
	unit.resets++;
	unit.on = false;
}

static u64 unit_counter(void)
{
	return 7;
}

static bool unit_pause(struct flowtap_recording *recording)
{
	unit.paused = true;
	return false;
}

static const struct flowtap_collector collector = {
	.open = unit_open,
	.close = unit_close,
	.reset = unit_reset,
	.counter = unit_counter,
};

static const struct flowtap_source source = { .collector = &collector, .pause = unit_pause };

/* --- The reader. --- */

static struct reader {
	struct flowtap_ring_writer *ring;
	unsigned int auxes, gaps, losts;
	u64 aux_bytes, gap_bytes;
	u64 lost;			/* records, as LOST says */
	u64 end;			/* of the last AUX record's bytes */
	struct flowtap_record_aux aux;	/* the last one */
	struct flowtap_record_gap gap;
	struct flowtap_record_switch switches[4];	/* the first ones */
	unsigned int n_switches;
	unsigned int wrong;		/* AUX records whose bytes are not there */
} reader;

static void read_aux(const struct flowtap_record_aux *aux)
{
	struct flowtap_ring *control = reader.ring->control;

	/* Between what was read before and the head, and no more than the area holds. */
	reader.wrong += aux->offset < reader.end || aux->offset + aux->size > control->aux_head ||
			aux->size > control->aux_size;
	reader.end = control->aux_tail = aux->offset + aux->size;
	reader.auxes++;
	reader.aux_bytes += aux->size;
	reader.aux = *aux;
}

/* Records do not stop at the end of the ring. */
static void copy_record(void *to, u32 size)
{
	const struct flowtap_ring_writer *ring = reader.ring;
	u32 i;

	for (i = 0; i < size; i++)
		((u8 *)to)[i] = ring->data[(ring->control->data_tail + i) & (ring->size - 1)];
}

static inline void read_all(void)
{
	struct flowtap_ring *control = reader.ring->control;
	struct flowtap_record record;
	struct flowtap_record_aux aux;
	struct flowtap_record_lost lost;

	for (; control->data_tail < control->data_head; control->data_tail += record.size) {
		copy_record(&record, sizeof(record));
		if (record.type == FLOWTAP_RECORD_AUX) {
			copy_record(&aux, sizeof(aux));
			read_aux(&aux);
		} else if (record.type == FLOWTAP_RECORD_GAP) {
			copy_record(&reader.gap, sizeof(reader.gap));
			reader.gaps++;
			reader.gap_bytes += reader.gap.size;
		} else if (record.type == FLOWTAP_RECORD_LOST) {
			copy_record(&lost, sizeof(lost));
			reader.losts++;
			reader.lost += lost.records;
		} else if (record.type == FLOWTAP_RECORD_SWITCH && reader.n_switches < 4) {
			copy_record(&reader.switches[reader.n_switches++],
				    sizeof(reader.switches[0]));
		}
	}
}

FIXTURE(piece)
{
	struct flowtap_stream stream;
	struct flowtap_member member;
	struct task_struct task;
};

static inline void begin(FIXTURE_DATA(piece) *self, const struct flowtap_configure *configure)
{
	struct flowtap_stream *stream = &self->stream;

	memset(stream, 0, sizeof(*stream));
	unit = (struct unit){ .paused = true };
	output_init(&stream->output, configure);
	unit.wrong += output_allocate(&stream->output, configure);
	stream->source = &source;
	stream->flags = configure->flags;
	stream->recording.ete = configure->ete;
	stream->recording.aux = &stream->output.aux;
	reader = (struct reader){ .ring = &stream->output.ring };
	self->task.flags = 1234;
	self->member = (struct flowtap_member){ .task = &self->task };
}

static inline void begin_with(FIXTURE_DATA(piece) *self, u32 flags)
{
	const struct flowtap_configure configure = {
		.ring_pages = 1, .aux_pages = 2, .flags = flags, .flush_ms = 10,
	};

	begin(self, &configure);
}

FIXTURE_SETUP(piece)
{
	clock_ns = 1234567890123;
	mono_ns = 0;
	meanwhile = NULL;
	begin_with(self, 0);
}

FIXTURE_TEARDOWN(piece)
{
	output_free(&self->stream.output);
	EXPECT_EQ(0, unit.wrong | reader.wrong);
}

static inline void begin_again(FIXTURE_DATA(piece) *self, u32 flags)
{
	output_free(&self->stream.output);
	begin_with(self, flags);
}

static inline u32 space_of(const FIXTURE_DATA(piece) *self)
{
	return self->stream.output.ring.size - ring_waiting(&self->stream.output.ring);
}

/* The reader has not taken all, and so much space is left. */
static inline void leave_space(FIXTURE_DATA(piece) *self, u32 space)
{
	static u8 bytes[PAGE_SIZE];
	struct flowtap_record filler = { .type = FILLER, .size = space_of(self) - space };

	output_write(&self->stream.output, ++clock_ns, &filler, sizeof(filler), bytes,
		     filler.size - sizeof(filler));
	unit.wrong += space_of(self) != space;
}

/* The piece that goes on ends with this. */
static inline void collect(FIXTURE_DATA(piece) *self, struct flowtap_collected collected)
{
	unit.finds = collected;
	piece_write(&self->stream, &self->member);
}

#define COLLECT(...) collect(self, (struct flowtap_collected){ __VA_ARGS__ })

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_PIECE_DRIVER_H */
