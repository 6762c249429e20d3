// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a file which a process has mapped is looked at once, and read as what it was then. */
#include "capture/procfs.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "capture/mounts.h"

#include "support/swapped.h"
#include "support/tinyelf.h"

#include "support/kselftest_harness.h"

TEST(a_file_that_another_takes_the_place_of_is_the_one_that_was_looked_at)
{
	static uint8_t elf[TINY_ROOM];
	struct flowtap_mounts *mounts = flowtap_mounts_new();
	struct flowtap_proc_file what;
	struct flowtap_build_id id;
	struct swapped file;
	struct stat status;

	swapped_make(&file, elf, tiny_make(elf, 7));
	ASSERT_EQ(0, stat(file.path, &status));
	what = (struct flowtap_proc_file){ major(status.st_dev), minor(status.st_dev), status.st_ino };
	id = flowtap_proc_build_id_of((uint32_t)getpid(), file.path, &what, mounts);
	ASSERT_FALSE(file.waits);
	ASSERT_EQ(20, id.size);
	swapped_remove(&file);
	flowtap_mounts_free(mounts);
}

/* What is there by now may be a file system that does not answer. */
TEST(a_file_that_is_not_the_one_that_was_mapped_is_not_opened)
{
	static uint8_t elf[TINY_ROOM];
	struct flowtap_mounts *mounts = flowtap_mounts_new();
	struct flowtap_proc_file what, other;
	struct statx memory;
	struct swapped file;
	struct stat status;

	swapped_make(&file, elf, tiny_make(elf, 7));
	ASSERT_EQ(0, stat(file.path, &status));
	what = (struct flowtap_proc_file){ major(status.st_dev), minor(status.st_dev), status.st_ino };
	other = what;
	other.inode++;
	EXPECT_EQ(0, flowtap_proc_build_id_of((uint32_t)getpid(), file.path, &other, mounts).size);
	/* Of memory: that answers. */
	ASSERT_EQ(0, statx(memfd_create("", MFD_CLOEXEC), "", AT_EMPTY_PATH, STATX_INO, &memory));
	other = (struct flowtap_proc_file){ memory.stx_dev_major, memory.stx_dev_minor, what.inode };
	ASSERT_TRUE(flowtap_mounts_answer(mounts, other.major, other.minor));
	EXPECT_EQ(0, flowtap_proc_build_id_of((uint32_t)getpid(), file.path, &other, mounts).size);
	EXPECT_EQ(0, flowtap_proc_build_id_of((uint32_t)getpid(), file.path, &what, NULL).size);
	EXPECT_TRUE(file.waits);
	swapped_remove(&file);
	flowtap_mounts_free(mounts);
}

static unsigned int questions;		/* that the kernel was asked */

int ioctl(int fd, unsigned long request, ...)
{
	questions++;
	(void)fd;
	(void)request;
	errno = ENOTTY;
	return -1;
}

static int ask(void *argument, const struct flowtap_proc_mapping *mapping)
{
	if (mapping->path[0] == '/' && mapping->file.inode)
		flowtap_proc_build_id((uint32_t)getpid(), mapping, argument);
	return 0;
}

/* The kernel would read the page, and wait for it. */
TEST(nothing_is_asked_about_files_of_which_nobody_answers)
{
	struct flowtap_mounts *mounts = flowtap_mounts_new();

	questions = 0;
	ASSERT_EQ(0, flowtap_proc_each_mapping((uint32_t)getpid(), NULL, ask));
	EXPECT_EQ(0, questions);
	ASSERT_EQ(0, flowtap_proc_each_mapping((uint32_t)getpid(), mounts, ask));
	EXPECT_LT(0, questions);
	flowtap_mounts_free(mounts);
}

TEST_HARNESS_MAIN
