// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that segments keep their names, order and limits, and that no file but its own is a
 * store's.
 */
#include "store_fixture.h"

#include <sys/statvfs.h>
#include <time.h>

#include "store_internal.h"

TEST(a_name_is_a_number_and_a_date)
{
	static const struct {
		const char *name, *after;
		uint64_t number;		/* 0: it is none */
	} cases[] = {
		{ FIRST ".ftap", "", 1 },
		{ FIRST ".ftap.part", STORE_PART, 1 },
		{ "12345678901-20261122T120000Z.ftap", "", 12345678901 },
		{ "999999999999999999-20261122T120000Z.ftap", "", 999999999999999999 },
		{ "1000000000000000000-20261122T120000Z.ftap", "", 0 },
		{ "000000001-20261122T120000Z.ftap", "", 0 },
		{ "0000000001_20261122T120000Z.ftap", "", 0 },
		{ "0000000001-2026112xT120000Z.ftap", "", 0 },
		{ "0000000001-20261122 120000Z.ftap", "", 0 },
		{ "0000000001-20261122T12000xZ.ftap", "", 0 },
		{ "0000000001-20261122T120000.ftap", "", 0 },
		{ "0000000001-20261122T120000Z.ftaq", "", 0 },
		{ "0000000001-", "", 0 },
		{ "0000000001", "", 0 },
		{ FIRST ".ftap", STORE_PART, 0 },
		{ FIRST ".ftap.part", "", 0 },
		{ FIRST ".ftap.parts", STORE_PART, 0 },
		{ "", "", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t number = 0;

		EXPECT_EQ(cases[i].number != 0,
			  store_is_name(cases[i].name, cases[i].after, &number))
			TH_LOG("%s", cases[i].name);
		EXPECT_EQ(cases[i].number, number);
	}
}

TEST_F(store, a_segment_has_its_name_when_it_is_finished)
{
	const struct store_segment *segments;
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .records = 1000, .lost = 7,
					   .why = "size" };
	const char *name = "0000000001-20261122T120000Z.ftap";
	size_t n;
	int fd;

	EXPECT_EQ(0, store_number(self->store));
	fd = store_begin(self->store, TIME);
	ASSERT_LE(0, fd);
	EXPECT_EQ(1, store_number(self->store));
	EXPECT_STREQ(name, store_current(self->store));
	EXPECT_TRUE(exists(self, "0000000001-20261122T120000Z.ftap.part"));
	EXPECT_FALSE(exists(self, name));
	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(0, store_finish(self->store, &facts));
	EXPECT_FALSE(exists(self, "0000000001-20261122T120000Z.ftap.part"));
	EXPECT_EQ(BLOCKS, count_blocks(self, name));
	EXPECT_EQ(NULL, store_current(self->store));
	EXPECT_EQ(-ENOENT, store_finish(self->store, &facts));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(1, n);
	EXPECT_STREQ(name, segments[0].name);
	EXPECT_EQ(store_bytes(self->store), segments[0].bytes);
	EXPECT_EQ(TIME + 60, segments[0].ended);
	EXPECT_TRUE(strstr(index_text(self),
			   "0000000001-20261122T120000Z.ftap\t2026-11-22T12:00:00Z\t"
			   "2026-11-22T12:01:00Z\t4112\t-\t1000\t7\tsize\n"));
}

TEST_F(store, the_next_one_is_begun_before_the_last_one_is_finished)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .records = 1000, .lost = 7,
					   .why = "size" };
	const struct store_segment *segments;
	int first = store_begin(self->store, TIME), second;
	size_t n;

	ASSERT_EQ(0, write_blocks(first, BLOCKS));
	second = store_begin(self->store, TIME + 60);
	ASSERT_LE(0, second);
	EXPECT_EQ(-EBUSY, store_begin(self->store, TIME));
	EXPECT_STREQ("0000000002-20261122T120100Z.ftap", store_current(self->store));
	ASSERT_EQ(0, write_blocks(second, 1));
	ASSERT_EQ(0, store_finish(self->store, &facts));
	EXPECT_EQ(BLOCKS, count_blocks(self, "0000000001-20261122T120000Z.ftap"));
	EXPECT_TRUE(exists(self, "0000000002-20261122T120100Z.ftap.part"));
	ASSERT_EQ(0, write_blocks(second, 0));
	ASSERT_EQ(0, store_finish(self->store, &facts));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(2, n);
	EXPECT_EQ(1, segments[0].number);
	/* One that is dropped is the last one. */
	ASSERT_LE(0, store_begin(self->store, TIME));
	ASSERT_LE(0, store_begin(self->store, TIME + 1));
	store_drop(self->store);
	EXPECT_TRUE(exists(self, "0000000003-20261122T120000Z.ftap.part"));
	EXPECT_FALSE(exists(self, "0000000004-20261122T120001Z.ftap.part"));
}

