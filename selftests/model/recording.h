/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What flowtap record wrote, held against the model's execution log with LOG_TIME and LOG_STAY: the
 * flow of several CPUs and tasks, and the gaps in it. recording.c reads the archive's records,
 * recording_flow.c the flow, recording_losses.c compares what is missing with the gaps.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_RECORDING_H
#define FLOWTAP_SELFTESTS_MODEL_RECORDING_H

#include <flowtap/archive.h>
#include <linux/flowtap.h>
#include <stdio.h>

#include "judge.h"

#define RECORDING_CPUS	8
#define RECORDING_MARKS	255	/* tasks that the log's items are marked with: the others share */

/* Clocks are read one after the other, and rounded. */
#define RECORDING_SLACK	2000	/* ns */

struct recording_gap {
	uint32_t cpu;
	uint32_t tid;
	uint32_t cause;
	uint64_t since;
	uint64_t until;
	uint64_t size;		/* bytes; FLOWTAP_UNKNOWN */
	bool told;		/* of a record: the flow has it */
	/* What of the log is in it. */
	uint64_t losses;
	uint64_t bytes;		/* LOG_LOST */
	uint64_t missing;	/* instructions that were traced and are not in the flow */
	uint64_t untraced;	/* instructions at EL0 that were not traced */
	uint64_t stays;		/* at EL0 that were not traced */
	uint64_t exceptions;	/* from EL0 that were traced and are not in the flow */
	uint64_t stops;		/* of the trace buffer */
};

struct recording_piece {
	uint32_t cpu;
	uint32_t tid;
	uint64_t since;
	uint64_t until;
};

struct recording_fork {
	uint32_t parent;	/* tid */
	uint32_t child;
	uint64_t time;
	bool thread;
};

struct recording_task {
	uint32_t tid;
	uint64_t first;		/* of its pieces and gaps, or when it was forked and followed, ns */
	uint64_t time;		/* of its last piece in the flow */
	uint64_t ticks;		/* its last timestamp */
	bool started;		/* the flow has its gap `start` */
	uint32_t cpu;		/* of that, then of its last piece */
	bool before;		/* it executed before the recording began */
	uint64_t executed;	/* instructions at EL0, by the log, from `first` on */
	uint64_t decoded;
	uint64_t missing;
};

struct recording {
	/* Of the archive. */
	uint64_t frequency;
	int64_t offset;		/* ns = ticks * 10^9 / frequency + offset */
	bool has_offset;
	uint32_t modes;
	bool wide;
	bool inherit;		/* what the traced ones fork is traced */
	uint64_t begin, end;	/* ns */
	uint64_t cpu_begin[RECORDING_CPUS], cpu_end[RECORDING_CPUS];
	struct recording_gap *records;	/* GAP */
	size_t nrecords;
	struct recording_piece *pieces;	/* AUX */
	size_t npieces;
	struct recording_fork *forks;
	size_t nforks;
	struct recording_task *tasks;
	size_t ntasks;
	uint64_t followed;	/* of them: forked by a traced one */
	/* Of the log. */
	struct history *histories[RECORDING_CPUS];
	struct judge judges[RECORDING_CPUS];
	uint8_t *covered[RECORDING_CPUS];
	bool begun[RECORDING_CPUS];
	bool started[RECORDING_CPUS];	/* wide: the flow has the CPU's gap `start` */
	/* Of the flow. */
	struct recording_gap *gaps;
	size_t ngaps;
	uint64_t lines;
	uint64_t sessions;
	uint64_t recorder;	/* gaps where the module itself ran */
	uint64_t starts;	/* gaps `start` */
	uint64_t moves;		/* a task's piece on another CPU than the one before */
	/* Results. */
	uint64_t losses;	/* of the log, each in one gap */
	uint64_t idle;		/* gaps for which the log has no more than that the buffer stopped */
	uint64_t executed, decoded, missing;	/* instructions at EL0 of the traced tasks */
	bool failed;
	char message[400];
};

/* The first difference is kept. False. */
bool recording_fail(struct recording *recording, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Its records. 0; a negative errno, told in message. */
int recording_read(struct recording *recording, const char *path);
/* One of them (recording_read does it for all), aligned. 0 or -ENOMEM. */
int recording_take(struct recording *recording, uint32_t cpu, const struct flowtap_record *record,
		   size_t size);
/* The side band's events (likewise): who is forked by whom. 0 or -ENOMEM. */
int recording_take_task(struct recording *recording, const struct flowtap_archive_task *task);
/*
 * After all records, events, query and configuration are taken. What traced tasks forked is to be
 * traced then, whether the archive has anything of it or not.
 */
void recording_complete(struct recording *recording);
void recording_free(struct recording *recording);

uint64_t recording_ns(const struct recording *recording, uint64_t ticks);
/* NULL: none. */
struct recording_task *recording_task(struct recording *recording, uint32_t tid);
uint8_t recording_mark(const struct recording *recording, uint32_t tid);

/* Holds the flow against the histories. 0; -EIO; -EBADMSG: a line that is none; failed is told in
 * recording. */
int recording_flow(struct recording *recording, FILE *flow);
/* What the flow lacks against its gaps. */
void recording_losses(struct recording *recording);

#endif
