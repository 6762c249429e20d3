// SPDX-License-Identifier: GPL-2.0-only
/*
 * Raises the soft limit of RLIMIT_NOFILE to the hard one, and restores it for the command that is
 * recorded.
 */
#include "recording/descriptors.h"

#include <stdbool.h>
#include <sys/resource.h>

static struct rlimit before;
static bool raised;

void descriptors_raise(void)
{
	struct rlimit limit;

	if (raised || getrlimit(RLIMIT_NOFILE, &before))
		return;
	limit = before;
	limit.rlim_cur = limit.rlim_max;
	raised = !setrlimit(RLIMIT_NOFILE, &limit);
}

void descriptors_restore(void)
{
	if (raised)
		setrlimit(RLIMIT_NOFILE, &before);
}
