// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whatever a killed daemon left is finished up to its last whole block, at each byte it
 * may have been cut at, and that what is none of that stays as it is.
 */
#include "store_fixture.h"

TEST_F(store, what_was_left_is_finished_at_each_byte_it_may_be_cut_at)
{
	const size_t header = sizeof(struct flowtap_archive_header);
	static uint8_t bytes[8192];
	char path[256], name[64];
	size_t size;
	FILE *file;

	ASSERT_LE(0, store_begin(self->store, TIME));
	snprintf(path, sizeof(path), "%s/%s.part", self->directory, store_current(self->store));
	snprintf(name, sizeof(name), "%s", store_current(self->store));
	file = fopen(path, "w");
	ASSERT_EQ(0, write_blocks(fileno(file), BLOCKS));
	fclose(file);
	file = fopen(path, "r");
	size = fread(bytes, 1, sizeof(bytes), file);
	fclose(file);
	ASSERT_EQ(header + BLOCKS * BLOCK, size);
	for (size_t cut = 0; cut <= size; cut++) {
		const int whole = cut < header ? 0 : (int)((cut - header) / BLOCK);

		store_close(self->store);
		self->store = NULL;
		folder_empty(self->directory);
		snprintf(path, sizeof(path), "%s.part", name);
		put_file(self, path, bytes, cut);
		ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
		ASSERT_EQ(whole > 0, self->left.finished);
		ASSERT_EQ(whole == 0, self->left.bad);
		ASSERT_FALSE(exists(self, path));
		if (whole) {
			ASSERT_EQ(whole, count_blocks(self, name));
			ASSERT_EQ((cut - header) % BLOCK, self->left.cut);
			ASSERT_TRUE(strstr(index_text(self), "left behind"));
		}
	}
}

/* The next one begins at a multiple of 8: what is in between is part of the last one. */
TEST_F(store, a_last_block_of_an_odd_size_is_whole)
{
	static const uint8_t payload[13] = { 1, 2, 3 };
	struct flowtap_archive_writer *writer;
	int fd = store_begin(self->store, TIME);
	struct stat before, after;
	char path[256];

	ASSERT_EQ(0, flowtap_archive_create(fd, &writer));
	ASSERT_EQ(0, flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, 0, payload,
					   sizeof(payload), NULL, 0));
	ASSERT_EQ(0, flowtap_archive_flush(writer));
	flowtap_archive_writer_free(writer);
	ASSERT_EQ(0, fstat(fd, &before));
	ASSERT_EQ(16 + 24 + 16, before.st_size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(0, self->left.cut);
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, stat(path, &after));
	EXPECT_EQ(before.st_size, after.st_size);
}

TEST_F(store, damage_before_the_last_whole_block_stays)
{
	uint8_t damage = 0xff;
	char path[256];
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(1, pwrite(fd, &damage, 1, 16 + BLOCK + 100));
	snprintf(path, sizeof(path), "%s/%s", self->directory, store_current(self->store));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(0, self->left.cut);
	EXPECT_EQ(0, access(path, F_OK));
}

TEST_F(store, links_and_pipes_are_not_followed)
{
	char path[256];

	static uint8_t bytes[16 + BLOCK + 100];
	struct stat stat_of;
	int fd;

	/* An archive that wants to be mended. */
	put_file(self, "victim", "", 0);
	snprintf(path, sizeof(path), "%s/victim", self->directory);
	fd = open(path, O_RDWR);
	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(sizeof(bytes), pread(fd, bytes, sizeof(bytes), 0));
	close(fd);
	put_file(self, "victim", bytes, sizeof(bytes));
	snprintf(path, sizeof(path), "%s/0000000009-20261122T120000Z.ftap.part", self->directory);
	ASSERT_EQ(0, symlink("victim", path));
	snprintf(path, sizeof(path), "%s/0000000008-20261122T120000Z.ftap.part", self->directory);
	ASSERT_EQ(0, mkfifo(path, 0600));
	snprintf(path, sizeof(path), "%s/0000000007-20261122T120000Z.ftap", self->directory);
	ASSERT_EQ(0, symlink("victim", path));
	ASSERT_EQ(0, reopen(self, &any));
	snprintf(path, sizeof(path), "%s/victim", self->directory);
	ASSERT_EQ(0, stat(path, &stat_of));
	EXPECT_EQ(sizeof(bytes), stat_of.st_size);
	EXPECT_EQ(2, self->left.bad + self->left.failed);
	EXPECT_EQ(0, store_bytes(self->store));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_TRUE(exists(self, "0000000010-20261122T120000Z.ftap"));
}

