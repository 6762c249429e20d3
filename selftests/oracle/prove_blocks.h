/* SPDX-License-Identifier: GPL-2.0-only */
/* One sample against the drain that it was made of. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_PROVE_BLOCKS_H
#define FLOWTAP_SELFTESTS_ORACLE_PROVE_BLOCKS_H

#include "check.h"

/* The samples of one tid, or, of a CPU-wide stream, of one CPU. */
struct chain {
	struct archive *archive;
	bool cpu_wide;
	uint32_t pid;
	uint32_t tid;			/* or the CPU */
	uint32_t task;			/* NO_TASK: not known yet */
	uint64_t from, until;		/* times of its samples */
	bool any;			/* there was a sample: */
	uint64_t sequence;		/* of the newest */
	uint64_t in_task, in_hart;	/* how far it reaches */
	uint64_t control;
	uint64_t user;			/* instructions that the task had executed in user mode */
	uint64_t run;			/* contiguous samples up to it */
};

struct run {
	struct check *check;
	const struct samples *samples;
	struct machine machine;
	struct chain *chains;
	size_t n_chains, room_chains;
	uint64_t others;		/* mismatches of no sample */
	/* What is being compared. */
	const struct sample *sample;
	const struct drain *drain;
};

/* Counts a mismatch; true if it is to be told, and then where it is has been. */
bool mismatch(struct run *run);
void tell(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define wrong(run, ...) do { if (mismatch(run)) tell((run)->check, "  " __VA_ARGS__); } while (0)

/* Whether run->sample can be of run->drain. */
bool prove_fits(const struct run *run);
/* ... though something in it is wrong. */
bool prove_resembles(const struct run *run);

/* Compares all of it. 0; -ENOMEM. */
int prove_sample(struct run *run);

/* prove_blocks_flow.c: its flow; *match has what was found of it, zero where it has no blocks. */
void prove_flow(struct run *run, struct flow_match *match);

/* After the last sample: are tids and tasks one to one, is whole what has to be. */
void prove_end(struct run *run);

#endif /* FLOWTAP_SELFTESTS_ORACLE_PROVE_BLOCKS_H */
