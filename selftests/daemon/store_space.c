// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how many segments go where the disk has less space than is to be free, whether it frees what is
 * deleted at once or later. The disk's words and the clock are the test's.
 */
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>

#include "store_fixture.h"

#define SECOND_NS 1000000000ULL
#define FRAGMENT 512

static uint64_t now = 1000 * SECOND_NS, available = 1ULL << 40;
static struct store *frees;	/* what it deletes is free at once; NULL: it is not */
static uint64_t taken;		/* with what it has */

int fstatvfs(int fd, struct statvfs *disk)
{
	const uint64_t bytes = available + (frees ? taken - store_bytes(frees) : 0);

	*disk = (struct statvfs){ .f_frsize = FRAGMENT, .f_bavail = bytes / FRAGMENT };
	return 0;
}

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(now / SECOND_NS), (long)(now % SECOND_NS) };
	return 0;
}

/* Of five segments; what has to be free is missing by this many segments. */
static uint64_t begin(FIXTURE_DATA(store) *self, double missing)
{
	uint64_t size;

	available = 1ULL << 40;
	frees = NULL;
	for (int i = 0; i < 5; i++)
		if (add_segment(self->store, "size"))
			abort();
	size = store_bytes(self->store) / 5;
	store_limit(self->store, &(struct store_limits){ .free = (1ULL << 40) +
						(uint64_t)(missing * (double)size) });
	return size;
}

static unsigned int deleted_now(FIXTURE_DATA(store) *self)
{
	unsigned int deleted;

	store_make_space(self->store, 0, &deleted);
	return deleted;
}

TEST_F(store, what_is_freed_later_costs_no_other_segment)
{
	const uint64_t size = begin(self, 1.5);

	EXPECT_EQ(2, deleted_now(self));
	EXPECT_TRUE(store_fits(self->store, 0));
	EXPECT_TRUE(store_fits(self->store, size / 2));
	EXPECT_FALSE(store_fits(self->store, size / 2 + FRAGMENT));
	now += 59 * SECOND_NS;
	EXPECT_EQ(0, deleted_now(self));
	/* One of them is free. */
	available += size;
	EXPECT_EQ(0, deleted_now(self));
	EXPECT_FALSE(store_fits(self->store, size / 2 + FRAGMENT));
	available += size;
	now += 2 * SECOND_NS;
	EXPECT_EQ(0, deleted_now(self));
	EXPECT_FALSE(store_fits(self->store, size / 2 + FRAGMENT));
}

TEST_F(store, what_is_not_freed_in_a_minute_is_not_waited_for)
{
	begin(self, 0.5);
	EXPECT_EQ(1, deleted_now(self));
	now += 59 * SECOND_NS;
	EXPECT_EQ(0, deleted_now(self));
	now += SECOND_NS;
	EXPECT_EQ(1, deleted_now(self));
	EXPECT_EQ(0, deleted_now(self));
}

TEST_F(store, what_frees_nothing_is_not_waited_for)
{
	char path[128], other[128];

	begin(self, 0.5);
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, unlink(path));
	snprintf(path, sizeof(path), "%s/" SECOND ".ftap", self->directory);
	snprintf(other, sizeof(other), "%s/kept", self->directory);
	ASSERT_EQ(0, link(path, other));
	/* One that is gone, one that somebody keeps, and one. */
	EXPECT_EQ(3, deleted_now(self));
	/* The disk says that it is full. */
	store_refused(self->store);
	EXPECT_FALSE(store_fits(self->store, 0));
}

TEST_F(store, of_what_is_freed_at_once_nothing_is_waited_for)
{
	const uint64_t size = begin(self, 1.5);

	frees = self->store;
	taken = store_bytes(self->store);
	EXPECT_EQ(2, deleted_now(self));
	EXPECT_FALSE(store_fits(self->store, size / 2 + FRAGMENT));
	/* Others take it. */
	available -= size;
	EXPECT_FALSE(store_fits(self->store, 0));
	EXPECT_EQ(1, deleted_now(self));
}

/* Too large to be finished at once. */
TEST_F(store, what_was_left_is_freed_later_too)
{
	available = 1ULL << 40;
	frees = NULL;
	for (int i = 1; i < 3; i++) {
		char path[128];
		int fd;

		snprintf(path, sizeof(path), "%s/000000000%d-20261122T120000Z.ftap.part", self->directory, i);
		fd = open(path, O_RDWR | O_CREAT, 0600);
		ASSERT_EQ(0, write_blocks(fd, BLOCKS));
		ASSERT_EQ(0, posix_fallocate(fd, 0, STORE_LEFT_PIECE + 1));
		close(fd);
	}
	ASSERT_EQ(0, reopen(self, &(struct store_limits){ 0 }));
	ASSERT_EQ(2, self->left.waiting);
	store_limit(self->store, &(struct store_limits){ .free = (1ULL << 40) + FRAGMENT });
	EXPECT_EQ(1, deleted_now(self));
	EXPECT_EQ(0, deleted_now(self));
}

TEST_HARNESS_MAIN