/* Bytes follow what can be read, so that it is as large as is wanted. */
static int leave(FIXTURE_DATA(store) *self, uint64_t number, off_t size)
{
	char path[256];
	int fd, error;

	snprintf(path, sizeof(path), "%s/%010llu-20261122T120000Z.ftap.part", self->directory,
		 (unsigned long long)number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	error = fd < 0 ? -errno : write_blocks(fd, BLOCKS);
	if (!error && ftruncate(fd, size))
		error = -errno;
	close(fd);
	return error;
}

#define LARGE (STORE_LEFT_PIECE + 1)

/* Nothing is recorded before the store is open. */
TEST_F(store, what_is_too_large_to_be_finished_at_once_waits)
{
	const struct store_segment *segments;
	struct store_left left;
	size_t n;

	ASSERT_EQ(0, leave(self, 3, LARGE));
	ASSERT_EQ(0, leave(self, 2, 16 + BLOCKS * BLOCK));
	ASSERT_EQ(0, leave(self, 1, LARGE));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(2, self->left.waiting);
	EXPECT_EQ(2 * (uint64_t)LARGE, self->left.waiting_bytes);
	EXPECT_STREQ(FIRST ".ftap.part " SECOND ".ftap 0000000003-20261122T120000Z.ftap.part ", list(self));
	EXPECT_EQ(1, store_oldest(self->store));
	/* What comes takes neither name. */
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(4, store_number(self->store));
	/* The oldest is first. */
	EXPECT_STREQ(FIRST ".ftap", store_waiting(self->store, 0));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_MENDING, FIRST ".ftap"));
	EXPECT_EQ(-EBUSY, store_work_begin(self->store, STORE_MENDING, "0000000003-20261122T120000Z.ftap"));
	EXPECT_EQ(-EINVAL, store_work_end(self->store, true));
	ASSERT_EQ(0, store_mended(self->store, 0, &left));
	EXPECT_EQ(1, left.finished);
	EXPECT_FALSE(store_waits(self->store, FIRST ".ftap"));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(3, n);
	EXPECT_STREQ(FIRST ".ftap", segments[0].name);
	EXPECT_TRUE(strstr(index_text(self), FIRST ".ftap\t-\t-\t-\t-\t-\t-\tleft behind"));
	/* One that cannot be mended waits until it is tried again. */
	ASSERT_EQ(0, store_work_begin(self->store, STORE_MENDING, "0000000003-20261122T120000Z.ftap"));
	ASSERT_EQ(0, store_mended(self->store, -EIO, &left));
	EXPECT_EQ(0, left.finished + left.bad);
	store_postpone(self->store, "0000000003-20261122T120000Z.ftap", 10);
	EXPECT_EQ(NULL, store_waiting(self->store, 9));
	EXPECT_STREQ("0000000003-20261122T120000Z.ftap", store_waiting(self->store, 10));
	store_resume(self->store);
	EXPECT_STREQ("0000000003-20261122T120000Z.ftap", store_waiting(self->store, 0));
	/* One of nothing is bad, and one that somebody removed is forgotten. */
	ASSERT_EQ(0, store_work_begin(self->store, STORE_MENDING, "0000000003-20261122T120000Z.ftap"));
	ASSERT_EQ(0, store_mended(self->store, 1, &left));
	EXPECT_EQ(1, left.bad);
	EXPECT_TRUE(exists(self, "0000000003-20261122T120000Z.ftap.bad"));
	EXPECT_EQ(NULL, store_waiting(self->store, UINT64_MAX));
	EXPECT_EQ(-EINVAL, store_mended(self->store, 0, &left));
	EXPECT_EQ(-ENOENT, store_work_begin(self->store, STORE_MENDING, FIRST ".ftap"));
}

