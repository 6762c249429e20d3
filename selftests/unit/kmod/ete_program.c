// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers what the driver programs a trace unit with: what was asked for,
 * and nothing that stays UNKNOWN, in those registers that there are.
 */
#include "ete_driver.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LEVELS (7ULL << 20 | 0xfULL << 16)

TEST_F(ete, what_is_asked_for_is_in_the_registers)
{
	struct flowtap_recording *recording = &self->recording;

	self->configure.ete = (struct flowtap_ete_configure){
		.config = FLOWTAP_TRCCONFIGR_CCI | FLOWTAP_TRCCONFIGR_TS, .cycle_threshold = 500,
		.sync_period = 10, .address_ranges = 2,
		.address_start = { 0x1000, 0x8000 }, .address_end = { 0x2000, 0x9000 },
	};
	/* UNKNOWN after a reset. */
	memset(pe.unit, 0xff, sizeof(pe.unit));
	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	ASSERT_EQ(0, ete_open(recording, false));
	EXPECT_EQ(1 << 4 | 1 << 11 | 1, pe.unit[0x010 / 4]);
	EXPECT_EQ(500, pe.unit[0x038 / 4]);
	EXPECT_EQ(10, pe.unit[0x034 / 4]);
	EXPECT_NE(0, pe.unit[0x040 / 4]);
	EXPECT_EQ(0x1000, pe.unit[0x400 / 4]);
	EXPECT_EQ(0x1fff, pe.unit[0x408 / 4]);
	EXPECT_EQ(0x8000, pe.unit[0x410 / 4]);
	EXPECT_EQ(0x8fff, pe.unit[0x418 / 4]);
	EXPECT_EQ(0, pe.unit[0x420 / 4]);
	EXPECT_EQ(3, pe.unit[0x084 / 4]);
	/* The kernel's levels and the Secure ones are left out, EL0 is not. */
	EXPECT_EQ((LEVELS & ~(1ULL << 20)) | 0x201, pe.unit[0x080 / 4]);
	EXPECT_EQ(1 << 12, pe.unit[0x028 / 4]);
	/* All others are 0: selectors 2 to 15, two counters, TRCSEQEVR0 to 2, one of each comparator. */
	EXPECT_EQ(0, pe.unit[0x208 / 4] | pe.unit[0x23c / 4] | pe.unit[0x140 / 4] |
		     pe.unit[0x164 / 4] | pe.unit[0x100 / 4] | pe.unit[0x108 / 4] |
		     pe.unit[0x280 / 4] | pe.unit[0x2a0 / 4] | pe.unit[0x480 / 4] |
		     pe.unit[0x4b8 / 4] | pe.unit[0x600 / 4] | pe.unit[0x680 / 4]);
	/* And what there is not is not written. */
	EXPECT_EQ(~0ULL, pe.unit[0x240 / 4] & pe.unit[0x168 / 4] & pe.unit[0x284 / 4] &
			 pe.unit[0x440 / 4] & pe.unit[0x608 / 4] & pe.unit[0x02c / 4] &
			 pe.unit[0x044 / 4] & pe.unit[0x08c / 4]);
	end(recording, true);
}

