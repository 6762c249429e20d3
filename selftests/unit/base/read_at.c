// SPDX-License-Identifier: GPL-2.0-only
/* Shows that bytes at an offset are all there, or that it is told where and why they end. */
#include "base/read_at.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "support/kselftest_harness.h"

TEST(bytes_are_there_or_it_is_told_why_not)
{
	static const char text[] = "0123456789";
	int fd = memfd_create("bytes", MFD_CLOEXEC), folder = open("/", O_RDONLY | O_DIRECTORY), error;
	char bytes[16];

	ASSERT_EQ(10, write(fd, text, 10));
	for (size_t offset = 0; offset < 12; offset++) {
		for (size_t size = 0; size < sizeof(bytes); size++) {
			const size_t there = offset > 10 ? 0 : 10 - offset;
			const size_t wanted = size < there ? size : there;

			error = 1;
			memset(bytes, 'x', sizeof(bytes));
			ASSERT_EQ(wanted, flowtap_read_at(fd, bytes, size, offset, &error));
			EXPECT_EQ(0, error);
			EXPECT_EQ(0, memcmp(text + offset, bytes, wanted));
			EXPECT_EQ('x', bytes[wanted]);
			EXPECT_EQ(size == wanted ? 0 : -ENODATA,
				  flowtap_read_all_at(fd, bytes, size, offset, -ENODATA));
		}
	}
	errno = 44;
	EXPECT_EQ(0, flowtap_read_at(folder, bytes, 1, 0, &error));
	EXPECT_EQ(-EISDIR, error);
	EXPECT_EQ(-EISDIR, flowtap_read_all_at(folder, bytes, 1, 0, -ENODATA));
	EXPECT_EQ(-EBADF, flowtap_read_all_at(-1, bytes, 1, 0, -ENODATA));
	/* Beyond what a file can have. */
	EXPECT_EQ(-EINVAL, flowtap_read_all_at(fd, bytes, 1, 1ULL << 63, -ENODATA));
	EXPECT_EQ(44, errno);
	close(folder);
	close(fd);
}

TEST_HARNESS_MAIN
