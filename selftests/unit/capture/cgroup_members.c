// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows who is found in folders that look like cgroups, of any depth and with any number of
 * members.
 */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "capture/cgroup_members.h"
#include "support/kselftest_harness.h"

FIXTURE(members)
{
	char folder[64];
	uint64_t *members;
	size_t n;
};

static int delete(const char *path, const struct stat *state, int type, struct FTW *level)
{
	return remove(path);
}

FIXTURE_SETUP(members)
{
	strcpy(self->folder, "/tmp/members.XXXXXX");
	ASSERT_NE(mkdtemp(self->folder), NULL);
}

FIXTURE_TEARDOWN(members)
{
	free(self->members);
	nftw(self->folder, delete, 8, FTW_DEPTH | FTW_PHYS);
}

/* Writes the numbers from `first` on into a list of the folder; each folder above it is made. */
static bool list(FIXTURE_DATA(members) *self, const char *name, unsigned int first, unsigned int n)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", self->folder, name);
	for (char *slash = path + strlen(self->folder) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file)
		return false;
	while (n--)
		fprintf(file, "%u\n", first++);
	return !fclose(file);
}

static void look(FIXTURE_DATA(members) *self)
{
	free(self->members);
	flowtap_cgroup_members(self->folder, &self->members, &self->n);
}

TEST_F(members, those_below_are_found_and_all_are_sorted)
{
	ASSERT_TRUE(list(self, "cgroup.procs", 30, 2));
	ASSERT_TRUE(list(self, "one/cgroup.procs", 20, 1));
	ASSERT_TRUE(list(self, "one/two/cgroup.procs", 10, 1));
	/* Has threads only. */
	ASSERT_TRUE(list(self, "three/cgroup.threads", 5, 1));
	/* Not where it has processes as well. */
	ASSERT_TRUE(list(self, "one/cgroup.threads", 40, 1));
	look(self);
	ASSERT_EQ(self->n, 5);
	EXPECT_EQ(self->members[0], 10);
	EXPECT_EQ(self->members[1], 20);
	EXPECT_EQ(self->members[2], 30);
	EXPECT_EQ(self->members[3], 31);
	EXPECT_EQ(self->members[4], CGROUP_THREAD | 5);
}

TEST_F(members, a_process_of_another_namespace_is_nobody)
{
	ASSERT_TRUE(list(self, "cgroup.procs", 0, 2));
	look(self);
	ASSERT_EQ(self->n, 1);
	EXPECT_EQ(self->members[0], 1);
}

TEST_F(members, an_empty_folder_and_none_have_nobody)
{
	look(self);
	EXPECT_EQ(self->n, 0);
	strcat(self->folder, "/none");
	look(self);
	EXPECT_EQ(self->n, 0);
	self->folder[strlen(self->folder) - strlen("/none")] = '\0';
}

TEST_F(members, of_too_many_the_first_are_found)
{
	ASSERT_TRUE(list(self, "cgroup.procs", 1, 65535));
	look(self);
	EXPECT_EQ(self->n, 65535);
	ASSERT_TRUE(list(self, "below/cgroup.procs", 100000, 2));
	look(self);
	ASSERT_EQ(self->n, 65536);
	EXPECT_EQ(self->members[65535], 100000);
}

TEST_F(members, below_64_folders_it_does_not_look)
{
	char name[64 * 2 + 32] = "";

	for (int depth = 0; depth < 64; depth++)
		strcat(name, "d/");
	strcat(name, "cgroup.procs");
	ASSERT_TRUE(list(self, name, 7, 1));
	look(self);
	ASSERT_EQ(self->n, 1);
	EXPECT_EQ(self->members[0], 7);
	strcpy(name + strlen(name) - strlen("cgroup.procs"), "d/cgroup.procs");
	ASSERT_TRUE(list(self, name, 8, 1));
	look(self);
	EXPECT_EQ(self->n, 1);
}

TEST_HARNESS_MAIN
