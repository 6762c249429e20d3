// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows what resource selectors, counters, the sequencer, single-shot controls and events make of
 * each other and of the stream.
 */
#include "unit_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

#define EL1	" context EL1 NS 64 vmid 0 contextid 0\n"
#define AT	"Target Address with Context "

/* Offsets of registers that are set below. */
enum {
	EVENTCTL0R = 0x020, EVENTCTL1R = 0x024, RSR = 0x028, TSCTLR = 0x030, VICTLR = 0x080,
	SEQEVR = 0x100, SEQRSTEVR = 0x118, SEQSTR = 0x11c, EXTINSELR = 0x120, CNTRLDVR = 0x140,
	CNTCTLR = 0x150, CNTVR = 0x160, RSCTLR = 0x200, SSCCR = 0x280, SSCSR = 0x2a0,
};

static void start(struct rig *rig, uint64_t configr, bool el2)
{
	rig_init(rig, NULL, el2, 0, 1);
	rig_program(rig, configr);
}

/* How many Event packets with event 0. */
static unsigned int events(struct rig *rig)
{
	char *got = rig_packets(rig);
	unsigned int n = 0;

	for (char *at = got; (at = strstr(at, "Event events 1\n")); at++)
		n++;
	free(got);
	return n;
}

/* Event 0 is traced: selector 2 with this TRCRSCTLR2. */
static void event_of(struct rig *rig, uint64_t rsctlr)
{
	rig_write(rig, EVENTCTL1R, 1);
	rig_write(rig, EVENTCTL0R, 2);
	rig_write(rig, RSCTLR + 8, rsctlr);
}

/* Counter 0. */
static void counter(struct rig *rig, uint64_t control, uint64_t value, uint64_t reload)
{
	rig_write(rig, CNTCTLR, control);
	rig_write(rig, CNTVR, value);
	rig_write(rig, CNTRLDVR, reload);
}

/* External inputs 0 and 1 are events 0x4000 and 0x4001. */
static void with_inputs(struct rig *rig)
{
	start(rig, 1, false);
	rig_write(rig, EXTINSELR, 0x4000);
	rig_write(rig, EXTINSELR + 4, 0x4001);
	rig_write(rig, EVENTCTL1R, 1);
}

/* One instruction while the inputs are as they are given. */
static void pulse(struct rig *rig, bool a, bool b)
{
	if (a)
		trace_unit_external(&rig->pe.unit, 0x4000);
	if (b)
		trace_unit_external(&rig->pe.unit, 0x4001);
	rig_branch(rig, 1, false, 0);
}

TEST(a_pair_of_selectors_has_its_boolean_function)
{
	/* Of A and B by (PAIRINV, A.INV, B.INV): bit a + 2 b. 0b001 and 0b110 are reserved. */
	static const uint8_t functions[8] = {
		[0] = 1 << 3,			/* A and B */
		[2] = 1 << 2,			/* not(A) and B */
		[3] = 1 << 0,			/* not(A) and not(B) */
		[4] = 1 << 0 | 1 << 1 | 1 << 2,	/* not(A) or not(B) */
		[5] = 1 << 0 | 1 << 2 | 1 << 3,	/* not(A) or B */
		[7] = 1 << 1 | 1 << 2 | 1 << 3,	/* A or B */
	};

	for (unsigned int function = 0; function < 8; function++) {
		for (unsigned int inputs = 0; functions[function] && inputs < 4; inputs++) {
			struct rig rig;

			with_inputs(&rig);
			rig_write(&rig, RSCTLR + 4 * 6,
				  1 | (function >> 1 & 1) << 20 | (function >> 2) << 21);
			rig_write(&rig, RSCTLR + 4 * 7, 2 | (function & 1) << 20);
			rig_write(&rig, EVENTCTL0R, 0x83);
			rig_enable(&rig);
			pulse(&rig, inputs & 1, inputs >> 1);
			EXPECT_EQ(functions[function] >> inputs & 1, events(&rig))
				TH_LOG("function %u inputs %u", function, inputs);
			EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_RESERVED));
			rig_free(&rig);
		}
	}
}

TEST(selectors_0_and_1_are_false_and_true)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, EVENTCTL0R, 0x0001);
	rig_write(&rig, EVENTCTL1R, 3);
	rig_enable(&rig);
	rig_branch(&rig, 5, false, 0);
	rig_branch(&rig, 5, false, 0);
	/* One packet says all that occurred since the P0 element before. */
	EXPECT_EQ(2, events(&rig));
	rig_free(&rig);
}

