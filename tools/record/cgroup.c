// SPDX-License-Identifier: GPL-2.0-only
/* Follows a cgroup, and complains once about those that are not recorded. */
#include "record/cgroup.h"

#include "common/tool.h"
#include "recording/explain_error.h"

#include <errno.h>
#include <stdlib.h>

static void no_cgroup(const char *name)
{
	char *mount = flowtap_cgroup_mount();

	complain("there is no cgroup '%s' in %s", name, mount ? mount : "/sys/fs/cgroup");
	advise("cat /proc/PID/cgroup shows where a process is");
	free(mount);
}

int cgroup_open(struct cgroup *cgroup, const char *name)
{
	int error = flowtap_session_cgroup_open(&cgroup->followed, name);

	if (error == -ENODEV) {
		complain("there are no cgroups (v2): cgroup2 is not mounted");
		advise("as root: mount -t cgroup2 none /sys/fs/cgroup");
	} else if (error == -ENOENT) {
		no_cgroup(name);
	}
	return error;
}

int cgroup_follow(struct cgroup *cgroup, struct streams *streams)
{
	const struct flowtap_session_cgroup *followed = &cgroup->followed;
	int error = flowtap_session_cgroup_follow(&cgroup->followed, &streams->session);

	if (error) {
		explain_task_error(followed->failed, streams->event, error);
		return error;
	}
	if (followed->crowded && !cgroup->crowded) {
		complain("the cgroup has more tasks than the module follows: not all are "
			 "recorded");
		cgroup->crowded = true;
	}
	if (followed->denied && !cgroup->denied) {
		complain("you may not trace %zu of the %zu processes in the cgroup",
			 followed->denied, followed->n);
		advise("root may trace any");
		cgroup->denied = true;
	}
	return 0;
}

void cgroup_close(struct cgroup *cgroup)
{
	flowtap_session_cgroup_close(&cgroup->followed);
	*cgroup = (struct cgroup){ .denied = false };
}
