// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows which packets the trace unit makes of small executions: what is allowed, contexts,
 * exceptions, the stack of returns, times, synchronisation, and what the adversary adds.
 */
#include "unit_rig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

#define EL0	" context EL0 NS 64 vmid 0 contextid 0\n"
#define EL1	" context EL1 NS 64 vmid 0 contextid 0\n"
#define EL2	" context EL2 NS 64 vmid 0 contextid 0\n"
#define AT	"Target Address with Context "
#define HANDLER	0xffff000000001000

static void begin(struct rig *rig, uint64_t configr, bool el2)
{
	rig_init(rig, NULL, el2, 0, 1);
	rig_program(rig, configr);
	rig_enable(rig);
}

TEST(branches_become_atoms_and_addresses)
{
	struct rig rig;

	begin(&rig, 1, false);
	rig_branch(&rig, 3, true, 0x401000);
	rig_run(&rig, 5);
	rig_branch(&rig, 1, false, 0);
	rig_other(&rig, 2, PE_WFX);
	rig_other(&rig, 2, PE_ISB);
	rig_indirect(&rig, 1, 0x400000);
	rig_branch(&rig, 3, true, 0x401000);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 3 ENE\nAtom format 2 EE\n"
		    "Target Address Exact Match 400000 IS0\nAtom format 1 E\n", rig_packets(&rig));
	rig_free(&rig);
}

TEST(wfi_is_a_p0_instruction_only_with_wfxmode)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	options.wfx = false;
	rig_init(&rig, &options, false, 0, 1);
	rig_program(&rig, 1);
	rig_enable(&rig);
	rig_other(&rig, 2, PE_WFX);
	rig_branch(&rig, 1, false, 0);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

/* EL0, an IRQ to EL1, back; a call to EL1, back. */
static void turns(struct rig *rig)
{
	rig->pe.el = 0;
	rig_isb(rig);
	rig_branch(rig, 1, true, 0x401000);
	rig_run(rig, 2);
	rig_exception(rig, PE_IRQ, 0, HANDLER, 1);
	rig_branch(rig, 4, true, HANDLER + 0x40);
	rig_eret(rig, 2, 0x401008, 0);
	rig_branch(rig, 2, false, 0);
	rig_run(rig, 1);
	rig_exception(rig, PE_SYNCHRONOUS, 0x15U << 26, HANDLER, 1);
	rig_eret(rig, 1, 0x401014, 0);
	rig_branch(rig, 1, true, 0x401000);
}

TEST(all_exception_levels_are_traced)
{
	struct rig rig;

	begin(&rig, 1, false);
	turns(&rig);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL0 "Atom format 1 E\n"
		    "Exception type 14 E 1 401008 IS0\n"
		    AT "ffff000000001000 IS0" EL1 "Atom format 2 EE\n"
		    AT "401008 IS0" EL0 "Atom format 1 N\n"
		    "Exception type 2 E 1 401014 IS0\n"
		    AT "ffff000000001000 IS0" EL1 "Atom format 1 E\n"
		    AT "401014 IS0" EL0 "Atom format 1 E\n", rig_packets(&rig));
	rig_free(&rig);
}

static const char only_user[] =
	"Trace On\n" AT "400000 IS0" EL0 "Atom format 1 E\n"
	"Exception type 14 E 1 401008 IS0\n"
	"Trace On\n" AT "401008 IS0" EL0 "Atom format 1 N\n"
	"Exception type 2 E 1 401014 IS0\n"
	"Trace On\n" AT "401014 IS0" EL0 "Atom format 1 E\n";

static const char only_kernel[] =
	"Trace On\n" AT "ffff000000001000 IS0" EL1 "Atom format 2 EE\n"
	"Trace On\n" AT "ffff000000001000 IS0" EL1 "Atom format 1 E\n";

TEST(trfcr_prohibits_exception_levels)
{
	struct rig rig;

	begin(&rig, 1, false);
	rig_trfcr(&rig, 1, 0);
	turns(&rig);
	EXPECT_FALSE(rig.pe.unit.traces[1]);
	EXPECT_TEXT(only_user, rig_packets(&rig));
	rig_free(&rig);
	begin(&rig, 1, false);
	rig_trfcr(&rig, 2, 0);
	turns(&rig);
	EXPECT_FALSE(rig.pe.unit.traces[0]);
	EXPECT_TEXT(only_kernel, rig_packets(&rig));
	rig_free(&rig);
}

