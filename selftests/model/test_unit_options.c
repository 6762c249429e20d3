// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that a number which is written to a register, or is an option, is the one that counts: how
 * often the stream is synchronized, when cycles are told, how deep the stack of returns is, and
 * what the unit says of itself.
 */
#include "unit_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

enum { SYNCPR = 0x034, CCCTLR = 0x038 };

/*
 * Traces so many bytes; the distances of the Alignment Syncs that the log has, the first at 0. How
 * many there are.
 */
static unsigned int syncs(struct rig *rig, uint64_t bytes, uint64_t *nearest, uint64_t *farthest)
{
	uint64_t last = 0;
	unsigned int n = 0;

	*nearest = UINT64_MAX;
	*farthest = 0;
	for (uint64_t i = 0; rig->pe.buffer.accepted < bytes; i++) {
		char *log, *line;

		rig_indirect(rig, 1, 0x123456789000 * (i % 7 + 1) + 8 * i);
		rig_branch(rig, 2, i % 3, 0x20000);
		if (i % 64)
			continue;
		log = rig_log(rig, "sync");
		for (line = strtok(log, "\n"); line; line = strtok(NULL, "\n")) {
			uint64_t at = strtoull(line + 5, NULL, 16);

			if (n++ && at - last < *nearest)
				*nearest = at - last;
			if (n > 1 && at - last > *farthest)
				*farthest = at - last;
			last = at;
		}
		free(log);
		/* They are not looked at. */
		rig->nbytes = 0;
	}
	return n;
}

TEST(the_stream_is_synchronized_as_often_as_trcsyncpr_says)
{
	static const uint8_t periods[] = { 8, 9, 10, 12, 16, 20 };

	for (size_t i = 0; i < sizeof(periods); i++) {
		const uint64_t period = 1ULL << periods[i];
		uint64_t nearest, farthest;
		struct rig rig;

		rig_init(&rig, NULL, false, 0, 1);
		rig_program(&rig, 1);
		rig_write(&rig, SYNCPR, periods[i]);
		rig_enable(&rig);
		EXPECT_LE(2, syncs(&rig, 2 * period + 8192, &nearest, &farthest))
			TH_LOG("period %u", periods[i]);
		EXPECT_GE(nearest, period) TH_LOG("period %u", periods[i]);
		EXPECT_LT(farthest, period + 64) TH_LOG("period %u", periods[i]);
		EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_RESERVED));
		rig_free(&rig);
	}
}

/* PERIOD 0: only where it begins. Values that are reserved are told, and are taken as 0. */
TEST(without_a_period_only_the_begin_is_synchronized)
{
	static const uint8_t values[] = { 0, 1, 7, 21, 31 };

	for (size_t i = 0; i < sizeof(values); i++) {
		uint64_t nearest, farthest;
		struct rig rig;

		rig_init(&rig, NULL, false, 0, 1);
		rig_program(&rig, 1);
		rig_write(&rig, SYNCPR, values[i]);
		rig_enable(&rig);
		EXPECT_EQ(1, syncs(&rig, 20000, &nearest, &farthest)) TH_LOG("value %u", values[i]);
		EXPECT_EQ(values[i] != 0, rig_violations(&rig, VIOLATION_UNIT_RESERVED));
		rig_free(&rig);
	}
}

/* Ten instructions and a taken branch are 11 cycles. */
TEST(cycles_are_told_from_the_threshold_on)
{
	static const uint16_t thresholds[] = { 4, 11, 12, 100, 4095 };

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		const unsigned int branches = (thresholds[i] + 10) / 11;
		char expected[80];
		struct rig rig;

		rig_init(&rig, NULL, false, 0, 1);
		rig_program(&rig, 0x11);
		rig_write(&rig, CCCTLR, thresholds[i]);
		rig_enable(&rig);
		for (unsigned int n = 0; n < 2 * branches; n++)
			rig_branch(&rig, 10, true, 0x400000);
		trace_unit_flush(&rig.pe.unit);
		/* The log has one more than the count. */
		snprintf(expected, sizeof(expected), "cycles %x\ncycles %x\n", 11 * branches + 1,
			 11 * branches + 1);
		EXPECT_TEXT(expected, rig_log(&rig, "cycles"));
		rig_free(&rig);
	}
}

static unsigned int addresses(struct rig *rig)
{
	char *got = rig_packets(rig);
	unsigned int n = 0;

	for (const char *at = got; (at = strstr(at, "Target Address ")); at++)
		n++;
	free(got);
	return n;
}

/* Calls one deeper than the stack: the return from the first of them alone tells its address. */
TEST(the_return_stack_is_as_deep_as_the_option)
{
	struct trace_unit_options options = trace_unit_defaults;

	for (unsigned int depth = 1; depth <= 15; depth++) {
		struct rig rig;

		options.return_stack = depth;
		rig_init(&rig, &options, false, 0, 1);
		rig_program(&rig, 0x1001);
		rig_enable(&rig);
		rig_branch(&rig, 1, false, 0);
		for (unsigned int i = 0; i <= depth; i++)
			rig_call(&rig, 1, 0x500000 + 0x1000 * i);
		for (unsigned int i = depth; i; i--)
			rig_indirect(&rig, 1, 0x500004 + 0x1000 * (i - 1));
		/* Where it all begins. */
		EXPECT_EQ(1, addresses(&rig)) TH_LOG("depth %u", depth);
		rig_indirect(&rig, 1, 0x400008);
		rig_branch(&rig, 1, false, 0);
		EXPECT_EQ(1, addresses(&rig)) TH_LOG("depth %u", depth);
		rig_free(&rig);
	}
}

static uint64_t trfcr_el2(struct rig *rig)
{
	uint64_t value = 0;

	trace_unit_write(&rig->pe.unit, SYSREG_TRFCR_EL2, UINT64_MAX);
	trace_unit_read(&rig->pe.unit, SYSREG_TRFCR_EL2, &value);
	return value;
}

TEST(what_the_unit_is_stands_in_its_registers)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	rig_init(&rig, NULL, true, 0, 1);
	EXPECT_EQ(0xc, rig_get(&rig, 0xfb8));		/* TRCAUTHSTATUS.NSNID: there, allowed */
	EXPECT_EQ(1, rig_get(&rig, 0x1e8) >> 31);	/* TRCIDR2.WFXMODE */
	/* TRCCONFIGR[0] is RES1. */
	rig_write(&rig, 0x010, 0);
	EXPECT_EQ(1, rig_get(&rig, 0x010));
	/* TRFCR_EL2.DnVM is of FEAT_TRBEv1p1. */
	rig.pe.buffer.options.version = 1;
	EXPECT_EQ(0x6b, trfcr_el2(&rig));
	rig.pe.buffer.options.version = 2;
	EXPECT_EQ(0x86b, trfcr_el2(&rig));
	/* TRCIDR1.DESIGNER is who made the PE. */
	rig.pe.config.midr = 0x6d0fd490;
	EXPECT_EQ(0x6d00fff0, rig_get(&rig, 0x1e4));
	rig_free(&rig);
	options.wfx = false;
	rig_init(&rig, &options, true, 0, 1);
	EXPECT_EQ(0, rig_get(&rig, 0x1e8) >> 31);
	rig_free(&rig);
}

TEST_HARNESS_MAIN
