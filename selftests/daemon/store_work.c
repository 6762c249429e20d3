// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what is done with segments afterwards takes its place as a whole or not at all,
 * counts, and goes with its segment.
 */
#include "store_fixture.h"

#include <flowtap/packed.h>
#include <sys/resource.h>

#include "decoded.h"

/* As who packs does: into the part. */
static int pack(const FIXTURE_DATA(store) *self, const char *name)
{
	char path[256];
	int from, to, error;

	snprintf(path, sizeof(path), "%s/%s.ftap", self->directory, name);
	from = open(path, O_RDONLY);
	strcat(path, ".zst.part");
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	error = flowtap_pack(from, to);
	close(from);
	close(to);
	return error;
}

/* Blocks of a packed one. */
static int count_packed(const FIXTURE_DATA(store) *self, const char *name)
{
	struct flowtap_unpacked told;
	char path[256], raw[256];
	int from, to, error;

	snprintf(path, sizeof(path), "%s/%s", self->directory, name);
	snprintf(raw, sizeof(raw), "%s/unpacked", self->directory);
	from = open(path, O_RDONLY);
	to = open(raw, O_RDWR | O_CREAT | O_TRUNC, 0600);
	error = flowtap_unpack(from, to, FLOWTAP_PACKED_LIMIT, &told);
	close(from);
	close(to);
	return error || told.damages ? -1 : count_blocks(self, "unpacked");
}

TEST_F(store, a_packed_segment_stands_for_the_raw_one)
{
	const struct store_segment *segments;
	uint64_t raw;
	size_t n;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	raw = store_bytes(self->store);
	EXPECT_EQ(-ENOENT, store_work_begin(self->store, STORE_PACKING, SECOND ".ftap"));
	EXPECT_EQ(-EINVAL, store_work_end(self->store, true));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_PACKING, FIRST ".ftap"));
	EXPECT_EQ(-EBUSY, store_work_begin(self->store, STORE_DECODING, FIRST ".ftap"));
	ASSERT_EQ(0, pack(self, FIRST));
	ASSERT_EQ(0, store_work_end(self->store, true));
	EXPECT_STREQ(FIRST ".ftap.zst ", list(self));
	EXPECT_EQ(BLOCKS, count_packed(self, FIRST ".ftap.zst"));
	/* The first segment's bytes, and those of the packed one. */
	EXPECT_TRUE(strstr(index_text(self), "12:01:00Z\t4112\t"));
	EXPECT_FALSE(strstr(index_text(self), "\t4112\t-\t"));
	EXPECT_GT(raw, store_bytes(self->store));
	for (int i = 0; i < 2; i++) {
		segments = store_segments(self->store, &n);
		ASSERT_EQ(1, n);
		EXPECT_STREQ(FIRST ".ftap", segments[0].name);
		EXPECT_TRUE(segments[0].packed);
		EXPECT_EQ(segments[0].bytes, store_bytes(self->store));
		EXPECT_FALSE(strstr(index_text(self), "\t4112\t-\t"));
		ASSERT_EQ(0, reopen(self, &any));
	}
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_STREQ(FIRST ".ftap.zst " SECOND ".ftap ", list(self));
}

TEST_F(store, packing_that_gains_nothing_is_not_tried_again)
{
	char path[256];
	size_t n;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_PACKING, FIRST ".ftap"));
	ASSERT_EQ(0, pack(self, FIRST));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.zst.part", self->directory);
	ASSERT_EQ(0, truncate(path, 100000));
	EXPECT_EQ(-EFBIG, store_work_end(self->store, true));
	EXPECT_STREQ(FIRST ".ftap ", list(self));
	EXPECT_TRUE(store_segments(self->store, &n)->loose);
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
	/* One byte less would be a gain. */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, store_work_begin(self->store, STORE_PACKING, FIRST ".ftap"));
		ASSERT_EQ(0, pack(self, FIRST));
		ASSERT_EQ(0, truncate(path, (off_t)(16 + BLOCKS * BLOCK) - i));
		EXPECT_EQ(i ? 0 : -EFBIG, store_work_end(self->store, true));
	}
	EXPECT_STREQ(FIRST ".ftap.zst ", list(self));
}

TEST_F(store, packing_that_failed_leaves_nothing)
{
	ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_PACKING, FIRST ".ftap"));
	ASSERT_EQ(0, pack(self, FIRST));
	EXPECT_EQ(0, store_work_end(self->store, false));
	EXPECT_STREQ(FIRST ".ftap ", list(self));
}

