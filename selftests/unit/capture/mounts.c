// SPDX-License-Identifier: GPL-2.0-only
/* Shows which file systems are asked, in lists of mounts that the test makes. */
#include "capture/mounts.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/bundle.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

/* Of mounts, with numbers that no device here has (for local use); NULL: the real one. */
static const char *list;
static const char *process_list;	/* that of a process, which has another namespace */
static bool changed;
static unsigned int reads;

FILE *fopen(const char *path, const char *mode)
{
	const char *text = list;
	int fd;

	if (!strcmp(path, "/proc/self/mountinfo"))
		reads++;
	else
		text = process_list;
	if (!text)
		return ((__typeof__(&fopen))dlsym(RTLD_NEXT, "fopen"))(path, mode);
	fd = memfd_create("mountinfo", MFD_CLOEXEC);
	if (pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
	return fdopen(fd, mode);
}

static char asked[64];		/* for which name last */

int openat(int folder, const char *name, int flags, ...)
{
	snprintf(asked, sizeof(asked), "%s", name);
	return (int)syscall(SYS_openat, folder, name, flags, 0);
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

/* 0 or -errno of the walk. */
static int walks(struct flowtap_mounts *mounts, uint32_t pid, const char *path)
{
	int fd = flowtap_mounts_walk(mounts, pid, path);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

TEST(a_walk_leads_to_the_file_and_nowhere_else)
{
	struct flowtap_mounts *mounts = flowtap_mounts_new();
	char path[] = "/tmp/flowtap-walk-XXXXXX", link[40];
	struct stat wanted, found;
	int fd = mkstemp(path), walked;

	list = NULL;
	changed = true;
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, fstat(fd, &wanted));
	for (uint32_t pid = 0; pid <= (uint32_t)getpid(); pid += (uint32_t)getpid()) {
		walked = flowtap_mounts_walk(mounts, pid, path);
		ASSERT_LE(0, walked);
		ASSERT_EQ(0, fstat(walked, &found));
		EXPECT_EQ(wanted.st_ino, found.st_ino);
		close(walked);
	}
	snprintf(link, sizeof(link), "%s.d", path);
	ASSERT_EQ(0, symlink("/tmp", link));
	strcat(link, "/x");
	EXPECT_EQ(-ENOTDIR, walks(mounts, 0, link));
	*strrchr(link, '/') = 0;
	unlink(link);
	EXPECT_EQ(-EINVAL, walks(mounts, 0, "/tmp/./x"));
	EXPECT_EQ(-EINVAL, walks(mounts, 0, "/tmp/../etc"));
	EXPECT_EQ(-ENOENT, walks(mounts, 0, "/tmp/flowtap-nowhere/x"));
	EXPECT_EQ(-ENOENT, walks(mounts, UINT32_MAX, "/tmp"));
	unlink(path);
	close(fd);
	flowtap_mounts_free(mounts);
}

/* /proc is not of our root's device: what the lists make of it counts. */
TEST(a_walk_asks_no_file_system_that_does_not_answer)
{
	static const char *const types[] = { "fuse.sshfs", "overlay", "proc" };
	const uint32_t pid = (uint32_t)getpid();
	const struct flowtap_mapping mapping = { .path = "/proc/version" };
	struct flowtap_mounts *mounts = flowtap_mounts_new();
	char text[128], why[FLOWTAP_WHY];
	struct statx status;

	changed = true;
	ASSERT_EQ(0, statx(-1, "/proc", 0, STATX_TYPE | STATX_MNT_ID, &status));
	list = "";
	EXPECT_EQ(-EXDEV, walks(mounts, 0, "/proc"));
	EXPECT_EQ(-EXDEV, walks(mounts, 0, "/proc/version"));
	EXPECT_STREQ("proc", asked);
	EXPECT_EQ(-EXDEV, flowtap_mapping_open(&mapping, why));
	EXPECT_STREQ("/proc/version: on a file system that a user may serve", why);
	list = text;
	for (size_t i = 0; i < 3; i++) {
		snprintf(text, sizeof(text), "7 1 %u:%u / /proc rw - %s x rw\n", status.stx_dev_major,
			 status.stx_dev_minor, types[i]);
		EXPECT_EQ(i ? 0 : -EXDEV, walks(mounts, 0, "/proc/version"));
	}
	/* Another namespace's, which has other numbers than stat: by that of the mount. */
	list = "";
	process_list = text;
	snprintf(text, sizeof(text), "%llu 1 250:9 / /proc rw - overlay x rw\n",
		 (unsigned long long)status.stx_mnt_id);
	EXPECT_EQ(-EXDEV, walks(mounts, pid, "/proc/version"));
	list = "7 1 250:9 / /elsewhere rw - overlay x rw\n";
	EXPECT_EQ(0, walks(mounts, pid, "/proc/version"));
	list = "";
	snprintf(text, sizeof(text), "%llu 1 250:9 / /proc rw - tmpfs x rw\n",
		 (unsigned long long)status.stx_mnt_id);
	EXPECT_EQ(0, walks(mounts, pid, "/proc/version"));
	process_list = NULL;
	flowtap_mounts_free(mounts);
}

TEST_HARNESS_MAIN