TEST(a_counter_counts_to_zero_and_stays)
{
	struct rig rig;

	start(&rig, 1, false);
	event_of(&rig, 2 << 16 | 1);	/* counter 0 at zero */
	counter(&rig, 1, 3, 9);			/* counts always */
	rig_enable(&rig);
	for (unsigned int i = 0; i < 6; i++)
		rig_branch(&rig, 1, false, 0);
	/* After three instructions it is 0; the fourth, fifth and sixth see it. */
	EXPECT_EQ(3, events(&rig));
	rig_disable(&rig);
	EXPECT_EQ(0, rig_get(&rig, CNTVR));
	rig_free(&rig);
}

TEST(a_counter_reloads_itself_or_where_it_is_told)
{
	struct rig rig;

	start(&rig, 1, false);
	event_of(&rig, 2 << 16 | 1);
	counter(&rig, 1 | 1 << 16, 2, 4);
	rig_enable(&rig);
	for (unsigned int i = 0; i < 20; i++)
		rig_branch(&rig, 1, false, 0);
	/* 2 1 0 | 4 3 2 1 0 | 4 ...: reloads in the 3rd, 8th, 13th, 18th; each seen by the next. */
	EXPECT_EQ(4, events(&rig));
	rig_disable(&rig);
	EXPECT_EQ(2, rig_get(&rig, CNTVR));
	rig_free(&rig);
	with_inputs(&rig);
	rig_write(&rig, RSCTLR + 8, 1);
	counter(&rig, 1 | 2 << 8, 100, 0xffff);	/* reloads where input 0 is */
	rig_enable(&rig);
	pulse(&rig, false, false);
	pulse(&rig, true, false);
	pulse(&rig, false, false);
	rig_disable(&rig);
	EXPECT_EQ(0xfffe, rig_get(&rig, CNTVR));
	rig_free(&rig);
}

/* One that reloads itself is at zero for the instruction that reloads it, else for all. */
TEST(a_counter_at_zero_is_a_resource)
{
	for (unsigned int self = 0; self < 2; self++) {
		struct rig rig;

		with_inputs(&rig);
		rig_write(&rig, RSCTLR + 8, 1);
		rig_write(&rig, RSCTLR + 12, 2 << 16 | 1);
		rig_write(&rig, EVENTCTL0R, 3);
		counter(&rig, 2 | self << 16, 0, 5);	/* counts where input 0 is */
		rig_enable(&rig);
		pulse(&rig, false, false);
		pulse(&rig, false, false);
		pulse(&rig, true, false);
		pulse(&rig, false, false);
		pulse(&rig, false, false);
		EXPECT_EQ(self ? 1 : 5, events(&rig));
		rig_free(&rig);
	}
}

TEST(counters_are_chained)
{
	struct rig rig;

	start(&rig, 1, false);
	counter(&rig, 1 | 1 << 16, 1, 1);
	rig_write(&rig, CNTCTLR + 4, 1 << 17);
	rig_write(&rig, CNTVR + 4, 10);
	rig_enable(&rig);
	rig_branch(&rig, 9, false, 0);
	rig_disable(&rig);
	/* Counter 0 reloads in each second instruction. */
	EXPECT_EQ(6, rig_get(&rig, CNTVR + 4));
	EXPECT_EQ(0, rig_get(&rig, CNTVR));
	rig_free(&rig);
}

TEST(the_sequencer_goes_forward_back_and_to_its_begin)
{
	static const struct {
		bool a, b;
		uint8_t state;
	} steps[] = {
		{ false, false, 0 }, { false, true, 0 }, { true, false, 1 }, { true, true, 1 },
		{ true, false, 2 }, { true, false, 3 }, { true, false, 3 }, { false, true, 2 },
		{ false, true, 1 }, { false, true, 0 }, { true, false, 1 },
	};

	for (size_t most = 1; most <= sizeof(steps) / sizeof(steps[0]); most++) {
		struct rig rig;

		with_inputs(&rig);
		rig_write(&rig, RSCTLR + 8, 1);
		rig_write(&rig, RSCTLR + 12, 2);
		for (unsigned int i = 0; i < 3; i++)
			rig_write(&rig, SEQEVR + 4 * i, 2 | 3 << 8);
		rig_enable(&rig);
		for (size_t i = 0; i < most; i++)
			pulse(&rig, steps[i].a, steps[i].b);
		rig_disable(&rig);
		EXPECT_EQ(steps[most - 1].state, rig_get(&rig, SEQSTR)) TH_LOG("%zu", most);
		rig_free(&rig);
	}
}

