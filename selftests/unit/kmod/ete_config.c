// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which configurations of ETE the driver takes and which values of registers they become, for
 * all values of each field. kmod/ete_config.c is compiled into this program; what is expected here
 * is written by bit numbers, as DDI 0487 has them.
 */
#include <errno.h>

#include "support/kselftest_harness.h"

/* The kernel's. */
#define BIT(n)		(1UL << (n))
#define BIT_ULL(n)	(1ULL << (n))
#define GENMASK(high, low) ((~0UL >> (63 - (high))) & (~0UL << (low)))

#include "../../../kmod/ete_config.c"

static const struct flowtap_ete_caps all = {
	.trcidr = { [3] = 4 }, .settable = 0x98d8, .address_ranges = 4,
};

static int complete(struct flowtap_ete_configure ete)
{
	return ete_config_complete(&all, &ete);
}

#define WITH(...) complete((struct flowtap_ete_configure){ __VA_ARGS__ })

/*
 * TRCIDR0: TRCBB 5, TRCCCI 7, RETSTACK 9, TSSIZE 28:24; TRCIDR2: CIDSIZE 9:5, VMIDSIZE 14:10,
 * VMIDOPT 30:29.
 */
TEST(what_is_settable_is_what_the_unit_has)
{
	static const struct {
		unsigned int trcidr, low, high, bit;
	} fields[] = {
		{ 0, 5, 5, 3 }, { 0, 7, 7, 4 }, { 0, 9, 9, 12 }, { 0, 24, 28, 11 },
		{ 2, 5, 9, 6 }, { 2, 10, 14, 7 }, { 2, 29, 30, 15 },
	};
	uint64_t want;
	unsigned int i, bit, n, trcidr;
	u32 ids[14];

	/* Each bit of each register by itself, and all but it. */
	for (trcidr = 0; trcidr < 14; trcidr++)
		for (bit = 0; bit < 32; bit++)
			for (n = 0; n < 2; n++) {
				memset(ids, n ? 0xff : 0, sizeof(ids));
				ids[trcidr] ^= 1U << bit;
				want = 0;
				for (i = 0; i < 7; i++)
					if (ids[fields[i].trcidr] >> fields[i].low &
					    ((2U << (fields[i].high - fields[i].low)) - 1))
						want |= 1ULL << fields[i].bit;
				ASSERT_EQ(want, ete_config_settable(ids));
			}
}

/* EVENT 1, SSSTATUS 9; EXLEVEL_S 19:16, EXLEVEL_NS_EL0 to 2 22:20: where TRCIDR3 has the level. */
TEST(view_inst_has_the_levels_asked_for)
{
	unsigned int modes, levels, level;

	for (modes = 1; modes <= 3; modes++)
		for (levels = 0; levels < 128; levels++) {
			uint64_t value = ete_config_victlr(modes, levels << 16 | 0xff80ffff);

			EXPECT_EQ(0x201, value & ~(127ULL << 16));
			for (level = 0; level < 7; level++) {
				bool wanted = level < 4 ? false : level == 4 ? modes & 1 : modes & 2;

				ASSERT_EQ(levels >> level & 1 && !wanted, value >> (16 + level) & 1);
			}
		}
}

/* E0TRE 0, E1TRE or E2TRE 1, CX 3 (EL2 only), TS 6:5: 1 is the virtual counter. */
TEST(trace_is_allowed_for_the_levels_asked_for)
{
	unsigned int modes, el2;
	uint64_t config;

	for (config = 0; config < 1 << 16; config++)
		for (el2 = 0; el2 < 2; el2++) {
			ASSERT_EQ(0x20, ete_config_trfcr(0, config, el2));
			for (modes = 1; modes <= 3; modes++)
				ASSERT_EQ(0x20 | modes | (el2 && config & 0xc0 ? 8 : 0),
					  ete_config_trfcr(modes, config, el2));
		}
}

