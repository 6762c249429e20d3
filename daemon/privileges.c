// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists what each capability is for and for how long it is needed, changes the user, and drops
 * what is not needed any more.
 */
#include "privileges.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define BIT(number) (1ULL << (number))

/* How long one is needed. */
enum span {
	DEVICE,			/* while the device is opened, by what root has started */
	STARTING,		/* until it records */
	RUNNING,
};

/* Whoever needs another one later adds it here, and to CapabilityBoundingSet of the unit. */
static const struct {
	cap_value_t capability;
	enum span span;
	unsigned int use;	/* for that; 0: always */
} needs[] = {
	/* /dev/flowtap before udev has given it to a group, or where there is no udev. */
	{ CAP_DAC_OVERRIDE, DEVICE, 0 },
	/* Sockets for a group that the user is not in; the unit does not give it. */
	{ CAP_CHOWN, STARTING, 0 },
	/*
	 * Debian's kernels, with their default of perf_event_paranoid, do not take CAP_PERFMON for
	 * perf events. They are opened once: when the hardware comes back from somebody who
	 * borrowed it /proc is polled instead.
	 */
	{ CAP_SYS_ADMIN, STARTING, PRIVILEGES_PARANOID },
	/*
	 * Programs in the kernel are loaded; what the module's types are is for CAP_SYS_ADMIN
	 * alone.
	 */
	{ CAP_BPF, STARTING, PRIVILEGES_TASKS },
	{ CAP_SYS_ADMIN, STARTING, PRIVILEGES_TASKS },
	{ CAP_BPF, STARTING, PRIVILEGES_PROBES },
	{ CAP_SYS_ADMIN, STARTING, PRIVILEGES_PROBES },
	/* Who was stopped is let go; only where the module cannot be called from the kernel. */
	{ CAP_KILL, RUNNING, PRIVILEGES_STOPS },
	/*
	 * Streams and perf events of whole CPUs: when they are opened, which is done anew when the
	 * hardware comes back from somebody who borrowed it.
	 */
	{ CAP_PERFMON, RUNNING, 0 },
	/*
	 * /proc/PID/maps, root and mem of all that run: which code was executed. At the start, in
	 * each segment where there are no perf events, and for files whose build-id the kernel did
	 * not report. Adding a task to a set asks for it, too.
	 */
	{ CAP_SYS_PTRACE, RUNNING, 0 },
	/* Programs in others' private directories, /proc/PID/mem, /proc/kcore: read only. */
	{ CAP_DAC_READ_SEARCH, RUNNING, 0 },
	/* /proc/PID/map_files: the build-id of programs that were deleted while they run. */
	{ CAP_CHECKPOINT_RESTORE, RUNNING, 0 },
	/* Addresses in /proc/kallsyms and /sys/module: with each segment, and when modules move. */
	{ CAP_SYSLOG, RUNNING, PRIVILEGES_KERNEL },
	/* /proc/kcore: opening asks for it, with each segment. */
	{ CAP_SYS_RAWIO, RUNNING, PRIVILEGES_KERNEL },
};

static uint64_t needed(const struct privileges *privileges, enum span span)
{
	uint64_t set = 0;

	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (needs[i].span >= span && (!needs[i].use || privileges->uses & needs[i].use))
			set |= BIT(needs[i].capability);
	return set;
}

uint64_t privileges_starting(const struct privileges *privileges)
{
	return needed(privileges, STARTING);
}

uint64_t privileges_running(const struct privileges *privileges)
{
	return needed(privileges, RUNNING);
}

/* --- Who. --- */

static int look_up(struct privileges *privileges, const char *name)
{
	struct passwd user, *found = NULL;
	char buffer[16384];
	int error = getpwnam_r(name, &user, buffer, sizeof(buffer), &found);

	if (!found)
		return error && error != ENOENT ? -error : -ENOENT;
	if (strlen(name) >= sizeof(privileges->user))
		return -ENAMETOOLONG;
	privileges->uid = user.pw_uid;
	privileges->gid = user.pw_gid;
	strcpy(privileges->user, name);
	return 0;
}

