/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/flowtap: opening it, asking what each CPU has, and saying what is wrong. */
#ifndef DEVICE_H
#define DEVICE_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DEVICE_PATH "/dev/flowtap"

/* A descriptor or -errno. */
int device_open(void);

/*
 * FLOWTAP_IOC_CONFIGURE: 0 or -errno. Where the CPU is held by a process that has ended, or that cannot
 * be seen, it is tried again for up to 5 s: the kernel may take a moment to close what was that one's.
 */
int device_configure(int fd, struct flowtap_configure *configure);

/* What each CPU has, by number; *queries, malloc'ed, has *n. 0 or -errno of the first query. */
int device_query(uint32_t want, struct flowtap_query **queries, size_t *n);

/* One line on why device_open failed, and in fix (of `room` bytes) what to do. */
const char *device_open_problem(int error, char *fix, size_t room);

/* A line on why a CPU without source has none. */
const char *device_reason(const struct flowtap_query *query);

/* "'flowtap' (PID 42)" of who holds the CPU's source, buffer of 64 bytes; NULL: nobody to be seen. */
const char *device_holder(const struct flowtap_query *query, char *buffer);

/*
 * A process is a flowtapd: its systemd unit, such as "flowtapd.service", or "" where it is of none;
 * buffer of 64 bytes. NULL: it is none, as far as it says itself.
 */
const char *device_daemon(const struct flowtap_query *query, char *buffer);

/* "0", "0-3", "0,2-3" of the CPUs that `wanted` says; room for 128 bytes, cut with "...". */
const char *device_cpus(const struct flowtap_query *queries, size_t n,
			bool (*wanted)(const struct flowtap_query *query), char *buffer);

#endif /* DEVICE_H */