TEST_F(store, numbers_go_on_and_the_index_stays_when_it_is_opened_again)
{
	const struct store_segment *segments;
	size_t n;

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(0, self->left.finished + self->left.bad + self->left.failed);
	ASSERT_EQ(0, add_segment(self->store, "time"));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(4, n);
	for (size_t i = 0; i < n; i++)
		EXPECT_EQ(i + 1, segments[i].number);
	EXPECT_TRUE(strstr(index_text(self), "0000000001-20261122T120000Z.ftap\t2026-"));
	EXPECT_TRUE(strstr(index_text(self), "\ttime\n"));
	EXPECT_EQ(4, store_number(self->store));
}

/* As far as that is known: when it was written last. */
TEST_F(store, when_one_ended_is_known_when_it_is_opened_again)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = TIME + 60 } };
	char path[256];
	size_t n;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	ASSERT_EQ(0, utimensat(AT_FDCWD, path, times, 0));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(TIME + 60, store_segments(self->store, &n)->ended);
}

/* A start that finds more than it looks at would be refused. */
TEST_F(store, no_more_are_kept_than_the_next_start_looks_at)
{
	unsigned int deleted;
	size_t n;

	EXPECT_GT(STORE_SEGMENTS_MAX, self->store->most);
	EXPECT_LT(STORE_SEGMENTS_MAX - 100, self->store->most);
	self->store->most = 3;
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(2, deleted);
	EXPECT_EQ(3, store_segments(self->store, &n)->number);
	EXPECT_EQ(3, n);
	ASSERT_EQ(0, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(0, deleted);
}

TEST_F(store, the_oldest_go_first_and_other_files_stay)
{
	struct store_limits limits = { 0 };
	const struct store_segment *segments;
	unsigned int deleted;
	size_t n;

	put_file(self, "notes", "mine", 4);
	put_file(self, "1-2.ftap", "mine", 4);
	for (int i = 0; i < 5; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	limits.quota = store_bytes(self->store);
	store_limit(self->store, &limits);
	ASSERT_EQ(0, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(0, deleted);
	ASSERT_EQ(0, store_make_space(self->store, 1, &deleted));
	EXPECT_EQ(1, deleted);
	segments = store_segments(self->store, &n);
	ASSERT_EQ(4, n);
	EXPECT_EQ(2, segments[0].number);
	EXPECT_FALSE(exists(self, "0000000001-20261122T120000Z.ftap"));
	EXPECT_FALSE(strstr(index_text(self), "0000000001-"));
	EXPECT_TRUE(strstr(index_text(self), "0000000002-"));
	/* More than all of it. */
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, limits.quota + 1, &deleted));
	EXPECT_EQ(4, deleted);
	EXPECT_TRUE(exists(self, "notes"));
	EXPECT_TRUE(exists(self, "1-2.ftap"));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	segments = store_segments(self->store, &n);
	EXPECT_EQ(6, segments[n - 1].number);
	/* A quota that was made smaller meanwhile holds at once. */
	ASSERT_EQ(0, add_segment(self->store, "size"));
	limits.quota = store_bytes(self->store) - 1;
	ASSERT_EQ(0, reopen(self, &limits));
	EXPECT_STREQ("0000000007-20261122T120000Z.ftap ", list(self));
	EXPECT_FALSE(strstr(index_text(self), "0000000006-"));
}

TEST_F(store, what_goes_when_it_is_opened_is_counted)
{
	struct store_limits limits = { 0 };

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	limits.quota = store_bytes(self->store) / 3;
	ASSERT_EQ(0, reopen(self, &limits));
	EXPECT_EQ(2, self->left.deleted);
	ASSERT_EQ(0, reopen(self, &limits));
	EXPECT_EQ(0, self->left.deleted);
}

#define THIRD "0000000003-20261122T120000Z"

static void put_directory(const FIXTURE_DATA(store) *self, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	if (mkdir(path, 0700))
		abort();
}

/* Somebody has put a directory into what it was decoded to. */
TEST_F(store, one_that_cannot_be_deleted_is_left_and_told_once)
{
	struct store_limits limits = { 0 };
	const struct store_segment *segments;
	unsigned int deleted;
	const char *name;
	uint64_t each;
	size_t n;

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	each = store_bytes(self->store) / 3;
	put_directory(self, "decoded");
	put_directory(self, "decoded/" FIRST);
	put_directory(self, "decoded/" FIRST "/mine");
	/* What a directory takes is up to the file system. */
	limits.quota = store_bytes(self->store) + 4096;
	store_limit(self->store, &limits);
	EXPECT_EQ(0, store_undeleted(self->store, &name));
	/* The first one's own file went. */
	EXPECT_EQ(0, store_make_space(self->store, each, &deleted));
	EXPECT_EQ(0, deleted);
	EXPECT_EQ(-EISDIR, store_undeleted(self->store, &name));
	EXPECT_STREQ(FIRST ".ftap", name);
	EXPECT_EQ(0, store_undeleted(self->store, &name));
	EXPECT_EQ(0, store_make_space(self->store, 2 * each, &deleted));
	EXPECT_EQ(1, deleted);
	EXPECT_EQ(0, store_undeleted(self->store, &name));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(2, n);
	EXPECT_EQ(1, segments[0].number);
	EXPECT_EQ(3, segments[1].number);
	EXPECT_EQ(segments[0].bytes + segments[1].bytes, store_bytes(self->store));
	EXPECT_GT(each, segments[0].bytes);
	/* A second one does not make the first one news again. */
	put_directory(self, "decoded/" THIRD);
	put_directory(self, "decoded/" THIRD "/mine");
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 4 * each, &deleted));
	EXPECT_EQ(0, deleted);
	EXPECT_EQ(-EISDIR, store_undeleted(self->store, &name));
	EXPECT_STREQ(THIRD ".ftap", name);
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 4 * each, &deleted));
	EXPECT_EQ(0, store_undeleted(self->store, &name));
}

