// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows how often /proc is looked at for what it may cost. Each look takes a millisecond here: the
 * clock is this program's.
 */
#include "capture/proc_scan.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <flowtap/sideband.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define MS 1000000ULL
#define SECOND 1000000000ULL

static uint64_t now = SECOND;
static unsigned int looks;		/* directories that were opened */
static const char *denied;		/* one that is not for us, */
static int denial;			/* and why */

int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (clock != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, clock, time);
	*time = (struct timespec){ (time_t)(now / SECOND), (long)(now % SECOND) };
	return 0;
}

static pid_t renewed;			/* this pid's process has ended, and another has it now */

int open(const char *path, int flags, ...)
{
	char stat[64], text[128];
	int fd;

	snprintf(stat, sizeof(stat), "/proc/%d/task/%d/stat", renewed, renewed);
	if (strcmp(path, stat))
		return openat(AT_FDCWD, path, flags, 0600);
	snprintf(text, sizeof(text), "%d (other) S 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 7", renewed);
	fd = memfd_create("stat", MFD_CLOEXEC);
	if (pwrite(fd, text, strlen(text), 0) != (ssize_t)strlen(text))
		abort();
	return fd;
}

static bool no_children;		/* as without CONFIG_PROC_CHILDREN */
static unsigned int walks;		/* over all of /proc */
static bool executes;			/* this process is in the middle of an exec */
static ino_t program;			/* what it executes now, 0: what it does */

FILE *fopen(const char *path, const char *mode)
{
	const size_t size = strlen(path);

	if (executes && size > 5 && !strcmp(path + size - 5, "/maps"))
		path = "/dev/null";
	if (no_children && size > 9 && !strcmp(path + size - 9, "/children")) {
		errno = ENOENT;
		return NULL;
	}
	return ((__typeof__(&fopen))dlsym(RTLD_NEXT, "fopen"))(path, mode);
}

int statx(int at, const char *path, int flags, unsigned int mask, struct statx *status)
{
	int error = (int)syscall(SYS_statx, at, path, flags, mask, status);

	if (program)
		status->stx_ino = program;
	return error;
}

DIR *opendir(const char *path)
{
	looks++;
	now += MS;
	walks += !strcmp(path, "/proc");
	if (denied && !strcmp(path, denied)) {
		errno = denial;
		return NULL;
	}
	return ((__typeof__(&opendir))dlsym(RTLD_NEXT, "opendir"))(path);
}

/* Whether it looks, so long after the last look began. */
static bool looks_after(struct flowtap_proc_scan *scan, uint64_t began, uint64_t time)
{
	const struct flowtap_sideband_sink nowhere = { .writer = NULL };

	looks = 0;
	now = began + time;
	if (flowtap_proc_scan_again(scan, &nowhere, false))
		abort();
	return looks;
}

TEST(the_pause_is_as_long_as_the_share_wants)
{
	static const struct {
		uint32_t share;		/* millionths */
		uint64_t pause;
	} cases[] = {
		{ 0, 20 * MS },			/* a twentieth */
		{ 5000, 200 * MS },
		{ 1000, SECOND },
		{ 500000, 10 * MS },		/* the least */
		{ 50, 10 * SECOND },		/* the most */
		{ 1, 10 * SECOND },
	};
	const struct flowtap_sideband_sink nowhere = { .writer = NULL };
	const pid_t pid = getpid();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, false);
		const uint64_t began = now;

		ASSERT_TRUE(scan);
		flowtap_proc_scan_limit(scan, cases[i].share);
		ASSERT_EQ(0, flowtap_proc_scan_start(scan, &nowhere, false));
		ASSERT_TRUE(looks_after(scan, began, SECOND));
		EXPECT_EQ(1, looks);
		EXPECT_FALSE(looks_after(scan, began + SECOND, cases[i].pause - 1))
			TH_LOG("%u", cases[i].share);
		EXPECT_TRUE(looks_after(scan, began + SECOND, cases[i].pause))
			TH_LOG("%u", cases[i].share);
		flowtap_proc_scan_free(scan);
	}
}

static size_t sorted;			/* the most that was sorted at once */

void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *))
{
	if (n > sorted)
		sorted = n;
	((__typeof__(&qsort))dlsym(RTLD_NEXT, "qsort"))(base, n, size, compare);
}

