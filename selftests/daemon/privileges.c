// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a daemon that root started becomes the user and has exactly the capabilities of each
 * step, as the kernel tells them in /proc, and that nothing brings back what was given up.
 */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/kselftest_harness.h"

#define BIT(number) (1ULL << (number))
#define NOBODY 65534

/* What each set is to be, from what the daemon does; the kernel's numbers. */
#define RUNNING (BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHECKPOINT_RESTORE) | \
		 BIT(CAP_PERFMON))
#define KERNEL (BIT(CAP_SYSLOG) | BIT(CAP_SYS_RAWIO))
#define STARTING (RUNNING | BIT(CAP_CHOWN))
#define PARANOID BIT(CAP_SYS_ADMIN)
#define TASKS (BIT(CAP_BPF) | BIT(CAP_SYS_ADMIN))
#define STOPS BIT(CAP_KILL)

/* A line of /proc/self/status, as a number. */
static uint64_t status(const char *name, int base)
{
	FILE *file = fopen("/proc/self/status", "re");
	const size_t size = strlen(name);
	uint64_t value = UINT64_MAX;
	char line[256];

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, size) && line[size] == ':')
			value = strtoull(line + size + 1, NULL, base);
	if (file)
		fclose(file);
	return value;
}

/* The number of the line that is not so. */
#define MUST(condition) do { if (!(condition)) return __LINE__; } while (0)

static int holds(uint64_t permitted, uint64_t effective)
{
	MUST(status("CapPrm", 16) == permitted);
	MUST(status("CapEff", 16) == effective);
	MUST(!status("CapInh", 16));
	MUST(!status("CapAmb", 16));
	MUST(status("NoNewPrivs", 10) == 1);
	return 0;
}

static int all_steps(const char *user, uint64_t uid, unsigned int uses)
{
	const uint64_t more = (uses & PRIVILEGES_KERNEL ? KERNEL : 0) |
			      (uses & PRIVILEGES_STOPS ? STOPS : 0);
	const uint64_t starting = STARTING | more | (uses & PRIVILEGES_PARANOID ? PARANOID : 0) |
				  (uses & (PRIVILEGES_TASKS | PRIVILEGES_PROBES) ? TASKS : 0);
	struct privileges privileges;
	struct rlimit before, after;
	gid_t groups[64] = { 0 };
	int line;

	/* What root has: its group, and a limit. */
	setgroups(1, groups);
	MUST(!getrlimit(RLIMIT_MEMLOCK, &before));
	after = before;
	after.rlim_cur = 4096;
	MUST(!setrlimit(RLIMIT_MEMLOCK, &after));
	MUST(!privileges_find(&privileges, user, uses));
	MUST(!privileges_begin(&privileges));
	MUST(!getrlimit(RLIMIT_MEMLOCK, &after));
	MUST(after.rlim_cur >= before.rlim_max);
	MUST(!prctl(PR_GET_KEEPCAPS, 0L, 0L, 0L, 0L));
	MUST(status("Uid", 10) == uid);
	MUST(uid != NOBODY || (geteuid() == NOBODY && getgid() == NOBODY && getegid() == NOBODY));
	/* Root's own groups are gone. */
	for (int i = getgroups(64, groups); uid == NOBODY && i-- > 0; )
		MUST(groups[i]);
	line = holds(starting | BIT(CAP_DAC_OVERRIDE), starting);
	MUST(privileges_starting(&privileges) == starting);
	if (line)
		return line;
	MUST(!privileges_device(&privileges, true));
	line = holds(starting | BIT(CAP_DAC_OVERRIDE), starting | BIT(CAP_DAC_OVERRIDE));
	if (line)
		return line;
	MUST(!privileges_device(&privileges, false));
	line = holds(starting | BIT(CAP_DAC_OVERRIDE), starting);
	if (line)
		return line;
	MUST(!privileges_end(&privileges));
	MUST(privileges_running(&privileges) == (RUNNING | more));
	line = holds(RUNNING | more, RUNNING | more);
	if (line)
		return line;
	MUST(status("CapBnd", 16) == (RUNNING | more));
	/* It cannot go back. */
	MUST(!privileges_device(&privileges, true));
	line = holds(RUNNING | more, RUNNING | more);
	if (line)
		return line;
	MUST(uid != NOBODY || (setuid(0) && errno == EPERM));
	return 0;
}

/* LeakSanitizer would want to look at a process that nobody may look at: it ends without. */
static int apart(int (*steps)(const char *, uint64_t, unsigned int), const char *user, uint64_t uid,
		 unsigned int uses)
{
	pid_t child = fork();
	int result;

	if (!child)
		_exit(steps(user, uid, uses));
	if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result))
		return -1;
	return WEXITSTATUS(result);
}

static int lacks(const char *user, uint64_t uid, unsigned int uses)
{
	struct privileges privileges;

	(void)uid;
	return privileges_find(&privileges, user, uses) == -ENOENT ? 0 : 1;
}

