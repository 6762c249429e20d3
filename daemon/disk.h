/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the disk keeps the daemon waiting: while it does, nobody empties the rings and nobody is
 * answered, so each such wait is counted and told.
 */
#ifndef FLOWTAP_DAEMON_DISK_H
#define FLOWTAP_DAEMON_DISK_H

#include <stdint.h>

/* Times: CLOCK_MONOTONIC_RAW, ns. All 0: nothing was waited for yet. */
struct disk {
	uint64_t began, cpu;	/* of the present wait, and this thread's CPU time then */
	uint64_t waited;	/* ns: all waits of a second and more */
	uint64_t untold;	/* ns: of these, those of which no event says */
	uint64_t times;		/* they are so many */
	uint64_t longest;	/* ns: and the longest of them */
	uint64_t silent;	/* until then there is no event */
};

/* What follows may wait for the disk, until disk_end. */
void disk_begin(struct disk *disk);
/*
 * It has ended. What the thread worked meanwhile is no waiting. The first wait of a second and more is
 * told now, what follows within a minute together when that is over.
 */
void disk_end(struct disk *disk);
/* No other follows: what was not told is. */
void disk_last(struct disk *disk);

/* Why no segment can be written, after this -errno: static. */
const char *disk_error(int error);

#endif /* FLOWTAP_DAEMON_DISK_H */
