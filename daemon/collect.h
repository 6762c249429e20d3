/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What flowtapd takes from the machine: rings of all CPUs, the side band, the kernel's code, into
 * one archive after the other. Each archive is whole by itself.
 */
#ifndef FLOWTAP_DAEMON_COLLECT_H
#define FLOWTAP_DAEMON_COLLECT_H

#include <flowtap/sideband.h>
#include <stdbool.h>
#include <stdint.h>

#include "../tools/recording/kernel_recorder.h"
#include "../tools/recording/options.h"
#include "../tools/recording/streams.h"
#include "conf.h"
#include "images.h"
#include "metrics.h"

/* What of the memory budget is for who is there; a gap marks what has no space as lost. */
#define COLLECT_KEEP(budget) ((budget) / 8 * 3)

struct collect {
	const struct conf *conf;
	struct images *images;		/* borrowed, hears what is mapped; NULL none */
	struct record_options options;
	struct streams streams;
	struct flowtap_sideband *sideband;
	struct flowtap_kernel_follower kernel;
	struct flowtap_archive_writer *writer;	/* of the archive that is being written; NULL none */
	struct flowtap_archive_writer *next;	/* of the one that is prepared; NULL none */
	bool enabled;
	bool looked;			/* at the kernel's code, since it was enabled */
	uint64_t began;			/* when it was begun, CLOCK_MONOTONIC_RAW */
	uint64_t first;			/* bytes that it began with */
	uint64_t paused;		/* since when no archive takes anything; 0: one does */
	uint64_t advanced;		/* when the side band was, the last time */
	bool saves;			/* what the rings that overwrite have goes into this archive */
	struct metrics_cpu *cpus;	/* of each stream */
	struct flowtap_stats *stats;	/* as they were when the archive began */
	uint64_t records, lost;		/* of the archive that was ended last */
	char gap[96];			/* a line for the next archive's INFO: what is missing before it */
};

/*
 * Opens and configures; nothing is recorded yet. The conf is borrowed; ->images stays as it is. 0
 * or -errno, after a complaint with its fix.
 */
int collect_open(struct collect *collect, const struct conf *conf);
/*
 * The file that the next collect_begin goes on with; the fd is borrowed until the one after that, or
 * collect_end. 0; -ENOMEM: there is none, and what is being written goes on.
 */
int collect_prepare(struct collect *collect, int fd);
/*
 * Into the file that was prepared from now on: the first one, or the next one, after what waits is
 * in the one before and that one is ended. Nothing is recorded until the next collect_switch_on. 0 or
 * -errno of either archive, not complained about: then nothing is written any more until the next
 * call.
 */
int collect_begin(struct collect *collect);
/*
 * Rings that overwrite: what they have goes into the archive that is being written, when the next
 * collect_begin or collect_end ends it, and the trigger says why. text: any. 0 or -errno of the
 * archive.
 */
int collect_trigger(struct collect *collect, const struct flowtap_archive_trigger *trigger,
		    const char *text);
/* Whether anything is recorded; off at first. 0 or -errno, after a complaint. */
int collect_switch_on(struct collect *collect, bool on);
/* Waits for at most timeout_ms until something is to be done. As flowtap_drain_wait. */
int collect_wait(struct collect *collect, int timeout_ms);
/* Another fd that it waits for. 0 or -ENOMEM. After the first collect_begin. */
int collect_watch(struct collect *collect, int fd);
/* Starts to write what waits into the archive. 0 or -errno of it. */
int collect_take(struct collect *collect);
/* The conf's budget of the CPU is another one. */
void collect_limit(struct collect *collect);
/* Bytes of the archive that is being written. */
uint64_t collect_size(const struct collect *collect);
/* Fills collect->cpus; returns how many. */
size_t collect_measure(struct collect *collect);
/* Recording ends, and the archive. 0 or -errno of it. */
int collect_end(struct collect *collect);
/*
 * The same until the next collect_begin, without a file to write to: what the archive did not
 * take waits in the rings, and the roster still follows who is there.
 */
int collect_pause(struct collect *collect);
/* Records in the rings of streams that are off. */
uint64_t collect_waiting(const struct collect *collect);
void collect_close(struct collect *collect);

#endif /* FLOWTAP_DAEMON_COLLECT_H */