TEST(any_config_is_taken_or_refused_by_its_bits)
{
	struct flowtap_ete_caps caps = all;
	uint64_t bit, config;

	for (config = 0; config < 1 << 16; config++)
		ASSERT_EQ(config & ~0x98d8ULL ? -EINVAL : 0, WITH(.config = config));
	for (bit = 1ULL << 16; bit; bit <<= 1)
		ASSERT_EQ(-EINVAL, WITH(.config = bit));
	/* Known, but not there. */
	for (bit = 1; bit < 1 << 16; bit <<= 1) {
		caps.settable = 0x98d8 & ~bit;
		for (config = 0; config < 1 << 16; config++) {
			struct flowtap_ete_configure ete = { .config = config };

			ASSERT_EQ(config & ~0x98d8ULL ? -EINVAL :
				  config & ~caps.settable ? -EOPNOTSUPP : 0,
				  ete_config_complete(&caps, &ete));
		}
	}
	for (bit = 1; bit; bit <<= 1)
		EXPECT_EQ(-EINVAL, WITH(.reserved = bit));
	for (bit = 1; bit < 1ULL << 32; bit <<= 1)
		EXPECT_EQ(-EINVAL, WITH(.flags = bit));
}

TEST(any_sync_period)
{
	struct flowtap_ete_configure ete = { 0 };
	uint32_t n;

	for (n = 0; n < 1000; n++)
		ASSERT_EQ(n == 0 || (n >= 8 && n <= 20) ? 0 : -EINVAL, WITH(.sync_period = n));
	EXPECT_EQ(-EINVAL, WITH(.sync_period = ~0U));
	EXPECT_EQ(0, ete_config_complete(&all, &ete));
	EXPECT_EQ(12, ete.sync_period);
	/* Without cycle counts it stays as it is. */
	EXPECT_EQ(0, ete.cycle_threshold);
}

/* TRCCCCTLR.THRESHOLD 11:0, TRCIDR3.CCITMIN 11:0. */
TEST(any_cycle_threshold)
{
	struct flowtap_ete_caps caps = all;
	uint32_t n, least;

	for (least = 0; least <= 0xfff; least += least < 300 ? 1 : 37)
		for (n = 0; n <= 0x1000; n++) {
			struct flowtap_ete_configure ete = { .config = 0x10, .cycle_threshold = n };
			const uint32_t want = n ?: 256;

			caps.trcidr[3] = 0xfffff000 | least;
			ASSERT_EQ(n > 0xfff ? -EINVAL : 0, ete_config_complete(&caps, &ete));
			if (n <= 0xfff)
				ASSERT_EQ(want > least ? want : least, ete.cycle_threshold);
		}
	EXPECT_EQ(-EINVAL, WITH(.config = 0x10, .cycle_threshold = ~0U));
	/* Without cycle counts there is none. */
	EXPECT_EQ(-EINVAL, WITH(.cycle_threshold = 1));
}

TEST(any_strobe)
{
	static const uint64_t times[] = {
		0, 1, 99999, 100000, 100001, 1000000000, 60000000000, 60000000001, 1ULL << 63, -1ULL,
	};
	unsigned int i, j;

	for (i = 0; i < 10; i++)
		for (j = 0; j < 10; j++)
			EXPECT_EQ((!i && !j) || (i >= 3 && i <= 6 && j >= 3 && j <= 6) ? 0 : -EINVAL,
				  WITH(.strobe_on_ns = times[i], .strobe_off_ns = times[j]))
				TH_LOG("on %llu off %llu", (unsigned long long)times[i],
				       (unsigned long long)times[j]);
}

TEST(any_address_ranges)
{
	static const uint64_t places[] = { 0, 1, 4, 0x1000, 1ULL << 63, -4ULL, -1ULL };
	struct flowtap_ete_caps caps = all;
	unsigned int n, most, at, i, j;

	for (n = 0; n <= 6; n++)
		for (most = 0; most <= 4; most++) {
			struct flowtap_ete_configure ete = { .address_ranges = n };

			for (i = 0; i < n && i < 4; i++)
				ete.address_end[i] = 4;
			caps.address_ranges = most;
			EXPECT_EQ(n > 4 ? -EINVAL : n > most ? -EOPNOTSUPP : 0,
				  ete_config_complete(&caps, &ete));
		}
	/* Begin before end in those that are told, nothing in the others. */
	for (n = 0; n <= 4; n++)
		for (at = 0; at < 4; at++)
			for (i = 0; i < 7; i++)
				for (j = 0; j < 7; j++) {
					struct flowtap_ete_configure ete = { .address_ranges = n };
					unsigned int k;

					for (k = 0; k < n; k++)
						ete.address_end[k] = 8;
					ete.address_start[at] = places[i];
					ete.address_end[at] = places[j];
					ASSERT_EQ((at < n ? i < j : !i && !j) ? 0 : -EINVAL,
						  complete(ete));
				}
}

TEST_HARNESS_MAIN
