// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a machine without power finds is right: a segment's bytes are on the disk before it
 * has its name, and that is on the disk before anybody counts on it.
 */
#include "store_fixture.h"

#include <stdarg.h>
#include <sys/syscall.h>

#include "store_internal.h"

/* Calls of these functions of libc, which this program's stand in for, in their order. */
static char calls[512];
static const char *fail;	/* the one that fails, or NULL */
static int fail_errno = EIO;	/* with that */
static unsigned int fail_after;	/* so many of it that do not */
static off_t fail_from;		/* where it reads from there on */
static uint64_t written;	/* bytes by pwrite */

static void __attribute__((format(printf, 1, 2))) note(const char *format, ...)
{
	size_t used = strlen(calls);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(calls + used, sizeof(calls) - used, format, arguments);
	va_end(arguments);
}

static bool fails(const char *call)
{
	if (!fail || strcmp(fail, call))
		return false;
	if (fail_after) {
		fail_after--;
		return false;
	}
	errno = fail_errno;
	return true;
}

int fsync(int fd)
{
	struct stat status;
	const char *call = !fstat(fd, &status) && S_ISDIR(status.st_mode) ? "fsync folder" :
									    "fsync file";

	note("%s\n", call);
	return fails(call) ? -1 : (int)syscall(SYS_fsync, fd);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	note("rename %s %s\n", from, to);
	return fails("rename") ? -1 : (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, 0);
}

ssize_t pwrite(int fd, const void *bytes, size_t size, off_t at)
{
	if (!written)
		note("write\n");
	written += size;
	return syscall(SYS_pwrite64, fd, bytes, size, at);
}

ssize_t read(int fd, void *bytes, size_t size)
{
	return lseek(fd, 0, SEEK_CUR) >= fail_from && fails("read") ? -1 :
		syscall(SYS_read, fd, bytes, size);
}

ssize_t pread(int fd, void *bytes, size_t size, off_t at)
{
	return at >= fail_from && fails("read") ? -1 : syscall(SYS_pread64, fd, bytes, size, at);
}

static unsigned int finished(FIXTURE_DATA(store) *self)
{
	size_t n;

	store_segments(self->store, &n);
	return (unsigned int)n;
}

TEST_F(store, the_bytes_come_first_then_the_name_then_the_folder)
{
	calls[0] = 0;
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(0, strncmp(calls, "fsync file\n"
			     "rename " FIRST ".ftap.part " FIRST ".ftap\n"
			     "fsync folder\n", strlen("fsync file\nrename " FIRST ".ftap.part "
						      FIRST ".ftap\nfsync folder\n")))
		TH_LOG("%s", calls);
	EXPECT_EQ(1, finished(self));
}

TEST_F(store, bytes_that_are_not_on_the_disk_get_no_name)
{
	fail = "fsync file";
	calls[0] = 0;
	EXPECT_EQ(-EIO, add_segment(self->store, "size"));
	fail = NULL;
	EXPECT_EQ(NULL, strstr(calls, "rename " FIRST)) TH_LOG("%s", calls);
	EXPECT_EQ(0, finished(self));
}

/* After a sync that failed the kernel takes what it was about as written: the next one succeeds. */
TEST_F(store, bytes_that_could_not_be_synced_are_written_again)
{
	struct store_facts facts;

	fail = "fsync file";
	EXPECT_EQ(-EIO, add_segment(self->store, "size"));
	fail = NULL;
	calls[0] = 0;
	written = 0;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(0, strncmp(calls, "write\nfsync file\nrename " FIRST ".ftap.part " FIRST ".ftap\n",
			     strlen("write\nfsync file\nrename " FIRST ".ftap.part " FIRST ".ftap\n")))
		TH_LOG("%s", calls);
	EXPECT_EQ(16 + BLOCKS * BLOCK, written);
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
	EXPECT_EQ(1, finished(self));
}

