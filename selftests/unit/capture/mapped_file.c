// SPDX-License-Identifier: GPL-2.0-only
/* Shows which file is opened for a mapping of a process, and that it is the one that was mapped. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/bundle.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/tinyelf.h"

FIXTURE(mapped_file)
{
	char path[32];
	int file;
	struct flowtap_mapping mapping;	/* of that file, by this process */
	char why[FLOWTAP_WHY];
};

FIXTURE_SETUP(mapped_file)
{
	uint8_t bytes[TINY_ROOM];
	size_t size = tiny_make(bytes, 0x11);

	strcpy(self->path, "/tmp/mapped_file.XXXXXX");
	self->file = mkstemp(self->path);
	ASSERT_EQ((ssize_t)size, write(self->file, bytes, size));
	self->mapping = (struct flowtap_mapping){
		.pid = (uint32_t)getpid(), .path = self->path, .build_id_size = 20,
	};
	tiny_build_id(self->mapping.build_id, 0x11);
	self->why[0] = 0;
}

FIXTURE_TEARDOWN(mapped_file)
{
	close(self->file);
	unlink(self->path);
}

static bool opens(FIXTURE_DATA(mapped_file) *self)
{
	int fd = flowtap_mapping_open(&self->mapping, self->why);
	bool good = fd >= 0 && flowtap_mapping_is(&self->mapping, fd);

	if (fd >= 0)
		close(fd);
	return good;
}

TEST_F(mapped_file, it_is_opened_though_the_process_has_ended)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	EXPECT_TRUE(opens(self));
	ASSERT_EQ(child, waitpid(child, NULL, 0));
	self->mapping.pid = (uint32_t)child;
	EXPECT_TRUE(opens(self));
}

TEST_F(mapped_file, another_one_is_not)
{
	errno = EDOM;
	EXPECT_TRUE(flowtap_mapping_is(&self->mapping, self->file));
	self->mapping.build_id[19] ^= 1;
	EXPECT_FALSE(flowtap_mapping_is(&self->mapping, self->file));
	EXPECT_EQ(-ESTALE, flowtap_mapping_open(&self->mapping, self->why));
	EXPECT_NE(NULL, strstr(self->why, self->path));
	EXPECT_EQ(EDOM, errno);
}

TEST_F(mapped_file, what_has_no_build_id_is_none_of_a_mapping)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	self->mapping.build_id_size = 0;
	EXPECT_FALSE(flowtap_mapping_is(&self->mapping, null));
	close(null);
}

TEST_F(mapped_file, what_cannot_be_opened_says_why)
{
	self->mapping.build_id_size = FLOWTAP_BUILD_ID_MAX + 1;
	EXPECT_EQ(-EINVAL, flowtap_mapping_open(&self->mapping, self->why));
	EXPECT_NE(NULL, strstr(self->why, self->path));
	EXPECT_FALSE(flowtap_mapping_is(&self->mapping, self->file));
	self->mapping.build_id_size = 0;
	self->mapping.path = "/nowhere";
	EXPECT_EQ(-ENOENT, flowtap_mapping_open(&self->mapping, self->why));
	EXPECT_STREQ("/nowhere: No such file or directory", self->why);
}

/* It was deleted, the kernel says; of that name is another one, or the same put back. */
TEST_F(mapped_file, what_has_the_name_of_one_that_was_deleted_may_be_it)
{
	char deleted[48];

	snprintf(deleted, sizeof(deleted), "%s (deleted)", self->path);
	self->mapping.path = deleted;
	EXPECT_TRUE(opens(self));
	self->mapping.build_id_size = 0;
	EXPECT_EQ(-ENOENT, flowtap_mapping_open(&self->mapping, self->why));
}

TEST_F(mapped_file, no_link_is_followed_to_it)
{
	char link[48];

	snprintf(link, sizeof(link), "%s.link", self->path);
	ASSERT_EQ(0, symlink(self->path, link));
	self->mapping.path = link;
	EXPECT_EQ(-ENOEXEC, flowtap_mapping_open(&self->mapping, self->why));
	unlink(link);
	self->mapping.path = "/tmp/../etc/passwd";
	EXPECT_EQ(-EINVAL, flowtap_mapping_open(&self->mapping, self->why));
}

TEST_HARNESS_MAIN
