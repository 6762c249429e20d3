// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which trace buffers the driver refuses and which errata it works around, for all values of
 * what decides it. kmod/trbe_usable.c is compiled into this program; what is expected here is
 * written by bit numbers, as DDI 0601 has them.
 */
#include "support/kselftest_harness.h"

/* The kernel's; the numbers of capabilities are anything. */
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(high, low) ((~0UL >> (63 - (high))) & (~0UL << (low)))

enum {
	ARM64_WORKAROUND_2064142 = 3,
	ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE = 8,
	ARM64_WORKAROUND_1902691 = 9,
	ARM64_WORKAROUND_TSB_FLUSH_FAILURE = 20,
	ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE = 40,
	ARM64_WORKAROUND_2038923 = 63,
};

#include "../../../kmod/trbe_usable.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint64_t capabilities;

static bool has(unsigned int capability)
{
	return capability < 64 && capabilities >> capability & 1;
}

/* The five that have a workaround here, in each combination, among all others or none. */
TEST(each_erratum_has_its_workaround_and_no_other)
{
	static const struct {
		unsigned int capability;
		u32 erratum;
	} known[] = {
		{ 40, TRBE_OVERWRITES_BASE }, { 8, TRBE_PASSES_LIMIT }, { 3, TRBE_DRAINS_TWICE },
		{ 63, TRBE_ENABLES_LATE }, { 9, TRBE_CORRUPTS },
	};
	unsigned int chosen, others, i;
	uint64_t all = 0;
	u32 want;

	for (i = 0; i < COUNT(known); i++)
		all |= 1ULL << known[i].capability;
	for (chosen = 0; chosen < 32; chosen++)
		for (others = 0; others < 2; others++) {
			capabilities = others ? ~all : 0;
			want = 0;
			for (i = 0; i < COUNT(known); i++) {
				if (!(chosen >> i & 1))
					continue;
				capabilities |= 1ULL << known[i].capability;
				want |= known[i].erratum;
			}
			ASSERT_EQ(want, trbe_errata(0, has));
		}
	/* They are different bits. */
	for (want = i = 0; i < COUNT(known); i++) {
		EXPECT_NE(0, known[i].erratum);
		EXPECT_EQ(0, want & known[i].erratum);
		want |= known[i].erratum;
	}
}

/* A kernel without a driver of its own for them has no capability; as Arm published them. */
TEST(each_erratum_is_known_by_the_number_of_the_cpu)
{
	const u32 n2 = TRBE_OVERWRITES_BASE | TRBE_PASSES_LIMIT;
	const u32 a510 = TRBE_DRAINS_TWICE | TRBE_ENABLES_LATE;
	const struct {
		u32 midr, errata;
	} cpus[] = {
		{ 0x410fd460, a510 | TRBE_CORRUPTS }, { 0x410fd461, a510 | TRBE_CORRUPTS },
		{ 0x410fd462, a510 }, { 0x410fd463, 0 }, { 0x411fd460, 0 },
		{ 0x410fd470, n2 }, { 0x412fd471, n2 }, { 0x410fd480, n2 }, { 0x411fd48f, n2 },
		{ 0x412fd480, n2 }, { 0x412fd481, 0 }, { 0x410fd490, n2 }, { 0x413fd493, n2 },
		{ 0x6d0fd490, n2 }, { 0x6d0fd470, 0 },
		/* Cortex-A715, X3, Neoverse V2; another designer's */
		{ 0x410fd4d0, 0 }, { 0x410fd4e0, 0 }, { 0x410fd4f0, 0 }, { 0x480fd490, 0 }, { 0, 0 },
	};
	unsigned int i;

	capabilities = 0;
	for (i = 0; i < COUNT(cpus); i++)
		EXPECT_EQ(cpus[i].errata, trbe_errata(cpus[i].midr, has))
			TH_LOG("%#x", cpus[i].midr);
	capabilities = 1ULL << ARM64_WORKAROUND_2064142;
	EXPECT_EQ(n2 | TRBE_DRAINS_TWICE, trbe_errata(0x410fd490, has));
}

