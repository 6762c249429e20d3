// SPDX-License-Identifier: GPL-2.0-only
/* Shows that a file which a process has mapped is looked at once, and read as what it was then. */
#include "capture/procfs.h"

#include "support/swapped.h"
#include "support/tinyelf.h"

#include "support/kselftest_harness.h"

TEST(a_file_that_another_takes_the_place_of_is_the_one_that_was_looked_at)
{
	static uint8_t elf[TINY_ROOM];
	struct flowtap_build_id id;
	struct swapped file;
	struct stat status;

	swapped_make(&file, elf, tiny_make(elf, 7));
	ASSERT_EQ(0, stat(file.path, &status));
	id = flowtap_proc_build_id_of((uint32_t)getpid(), file.path, status.st_ino);
	ASSERT_FALSE(file.waits);
	ASSERT_EQ(20, id.size);
	swapped_remove(&file);
}

TEST_HARNESS_MAIN