/* Nobody else is served meanwhile. */
TEST_F(store, they_are_written_a_piece_at_a_time)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .why = "size" };
	const uint64_t size = 2 * STORE_PIECE + STORE_PIECE / 2;
	int fd = store_begin(self->store, TIME);
	struct store_facts again;

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(0, ftruncate(fd, (off_t)size));
	fail = "fsync file";
	EXPECT_EQ(-EIO, store_finish(self->store, &facts));
	EXPECT_FALSE(store_rewrites(self->store));
	/* Where that fails as well all of it is to be written. */
	EXPECT_EQ(0, store_retry(self->store, &again));
	EXPECT_FALSE(store_rewrites(self->store));
	fail = NULL;
	for (uint64_t i = 1; i <= 2; i++) {
		written = 0;
		EXPECT_EQ(0, store_retry(self->store, &again));
		EXPECT_EQ(STORE_PIECE, written);
		EXPECT_TRUE(store_rewrites(self->store));
		EXPECT_EQ(0, finished(self));
	}
	written = 0;
	fail = "rename";
	EXPECT_EQ(0, store_retry(self->store, &again));
	EXPECT_EQ(STORE_PIECE / 2, written);
	/* Where it cannot take its place there is no more to write, and nothing to do soon. */
	EXPECT_FALSE(store_rewrites(self->store));
	fail = NULL;
	written = 0;
	EXPECT_EQ(1, store_retry(self->store, &again));
	EXPECT_EQ(0, written);
	EXPECT_EQ(1, finished(self));
	EXPECT_EQ(0, store_retry(self->store, &again));
}

/* What files it names is wanted as well. */
TEST_F(store, one_that_could_not_be_synced_is_the_oldest)
{
	struct store_facts facts;

	EXPECT_EQ(0, store_oldest(self->store));
	ASSERT_EQ(0, add_segment(self->store, "size"));
	fail = "fsync file";
	EXPECT_EQ(-EIO, add_segment(self->store, "size"));
	fail = NULL;
	ASSERT_EQ(0, add_segment(self->store, "size"));
	EXPECT_EQ(1, store_oldest(self->store));
	EXPECT_EQ(1, store_delete_oldest(self->store));
	EXPECT_EQ(2, store_oldest(self->store));
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(2, store_oldest(self->store));
	EXPECT_EQ(1, store_delete_oldest(self->store));
	EXPECT_EQ(3, store_oldest(self->store));
	EXPECT_EQ(1, store_delete_oldest(self->store));
	/* Of the one that was begun last, until there is another one. */
	EXPECT_EQ(3, store_oldest(self->store));
	ASSERT_LE(0, store_begin(self->store, TIME));
	EXPECT_EQ(4, store_oldest(self->store));
}

/* The first one's second piece cannot be read; the other one is written before that begins anew. */
TEST_F(store, one_that_is_being_written_goes_first)
{
	const struct store_facts facts = { .began = TIME, .ended = TIME + 60, .why = "size" };
	struct store_facts again;

	for (int i = 0; i < 2; i++) {
		const int fd = store_begin(self->store, TIME + 60 * (unsigned int)i);

		ASSERT_EQ(0, write_blocks(fd, BLOCKS));
		ASSERT_EQ(0, ftruncate(fd, STORE_PIECE + STORE_PIECE / 2));
		fail = "fsync file";
		EXPECT_EQ(-EIO, store_finish(self->store, &facts));
		fail = NULL;
	}
	EXPECT_EQ(0, store_retry(self->store, &again));
	fail = "read";
	fail_from = STORE_PIECE;
	EXPECT_EQ(0, store_retry(self->store, &again));
	EXPECT_TRUE(store_rewrites(self->store));
	fail = NULL;
	fail_from = 0;
	written = 0;
	EXPECT_EQ(1, store_retry(self->store, &again));
	EXPECT_EQ(STORE_PIECE / 2, written);
	EXPECT_FALSE(store_rewrites(self->store));
	EXPECT_EQ(1, finished(self));
}

