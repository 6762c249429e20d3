// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what an AUX record says of how it ended, that what no record names has a GAP record with its
 * cause, once, and when a strobe begins and ends.
 */
#include "piece_driver.h"

/* --- What a record says. --- */

TEST_F(piece, a_record_says_how_it_ended)
{
	struct flowtap_member *member = &self->member;
	unsigned int how, continues;

	for (how = 0; how < 16; how++)
		for (continues = 0; continues < 2; continues++) {
			const struct flowtap_collected collected = {
				.size = 128, .full = how & 1, .wrapped = how & 2, .fault = how & 4,
				.collision = how & 8,
			};
			const bool loses = how & (1 | 4);

			begin_again(self, 0);
			piece_begin(&self->stream, member);
			if (continues)
				COLLECT(.size = 64);
			collect(self, collected);
			read_all();
			EXPECT_EQ(1 + continues, reader.auxes);
			EXPECT_EQ(how | continues << 4, reader.aux.flags);
			EXPECT_EQ(1 + continues, reader.aux.sequence);
			EXPECT_EQ(0, reader.aux.loss);
			/* A loss has one GAP record, and its cause is in the next record. */
			EXPECT_EQ(loses, reader.gaps);
			EXPECT_EQ(loses ? 1U << FLOWTAP_CAUSE_HARDWARE : 0, member->gaps_written);
			if (loses) {
				EXPECT_EQ(FLOWTAP_CAUSE_HARDWARE, reader.gap.cause);
				EXPECT_EQ(FLOWTAP_UNKNOWN, reader.gap.size);
				EXPECT_EQ(reader.aux.since, reader.gap.since);
			}
			COLLECT(.size = 64);
			read_all();
			EXPECT_EQ(loses ? 1U << FLOWTAP_CAUSE_HARDWARE : 0, reader.aux.loss);
			EXPECT_EQ(2 + continues + loses, reader.aux.sequence);
			EXPECT_EQ(loses ? 0 : FLOWTAP_AUX_CONTINUES, reader.aux.flags);
			EXPECT_EQ(loses, reader.gaps);
			EXPECT_EQ(0, member->loss | member->gaps_written);
		}
}

/* Of a whole CPU the reader hears who runs there, before and after what he executed. */
TEST_F(piece, a_whole_cpus_records_are_between_those_of_the_switches)
{
	struct flowtap_stream *stream = &self->stream;
	const struct flowtap_thread thread = output_thread(&stream->output, &self->task);

	piece_begin(stream, &self->member);
	COLLECT(.size = 64);
	piece_end(stream, &self->member);
	read_all();
	EXPECT_EQ(1, reader.auxes);
	EXPECT_EQ(0, reader.n_switches);

	begin_again(self, FLOWTAP_CPU_WIDE);
	piece_begin(stream, &self->member);
	COLLECT(.size = 64);
	piece_end(stream, &self->member);
	read_all();
	EXPECT_EQ(1, reader.auxes);
	ASSERT_EQ(2, reader.n_switches);
	EXPECT_EQ(0, reader.switches[0].header.misc);
	EXPECT_EQ(FLOWTAP_MISC_OUT, reader.switches[1].header.misc);
	EXPECT_LE(reader.switches[0].time, reader.aux.since);
	EXPECT_LE(reader.aux.time, reader.switches[1].time);
	EXPECT_NE(0, thread.tid);
	for (unsigned int i = 0; i < 2; i++) {
		EXPECT_EQ(thread.pid, reader.switches[i].pid);
		EXPECT_EQ(thread.tid, reader.switches[i].tid);
	}
}

TEST_F(piece, what_begins_anew_does_not_continue)
{
	struct flowtap_stream *stream = &self->stream;

	piece_begin(stream, &self->member);
	COLLECT(.size = 64);
	COLLECT(.size = 64);
	read_all();
	EXPECT_EQ(FLOWTAP_AUX_CONTINUES, reader.aux.flags);
	unit.finds = (struct flowtap_collected){ .size = 64 };
	piece_executed(stream, &self->member);
	read_all();
	EXPECT_EQ(FLOWTAP_AUX_CONTINUES, reader.aux.flags);
	COLLECT(.size = 64);
	read_all();
	EXPECT_EQ(0, reader.aux.flags);
	piece_end(stream, &self->member);
	EXPECT_FALSE(unit.on || unit.open || stream->tick.queued);
	piece_begin(stream, &self->member);
	COLLECT(.size = 64);
	read_all();
	EXPECT_EQ(0, reader.aux.flags);
	EXPECT_EQ(5, reader.aux.sequence);
	EXPECT_EQ(0, reader.gaps);
}

