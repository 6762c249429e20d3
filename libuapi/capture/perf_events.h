/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * perf's software dummy event: mappings and tasks as they come, from one ring for each CPU. CPUs
 * that come online later are not covered.
 */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_PERF_EVENTS_H
#define FLOWTAP_LIBUAPI_CAPTURE_PERF_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/sideband_write.h"
#include <sys/types.h>

struct flowtap_perf;

/*
 * Opens the events, disabled, for all tasks (n 0) or for each thread of n processes and what these
 * start (threads; with inherit processes too). 0; -EACCES, -EPERM: not allowed; -ENOSYS, -ENOENT:
 * this kernel has no perf events; -EMFILE; -ESRCH: no such process; another -errno.
 */
int flowtap_perf_open(const pid_t *pids, size_t n, bool inherit, struct flowtap_perf **perf);
int flowtap_perf_enable(struct flowtap_perf *perf);
/* At most n; returns how many there are. */
int flowtap_perf_fds(const struct flowtap_perf *perf, int *fds, int n);
/* Moves what waits into the archive; adds to *lost. 0 or -errno of the archive. */
int flowtap_perf_drain(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
		       uint64_t *lost);
/*
 * The same, and asks each event what it has lost of which no record has told yet: at the end of an
 * archive. What is told here is not told again when its record comes.
 */
int flowtap_perf_drain_all(struct flowtap_perf *perf, const struct flowtap_sideband_sink *out,
			   uint64_t *lost);
void flowtap_perf_close(struct flowtap_perf *perf);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_PERF_EVENTS_H */