/* A register that is not there is UNDEFINED; of one that is there nothing may stay UNKNOWN. */
TEST_F(ete, the_registers_that_are_written_are_those_that_there_are)
{
	static const struct {
		u32 trcidr, field, there, offset;
	} registers[] = {
		{ 0, 1 << 5, 1 << 5, 0x03c },		/* TRCBB: TRCBBCTLR */
		{ 0, 1 << 7, 1 << 7, 0x038 },		/* TRCCCI: TRCCCCTLR */
		{ 0, 1 << 14, 1 << 14, 0x044 },		/* QFILT: TRCQCTLR */
		{ 0, 0x1fU << 24, 8 << 24, 0x030 },	/* TSSIZE: TRCTSCTLR */
		{ 3, 1 << 25, 0, 0x034 },		/* SYNCPR, 1 read-only: TRCSYNCPR */
		{ 3, 1 << 26, 1 << 26, 0x02c },		/* STALLCTL: TRCSTALLCTLR */
		{ 4, 15, 1, 0x400 },			/* NUMACPAIRS: TRCACVR0, 1; 15 */
		{ 4, 15, 1, 0x408 },
		{ 4, 15, 8, 0x478 },
		{ 4, 15, 1, 0x084 },			/* TRCVIIECTLR, TRCVISSCTLR */
		{ 4, 15, 1, 0x088 },
		{ 4, 15 << 12, 1 << 12, 0x08c },	/* NUMPC: TRCVIPCSSCTLR */
		{ 4, 15 << 16, 1 << 16, 0x208 },	/* NUMRSPAIR: TRCRSCTLR2, 31 */
		{ 4, 15 << 16, 15 << 16, 0x27c },
		{ 4, 15 << 20, 1 << 20, 0x280 },	/* NUMSSCC: TRCSSCCR0, TRCSSCSR7 */
		{ 4, 15 << 20, 8 << 20, 0x2bc },
		{ 4, 15 << 24, 1 << 24, 0x600 },	/* NUMCIDC: TRCCIDCVR0, TRCCIDCCTLR1 */
		{ 4, 15 << 24, 5 << 24, 0x684 },
		{ 4, 15U << 28, 1 << 28, 0x640 },	/* NUMVMIDC: TRCVMIDCVR0, TRCVMIDCCTLR0 */
		{ 4, 15U << 28, 1 << 28, 0x688 },
		{ 5, 7 << 25, 4 << 25, 0x100 },		/* NUMSEQSTATE: TRCSEQEVR0, TRCSEQSTR */
		{ 5, 7 << 25, 4 << 25, 0x11c },
		{ 5, 7 << 28, 1 << 28, 0x140 },		/* NUMCNTR: TRCCNTRLDVR0, TRCCNTVR3 */
		{ 5, 7 << 28, 4 << 28, 0x16c },
	};
	struct flowtap_recording *recording = &self->recording;
	unsigned int i, there;
	u32 without;

	for (i = 0; i < COUNT(registers); i++)
		for (there = 0; there < 2; there++) {
			u32 *trcidr = &pe.trcidr[registers[i].trcidr];
			const u32 before = *trcidr;

			/* Where 0 says that it is there all of the field says that it is not. */
			without = registers[i].there ? 0 : registers[i].field;
			*trcidr = (before & ~registers[i].field) |
				  (there ? registers[i].there : without);
			memset(pe.unit, 0xff, sizeof(pe.unit));
			ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
			ASSERT_EQ(0, ete_open(recording, false));
			EXPECT_EQ(there, pe.unit[registers[i].offset / 4] != ~0ULL)
				TH_LOG("%#x", registers[i].offset);
			end(recording, true);
			ete_offline();
			*trcidr = before;
		}
}

/* Of a unit that has as many of each as there may be. */
TEST_F(ete, no_register_stays_unknown)
{
	static const struct {
		u32 offset, stride, n;
	} registers[] = {
		{ 0x010, 0, 1 },		/* TRCCONFIGR */
		{ 0x018, 0, 1 },		/* TRCAUXCTLR */
		{ 0x020, 4, 2 },		/* TRCEVENTCTL0R, 1 */
		{ 0x028, 4, 8 },		/* TRCRSR to TRCQCTLR */
		{ 0x080, 4, 4 },		/* TRCVICTLR to TRCVIPCSSCTLR */
		{ 0x100, 4, 3 },		/* TRCSEQEVR<n> */
		{ 0x118, 4, 2 },		/* TRCSEQRSTEVR, TRCSEQSTR */
		{ 0x140, 4, 4 },		/* TRCCNTRLDVR<n> */
		{ 0x150, 4, 4 },		/* TRCCNTCTLR<n> */
		{ 0x160, 4, 4 },		/* TRCCNTVR<n> */
		{ 0x208, 4, 30 },		/* TRCRSCTLR<n> from 2 on */
		{ 0x280, 4, 8 },		/* TRCSSCCR<n> */
		{ 0x2a0, 4, 8 },		/* TRCSSCSR<n> */
		{ 0x400, 8, 16 },		/* TRCACVR<n> */
		{ 0x480, 8, 16 },		/* TRCACATR<n> */
		{ 0x600, 8, 8 },		/* TRCCIDCVR<n> */
		{ 0x640, 8, 8 },		/* TRCVMIDCVR<n> */
		{ 0x680, 4, 4 },		/* TRCCIDCCTLR0, 1, TRCVMIDCCTLR0, 1 */
	};
	struct flowtap_recording *recording = &self->recording;
	u32 i, n;

	pe.trcidr[0] = 1 << 5 | 1 << 7 | 1 << 14 | 8 << 24;
	pe.trcidr[3] = 1 << 26;
	pe.trcidr[4] = 8 | 8 << 12 | 15 << 16 | 8 << 20 | 8 << 24 | 8U << 28;
	pe.trcidr[5] = 4 << 25 | 4 << 28;
	memset(pe.unit, 0xff, sizeof(pe.unit));
	ASSERT_EQ(0, begin(recording, &self->aux, &self->configure));
	ASSERT_EQ(0, ete_open(recording, false));
	for (i = 0; i < COUNT(registers); i++)
		for (n = 0; n < registers[i].n; n++) {
			const u32 offset = registers[i].offset + n * registers[i].stride;

			EXPECT_NE(~0ULL, pe.unit[offset / 4]) TH_LOG("%#x", offset);
			pe.unit[offset / 4] = ~0ULL;
		}
	/* And no other. */
	for (i = 0; i < COUNT(pe.unit); i++)
		EXPECT_EQ(~0ULL, pe.unit[i]) TH_LOG("%#x", 4 * i);
	end(recording, true);
}

TEST_HARNESS_MAIN
