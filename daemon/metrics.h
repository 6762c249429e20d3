/* SPDX-License-Identifier: GPL-2.0-only */
/* What flowtapd counts, as OpenMetrics text (version 1.0.0). */
#ifndef FLOWTAP_DAEMON_METRICS_H
#define FLOWTAP_DAEMON_METRICS_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "governor.h"

#define METRICS_TYPE "application/openmetrics-text; version=1.0.0; charset=utf-8"

/* Of one CPU, since the start. */
struct metrics_cpu {
	uint32_t cpu;
	uint64_t bytes;				/* in segments: records and trace */
	uint64_t records;
	uint64_t lost_bytes[FLOWTAP_CAUSE_MAX];	/* as far as they are counted */
	uint64_t losses[FLOWTAP_CAUSE_MAX];	/* how often */
	uint64_t ring_size;			/* bytes */
	uint64_t ring_high;			/* most that waited at once */
};

struct metrics {
	const char *version;
	const char *source;			/* "ctr", "ete", "soft" */
	const struct metrics_cpu *cpus;
	size_t n_cpus;
	uint64_t share;				/* the governor's, millionths */
	uint64_t duty;				/* the part of the time that is recorded, millionths */
	uint64_t moves[GOVERNOR_CAUSES];	/* of it */
	uint64_t own_cpu;			/* ns of CPU time, without that of after_cpu */
	uint64_t after_cpu;			/* of children that packed and decoded, and of copying images */
	uint64_t resident;			/* bytes, without the rings */
	uint64_t full;				/* ns in which no segment could be written */
	uint64_t disk_slow;			/* ns that the disk was waited for, a second and more each */
	uint64_t segments;			/* finished since the start */
	uint64_t segments_unfinished;		/* that ended, and are not finished now */
	uint64_t segments_deleted;
	uint64_t segments_bytes;		/* that there are now, on the disk */
	uint64_t snapshots;
	uint64_t packed;			/* segments, since the start */
	uint64_t decoded;
	uint64_t decode_failed;
	uint64_t decode_skipped;
	uint64_t decode_waiting;		/* segments */
	uint64_t decode_lag;			/* ns: how old the oldest of these is */
	uint64_t images_saved;			/* files, since the start */
	uint64_t images_missing;
	uint64_t images_waiting;
	uint64_t images_bytes;			/* of all that are there, on the disk */
	uint64_t sideband_lost;			/* mappings and tasks that nobody knows of */
};

/* 0; -EIO: the stream has an error. */
int metrics_write(FILE *file, const struct metrics *metrics);

#endif /* FLOWTAP_DAEMON_METRICS_H */
