// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which timestamps are known to be of a trace that had not stopped: after an exception, until
 * something is executed, whichever packet says that. And that one waits however often it comes.
 */
#include "ete/ahead.h"

#include "support/crafted.h"

#include "support/kselftest_harness.h"

FIXTURE(ahead)
{
	struct flowtap_ete_config config;
	struct ete_ahead ahead;
	struct stream stream;
};

FIXTURE_SETUP(ahead)
{
	self->config = (struct flowtap_ete_config){ .configr = 1 << 11, .idr0 = 0x28000ea1 };
	flowtap_ete_ahead_begin(&self->ahead, &self->config);
	memset(&self->stream, 0, sizeof(self->stream));
	start(&self->stream);
}

FIXTURE_TEARDOWN(ahead)
{
}

/* After an exception, these bytes and a timestamp: whether that is sure by itself. */
static bool is_sure(FIXTURE_DATA(ahead) *self, const char *bytes, size_t size)
{
	/* Of type 14, IRQ, and where it is to return to. */
	static const uint8_t irq[] = { 0x06, 0x1d, 0x95, 0x01 };

	for (size_t i = 0; i < sizeof(irq); i++)
		byte(&self->stream, irq[i]);
	for (size_t i = 0; i < size; i++)
		byte(&self->stream, (uint8_t)bytes[i]);
	timestamp(&self->stream, 5000);
	flowtap_ete_ahead_add(&self->ahead, self->stream.bytes, self->stream.size);
	return self->ahead.n == 1 && self->ahead.parsed == self->ahead.size &&
	       self->ahead.stamps[0].sure;
}

#define SURE_AFTER(bytes) is_sure(self, bytes, sizeof(bytes) - 1)

TEST_F(ahead, after_an_exception_one_is_sure)
{
	EXPECT_TRUE(SURE_AFTER(""));
}

TEST_F(ahead, an_event_changes_nothing)
{
	EXPECT_TRUE(SURE_AFTER("\x71"));
}

TEST_F(ahead, after_an_atom_it_is_not)
{
	EXPECT_FALSE(SURE_AFTER("\xf7"));
}

TEST_F(ahead, nor_after_a_source_address)
{
	EXPECT_FALSE(SURE_AFTER("\xb0"));
}

TEST_F(ahead, nor_after_a_mispredict_with_an_atom)
{
	EXPECT_FALSE(SURE_AFTER("\x31"));
}

/* Without one it says nothing of what was executed since. */
TEST_F(ahead, a_mispredict_alone_changes_nothing)
{
	EXPECT_TRUE(SURE_AFTER("\x30"));
}

/* These bytes, which are all packets. */
static void feed(FIXTURE_DATA(ahead) *self)
{
	struct stream *stream = &self->stream;

	if (flowtap_ete_ahead_add(&self->ahead, stream->bytes, stream->size) != stream->size ||
	    self->ahead.parsed != self->ahead.size)
		abort();
	flowtap_ete_ahead_drop(&self->ahead, self->ahead.size);
	stream->size = 0;
}

TEST_F(ahead, where_timestamps_stand_still_one_waits)
{
	const struct ete_stamp *stamp;
	const uint64_t ticks = 5000;

	for (int i = 0; i < 40000; i++) {
		/* An atom, and the time of a counter that has not gone on. */
		byte(&self->stream, 0xf7);
		timestamp(&self->stream, ticks);
		feed(self);
	}
	EXPECT_EQ(1, self->ahead.n - self->ahead.first);
	stamp = flowtap_ete_ahead_at(&self->ahead, ticks);
	ASSERT_NE(NULL, stamp);
	EXPECT_EQ(ticks, stamp->ticks);
	EXPECT_FALSE(stamp->marked);
	/* It goes on. */
	timestamp(&self->stream, ticks + 1);
	feed(self);
	EXPECT_EQ(2, self->ahead.n - self->ahead.first);
	stamp = flowtap_ete_ahead_next(&self->ahead, &ticks);
	ASSERT_NE(NULL, stamp);
	EXPECT_EQ(ticks + 1, stamp->ticks);
}

/* 0x06 to 0x01: an IRQ, after which the first is sure; 0x04: a Trace On, after which none is. */
TEST_F(ahead, of_several_of_the_same_ticks_the_first_is_what_is_known)
{
	static const uint8_t irq[] = { 0x06, 0x1d, 0x95, 0x01 };
	const struct ete_stamp *stamp;
	uint64_t all;

	for (size_t i = 0; i < sizeof(irq); i++)
		byte(&self->stream, irq[i]);
	timestamp(&self->stream, 5000);
	feed(self);
	stamp = flowtap_ete_ahead_at(&self->ahead, 5000);
	EXPECT_TRUE(stamp && stamp->sure);
	all = stamp ? stamp->all : 0;
	trace_on(&self->stream);
	timestamp(&self->stream, 5000);
	feed(self);
	stamp = flowtap_ete_ahead_at(&self->ahead, 5000);
	EXPECT_TRUE(stamp && stamp->sure && !stamp->marked && stamp->all == all);
	/* A marker: one of them is of an earlier moment than its place says. */
	byte(&self->stream, 0x88);
	timestamp(&self->stream, 5000);
	feed(self);
	stamp = flowtap_ete_ahead_at(&self->ahead, 5000);
	EXPECT_TRUE(stamp && stamp->marked && stamp->all == all);
}

/* One that was dropped is none that another can be added to. */
TEST_F(ahead, what_the_decoder_has_left_behind_is_not_added_to)
{
	timestamp(&self->stream, 5000);
	feed(self);
	flowtap_ete_ahead_advance(&self->ahead, 6000);
	EXPECT_EQ(NULL, flowtap_ete_ahead_next(&self->ahead, NULL));
	timestamp(&self->stream, 5000);
	feed(self);
	EXPECT_EQ(1, self->ahead.n - self->ahead.first);
	EXPECT_NE(NULL, flowtap_ete_ahead_at(&self->ahead, 5000));
}

TEST_HARNESS_MAIN
