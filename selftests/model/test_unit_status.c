// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows what TRCSTATR says of a unit that takes its time, and that software which goes on without
 * having waited for it is found: each time, whatever the adversary does.
 */
#include "unit_rig.h"

#include "support/kselftest_harness.h"

enum { PRGCTLR = 0x004, STATR = 0x00c, CONFIGR = 0x010, TRACEIDR = 0x040, IDLE = 1, PMSTABLE = 2 };

static void traced(struct rig *rig, uint32_t what, uint64_t seed)
{
	rig_init(rig, NULL, false, what, seed);
	rig_program(rig, 1);
	rig_enable(rig);
	while (rig_get(rig, STATR) & IDLE)
		rig_isb(rig);
	rig_isb(rig);
	rig_branch(rig, 1, true, 0x1000);
}

TEST(a_unit_is_written_after_it_was_seen_to_be_idle)
{
	for (unsigned int seen = 0; seen < 2; seen++) {
		struct rig rig;

		traced(&rig, 0, 1);
		rig_disable(&rig);
		if (seen)
			EXPECT_EQ(IDLE | PMSTABLE, rig_get(&rig, STATR));
		rig_write(&rig, TRACEIDR, 5);
		EXPECT_EQ(!seen, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
		/* It may be looked at later as well. */
		rig_isb(&rig);
		rig_get(&rig, STATR);
		rig_write(&rig, TRACEIDR, 5);
		EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
		rig_free(&rig);
	}
}

/* Whether EN or the OS lock disabled it. */
TEST(a_unit_is_read_after_it_was_seen_to_be_stable)
{
	for (unsigned int i = 0; i < 4; i++) {
		const bool seen = i & 1, lock = i & 2;
		struct rig rig;

		traced(&rig, 0, 1);
		if (lock)
			rig.pe.oslock = true;
		else
			rig_write(&rig, PRGCTLR, 0);
		rig_isb(&rig);
		/* These always may. */
		rig_get(&rig, PRGCTLR);
		rig_get(&rig, 0x1e0);
		rig_get(&rig, 0xfa4);
		if (seen)
			EXPECT_EQ(IDLE | PMSTABLE, rig_get(&rig, STATR));
		EXPECT_EQ(0, rig_violations(&rig, VIOLATION_UNIT_READ));
		rig_get(&rig, CONFIGR);
		EXPECT_EQ(!seen, rig_violations(&rig, VIOLATION_UNIT_READ));
		rig_isb(&rig);
		rig_get(&rig, STATR);
		rig_get(&rig, CONFIGR);
		for (unsigned int n = 0; n < VIOLATIONS; n++)
			EXPECT_EQ(0, rig_violations(&rig, n));
		rig_free(&rig);
	}
}

/* Claim tags may be set at any time, registers under the OS lock (K10.5.7.1.3). */
TEST(what_may_be_written_without_a_look_is_not_told)
{
	struct rig rig;

	traced(&rig, 0, 1);
	rig_disable(&rig);
	rig_write(&rig, 0xfa4, 2);
	rig.pe.oslock = true;
	rig_isb(&rig);
	rig_write(&rig, TRACEIDR, 5);
	rig_write(&rig, PRGCTLR, 0);
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		EXPECT_EQ(0, rig_violations(&rig, i));
	rig_free(&rig);
}

/* EN is cleared, and the unit does not know yet. */
TEST(a_write_right_after_en_was_cleared_is_found_whenever_that_takes_effect)
{
	bool late = false;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct rig rig;

		traced(&rig, ADVERSARY(DELAY) | ADVERSARY(SLOW), seed);
		rig_write(&rig, PRGCTLR, 0);
		late |= trace_unit_enabled(&rig.pe.unit);
		rig_write(&rig, TRACEIDR, 5);
		EXPECT_EQ(1, rig_violations(&rig, VIOLATION_UNIT_WRITTEN));
		rig_free(&rig);
	}
	EXPECT_TRUE(late);
}

TEST(idle_and_stable_are_two_things)
{
	bool only_idle = false, only_stable = false, early = false;

	for (uint64_t seed = 0; seed < 40; seed++) {
		unsigned int polls = 0;
		struct rig rig;
		uint64_t status;

		traced(&rig, ADVERSARY(SLOW), seed);
		rig_disable(&rig);
		/* What is read before the registers are stable may be anything. */
		rig_get(&rig, CONFIGR);
		early |= rig_violations(&rig, VIOLATION_UNIT_READ);
		do {
			status = rig_get(&rig, STATR);
			only_idle |= status == IDLE;
			only_stable |= status == PMSTABLE;
			rig_isb(&rig);
		} while (status != (IDLE | PMSTABLE) && ++polls < 100);
		EXPECT_GT(100, polls);
		rig_get(&rig, CONFIGR);
		rig_write(&rig, TRACEIDR, 5);
		for (unsigned int i = 0; i < VIOLATIONS; i++)
			EXPECT_EQ(0, rig_violations(&rig, i));
		rig_free(&rig);
	}
	EXPECT_TRUE(only_idle);
	EXPECT_TRUE(only_stable);
	EXPECT_TRUE(early);
}

/* K10.5.7.1.3: EN is written under the lock, and is waited for after it was cleared. */
TEST(en_that_was_set_under_the_os_lock_is_waited_for_without_it)
{
	for (unsigned int locked = 0; locked < 2; locked++) {
		struct rig rig;

		rig_init(&rig, NULL, false, 0, 1);
		rig.pe.oslock = true;
		rig_isb(&rig);
		rig_program(&rig, 1);
		rig_write(&rig, PRGCTLR, 1);
		rig_isb(&rig);
		rig.pe.oslock = locked;
		rig_isb(&rig);
		EXPECT_EQ(locked ? IDLE | PMSTABLE : 0, rig_get(&rig, STATR));
		EXPECT_EQ(locked, rig_violations(&rig, VIOLATION_UNIT_LOCKED));
		rig_free(&rig);
	}
}

TEST_HARNESS_MAIN
