// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Compares who is in a cgroup with who was at the last looks, and changes the session's tasks. */
#include "capture/cgroup_members.h"
#include "capture/clock.h"

#include <errno.h>
#include <flowtap/session.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>

#define PAUSE_NS 100000000ULL	/* from one look to the next, at least */
#define PAUSE_MAX_NS 1000000000ULL

static bool is_cgroup(const char *path)
{
	struct statfs type;

	return !statfs(path, &type) && type.f_type == CGROUP2_SUPER_MAGIC;
}

char *flowtap_cgroup_mount(void)
{
	int saved = errno;
	FILE *file = fopen("/proc/self/mounts", "re");
	char *line = NULL, *found = NULL;
	size_t capacity = 0;

	while (file && !found && getline(&line, &capacity, file) > 0) {
		char where[PATH_MAX], type[32];

		if (sscanf(line, "%*s %4095s %31s", where, type) == 2 && !strcmp(type, "cgroup2"))
			found = strdup(where);
	}
	free(line);
	if (file)
		fclose(file);
	errno = saved;
	return found;
}

static int find(struct flowtap_session_cgroup *cgroup, const char *name, const char *mount)
{
	if (name[0] == '/' && is_cgroup(name))
		cgroup->path = strdup(name);
	else if (asprintf(&cgroup->path, "%s/%s", mount, name + (name[0] == '/')) < 0)
		cgroup->path = NULL;
	if (!cgroup->path)
		return -ENOMEM;
	return is_cgroup(cgroup->path) ? 0 : -ENOENT;
}

int flowtap_session_cgroup_open(struct flowtap_session_cgroup *cgroup, const char *name)
{
	char *mount = flowtap_cgroup_mount();
	int saved = errno, error;

	*cgroup = (struct flowtap_session_cgroup){ .path = NULL };
	error = mount ? find(cgroup, name, mount) : -ENODEV;
	free(mount);
	if (error)
		flowtap_session_cgroup_close(cgroup);
	errno = saved;
	return error;
}

static int change(struct flowtap_session *session, uint64_t member, bool add)
{
	const pid_t pid = (pid_t)(uint32_t)member;
	const uint32_t flags = member & CGROUP_THREAD ? FLOWTAP_TASK_THREAD : 0;

	return add ? flowtap_session_add_task(session, pid, flags) :
		     flowtap_session_remove_task(session, pid, flags);
}

/* Leaves in the list who is not among the members, which are sorted as it is; how many they are. */
static size_t leave_absent(uint64_t *list, size_t n, const uint64_t *members, size_t n_members)
{
	size_t left = 0;

	for (size_t i = 0, seen = 0; i < n; i++) {
		while (seen < n_members && members[seen] < list[i])
			seen++;
		if (seen == n_members || members[seen] != list[i])
			list[left++] = list[i];
	}
	return left;
}

/* members: what a look has found; taken. */
static void take_look(struct flowtap_session_cgroup *cgroup, uint64_t *members, size_t n,
		      struct flowtap_session *session)
{
	cgroup->n_missing = leave_absent(cgroup->missing, cgroup->n_missing, members, n);
	for (size_t i = 0; i < cgroup->n_missing; i++)
		change(session, cgroup->missing[i], false);
	free(cgroup->missing);
	cgroup->missing = cgroup->members;
	cgroup->n_missing = leave_absent(cgroup->missing, cgroup->n, members, n);
	cgroup->members = members;
	cgroup->n = n;
}

/*
 * Each time all of them: a number may be another process by now. One that is in the set already
 * costs a moment.
 */
static int add_all(struct flowtap_session_cgroup *cgroup, struct flowtap_session *session)
{
	cgroup->denied = 0;
	cgroup->crowded = false;
	for (size_t i = 0; i < cgroup->n; i++) {
		int error = change(session, cgroup->members[i], true);

		/* Ended, or the kernel's own. */
		if (!error || error == -ESRCH || error == -EINVAL)
			continue;
		if (error == -EPERM) {
			cgroup->denied++;
			continue;
		}
		cgroup->crowded = error == -ENOSPC;
		cgroup->failed = (pid_t)(uint32_t)cgroup->members[i];
		return cgroup->crowded ? 0 : error;
	}
	return 0;
}

/* Of this thread, in ns. */
static uint64_t cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

int flowtap_session_cgroup_follow(struct flowtap_session_cgroup *cgroup,
				  struct flowtap_session *session)
{
	uint64_t began = clock_now(), before = cpu_time(), pause, *members;
	size_t n;
	int error;

	if (!cgroup->path || began < cgroup->next)
		return 0;
	flowtap_cgroup_members(cgroup->path, &members, &n);
	take_look(cgroup, members, n, session);
	error = add_all(cgroup, session);
	/* A twentieth of the CPU's time, unless so many would make it blind. */
	pause = 20 * (cpu_time() - before);
	pause = pause > PAUSE_NS ? pause : PAUSE_NS;
	cgroup->next = began + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
	return error;
}

void flowtap_session_cgroup_close(struct flowtap_session_cgroup *cgroup)
{
	free(cgroup->path);
	free(cgroup->members);
	free(cgroup->missing);
	*cgroup = (struct flowtap_session_cgroup){ .path = NULL };
}
