// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a reader who sleeps is woken as soon as the watermark's bytes wait, whatever he takes at
 * any moment meanwhile and though no timer would wake him later. kmod/output.c, ring.c and aux.c are
 * compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "kernel_output.h"

/* --- In place of kmod/compat.h and timer.h. --- */

#define FLOWTAP_KMOD_COMPAT_H
#define FLOWTAP_KMOD_TIMER_H

#include "../../../kmod/ring.c"
#include "../../../kmod/aux.c"
#include "../../../kmod/output.c"

#define WATERMARK	128

/* He takes some bytes at one moment, and sleeps unless as many as the watermark wait. */
static struct {
	struct flowtap_output *output;
	unsigned int moments;		/* until he does */
	u32 takes;			/* bytes, or what there is */
	bool asleep;
	unsigned int woken;		/* when he fell asleep */
} reader;

static void read_some(void)
{
	struct flowtap_ring *control = reader.output->ring.control;
	u64 waiting;

	if (!reader.moments || --reader.moments)
		return;
	waiting = control->data_head - control->data_tail;
	control->data_tail += min((u64)reader.takes, waiting);
	reader.woken = reader.output->wake.queued;
	reader.asleep = !output_poll(reader.output, false);
}

FIXTURE(output)
{
	struct flowtap_output output;
};

FIXTURE_SETUP(output)
{
	const struct flowtap_configure configure = {
		.ring_pages = 1, .watermark = WATERMARK, .flush_ms = ~0U,
	};

	ASSERT_EQ(0, output_allocate(&self->output, &configure));
	output_init(&self->output, &configure);
	reader.output = &self->output;
}

FIXTURE_TEARDOWN(output)
{
	meanwhile = NULL;
	output_free(&self->output);
}

/* The two ways in which records are written. */
static void write_record(struct flowtap_output *output, u32 size, bool reserved)
{
	u8 bytes[512] = { 0 };
	void *record = reserved ? output_reserve(output, size) : NULL;

	if (!record) {
		output_write(output, 0, bytes, size, NULL, 0);
		return;
	}
	memset(record, 0, size);
	output_commit(output, size);
}

static bool sleeps_though_it_is_due(struct flowtap_output *output)
{
	return reader.asleep && output_poll(output, false) && output->wake.queued == reader.woken;
}

TEST_F(output, who_sleeps_is_woken_at_the_watermark_whatever_he_took_meanwhile)
{
	struct flowtap_output *output = &self->output;
	unsigned int slept = 0, woken = 0;
	u32 before, size, at;

	for (before = 8; before <= 2 * WATERMARK; before += 8)
		for (size = 8; size <= WATERMARK + 8; size += 8)
			for (reader.takes = 0; reader.takes <= before + size; reader.takes += 8)
				for (at = 1, reader.moments = 0; !reader.moments; at++) {
					reader.asleep = false;
					output->ring.control->data_tail = output->ring.head;
					write_record(output, before, false);
					reader.moments = at;
					meanwhile = read_some;
					write_record(output, size, at & 1);
					meanwhile = NULL;
					ASSERT_FALSE(sleeps_though_it_is_due(output))
						TH_LOG("%u and %u bytes, %u taken at %u", before, size,
						       reader.takes, at);
					slept += reader.asleep;
					woken += reader.asleep && output->wake.queued != reader.woken;
				}
	/* Both came. */
	EXPECT_LT(1000, woken);
	EXPECT_LT(woken, slept);
}

/* A GAP record that was left before a record did not fit is counted after it. */
TEST_F(output, what_was_lost_first_says_since_when)
{
	struct flowtap_record_lost *lost = (void *)self->output.ring.data;
	struct flowtap_ring *control = self->output.ring.control;
	const u8 bytes[64] = { 0 };

	clock_ns = 100;
	output_leave_gap(&self->output, 1);
	output_lose(&self->output, 2, sizeof(bytes));
	output_write_lost(&self->output);
	ASSERT_EQ(sizeof(*lost), control->data_head);
	EXPECT_EQ(FLOWTAP_RECORD_LOST, lost->header.type);
	EXPECT_EQ(2, lost->records);
	EXPECT_EQ(1, lost->since);
}

TEST_F(output, who_is_awake_is_not_woken_for_each_record)
{
	struct flowtap_output *output = &self->output;

	write_record(output, WATERMARK, false);
	EXPECT_EQ(1, output->wake.queued);
	for (int i = 0; i < 4; i++)
		write_record(output, 64, i & 1);
	EXPECT_EQ(1, output->wake.queued);
}

TEST_HARNESS_MAIN