TEST(trcvictlr_excludes_exception_levels)
{
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 1);
	rig_write(&rig, 0x080, 0x201 | 2 << 20);
	rig_enable(&rig);
	turns(&rig);
	EXPECT_TEXT(only_user, rig_packets(&rig));
	EXPECT_TEXT("tracing 0 0 1\ntracing 2 0 1\ntracing 1 1 1\n", rig_log(&rig, "tracing"));
	rig_free(&rig);
	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 1);
	rig_write(&rig, 0x080, 0x201 | 1 << 20);
	rig_enable(&rig);
	turns(&rig);
	EXPECT_TEXT(only_kernel, rig_packets(&rig));
	rig_free(&rig);
}

TEST(el0_of_the_host_obeys_trfcr_el2)
{
	struct rig rig;

	begin(&rig, 1, true);
	rig.pe.el = 2;
	rig.pe.e2h = true;
	rig.pe.tge = true;
	rig_trfcr(&rig, 3, 1);
	rig_isb(&rig);
	EXPECT_TRUE(rig.pe.unit.traces[0]);
	EXPECT_FALSE(rig.pe.unit.traces[2]);
	rig_trfcr(&rig, 3, 2);
	EXPECT_FALSE(rig.pe.unit.traces[0]);
	EXPECT_TRUE(rig.pe.unit.traces[1]);
	EXPECT_TRUE(rig.pe.unit.traces[2]);
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL2 "Atom format 1 E\n", rig_packets(&rig));
	/* A guest's EL0. */
	rig.pe.tge = false;
	rig_isb(&rig);
	EXPECT_TRUE(rig.pe.unit.traces[0]);
	rig_trfcr(&rig, 0, 1);
	EXPECT_FALSE(rig.pe.unit.traces[0]);
	rig_free(&rig);
}

TEST(the_owner_of_the_trace_buffer_prohibits_exception_levels)
{
	struct rig rig;

	begin(&rig, 1, true);
	rig.prohibited = 1 << 2 | 1 << 0;
	rig_isb(&rig);
	EXPECT_FALSE(rig.pe.unit.traces[0]);
	EXPECT_TRUE(rig.pe.unit.traces[1]);
	EXPECT_FALSE(rig.pe.unit.traces[2]);
	rig_free(&rig);
}

TEST(exception_classes_become_exception_types)
{
	static const struct {
		uint8_t kind, class, type;
	} classes[] = {
		{ PE_IRQ, 0, 14 }, { PE_FIQ, 0, 15 }, { PE_SERROR, 0, 4 }, { PE_SERROR, 0x2f, 4 },
		{ PE_SYNCHRONOUS, 0x00, 3 }, { PE_SYNCHRONOUS, 0x01, 3 },
		{ PE_SYNCHRONOUS, 0x07, 3 }, { PE_SYNCHRONOUS, 0x0e, 3 },
		{ PE_SYNCHRONOUS, 0x15, 2 }, { PE_SYNCHRONOUS, 0x16, 2 },
		{ PE_SYNCHRONOUS, 0x17, 2 }, { PE_SYNCHRONOUS, 0x18, 3 },
		{ PE_SYNCHRONOUS, 0x20, 11 }, { PE_SYNCHRONOUS, 0x21, 11 },
		{ PE_SYNCHRONOUS, 0x22, 10 }, { PE_SYNCHRONOUS, 0x24, 12 },
		{ PE_SYNCHRONOUS, 0x25, 12 }, { PE_SYNCHRONOUS, 0x26, 10 },
		{ PE_SYNCHRONOUS, 0x2c, 3 }, { PE_SYNCHRONOUS, 0x30, 6 },
		{ PE_SYNCHRONOUS, 0x31, 6 }, { PE_SYNCHRONOUS, 0x32, 6 },
		{ PE_SYNCHRONOUS, 0x33, 6 }, { PE_SYNCHRONOUS, 0x34, 7 },
		{ PE_SYNCHRONOUS, 0x35, 7 }, { PE_SYNCHRONOUS, 0x3c, 6 },
		{ PE_SYNCHRONOUS, 0x3f, 3 },
	};
	char expected[80];
	struct rig rig;

	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		char *got;

		begin(&rig, 1, false);
		rig_run(&rig, 1);
		rig_exception(&rig, classes[i].kind, (uint32_t)classes[i].class << 26 | 0x1ffffff,
			      HANDLER, 1);
		snprintf(expected, sizeof(expected), "\nException type %u E 1 400004 IS0\n",
			 classes[i].type);
		got = rig_packets(&rig);
		EXPECT_NE(NULL, strstr(got, expected)) TH_LOG("%zu: %s", i, got);
		free(got);
		rig_free(&rig);
	}
}

