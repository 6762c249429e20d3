// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which timestamps are known to be of a trace that had not stopped: after an exception, until
 * something is executed, whichever packet says that.
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

TEST_HARNESS_MAIN
