// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that bytes in pieces are joined to packets, and that what is lost of them becomes one gap,
 * which says what was first.
 */
#include "ete/stream.h"

#include "support/kselftest_harness.h"

FIXTURE(stream)
{
	struct flowtap_ete_config config;
	struct ete_stream stream;
	struct flowtap_gap gap;
};

FIXTURE_SETUP(stream)
{
	flowtap_ete_stream_begin(&self->stream, &self->config);
}

FIXTURE_TEARDOWN(stream)
{
}

#define KEEP(...) do {								\
	static const uint8_t bytes_[] = { __VA_ARGS__ };			\
	flowtap_ete_stream_keep(&self->stream, bytes_, sizeof(bytes_));		\
} while (0)

TEST_F(stream, a_packet_that_was_cut_is_whole_with_the_next_piece)
{
	const uint8_t next[] = { 0x40, 0xf7, 0xf6 };
	size_t size, used;

	KEEP(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
	EXPECT_EQ(11, ete_carried(&self->stream));
	size = flowtap_ete_stream_fill(&self->stream, (const uint8_t[]){ 0x80, 0x95 }, 2);
	EXPECT_EQ(13, size);
	used = ete_parse(&self->stream, self->stream.carry, size);
	EXPECT_EQ(12, used);
	EXPECT_EQ(FLOWTAP_ETE_ALIGNMENT_SYNC, self->stream.packet.type);
	/* One of the piece is done with, the other one is still there. */
	EXPECT_EQ(1, flowtap_ete_stream_advance(&self->stream, used, size));
	EXPECT_EQ(0, ete_carried(&self->stream));
	KEEP(0x95);
	EXPECT_EQ(0, ete_parse(&self->stream, self->stream.carry, 1));
	size = flowtap_ete_stream_fill(&self->stream, next, sizeof(next));
	used = ete_parse(&self->stream, self->stream.carry, size);
	EXPECT_EQ(2, used);
	EXPECT_EQ(FLOWTAP_ETE_TARGET_SHORT, self->stream.packet.type);
	EXPECT_EQ(0x100, self->stream.packet.address.address);
	EXPECT_EQ(1, flowtap_ete_stream_advance(&self->stream, used, size));
}

TEST_F(stream, what_is_still_not_whole_waits_with_all_of_the_piece)
{
	KEEP(1, 2, 3);
	EXPECT_EQ(5, flowtap_ete_stream_fill(&self->stream, (const uint8_t[]){ 4, 5 }, 2));
	EXPECT_EQ(3, ete_carried(&self->stream));
	EXPECT_EQ(2, flowtap_ete_stream_advance(&self->stream, 1, 5));
	EXPECT_EQ(4, ete_carried(&self->stream));
	EXPECT_EQ(0, memcmp(self->stream.carry, (const uint8_t[]){ 2, 3, 4, 5 }, 4));
}

TEST_F(stream, of_a_long_piece_comes_as_much_as_there_is_room_for)
{
	static const uint8_t piece[1000];

	KEEP(1, 2, 3);
	EXPECT_EQ(sizeof(self->stream.carry),
		  flowtap_ete_stream_fill(&self->stream, piece, sizeof(piece)));
	EXPECT_EQ(sizeof(self->stream.carry) - 3,
		  flowtap_ete_stream_advance(&self->stream, 0, sizeof(self->stream.carry)));
	EXPECT_EQ(sizeof(self->stream.carry), ete_carried(&self->stream));
}

TEST_F(stream, zeros_at_the_end_are_no_packet_that_is_not_finished)
{
	EXPECT_EQ(0, flowtap_ete_stream_unfinished(&self->stream));
	KEEP(0, 0, 0);
	EXPECT_EQ(0, flowtap_ete_stream_unfinished(&self->stream));
	KEEP(0, 1, 0);
	EXPECT_EQ(3, flowtap_ete_stream_unfinished(&self->stream));
	flowtap_ete_stream_begin(&self->stream, &self->config);
	EXPECT_EQ(0, ete_carried(&self->stream));
	EXPECT_EQ(0, flowtap_ete_stream_unfinished(&self->stream));
}

TEST_F(stream, what_is_skipped_adds_up_to_one_gap)
{
	EXPECT_FALSE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	flowtap_ete_stream_skip(&self->stream, 3);
	flowtap_ete_stream_skip(&self->stream, 4);
	EXPECT_TRUE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	EXPECT_EQ(FLOWTAP_GAP_UNSYNCED, self->gap.reason);
	EXPECT_EQ(7, self->gap.size);
	EXPECT_EQ(NULL, self->gap.detail);
	EXPECT_FALSE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
}

TEST_F(stream, a_bad_packet_says_where_and_what_it_was_and_unsyncs)
{
	const uint8_t bytes[] = { 0x05, 0xff };

	ete_set_sync(&self->stream, ETE_SYNCED);
	self->stream.packet.reason = "it is bad";
	flowtap_ete_stream_reject(&self->stream, bytes, 2, 0x123);
	EXPECT_EQ(ETE_UNSYNCED, ete_sync(&self->stream));
	/* What is lost after it is of the same gap, which has the first reason. */
	flowtap_ete_stream_skip(&self->stream, 10);
	self->stream.packet.reason = "so is this";
	flowtap_ete_stream_reject(&self->stream, bytes, 1, 0x130);
	EXPECT_TRUE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	EXPECT_EQ(FLOWTAP_GAP_BAD_PACKET, self->gap.reason);
	EXPECT_EQ(13, self->gap.size);
	EXPECT_STREQ("offset 0x123: 05 ff: it is bad", self->gap.detail);
	/* Nor is anything of it in the next one. */
	flowtap_ete_stream_skip(&self->stream, 1);
	EXPECT_TRUE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	EXPECT_EQ(FLOWTAP_GAP_UNSYNCED, self->gap.reason);
	EXPECT_EQ(1, self->gap.size);
	EXPECT_EQ(NULL, self->gap.detail);
}

TEST_F(stream, the_detail_of_a_long_packet_is_cut)
{
	uint8_t bytes[100];

	memset(bytes, 0xee, sizeof(bytes));
	self->stream.packet.reason = "a reason that is longer than what is left of the room that there "
				     "is for the detail, and is therefore cut somewhere before its "
				     "end is reached";
	flowtap_ete_stream_reject(&self->stream, bytes, sizeof(bytes), UINT64_MAX);
	EXPECT_TRUE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	EXPECT_EQ(sizeof(self->stream.loss.detail) - 1, strlen(self->gap.detail));
}

TEST_F(stream, after_a_gap_of_another_what_is_lost_is_none_once)
{
	flowtap_ete_stream_silence(&self->stream);
	flowtap_ete_stream_skip(&self->stream, 5);
	EXPECT_FALSE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	flowtap_ete_stream_skip(&self->stream, 6);
	EXPECT_TRUE(flowtap_ete_stream_end_loss(&self->stream, &self->gap));
	EXPECT_EQ(6, self->gap.size);
}

TEST_HARNESS_MAIN