TEST(firmware_is_a_call_that_is_not_traced)
{
	struct rig rig;

	begin(&rig, 1, false);
	rig_run(&rig, 2);
	rig_exception(&rig, PE_FIRMWARE, 0, 0x400008, 1);
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Exception type 2 E 1 400008 IS0\n"
		    "Trace On\n" AT "400008 IS0" EL1 "Atom format 1 E\n", rig_packets(&rig));
	rig_free(&rig);
}

TEST(an_exception_right_after_a_prohibited_region_is_not_traced)
{
	struct rig rig;

	begin(&rig, 1, false);
	rig_trfcr(&rig, 1, 0);
	rig_eret(&rig, 1, 0x400000, 0);
	rig_exception(&rig, PE_IRQ, 0, HANDLER, 1);
	EXPECT_TEXT("", rig_packets(&rig));
	rig_free(&rig);
}

TEST(contexts_are_told_after_the_instruction_that_synchronizes_them)
{
	struct rig rig;

	begin(&rig, 0xc1, true);
	rig_run(&rig, 2);
	trace_unit_context(&rig.pe.unit, 0x1234, 0);
	rig_other(&rig, 2, PE_ISB);
	rig_branch(&rig, 1, true, 0x400000);
	trace_unit_context(&rig.pe.unit, 0x1234, 0x77);
	rig_branch(&rig, 1, true, 0x400100);
	trace_unit_context(&rig.pe.unit, 0x5678, 0x99);
	rig_exception(&rig, PE_IRQ, 0, HANDLER, 1);
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0 context EL1 NS 64 new vmid 0 new contextid 0\n"
		    "Atom format 1 E\n"
		    "Context context EL1 NS 64 vmid 0 new contextid 1234\nAtom format 1 E\n"
		    "Context context EL1 NS 64 new vmid 77 contextid 1234\nAtom format 1 E\n"
		    "Exception type 14 E 2 400100 IS0 context EL1 NS 64 new vmid 99 new contextid 5678\n"
		    "Target Address Long ffff000000001000 IS0\nAtom format 1 E\n",
		    rig_packets(&rig));
	EXPECT_TEXT("context 1234 0\ncontext 1234 77\ncontext 5678 77\ncontext 5678 99\n",
		    rig_log(&rig, "context"));
	/* TRFCR_EL2.CX 0: no value of EL2. */
	rig_trfcr(&rig, 3, 2);
	rig_isb(&rig);
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Context context EL1 NS 64 new vmid 0 contextid 5678\nAtom format 1 E\n",
		    rig_packets(&rig));
	rig_free(&rig);
}

TEST(the_return_stack_saves_addresses)
{
	struct rig rig;

	begin(&rig, 0x1001, false);
	/* The first P0 element of a Trace On empties the stack. */
	rig_call(&rig, 1, 0x400000);
	rig_call(&rig, 1, 0x500000);
	rig_call(&rig, 1, 0x600000);
	rig_indirect(&rig, 1, 0x500004);
	rig_indirect(&rig, 1, 0x400004);
	rig_branch(&rig, 1, false, 0);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 6 EEEEEN\n", rig_packets(&rig));
	rig_free(&rig);
	begin(&rig, 0x0001, false);
	rig_call(&rig, 1, 0x500000);
	rig_indirect(&rig, 1, 0x400004);
	rig_branch(&rig, 1, false, 0);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 2 EE\n"
		    "Target Address Short 400004 IS0\nAtom format 1 N\n", rig_packets(&rig));
	rig_free(&rig);
}

