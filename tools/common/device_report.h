/* SPDX-License-Identifier: GPL-2.0-only */
/* /dev/flowtap: saying what is wrong with it, and who has it. */
#ifndef FLOWTAP_TOOLS_COMMON_DEVICE_REPORT_H
#define FLOWTAP_TOOLS_COMMON_DEVICE_REPORT_H

#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* flowtap_device_query, for those whose tests have a device of their own in its place. */
int device_query(uint32_t want, struct flowtap_query **queries, size_t *n);

/* One line on why flowtap_device_open failed, and in fix (of `capacity` bytes) what to do. */
const char *device_open_problem(int error, char *fix, size_t capacity);

/* A line on why a CPU without source has none. */
const char *device_reason(const struct flowtap_query *query);

/*
 * "'flowtap' (PID 42)" of who holds the CPU's source, buffer of 64 bytes; NULL: nobody to be seen.
 */
const char *device_holder(const struct flowtap_query *query, char *buffer);

/*
 * A process is a flowtapd: its systemd unit, such as "flowtapd.service", or "" where it is of none;
 * buffer of 64 bytes. NULL: it is none, as far as it says itself.
 */
const char *device_daemon(const struct flowtap_query *query, char *buffer);

/*
 * "0", "0-3", "0,2-3" of the CPUs that `wanted` says, which gets `like`; buffer of 128 bytes, cut with
 * "...".
 */
const char *device_cpus(const struct flowtap_query *queries, size_t n,
			bool (*wanted)(const struct flowtap_query *query,
				       const struct flowtap_query *like),
			const struct flowtap_query *like, char *buffer);

#endif /* FLOWTAP_TOOLS_COMMON_DEVICE_REPORT_H */
