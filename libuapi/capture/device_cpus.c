// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Asks the device what each CPU has, and configures a stream on one that somebody is leaving. */
#include "capture/clock.h"
#include "capture/device.h"

#include <errno.h>
#include <flowtap/session.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <unistd.h>

#include "base/cpus.h"

/* ns: an io_uring that had requests for a file lets go of it after the end of its process. */
#define LEAVING 5000000000ULL

/* It has ended, or cannot be asked. */
static bool has_ended(pid_t pid)
{
	struct pollfd poll_fd = { .events = POLLIN };
	int saved = errno;
	bool ended;

	poll_fd.fd = pidfd_open(pid, 0);
	ended = poll_fd.fd < 0 ? errno == ESRCH : poll(&poll_fd, 1, 0) == 1;
	if (poll_fd.fd >= 0)
		close(poll_fd.fd);
	errno = saved;
	return ended;
}

/* The holder is somebody of whom nothing can be seen, or has ended; or there is none by now. */
static bool is_left(int fd, const struct flowtap_configure *configure)
{
	struct flowtap_query query = { .cpu = configure->cpu, .want = configure->source };

	if (flowtap_device_call(fd, FLOWTAP_IOC_QUERY, &query) || !query.source)
		return false;
	return !query.holder_pid || has_ended((pid_t)query.holder_pid);
}

int flowtap_device_configure(int fd, struct flowtap_configure *configure)
{
	const struct timespec moment = { .tv_nsec = 5000000 };
	const uint64_t deadline = clock_now() + LEAVING;
	int error;

	while ((error = flowtap_device_call(fd, FLOWTAP_IOC_CONFIGURE, configure)) == -EBUSY &&
	       is_left(fd, configure) && clock_now() < deadline)
		nanosleep(&moment, NULL);
	return error;
}

static void query_all(int fd, uint32_t want, struct flowtap_query *all, uint32_t cpus)
{
	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		all[cpu].cpu = cpu;
		all[cpu].want = want;
		/* A number in between that the machine does not have. */
		if (flowtap_device_call(fd, FLOWTAP_IOC_QUERY, &all[cpu])) {
			all[cpu].source = FLOWTAP_SOURCE_NONE;
			all[cpu].reason = FLOWTAP_REASON_OFFLINE;
		}
	}
}

int flowtap_device_query(uint32_t want, struct flowtap_query **queries, size_t *n)
{
	struct flowtap_query first = { .want = want }, *all = NULL;
	int fd = flowtap_device_open();
	int error;

	if (fd < 0)
		return fd;
	error = flowtap_device_call(fd, FLOWTAP_IOC_QUERY, &first);
	if (!error && (!first.cpus || first.cpus > FLOWTAP_CPUS_MAX))
		error = -EPROTO;
	if (!error && !(all = calloc(first.cpus, sizeof(*all))))
		error = -ENOMEM;
	if (!error) {
		query_all(fd, want, all, first.cpus);
		*queries = all;
		*n = first.cpus;
	}
	close(fd);
	return error;
}
