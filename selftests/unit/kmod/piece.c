// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an AUX record names bytes that are there, whatever a reader does meanwhile, that what
 * no record names is counted with its cause, and when a strobe begins and ends. kmod/piece.c,
 * output.c, ring.c and aux.c are compiled into this program, with a collector of its own.
 */
#include "support/kselftest_harness.h"

/* What other CPUs do at any moment: called whenever memory is looked at that they share. */
static void (*meanwhile)(void);

static void others_go_on(void)
{
	if (meanwhile)
		meanwhile();
}

#define READ_ONCE(variable)							\
({										\
	__auto_type __value = (variable);					\
										\
	others_go_on();								\
	__value;								\
})
#define smp_store_release(pointer, value) (*(pointer) = (value), others_go_on())

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
	unsigned int wrong;
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

static void read_all(void)
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
		}
	}
}

FIXTURE(piece)
{
	struct flowtap_stream stream;
	struct flowtap_member member;
	struct task_struct task;
};

static void begin(FIXTURE_DATA(piece) *self, const struct flowtap_configure *configure)
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

static void begin_with(FIXTURE_DATA(piece) *self, u32 flags)
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

static void begin_again(FIXTURE_DATA(piece) *self, u32 flags)
{
	output_free(&self->stream.output);
	begin_with(self, flags);
}

static u32 space_of(const FIXTURE_DATA(piece) *self)
{
	return self->stream.output.ring.size - ring_waiting(&self->stream.output.ring);
}

/* The reader has not taken all, and so much space is left. */
static void leave_space(FIXTURE_DATA(piece) *self, u32 space)
{
	static u8 bytes[PAGE_SIZE];
	struct flowtap_record filler = { .type = FILLER, .size = space_of(self) - space };

	output_write(&self->stream.output, ++clock_ns, &filler, sizeof(filler), bytes,
		     filler.size - sizeof(filler));
	unit.wrong += space_of(self) != space;
}

/* The piece that goes on ends with this. */
static void collect(FIXTURE_DATA(piece) *self, struct flowtap_collected collected)
{
	unit.finds = collected;
	piece_write(&self->stream, &self->member);
}

#define COLLECT(...) collect(self, (struct flowtap_collected){ __VA_ARGS__ })

/* --- What another CPU does between any two looks at what is shared. --- */

static unsigned int moments;		/* until it does */
static struct flowtap_output *shared;

static void reader_takes_all(void)
{
	if (moments && !--moments)
		read_all();
}

/* He may write anything there: a tail that was, and is no more. */
static void reader_takes_space_back(void)
{
	if (moments && !--moments)
		shared->ring.control->data_tail = shared->ring.head - shared->ring.size;
}

static void another_leaves_a_gap(void)
{
	if (moments && !--moments)
		output_leave_gap(shared, clock_ns);
}

/* Either a record names the bytes, which are there, or they are counted as lost. */
TEST_F(piece, bytes_have_a_record_or_are_lost_whenever_the_reader_makes_space)
{
	struct flowtap_output *output = &self->stream.output;
	unsigned int at, space, named = 0, lost = 0;

	for (space = 0; space <= AUX_RECORD + 8; space += 8)
		for (at = 1, moments = 0; !moments; at++) {
			begin_again(self, 0);
			piece_begin(&self->stream, &self->member);
			leave_space(self, space);
			moments = at;
			meanwhile = reader_takes_all;
			COLLECT(.size = 640);
			meanwhile = NULL;
			read_all();
			ASSERT_EQ(0, reader.wrong) TH_LOG("space %u, moment %u", space, at);
			ASSERT_EQ(output->stats.samples, reader.auxes);
			ASSERT_EQ(640, reader.aux_bytes + output->stats.lost_bytes);
			ASSERT_EQ(reader.aux_bytes, output->aux.head);
			ASSERT_EQ(reader.auxes, self->member.sequence);
			ASSERT_EQ(!reader.auxes, output->ring.total_lost_records);
			named += reader.auxes;
			lost += !reader.auxes;
			/* The next one says what became of it. */
			unit.error = 0;
			piece_tick(&self->stream, &self->member);
			COLLECT(.size = 64);
			read_all();
			ASSERT_EQ(output->ring.total_lost_records, reader.lost);
			ASSERT_EQ(output->stats.samples, reader.auxes);
			ASSERT_EQ(0, reader.wrong);
		}
	EXPECT_NE(0, named);
	EXPECT_NE(0, lost);
}

