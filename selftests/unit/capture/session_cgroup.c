// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows which tasks are added and removed as a cgroup's lists change, in folders that look like
 * one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "support/kselftest_harness.h"
#include "support/fake_device.h"

FIXTURE(cgroup)
{
	char folder[64];
	struct flowtap_session session;
	struct flowtap_session_cgroup cgroup;
};

/* A list of the cgroup below the folder; NULL removes it. */
static bool put(FIXTURE_DATA(cgroup) *self, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", self->folder, name);
	if (!text)
		return !unlink(path);
	file = fopen(path, "w");
	return file && fputs(text, file) >= 0 && !fclose(file);
}

FIXTURE_SETUP(cgroup)
{
	const struct flowtap_session_request request = { .configure = { .ring_pages = 1 } };
	struct flowtap_session_problem problem;
	char below[128];

	strcpy(self->folder, "/tmp/cgroup.XXXXXX");
	ASSERT_NE(mkdtemp(self->folder), NULL);
	snprintf(below, sizeof(below), "%s/below", self->folder);
	ASSERT_EQ(mkdir(below, 0700), 0);
	fake_reset(1, FLOWTAP_SOURCE_CTR);
	ASSERT_EQ(flowtap_session_query(&self->session, 0, &problem), 0);
	ASSERT_EQ(flowtap_session_open(&self->session, &request, &problem), 0);
	/* As opened: what flowtap_session_cgroup_open takes is a cgroup2. */
	self->cgroup.path = strdup(self->folder);
}

FIXTURE_TEARDOWN(cgroup)
{
	char below[128];

	put(self, "cgroup.procs", NULL);
	put(self, "below/cgroup.procs", NULL);
	put(self, "below/cgroup.threads", NULL);
	snprintf(below, sizeof(below), "%s/below", self->folder);
	rmdir(below);
	rmdir(self->folder);
	flowtap_session_cgroup_close(&self->cgroup);
	flowtap_session_close(&self->session);
	fake_reset(0, 0);
}

/* Now, not when the time has come. */
static int follow(FIXTURE_DATA(cgroup) *self)
{
	self->cgroup.next = 0;
	fake.adds = fake.removes = 0;
	return flowtap_session_cgroup_follow(&self->cgroup, &self->session);
}

TEST_F(cgroup, who_is_there_is_added_and_who_has_gone_removed)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "70\n5\n"));
	ASSERT_TRUE(put(self, "below/cgroup.procs", "0\n6\n"));
	EXPECT_EQ(follow(self), 0);
	ASSERT_EQ(fake.adds, 3);
	EXPECT_EQ(fake.added[0].pid, 5);
	EXPECT_EQ(fake.added[0].flags, 0);
	EXPECT_EQ(fake.added[1].pid, 6);
	EXPECT_EQ(fake.added[2].pid, 70);
	EXPECT_EQ(fake.removes, 0);
	EXPECT_EQ(self->cgroup.n, 3);

	ASSERT_TRUE(put(self, "cgroup.procs", "70\n71\n"));
	EXPECT_EQ(follow(self), 0);
	/* A number may be another process by now. */
	EXPECT_EQ(fake.adds, 3);
	EXPECT_EQ(fake.removes, 0);
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.adds, 3);
	ASSERT_EQ(fake.removes, 1);
	EXPECT_EQ(fake.removed[0].pid, 5);
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.removes, 0);
}

/* Its new cgroup's list was read before it came, the old one's when it had gone. */
TEST_F(cgroup, who_moves_below_it_during_a_look_stays)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n7\n"));
	EXPECT_EQ(follow(self), 0);
	ASSERT_TRUE(put(self, "cgroup.procs", "7\n"));
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.removes, 0);
	ASSERT_TRUE(put(self, "below/cgroup.procs", "5\n"));
	for (int i = 0; i < 3; i++) {
		EXPECT_EQ(follow(self), 0);
		EXPECT_EQ(fake.removes, 0);
	}
}

TEST_F(cgroup, threads_are_taken_where_there_are_no_processes)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n"));
	ASSERT_TRUE(put(self, "below/cgroup.threads", "4\n"));
	EXPECT_EQ(follow(self), 0);
	ASSERT_EQ(fake.adds, 2);
	EXPECT_EQ(fake.added[0].pid, 5);
	EXPECT_EQ(fake.added[1].pid, 4);
	EXPECT_EQ(fake.added[1].flags, FLOWTAP_TASK_THREAD);
}

TEST_F(cgroup, it_is_looked_at_after_a_while_only)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n"));
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.adds, 1);
	/* However long it takes until the next line. */
	EXPECT_LT(0, self->cgroup.next);
	self->cgroup.next = UINT64_MAX;
	EXPECT_EQ(flowtap_session_cgroup_follow(&self->cgroup, &self->session), 0);
	EXPECT_EQ(fake.adds, 1);
}

TEST_F(cgroup, who_cannot_be_recorded_is_counted_and_passed_over)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n6\n7\n"));
	fake.denied = 6;
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.adds, 3);
	EXPECT_EQ(self->cgroup.denied, 1);
	EXPECT_FALSE(self->cgroup.crowded);
	fake.task_error = -ESRCH;
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.adds, 3);
}

TEST_F(cgroup, more_than_the_module_follows_are_not_added)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n6\n7\n"));
	fake.crowding = 6;
	EXPECT_EQ(follow(self), 0);
	EXPECT_EQ(fake.adds, 2);
	EXPECT_TRUE(self->cgroup.crowded);
	fake.crowding = 0;
	EXPECT_EQ(follow(self), 0);
	EXPECT_FALSE(self->cgroup.crowded);
}

TEST_F(cgroup, another_error_ends_it_and_says_whose_it_is)
{
	ASSERT_TRUE(put(self, "cgroup.procs", "5\n6\n"));
	fake.task_error = -EBUSY;
	EXPECT_EQ(follow(self), -EBUSY);
	EXPECT_EQ(fake.adds, 1);
	EXPECT_EQ(self->cgroup.failed, 5);
}

TEST_F(cgroup, a_folder_that_is_none_cannot_be_opened)
{
	struct flowtap_session_cgroup none;
	char *mount = flowtap_cgroup_mount();

	EXPECT_EQ(flowtap_session_cgroup_open(&none, self->folder), mount ? -ENOENT : -ENODEV);
	EXPECT_EQ(none.path, NULL);
	EXPECT_EQ(flowtap_session_cgroup_follow(&none, &self->session), 0);
	EXPECT_EQ(fake.adds, 0);
	free(mount);
}

TEST_HARNESS_MAIN