/* Nothing came while there was no space, so nothing is lost: the stream is another all the same. */
TEST_F(piece, what_the_spare_pages_were_for_is_not_continued)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int lost;

	for (lost = 0; lost < 2; lost++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		unit.error = -ENOSPC;
		COLLECT(.size = 64);
		EXPECT_TRUE(unit.open && unit.spare);
		unit.finds = (struct flowtap_collected){ .size = lost };
		unit.error = lost ? -EIO : 0;
		piece_tick(stream, &self->member);
		EXPECT_EQ(!lost, unit.open);
		EXPECT_EQ(!lost, unit.on);
		unit.error = 0;
		piece_tick(stream, &self->member);
		COLLECT(.size = 64);
		read_all();
		EXPECT_EQ(0, reader.aux.flags);
		EXPECT_EQ(lost, reader.gaps);
	}
}

TEST_F(piece, the_unit_begins_anew_after_a_loss)
{
	piece_begin(&self->stream, &self->member);
	EXPECT_EQ(0, unit.resets);
	COLLECT(.size = 64);
	EXPECT_EQ(0, unit.resets);
	COLLECT(.size = 64, .full = true);
	EXPECT_EQ(1, unit.resets);
	EXPECT_TRUE(unit.open);
}

TEST_F(piece, enough_bytes_wake_the_reader)
{
	const u64 watermark = 2 * PAGE_SIZE / 4;
	struct flowtap_output *output = &self->stream.output;

	piece_begin(&self->stream, &self->member);
	COLLECT(.size = watermark - 1);
	EXPECT_EQ(0, output->wake.queued);
	EXPECT_EQ(0, output_poll(output, false));
	COLLECT(.size = 1);
	EXPECT_EQ(1, output->wake.queued);
	EXPECT_EQ(EPOLLIN | EPOLLRDNORM, output_poll(output, false));
	read_all();
	EXPECT_EQ(0, output_poll(output, false));
}

/* Of more than the area can hold the newest; what went round more than once has nothing older. */
TEST_F(piece, what_went_round_has_its_newest_bytes)
{
	const u64 area = 2 * PAGE_SIZE, head = 1000;
	static const u64 skips[] = { 0, 54 };
	const u64 sizes[] = {
		1, 1000, area - 55, area - 54, area - 1, area, area + 1, 2 * area, 5 * area + 100,
	};
	unsigned int i, j, wrapped;

	for (i = 0; i < COUNT(skips); i++)
		for (j = 0; j < COUNT(sizes); j++)
			for (wrapped = 0; wrapped < 2; wrapped++) {
				const u64 came = skips[i] + sizes[j];
				const u64 round = wrapped && came < area ? area : 0;
				const u64 size = sizes[j] > area ? area : sizes[j];

				begin_again(self, FLOWTAP_OVERWRITE);
				piece_begin(&self->stream, &self->member);
				COLLECT(.size = head);
				COLLECT(.size = sizes[j], .skipped = skips[i], .wrapped = wrapped);
				read_all();
				EXPECT_EQ(size, reader.aux.size);
				EXPECT_EQ(head + came + round, reader.aux.offset + reader.aux.size);
				EXPECT_EQ(head + came + round, self->stream.output.aux.head);
				EXPECT_EQ(head + size, self->stream.output.stats.aux_bytes);
			}
}

TEST_F(piece, a_fault_without_bytes_leaves_nothing_of_a_flight_recorder)
{
	unsigned int overwrite;

	for (overwrite = 0; overwrite < 2; overwrite++) {
		begin_again(self, overwrite ? FLOWTAP_OVERWRITE : 0);
		piece_begin(&self->stream, &self->member);
		COLLECT(.size = 640);
		COLLECT(.fault = true);
		read_all();
		EXPECT_EQ(640 + overwrite * 2 * PAGE_SIZE,
			  self->stream.output.ring.control->aux_head);
		EXPECT_EQ(1, reader.gaps);
	}
}

/* --- Losses. --- */

