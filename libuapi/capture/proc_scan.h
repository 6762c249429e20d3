/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The side band out of /proc: what is there when a recording starts, and, where perf's events are
 * not allowed, what has changed since the last look.
 *
 * Limits of looking again and again: what is mapped and unmapped between two looks is never seen;
 * what is seen is given the time of the look before, though it came later; a process that forks and
 * executes between two looks has only its new image. A process that is new is written as EXEC.
 * Descendants are found by their parents: what becomes a daemon (forks twice, and the one in the
 * middle ends) between two looks has none of ours, and is never found, nor are its own descendants.
 * Saved code is compared at each look: what is written and written back between two is not seen.
 */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_PROC_SCAN_H
#define FLOWTAP_LIBUAPI_CAPTURE_PROC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/sideband_write.h"
#include <sys/types.h>

struct flowtap_proc_scan;

/* The processes: all (n 0), or these and, with inherit, their descendants. NULL: no memory. */
struct flowtap_proc_scan *flowtap_proc_scan_new(const pid_t *pids, size_t n, bool inherit);
/* Part of a CPU that looks again and again may take: millionths; 0: a twentieth, as at first. */
void flowtap_proc_scan_limit(struct flowtap_proc_scan *scan, uint32_t share);
void flowtap_proc_scan_free(struct flowtap_proc_scan *scan);

/* The vdso, which is the same for all processes, from our own. 0 or -errno of the archive. */
int flowtap_proc_scan_vdso(const struct flowtap_sideband_sink *out);
/*
 * What is there now, with time 0: tasks by name, mappings, and the bytes of code that no path leads
 * to and nobody can write (at most 64 MiB together). quiet: only names. 0 or -errno.
 */
int flowtap_proc_scan_start(struct flowtap_proc_scan *scan, const struct flowtap_sideband_sink *out,
			    bool quiet);
/*
 * What is new since the last look; unless `at_once`, nothing if that is too recent to look again within
 * the limit; after ten seconds it is looked again in any case. 0 or -errno of the archive.
 */
int flowtap_proc_scan_again(struct flowtap_proc_scan *scan, const struct flowtap_sideband_sink *out,
			    bool at_once);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_PROC_SCAN_H */
