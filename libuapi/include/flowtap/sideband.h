/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Side band: who ran which code where. perf's software dummy event on every CPU that is online
 * gives MMAP2 with build-id, COMM, FORK and EXIT by CLOCK_MONOTONIC_RAW; what was there before
 * comes from /proc, with time 0. Everything goes into an archive.
 *
 * Where perf_event_paranoid denies the event (or there are too few file descriptors for one per
 * thread and CPU), /proc is polled instead, at each drain but for no more than `poll_share` of the
 * CPU's time (every ten seconds in any case), and flowtap_sideband_polled says so. What is mapped and
 * unmapped between two looks is then missed, what is seen is given the time of the look before, and
 * the end of tasks is not recorded.
 *
 * Code that no path leads to (made at run time, of deleted files, of memfd) is saved as it is at
 * the start, at most 64 MiB and only where it is neither writable nor shared, as what is shared may
 * be written elsewhere; such code that comes later is not, unless /proc is polled: then at the next
 * look, and again at each look that finds it changed; from the look before that on it is not known
 * what it was. The vdso is saved once: it is the same for all processes of the same ABI as the
 * recorder.
 */
#ifndef FLOWTAP_SIDEBAND_H
#define FLOWTAP_SIDEBAND_H

#include <flowtap/archive.h>
#include <flowtap/address_map.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_sideband;

struct flowtap_sideband_options {
	/* Processes (and, with inherit, what they fork), read by open only; none: all there are. */
	const pid_t *pids;
	size_t n_pids;
	bool inherit;
	bool stopped;		/* attached to a child that has not executed yet */
	bool poll;		/* poll /proc even if events are allowed */
	uint32_t poll_share;	/* of a CPU, for polling: millionths; 0: a twentieth */
	/*
	 * Bytes in which to keep what is there now, for flowtap_sideband_switch; 0: it is not kept.
	 */
	size_t keep;
	/*
	 * Called for each mapping that goes into the archive, unless NULL; what it returns below 0
	 * ends whatever was called.
	 */
	int (*mapped)(void *argument, const struct flowtap_mapping *mapping);
	void *argument;
};

/*
 * Opens events, disabled, on each CPU. 0; -ENOMEM; -ESRCH: no such process; another
 * -errno only where polling does not help.
 */
int flowtap_sideband_open(const struct flowtap_sideband_options *options,
			  struct flowtap_sideband **sideband);
/*
 * Starts the events, then synthesises what is there: tasks, mappings, vdso bytes. All goes into the
 * archive of `writer`, which stays the caller's and lives as long as this. Start recording after that.
 * 0 or -errno.
 */
int flowtap_sideband_start(struct flowtap_sideband *sideband, struct flowtap_archive_writer *writer);
/*
 * fds to poll, at most n; returns how many there are. One that gives POLLHUP (its task has ended)
 * says nothing more; drain looks at all of them.
 */
int flowtap_sideband_fds(const struct flowtap_sideband *sideband, int *fds, int n);
/*
 * Moves what waits into the archive (and polls /proc in that mode). To be called at least several
 * times a second. 0 or -errno of the archive.
 */
int flowtap_sideband_drain(struct flowtap_sideband *sideband);
/*
 * The same, and /proc is looked at even if the last look was a moment ago, or perf's events are asked
 * for losses of which they have not told yet: after an exec of what is recorded, and when an archive
 * ends.
 */
int flowtap_sideband_look(struct flowtap_sideband *sideband);
/* Where /proc is polled: the -errno that perf's events failed with, 0 if nobody asked for them. */
int flowtap_sideband_denied(const struct flowtap_sideband *sideband);
/*
 * Between two archives: to be called after flowtap_sideband_drain, when nothing that is recorded
 * from now on is from before `time` (CLOCK_MONOTONIC_RAW), which is before that drain. Lets memory
 * go; often.
 */
void flowtap_sideband_advance(struct flowtap_sideband *sideband, uint64_t time);
/*
 * From now on into another archive, which gets first who is there and with which code, since the
 * last flowtap_sideband_advance. /proc is read anew where it is polled, and where events were lost
 * since it was read last or `keep` had no space for something: then the archive has a LOST block.
 * NULL: there is none for now, but what happens is kept for the next one. 0; -EINVAL: options.keep
 * was 0; -errno of the new archive, into which all goes nevertheless.
 */
int flowtap_sideband_switch(struct flowtap_sideband *sideband,
			    struct flowtap_archive_writer *writer);
/* Another poll_share, from the next look at /proc on. */
void flowtap_sideband_limit(struct flowtap_sideband *sideband, uint32_t poll_share);
/* Whether /proc is polled, with the limits above. */
bool flowtap_sideband_polled(const struct flowtap_sideband *sideband);
/*
 * Events that were lost, and those for which `keep` had no space, so far; an archive has a LOST
 * block for each time it happened, and one at its beginning for what is missing from before it.
 */
uint64_t flowtap_sideband_lost(const struct flowtap_sideband *sideband);
void flowtap_sideband_free(struct flowtap_sideband *sideband);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_SIDEBAND_H */