TEST_F(piece, a_loss_has_the_cause_that_began_it)
{
	static const struct {
		struct flowtap_collected finds;		/* the piece */
		bool ring_full;				/* it has no record */
		int error, spare_error;			/* of what comes after it */
		struct flowtap_collected spare;
		bool since;				/* it is lost from the piece on */
		u32 cause;				/* 0: nothing is lost */
		u64 bytes;
	} losses[] = {
		/* The reader is slow: it is known how much, while the spare pages can count. */
		{ { .size = 640 }, true, -ENOSPC, 0, { .size = 100 },
		  true, FLOWTAP_CAUSE_RING_FULL, 740 },
		{ { .size = 640 }, true, -ENOSPC, 0, { .size = 100, .wrapped = true },
		  true, FLOWTAP_CAUSE_RING_FULL, FLOWTAP_UNKNOWN },
		{ { .size = 640, .wrapped = true }, true, -ENOSPC, 0, { 0 },
		  true, FLOWTAP_CAUSE_RING_FULL, FLOWTAP_UNKNOWN },
		{ { .size = 640 }, false, -ENOSPC, 0, { .size = 100 },
		  false, FLOWTAP_CAUSE_RING_FULL, 100 },
		{ { .size = 640 }, false, -ENOSPC, 0, { .size = 0 }, false, 0, 0 },
		/* Full, and no space after it: his fault all along. After a fault it is not. */
		{ { .size = 640, .full = true }, false, -ENOSPC, 0, { 0 },
		  true, FLOWTAP_CAUSE_RING_FULL, FLOWTAP_UNKNOWN },
		{ { .size = 640, .fault = true }, false, -ENOSPC, 0, { 0 },
		  true, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_UNKNOWN },
		{ { .size = 640, .full = true }, false, 0, 0, { 0 },
		  true, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_UNKNOWN },
		/* Somebody else's, or it does not answer. */
		{ { .size = 640 }, false, -EBUSY, 0, { 0 },
		  false, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_UNKNOWN },
		{ { .size = 640 }, false, -EIO, 0, { 0 },
		  false, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_UNKNOWN },
		{ { .size = 640 }, false, -ENOSPC, 0, { .fault = true },
		  false, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_UNKNOWN },
	};
	struct flowtap_stream *stream = &self->stream;
	unsigned int i, n;
	u64 since;

	for (i = 0; i < COUNT(losses); i++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		since = stream->piece.since;
		if (losses[i].ring_full)
			leave_space(self, 0);
		unit.error = losses[i].error;
		unit.spare_error = losses[i].spare_error;
		collect(self, losses[i].finds);
		/* It tries again; in vain; then the reader has taken all. */
		unit.finds = losses[i].spare;
		piece_tick(stream, &self->member);
		read_all();
		unit.error = 0;
		for (n = 0; n < 3; n++)
			piece_tick(stream, &self->member);
		read_all();
		EXPECT_EQ(!!losses[i].cause, reader.gaps) TH_LOG("loss %u", i);
		EXPECT_EQ(losses[i].cause, reader.gap.cause) TH_LOG("loss %u", i);
		EXPECT_EQ(losses[i].bytes, reader.gap.size) TH_LOG("loss %u", i);
		EXPECT_EQ(losses[i].since, since == reader.gap.since) TH_LOG("loss %u", i);
		EXPECT_EQ(losses[i].cause ? 1U << losses[i].cause : 0, self->member.loss)
			TH_LOG("loss %u", i);
		EXPECT_EQ(self->member.loss, self->member.gaps_written);
		EXPECT_TRUE(unit.open && !unit.spare);
	}
}

/* One loss of several causes, in their order: what was the unit's is not the reader's afterwards. */
TEST_F(piece, a_unit_that_cannot_be_used_stays_the_cause_when_space_runs_out)
{
	static const struct {
		int errors[3];		/* of what is tried, one after the other; 0: not tried */
		u32 cause;
	} losses[] = {
		{ { -EBUSY, -ENOSPC }, FLOWTAP_CAUSE_HARDWARE },
		{ { -EIO, -ENOSPC, -ENOSPC }, FLOWTAP_CAUSE_HARDWARE },
		{ { -ENOSPC, -EBUSY }, FLOWTAP_CAUSE_HARDWARE },
		{ { -ENOSPC, -EBUSY, -ENOSPC }, FLOWTAP_CAUSE_HARDWARE },
		{ { -ENOSPC, -ENOSPC, -ENOSPC }, FLOWTAP_CAUSE_RING_FULL },
	};
	struct flowtap_stream *stream = &self->stream;
	unsigned int i, n;

	for (i = 0; i < COUNT(losses); i++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		unit.error = losses[i].errors[0];
		COLLECT(.size = 640);
		for (n = 1; n < 3 && losses[i].errors[n]; n++) {
			/* The spare pages, where they count, have some. */
			unit.finds = (struct flowtap_collected){ .size = 8 };
			unit.error = losses[i].errors[n];
			piece_tick(stream, &self->member);
		}
		read_all();
		unit.finds = (struct flowtap_collected){ .size = 8 };
		unit.error = 0;
		for (n = 0; n < 3; n++)
			piece_tick(stream, &self->member);
		read_all();
		EXPECT_EQ(1, reader.gaps) TH_LOG("loss %u", i);
		EXPECT_EQ(losses[i].cause, reader.gap.cause) TH_LOG("loss %u", i);
		/* The next loss begins anew, whatever this one was. */
		unit.error = -ENOSPC;
		COLLECT(.size = 640);
		unit.finds = (struct flowtap_collected){ .size = 8 };
		unit.error = 0;
		for (n = 0; n < 3; n++)
			piece_tick(stream, &self->member);
		read_all();
		EXPECT_EQ(2, reader.gaps) TH_LOG("loss %u", i);
		EXPECT_EQ(FLOWTAP_CAUSE_RING_FULL, reader.gap.cause) TH_LOG("loss %u", i);
	}
}