/* XFS and ext4 say so of a disk: with another meaning than a reader of archives. */
TEST_F(store, what_a_damaged_disk_does_not_take_is_kept)
{
	struct store_facts facts = { .began = TIME, .ended = TIME + 60, .why = "full", .broken = true };

	fail = "fsync file";
	fail_errno = EBADMSG;
	EXPECT_EQ(-EBADMSG, add_segment(self->store, "size"));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	fail = NULL;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

TEST_F(store, what_a_damaged_disk_does_not_give_back_is_kept)
{
	const struct store_facts broken = { .began = TIME, .ended = TIME + 60, .why = "full",
					    .broken = true };
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	fail = "read";
	fail_errno = EBADMSG;
	EXPECT_EQ(-EBADMSG, store_finish(self->store, &broken));
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	/* Nor does a daemon that starts take it for nothing, or cut what comes after that. */
	for (fail_from = 0; fail_from < 2; fail_from++) {
		ASSERT_EQ(0, reopen(self, &any));
		EXPECT_EQ(1, self->left.failed);
		EXPECT_EQ(0, self->left.bad);
		EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	}
	fail = NULL;
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

static const struct store_facts broken_facts = {
	.began = TIME, .ended = TIME + 60, .why = "full", .broken = true,
};

/* It is on the disk as it is: to write it again would fail at the same place each time. */
TEST_F(store, what_cannot_be_read_is_not_written_again)
{
	struct store_facts facts;
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	fail = "read";
	fail_from = 1;
	calls[0] = 0;
	written = 0;
	EXPECT_EQ(-EIO, store_finish(self->store, &broken_facts));
	EXPECT_STREQ("fsync file\n", calls);
	EXPECT_EQ(0, store_unsynced(self->store));
	for (int i = 0; i < 2; i++) {
		EXPECT_EQ(0, store_retry(self->store, &facts));
		EXPECT_EQ(0, written);
		EXPECT_FALSE(store_rewrites(self->store));
	}
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	fail = NULL;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(0, written);
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

/* Nor is what was written again, and cannot be read after that. */
TEST_F(store, what_was_written_again_is_not_written_once_more)
{
	struct store_facts facts;
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	fail = "fsync file";
	EXPECT_EQ(-EIO, store_finish(self->store, &broken_facts));
	EXPECT_EQ(1, store_unsynced(self->store));
	/* All of it, and that there is no more. */
	fail = "read";
	fail_after = 2;
	written = 0;
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_EQ(0, fail_after);
	EXPECT_EQ(16 + BLOCKS * BLOCK, written);
	EXPECT_EQ(0, store_unsynced(self->store));
	written = 0;
	EXPECT_EQ(0, store_retry(self->store, &facts));
	EXPECT_EQ(0, written);
	fail = NULL;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(0, written);
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

/* The second sync is the one after what follows the last whole block was cut off. */
TEST_F(store, a_broken_one_whose_end_could_not_be_synced_is_written_again)
{
	struct store_facts facts;
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	ASSERT_EQ(0, ftruncate(fd, 16 + BLOCKS * BLOCK + 100));
	fail = "fsync file";
	fail_after = 1;
	EXPECT_EQ(-EIO, store_finish(self->store, &broken_facts));
	fail = NULL;
	EXPECT_EQ(1, store_unsynced(self->store));
	written = 0;
	EXPECT_EQ(1, store_retry(self->store, &facts));
	EXPECT_EQ(16 + BLOCKS * BLOCK, written);
	EXPECT_EQ(0, store_unsynced(self->store));
	EXPECT_EQ(BLOCKS, count_blocks(self, FIRST ".ftap"));
}

/* It has its name, and counts; without power it is a `.part` again, with all its bytes. */
TEST_F(store, a_folder_that_cannot_be_synced_loses_no_segment)
{
	fail = "fsync folder";
	EXPECT_EQ(0, add_segment(self->store, "size"));
	fail = NULL;
	EXPECT_EQ(1, finished(self));
	EXPECT_TRUE(exists(self, FIRST ".ftap"));
}

/*
 * A daemon before may have synced it, in vain: then a sync says nothing of it any more, although what
 * is in memory is not what the disk has. So it is written again, and finished in the same order.
 */
TEST_F(store, what_was_left_is_written_again_before_it_is_counted)
{
	const char *order = "write\nfsync file\nrename " FIRST ".ftap.part " FIRST ".ftap\n";

	fail = "fsync file";
	EXPECT_EQ(-EIO, add_segment(self->store, "size"));
	fail = NULL;
	store_close(self->store);
	self->store = NULL;
	calls[0] = 0;
	written = 0;
	ASSERT_EQ(0, store_open(self->directory, &any, &self->left, &self->store));
	EXPECT_EQ(1, self->left.finished);
	EXPECT_EQ(0, strncmp(calls, order, strlen(order))) TH_LOG("%s", calls);
	EXPECT_EQ(16 + BLOCKS * BLOCK, written);
	EXPECT_NE(NULL, strstr(calls, "fsync folder\n"));
}

/* In pieces, each on the disk before the next one takes memory; when it was written last stays. */
TEST_F(store, all_of_what_was_left_is_written_again)
{
	static uint8_t payload[1 << 20];
	struct flowtap_archive_writer *writer;
	const struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = TIME } };
	const uint64_t size = 16 + 33 * (sizeof(struct flowtap_archive_block_header) + sizeof(payload));
	int fd = store_begin(self->store, TIME);
	struct stat status;
	uint64_t cut = 0;

	ASSERT_EQ(0, flowtap_archive_create(fd, &writer));
	for (unsigned int i = 0; i < 33; i++)
		ASSERT_EQ(0, flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, i, payload,
						   sizeof(payload), NULL, 0));
	ASSERT_EQ(0, flowtap_archive_flush(writer));
	flowtap_archive_writer_free(writer);
	ASSERT_EQ(0, ftruncate(fd, (off_t)size + 100));
	ASSERT_EQ(0, futimens(fd, times));
	written = 0;
	calls[0] = 0;
	EXPECT_EQ(0, store_mend_left(fd, &cut));
	EXPECT_EQ(size, written);
	EXPECT_EQ(100, cut);
	EXPECT_STREQ("write\nfsync file\nfsync file\nfsync file\n", calls);
	ASSERT_EQ(0, fstat(fd, &status));
	EXPECT_EQ(size, status.st_size);
	EXPECT_EQ(TIME, status.st_mtime);
}

/* Nor has it its name where the disk does not take it then. */
TEST_F(store, what_was_left_and_is_not_taken_stays)
{
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	fail = "fsync file";
	ASSERT_EQ(0, reopen(self, &any));
	fail = NULL;
	EXPECT_EQ(1, self->left.failed);
	EXPECT_TRUE(exists(self, FIRST ".ftap.part"));
	EXPECT_EQ(0, finished(self));
}

/* A file system that copies what is written has no room for that now: it may have some later. */
TEST_F(store, what_was_left_and_has_no_room_waits)
{
	int fd = store_begin(self->store, TIME);

	ASSERT_EQ(0, write_blocks(fd, BLOCKS));
	fail = "fsync file";
	fail_errno = ENOSPC;
	ASSERT_EQ(0, reopen(self, &any));
	fail = NULL;
	EXPECT_EQ(0, self->left.failed);
	EXPECT_EQ(1, self->left.waiting);
	EXPECT_STREQ(FIRST ".ftap", store_waiting(self->store, 0));
	ASSERT_EQ(0, reopen(self, &any));
	EXPECT_EQ(1, self->left.finished);
}

TEST_HARNESS_MAIN
