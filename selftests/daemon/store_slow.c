// SPDX-License-Identifier: GPL-2.0-only
/* Shows what becomes of segments while the disk takes them, which a thread waits for. */
#include "slow_disk.h"
#include "store_fixture.h"

#include <sanitizer/lsan_interface.h>
#include <sys/syscall.h>

#include "store_internal.h"

static int fsync_error;		/* of the next file that is no index; 0: none */
static unsigned int n_synced;	/* files, not folders */
static unsigned int n_folders;

int fsync(int fd)
{
	struct stat status;
	int error = 0;

	slow_disk_takes();
	if (!fstat(fd, &status) && S_ISREG(status.st_mode)) {
		n_synced++;
		error = fsync_error;
		fsync_error = 0;
	} else {
		n_folders++;
	}
	errno = error;
	return error ? -1 : (int)syscall(SYS_fsync, fd);
}

FIXTURE(slow)
{
	FIXTURE_DATA(store) in;
	struct syncer *syncer;
};

FIXTURE_SETUP(slow)
{
	strcpy(self->in.directory, "/tmp/flowtap-slow-XXXXXX");
	ASSERT_TRUE(mkdtemp(self->in.directory));
	ASSERT_EQ(0, store_open(self->in.directory, &any, &self->in.left, &self->in.store));
	ASSERT_EQ(0, syncer_new(&self->syncer));
	store_sync_by(self->in.store, self->syncer);
	n_synced = n_folders = 0;
	slow_disk_hold(true);
}

FIXTURE_TEARDOWN(slow)
{
	slow_disk_release(self->syncer);
	store_close(self->in.store);
	syncer_free(self->syncer);
	folder_remove(self->in.directory);
	EXPECT_EQ(0, __lsan_do_recoverable_leak_check());
}

TEST_F(slow, a_segment_stays_a_part_until_it_is_taken_and_the_next_one_begins)
{
	struct store *store = self->in.store;
	struct store_facts facts;

	EXPECT_EQ(-EINPROGRESS, add_segment(store, "size"));
	EXPECT_TRUE(exists(&self->in, FIRST ".ftap.part"));
	EXPECT_EQ(1, store_unfinished(store, false));
	EXPECT_EQ(1, store_unfinished(store, true));
	EXPECT_EQ(0, store_unsynced(store));
	EXPECT_FALSE(store_synced(store));
	EXPECT_FALSE(store_rewrites(store));
	EXPECT_EQ(0, store_retry(store, &facts));
	EXPECT_EQ(1, store_oldest(store));
	EXPECT_LE(0, store_begin(store, TIME));
	store_drop(store);
	EXPECT_FALSE(exists(&self->in, FIRST ".ftap"));

	slow_disk_release(self->syncer);
	EXPECT_TRUE(store_synced(store));
	EXPECT_EQ(1, store_retry(store, &facts));
	EXPECT_STREQ("size", facts.why);
	EXPECT_EQ(1000, facts.records);
	EXPECT_TRUE(exists(&self->in, FIRST ".ftap"));
	EXPECT_FALSE(exists(&self->in, FIRST ".ftap.part"));
	EXPECT_NE(NULL, strstr(index_text(&self->in), FIRST));
	EXPECT_FALSE(store_synced(store));
	EXPECT_EQ(0, store_unfinished(store, false));
	EXPECT_EQ(0, store_retry(store, &facts));
	/* Itself and the index, once each. */
	EXPECT_EQ(2, n_synced);
	EXPECT_EQ(1, n_folders);
}

/* Of what failed in the thread the kernel says nothing the next time. */
TEST_F(slow, one_that_is_not_taken_in_the_end_is_written_again)
{
	struct store *store = self->in.store;
	struct store_facts facts;

	EXPECT_EQ(-EINPROGRESS, add_segment(store, "size"));
	EXPECT_EQ(-EINPROGRESS, add_segment(store, "time"));
	fsync_error = EIO;
	slow_disk_release(self->syncer);
	EXPECT_TRUE(store_synced(store));
	/* The other one is. */
	EXPECT_EQ(1, store_retry(store, &facts));
	EXPECT_STREQ("time", facts.why);
	EXPECT_FALSE(store_synced(store));
	EXPECT_EQ(0, store_unfinished(store, true));
	EXPECT_EQ(1, store_unfinished(store, false));
	EXPECT_EQ(1, store_unsynced(store));
	EXPECT_EQ(-EIO, store_sync_error(store));
	EXPECT_EQ(0, store_sync_error(store));
	EXPECT_EQ(1, store_retry(store, &facts));
	EXPECT_EQ(0, store_sync_error(store));
	EXPECT_EQ(BLOCKS, count_blocks(&self->in, FIRST ".ftap"));
}

