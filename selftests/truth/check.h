/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proves archives against the truth log of the run they come from.
 *
 * Each drain of the CTR buffer in a hart's log is one sample of the CPU's ring, in order (or one
 * that the ring lost and the statistics count). For each:
 *
 * - the raw entries are exactly the newest transfers that the log says CTR must have recorded
 *   since the buffer was cleared: source, target, type, number;
 * - the flow that the library decodes is what the log says was executed, each instruction by
 *   address and opcode, without a hole that it does not tell, up to the interrupted instruction;
 * - all of it ran as one task, always the same for a tid, with the sctrctl that the sample says;
 * - a sample that claims to be contiguous with the one before is;
 * - no address is in the range that its archive forbids.
 */
#ifndef TRUTH_CHECK_H
#define TRUTH_CHECK_H

#include "samples.h"
#include "steps.h"

#define CHECK_HARTS 16

struct check_counts {
	struct steps_counts log;	/* of all harts */
	uint64_t harts;
	uint64_t samples;
	uint64_t lost;			/* drains whose sample the ring lost */
	uint64_t contiguous;		/* samples that claim to follow the one before */
	uint64_t transfers;		/* compared, raw */
	uint64_t reconstructed;		/* instructions of the flow that are in the log */
	uint64_t skipped;		/* executed after a trap and before the next transfer */
	uint64_t hidden;		/* executed, but the flow says that it lacks the code */
	uint64_t across_exec;		/* samples of more than one address space */
	uint64_t tasks;
	uint64_t mismatches;
};

struct check {
	const char *prefix;		/* of the log */
	void (*tell)(struct check *check, const char *line);	/* a mismatch, line by line */
	unsigned int tell_most;		/* mismatches told, the others are counted only */
	struct check_counts counts;	/* out */
	int cpu_of[CHECK_HARTS];	/* out: hart to CPU, -1 none */
};

/*
 * samples have been sorted. 0: look at counts.mismatches; below 0 with *why: the log could not be
 * read, or does not fit the samples at all.
 */
int check_run(struct check *check, const struct samples *samples, const char **why);

#endif /* TRUTH_CHECK_H */
