// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the comparator finds what it is for: a made-up run and its archive are in order, and
 * with any one thing wrong in either, or in the flow, it says so.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "modes.h"
#include "support/kselftest_harness.h"

static void tell(struct check *check, const char *line)
{
	(void)check;
	printf("#   %s\n", line);
}

/* 0 and check->counts, or the error. [from, to) is forbidden. */
static int compare_forbidding(const struct synthetic_log *synthetic, struct check *check,
			      uint64_t from, uint64_t to)
{
	struct samples samples = { 0 };
	char prefix[64], path[64];
	const char *why = NULL;
	int err;

	snprintf(prefix, sizeof(prefix), "%s/log", synthetic->directory);
	snprintf(path, sizeof(path), "%s/archive", synthetic->directory);
	check->prefix = prefix;
	check->tell = tell;
	err = samples_add(&samples, path, NULL, &why);
	if (!err) {
		samples.archives->forbid_from = from;
		samples.archives->forbid_to = to;
		samples_sort(&samples);
		err = check_run(check, &samples, &why);
	}
	if (err)
		printf("#   %s\n", why ? why : strerror(-err));
	samples_free(&samples);
	return err;
}

static int compare(const struct synthetic_log *synthetic, struct check *check)
{
	return compare_forbidding(synthetic, check, 0, 0);
}

TEST(a_run_in_order_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	synthetic_log_make(&synthetic, NOTHING);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.samples, SAMPLES);
	EXPECT_EQ(check.counts.log.drains, SAMPLES);
	EXPECT_EQ(check.counts.transfers, 6 + DEPTH + 11 + 1 + 6);
	EXPECT_GT(check.counts.reconstructed, 60);
	EXPECT_EQ(check.counts.skipped, 1 + 1 + 1);
	EXPECT_EQ(check.counts.tasks, 1);
	/* The one after which the program goes on; not that by which it leaves, nor B's. */
	EXPECT_EQ(check.counts.log.interrupts, 1);
	EXPECT_EQ(check.counts.log.looked, 0);
	synthetic_log_remove(&synthetic);
}

TEST(a_look_at_a_register_in_anothers_interrupt_is_counted)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	synthetic_log_make(&synthetic, LOOKED);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.log.interrupts, 1);
	EXPECT_EQ(check.counts.log.looked, 1);
	synthetic_log_remove(&synthetic);
}

TEST(a_program_sent_elsewhere_by_a_trap_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	synthetic_log_make(&synthetic, RESUMED_ELSEWHERE);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.skipped, 1 + 1 + 2);
	synthetic_log_remove(&synthetic);
}

TEST(whose_a_first_sample_without_entries_is_does_not_matter)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	synthetic_log_make(&synthetic, EMPTY_FIRST);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	synthetic_log_remove(&synthetic);
}

/* Decodes the synthetic log, then alters one item of the flow: 0 and the number of mismatches. */
static uint64_t compare_altered(struct synthetic_log *synthetic, size_t at,
				void (*alter)(struct flow_item *))
{
	struct check check = { .tell = tell };
	struct samples samples = { 0 };
	char prefix[64], path[64];
	const char *why;

	snprintf(prefix, sizeof(prefix), "%s/log", synthetic->directory);
	snprintf(path, sizeof(path), "%s/archive", synthetic->directory);
	check.prefix = prefix;
	if (samples_add(&samples, path, NULL, &why))
		abort();
	if (at >= samples.archives->flow.n) {
		samples_free(&samples);
		return UINT64_MAX;
	}
	alter(&samples.archives->flow.items[at]);
	if (check_run(&check, &samples, &why))
		abort();
	samples_free(&samples);
	return check.counts.mismatches;
}

static enum flow_kind altered;		/* the kind of what was altered */

static void make_nothing(struct flow_item *item)
{
	altered = item->kind;
	item->kind = FLOW_NOTHING;
}

static void make_elsewhere(struct flow_item *item)
{
	altered = item->kind;
	item->address += 2;
}

static void make_shorter(struct flow_item *item)
{
	altered = item->kind;
	item->n--;
}

static void make_gap(struct flow_item *item)
{
	altered = item->kind;
	item->kind = FLOW_GAP;
	item->reason = FLOWTAP_GAP_IMPOSSIBLE;
}

static void make_other_target(struct flow_item *item)
{
	altered = item->kind;
	if (item->kind != FLOW_BLOCK || !item->target)
		altered = FLOW_NOTHING;
	item->taken = true;
	item->target += 2;
}

/*
 * Alters each item in turn; gaps and exceptions have no such property where blocks_only. One gap
 * can go unnoticed: the fourth sample's flow begins with the first instruction after the third.
 */
static void alter_each(struct __test_metadata *_metadata, void (*alter)(struct flow_item *),
		       bool blocks_only)
{
	uint64_t mismatches;
	struct synthetic_log synthetic;
	size_t seen = 0, unseen = 0;

	synthetic_log_make(&synthetic, RESUMED_ELSEWHERE);
	for (size_t at = 0; (mismatches = compare_altered(&synthetic, at,
							  alter)) != UINT64_MAX; at++) {
		if (altered == FLOW_NOTHING || (blocks_only && altered != FLOW_BLOCK))
			continue;
		seen++;
		if (altered == FLOW_GAP && !mismatches && !unseen++)
			continue;
		EXPECT_GT(mismatches, 0) {
			TH_LOG("item %zu", at);
		}
	}
	EXPECT_GT(seen, 20);
	synthetic_log_remove(&synthetic);
}