/* As systemd's unit starts it: another user, and what is given is ambient. */
static int given(const char *user, uint64_t uid, unsigned int uses)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const uint64_t set = RUNNING | KERNEL | PARANOID;
	struct __user_cap_data_struct data[2];
	struct privileges privileges;

	MUST(!prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L));
	MUST(!setresuid(NOBODY, NOBODY, NOBODY));
	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = data[i].inheritable =
			(uint32_t)(set >> 32 * i);
	MUST(!syscall(SYS_capset, &header, data));
	for (int i = 0; i < 64; i++)
		if (set >> i & 1)
			MUST(!prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, (long)i, 0L, 0L));
	MUST(!privileges_find(&privileges, user, uses));
	MUST(privileges.uid == uid && !privileges.root);
	/* Neither the kernel nor more for perf is asked for. */
	MUST(!privileges_begin(&privileges));
	MUST(!holds(RUNNING, RUNNING));
	MUST(!privileges_end(&privileges));
	return holds(RUNNING, RUNNING);
}

#define NEEDS_ROOT() do { if (geteuid()) SKIP(return, "root can become others, nobody else"); } while (0)

TEST(root_becomes_the_user)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, 0));
}

TEST(with_the_kernels_code_it_keeps_what_reads_that)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, PRIVILEGES_KERNEL));
}

TEST(what_perf_asks_for_is_given_up_before_it_records)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, PRIVILEGES_PARANOID));
}

TEST(what_loads_programs_is_given_up_and_what_lets_go_on_stays)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, PRIVILEGES_TASKS));
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, PRIVILEGES_TASKS | PRIVILEGES_STOPS));
	EXPECT_EQ(0, apart(all_steps, "nobody", NOBODY, PRIVILEGES_PROBES));
}

TEST(it_stays_root_where_that_is_wanted_with_no_more_capabilities)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(all_steps, "root", 0, 0));
}

TEST(a_user_that_is_not_there_is_none)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(lacks, "no-such-user", 0, 0));
}

TEST(what_a_manager_gives_is_used_and_given_up)
{
	NEEDS_ROOT();
	EXPECT_EQ(0, apart(given, "", NOBODY, 0));
}

/* The unit gives what is needed, and nothing else: as the capabilities' names say it. */
TEST(systemds_unit_gives_just_what_is_needed)
{
	static const char *const keys[] = { "CapabilityBoundingSet=", "AmbientCapabilities=" };
	const struct privileges privileges = {
		.uses = PRIVILEGES_KERNEL | PRIVILEGES_PARANOID | PRIVILEGES_TASKS | PRIVILEGES_STOPS,
	};
	const uint64_t want = privileges_starting(&privileges) & ~BIT(CAP_CHOWN);
	FILE *file = fopen("daemon/system/flowtapd.service.in", "re");
	char line[512];
	int found = 0;

	ASSERT_NE(NULL, file);
	while (fgets(line, sizeof(line), file)) {
		for (int i = 0; i < 2; i++) {
			uint64_t set = 0;

			if (strncmp(line, keys[i], strlen(keys[i])))
				continue;
			for (char *name = strtok(line + strlen(keys[i]), " \n"); name;
			     name = strtok(NULL, " \n")) {
				cap_value_t value = 0;

				EXPECT_EQ(0, cap_from_name(name, &value)) TH_LOG("%s", name);
				set |= BIT(value);
			}
			EXPECT_EQ(want, set);
			found++;
		}
	}
	EXPECT_EQ(2, found);
	fclose(file);
}

TEST(a_missing_directory_is_made_for_the_user)
{
	struct privileges privileges = { .root = true, .uid = NOBODY, .gid = NOBODY };
	char top[] = "/tmp/privileges-XXXXXX", path[128], directory[96];
	struct stat stat_before, stat_after;

	NEEDS_ROOT();
	ASSERT_NE(NULL, mkdtemp(top));
	snprintf(directory, sizeof(directory), "%s/run", top);
	snprintf(path, sizeof(path), "%s/socket", directory);
	EXPECT_EQ(0, privileges_directory(&privileges, path));
	ASSERT_EQ(0, stat(directory, &stat_before));
	EXPECT_EQ(NOBODY, stat_before.st_uid);
	EXPECT_EQ(NOBODY, stat_before.st_gid);
	EXPECT_EQ(0755, stat_before.st_mode & 07777);
	/* One that is there is left as it is. */
	ASSERT_EQ(0, chown(directory, 0, 0));
	EXPECT_EQ(0, privileges_directory(&privileges, path));
	ASSERT_EQ(0, stat(directory, &stat_after));
	EXPECT_EQ(0, stat_after.st_uid);
	snprintf(path, sizeof(path), "%s/a/b/socket", top);
	EXPECT_EQ(0, privileges_directory(&privileges, path));
	EXPECT_EQ(-1, access(path, F_OK));
	/* Ports have none. */
	EXPECT_EQ(0, privileges_directory(&privileges, "127.0.0.1:9464"));
	rmdir(directory);
	rmdir(top);
}

TEST_HARNESS_MAIN
