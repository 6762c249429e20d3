// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what was counted goes on where streams are opened anew, and that each loss is told
 * once, by CPU and cause, at once and then together.
 */
#include "totals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "logged.h"

#define SECOND 1000000000ULL

FIXTURE(totals)
{
	struct totals totals;
	struct metrics_cpu cpus[3];
	struct logged logged;
};

FIXTURE_SETUP(totals)
{
	memset(self, 0, sizeof(*self));
	logged_open(&self->logged);
	self->cpus[0] = (struct metrics_cpu){ .cpu = 2, .bytes = 100, .records = 10, .ring_size = 8,
					      .ring_high = 7 };
	self->cpus[1] = (struct metrics_cpu){ .cpu = 0, .bytes = 200, .records = 20, .ring_size = 8,
					      .ring_high = 3 };
}

FIXTURE_TEARDOWN(totals)
{
	totals_free(&self->totals);
	logged_close(&self->logged);
}

static const struct metrics_cpu *find(const struct totals *totals, uint32_t cpu)
{
	for (size_t i = 0; i < totals->n; i++)
		if (totals->cpus[i].cpu == cpu)
			return &totals->cpus[i];
	return NULL;
}

TEST_F(totals, what_is_open_is_what_there_is)
{
	totals_add(&self->totals, self->cpus, 2);
	totals_add(&self->totals, self->cpus, 2);
	EXPECT_EQ(2, self->totals.n);
	EXPECT_EQ(100, find(&self->totals, 2)->bytes);
	EXPECT_EQ(20, find(&self->totals, 0)->records);
	totals_add(&self->totals, NULL, 0);
	EXPECT_EQ(0, self->totals.n);
}

/* Other CPUs may be there then, in another order. */
TEST_F(totals, what_was_closed_counts_on)
{
	struct metrics_cpu next[2] = {
		{ .cpu = 0, .bytes = 5, .records = 1, .ring_size = 16, .ring_high = 2 },
		{ .cpu = 3, .bytes = 7, .records = 2, .ring_size = 16, .ring_high = 9 },
	};

	self->cpus[1].losses[FLOWTAP_CAUSE_OFFLINE] = 4;
	next[0].losses[FLOWTAP_CAUSE_OFFLINE] = 1;
	next[0].lost_bytes[FLOWTAP_CAUSE_RING_FULL] = 64;
	totals_add(&self->totals, self->cpus, 2);
	totals_keep(&self->totals);
	totals_add(&self->totals, NULL, 0);
	EXPECT_EQ(2, self->totals.n);
	EXPECT_EQ(200, find(&self->totals, 0)->bytes);
	for (int i = 0; i < 2; i++) {
		totals_add(&self->totals, next, 2);
		ASSERT_EQ(3, self->totals.n);
		EXPECT_EQ(205, find(&self->totals, 0)->bytes);
		EXPECT_EQ(21, find(&self->totals, 0)->records);
		EXPECT_EQ(5, find(&self->totals, 0)->losses[FLOWTAP_CAUSE_OFFLINE]);
		EXPECT_EQ(64, find(&self->totals, 0)->lost_bytes[FLOWTAP_CAUSE_RING_FULL]);
		EXPECT_EQ(16, find(&self->totals, 0)->ring_size);
		EXPECT_EQ(3, find(&self->totals, 0)->ring_high);
		EXPECT_EQ(100, find(&self->totals, 2)->bytes);
		EXPECT_EQ(7, find(&self->totals, 3)->bytes);
	}
	/* And once more. */
	totals_keep(&self->totals);
	totals_add(&self->totals, next, 2);
	EXPECT_EQ(210, find(&self->totals, 0)->bytes);
	EXPECT_EQ(14, find(&self->totals, 3)->bytes);
}

TEST_F(totals, losses_are_told_by_cpu_and_cause)
{
	uint64_t now = 5 * SECOND;

	totals_add(&self->totals, self->cpus, 2);
	totals_report_losses(&self->totals, now);
	EXPECT_STREQ("", logged_since(&self->logged));
	/* What was asked for is no loss. */
	self->cpus[0].losses[FLOWTAP_CAUSE_DISABLED] = self->cpus[0].losses[FLOWTAP_CAUSE_START] = 1;
	self->cpus[0].losses[FLOWTAP_CAUSE_STROBE] = self->cpus[0].losses[FLOWTAP_CAUSE_WRAPPED] = 9;
	totals_add(&self->totals, self->cpus, 2);
	totals_report_losses(&self->totals, now += SECOND);
	EXPECT_STREQ("", logged_since(&self->logged));
	self->cpus[0].losses[FLOWTAP_CAUSE_RING_FULL] = 3;
	self->cpus[0].lost_bytes[FLOWTAP_CAUSE_RING_FULL] = 4096;
	self->cpus[1].losses[FLOWTAP_CAUSE_HARDWARE] = 1;
	totals_add(&self->totals, self->cpus, 2);
	totals_report_losses(&self->totals, now += SECOND);
	EXPECT_STREQ("level=warning event=loss cpu=2 cause=ring_full times=3 bytes=4096\n"
		     "level=warning event=loss cpu=0 cause=hardware times=1\n", logged_since(&self->logged));
	/* Then together. */
	for (int i = 0; i < 59; i++) {
		self->cpus[0].losses[FLOWTAP_CAUSE_RING_FULL]++;
		self->cpus[0].lost_bytes[FLOWTAP_CAUSE_RING_FULL] += 10;
		totals_add(&self->totals, self->cpus, 2);
		totals_report_losses(&self->totals, now += SECOND);
	}
	EXPECT_STREQ("", logged_since(&self->logged));
	totals_report_losses(&self->totals, now += SECOND);
	EXPECT_STREQ("level=warning event=loss cpu=2 cause=ring_full times=59 bytes=590\n",
		     logged_since(&self->logged));
	/* And never again, also not when streams are opened anew. */
	totals_keep(&self->totals);
	memset(self->cpus, 0, sizeof(self->cpus));
	totals_add(&self->totals, self->cpus, 1);
	totals_report_losses(&self->totals, now += 1000 * SECOND);
	EXPECT_STREQ("", logged_since(&self->logged));
}

/* What nobody asked for; of the others there may be as many as there are samples. */
TEST_F(totals, each_cause_is_told_or_was_asked_for)
{
	static const uint32_t told[] = {
		FLOWTAP_CAUSE_DISPLACED, FLOWTAP_CAUSE_RING_FULL, FLOWTAP_CAUSE_THROTTLED,
		FLOWTAP_CAUSE_OFFLINE, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_CAUSE_MEMORY,
	};
	uint64_t now = 5 * SECOND;

	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		bool wanted = false;

		for (size_t i = 0; i < ARRAY_SIZE(told); i++)
			wanted |= told[i] == cause;
		self->cpus[0].losses[cause]++;
		totals_add(&self->totals, self->cpus, 1);
		totals_report_losses(&self->totals, now += 100 * SECOND);
		EXPECT_EQ(wanted, !!*logged_since(&self->logged))
			TH_LOG("cause %u: %s", cause, self->logged.text);
	}
	/* Bytes, too, are a loss. */
	self->cpus[0].lost_bytes[FLOWTAP_CAUSE_RING_FULL] += 7;
	totals_add(&self->totals, self->cpus, 1);
	totals_report_losses(&self->totals, now += 100 * SECOND);
	EXPECT_STREQ("level=warning event=loss cpu=2 cause=ring_full times=0 bytes=7\n",
		     logged_since(&self->logged));
}

TEST_HARNESS_MAIN
