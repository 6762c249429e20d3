// SPDX-License-Identifier: GPL-2.0-only
/* Compares perf_event_paranoid and the process's capabilities with what a recording asks for. */
#include "common/user_privileges.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* linux/capability.h */
#define CAP_SYS_ADMIN_BIT (1ULL << 21)
#define CAP_PERFMON_BIT (1ULL << 38)

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

void user_privileges_read(struct user_privileges *privileges)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t capabilities = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %lx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	privileges->privileged = capabilities & (CAP_SYS_ADMIN_BIT | CAP_PERFMON_BIT);
	privileges->administrator = capabilities & CAP_SYS_ADMIN_BIT;
	privileges->paranoid = LONG_MIN;
	file = fopen(PARANOID, "re");
	if (file && fscanf(file, "%ld", &privileges->paranoid) != 1)
		privileges->paranoid = LONG_MIN;
	if (file)
		fclose(file);
}

bool user_privileges_kernel(const struct user_privileges *privileges)
{
	return privileges->privileged || privileges->paranoid < 2;
}

const char *user_privileges_problem(const struct flowtap_configure *configure, char *fix,
				    size_t capacity)
{
	struct user_privileges privileges;

	user_privileges_read(&privileges);
	if (configure->flags & FLOWTAP_CPU_WIDE && !privileges.privileged) {
		snprintf(fix, capacity,
			 "run as root, or give flowtap CAP_PERFMON; without rights record "
			 "a command or your own processes (-p)");
		return "you may not record all that runs on a CPU";
	}
	if (configure->modes & FLOWTAP_MODE_KERNEL && !user_privileges_kernel(&privileges)) {
		snprintf(fix, capacity,
			 "as root: sysctl kernel.perf_event_paranoid=1 (it is %ld), or give "
			 "flowtap CAP_PERFMON; --user needs neither",
			 privileges.paranoid);
		return "you may not record the kernel";
	}
	return NULL;
}
