// SPDX-License-Identifier: GPL-2.0-only
/* Shows that what is opened is what was looked at, where others can change the directory. */
#include "code/locate.h"

#include "support/swapped.h"

#include "support/kselftest_harness.h"

TEST(a_file_that_another_takes_the_place_of_is_the_one_that_was_looked_at)
{
	struct swapped file;
	char bytes[8];
	int fd;

	swapped_make(&file, "file", 4);
	fd = flowtap_locate_in(file.at, "file");
	ASSERT_FALSE(file.waits);
	ASSERT_LE(0, fd);
	ASSERT_EQ(4, read(fd, bytes, sizeof(bytes)));
	ASSERT_EQ(0, memcmp("file", bytes, 4));
	close(fd);
	swapped_remove(&file);
}

TEST_HARNESS_MAIN