static int count_mapping(void *argument, const struct flowtap_mapping *mapping)
{
	unsigned int *told = argument;

	(void)mapping;
	++*told;
	return 0;
}

/*
 * Anybody may have 65530 of them, in each process, and who drains the rings waits for that look. They are
 * looked for where they are sorted.
 */
TEST(many_mappings_are_not_compared_with_each_other)
{
	unsigned int told = 0;
	const struct flowtap_sideband_sink out = { .mapped = count_mapping, .argument = &told };
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 1000, size = (2 * n + 2) * page;
	const pid_t pid = getpid();
	struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, false);
	char *pages = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_TRUE(scan);
	ASSERT_NE(MAP_FAILED, (void *)pages);
	for (size_t i = 0; i < n; i++)
		ASSERT_EQ(0, mprotect(pages + 2 * i * page, page, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, flowtap_proc_scan_start(scan, &out, false));
	EXPECT_LE(n, told);
	EXPECT_LE(n, sorted);
	/* Each of them is found, and one that is new is not. */
	told = 0;
	ASSERT_EQ(0, flowtap_proc_scan_again(scan, &out, true));
	EXPECT_EQ(0, told);
	ASSERT_EQ(0, mprotect(pages + size - page, page, PROT_READ | PROT_EXEC));
	ASSERT_EQ(0, flowtap_proc_scan_again(scan, &out, true));
	EXPECT_EQ(1, told);
	flowtap_proc_scan_free(scan);
	munmap(pages, size);
}

/* With hidepid, or of another user: what is not for us is not there, and ends no recording. */
TEST(a_process_that_is_not_for_us_is_passed_over)
{
	static const int denials[] = { EPERM, EACCES };
	const struct flowtap_sideband_sink nowhere = { .writer = NULL };
	const pid_t pid = getpid();
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	for (size_t i = 0; i < ARRAY_SIZE(denials); i++) {
		struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, true);

		ASSERT_TRUE(scan);
		denial = denials[i];
		denied = path;
		EXPECT_EQ(0, flowtap_proc_scan_start(scan, &nowhere, false));
		EXPECT_EQ(0, flowtap_proc_scan_again(scan, &nowhere, true));
		denied = NULL;
		flowtap_proc_scan_free(scan);
	}
}

/* A process that waits, and one that it has forked. */
static pid_t fork_two(pid_t *child)
{
	int report[2];
	pid_t parent;

	if (pipe(report))
		abort();
	parent = fork();
	if (!parent) {
		*child = fork();
		if (*child && write(report[1], child, sizeof(*child)) != sizeof(*child))
			abort();
		for (;;)
			pause();
	}
	if (read(report[0], child, sizeof(*child)) != sizeof(*child))
		abort();
	close(report[0]);
	close(report[1]);
	return parent;
}

static unsigned int look_again(struct flowtap_proc_scan *scan, struct flowtap_sideband_sink *out)
{
	unsigned int *told = out->argument;

	*told = 0;
	if (flowtap_proc_scan_again(scan, out, true))
		abort();
	return *told;
}

/* Without randomised addresses the new program's mappings may be at the places of the old one's. */
TEST(a_look_in_the_middle_of_an_exec_does_not_hide_it)
{
	unsigned int told = 0;
	struct flowtap_sideband_sink out = { .mapped = count_mapping, .argument = &told };
	const pid_t pid = getpid();
	struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, false);
	unsigned int all;

	ASSERT_TRUE(scan);
	ASSERT_EQ(0, flowtap_proc_scan_start(scan, &out, false));
	all = told;
	EXPECT_NE(0, all);
	executes = true;
	program = 1;
	EXPECT_EQ(0, look_again(scan, &out));
	executes = false;
	EXPECT_EQ(all, look_again(scan, &out));
	EXPECT_EQ(0, look_again(scan, &out));
	/* As it is where no look is made in the middle. */
	program = 2;
	EXPECT_EQ(all, look_again(scan, &out));
	program = 0;
	flowtap_proc_scan_free(scan);
}

