/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Side band: who ran which code where. perf's software dummy event on every CPU gives MMAP2 with
 * build-id, COMM, FORK and EXIT by CLOCK_MONOTONIC_RAW; what was there before comes from /proc.
 * Where perf_event_paranoid denies the event, /proc is polled instead (short-lived mappings can
 * be missed: flowtap_sideband_polled says so). Everything goes into an archive.
 */
#ifndef FLOWTAP_SIDEBAND_H
#define FLOWTAP_SIDEBAND_H

#include <flowtap/archive.h>
#include <stdbool.h>
#include <sys/types.h>

struct flowtap_sideband;

struct flowtap_sideband_options {
	pid_t pid;		/* the process (and, with inherit, what it forks); 0: all */
	bool inherit;
	bool stopped;		/* attached to a child that has not executed yet */
};

/* Borrows writer. Opens events disabled on each CPU. 0; -ENOMEM; -errno only where polling is no way out. */
int flowtap_sideband_open(const struct flowtap_sideband_options *options,
			  struct flowtap_archive_writer *writer, struct flowtap_sideband **sideband);
/* Starts the events, then synthesises what is there: tasks, mappings, vdso bytes. 0 or -errno. */
int flowtap_sideband_start(struct flowtap_sideband *sideband);
/* fds to poll, at most n; returns how many there are. */
int flowtap_sideband_fds(const struct flowtap_sideband *sideband, int *fds, int n);
/* Moves what waits into the archive (and polls /proc in that mode). 0 or -errno of the archive. */
int flowtap_sideband_drain(struct flowtap_sideband *sideband);
bool flowtap_sideband_polled(const struct flowtap_sideband *sideband);
uint64_t flowtap_sideband_lost(const struct flowtap_sideband *sideband);
void flowtap_sideband_free(struct flowtap_sideband *sideband);

#endif /* FLOWTAP_SIDEBAND_H */
