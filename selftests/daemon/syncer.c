// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whoever wants a file on the disk does not wait for a slow one, and hears in the end what
 * became of it.
 */
#include "slow_disk.h"

#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <sanitizer/lsan_interface.h>

#include "support/kselftest_harness.h"

static int fsync_error;		/* of all; 0: none */
static pid_t synced_by;		/* the thread */
static ino_t synced[8];		/* files, in their order */
static unsigned int n_synced;

int fsync(int fd)
{
	struct stat status;

	slow_disk_takes();
	synced_by = gettid();
	if (fstat(fd, &status))
		return -1;
	if (n_synced < 8)
		synced[n_synced++] = status.st_ino;
	errno = fsync_error;
	return fsync_error ? -1 : 0;
}

FIXTURE(syncer)
{
	struct syncer *syncer;
	int fd, other;
	ino_t ino, other_ino;
};

static int new_file(ino_t *ino)
{
	int fd = memfd_create("syncer", MFD_CLOEXEC);
	struct stat status;

	if (fd < 0 || fstat(fd, &status))
		abort();
	*ino = status.st_ino;
	return fd;
}

FIXTURE_SETUP(syncer)
{
	ASSERT_EQ(0, syncer_new(&self->syncer));
	self->fd = new_file(&self->ino);
	self->other = new_file(&self->other_ino);
}

FIXTURE_TEARDOWN(syncer)
{
	bool held = slow_disk.held;

	syncer_free(self->syncer);
	close(self->other);
	/* A thread that is held keeps what it has. */
	EXPECT_TRUE(held || !__lsan_do_recoverable_leak_check());
}

TEST_F(syncer, a_disk_that_takes_it_at_once_is_waited_for)
{
	struct sync *sync;

	EXPECT_EQ(0, syncer_begin(self->syncer, self->fd, &sync));
	EXPECT_EQ(NULL, sync);
	EXPECT_EQ(1, n_synced);
	EXPECT_NE(getpid(), synced_by);
	fsync_error = EIO;
	EXPECT_EQ(-EIO, syncer_begin(self->syncer, self->fd, &sync));
	EXPECT_EQ(NULL, sync);
	close(self->fd);
}

TEST_F(syncer, a_slow_one_is_not_and_says_later_what_became_of_it)
{
	struct sync *sync, *failed;

	slow_disk_hold(true);
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, self->fd, &sync));
	ASSERT_NE(NULL, sync);
	close(self->fd);
	EXPECT_FALSE(syncer_knows(sync));
	EXPECT_EQ(-EINPROGRESS, syncer_ask(&sync));
	ASSERT_NE(NULL, sync);
	EXPECT_FALSE(syncer_wait(self->syncer, 0));
	slow_disk_release(self->syncer);
	EXPECT_TRUE(syncer_knows(sync));
	EXPECT_EQ(0, syncer_ask(&sync));
	EXPECT_EQ(NULL, sync);
	EXPECT_EQ(self->ino, synced[0]);

	slow_disk_hold(true);
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, self->other, &failed));
	fsync_error = ENOSPC;
	slow_disk_release(self->syncer);
	ASSERT_NE(NULL, failed);
	EXPECT_EQ(-ENOSPC, syncer_ask(&failed));
	EXPECT_EQ(NULL, failed);
}

TEST_F(syncer, while_one_is_pending_nobody_waits_and_the_order_is_kept)
{
	struct sync *first, *second, *third;
	unsigned int waits;
	ino_t last_ino;
	int last = new_file(&last_ino);

	slow_disk_hold(true);
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, self->fd, &first));
	waits = slow_disk.waits;
	EXPECT_EQ(1, waits);
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, self->other, &second));
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, last, &third));
	EXPECT_EQ(waits, slow_disk.waits);
	/* One that nobody asks any more is synced none the less. */
	syncer_drop(&second);
	EXPECT_EQ(NULL, second);
	syncer_drop(&second);
	slow_disk_release(self->syncer);
	ASSERT_EQ(3, n_synced);
	EXPECT_EQ(self->ino, synced[0]);
	EXPECT_EQ(self->other_ino, synced[1]);
	EXPECT_EQ(last_ino, synced[2]);
	close(last);
	ASSERT_TRUE(first && third);
	EXPECT_EQ(0, syncer_ask(&first));
	syncer_drop(&third);
	EXPECT_EQ(NULL, third);
	/* And then it is waited for again. */
	EXPECT_EQ(0, syncer_begin(self->syncer, self->fd, &first));
	close(self->fd);
}

TEST_F(syncer, where_no_thread_can_do_it_the_disk_is_waited_for)
{
	struct rlimit before, none;
	struct sync *sync;

	EXPECT_EQ(0, syncer_begin(NULL, self->fd, &sync));
	EXPECT_EQ(NULL, sync);
	EXPECT_EQ(getpid(), synced_by);
	EXPECT_EQ(0, syncer_begin(self->syncer, self->fd, &sync));
	EXPECT_NE(getpid(), synced_by);
	/* It takes a descriptor of its own. */
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
	none = (struct rlimit){ 0, before.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	fsync_error = EDQUOT;
	EXPECT_EQ(-EDQUOT, syncer_begin(self->syncer, self->fd, &sync));
	EXPECT_EQ(NULL, sync);
	EXPECT_EQ(getpid(), synced_by);
	setrlimit(RLIMIT_NOFILE, &before);
	close(self->fd);
}

TEST_F(syncer, a_thread_that_the_disk_holds_is_not_waited_for_at_the_end)
{
	struct sync *sync;

	slow_disk_hold(true);
	EXPECT_EQ(-EINPROGRESS, syncer_begin(self->syncer, self->fd, &sync));
	syncer_drop(&sync);
	syncer_free(self->syncer);
	self->syncer = NULL;
	close(self->fd);
}

TEST_HARNESS_MAIN