/* Or the first ones would be tried again for ever, and the last ones never. */
TEST_F(store, of_what_was_postponed_that_which_waits_for_longest_is_next)
{
	ASSERT_EQ(0, leave(self, 1, LARGE));
	ASSERT_EQ(0, leave(self, 2, LARGE));
	ASSERT_EQ(0, leave(self, 3, LARGE));
	ASSERT_EQ(0, reopen(self, &any));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(0, store_postponed(self->store, FIRST ".ftap"));
	store_postpone(self->store, FIRST ".ftap", 10);
	EXPECT_EQ(10, store_postponed(self->store, FIRST ".ftap"));
	EXPECT_STREQ(SECOND ".ftap", store_waiting(self->store, 100));
	store_postpone(self->store, SECOND ".ftap", 9);
	store_postpone(self->store, "0000000003-20261122T120000Z.ftap", 11);
	EXPECT_EQ(NULL, store_waiting(self->store, 8));
	EXPECT_STREQ(SECOND ".ftap", store_waiting(self->store, 100));
	store_postpone(self->store, "0000000004-20261122T120000Z.ftap", 7);
	EXPECT_EQ(7, store_postponed(self->store, "0000000004-20261122T120000Z.ftap"));
	EXPECT_EQ(0, store_postponed(self->store, "0000000005-20261122T120000Z.ftap"));
	store_resume(self->store);
	EXPECT_EQ(0, store_postponed(self->store, SECOND ".ftap"));
	EXPECT_STREQ(FIRST ".ftap", store_waiting(self->store, 0));
}

TEST_F(store, what_waits_and_is_removed_is_forgotten)
{
	struct store_left left;
	char path[256];

	ASSERT_EQ(0, leave(self, 1, LARGE));
	ASSERT_EQ(0, reopen(self, &any));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_MENDING, FIRST ".ftap"));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	ASSERT_EQ(0, unlink(path));
	EXPECT_EQ(-ENOENT, store_mended(self->store, -EIO, &left));
	EXPECT_FALSE(store_waits(self->store, FIRST ".ftap"));
}

/* All of what is finished at once is no more than that, not each. */
TEST_F(store, many_that_are_small_are_not_finished_at_once_either)
{
	for (uint64_t i = 1; i <= 5; i++)
		ASSERT_EQ(0, leave(self, i, STORE_LEFT_PIECE / 2));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(2, self->left.finished);
	EXPECT_EQ(3, self->left.waiting);
}

/* Else they would keep anything from being recorded until they are finished. */
TEST_F(store, what_waits_counts_and_goes_last)
{
	struct store_limits limits = { 0 };
	unsigned int deleted;
	char path[256];
	uint64_t each;
	int fd;

	ASSERT_EQ(0, leave(self, 1, LARGE));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	fd = open(path, O_WRONLY);
	/* So that it takes some room that others do not. */
	ASSERT_EQ(0, posix_fallocate(fd, 0, LARGE));
	close(fd);
	ASSERT_EQ(0, reopen(self, &any));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	each = store_bytes(self->store);
	EXPECT_FALSE(store_drop_removed(self->store, FIRST ".ftap"));
	limits.quota = LARGE;
	store_limit(self->store, &limits);
	EXPECT_FALSE(store_fits(self->store, 0));
	limits.quota = 2 * LARGE;
	store_limit(self->store, &limits);
	EXPECT_TRUE(store_fits(self->store, 0));
	ASSERT_EQ(0, store_make_space(self->store, 2 * LARGE - each, &deleted));
	EXPECT_EQ(2, deleted);
	EXPECT_FALSE(exists(self, FIRST ".ftap.part"));
	EXPECT_FALSE(store_waits(self->store, FIRST ".ftap"));
	EXPECT_TRUE(store_fits(self->store, 2 * LARGE));
}

/* As of segments: one that cannot be deleted keeps none of the others. */
TEST_F(store, what_waits_and_cannot_be_deleted_is_left)
{
	struct store_limits limits = { .quota = 1 };
	unsigned int deleted;
	char path[256];

	ASSERT_EQ(0, leave(self, 1, LARGE));
	ASSERT_EQ(0, leave(self, 2, LARGE));
	ASSERT_EQ(0, reopen(self, &any));
	ASSERT_EQ(2, self->left.waiting);
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, mkdir(path, 0700));
	store_limit(self->store, &limits);
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 1, &deleted));
	EXPECT_EQ(1, deleted);
	EXPECT_TRUE(store_waits(self->store, FIRST ".ftap"));
	EXPECT_FALSE(store_waits(self->store, SECOND ".ftap"));
	EXPECT_FALSE(exists(self, SECOND ".ftap.part"));
}

TEST_F(store, when_it_ended_is_known_of_what_was_left)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = TIME + 60 } };
	char path[256];
	size_t n;

	ASSERT_EQ(0, leave(self, 1, 16 + BLOCKS * BLOCK + 10));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->directory);
	ASSERT_EQ(0, utimensat(AT_FDCWD, path, times, 0));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(TIME + 60, store_segments(self->store, &n)->ended);
}

TEST_HARNESS_MAIN