TEST(branch_broadcasting_tells_targets_in_its_ranges)
{
	static const struct {
		uint32_t bbctlr;
		const char *expected;
	} tries[] = {
		{ 0x000, "Atom format 1 E\nTarget Address Short 401000 IS0\nAtom format 1 E\n"
			 "Target Address Short 402000 IS0\nAtom format 1 N\n" },
		{ 0x101, "Atom format 1 E\nTarget Address Short 401000 IS0\nAtom format 2 EN\n" },
		{ 0x001, "Atom format 2 EE\nTarget Address Short 402000 IS0\nAtom format 1 N\n" },
		{ 0x100, "Atom format 3 EEN\n" },
	};
	char expected[400];
	struct rig rig;

	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		rig_init(&rig, NULL, false, 0, 1);
		rig_program(&rig, 9);
		rig_write(&rig, 0x03c, tries[i].bbctlr);
		/* The first branch only. */
		rig_write(&rig, 0x400, 0x400008);
		rig_write(&rig, 0x408, 0x400008);
		rig_write(&rig, 0x480, 0);
		rig_write(&rig, 0x488, 0);
		rig_enable(&rig);
		rig_branch(&rig, 3, true, 0x401000);
		rig_branch(&rig, 3, true, 0x402000);
		rig_branch(&rig, 3, false, 0);
		snprintf(expected, sizeof(expected), "Trace On\n" AT "400000 IS0" EL1 "%s",
			 tries[i].expected);
		EXPECT_TEXT(expected, rig_packets(&rig));
		rig_free(&rig);
	}
}

TEST(cycles_are_counted_where_the_threshold_is_reached)
{
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 0x11);
	rig_enable(&rig);
	/* 16: ten instructions and a taken branch are 11, another time 22. */
	rig_branch(&rig, 10, true, 0x400000);
	rig_branch(&rig, 10, true, 0x400000);
	rig_branch(&rig, 10, true, 0x400000);
	rig_branch(&rig, 10, true, 0x400040);	/* the next line takes one more */
	rig_branch(&rig, 10, false, 0);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 2 EE\n"
		    "Cycle Count format 2 cycles 22\nAtom format 2 EE\n"
		    "Cycle Count format 2 cycles 22\nAtom format 1 N\n", rig_packets(&rig));
	rig_indirect(&rig, 20, 0x400000);
	EXPECT_TEXT("Atom format 1 E\nCycle Count format 1 cycles 35\n", rig_packets(&rig));
	EXPECT_TEXT("cycles 17\ncycles 17\ncycles 24\n", rig_log(&rig, "cycles"));
	rig_free(&rig);
}

TEST(timestamps_come_at_synchronisation_and_at_tsb_csync)
{
	struct rig rig;

	begin(&rig, 0x801, false);
	rig.counter = 0x123456789abcdef0;
	rig_branch(&rig, 1, true, 0x400000);
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 E\n"
		    "Timestamp time 123456789abcdef0\nAtom format 1 E\n"
		    "Timestamp time 123456789abcdef0\n", rig_packets(&rig));
	EXPECT_TEXT("", rig_packets(&rig));
	rig.counter++;
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TEXT("Atom format 1 E\nTimestamp time 123456789abcdef1\n", rig_packets(&rig));
	EXPECT_TEXT("timestamp 123456789abcdef0\ntimestamp 123456789abcdef0\n"
		    "timestamp 123456789abcdef1\n", rig_log(&rig, "timestamp"));
	rig_free(&rig);
}

/* Offsets of Alignment Syncs: eleven zeros and 0x80. */
static unsigned int syncs(struct rig *rig, size_t *offsets, unsigned int most)
{
	static const uint8_t sync[12] = { [11] = 0x80 };
	unsigned int n = 0;

	for (size_t i = 0; i + 12 <= rig->nbytes && n < most; i++)
		if (!memcmp(rig->bytes + i, sync, 12))
			offsets[n++] = i;
	return n;
}

TEST(synchronisation_comes_each_so_many_bytes_never_after_an_indirect_branch)
{
	size_t offsets[40];
	unsigned int n, told = 0;
	char *log, *line;
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	rig_program(&rig, 0x1001);
	rig_write(&rig, 0x034, 8);
	rig_enable(&rig);
	for (unsigned int i = 0; i < 2000; i++) {
		rig_indirect(&rig, 1, 0x10000 * (i % 7 + 1) + 8 * i);
		rig_branch(&rig, 2, i % 3, 0x20000);
	}
	trace_unit_flush(&rig.pe.unit);
	n = syncs(&rig, offsets, 40);
	EXPECT_EQ(40, n);
	EXPECT_EQ(0, offsets[0]);
	for (unsigned int i = 1; i < n; i++) {
		EXPECT_GE(offsets[i] - offsets[i - 1], 256);
		EXPECT_LT(offsets[i] - offsets[i - 1], 256 + 40);
	}
	/* The log says the same places. */
	log = rig_log(&rig, "sync");
	for (line = strtok(log, "\n"); line && told < n; line = strtok(NULL, "\n"))
		EXPECT_EQ(offsets[told++], strtoull(line + 5, NULL, 16));
	EXPECT_EQ(n, told);
	free(log);
	rig_free(&rig);
}

