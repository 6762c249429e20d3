// SPDX-License-Identifier: GPL-2.0-or-later
/* Shows what is traced where ViewInst filters by address, context, or what a resource says. */
#include "unit_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

#define EL1	" context EL1 NS 64 vmid 0 contextid 0\n"
#define AT	"Target Address with Context "

/* Offsets of registers that are set below. */
enum {
	VICTLR = 0x080, VIIECTLR = 0x084, VISSCTLR = 0x088, RSCTLR = 0x200, CIDCVR = 0x600,
	VMIDCVR = 0x640, CIDCCTLR = 0x680, VMIDCCTLR = 0x688,
};

static void start(struct rig *rig, uint64_t configr, bool el2)
{
	rig_init(rig, NULL, el2, 0, 1);
	rig_program(rig, configr);
}

TEST(an_included_range_traces_blocks_from_its_first_instruction_on)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VIIECTLR, 1);
	rig_comparator(&rig, 0, 0x400014, 0);
	rig_comparator(&rig, 1, 0x400020, 0);
	rig_enable(&rig);
	rig_log(&rig, "");
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("block 400000 4\nblock 400010 1\nfilter 1\nblock 400014 3\nblock 400020 4\n"
		    "filter 0\nblock 400030 4\n", rig_log(&rig, "block|filter"));
	EXPECT_TEXT("Trace On\n" AT "400014 IS0" EL1 "Atom format 2 NN\n", rig_packets(&rig));
	rig_free(&rig);
}

/* Both ends of a range belong to it; it is a range of one instruction, of all, and none at all. */
TEST(ranges_have_both_their_ends)
{
	static const struct {
		uint64_t first, last;
		const char *expected;
	} tries[] = {
		{ 0x400010, 0x40001c, "Trace On\n" AT "400010 IS0" EL1 "Atom format 1 N\n" },
		{ 0x40001c, 0x40001c, "Trace On\n" AT "40001c IS0" EL1 "Atom format 1 N\n" },
		{ 0x400011, 0x40001b, "Trace On\n" AT "400014 IS0" EL1 "Atom format 1 N\n" },
		{ 0, UINT64_MAX, "Trace On\n" AT "400000 IS0" EL1 "Atom format 4 NNNN\n" },
		{ 0x400030, UINT64_MAX, "Trace On\n" AT "400030 IS0" EL1 "Atom format 1 N\n" },
		{ 0, 0x3fffff, "" },
		{ 0x400040, 0x400040, "" },
		{ 0x400020, 0x400010, "" },	/* reported, matches nothing */
	};

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct rig rig;

		start(&rig, 1, false);
		rig_write(&rig, VIIECTLR, 4);
		rig_comparator(&rig, 4, tries[i].first, 0);
		rig_comparator(&rig, 5, tries[i].last, 0);
		rig_enable(&rig);
		rig_walk(&rig, 0x400040);
		EXPECT_TEXT(tries[i].expected, rig_packets(&rig));
		rig_free(&rig);
	}
}

TEST(an_excluded_range_leaves_out_blocks_that_are_all_of_it)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VIIECTLR, 1 << 16);
	rig_comparator(&rig, 0, 0x400014, 0);
	rig_comparator(&rig, 1, 0x40002c, 0);
	rig_enable(&rig);
	rig_log(&rig, "");
	rig_walk(&rig, 0x400040);
	/* The second block begins outside. */
	EXPECT_TEXT("filter 1\nblock 400000 4\nblock 400010 4\nfilter 0\nblock 400020 4\nfilter 1\n"
		    "block 400030 4\n", rig_log(&rig, "block|filter"));
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 2 NN\n"
		    "Trace On\n" AT "400030 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

TEST(what_is_included_and_excluded_is_not_traced)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VIIECTLR, 1 | 1 << 17);
	rig_comparator(&rig, 0, 0x400000, 0);
	rig_comparator(&rig, 1, 0x40002f, 0);
	rig_comparator(&rig, 2, 0x400010, 0);
	rig_comparator(&rig, 3, 0x40001f, 0);
	rig_enable(&rig);
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 N\n"
		    "Trace On\n" AT "400020 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

/* TRCVICTLR excludes the exception level, whatever comparators say. */
TEST(an_included_range_is_traced_at_levels_that_are_not_excluded)
{
	for (unsigned int excluded = 0; excluded < 2; excluded++) {
		struct rig rig;

		start(&rig, 1, false);
		rig_write(&rig, VICTLR, 0x201 | 1 << (20 + excluded));
		rig_write(&rig, VIIECTLR, 1);
		rig_comparator(&rig, 0, 0, 0);
		rig_comparator(&rig, 1, UINT64_MAX, 0);
		rig_enable(&rig);
		rig_walk(&rig, 0x400010);
		EXPECT_TEXT(excluded ? "" : "Trace On\n" AT "400000 IS0" EL1 "Atom format 1 N\n",
			    rig_packets(&rig));
		rig_free(&rig);
	}
}

