// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that software which does all that the architecture asks for loses nothing that is not told,
 * whatever the adversary does, and is never accused; and that software which leaves a barrier out
 * meets what the adversary is for.
 */
#include <stdlib.h>
#include <string.h>

#include "fake_driver.h"
#include "support/kselftest_harness.h"

/* For what may take longer than the harness gives a test. */
FIXTURE(slow) { int none; };
FIXTURE_SETUP(slow) {}
FIXTURE_TEARDOWN(slow) {}

TEST_F_TIMEOUT(slow, correct_software_is_safe_and_not_accused, 1500)
{
	const char *env = getenv("FLOWTAP_SEED");
	const uint64_t first = env ? strtoull(env, NULL, 0) : 1;

	for (uint64_t seed = first; seed < first + 2000; seed++) {
		/* All at once, one, or none. */
		const uint32_t what = seed % 3 == 0 ? ALL : seed % 3 == 1 ? ALL & rng_next(
			&(struct rng){ seed }) : ALL & ~(ADVERSARY(ABORT) | ADVERSARY(FAULT));
		const char *wrong = drive(seed, what, 0, 0);

		ASSERT_EQ(wrong, NULL)
			TH_LOG("%s: FLOWTAP_SEED=%llu", wrong, (unsigned long long)seed);
	}
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++) {
		if (ALL >> i & 1)
			EXPECT_NE(counts[i], 0) TH_LOG("%s never happened", adversary_word(i));
	}
	EXPECT_GT(sums.full, 1000);
	EXPECT_GT(sums.faults, 500);
	EXPECT_GT(sums.aborts, 500);
	EXPECT_GT(sums.spurious, 1000);
	printf("# %u sessions: %u full, %u faults, %u aborts, %u spurious interrupts\n",
	       sums.sessions, sums.full, sums.faults, sums.aborts, sums.spurious);
}

TEST(chance_is_the_seed_and_the_pe)
{
	struct adversary_options options = { .seed = 7, .what = ALL };
	struct pe_config config = { 0 };
	uint64_t drawn[3];

	for (unsigned int i = 0; i < 3; i++) {
		struct fake *fake;

		config.index = i == 2;
		fake = fake_new(NULL, &options, &config);
		drawn[i] = rng_next(&fake->pe.adversary.rng);
		fake_free(fake);
	}
	EXPECT_EQ(drawn[0], drawn[1]);
	EXPECT_NE(drawn[0], drawn[2]);
}

TEST(the_next_seed_is_as_if_it_were_the_first)
{
	struct adversary_options options = { .seed = 7, .what = ALL, .reseed = 3 }, next = options;
	struct fake *fake = fake_new(NULL, &options, NULL);
	struct adversary first;
	uint64_t numbers[6];

	next.seed = 8;
	adversary_init(&first, &fake->pe, &next);
	for (unsigned int i = 0; i < 6; i++) {
		numbers[i] = adversary_enabled(&fake->pe.adversary);
		EXPECT_EQ(i < 3 ? 7 : 8, fake->pe.adversary.seed);
		if (i > 3)
			continue;
		/* What was drawn before does not matter. */
		EXPECT_EQ(i == 3, rng_next(&fake->pe.adversary.rng) ==
				  rng_next(&(struct rng){ first.rng.state }));
	}
	EXPECT_NE(numbers[0], numbers[1]);
	EXPECT_EQ(numbers[3], adversary_enabled(&first));
	EXPECT_EQ(numbers[4], adversary_enabled(&first));
	fake_free(fake);
}

TEST(words)
{
	uint32_t what = 5;

	EXPECT_TRUE(adversary_parse("delay+abort", &what));
	EXPECT_EQ(what, ADVERSARY(DELAY) | ADVERSARY(ABORT));
	EXPECT_TRUE(adversary_parse("all", &what));
	EXPECT_EQ(what, (1U << ADVERSARY_BITS) - 1);
	EXPECT_TRUE(adversary_parse("none", &what));
	EXPECT_EQ(what, 0);
	EXPECT_FALSE(adversary_parse("", &what));
	EXPECT_FALSE(adversary_parse("delay+", &what));
	EXPECT_FALSE(adversary_parse("+delay", &what));
	EXPECT_FALSE(adversary_parse("delay+dela", &what));
	EXPECT_FALSE(adversary_parse("delayed", &what));
	EXPECT_EQ(what, 0);
}

