// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the unit's own state, which is as the last session left it, is to be written before each
 * enabling, as far as anything uses it; and that whoever does so is not accused.
 */
#include "unit_rig.h"

#include "support/kselftest_harness.h"

/* Disables it, and sees it idle. */
static void end(struct rig *rig)
{
	rig_disable(rig);
	rig_get(rig, 0x00c);
}

TEST(state_that_is_used_is_written_before_each_enabling)
{
	/* What uses it, and the register; without the first one nothing does. */
	static const struct {
		uint32_t rsctlr;
		uint16_t offset;
	} tries[] = {
		{ 0, 0x080 }, { 0, 0x028 }, { 0x20010, 0x11c }, { 0x20001, 0x160 },
		{ 0x20002, 0x164 }, { 0x30001, 0x2a0 },
	};
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		for (unsigned int used = 0; used < 2; used++) {
			rig_program(&rig, 1);
			rig_write(&rig, 0x020, used ? 2 : 0);
			rig_write(&rig, 0x208, tries[i].rsctlr);
			rig_enable(&rig);
			end(&rig);
			EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
			/* All but that one. */
			for (size_t k = 0; k < sizeof(tries) / sizeof(tries[0]); k++)
				if (k != i)
					rig_write(&rig, tries[k].offset, k ? 0 : 0x201);
			rig_enable(&rig);
			end(&rig);
			EXPECT_EQ(used || !tries[i].rsctlr,
				  rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED))
				TH_LOG("offset %x used %u", tries[i].offset, used);
		}
	}
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	rig_free(&rig);
}

TEST(state_not_written_is_told_once_and_whatever_takes_effect_when)
{
	for (uint64_t seed = 0; seed < 40; seed++) {
		struct rig rig;

		rig_init(&rig, NULL, false, ADVERSARY(DELAY) | ADVERSARY(SLOW), seed);
		rig.pe.adversary.options.rate = 2;
		/* A reset leaves nothing that is valid, whatever it is. */
		rig_program(&rig, 1);
		rig_enable(&rig);
		trace_unit_reset(&rig.pe.unit);
		rig_isb(&rig);
		rig_write(&rig, 0x040, 1);
		rig_write(&rig, 0x034, 0);
		rig_write(&rig, 0x010, 1);
		rig_write(&rig, 0x020, 0);
		rig_write(&rig, 0x084, 0);
		rig_isb(&rig);
		rig_write(&rig, 0x080, 0x201);
		rig_enable(&rig);
		EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
		while (rig_get(&rig, 0x00c) & 1)
			rig_isb(&rig);
		rig_disable(&rig);
		/* Too late. */
		while (rig_get(&rig, 0x00c) != 3)
			rig_isb(&rig);
		rig_isb(&rig);
		rig_write(&rig, 0x080, 0x201);
		rig_isb(&rig);
		rig_write(&rig, 0x004, 1);
		rig_write(&rig, 0x028, 0);
		rig_isb(&rig);
		EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
		EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
		for (unsigned int i = 0; i < VIOLATIONS; i++)
			EXPECT_EQ(0, rig_violations(&rig, i));
		rig_free(&rig);
	}
}

TEST(state_may_be_written_under_the_os_lock_and_is_kept_where_en_is)
{
	struct trace_unit_options options = trace_unit_defaults;
	struct rig rig;

	rig_init(&rig, NULL, false, 0, 1);
	/* K10.5.7.1.3 after a power-down: EN before the others, the lock is cleared last. */
	rig.pe.oslock = true;
	rig_isb(&rig);
	rig_write(&rig, 0x004, 1);
	rig_program(&rig, 1);
	rig_isb(&rig);
	rig.pe.oslock = false;
	rig_isb(&rig);
	/* No power-down: nothing was lost. */
	rig.pe.oslock = true;
	rig_isb(&rig);
	rig.pe.oslock = false;
	rig_isb(&rig);
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	end(&rig);
	rig.pe.oslock = true;
	rig_isb(&rig);
	rig_write(&rig, 0x004, 1);
	rig_isb(&rig);
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
	rig.pe.oslock = false;
	rig_isb(&rig);
	EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
	rig_free(&rig);
	/* Without comparators there is no start/stop function, and SSSTATUS is no state. */
	options.address_pairs = 0;
	rig_init(&rig, &options, false, 0, 1);
	rig_program(&rig, 1);
	rig_enable(&rig);
	end(&rig);
	rig_write(&rig, 0x028, 0);
	rig_enable(&rig);
	EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_UNPROGRAMMED));
	rig_free(&rig);
}

TEST_HARNESS_MAIN