/* A quota of users, or no inodes: free space says nothing of it. */
TEST_F(store, the_oldest_goes_when_the_disk_takes_no_more)
{
	const struct store_segment *segments;
	size_t n;

	EXPECT_EQ(0, store_delete_oldest(self->store));
	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(1, store_delete_oldest(self->store));
	EXPECT_STREQ(SECOND ".ftap " THIRD ".ftap ", list(self));
	EXPECT_FALSE(strstr(index_text(self), "0000000001-"));
	/* One that cannot be deleted is passed over. */
	put_directory(self, "decoded");
	put_directory(self, "decoded/" SECOND);
	put_directory(self, "decoded/" SECOND "/mine");
	EXPECT_EQ(1, store_delete_oldest(self->store));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(1, n);
	EXPECT_EQ(2, segments[0].number);
	EXPECT_EQ(segments[0].bytes, store_bytes(self->store));
	EXPECT_EQ(0, store_delete_oldest(self->store));
}

TEST_F(store, one_that_somebody_removed_can_be_forgotten)
{
	const struct store_segment *segments;
	char path[128];
	size_t n;

	for (int i = 0; i < 3; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_FALSE(store_drop_removed(self->store, SECOND ".ftap"));
	EXPECT_FALSE(store_drop_removed(self->store, "nobody.ftap"));
	snprintf(path, sizeof(path), "%s/%s", self->directory, SECOND ".ftap");
	ASSERT_EQ(0, unlink(path));
	EXPECT_TRUE(store_drop_removed(self->store, SECOND ".ftap"));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(2, n);
	EXPECT_EQ(1, segments[0].number);
	EXPECT_EQ(3, segments[1].number);
	EXPECT_EQ(segments[0].bytes + segments[1].bytes, store_bytes(self->store));
	EXPECT_FALSE(strstr(index_text(self), "0000000002-"));
}

TEST_F(store, what_others_are_to_find_free_is_left_free)
{
	struct store_limits limits = { .free = UINT64_MAX / 2 };
	unsigned int deleted;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	store_limit(self->store, &limits);
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(1, deleted);
}

TEST_F(store, what_is_wanted_is_not_of_what_is_to_be_free)
{
	struct store_limits limits = { 0 };
	struct statvfs disk;
	unsigned int deleted;
	uint64_t capacity;

	ASSERT_EQ(0, statvfs(self->directory, &disk));
	capacity = (uint64_t)disk.f_bavail * disk.f_frsize;
	limits.free = capacity / 2;
	store_limit(self->store, &limits);
	EXPECT_EQ(0, store_make_space(self->store, capacity / 4, &deleted));
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, capacity / 4 * 3, &deleted));
}