/* What is in memory only has its limit. */
TEST_F(slow, with_some_pending_no_other_is_begun)
{
	struct store *store = self->in.store;
	struct store_facts facts;
	int finished = 0;

	for (int i = 0; i < STORE_UNFINISHED; i++) {
		EXPECT_EQ(0, store_retry(store, &facts));
		EXPECT_EQ(-EINPROGRESS, add_segment(store, "size"));
	}
	EXPECT_EQ(-EINPROGRESS, store_retry(store, &facts));
	EXPECT_EQ(STORE_UNFINISHED, store_unfinished(store, true));
	slow_disk_release(self->syncer);
	while (store_retry(store, &facts) == 1)
		finished++;
	EXPECT_EQ(STORE_UNFINISHED, finished);
	EXPECT_EQ(0, store_unfinished(store, false));
}

TEST_F(slow, one_that_somebody_removed_meanwhile_is_no_more)
{
	struct store *store = self->in.store;
	struct store_facts facts;
	char path[512];

	EXPECT_EQ(-EINPROGRESS, add_segment(store, "size"));
	snprintf(path, sizeof(path), "%s/" FIRST ".ftap.part", self->in.directory);
	ASSERT_EQ(0, unlink(path));
	slow_disk_release(self->syncer);
	EXPECT_EQ(0, store_retry(store, &facts));
	EXPECT_EQ(0, store_unfinished(store, false));
}

TEST_F(slow, what_is_pending_counts_as_space)
{
	struct store *store = self->in.store;
	const struct store_limits limits = { .quota = 1 << 20 };

	store_limit(store, &limits);
	EXPECT_TRUE(store_fits(store, (1 << 20) - 4096));
	EXPECT_EQ(-EINPROGRESS, add_segment(store, "size"));
	EXPECT_FALSE(store_fits(store, (1 << 20) - 4096));
}

/* It ends up as a `.part`, which the next one finishes. */
TEST_F(slow, a_store_that_is_closed_meanwhile_leaves_it)
{
	EXPECT_EQ(-EINPROGRESS, add_segment(self->in.store, "size"));
	store_close(self->in.store);
	self->in.store = NULL;
	slow_disk_release(self->syncer);
	ASSERT_EQ(0, store_open(self->in.directory, &any, &self->in.left, &self->in.store));
	EXPECT_EQ(1, self->in.left.finished);
	EXPECT_EQ(BLOCKS, count_blocks(&self->in, FIRST ".ftap"));
}

/* The folder and the index are not waited for either, and a line that is not there is written later. */
TEST_F(slow, the_index_comes_when_the_disk_takes_it)
{
	struct store *store = self->in.store;
	unsigned int before;

	slow_disk_hold(false);
	EXPECT_EQ(0, add_segment(store, "size"));
	before = n_synced;
	slow_disk_hold(true);
	index_add(&store->index, SECOND ".ftap", 1, &(struct store_facts){ .why = "time" });
	EXPECT_NE(NULL, store->index.sync);
	/* That one is not done with: the next line goes with the one after it. */
	index_add(&store->index, "0000000003-20261122T120000Z.ftap", 1,
		  &(struct store_facts){ .why = "time" });
	EXPECT_EQ(0, store_index_error(store));
	fsync_error = EIO;
	slow_disk_release(self->syncer);
	EXPECT_EQ(before + 1, n_synced);
	/* The file is written as a whole where a line did not come to the disk. */
	index_add(&store->index, "0000000004-20261122T120000Z.ftap", 1,
		  &(struct store_facts){ .why = "time" });
	EXPECT_EQ(before + 2, n_synced);
	EXPECT_EQ(NULL, store->index.sync);
	EXPECT_EQ(0, store_index_error(store));
	EXPECT_NE(NULL, strstr(index_text(&self->in), "0000000004"));
	EXPECT_NE(NULL, strstr(index_text(&self->in), SECOND));
}

/* Of the old file nobody wants to know any more. */
TEST_F(slow, an_index_that_is_written_as_a_whole_is_synced_whatever_is_pending)
{
	struct store *store = self->in.store;

	index_add(&store->index, SECOND ".ftap", 1, &(struct store_facts){ .why = "time" });
	EXPECT_NE(NULL, store->index.sync);
	index_write(&store->index);
	EXPECT_NE(NULL, store->index.sync);
	slow_disk_release(self->syncer);
	EXPECT_EQ(2, n_synced);
}

TEST_HARNESS_MAIN