/* Without space the next record alone says so; it is not to be repeated, nor to be forgotten. */
TEST_F(piece, a_gap_without_space_is_in_the_next_record)
{
	struct flowtap_stream *stream = &self->stream;
	const u32 cause = 1U << FLOWTAP_CAUSE_HARDWARE;
	unsigned int fits;

	for (fits = 0; fits < 2; fits++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		leave_space(self, AUX_RECORD + (fits ? GAP_RECORD : GAP_RECORD - 8));
		unit.finds = (struct flowtap_collected){ .size = 64, .fault = true };
		piece_end(stream, &self->member);
		EXPECT_EQ(cause, self->member.loss);
		EXPECT_EQ(fits ? cause : 0, self->member.gaps_written);
		read_all();
		EXPECT_EQ(fits, reader.gaps);
		piece_begin(stream, &self->member);
		piece_end(stream, &self->member);
		piece_begin(stream, &self->member);
		COLLECT(.size = 64);
		read_all();
		EXPECT_EQ(cause, reader.aux.loss);
		EXPECT_EQ(fits, reader.gaps);
		EXPECT_EQ(0, reader.losts);
		EXPECT_EQ(1, stream->output.stats.losses[FLOWTAP_CAUSE_HARDWARE]);
	}
}

TEST_F(piece, a_record_without_space_is_a_lost_sample)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int fits;

	for (fits = 0; fits < 2; fits++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		leave_space(self, fits ? AUX_RECORD : AUX_RECORD - 8);
		unit.finds = (struct flowtap_collected){ .size = 64 };
		/* What a SNAPSHOT says. */
		EXPECT_EQ(fits ? 64 : 0, piece_write(stream, &self->member));
		EXPECT_EQ(fits, stream->output.stats.samples);
		EXPECT_EQ(!fits, stream->output.stats.lost_samples);
	}
}

/* A fault that comes again and again waits for the timer, a watermark does not. */
TEST_F(piece, an_interrupt_is_followed_by_a_piece_unless_it_was_a_fault)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int fault;

	for (fault = 0; fault < 2; fault++) {
		begin_again(self, 0);
		piece_begin(stream, &self->member);
		unit.finds = (struct flowtap_collected){ .size = 64, .fault = fault };
		piece_interrupted(stream, &self->member);
		EXPECT_EQ(!fault, unit.open);
		EXPECT_EQ(!fault, unit.on);
		EXPECT_EQ(fault ? 2 * NSEC_PER_MSEC : 10 * NSEC_PER_MSEC, stream->tick.ns);
		/* On its way when that had closed it. */
		piece_interrupted(stream, &self->member);
		EXPECT_EQ(fault ? 1 : 2, stream->output.stats.interrupts);
		piece_tick(stream, &self->member);
		EXPECT_TRUE(unit.open);
		read_all();
		EXPECT_EQ(fault, reader.gaps);
	}
}

/* --- Strobes. --- */

