// SPDX-License-Identifier: GPL-2.0-only
#include "trial.h"

#include "device.h"
#include "tool.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PERIOD 100000
#define RING_PAGES 16
#define LIMIT_NS 2000000000ULL	/* on a slow emulator */

/* Moves us onto a CPU with a source. */
static int settle(const struct flowtap_query *queries, size_t n, const cpu_set_t *allowed,
		  struct trial *trial)
{
	for (size_t cpu = 0; cpu < n && cpu < CPU_SETSIZE; cpu++) {
		cpu_set_t one;

		if (queries[cpu].source == FLOWTAP_SOURCE_NONE ||
		    queries[cpu].source == FLOWTAP_SOURCE_SOFT || !CPU_ISSET(cpu, allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		trial->cpu = (uint32_t)cpu;
		return 0;
	}
	return -ENODEV;
}

static int set_up(int fd, const struct flowtap_query *query, struct trial *trial)
{
	struct flowtap_configure configure = {
		.source = query->source,
		.cpu = trial->cpu,
		.modes = FLOWTAP_MODE_USER,
		.triggers = FLOWTAP_TRIGGER_OVERFLOW,
		.ring_pages = RING_PAGES,
		.event_type = PERF_TYPE_HARDWARE,
		.event_config = PERF_COUNT_HW_INSTRUCTIONS,
		.period = query->period_min > PERIOD ? query->period_min : PERIOD,
	};
	struct flowtap_task task = { .pid = (uint32_t)getpid() };
	struct flowtap_enable enable = { .flags = 0 };

	trial->step = "configuring a stream";
	if (ioctl(fd, FLOWTAP_IOC_CONFIGURE, &configure))
		return -errno;
	trial->step = "tracing a process of our own";
	if (ioctl(fd, FLOWTAP_IOC_ADD_TASK, &task))
		return -errno;
	trial->step = "starting";
	if (ioctl(fd, FLOWTAP_IOC_ENABLE, &enable))
		return -errno;
	return 0;
}

/* Something with branches, until there are samples or the time is over. */
static int work(int fd, struct trial *trial)
{
	uint64_t until = number_now() + LIMIT_NS;
	struct flowtap_stats stats = { .samples = 0 };
	volatile unsigned int odd = 0;

	trial->step = "waiting for a sample";
	do {
		for (unsigned int i = 0; i < 200000; i++)
			if ((i * 2654435761U) >> 31)
				odd++;
		if (ioctl(fd, FLOWTAP_IOC_STATS, &stats))
			return -errno;
	} while (stats.samples < 2 && number_now() < until);
	trial->samples = stats.samples;
	trial->entries = stats.entries;
	return stats.entries ? 0 : -ENODATA;
}

int trial_run(const struct flowtap_query *queries, size_t n, struct trial *trial)
{
	cpu_set_t allowed;
	int fd, error;

	*trial = (struct trial){ .step = "finding a CPU that we may run on" };
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	error = settle(queries, n, &allowed, trial);
	if (error)
		return error;
	trial->step = "opening " DEVICE_PATH;
	fd = error = device_open();
	if (fd >= 0) {
		error = set_up(fd, &queries[trial->cpu], trial);
		if (!error)
			error = work(fd, trial);
		close(fd);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	if (!error)
		trial->step = NULL;
	return error;
}