TEST(the_sequencer_is_reset_and_its_state_is_a_resource)
{
	struct rig rig;

	with_inputs(&rig);
	rig_write(&rig, RSCTLR + 8, 1);
	rig_write(&rig, RSCTLR + 12, 2 << 16 | 1 << 6);	/* state 2 */
	rig_write(&rig, SEQRSTEVR, 2);
	rig_write(&rig, SEQSTR, 2);
	rig_write(&rig, EVENTCTL0R, 3);
	rig_enable(&rig);
	pulse(&rig, false, false);
	pulse(&rig, true, false);
	pulse(&rig, false, false);
	EXPECT_EQ(2, events(&rig));
	rig_disable(&rig);
	EXPECT_EQ(0, rig_get(&rig, SEQSTR));
	rig_free(&rig);
}

TEST(a_single_shot_control_fires_once_unless_it_rearms)
{
	for (unsigned int again = 0; again < 2; again++) {
		struct rig rig;

		start(&rig, 1, false);
		event_of(&rig, 3 << 16 | 1);
		rig_write(&rig, SSCCR, 1 << 1 | again << 24);
		rig_comparator(&rig, 1, 0x400004, 0);
		rig_enable(&rig);
		rig_walk(&rig, 0x400010);
		rig_walk(&rig, 0x400010);
		EXPECT_EQ(1 + again, events(&rig));
		rig_disable(&rig);
		EXPECT_EQ(0x80000001, rig_get(&rig, SSCSR));
		rig_free(&rig);
		start(&rig, 1, false);
		event_of(&rig, 3 << 16 | 1);
		rig_write(&rig, SSCCR, 1 << 16 | again << 24);
		rig_write(&rig, SSCSR, 0x80000000);	/* it has fired before */
		rig_comparator(&rig, 0, 0x400000, 0);
		rig_comparator(&rig, 1, 0x40000f, 0);
		rig_enable(&rig);
		rig_walk(&rig, 0x400010);
		EXPECT_EQ(again, events(&rig));
		rig_free(&rig);
	}
}

TEST(address_comparators_are_resources)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, EVENTCTL1R, 0xf);
	rig_write(&rig, EVENTCTL0R, 2 | 3 << 8);
	rig_write(&rig, RSCTLR + 8, 4 << 16 | 1 << 7);
	rig_write(&rig, RSCTLR + 12, 5 << 16 | 1 << 1);
	rig_comparator(&rig, 7, 0x400024, 0);
	rig_comparator(&rig, 2, 0x400010, 0);
	rig_comparator(&rig, 3, 0x400027, 0);
	rig_enable(&rig);
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 2 NN\nEvent events 2\n"
		    "Atom format 1 N\nEvent events 3\nAtom format 1 N\n", rig_packets(&rig));
	EXPECT_TEXT("event 2\nevent 3\n", rig_log(&rig, "event"));
	rig_free(&rig);
}

