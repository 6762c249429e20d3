// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records this process through the device while it executes branches, and reports how far that
 * got.
 */
#include "doctor/selftest.h"

#include "common/device_report.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/session.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define PERIOD 100000
#define RING_PAGES 16
#define AUX_PAGES 16
#define LIMIT_NS 2000000000ULL	/* on a slow emulator */

/* Moves us onto a CPU with a source. */
static int move_to_cpu(const struct flowtap_query *queries, size_t n, const cpu_set_t *allowed,
		       struct selftest *selftest)
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
		selftest->cpu = (uint32_t)cpu;
		return 0;
	}
	return -ENODEV;
}

/* What makes the source record by itself. */
static void choose_trigger(struct flowtap_configure *configure, const struct flowtap_query *query,
			   uint32_t type, uint64_t event)
{
	if (query->source == FLOWTAP_SOURCE_ETE) {
		configure->aux_pages = configure->aux_pages ? configure->aux_pages : AUX_PAGES;
		return;
	}
	configure->triggers = FLOWTAP_TRIGGER_OVERFLOW;
	configure->event_type = type;
	configure->event_config = event;
	configure->period = query->period_min > PERIOD ? query->period_min : PERIOD;
}

static int set_up(int fd, const struct flowtap_query *query, struct selftest *selftest)
{
	struct flowtap_configure configure = {
		.source = query->source,
		.cpu = selftest->cpu,
		.modes = FLOWTAP_MODE_USER,
		.ring_pages = RING_PAGES,
	};
	struct flowtap_task task = { .pid = (uint32_t)getpid() };
	struct flowtap_enable enable = { .flags = 0 };

	choose_trigger(&configure, query, PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	selftest->step = "configuring a stream";
	if (ioctl(fd, FLOWTAP_IOC_CONFIGURE, &configure))
		return -errno;
	selftest->step = "tracing a process of our own";
	if (ioctl(fd, FLOWTAP_IOC_ADD_TASK, &task))
		return -errno;
	selftest->step = "starting";
	if (ioctl(fd, FLOWTAP_IOC_ENABLE, &enable))
		return -errno;
	return 0;
}

/* Something with branches, until there are samples or the time is over. ask: for each of them. */
static int work(int fd, bool ask, struct selftest *selftest)
{
	uint64_t until = number_now() + LIMIT_NS;
	struct flowtap_stats stats = { .samples = 0 };
	struct flowtap_snapshot snapshot;
	volatile unsigned int odd = 0;

	selftest->step = "waiting for a sample";
	do {
		for (unsigned int i = 0; i < 200000; i++)
			if ((i * 2654435761U) >> 31)
				odd++;
		snapshot = (struct flowtap_snapshot){ .flags = 0 };
		if ((ask && ioctl(fd, FLOWTAP_IOC_SNAPSHOT, &snapshot)) ||
		    ioctl(fd, FLOWTAP_IOC_STATS, &stats))
			return -errno;
	} while (stats.samples < 2 && number_now() < until);
	selftest->samples = stats.samples;
	selftest->entries = stats.entries;
	selftest->bytes = stats.aux_bytes;
	if (!stats.samples && stats.losses[FLOWTAP_CAUSE_DISPLACED])
		return -EBUSY;
	return stats.entries || stats.aux_bytes ? 0 : -ENODATA;
}

int selftest_run(const struct flowtap_query *queries, size_t n, struct selftest *selftest)
{
	cpu_set_t allowed;
	int fd, error;

	*selftest = (struct selftest){ .step = "finding a CPU that we may run on" };
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return -errno;
	error = move_to_cpu(queries, n, &allowed, selftest);
	if (error)
		return error;
	selftest->step = "opening " FLOWTAP_DEVICE;
	fd = error = flowtap_device_open();
	if (fd >= 0) {
		error = set_up(fd, &queries[selftest->cpu], selftest);
		if (!error)
			error = work(fd, queries[selftest->cpu].source == FLOWTAP_SOURCE_ETE,
				     selftest);
		close(fd);
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	if (!error)
		selftest->step = NULL;
	return error;
}

/* A descriptor or -errno. */
static int open_like(const struct flowtap_query *query, const struct flowtap_configure *request)
{
	struct flowtap_configure configure = *request;
	int fd = flowtap_device_open();
	int error;

	if (fd < 0)
		return fd;
	configure.source = query->source;
	configure.cpu = query->cpu;
	configure.ring_pages = request->ring_pages ? request->ring_pages : RING_PAGES;
	if (!configure.triggers)
		choose_trigger(&configure, query, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	error = flowtap_device_configure(fd, &configure);
	if (!error)
		return fd;
	close(fd);
	return error;
}

int selftest_configure(const struct flowtap_query *query, const struct flowtap_configure *request)
{
	int fd = open_like(query, request);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

static int ask_drain(int fd, struct flowtap_reader *reader, struct flowtap_archive_writer *writer,
		     enum flowtap_drain_method *method)
{
	struct flowtap_drain_options options = { .method = FLOWTAP_DRAIN_URING, .streams = 1 };
	struct flowtap_drain *drain;
	int error = flowtap_drain_open(&options, writer, &drain);

	if (error)
		return error;
	error = flowtap_drain_add(drain, fd, reader, 0);
	*method = flowtap_drain_method(drain);
	flowtap_drain_close(drain);
	return error < 0 ? error : 0;
}

int selftest_drain(const struct flowtap_query *query, uint32_t pages,
		   enum flowtap_drain_method *method)
{
	const struct flowtap_configure request = {
		.modes = FLOWTAP_MODE_USER,
		.ring_pages = pages,
	};
	struct flowtap_archive_writer *writer = NULL;
	struct flowtap_reader reader = { .ring = NULL };
	int file = memfd_create("flowtap-trial", MFD_CLOEXEC);
	int fd = open_like(query, &request);
	int error = file < 0 ? -errno : fd < 0 ? fd : 0;

	if (!error)
		error = flowtap_reader_map(&reader, fd, pages, 0);
	if (!error && query->source == FLOWTAP_SOURCE_ETE)
		error = flowtap_reader_map_aux(&reader, fd, AUX_PAGES);
	if (!error)
		error = flowtap_archive_create(file, &writer);
	if (!error)
		error = ask_drain(fd, &reader, writer, method);
	flowtap_archive_writer_free(writer);
	if (reader.ring)
		flowtap_reader_unmap(&reader);
	if (fd >= 0)
		close(fd);
	if (file >= 0)
		close(file);
	return error;
}

const char *selftest_holder(uint32_t cpu, char *buffer)
{
	struct flowtap_query query = { .cpu = cpu };
	const char *holder = NULL;
	int fd = flowtap_device_open();

	if (fd >= 0 && !ioctl(fd, FLOWTAP_IOC_QUERY, &query))
		holder = device_holder(&query, buffer);
	if (fd >= 0)
		close(fd);
	return holder ? holder : "someone else";
}
