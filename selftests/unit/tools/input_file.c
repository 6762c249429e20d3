// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a directory of perf record's which goes while it is opened is an error, and which one.
 * What looks at directories is the test's.
 */
#define flowtap_input_is_perf_directory is_perf_directory
#define flowtap_input_open_perf open_perf
#include "../../../tools/common/input_file.c"

#include <sys/mman.h>

#include "support/kselftest_harness.h"

static int found;	/* the fd of its perf.data, or -errno */

bool is_perf_directory(const char *path)
{
	return !strcmp(path, "recorded");
}

int open_perf(const char *path)
{
	return is_perf_directory(path) ? found : -EINVAL;
}

/* Whatever call failed last, or none has: 0 would be taken for standard input. */
TEST(one_that_is_gone_meanwhile_is_not_there)
{
	static const int before[] = { 0, EACCES };

	found = -ENOENT;
	for (size_t i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		errno = before[i];
		EXPECT_EQ(-ENOENT, input_open("recorded", true));
	}
}

TEST(of_one_that_is_there_the_file_is_opened)
{
	found = memfd_create("data", MFD_CLOEXEC);
	ASSERT_LE(0, found);
	EXPECT_EQ(found, input_open("recorded", true));
	EXPECT_EQ(0, input_unpacked()->damages);
	close(found);
}

TEST_HARNESS_MAIN
