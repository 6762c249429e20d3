// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a segment whose archive could not be written to the end is finished up to its last
 * whole block, and that one that cannot take its place does so when it can.
 */
#include "store_fixture.h"

#include "common/grow.h"

static bool no_memory;

static int grow_or_not(void **list, size_t n, size_t each)
{
	return no_memory ? -ENOMEM : grow_by_one(list, n, each);
}

/* The list grows by that one. */
#define grow_by_one grow_or_not
#include "../../daemon/store.c"
#undef grow_by_one

static const struct store_facts broken = {
	.began = TIME, .ended = TIME + 60, .records = 1000, .why = "full", .broken = true,
};

static off_t size_of(FIXTURE_DATA(store) *self, const char *name)
{
	char path[256];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	return stat(path, &status) ? -1 : status.st_size;
}

TEST_F(store, a_broken_one_ends_after_its_last_whole_block)
{
	const size_t whole = sizeof(struct flowtap_archive_header) + 2 * BLOCK;
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(0, ftruncate(fd, (off_t)(whole + 100)));
	ASSERT_EQ(0, store_finish(self->store, &broken));
	EXPECT_EQ((off_t)whole, size_of(self, FIRST ".ftap"));
	EXPECT_EQ(-1, size_of(self, FIRST ".ftap.part"));
}

TEST_F(store, a_broken_one_without_any_is_removed)
{
	struct store_facts facts;
	size_t n;

	ASSERT_LE(0, store_begin(self->store, TIME));
	EXPECT_EQ(1, store_finish(self->store, &broken));
	EXPECT_EQ(-1, size_of(self, FIRST ".ftap"));
	EXPECT_EQ(-1, size_of(self, FIRST ".ftap.part"));
	EXPECT_EQ(0, store_retry(self->store, &facts));
	store_segments(self->store, &n);
	EXPECT_EQ(0, n);
}

TEST_F(store, one_that_cannot_take_its_place_does_so_later)
{
	struct store_facts facts = { 0 };
	char path[256];
	size_t n;

	EXPECT_EQ(0, store_retry(self->store, &facts));
	/* What a file cannot replace, also for root. */
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, mkdir(path, 0755));
	EXPECT_EQ(-EISDIR, add_segment(self->store, "size"));
	EXPECT_LT(0, size_of(self, FIRST ".ftap.part"));
	/* It keeps no other from being begun. */
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_EQ(0, add_segment(self->store, "size"));
	EXPECT_LT(0, size_of(self, FIRST ".ftap.part"));
	ASSERT_EQ(0, rmdir(path));
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(1000, facts.records);
	EXPECT_EQ(0, strcmp("size", facts.why));
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_EQ(-1, size_of(self, FIRST ".ftap.part"));
	EXPECT_LT(0, size_of(self, FIRST ".ftap"));
	ASSERT_NE(NULL, store_finished(self->store));
	EXPECT_STREQ(FIRST ".ftap", store_finished(self->store)->name);
	/* In its place: the oldest goes first. */
	EXPECT_EQ(1, store_segments(self->store, &n)[0].number);
	EXPECT_EQ(2, n);
	EXPECT_EQ(0, add_segment(self->store, "size"));
}

/* With its name it would count nowhere, and never go. */
TEST_F(store, one_that_there_is_no_memory_for_takes_its_place_later)
{
	struct store_facts facts;
	size_t n;

	no_memory = true;
	EXPECT_EQ(-ENOMEM, add_segment(self->store, "size"));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	EXPECT_FALSE(exists(self, FIRST ".ftap"));
	no_memory = false;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_FALSE(exists(self, FIRST ".ftap.part"));
	EXPECT_TRUE(exists(self, FIRST ".ftap"));
	EXPECT_NE(NULL, store_find(self->store, FIRST ".ftap"));
	EXPECT_LT(0, store_bytes(self->store));
	/* Each that is older than others is in its place whatever the list grew by. */
	EXPECT_EQ(0, add_segment(self->store, "size"));
	no_memory = true;
	EXPECT_EQ(-ENOMEM, add_segment(self->store, "size"));
	no_memory = false;
	EXPECT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(1, store_retry(self->store, &facts));
	store_segments(self->store, &n);
	ASSERT_EQ(4, n);
	for (size_t i = 0; i < n; i++) {
		EXPECT_EQ(i + 1, store_segments(self->store, &n)[i].number);
	}
}

/* They take room that nobody could make: no more than so many. */
TEST_F(store, where_none_takes_its_place_no_other_is_begun_after_some)
{
	struct store_limits limits = { 0 };
	struct store_facts facts = { 0 };
	unsigned int deleted;
	char path[256];
	uint64_t bytes;
	size_t n;

	for (unsigned int i = 1; i <= STORE_UNFINISHED; i++) {
		EXPECT_EQ(0, store_retry(self->store, &facts));
		snprintf(path, sizeof(path), "%s/%010u-20261122T120000Z.ftap", self->directory, i);
		ASSERT_EQ(0, mkdir(path, 0755));
		EXPECT_EQ(-EISDIR, add_segment(self->store, "size"));
	}
	EXPECT_EQ(-EISDIR, store_retry(self->store, &facts));
	EXPECT_EQ(0, store_bytes(self->store));
	/* They count. */
	limits.quota = 1;
	store_limit(self->store, &limits);
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 0, &deleted));
	/* One is enough. */
	snprintf(path, sizeof(path), "%s/" SECOND ".ftap", self->directory);
	ASSERT_EQ(0, rmdir(path));
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(0, store_retry(self->store, &facts));
	bytes = store_bytes(self->store);
	EXPECT_LT(0, bytes);
	EXPECT_EQ(2, store_segments(self->store, &n)->number);
	EXPECT_EQ(1, n);
}

TEST_F(store, one_that_somebody_removes_meanwhile_is_forgotten)
{
	struct store_facts facts;
	char path[256];

	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, mkdir(path, 0755));
	EXPECT_EQ(-EISDIR, add_segment(self->store, "size"));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_EQ(0, add_segment(self->store, "size"));
}

TEST_HARNESS_MAIN