/* TRBIDR_EL1: Align 3:0, P 4, F 5, EA 11:8. */
TEST(any_id_register)
{
	static const uint64_t high[] = { 0, 1ULL << 12, 1ULL << 31, 0xfffff000, ~0ULL << 32 };
	struct trbe_cpu cpu = { 0 };
	const char *why;
	unsigned int i;
	uint64_t low;
	bool bad;

	for (low = 0; low < 1 << 12; low++)
		for (i = 0; i < COUNT(high); i++) {
			cpu.idr = high[i] | low;
			bad = low & 16 || (low & 15) > 11;
			why = "";
			ASSERT_EQ(bad ? FLOWTAP_REASON_UNUSABLE : FLOWTAP_REASON_NONE,
				  trbe_usable(&cpu, &why)) TH_LOG("%#llx", (unsigned long long)cpu.idr);
			ASSERT_EQ(bad, !!why);
			if (bad) {
				ASSERT_NE(NULL, strstr(why, low & 16 ? "EL1.P" : "EL1.Align"));
			} else {
				ASSERT_EQ(1U << (low & 15), trbe_alignment(cpu.idr));
			}
		}
}

/* TRBLIMITR_EL1: E 0, all else is what a reset or the last user left. */
TEST(a_buffer_that_is_on_has_an_owner)
{
	static const uint64_t lefts[] = { 0, 2, 6, 0x18, 0x20, ~0xfffULL, ~1ULL };
	struct trbe_cpu cpu = { .idr = 6 };
	const char *why;
	unsigned int i;

	for (i = 0; i < COUNT(lefts); i++) {
		cpu.limitr = lefts[i];
		EXPECT_EQ(FLOWTAP_REASON_NONE, trbe_usable(&cpu, &why));
		EXPECT_EQ(NULL, why);
		cpu.limitr = lefts[i] | 1;
		EXPECT_EQ(FLOWTAP_REASON_OWNED, trbe_usable(&cpu, &why));
		EXPECT_NE(NULL, strstr(why, "TRBLIMITR_EL1.E"));
	}
}

/* What cannot be mended is told, rather than that somebody uses it now. */
TEST(what_is_in_the_way_is_told)
{
	static const struct {
		uint64_t idr;
		u32 errata;
		bool hidden, kvm_faults;
		const char *text;
	} obstacles[] = {
		{ .idr = 16, .text = "TRBIDR_EL1.P" }, { .idr = 12, .text = "TRBIDR_EL1.Align" },
		{ .hidden = true, .text = "kpti=off" }, { .errata = TRBE_CORRUPTS, .text = "1902691" },
		{ .kvm_faults = true, .text = "6.14 to 6.17" },
	};
	struct trbe_cpu cpu;
	unsigned int set, i, first;
	u32 errata, reason;
	const char *why;

	for (set = 0; set < 128; set++)
		for (errata = 0; errata < TRBE_CORRUPTS; errata++) {
			cpu = (struct trbe_cpu){ .errata = errata, .limitr = set >> 5 & 1 };
			/* Of the limit alone E decides. */
			cpu.limitr |= set >> 6 << 1;
			for (first = COUNT(obstacles), i = COUNT(obstacles); i--;)
				if (set >> i & 1) {
					cpu.idr |= obstacles[i].idr;
					cpu.errata |= obstacles[i].errata;
					cpu.hidden |= obstacles[i].hidden;
					cpu.kvm_faults |= obstacles[i].kvm_faults;
					first = i;
				}
			reason = trbe_usable(&cpu, &why);
			if (first < COUNT(obstacles)) {
				ASSERT_EQ(FLOWTAP_REASON_UNUSABLE, reason);
				ASSERT_NE(NULL, strstr(why, obstacles[first].text));
			} else {
				ASSERT_EQ(cpu.limitr & 1 ? FLOWTAP_REASON_OWNED :
					  FLOWTAP_REASON_NONE, reason);
			}
		}
}

TEST_HARNESS_MAIN