TEST(each_enabling_begins_anew)
{
	size_t offsets[4];
	struct rig rig;

	begin(&rig, 1, false);
	rig_branch(&rig, 3, true, 0x400000);
	rig_disable(&rig);
	rig_branch(&rig, 3, true, 0x400000);
	EXPECT_FALSE(trace_unit_holds(&rig.pe.unit));
	rig_get(&rig, 0x00c);
	rig_program(&rig, 1);
	rig_enable(&rig);
	rig_branch(&rig, 3, true, 0x400000);
	EXPECT_TRUE(trace_unit_holds(&rig.pe.unit));
	EXPECT_TEXT("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 E\n"
		    "Trace On\n" AT "400000 IS0" EL1 "Atom format 1 E\n", rig_packets(&rig));
	EXPECT_EQ(2, syncs(&rig, offsets, 4));
	rig_free(&rig);
}

TEST(a_unit_with_atoms_holds_them_until_it_is_flushed)
{
	struct rig rig;
	size_t before;

	begin(&rig, 1, false);
	rig_branch(&rig, 1, true, 0x400000);
	trace_unit_flush(&rig.pe.unit);
	EXPECT_FALSE(trace_unit_holds(&rig.pe.unit));
	before = rig.nbytes;
	rig_branch(&rig, 1, true, 0x400000);
	EXPECT_TRUE(trace_unit_holds(&rig.pe.unit));
	EXPECT_EQ(before, rig.nbytes);
	trace_unit_flush(&rig.pe.unit);
	EXPECT_EQ(before + 1, rig.nbytes);
	rig_free(&rig);
}

/* K10.5.10: TSB CSYNC is what makes sure of it, before EN is cleared. */
TEST(a_unit_that_is_disabled_may_discard_what_it_holds)
{
	bool kept = false, discarded = false;

	for (unsigned int i = 0; i < 80; i++) {
		struct rig rig;
		size_t before;

		rig_init(&rig, NULL, false, i & 1 ? ADVERSARY(WITHHOLD) : 0, i);
		rig_program(&rig, 1);
		rig_enable(&rig);
		for (unsigned int n = 0; n < 40; n++)
			rig_branch(&rig, 1, n & 1, 0x400000);
		rig_trfcr(&rig, 0, 0);
		rig_isb(&rig);
		before = rig.nbytes;
		EXPECT_TRUE(trace_unit_holds(&rig.pe.unit));
		if (i & 2)
			trace_unit_flush(&rig.pe.unit);
		rig_disable(&rig);
		EXPECT_FALSE(trace_unit_holds(&rig.pe.unit));
		EXPECT_NE(rig.discarded > 0, rig.nbytes > before);
		EXPECT_TRUE(!rig.discarded || (i & 3) == 1);
		if ((i & 3) == 1) {
			kept |= !rig.discarded;
			discarded |= rig.discarded;
		}
		rig_free(&rig);
	}
	EXPECT_TRUE(kept);
	EXPECT_TRUE(discarded);
}

TEST(an_overflow_is_told_and_tracing_begins_anew)
{
	struct rig rig;
	size_t offsets[4];
	char *got;

	begin(&rig, 0x11, false);
	rig_branch(&rig, 1, true, 0x400000);
	trace_unit_flush(&rig.pe.unit);
	trace_unit_overflow(&rig.pe.unit);
	rig_branch(&rig, 20, true, 0x400000);
	got = rig_packets(&rig);
	EXPECT_STREQ("Trace On\n" AT "400000 IS0" EL1 "Atom format 1 E\nOverflow\n"
		     "Trace On\n" AT "400000 IS0" EL1 "Atom format 1 E\n"
		     "Cycle Count format 1\n", got);	/* unknown (K10.5.9) */
	free(got);
	EXPECT_EQ(2, syncs(&rig, offsets, 4));
	EXPECT_TEXT("overflow\n", rig_log(&rig, "overflow"));
	rig_free(&rig);
}

/* --- What the adversary adds changes nothing of what is said. --- */

