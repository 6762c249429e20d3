/* SPDX-License-Identifier: GPL-2.0-only */
/* CPUs that go offline and come back while they are recorded. */
#ifndef FLOWTAP_DAEMON_CPUS_H
#define FLOWTAP_DAEMON_CPUS_H

#include <stdbool.h>
#include <stdint.h>

#define CPUS_TEXT 1024

struct run;

struct cpus {
	char online[CPUS_TEXT];		/* as in sysfs: "0-3,5" */
	bool unopened;			/* one has come that cannot be opened: it was complained about */
	uint64_t again;			/* before that nothing is opened again, CLOCK_MONOTONIC_RAW, ns */
};

/* Whether the list, as in sysfs, has the CPU. */
bool cpus_has(const char *list, unsigned int cpu);
/* They are as they are now: before streams are opened. */
void cpus_begin(struct run *run);
/*
 * Every second, while streams are open: reports CPUs that went offline. perf closes its events of
 * such a CPU, and one that was not there has no stream: where one has come, all is opened again,
 * into another segment; and where a ring contradicts itself, of which nothing more can be read. At
 * most every 10 seconds: each time costs a segment, and a look at all processes.
 */
void cpus_look(struct run *run);

#endif /* FLOWTAP_DAEMON_CPUS_H */