TEST(another_process_with_the_pid_of_one_that_has_ended_is_no_descendant)
{
	unsigned int told = 0;
	struct flowtap_sideband_sink out = { .mapped = count_mapping, .argument = &told };
	pid_t child, parent = fork_two(&child);
	struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&parent, 1, true);

	ASSERT_TRUE(scan);
	ASSERT_EQ(0, flowtap_proc_scan_start(scan, &out, false));
	EXPECT_NE(0, told);
	kill(parent, SIGKILL);
	waitpid(parent, NULL, 0);
	EXPECT_EQ(0, look_again(scan, &out));
	renewed = child;
	EXPECT_EQ(0, look_again(scan, &out));
	renewed = 0;
	EXPECT_EQ(0, look_again(scan, &out));
	flowtap_proc_scan_free(scan);
	kill(child, SIGKILL);
}

TEST(nor_is_one_with_the_pid_that_was_named)
{
	unsigned int told = 0;
	struct flowtap_sideband_sink out = { .mapped = count_mapping, .argument = &told };

	for (int inherit = 0; inherit < 2; inherit++) {
		const pid_t pid = getpid();
		struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, inherit);

		ASSERT_TRUE(scan);
		ASSERT_EQ(0, flowtap_proc_scan_start(scan, &out, false));
		EXPECT_NE(0, told);
		renewed = pid;
		EXPECT_EQ(0, look_again(scan, &out));
		EXPECT_EQ(0, look_again(scan, &out));
		renewed = 0;
		flowtap_proc_scan_free(scan);
	}
}

TEST(all_of_proc_is_not_walked_over_for_each_descendant)
{
	unsigned int told = 0;
	struct flowtap_sideband_sink out = { .mapped = count_mapping, .argument = &told };
	const pid_t pid = getpid();
	pid_t parents[8], children[8];
	struct flowtap_proc_scan *scan = flowtap_proc_scan_new(&pid, 1, true);
	unsigned int one;

	ASSERT_TRUE(scan);
	no_children = true;
	ASSERT_EQ(0, flowtap_proc_scan_start(scan, &out, false));
	one = told;
	EXPECT_NE(0, one);
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++)
		parents[i] = fork_two(&children[i]);
	walks = 0;
	EXPECT_LE(2 * ARRAY_SIZE(parents) * one, look_again(scan, &out));
	/* Children have larger pids than their parents, or once smaller ones. */
	EXPECT_LE(2, walks);
	EXPECT_GE(3, walks);
	walks = 0;
	look_again(scan, &out);
	EXPECT_EQ(1, walks);
	no_children = false;
	flowtap_proc_scan_free(scan);
	for (size_t i = 0; i < ARRAY_SIZE(parents); i++) {
		kill(parents[i], SIGKILL);
		waitpid(parents[i], NULL, 0);
		kill(children[i], SIGKILL);
	}
}

/* Whether it looks when it is drained, so long after the last look began. */
static bool drains_after(struct flowtap_sideband *sideband, uint64_t began, uint64_t time)
{
	looks = 0;
	now = began + time;
	if (flowtap_sideband_drain(sideband))
		abort();
	return looks;
}

TEST(the_share_can_be_another_one_later)
{
	const pid_t pid = getpid();
	const struct flowtap_sideband_options options = {
		.pids = &pid, .n_pids = 1, .poll = true, .poll_share = 5000,
	};
	FILE *file = tmpfile();
	struct flowtap_archive_writer *writer;
	struct flowtap_sideband *sideband;
	uint64_t began;

	ASSERT_TRUE(file);
	ASSERT_EQ(0, flowtap_archive_create(fileno(file), &writer));
	ASSERT_EQ(0, flowtap_sideband_open(&options, &sideband));
	ASSERT_EQ(0, flowtap_sideband_start(sideband, writer));
	began = now;
	ASSERT_TRUE(drains_after(sideband, began, SECOND));
	began += SECOND;
	EXPECT_FALSE(drains_after(sideband, began, 200 * MS - 1));
	flowtap_sideband_limit(sideband, 1000);
	/* The pause that has begun is as long as it was to be. */
	EXPECT_TRUE(drains_after(sideband, began, 200 * MS));
	began += 200 * MS;
	EXPECT_FALSE(drains_after(sideband, began, SECOND - 1));
	EXPECT_TRUE(drains_after(sideband, began, SECOND));
	flowtap_sideband_free(sideband);
	flowtap_archive_writer_free(writer);
	fclose(file);
}

TEST_HARNESS_MAIN