TEST_F(piece, a_strobe_goes_by_the_clock)
{
	static const u64 times[] = { 1, 100000, 10000000, 10000001, 60000000000 };
	struct flowtap_stream *stream = &self->stream;
	struct flowtap_configure configure = { .ring_pages = 1, .aux_pages = 2, .flush_ms = 10 };
	unsigned int i, j, k, n;

	for (i = 0; i < COUNT(times); i++)
		for (j = 0; j < COUNT(times); j++) {
			const u64 on = times[i], off = times[j], period = on + off;
			const u64 rounds[] = { 0, 1, U64_MAX / period - 1 };
			const u64 places[] = { 0, on - 1, on, period - 1 };

			for (k = 0; k < COUNT(rounds) * COUNT(places); k++) {
				const u64 at = places[k % COUNT(places)];
				const bool rest = at >= on;
				const u64 left = rest ? period - at : on - at;
				const u64 tick = rest || left < 10000000 ? left : 10000000;

				output_free(&stream->output);
				configure.ete.strobe_on_ns = on;
				configure.ete.strobe_off_ns = off;
				begin(self, &configure);
				mono_ns = rounds[k / COUNT(places)] * period + at;
				piece_begin(stream, &self->member);
				ASSERT_EQ(rest, stream->piece.resting);
				ASSERT_EQ(!rest, unit.open);
				ASSERT_EQ(tick, stream->tick.ns);
				/* A timer may be early: nothing has changed then. */
				for (n = 0; n < 2; n++) {
					piece_tick(stream, &self->member);
					ASSERT_EQ(rest, stream->piece.resting);
					ASSERT_EQ(!rest, unit.open);
					ASSERT_EQ(!rest, unit.on);
				}
				mono_ns += left;
				piece_tick(stream, &self->member);
				ASSERT_EQ(!rest, stream->piece.resting);
				ASSERT_EQ(rest, unit.open);
				ASSERT_EQ(rest, unit.on);
				ASSERT_EQ(1U << FLOWTAP_CAUSE_STROBE, self->member.loss);
				ASSERT_EQ(1, stream->output.stats.losses[FLOWTAP_CAUSE_STROBE]);
				read_all();
				ASSERT_EQ(0, reader.gaps);
			}
		}
}

/* Once, until a record has said so. */
TEST_F(piece, a_rest_is_counted_once_for_a_record)
{
	struct flowtap_stream *stream = &self->stream;
	const struct flowtap_configure configure = {
		.ring_pages = 1, .aux_pages = 2,
		.ete = { .strobe_on_ns = 100000, .strobe_off_ns = 100000 },
	};
	unsigned int n;

	output_free(&stream->output);
	begin(self, &configure);
	piece_begin(stream, &self->member);
	for (n = 1; n < 8; n++) {
		/* The fourth rest is after a record. */
		unit.finds.size = n == 5 ? 64 : 0;
		mono_ns += 100000;
		piece_tick(stream, &self->member);
		ASSERT_EQ(n & 1, stream->piece.resting);
		ASSERT_EQ(n < 5 ? 1 : 2, stream->output.stats.losses[FLOWTAP_CAUSE_STROBE]);
	}
	read_all();
	EXPECT_EQ(1U << FLOWTAP_CAUSE_STROBE, reader.aux.loss);
}

/* Whichever comes first: the strobe's end, the flush, another try. */
TEST_F(piece, the_timer_is_for_what_comes_first)
{
	static const struct {
		u64 on;			/* 0: no strobe */
		u32 flush_ms;		/* ~0: never */
		u32 flags;
		int error;
		u64 ns;			/* 0: no timer */
	} timers[] = {
		{ 0, 10, 0, 0, 10000000 }, { 0, ~0U, 0, 0, 0 }, { 0, 10, FLOWTAP_OVERWRITE, 0, 0 },
		{ 0, ~0U, 0, -EBUSY, 2000000 }, { 0, 1, 0, -EBUSY, 2000000 },
		{ 5000000, 10, 0, 0, 5000000 }, { 5000000, 1, 0, 0, 1000000 },
		{ 5000000, ~0U, 0, 0, 5000000 }, { 5000000, 1, FLOWTAP_OVERWRITE, 0, 5000000 },
		{ 5000000, 10, 0, -EBUSY, 2000000 }, { 1000000, 10, 0, -EBUSY, 1000000 },
	};
	struct flowtap_configure configure = { .ring_pages = 1, .aux_pages = 2 };
	unsigned int i;

	for (i = 0; i < COUNT(timers); i++) {
		output_free(&self->stream.output);
		configure.flags = timers[i].flags;
		configure.flush_ms = timers[i].flush_ms;
		configure.ete.strobe_on_ns = timers[i].on;
		configure.ete.strobe_off_ns = timers[i].on;
		begin(self, &configure);
		unit.error = timers[i].error;
		piece_begin(&self->stream, &self->member);
		EXPECT_EQ(!!timers[i].ns, self->stream.tick.queued) TH_LOG("timer %u", i);
		EXPECT_EQ(timers[i].ns, self->stream.tick.ns) TH_LOG("timer %u", i);
	}
}

TEST_HARNESS_MAIN
