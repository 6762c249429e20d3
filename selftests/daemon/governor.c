// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the governor holds made-up daemons within their budgets, whatever they cost, that it
 * gives back what it took, and that no figures can make it go out of its bounds.
 */
#include "governor.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "support/kselftest_harness.h"

#define SECOND 1000000000ULL

/* A daemon that costs so much by itself, and so much for what is recorded. */
struct plant {
	uint64_t fixed;		/* ns a second */
	uint64_t whole;		/* ns a second, at the whole share */
	uint64_t bytes;		/* a second, at the whole share */
	uint64_t capacity;	/* bytes a second that can be written; what is more is lost */
};

static struct governor_measure run(const struct plant *plant, const struct governor *governor)
{
	uint64_t bytes = plant->bytes / 1000 * governor->share / 1000;
	uint64_t lost = bytes > plant->capacity ? bytes - plant->capacity : 0;

	return (struct governor_measure){
		.elapsed = SECOND,
		.cpu = plant->fixed + plant->whole / 1000 * governor->share / 1000,
		.recorded = bytes - lost,
		.lost = lost,
	};
}

static enum governor_cause steps(const struct plant *plant, struct governor *governor, int n)
{
	enum governor_cause cause = GOVERNOR_STAYS;

	while (n--) {
		struct governor_measure measure = run(plant, governor);

		cause = governor_step(governor, &measure);
	}
	return cause;
}

TEST(what_costs_little_is_left_alone)
{
	const struct plant plant = {
		.fixed = 1000000, .whole = 5000000, .bytes = 1 << 20, .capacity = 1 << 30};
	struct governor governor;

	governor_init(&governor, 10000, 0, 1000);
	EXPECT_EQ(GOVERNOR_STAYS, steps(&plant, &governor, 100));
	EXPECT_EQ(GOVERNOR_WHOLE, governor.share);
	EXPECT_EQ(6000, governor.cpu);
}

TEST(cpu_time_comes_within_the_budget_and_stays_there)
{
	for (uint64_t whole = SECOND / 50; whole <= 4 * SECOND; whole *= 2) {
		const struct plant plant = {
			.fixed = 500000, .whole = whole, .bytes = 1 << 20, .capacity = 1 << 30};
		unsigned int above = 0;
		struct governor governor;

		governor_init(&governor, 10000, 0, 10);
		steps(&plant, &governor, 30);
		/* It tries every few steps whether there is room, by a tenth. */
		for (int i = 0; i < 600; i++) {
			steps(&plant, &governor, 1);
			above += governor.cpu > 10000;
			EXPECT_GT(11100, governor.cpu);
		}
		EXPECT_GT(600 / 5, above);
		EXPECT_LT(6000, governor.cpu);
	}
}

TEST(loss_comes_within_the_budget)
{
	const struct plant plant = { .whole = 1000000, .bytes = 100 << 20, .capacity = 7 << 20 };
	struct governor governor;
	unsigned int lossy = 0;

	governor_init(&governor, 10000, 1000, 10);
	steps(&plant, &governor, 20);
	for (int i = 0; i < 600; i++) {
		steps(&plant, &governor, 1);
		lossy += governor.loss > 1000;
	}
	EXPECT_GT(600 / 5, lossy);
	EXPECT_LT(GOVERNOR_WHOLE / 30, governor.share);
	EXPECT_GT(GOVERNOR_WHOLE / 12, governor.share);
}

TEST(a_loss_of_unknown_size_halves_the_share)
{
	const struct governor_measure measure = { .elapsed = SECOND, .recorded = 1 << 20,
						  .losses = 1 };
	struct governor governor;

	governor_init(&governor, 10000, 0, 10);
	EXPECT_EQ(GOVERNOR_LOSS, governor_step(&governor, &measure));
	EXPECT_EQ(GOVERNOR_WHOLE / 2, governor.share);
	governor_init(&governor, 10000, 1000, 10);
	EXPECT_EQ(GOVERNOR_LOSS, governor_step(&governor, &measure));
	EXPECT_GT(GOVERNOR_WHOLE / 2 + 1000, governor.share);
}

TEST(a_loss_of_known_size_is_that_large)
{
	const struct governor_measure measure = { .elapsed = SECOND, .recorded = 300, .lost = 100,
						  .losses = 1 };
	struct governor governor;

	governor_init(&governor, 10000, 1000, 10);
	EXPECT_EQ(GOVERNOR_LOSS, governor_step(&governor, &measure));
	EXPECT_EQ(250000, governor.loss);
}

TEST(what_was_taken_is_given_back)
{
	struct plant plant = { .whole = SECOND, .bytes = 1 << 20, .capacity = 1 << 30 };
	struct governor governor;

	governor_init(&governor, 10000, 0, 10);
	steps(&plant, &governor, 50);
	EXPECT_GT(GOVERNOR_WHOLE / 50, governor.share);
	plant.whole = SECOND / 1000;
	steps(&plant, &governor, 100);
	EXPECT_EQ(GOVERNOR_WHOLE, governor.share);
}

