/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording_test.c changes and compares. */
#ifndef FLOWTAP_SELFTESTS_MODEL_RECORDING_SCENE_H
#define FLOWTAP_SELFTESTS_MODEL_RECORDING_SCENE_H

#include <flowtap/archive.h>
#include <inttypes.h>
#include <linux/flowtap.h>
#include <stdbool.h>

#define SCENE_LINES	200
#define SCENE_RECORDS	32
#define SCENE_FORKS	8
#define SCENE_BLOCK	3	/* instructions, that each line of the flow has */
/* Nanoseconds as the flow has them. */
#define SCENE_TIME	"%" PRIu64 ".%09" PRIu64
#define SCENE_SECONDS(ns)	(uint64_t)(ns) / 1000000000, (uint64_t)(ns) % 1000000000

union record {
	struct flowtap_record header;
	struct flowtap_record_aux aux;
	struct flowtap_record_gap gap;
	struct flowtap_record_clock clock;
};

struct scene {
	char lines[SCENE_LINES][160];	/* of the flow */
	unsigned int n;
	union record records[SCENE_RECORDS];
	unsigned int nrecords;
	struct flowtap_archive_task forks[SCENE_FORKS];
	unsigned int nforks;
	bool inherit;			/* it was recorded so */
};

extern struct scene oracle;

/* Thread 11 is 10's; it forked process 12, and that has a thread 13. Of those all is lost. */
#define SCENE_CHILD	12
#define SCENE_THREAD	13

/* Writes the log of CPUs 0 and 1, and fills `oracle`. Ends the program where that cannot be. */
void scene_make(const char *prefix);

#define SCENE_STAY	4	/* blocks of a stay at EL0 */
#define SCENE_WAITS	12	/* of one of which all waits for a Commit */

/* The same of pieces in which the trace unit overflows after so many stays that wait for a Commit. */
void scene_make_overflows(const char *prefix, unsigned int stays);

#endif