/* Faults of both stages, with each code that a write can have there, and no other; each is told. */
TEST(faults_are_of_all_kinds)
{
	/* By the stage, and the code without its level: the levels, as bits. */
	uint8_t seen[2][4] = { 0 };

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct adversary_options options = {
			.seed = seed, .what = ADVERSARY(FAULT), .rate = 2,
		};
		struct fake *fake = fake_new(NULL, &options, NULL);
		uint64_t status;

		fake_paging(fake);
		fake_map(fake, FAKE_BUFFER, PAGES);
		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		for (unsigned int i = 0; i < 64 && !fake->level; i++)
			feed(fake, 64);
		isb(fake);
		status = mrs(fake, SYSREG_TRBSR_EL1);
		ASSERT_EQ(status & ~(SR_EC | 15), SR_S | SR_IRQ);
		ASSERT_EQ(status >> 27, 0x24 >> 1);
		seen[status >> 26 & 1][status >> 2 & 3] |= 1 << (status & 3);
		fake_free(fake);
	}
	for (unsigned int stage = 0; stage < 2; stage++) {
		EXPECT_EQ(seen[stage][0], 0xf);	/* address size */
		EXPECT_EQ(seen[stage][1], 0xf);	/* translation */
		EXPECT_EQ(seen[stage][2], 0xe);	/* access flag: none at level 0 */
		EXPECT_EQ(seen[stage][3], 0xe);	/* permission */
	}
}

/* Linux' driver uses a null pointer where it comes without a session. */
TEST(no_interrupt_is_spurious_with_the_buffer_disabled)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct fake *fake = adversary(seed, ADVERSARY(SPURIOUS), 0);

		for (unsigned int i = 0; i < 300; i++)
			pe_tick(&fake->pe);
		EXPECT_EQ(fake->raised, 0);
		fake_free(fake);
	}
}

/* Writes complete in the end, with no barrier. */
TEST(what_is_withheld_comes_to_memory_without_a_barrier)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct fake *fake = adversary(seed, ADVERSARY(WITHHOLD), 0);

		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		feed(fake, 5000);
		for (unsigned int i = 0; i < 100; i++)
			pe_tick(&fake->pe);
		EXPECT_EQ(fake->pe.buffer.npending, 0);
		EXPECT_EQ(memcmp(fake_at(fake, FAKE_BUFFER), fake->stream, 64), 0);
		fake_free(fake);
	}
}

/* Software may have cleared TRBSR before the interrupt comes: it does not come then. */
TEST(no_interrupt_is_late_for_ever)
{
	unsigned int late = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct fake *fake = adversary(seed, ADVERSARY(LATE), 0);

		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		feed(fake, SIZE);
		late += !fake->level;
		isb(fake);
		msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT);
		isb(fake);
		msr(fake, SYSREG_TRBSR_EL1, 0);
		isb(fake);
		for (unsigned int i = 0; i < 10; i++)
			pe_tick(&fake->pe);
		EXPECT_FALSE(fake->level);
		fake_free(fake);
	}
	EXPECT_NE(late, 0);
}

/* A spurious level becomes a real one, and goes when its cause does. */
TEST(an_interrupt_that_was_spurious_is_a_level)
{
	unsigned int both = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct fake *fake = adversary(seed, ADVERSARY(SPURIOUS), 0);

		buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
		for (unsigned int i = 0; i < 300 && !fake->level; i++)
			pe_tick(&fake->pe);
		both += fake->level;
		feed(fake, SIZE);
		EXPECT_TRUE(fake->level);
		isb(fake);
		/* Nothing has read TRBSR: that would end what is spurious. */
		msr(fake, SYSREG_TRBSR_EL1, 0);
		isb(fake);
		EXPECT_FALSE(fake->level);
		fake_free(fake);
	}
	EXPECT_NE(both, 0);
}

