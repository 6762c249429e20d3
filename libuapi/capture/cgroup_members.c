// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Reads cgroup.procs and cgroup.threads of the whole tree. */
#include "capture/cgroup_members.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/vector.h"

#define MEMBERS_MAX 65536	/* twice what the module follows */
#define DEEP_MAX 64

struct look {
	uint64_t *members;
	size_t n;
	bool cut;
};

static int add_member(struct look *look, uint64_t member)
{
	if (look->n == MEMBERS_MAX || FLOWTAP_GROW(look->members, look->n)) {
		look->cut = true;
		return -ENOSPC;
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
		if (id && add_member(look, id | kind))
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
		read_list(fd, "cgroup.threads", CGROUP_THREAD, look);
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

void flowtap_cgroup_members(const char *path, uint64_t **members, size_t *n)
{
	struct look look = { .members = NULL };
	int saved = errno;

	look_into(AT_FDCWD, path, 0, &look);
	if (look.n)
		qsort(look.members, look.n, sizeof(look.members[0]), compare);
	*members = look.members;
	*n = look.n;
	errno = saved;
}