TEST_F(store, what_is_being_written_counts_and_is_never_deleted)
{
	struct store_limits limits = { .quota = 1000 };
	unsigned int deleted;
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(0, fsync(fd));
	store_limit(self->store, &limits);
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(0, deleted);
	EXPECT_TRUE(exists(self, "0000000001-20261122T120000Z.ftap.part"));
	store_drop(self->store);
	EXPECT_FALSE(exists(self, "0000000001-20261122T120000Z.ftap.part"));
	EXPECT_EQ(0, store_make_space(self->store, 1000, &deleted));
}

/* As XFS does for what grows. */
TEST_F(store, what_is_reserved_beyond_the_end_does_not_count)
{
	struct store_limits limits = { .quota = 1 << 20 };
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, 4 << 20))
		SKIP(return, "this file system reserves nothing");
	store_limit(self->store, &limits);
	EXPECT_TRUE(store_fits(self->store, 0));
	EXPECT_FALSE(store_fits(self->store, 1 << 20));
}

TEST_F(store, two_daemons_do_not_share_a_folder)
{
	struct store *other;

	EXPECT_EQ(-EBUSY, store_open(self->directory, &any, &self->left, &other));
}

TEST_F(store, nonsense_in_the_index_does_no_harm)
{
	static char long_line[5000];

	ASSERT_EQ(0, add_segment(self->store, "size"));
	memset(long_line, 'x', sizeof(long_line));
	put_file(self, "index", long_line, sizeof(long_line));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_TRUE(strstr(index_text(self), "0000000001-20261122T120000Z.ftap\t-\t-"));
	EXPECT_FALSE(strstr(index_text(self), "xxx"));
}

/* It is no reason to read another file, nor to wait for one. */
TEST_F(store, an_index_that_is_no_file_becomes_one)
{
	char path[256];

	ASSERT_EQ(0, add_segment(self->store, "size"));
	snprintf(path, sizeof(path), "%s/index", self->directory);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, mkfifo(path, 0600));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_TRUE(strstr(index_text(self), FIRST ".ftap\t-\t-"));
}

TEST_F(store, what_people_moved_in_the_index_stays)
{
	static const char lines[] = "# began\tended\nx\n" SECOND ".ftap\tsecond\n\t\n" FIRST
				    ".ftap\tfirst\n";

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	put_file(self, "index", lines, sizeof(lines) - 1);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_TRUE(strstr(index_text(self), "\n" FIRST ".ftap\tfirst\n" SECOND ".ftap\tsecond\n"));
}

TEST_F(store, that_there_can_be_no_index_is_told_once)
{
	char path[256];

	EXPECT_EQ(0, store_index_error(self->store));
	snprintf(path, sizeof(path), "%s/index", self->directory);
	ASSERT_EQ(0, unlink(path));
	ASSERT_EQ(0, mkdir(path, 0700));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(-EISDIR, store_index_error(self->store));
	EXPECT_EQ(0, store_index_error(self->store));
	EXPECT_FALSE(exists(self, "index.new"));
	EXPECT_TRUE(exists(self, FIRST ".ftap"));
	ASSERT_EQ(0, rmdir(path));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(0, store_index_error(self->store));
	EXPECT_TRUE(strstr(index_text(self), FIRST ".ftap\t2026-"));
}

TEST_F(store, a_folder_that_cannot_be_used_says_why)
{
	struct store *other;

	EXPECT_EQ(-ENOENT, store_open("/nonexistent/folder", &any, &self->left, &other));
	EXPECT_EQ(-ENOTDIR, store_open("/dev/null", &any, &self->left, &other));
}

TEST_HARNESS_MAIN