/* With one pair there are no resource selectors, and TRCVICTLR has no event. */
TEST(ranges_filter_without_resource_selectors)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	options.resource_pairs = 1;
	rig_init(&rig, &options, false, 0, 1);
	rig_program(&rig, 1);
	rig_write(&rig, VICTLR, 0x200);
	rig_write(&rig, VIIECTLR, 1);
	rig_comparator(&rig, 0, 0x400010, 0);
	rig_comparator(&rig, 1, 0x40001f, 0);
	rig_enable(&rig);
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("Trace On\n" AT "400010 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

TEST(start_and_stop_points_are_part_of_what_is_traced)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VICTLR, 1);	/* stopped */
	rig_write(&rig, VISSCTLR, 1 << 2 | 1 << (16 + 5));
	rig_comparator(&rig, 2, 0x400010, 0);
	rig_comparator(&rig, 5, 0x400020, 0);
	rig_enable(&rig);
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("Trace On\n" AT "400010 IS0" EL1 "Atom format 2 NN\n", rig_packets(&rig));
	rig_disable(&rig);
	EXPECT_EQ(1, rig_get(&rig, VICTLR));
	rig_get(&rig, 0x00c);
	/* What it is, not what it was. */
	rig_write(&rig, VICTLR, 1);
	rig_write(&rig, 0x028, 0);
	rig_enable(&rig);
	rig_walk(&rig, 0x400020);
	rig_disable(&rig);
	EXPECT_EQ(0x201, rig_get(&rig, VICTLR));
	rig_free(&rig);
}

TEST(a_stopped_unit_without_start_points_traces_nothing)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VICTLR, 1);
	rig_enable(&rig);
	rig_walk(&rig, 0x400040);
	EXPECT_TEXT("", rig_packets(&rig));
	EXPECT_TEXT("tracing 0 0 1\ntracing 2 0 1\ntracing 1 3 1\nfilter 0\n",
		    rig_log(&rig, "tracing|filter"));
	rig_free(&rig);
}

TEST(comparators_look_at_the_exception_level_and_the_context)
{
	static const struct {
		uint64_t attributes;
		bool matches;
	} tries[] = {
		{ 0, true },
		{ 1 << 12, true },		/* not at EL0 */
		{ 1 << 13, false },		/* not at EL1 */
		{ 1 << 2, true },		/* the context ID */
		{ 1 << 2 | 1 << 3, true },	/* both */
		{ 1 << 3, true },
		{ 1 << 2 | 1 << 4, false },	/* of another comparator */
		{ 1 << 3 | 1 << 4, false },
	};
	struct trace_unit_options options = trace_unit_defaults;

	options.context_comparators = 2;
	options.vmid_comparators = 2;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct rig rig;
		char *got;

		rig_init(&rig, &options, true, 0, 1);
		rig_program(&rig, 1);
		rig_write(&rig, VIIECTLR, 1);
		rig_comparator(&rig, 0, 0x400000, tries[i].attributes);
		rig_comparator(&rig, 1, 0x40000f, tries[i].attributes);
		rig_write(&rig, CIDCVR, 0x1234);
		rig_write(&rig, CIDCVR + 8, 0x9999);
		rig_write(&rig, CIDCCTLR, 0);
		rig_write(&rig, VMIDCVR, 0x55);
		rig_write(&rig, VMIDCVR + 8, 0x66);
		rig_write(&rig, VMIDCCTLR, 0);
		trace_unit_context(&rig.pe.unit, 0x1234, 0x55);
		rig_enable(&rig);
		rig_walk(&rig, 0x400010);
		got = rig_packets(&rig);
		EXPECT_EQ(tries[i].matches, got[0] != '\0') TH_LOG("%zu", i);
		free(got);
		rig_free(&rig);
	}
}

/* As above: a single comparator has attributes of its own. */
TEST(start_points_look_at_the_exception_level_and_the_context)
{
	static const struct {
		uint64_t attributes;
		bool matches;
	} tries[] = {
		{ 0, true }, { 1 << 12, true }, { 1 << 13, false }, { 1 << 2, true },
		{ 1 << 2 | 1 << 4, false }, { 1 << 3, true }, { 1 << 3 | 1 << 4, false },
	};
	struct trace_unit_options options = trace_unit_defaults;

	options.context_comparators = 2;
	options.vmid_comparators = 2;
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct rig rig;
		char *got;

		rig_init(&rig, &options, true, 0, 1);
		rig_program(&rig, 1);
		rig_write(&rig, VICTLR, 1);	/* stopped */
		rig_write(&rig, VISSCTLR, 1 << 2);
		rig_comparator(&rig, 2, 0x400010, tries[i].attributes);
		rig_write(&rig, CIDCVR, 0x1234);
		rig_write(&rig, CIDCVR + 8, 0x9999);
		rig_write(&rig, VMIDCVR, 0x55);
		rig_write(&rig, VMIDCVR + 8, 0x66);
		trace_unit_context(&rig.pe.unit, 0x1234, 0x55);
		rig_enable(&rig);
		rig_walk(&rig, 0x400020);
		got = rig_packets(&rig);
		EXPECT_EQ(tries[i].matches, got[0] != '\0') TH_LOG("%zu", i);
		free(got);
		rig_free(&rig);
	}
}