TEST(a_flow_without_one_of_its_elements_is_found)
{
	alter_each(_metadata, make_nothing, false);
}

TEST(a_flow_with_a_block_elsewhere_is_found)
{
	alter_each(_metadata, make_elsewhere, true);
}

TEST(a_flow_with_a_block_of_another_length_is_found)
{
	alter_each(_metadata, make_shorter, true);
}

TEST(a_flow_with_a_block_that_goes_on_elsewhere_is_found)
{
	alter_each(_metadata, make_other_target, true);
}

TEST(a_flow_with_a_hole_is_found)
{
	alter_each(_metadata, make_gap, true);
}

TEST(addresses_in_a_forbidden_range_are_found)
{
	struct check check = { .tell = tell };
	struct synthetic_log synthetic;

	synthetic_log_make(&synthetic, NOTHING);
	ASSERT_EQ(compare_forbidding(&synthetic, &check, A + 0x14, A + 0x15), 0);
	EXPECT_EQ(check.counts.mismatches, 4);
	ASSERT_EQ(compare_forbidding(&synthetic, &check, B, B + 0x1000), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	synthetic_log_remove(&synthetic);
}

TEST(anything_wrong_is_found)
{
	for (int i = FIRST_WRONG; i < MUTATIONS; i++) {
		struct check check = { .tell_most = 1 };
		struct synthetic_log synthetic;
		int err;

		printf("# %s\n", synthetic_log_names[i]);
		synthetic_log_make(&synthetic, i);
		err = compare(&synthetic, &check);
		EXPECT_TRUE(err || check.counts.mismatches) {
			TH_LOG("not found: %s", synthetic_log_names[i]);
		}
		synthetic_log_remove(&synthetic);
	}
}

TEST(the_kernel_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	modes_make(&synthetic, BOTH);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.transfers, 8);
	EXPECT_EQ(check.counts.kernel_transfers, 5);
	EXPECT_EQ(check.counts.reconstructed, 16);
	EXPECT_EQ(check.counts.user, 10);
	synthetic_log_remove(&synthetic);
}

TEST(what_is_filtered_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	modes_make(&synthetic, FILTERED);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.transfers, 2);
	synthetic_log_remove(&synthetic);
}

TEST(a_call_stack_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	modes_make(&synthetic, STACK);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.callstacks, 1);
	EXPECT_EQ(check.counts.frames, 1);
	synthetic_log_remove(&synthetic);
}

TEST(a_history_that_goes_on_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	modes_make(&synthetic, HISTORY);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.contiguous, 1);
	EXPECT_EQ(check.counts.saved, 1);
	EXPECT_EQ(check.counts.log.restored, 2);
	/* Of the second one: what came before the first is not an entry's. */
	EXPECT_EQ(check.counts.log.put_back.pairs, 1);
	EXPECT_EQ(check.counts.log.put_back.kernel, 10);
	synthetic_log_remove(&synthetic);
}

TEST(a_trap_put_in_after_a_freeze_is_proven)
{
	struct check check = { .tell_most = 10 };
	struct synthetic_log synthetic;

	modes_make(&synthetic, THAWED);
	ASSERT_EQ(compare(&synthetic, &check), 0);
	EXPECT_EQ(check.counts.mismatches, 0);
	EXPECT_EQ(check.counts.transfers, 5);
	EXPECT_EQ(check.counts.log.restored, 0);
	synthetic_log_remove(&synthetic);
}

TEST(anything_wrong_with_modes_is_found)
{
	for (int i = BOTH_WRONG; i < MODES; i++) {
		struct check check = { .tell_most = 1 };
		struct synthetic_log synthetic;
		int err;

		printf("# %s\n", modes_names[i]);
		modes_make(&synthetic, i);
		err = compare(&synthetic, &check);
		EXPECT_TRUE(err || check.counts.mismatches) {
			TH_LOG("not found: %s", modes_names[i]);
		}
		synthetic_log_remove(&synthetic);
	}
}

static void make_other_mode(struct flow_item *item)
{
	altered = item->kind;
	item->mode ^= 1;
}

TEST(a_flow_with_a_wrong_mode_is_found)
{
	unsigned int seen = 0;
	uint64_t mismatches;
	struct synthetic_log synthetic;

	modes_make(&synthetic, BOTH);
	for (size_t at = 0; (mismatches = compare_altered(&synthetic, at, make_other_mode)) !=
	     UINT64_MAX; at++) {
		if (altered != FLOW_BLOCK)
			continue;
		seen++;
		EXPECT_GT(mismatches, 0);
	}
	EXPECT_GT(seen, 6);
	synthetic_log_remove(&synthetic);
}

TEST_HARNESS_MAIN