TEST(event_0_is_a_trigger_and_events_come_without_instructions)
{
	struct rig rig;

	with_inputs(&rig);
	rig_write(&rig, VICTLR, 0x200);		/* nothing is traced */
	rig_write(&rig, RSCTLR + 8, 1);
	rig_write(&rig, EVENTCTL0R, 2);
	rig_write(&rig, EVENTCTL1R, 1 | 1 << 11);
	rig_enable(&rig);
	pulse(&rig, false, false);
	EXPECT_EQ(0, rig.triggers);
	pulse(&rig, true, false);
	EXPECT_EQ(1, rig.triggers);
	pulse(&rig, true, false);
	pulse(&rig, false, false);
	pulse(&rig, true, true);
	EXPECT_EQ(2, rig.triggers);
	EXPECT_TEXT("Event events 1\nEvent events 1\nEvent events 1\n", rig_packets(&rig));
	rig_free(&rig);
	/* Not traced, still a trigger. */
	with_inputs(&rig);
	rig_write(&rig, RSCTLR + 8, 1);
	rig_write(&rig, EVENTCTL0R, 2);
	rig_write(&rig, EVENTCTL1R, 1 << 11);
	rig_enable(&rig);
	pulse(&rig, true, false);
	EXPECT_EQ(1, rig.triggers);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

/* The trace buffer counts from the trigger on: all that was generated before is there by then. */
TEST(what_was_generated_comes_before_the_trigger)
{
	struct rig rig;

	with_inputs(&rig);
	rig_write(&rig, RSCTLR + 8, 1);
	rig_write(&rig, EVENTCTL0R, 2);
	rig_write(&rig, EVENTCTL1R, 1 << 11);
	rig_enable(&rig);
	rig_indirect(&rig, 1, 0x123456789000);
	rig_indirect(&rig, 1, 0x876543210000);
	pulse(&rig, true, false);
	EXPECT_EQ(1, rig.triggers);
	/* Alignment Sync, Trace Info, Trace On, and an address. */
	EXPECT_LT(20, rig.triggered);
	rig_free(&rig);
}

TEST(pmu_events_are_external_inputs)
{
	static const struct {
		uint16_t event;
		unsigned int times;
	} tries[] = {
		{ 0x08, 4 }, { 0x11, 4 }, { 0x09, 1 }, { 0x0a, 1 }, { 0x21, 3 }, { 0x1f, 0 },
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct rig rig;

		with_inputs(&rig);
		rig_write(&rig, EXTINSELR, tries[i].event);
		rig_write(&rig, RSCTLR + 8, 1);
		rig_write(&rig, EVENTCTL0R, 2);
		rig_enable(&rig);
		rig_branch(&rig, 1, true, 0x400000);
		rig_exception(&rig, PE_IRQ, 0, 0x401000, 1);
		rig_other(&rig, 1, PE_ISB);
		rig_branch(&rig, 1, false, 0);
		rig_eret(&rig, 1, 0x400000, 1);
		EXPECT_EQ(tries[i].times, events(&rig)) TH_LOG("event %x", tries[i].event);
		rig_free(&rig);
	}
}

TEST(the_timestamp_event_asks_for_timestamps_not_too_often)
{
	unsigned int n = 0;
	struct rig rig;
	char *got;

	start(&rig, 0x801, false);
	rig_write(&rig, TSCTLR, 1);
	rig_enable(&rig);
	for (unsigned int i = 0; i < 1000; i++) {
		rig.counter++;
		rig_indirect(&rig, 1, 0x400000 + 0x1000 * (i % 5));
	}
	got = rig_packets(&rig);
	for (char *at = got; (at = strstr(at, "Timestamp time")); at++)
		n++;
	free(got);
	EXPECT_LT(20, n);
	EXPECT_GT(100, n);
	rig_free(&rig);
}

TEST(resources_are_paused_where_tracing_is_prohibited)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, CNTCTLR, 1);
	rig_write(&rig, CNTVR, 100);
	rig_enable(&rig);
	rig_branch(&rig, 10, false, 0);
	rig_trfcr(&rig, 0, 0);
	rig_isb(&rig);
	rig_branch(&rig, 10, false, 0);
	rig_disable(&rig);
	EXPECT_EQ(90, rig_get(&rig, CNTVR));
	rig_free(&rig);
}

/* TRCRSR: an event that no packet has told, an input that no instruction has seen, and tracing. */
TEST(what_is_under_way_is_saved_and_restored)
{
	struct rig rig;

	with_inputs(&rig);
	rig_write(&rig, RSCTLR + 8, 1);
	rig_write(&rig, EVENTCTL0R, 2);
	rig_enable(&rig);
	rig_branch(&rig, 1, false, 0);
	EXPECT_EQ(0, events(&rig));
	trace_unit_external(&rig.pe.unit, 0x4000);
	rig_run(&rig, 1);
	trace_unit_external(&rig.pe.unit, 0x4001);
	rig_disable(&rig);
	EXPECT_EQ(0, events(&rig));
	rig_get(&rig, 0x00c);
	EXPECT_EQ(1 << 12 | 1 << 8 | 2, rig_get(&rig, RSR));
	/* The event is told at the first occasion. */
	rig_program(&rig, 1);
	rig_write(&rig, EVENTCTL1R, 1);
	rig_write(&rig, RSR, 1 << 8);
	rig_enable(&rig);
	rig_branch(&rig, 1, false, 0);
	rig_branch(&rig, 1, false, 0);
	EXPECT_EQ(1, events(&rig));
	rig_disable(&rig);
	rig_get(&rig, 0x00c);
	/* The first instruction sees the input. */
	rig_program(&rig, 1);
	rig_write(&rig, RSCTLR + 8, 2);
	rig_write(&rig, EVENTCTL0R, 2);
	rig_write(&rig, EVENTCTL1R, 1);
	rig_write(&rig, RSR, 2);
	rig_enable(&rig);
	rig_branch(&rig, 1, false, 0);
	rig_branch(&rig, 1, false, 0);
	EXPECT_EQ(1, events(&rig));
	/* Nothing is traced here, nor under way. */
	rig_trfcr(&rig, 0, 0);
	rig_isb(&rig);
	rig_disable(&rig);
	rig_get(&rig, 0x00c);
	EXPECT_EQ(0, rig_get(&rig, RSR));
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	rig_free(&rig);
}

TEST_HARNESS_MAIN
