/* SPDX-License-Identifier: GPL-2.0-only */
/* The cgroup whose processes are recorded, and what was said about those that are not. */
#ifndef FLOWTAP_TOOLS_RECORD_CGROUP_H
#define FLOWTAP_TOOLS_RECORD_CGROUP_H

#include "recording/streams.h"

#include <stdbool.h>

struct cgroup {
	struct flowtap_session_cgroup followed;
	bool denied;		/* said that not all may be traced */
	bool crowded;		/* said that there are too many */
};

/* name: as flowtap_session_cgroup_open takes it. 0 or -errno, after a complaint. */
int cgroup_open(struct cgroup *cgroup, const char *name);
/* Looks, if it is time to. 0 or -errno, after a complaint. */
int cgroup_follow(struct cgroup *cgroup, struct streams *streams);
void cgroup_close(struct cgroup *cgroup);

#endif /* FLOWTAP_TOOLS_RECORD_CGROUP_H */