/* 5 steps at four fifths of the budget or less: then a tenth more, and with each further one. */
TEST(it_is_given_back_when_it_was_calm_for_long_enough)
{
	const struct governor_measure calm = { .elapsed = SECOND, .cpu = SECOND / 1000 * 8 };
	const struct governor_measure busy = { .elapsed = SECOND, .cpu = SECOND / 1000 * 8 + 1000 };
	const struct governor_measure most = { .elapsed = SECOND, .cpu = SECOND / 100 };
	struct governor governor;

	governor_init(&governor, 10000, 0, 1);
	governor.share = 1000;
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(GOVERNOR_STAYS, governor_step(&governor, &calm));
	EXPECT_EQ(GOVERNOR_CALMED, governor_step(&governor, &calm));
	EXPECT_EQ(1101, governor.share);
	EXPECT_EQ(GOVERNOR_CALMED, governor_step(&governor, &calm));
	EXPECT_EQ(1212, governor.share);
	/* Within the budget, but no more than that. */
	for (int i = 0; i < 20; i++)
		EXPECT_EQ(GOVERNOR_STAYS, governor_step(&governor, i % 2 ? &busy : &most));
	for (int i = 0; i < 4; i++)
		EXPECT_EQ(GOVERNOR_STAYS, governor_step(&governor, &calm));
	/* The least share there can be grows as well. */
	governor.share = 1;
	EXPECT_EQ(GOVERNOR_CALMED, governor_step(&governor, &calm));
	EXPECT_EQ(2, governor.share);
}

/*
 * A second of work that is dear, and fourteen in which it costs less than four fifths of the
 * budget.
 */
TEST(the_budget_is_held_on_average_where_load_comes_in_bursts)
{
	const struct plant dear = { .fixed = SECOND / 1000, .whole = SECOND / 5 };
	const struct plant cheap = { .fixed = SECOND / 1000, .whole = SECOND / 1000 * 69 / 10 };
	struct governor governor;
	uint64_t cpu = 0;

	governor_init(&governor, 10000, 0, 1000);
	for (int i = 0; i < 3600; i++) {
		const struct governor_measure measure = run(i % 15 ? &cheap : &dear, &governor);

		cpu += measure.cpu;
		governor_step(&governor, &measure);
	}
	EXPECT_GE(36 * SECOND, cpu);
	EXPECT_LT(12 * SECOND, cpu);
}

TEST(what_costs_too_much_by_itself_gets_the_least)
{
	const struct plant plant = { .fixed = SECOND / 2, .whole = 0 };
	struct governor governor;

	governor_init(&governor, 10000, 0, 1234);
	EXPECT_EQ(GOVERNOR_STAYS, steps(&plant, &governor, 100));
	EXPECT_EQ(1234, governor.share);
	EXPECT_EQ(500000, governor.cpu);
}

TEST(other_budgets_forget_nothing_of_what_it_saw)
{
	const struct governor before = { .cpu_budget = 10000, .loss_budget = 1, .least = 10,
					 .share = 1000, .cpu = 2, .loss = 3, .calm = 4, .debt = 5 };
	struct governor governor = before;

	governor_change(&governor, 20000, 7, 1000);
	EXPECT_EQ(20000, governor.cpu_budget);
	EXPECT_EQ(7, governor.loss_budget);
	EXPECT_EQ(1000, governor.least);
	EXPECT_EQ(before.share, governor.share);
	EXPECT_EQ(before.cpu, governor.cpu);
	EXPECT_EQ(before.loss, governor.loss);
	EXPECT_EQ(before.calm, governor.calm);
	EXPECT_EQ(before.debt, governor.debt);
	/* The least is recorded anyway. */
	governor_change(&governor, 20000, 7, 1001);
	EXPECT_EQ(1001, governor.share);
	governor_change(&governor, 20000, 7, 0);
	EXPECT_EQ(1, governor.least);
	EXPECT_EQ(1001, governor.share);
}

TEST(any_figures_leave_it_within_its_bounds)
{
	static const uint64_t values[] = { 0, 1, 2, 999999, 1000000, SECOND, UINT32_MAX,
					   UINT64_MAX / 1000000, UINT64_MAX / 2, UINT64_MAX };
	const int n = sizeof(values) / sizeof(values[0]);
	struct governor governor;

	srand(1);
	for (int i = 0; i < 200000; i++) {
		const struct governor_measure measure = {
			.elapsed = values[rand() % n], .cpu = values[rand() % n],
			.recorded = values[rand() % n], .lost = values[rand() % n],
			.losses = values[rand() % n],
		};

		if (i % 1000 == 0)
			governor_init(&governor, (uint32_t)values[rand() % n],
				      (uint32_t)values[rand() % n], (uint32_t)values[rand() % n]);
		if (governor_step(&governor, &measure) != GOVERNOR_STAYS)
			ASSERT_NE(0, measure.elapsed);
		ASSERT_LE(governor.least, governor.share);
		ASSERT_GE(GOVERNOR_WHOLE, governor.share);
	}
}

TEST(on_times_and_periods_follow_the_share)
{
	struct governor governor;

	governor_init(&governor, 10000, 0, 1);
	EXPECT_EQ(100000, governor_period(&governor, 100000));
	EXPECT_EQ(UINT64_MAX, governor_period(&governor, UINT64_MAX));
	governor.share = GOVERNOR_WHOLE / 4;
	EXPECT_EQ(400000, governor_period(&governor, 100000));
	EXPECT_EQ(UINT64_MAX, governor_period(&governor, UINT64_MAX / 2));
	governor.share = 1;
	EXPECT_EQ(1000ULL * GOVERNOR_WHOLE, governor_period(&governor, 1000));
	EXPECT_EQ(1000, governor_duty(&governor, 1000000, 1000));
	governor.share = GOVERNOR_WHOLE / 4;
	EXPECT_EQ(2500, governor_duty(&governor, 1000000, 100000000));
	EXPECT_EQ(GOVERNOR_WHOLE, governor_duty(&governor, 4000, 1000));
	EXPECT_EQ(249999, governor_duty(&governor, 3600000000000 - 3600000, 3600000000000));
}

TEST_HARNESS_MAIN
