/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The processes of a cgroup (v2) and of those below it, looked at again and again: who has come is
 * added to the streams' tasks, who has gone is removed. What they fork is there at once, as the
 * tasks are inherited. A process that moves in and ends between two looks is missed; one that is
 * forked and moves out between two looks is still recorded.
 */
#ifndef CGROUP_H
#define CGROUP_H

#include "record/streams.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cgroup {
	char *path;		/* in the file system; NULL: none is followed */
	uint64_t *members;	/* at the last look, sorted */
	size_t n;
	uint64_t next;		/* when to look again */
	bool denied;		/* said that not all may be traced */
	bool crowded;		/* said that there are too many */
};

/* Where cgroup2 is mounted, malloc'ed; NULL: it is not. */
char *cgroup_mount(void);
/* name: a path below the mount of cgroup2, or in the file system. 0 or -errno, after a complaint. */
int cgroup_open(struct cgroup *cgroup, const char *name);
/* Looks, if it is time to. 0 or -errno, after a complaint. */
int cgroup_follow(struct cgroup *cgroup, struct streams *streams);
void cgroup_close(struct cgroup *cgroup);

#endif /* CGROUP_H */
