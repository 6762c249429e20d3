/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Proves archives against the oracle log of the run they come from.
 *
 * Each drain of the CTR buffer in the log is one sample of the CPU's ring, in order; or one that
 * the ring lost and the statistics count; or was put aside for a task. For each sample:
 *
 * - the raw entries are what the registers held: transfers that the log says were made, in that
 *   order, with source, target and type as the specification has them for that sctrctl, none of
 *   another task, and none missing in between or at the end; nothing is in two samples;
 * - the flow that the library decodes is what the log says was executed, each instruction by
 *   address, opcode and mode, without a hole that it does not tell, up to where it was stopped;
 * - a call stack (RASEMU) is the top of the calls of the task that have not returned;
 * - all of it ran as one task, always the same for a tid, with the sctrctl that the sample says;
 * - a sample that claims to be contiguous with the one before is, transfer by transfer;
 * - no address is in the range that its archive forbids;
 * - where an archive must be whole, its samples hold every transfer of its tasks.
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_CHECK_H
#define FLOWTAP_SELFTESTS_ORACLE_CHECK_H

#include "samples.h"

struct check_counts {
	struct machine_counts log;
	uint64_t harts;
	uint64_t samples;
	uint64_t lost;			/* drains whose sample the ring lost */
	uint64_t saved;			/* drains that were put aside */
	uint64_t contiguous;		/* samples that claim to follow the one before */
	uint64_t transfers;		/* compared, raw */
	uint64_t kernel_transfers;	/* of them, from or to the kernel */
	uint64_t callstacks;		/* compared */
	uint64_t frames;		/* in them */
	uint64_t reconstructed;		/* instructions of the flow that are in the log */
	uint64_t user;			/* of them, in user mode */
	uint64_t complete;		/* executed in user mode, in S and U recorded without a loss */
	uint64_t skipped;		/* executed after a trap and before the next transfer */
	uint64_t hidden;		/* executed, but the flow says that it lacks the code */
	uint64_t across_exec;		/* samples of more than one address space */
	uint64_t tasks;
	uint64_t whole;			/* tasks none of whose transfers is missing */
	uint64_t mismatches;
};

struct check {
	const char *prefix;		/* of the log */
	void (*tell)(struct check *check, const char *line);	/* a mismatch, line by line */
	unsigned int tell_most;		/* mismatches told of each archive, the others are counted */
	uint32_t cpu_of[MACHINE_HARTS];	/* hart to CPU */
	struct check_counts counts;	/* out */
};

/*
 * samples have been sorted. 0: look at counts.mismatches; below 0 with *why: the log could not be
 * read, or does not fit the samples at all.
 */
int check_run(struct check *check, const struct samples *samples, const char **why);

#endif /* FLOWTAP_SELFTESTS_ORACLE_CHECK_H */