static void look_up_own(struct privileges *privileges)
{
	struct passwd user, *found = NULL;
	char buffer[16384];

	privileges->uid = geteuid();
	privileges->gid = getegid();
	if (!getpwuid_r(geteuid(), &user, buffer, sizeof(buffer), &found) && found)
		snprintf(privileges->user, sizeof(privileges->user), "%.63s", user.pw_name);
}

int privileges_find(struct privileges *privileges, const char *user, unsigned int uses)
{
	int error;

	*privileges = (struct privileges){ .root = !geteuid(), .uses = uses };
	look_up_own(privileges);
	if (!privileges->root)
		return 0;
	error = look_up(privileges, *user ? user : PRIVILEGES_USER);
	return error == -ENOENT && !*user ? 0 : error;
}

int privileges_directory(const struct privileges *privileges, const char *path)
{
	const char *slash = strrchr(path, '/');
	char directory[PATH_MAX];

	if (!privileges->root || path[0] != '/' || slash == path)
		return 0;
	if (slash - path >= PATH_MAX)
		return -ENAMETOOLONG;
	snprintf(directory, sizeof(directory), "%.*s", (int)(slash - path), path);
	/* The caller reports what is missing above it. */
	if (mkdir(directory, 0755))
		return errno == EEXIST || errno == ENOENT ? 0 : -errno;
	return chown(directory, privileges->uid, privileges->gid) ? -errno : 0;
}

/* --- What. --- */

/* Whatever of these is there already; no program that it executes inherits any. */
static int set_capabilities(uint64_t permitted, uint64_t effective)
{
	cap_t have = cap_get_proc(), want = cap_init();
	cap_flag_value_t there;
	int error = have && want ? 0 : -ENOMEM;

	for (cap_value_t i = 0; !error && i < cap_max_bits(); i++) {
		if (!(permitted >> i & 1) || cap_get_flag(have, i, CAP_PERMITTED, &there) ||
		    there != CAP_SET)
			continue;
		if (cap_set_flag(want, CAP_PERMITTED, 1, &i, CAP_SET) ||
		    (effective >> i & 1 && cap_set_flag(want, CAP_EFFECTIVE, 1, &i, CAP_SET)))
			error = -errno;
	}
	if (!error && cap_set_proc(want))
		error = -errno;
	cap_free(have);
	cap_free(want);
	return error;
}

/* Asks for CAP_SETPCAP, which systemd's unit does not give: it has bounded them itself. */
static int bound(uint64_t set)
{
	for (cap_value_t i = 0; i < cap_max_bits(); i++)
		if (!(set >> i & 1) && cap_get_bound(i) > 0 && cap_drop_bound(i))
			return -errno;
	return 0;
}

/* Root's rings are not limited; the user's would be. In a container it may be no more than this. */
static void lift_limits(void)
{
	struct rlimit limit = { RLIM_INFINITY, RLIM_INFINITY };

	if (!setrlimit(RLIMIT_MEMLOCK, &limit) || getrlimit(RLIMIT_MEMLOCK, &limit))
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_MEMLOCK, &limit);
}

static int become(const struct privileges *privileges)
{
	if (prctl(PR_SET_KEEPCAPS, 1L, 0L, 0L, 0L))
		return -errno;
	if (privileges->uid &&
	    (initgroups(privileges->user, privileges->gid) ||
	     setresgid(privileges->gid, privileges->gid, privileges->gid)))
		return -errno;
	if (setresuid(privileges->uid, privileges->uid, privileges->uid))
		return -errno;
	return prctl(PR_SET_KEEPCAPS, 0L, 0L, 0L, 0L) ? -errno : 0;
}

int privileges_begin(const struct privileges *privileges)
{
	int error = 0;

	if (cap_reset_ambient() || prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L))
		return -errno;
	if (privileges->root) {
		lift_limits();
		error = bound(needed(privileges, RUNNING));
		if (!error)
			error = become(privileges);
	}
	return error ? error : set_capabilities(needed(privileges, DEVICE),
						needed(privileges, STARTING));
}

int privileges_device(const struct privileges *privileges, bool on)
{
	return set_capabilities(needed(privileges, DEVICE),
				needed(privileges, on ? DEVICE : STARTING));
}

int privileges_end(const struct privileges *privileges)
{
	return set_capabilities(needed(privileges, RUNNING), needed(privileges, RUNNING));
}