TEST_F(piece, a_reader_who_takes_space_back_has_it_counted)
{
	struct flowtap_output *output = &self->stream.output;
	unsigned int at, lost = 0;

	for (at = 1, moments = 0; !moments; at++) {
		begin_again(self, 0);
		shared = output;
		piece_begin(&self->stream, &self->member);
		moments = at;
		meanwhile = reader_takes_space_back;
		COLLECT(.size = 640);
		meanwhile = NULL;
		ASSERT_EQ(640, output->stats.aux_bytes + output->stats.lost_bytes);
		ASSERT_EQ(output->stats.samples, self->member.sequence);
		ASSERT_EQ(!output->stats.samples, output->ring.total_lost_records);
		lost += !output->stats.samples;
	}
	EXPECT_NE(0, lost);
}

/* A GAP record is written once; the member knows of it only if it is. */
TEST_F(piece, a_member_has_a_gap_that_was_written_whenever_another_cpu_leaves_one)
{
	const u32 cause = 1U << FLOWTAP_CAUSE_HARDWARE;
	unsigned int at, space, before, written = 0, left_out = 0;

	for (before = 0; before < 2; before++)
		for (space = 0; space <= GAP_RECORD + LOST_RECORD; space += 8)
			for (at = 1, moments = 0; !moments; at++) {
				begin_again(self, 0);
				shared = &self->stream.output;
				piece_begin(&self->stream, &self->member);
				self->stream.piece.lost_since = clock_ns;
				self->stream.piece.lost_cause = FLOWTAP_CAUSE_HARDWARE;
				leave_space(self, space);
				if (before)
					output_leave_gap(shared, clock_ns);
				moments = at;
				meanwhile = another_leaves_a_gap;
				piece_end(&self->stream, &self->member);
				meanwhile = NULL;
				read_all();
				ASSERT_EQ(cause, self->member.loss);
				ASSERT_EQ(reader.gaps ? cause : 0, self->member.gaps_written)
					TH_LOG("space %u, moment %u", space, at);
				ASSERT_GE(1, reader.gaps);
				written += reader.gaps;
				left_out += !reader.gaps;
			}
	EXPECT_NE(0, written);
	EXPECT_NE(0, left_out);
}

/* What another CPU left is told ahead of it: both are to fit. */
TEST_F(piece, nothing_is_collected_where_its_gap_finds_no_space)
{
	unsigned int space, left;

	for (left = 0; left < 2; left++)
		for (space = 0; space <= GAP_RECORD + LOST_RECORD; space += 8) {
			begin_again(self, 0);
			unit.error = -ENOSPC;
			unit.spare_error = -EIO;
			piece_begin(&self->stream, &self->member);
			EXPECT_NE(0, self->stream.piece.lost_since);
			leave_space(self, space);
			if (left)
				output_leave_gap(&self->stream.output, clock_ns);
			unit.error = 0;
			piece_tick(&self->stream, &self->member);
			read_all();
			ASSERT_EQ(space >= GAP_RECORD + left * LOST_RECORD, unit.open)
				TH_LOG("space %u", space);
			ASSERT_EQ(unit.open, reader.gaps);
			ASSERT_EQ(!unit.open, !!self->stream.piece.lost_since);
			ASSERT_EQ(reader.gaps ? left : 0, reader.lost);
		}
}

TEST_HARNESS_MAIN
