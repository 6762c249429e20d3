/* SPDX-License-Identifier: GPL-2.0-only */
/* Processes that end by a signal that dumps core: messages of the kernel's process connector. */
#ifndef FLOWTAP_DAEMON_CRASH_H
#define FLOWTAP_DAEMON_CRASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct crash {
	uint64_t time;		/* CLOCK_MONOTONIC_RAW, ns */
	uint64_t address;	/* where its thread was; 0: not known any more */
	uint32_t pid, tid;
};

/*
 * A descriptor that is readable when there is one. -EPERM (it wants CAP_NET_ADMIN);
 * -EPROTONOSUPPORT (a kernel without CONFIG_PROC_EVENTS); -errno.
 */
int crash_open(void);
/*
 * Of what comes to this socket the kernel passes on crashes alone: before Linux 6.6 it sends each
 * fork, exec and exit as well. 0 or -errno.
 */
int crash_filter(int fd);
/* The next one that waits. 1; 0: none; -ENOBUFS: some were lost; -errno. */
int crash_next(int fd, struct crash *crash);
/*
 * A datagram of the connector: whether it reports a crash. The address is not in it, the time is
 * its own, CLOCK_MONOTONIC.
 */
bool crash_parse(const void *bytes, size_t size, struct crash *crash);

/*
 * Of the text of /proc/PID/task/TID/stat: its instruction pointer, which is 0 but while it dumps
 * core.
 */
uint64_t crash_address(const char *stat);

#endif /* FLOWTAP_DAEMON_CRASH_H */
