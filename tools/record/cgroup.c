// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads cgroup.procs and cgroup.threads of the whole tree at each look, and compares sorted
 * lists.
 */
#include "record/cgroup.h"

#include "common/tool.h"
#include "record/explain_error.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define MEMBERS_MAX 65536	/* twice what the module follows */
#define DEEP_MAX 64
#define PAUSE_NS 100000000ULL	/* from one look to the next, at least */
#define PAUSE_MAX_NS 1000000000ULL

/* A member is the number of a process, or of a thread where a cgroup has threads only. */
#define THREAD (1ULL << 32)

struct look {
	uint64_t *members;
	size_t n;
	size_t room;
	bool cut;
};

static bool is_cgroup(const char *path)
{
	struct statfs type;

	return !statfs(path, &type) && type.f_type == CGROUP2_SUPER_MAGIC;
}

char *cgroup_mount(void)
{
	FILE *file = fopen("/proc/self/mounts", "re");
	char *line = NULL, *found = NULL;
	size_t room = 0;

	while (file && !found && getline(&line, &room, file) > 0) {
		char where[PATH_MAX], type[32];

		if (sscanf(line, "%*s %4095s %31s", where, type) == 2 && !strcmp(type, "cgroup2"))
			found = strdup(where);
	}
	free(line);
	if (file)
		fclose(file);
	return found;
}

int cgroup_open(struct cgroup *cgroup, const char *name)
{
	char *mount = cgroup_mount();

	if (!mount) {
		complain("there are no cgroups (v2): cgroup2 is not mounted");
		advise("as root: mount -t cgroup2 none /sys/fs/cgroup");
		return -ENODEV;
	}
	if (name[0] == '/' && is_cgroup(name))
		cgroup->path = strdup(name);
	else if (asprintf(&cgroup->path, "%s/%s", mount, name + (name[0] == '/')) < 0)
		cgroup->path = NULL;
	if (cgroup->path && !is_cgroup(cgroup->path)) {
		complain("there is no cgroup '%s' in %s", name, mount);
		advise("cat /proc/PID/cgroup shows where a process is");
		free(mount);
		return -ENOENT;
	}
	free(mount);
	return cgroup->path ? 0 : -ENOMEM;
}

static int note(struct look *look, uint64_t member)
{
	if (look->n == look->room) {
		size_t room = look->room ? 2 * look->room : 256;
		uint64_t *members = room <= MEMBERS_MAX ?
				    realloc(look->members, room * sizeof(members[0])) : NULL;

		if (!members) {
			look->cut = true;
			return -ENOSPC;
		}
		look->members = members;
		look->room = room;
	}
	look->members[look->n++] = member;
	return 0;
}

/* Numbers, one a line. False: the cgroup has no such list (a threaded one has no processes). */
static bool read_list(int directory, const char *name, uint64_t kind, struct look *look)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	unsigned int id;
	bool read;

	if (!file)
		return false;
	errno = 0;
	/* 0 is one that our PID namespace does not have. */
	while (fscanf(file, "%u", &id) == 1)
		if (id && note(look, id | kind))
			break;
	read = !ferror(file) || errno != EOPNOTSUPP;
	fclose(file);
	return read;
}

/* This one and all below it. What goes away meanwhile has nobody in it. */
static void look_into(int parent, const char *name, unsigned int deep, struct look *look)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!directory) {
		if (fd >= 0)
			close(fd);
		return;
	}
	if (!read_list(fd, "cgroup.procs", 0, look))
		read_list(fd, "cgroup.threads", THREAD, look);
	while (deep < DEEP_MAX && !look->cut && (entry = readdir(directory)))
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.')
			look_into(fd, entry->d_name, deep + 1, look);
	closedir(directory);
}

static int compare(const void *one, const void *other)
{
	const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return a < b ? -1 : a > b;
}

static int change(struct streams *streams, uint64_t member, bool add)
{
	const pid_t pid = (pid_t)(uint32_t)member;
	const uint32_t flags = member & THREAD ? FLOWTAP_TASK_THREAD : 0;

	return add ? flowtap_session_add_task(&streams->session, pid, flags) :
		     flowtap_session_remove_task(&streams->session, pid, flags);
}

/* Those of the look before that this one did not see. */
static void remove_gone(const struct cgroup *cgroup, const struct look *look,
			struct streams *streams)
{
	for (size_t i = 0, seen = 0; i < cgroup->n; i++) {
		while (seen < look->n && look->members[seen] < cgroup->members[i])
			seen++;
		if (seen == look->n || look->members[seen] != cgroup->members[i])
			change(streams, cgroup->members[i], false);
	}
}

/*
 * Each time all of them: a number may be another process by now. One that is in the set already
 * costs a moment.
 */
static int add_all(struct cgroup *cgroup, const struct look *look, struct streams *streams)
{
	size_t denied = 0;

	for (size_t i = 0; i < look->n; i++) {
		int error = change(streams, look->members[i], true);

		/* Ended, or the kernel's own. */
		if (!error || error == -ESRCH || error == -EINVAL)
			continue;
		if (error == -EPERM) {
			denied++;
			continue;
		}
		if (error != -ENOSPC) {
			explain_task_error((pid_t)(uint32_t)look->members[i], streams->event,
					   error);
			return error;
		}
		if (!cgroup->crowded)
			complain("the cgroup has more tasks than the module follows: not all are "
				 "recorded");
		cgroup->crowded = true;
		break;
	}
	if (denied && !cgroup->denied) {
		complain("you may not trace %zu of the %zu processes in the cgroup", denied, look->n);
		advise("root may trace any");
		cgroup->denied = true;
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

int cgroup_follow(struct cgroup *cgroup, struct streams *streams)
{
	struct look look = { .members = NULL };
	uint64_t began = number_now(), before = cpu_time(), pause;
	int error;

	if (!cgroup->path || began < cgroup->next)
		return 0;
	look_into(AT_FDCWD, cgroup->path, 0, &look);
	if (look.n)
		qsort(look.members, look.n, sizeof(look.members[0]), compare);
	remove_gone(cgroup, &look, streams);
	error = add_all(cgroup, &look, streams);
	free(cgroup->members);
	cgroup->members = look.members;
	cgroup->n = look.n;
	/* A twentieth of the CPU's time, unless so many would make it blind. */
	pause = 20 * (cpu_time() - before);
	pause = pause > PAUSE_NS ? pause : PAUSE_NS;
	cgroup->next = began + (pause < PAUSE_MAX_NS ? pause : PAUSE_MAX_NS);
	return error;
}

void cgroup_close(struct cgroup *cgroup)
{
	free(cgroup->path);
	free(cgroup->members);
	*cgroup = (struct cgroup){ .path = NULL };
}
