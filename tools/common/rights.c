// SPDX-License-Identifier: GPL-2.0-only
/* Compares perf_event_paranoid and the process's capabilities with what a recording asks for. */
#include "common/rights.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* linux/capability.h */
#define CAP_SYS_ADMIN_BIT (1ULL << 21)
#define CAP_PERFMON_BIT (1ULL << 38)

#define PARANOID "/proc/sys/kernel/perf_event_paranoid"

void rights_read(struct rights *rights)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t capabilities = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "CapEff: %lx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	rights->privileged = capabilities & (CAP_SYS_ADMIN_BIT | CAP_PERFMON_BIT);
	rights->paranoid = LONG_MIN;
	file = fopen(PARANOID, "re");
	if (file && fscanf(file, "%ld", &rights->paranoid) != 1)
		rights->paranoid = LONG_MIN;
	if (file)
		fclose(file);
}

bool rights_kernel(const struct rights *rights)
{
	return rights->privileged || rights->paranoid < 2;
}

const char *rights_problem(const struct flowtap_configure *configure, char *fix, size_t room)
{
	struct rights rights;

	rights_read(&rights);
	if (configure->flags & FLOWTAP_CPU_WIDE && !rights.privileged) {
		snprintf(fix, room, "run as root, or give flowtap CAP_PERFMON; without rights record "
			 "a command or your own processes (-p)");
		return "you may not record all that runs on a CPU";
	}
	if (configure->modes & FLOWTAP_MODE_KERNEL && !rights_kernel(&rights)) {
		snprintf(fix, room, "as root: sysctl kernel.perf_event_paranoid=1 (it is %ld), or give "
			 "flowtap CAP_PERFMON; --user needs neither", rights.paranoid);
		return "you may not record the kernel";
	}
	return NULL;
}