static void long_walk(struct rig *rig, uint64_t seed)
{
	struct rng rng = { seed };

	for (unsigned int i = 0; i < 4000; i++) {
		unsigned int n = 1 + rng_below(&rng, 5);

		switch (rng_below(&rng, 40)) {
		case 0:
			rig_exception(rig, PE_IRQ, 0, HANDLER + 8 * rng_below(&rng, 1000), 1);
			break;
		case 1:
			rig_eret(rig, n, 0x400000 + 4 * rng_below(&rng, 1000), 0);
			break;
		case 2 ... 6:
			rig_call(rig, n, 0x500000 + 4 * rng_below(&rng, 100000));
			break;
		case 7 ... 12:
			rig_indirect(rig, n, 0x400000 + 4 * rng_below(&rng, 100000));
			break;
		case 13:
			rig_other(rig, n, PE_ISB);
			break;
		default:
			rig_branch(rig, n, rng_one_in(&rng, 2), rig->at + 64);
		}
	}
}

TEST(the_adversary_changes_packets_and_not_what_they_say)
{
	static const struct {
		uint32_t what;
		uint16_t maxspec;
		bool commopt;
	} tries[] = {
		{ ADVERSARY(PACKETS), 0, true },
		{ ADVERSARY(SPECULATE), 2, true },
		{ ADVERSARY(SPECULATE), 16, false },
		{ ADVERSARY(SPECULATE), 32, true },
		{ ADVERSARY(SPECULATE) | ADVERSARY(PACKETS), 64, false },
		{ ADVERSARY(SPECULATE) | ADVERSARY(PACKETS), 256, true },
		{ 0, 8, false },
	};
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;
	char *plain;

	begin(&rig, 0x19c1, false);
	long_walk(&rig, 7);
	plain = rig_resolved(&rig);
	EXPECT_LT(1000, strlen(plain));
	rig_free(&rig);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		for (uint64_t seed = 0; seed < 4; seed++) {
			options.maxspec = tries[i].maxspec;
			options.commopt = tries[i].commopt;
			rig_init(&rig, &options, false, tries[i].what, seed);
			rig_program(&rig, seed & 1 ? 0x19d1 : 0x19c1);
			rig_write(&rig, 0x034, seed & 2 ? 8 : 12);
			rig_enable(&rig);
			long_walk(&rig, 7);
			EXPECT_TEXT(plain, rig_resolved(&rig));
			if (tries[i].what & ADVERSARY(SPECULATE))
				EXPECT_LT(0, rig.pe.adversary.counts[ADVERSARY_BIT_SPECULATE]);
			rig_free(&rig);
		}
	}
	free(plain);
}

/* Each branch is mispredicted, with a wrong path or without. */
static void mispredicted(struct rig *rig, uint64_t configr, uint64_t seed, uint16_t maxspec)
{
	struct trace_unit_options options = trace_unit_defaults;

	options.maxspec = maxspec;
	rig_init(rig, &options, false, ADVERSARY(SPECULATE), seed);
	rig->pe.adversary.options.rate = 2;
	rig_program(rig, configr);
	rig_enable(rig);
}

static unsigned int count(const char *text, const char *word)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, word)); at++)
		n++;
	return n;
}

/* An atom ends as E or N whatever it began as; a branch that cannot be the other way has no other. */
TEST(conditional_branches_are_mispredicted_whether_they_are_taken_or_not)
{
	static const uint16_t depths[] = { 1, 2, 16 };
	unsigned int taken, i, seed, n;
	struct rig rig;
	char want[101], *text;

	for (i = 0; i < sizeof(depths) / sizeof(depths[0]); i++)
		for (taken = 0; taken < 2; taken++)
			for (seed = 0; seed < 4; seed++) {
				mispredicted(&rig, seed & 1 ? 0x9 : 0x1, seed, depths[i]);
				for (n = 0; n < 100; n++)
					rig_branch(&rig, 2, taken, 0x400000 + 64 * n);
				memset(want, taken ? 'E' : 'N', 100);
				want[100] = 0;
				EXPECT_TEXT(want, rig_resolved(&rig));
				text = rig_packets(&rig);
				EXPECT_LT(10, count(text, "Mispredict "));
				EXPECT_EQ(depths[i] > 1, count(text, "Cancel ") > 10);
				/* The address of each, with branch broadcast: it is not the wrong path's. */
				if (taken && seed & 1)
					EXPECT_LE(100, count(text, "Target Address "));
				free(text);
				rig_free(&rig);
			}
	mispredicted(&rig, 1, 1, 16);
	for (n = 0; n < 100; n++)
		rig_call(&rig, 2, 0x400000 + 64 * n);
	text = rig_packets(&rig);
	EXPECT_EQ(0, count(text, "Mispredict") + count(text, "Cancel"));
	free(text);
	rig_free(&rig);
}

TEST_HARNESS_MAIN