static bool matches(unsigned int n, bool vmid, uint32_t value, uint32_t mask, uint32_t id)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;
	bool matches;
	char *got;

	options.context_comparators = 8;
	options.vmid_comparators = 8;
	rig_init(&rig, &options, true, 0, 1);
	rig_program(&rig, 1);
	rig_write(&rig, VICTLR, 0x202);
	rig_write(&rig, RSCTLR + 8, (vmid ? 7 : 6) << 16 | 1U << n);
	rig_write(&rig, (vmid ? VMIDCVR : CIDCVR) + 8 * n, value);
	rig_write(&rig, (vmid ? VMIDCCTLR : CIDCCTLR) + n / 4 * 4, (uint64_t)mask << 8 * (n % 4));
	trace_unit_context(&rig.pe.unit, vmid ? ~id : id, vmid ? id : ~id);
	rig_enable(&rig);
	rig_walk(&rig, 0x400010);
	got = rig_packets(&rig);
	matches = got[0];
	free(got);
	rig_free(&rig);
	return matches;
}

TEST(context_comparators_leave_out_bytes)
{
	static const struct {
		uint32_t value, mask, contextid;
		bool matches;
	} tries[] = {
		{ 0x12345678, 0, 0x12345678, true }, { 0x12345678, 0, 0x12345679, false },
		{ 0x12345678, 1, 0x123456ff, true }, { 0x12345678, 1, 0x12345578, false },
		{ 0x12345678, 8, 0xff345678, true }, { 0x12345678, 7, 0x12ffffff, true },
		{ 0x12345678, 7, 0x13ffffff, false }, { 0, 15, 0xffffffff, true },
		{ 0xffffffff, 0, 0xffffffff, true },
	};

	/* ViewInst by a selector: one comparator of Context IDs, or of virtual ones, alone. */
	for (size_t i = 0; i < 8 * sizeof(tries) / sizeof(tries[0]); i++) {
		const unsigned int t = i / 8, n = (unsigned int[]){ 0, 3, 4, 7 }[i % 4];
		const bool vmid = i / 4 % 2;

		EXPECT_EQ(tries[t].matches, matches(n, vmid, tries[t].value, tries[t].mask,
						    tries[t].contextid))
			TH_LOG("%u: comparator %u%s", t, n, vmid ? ", virtual" : "");
	}
}

TEST(system_errors_are_traced_always_with_trcerr)
{
	for (unsigned int always = 0; always < 2; always++) {
		struct rig rig;

		start(&rig, 1, false);
		rig_write(&rig, VICTLR, 0x200 | always << 11);	/* nothing is traced */
		rig_enable(&rig);
		rig_branch(&rig, 3, false, 0);
		rig_exception(&rig, PE_SERROR, 0, 0x500000, 1);
		rig_branch(&rig, 3, false, 0);
		EXPECT_TEXT(always ? "Trace On\nException type 4 E 2 40000c IS0" EL1 : "",
			    rig_packets(&rig));
		rig_free(&rig);
	}
}

/* Not where trace is prohibited; and it is not the begin of what is traced afterwards. */
TEST(a_system_error_alone_is_traced_where_it_may_be)
{
	struct rig rig;

	start(&rig, 1, false);
	rig_write(&rig, VICTLR, 0x201 | 1 << 11);
	rig_write(&rig, VIIECTLR, 1);
	rig_comparator(&rig, 0, 0x600000, 0);
	rig_comparator(&rig, 1, 0x600fff, 0);
	rig_enable(&rig);
	rig_branch(&rig, 3, false, 0);
	rig_exception(&rig, PE_SERROR, 0, 0x500000, 1);
	rig_branch(&rig, 3, true, 0x600000);
	rig_branch(&rig, 3, false, 0);
	EXPECT_TEXT("Trace On\nException type 4 E 2 40000c IS0" EL1
		    "Trace On\n" AT "600000 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_trfcr(&rig, 1, 0);
	rig_isb(&rig);
	rig_exception(&rig, PE_SERROR, 0, 0x500000, 1);
	EXPECT_TEXT("", rig_packets(&rig));
	rig_free(&rig);
}

TEST_HARNESS_MAIN
