// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that an AUX record names bytes that are there, and a GAP record is known to be written or
 * not, whatever the reader and other CPUs do at any moment in between.
 */
#include "piece_driver.h"

/* What another CPU does between any two looks at what is shared. */

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