TEST_F(store, a_crash_while_packing_loses_nothing)
{
	static uint8_t packed[8192], raw[8192];
	char path[256];
	ssize_t size, raw_size;
	int fd;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, pack(self, FIRST));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.zst.part", self->directory);
	fd = open(path, O_RDONLY);
	size = read(fd, packed, sizeof(packed));
	close(fd);
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap", self->directory);
	fd = open(path, O_RDONLY);
	raw_size = read(fd, raw, sizeof(raw));
	close(fd);
	/* The part, cut anywhere: the raw one is there. */
	for (ssize_t cut = 0; cut <= size; cut++) {
		put_file(self, FIRST ".ftap.zst.part", packed, cut);
		ASSERT_EQ(0, reopen(self, &any));
		ASSERT_EQ(1, self->left.packing);
		ASSERT_STREQ(FIRST ".ftap ", list(self));
	}
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
	/* Renamed, and the raw one still there. */
	put_file(self, FIRST ".ftap.zst", packed, size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.packing);
	EXPECT_STREQ(FIRST ".ftap ", list(self));
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
	/* The raw one gone. */
	store_close(self->store);
	self->store = NULL;
	folder_empty(self->directory);
	put_file(self, FIRST ".ftap.zst", packed, size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(0, self->left.packing);
	EXPECT_STREQ(FIRST ".ftap.zst ", list(self));
	EXPECT_EQ(BLOCKS, count_packed(self, FIRST ".ftap.zst"));
	/* A part without a raw one: that was deleted, and so is this. */
	put_file(self, SECOND ".ftap.zst.part", packed, size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_STREQ(FIRST ".ftap.zst ", list(self));
	/* What others call so is theirs. */
	put_file(self, "mine.ftap.zst.part", raw, raw_size);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_TRUE(exists(self, "mine.ftap.zst.part"));
}

TEST_F(store, a_segment_that_went_while_it_was_packed_leaves_nothing)
{
	struct store_limits limits = { .quota = 1 };
	unsigned int deleted;

	ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_PACKING, FIRST ".ftap"));
	ASSERT_EQ(0, pack(self, FIRST));
	store_limit(self->store, &limits);
	/* The part counts, from when it is looked at. */
	EXPECT_LT(0, store_work_look(self->store));
	EXPECT_EQ(-ENOSPC, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(1, deleted);
	EXPECT_STREQ(FIRST ".ftap.zst.part ", list(self));
	EXPECT_EQ(-ENOENT, store_work_end(self->store, true));
	EXPECT_STREQ("", list(self));
	EXPECT_EQ(0, store_make_space(self->store, 0, &deleted));
}

/* As who decodes does. */
static int decode(FIXTURE_DATA(store) *self, const char *name, size_t size)
{
	char *text = calloc(1, size + 1);
	int directory = open(self->directory, O_RDONLY | O_DIRECTORY);
	int fd = decoded_begin(directory, name), error = fd < 0 ? fd : 0;

	memset(text, 'x', size);
	if (!error)
		error = decoded_write(directory, name, "trace", text);
	if (!error)
		error = decoded_sync(directory, name);
	close(fd);
	close(directory);
	free(text);
	return error;
}

TEST_F(store, half_of_a_file_is_an_error_whatever_failed_before)
{
	struct rlimit limit;

	ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &limit));
	limit.rlim_cur = 50000;
	ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &limit));
	/* This leaves EEXIST or another in errno. */
	ASSERT_EQ(-1, mkdir(self->directory, 0700));
	EXPECT_EQ(-ENOSPC, decode(self, FIRST, 100000));
}

TEST_F(store, what_was_decoded_counts_and_goes_with_its_segment)
{
	const struct store_segment *segments;
	struct store_limits limits = { 0 };
	uint64_t before, after;
	unsigned int deleted;
	size_t n;

	for (int i = 0; i < 2; i++)
		ASSERT_EQ(0, add_segment(self->store, "size"));
	before = store_bytes(self->store);
	ASSERT_EQ(0, store_work_begin(self->store, STORE_DECODING, FIRST ".ftap"));
	ASSERT_EQ(0, decode(self, FIRST, 100000));
	EXPECT_TRUE(exists(self, "decoded/" FIRST ".part/trace"));
	/* While it is written it counts as well. */
	EXPECT_LE(100000, store_work_look(self->store));
	limits.quota = before + 90000;
	store_limit(self->store, &limits);
	EXPECT_FALSE(store_fits(self->store, 0));
	ASSERT_EQ(0, store_work_end(self->store, true));
	EXPECT_TRUE(exists(self, "decoded/" FIRST "/trace"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	after = store_bytes(self->store);
	EXPECT_LE(before + 100000, after);
	segments = store_segments(self->store, &n);
	EXPECT_EQ(after, segments[0].bytes + segments[1].bytes);
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(after, store_bytes(self->store));
	segments = store_segments(self->store, &n);
	ASSERT_EQ(2, n);
	EXPECT_TRUE(segments[0].decoded);
	EXPECT_FALSE(segments[1].decoded);
	limits.quota = after - 1;
	store_limit(self->store, &limits);
	ASSERT_EQ(0, store_make_space(self->store, 0, &deleted));
	EXPECT_EQ(1, deleted);
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
	EXPECT_STREQ(SECOND ".ftap ", list(self));
}

TEST_F(store, half_of_a_decoding_has_no_name)
{
	ASSERT_EQ(0, add_segment(self->store, "size"));
	ASSERT_EQ(0, store_work_begin(self->store, STORE_DECODING, FIRST ".ftap"));
	ASSERT_EQ(0, decode(self, FIRST, 1000));
	EXPECT_EQ(0, store_work_end(self->store, false));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	/* Killed. */
	ASSERT_EQ(0, store_work_begin(self->store, STORE_DECODING, FIRST ".ftap"));
	ASSERT_EQ(0, decode(self, FIRST, 1000));
	/* Of a segment that is no more; and what is not ours. */
	ASSERT_EQ(0, decode(self, SECOND, 1000));
	ASSERT_EQ(0, decode(self, "mine", 1000));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_FALSE(exists(self, "decoded/" FIRST ".part"));
	EXPECT_FALSE(exists(self, "decoded/" FIRST));
	EXPECT_FALSE(exists(self, "decoded/" SECOND ".part"));
	EXPECT_TRUE(exists(self, "decoded/mine.part/trace"));
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

TEST_HARNESS_MAIN
