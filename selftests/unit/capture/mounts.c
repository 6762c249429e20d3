// SPDX-License-Identifier: GPL-2.0-only
/* Shows which file systems are asked, in lists of mounts that the test makes. */
#include "capture/mounts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

/* Of mounts, with numbers that no device here has (for local use); NULL: the real one. */
static const char *list;
static bool changed;
static unsigned int reads;

FILE *fopen(const char *path, const char *mode)
{
	int fd;

	if (strcmp(path, "/proc/self/mountinfo"))
		abort();
	reads++;
	if (!list)
		return ((__typeof__(&fopen))dlsym(RTLD_NEXT, "fopen"))(path, mode);
	fd = memfd_create("mountinfo", MFD_CLOEXEC);
	if (pwrite(fd, list, strlen(list), 0) != (ssize_t)strlen(list))
		abort();
	return fdopen(fd, mode);
}

int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (n != 1 || timeout)
		abort();
	fds[0].revents = changed ? POLLPRI | POLLERR : 0;
	return changed;
}

TEST(those_of_users_and_those_that_are_not_mounted_are_not_asked)
{
	struct flowtap_mounts *mounts = flowtap_mounts_new();

	list = "22 1 250:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	       "40 22 250:45 / /var/lib/overlay\\040-\\040fuse rw - overlay overlay rw,lowerdir=/a\n"
	       "41 22 250:50 / /home/u/far rw,nosuid - fuse.sshfs u@far: rw,user_id=1000\n"
	       "42 22 250:17 / /media/stick rw - fuseblk /dev/sdb1 rw\n"
	       "43 22 250:51 / /far rw master:3 - nfs4 far:/ rw\n"
	       "44 22 250:52 no separator\n"
	       "no numbers - ext4 x rw\n";
	EXPECT_TRUE(flowtap_mounts_answer(mounts, 250, 1));
	EXPECT_TRUE(flowtap_mounts_answer(mounts, 250, 45));
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 250, 50));
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 250, 17));
	EXPECT_TRUE(flowtap_mounts_answer(mounts, 250, 51));
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 250, 52));
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 251, 1));
	EXPECT_EQ(1, reads);
	/* Another one has the number by now. */
	list = "41 22 250:50 / /home/u/far rw,nosuid - tmpfs none rw\n";
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 250, 50));
	changed = true;
	EXPECT_TRUE(flowtap_mounts_answer(mounts, 250, 50));
	EXPECT_FALSE(flowtap_mounts_answer(mounts, 250, 51));
	flowtap_mounts_free(mounts);
}

static bool answers(struct flowtap_mounts *mounts, int at, const char *path)
{
	struct statx status;

	if (statx(at, path, AT_EMPTY_PATH, STATX_TYPE, &status))
		abort();
	return flowtap_mounts_answer(mounts, status.stx_dev_major, status.stx_dev_minor);
}

TEST(our_own_root_and_memory_are_asked)
{
	struct flowtap_mounts *mounts = flowtap_mounts_new();
	int memory = memfd_create("memory", MFD_CLOEXEC);

	list = "";
	EXPECT_TRUE(answers(mounts, -1, "/"));
	EXPECT_TRUE(answers(mounts, memory, ""));
	EXPECT_FALSE(answers(mounts, -1, "/proc"));
	/* As it is on this machine. */
	list = NULL;
	changed = true;
	EXPECT_TRUE(answers(mounts, -1, "/proc"));
	EXPECT_FALSE(flowtap_mounts_answer(NULL, 8, 1));
	close(memory);
	flowtap_mounts_free(mounts);
}

TEST_HARNESS_MAIN