/* --- What each part of the adversary shows to software that leaves something out --- */

static bool enabled_late(struct fake *fake, bool right)
{
	msr(fake, SYSREG_TRBBASER_EL1, FAKE_BUFFER);
	msr(fake, SYSREG_TRBPTR_EL1, FAKE_BUFFER);
	msr(fake, SYSREG_TRBSR_EL1, 0);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT | 1);
	if (right)
		isb(fake);
	feed(fake, 64);
	return fake->losses[LOG_LOSS_DISABLED];
}

static bool memory_late(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 64);
	tsb(fake);
	if (right)
		dsb(fake);
	return memcmp(fake_at(fake, FAKE_BUFFER), fake->stream, 64);
}

static bool pointer_old(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 64);
	tsb(fake);
	if (right)
		isb(fake);
	return mrs(fake, SYSREG_TRBPTR_EL1) == FAKE_BUFFER;
}

static bool pointer_undrained(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 5000);
	if (right)
		tsb(fake);
	isb(fake);
	if (!right)
		return mrs(fake, SYSREG_TRBPTR_EL1) == FAKE_BUFFER;
	return mrs(fake, SYSREG_TRBPTR_EL1) < FAKE_BUFFER + 5000;
}

static bool withheld_lost(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, 100);
	if (right)
		tsb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, LIMIT);
	isb(fake);
	return fake->losses[LOG_LOSS_WITHHELD];
}

/* right: a tick; the interrupt is there in the end. */
static bool interrupt_late(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, SIZE);
	for (unsigned int i = 0; right && i < 4; i++)
		pe_tick(&fake->pe);
	return !fake->level;
}

/* The level is there; TRBSR not, without a CSE. */
static bool interrupt_early(struct fake *fake, bool right)
{
	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	feed(fake, SIZE);
	if (right)
		isb(fake);
	return fake->level && !(mrs(fake, SYSREG_TRBSR_EL1) & SR_IRQ);
}

/* right: the buffer is disabled, and then there is none. */
static bool interrupt_spurious(struct fake *fake, bool right)
{
	bool seen = false;

	buffer_on(fake, FAKE_BUFFER, FAKE_BUFFER, LIMIT);
	for (unsigned int i = 0; i < 300 && !seen; i++) {
		pe_tick(&fake->pe);
		seen = fake->level;
	}
	if (right) {
		buffer_off(fake);
		seen = fake->level;
	}
	return seen;
}

TEST_F_TIMEOUT(slow, barriers_left_out, 1500)
{
	static const struct {
		bool (*shows)(struct fake *fake, bool right);
		uint32_t what;
		unsigned int all;	/* it always shows */
	} parts[] = {
		{ enabled_late, ADVERSARY(DELAY), 0 },
		{ memory_late, ADVERSARY(WITHHOLD), 100 },
		{ pointer_old, ADVERSARY(WITHHOLD), 100 },
		{ pointer_undrained, ADVERSARY(WITHHOLD), 100 },
		{ withheld_lost, ADVERSARY(WITHHOLD), 100 },
		{ interrupt_late, ADVERSARY(LATE), 0 },
		{ interrupt_early, ADVERSARY(EARLY), 0 },
		{ interrupt_spurious, ADVERSARY(SPURIOUS), 0 },
	};

	for (unsigned int i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		unsigned int n = of_100(parts[i].shows, false, parts[i].what, 0);

		EXPECT_GE(n, parts[i].all ?: 10) TH_LOG("part %u: %u", i, n);
		EXPECT_EQ(of_100(parts[i].shows, true, parts[i].what, 0), 0) TH_LOG("part %u", i);
	}
	/* And without an adversary those that matter to nobody else. */
	EXPECT_EQ(of_100(enabled_late, false, 0, 0), 0);
	EXPECT_EQ(of_100(memory_late, false, 0, 0), 0);
	EXPECT_EQ(of_100(interrupt_spurious, false, 0, 0), 0);
}

TEST_HARNESS_MAIN
