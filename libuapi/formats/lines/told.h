/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What lines of an execution trace tell becomes the flow: readers of such formats say which
 * instruction came, where a branch went, which exception was taken; this finds out what that means
 * for what is before it.
 *
 * The last instruction of each CPU is held back until it is known how it ended.
 */
#ifndef FLOWTAP_TOLD_H
#define FLOWTAP_TOLD_H

#include <flowtap/learned.h>
#include <flowtap/read.h>

#include "formats/lines/told_instruction.h"

#define TOLD_CPUS 256U
#define TOLD_NOTES 8U

/* What there is of one CPU. */
struct told_cpu {
	bool held;		/* `last` was not handed on yet */
	struct told_instruction last;
	bool sent;		/* what was handed on may still be said to be taken */
	bool next_known;
	uint64_t next;		/* where it goes on behind what was handed on */
	bool context_known;
	struct flowtap_context context;
	bool excepted;		/* an exception waits for what comes next: */
	struct flowtap_exception exception;
	unsigned int n_notes;		/* so do these, which say nothing of where it goes on */
	struct flowtap_element notes[TOLD_NOTES];
	bool timed;
	uint64_t time;		/* of the last line, in its unit */
	uint64_t base;		/* the last one that was told */
	bool time_waits;	/* to be told where a block ends */
	bool time_counts;	/* cycles */
	uint64_t nanoseconds;
};

struct told {
	struct flowtap_read *read;
	struct told_cpu *cpu;		/* the one that lines are of */
	struct told_cpu *cpus[TOLD_CPUS];
	bool in_order;			/* of lines, rather than to wait for where a CPU goes on */
	bool several;			/* CPUs: contexts say which */
	bool resumed;			/* another CPU than before: its context comes first */
	bool run;			/* blocks are not complete: no element may come */
};

/* 0 or -ENOMEM. */
int told_begin(struct told *told, struct flowtap_read *read);
void told_end(struct told *told);

/* Lines that follow are of this CPU. 0; -EINVAL: its number is too high; -ENOMEM; the sink's. */
int told_switch(struct told *told, uint32_t cpu);

/*
 * The line's time: nanoseconds if that is its unit, else it counts cycles. To be called before what
 * the line tells.
 */
void told_time(struct told *told, uint64_t time, bool counts, uint64_t nanoseconds);

/*
 * The instruction was executed in that mode and state. 0; -EILSEQ: the bytes are none; -EINVAL: the
 * address cannot be; -ENOMEM; the sink's.
 */
int told_instruction(struct told *told, const struct told_instruction *instruction, uint8_t mode,
		     uint8_t security);
/* Who executes what comes: pid, tid, vmid, contextid and cpu of it. */
void told_owner(struct told *told, const struct flowtap_context *context);
/* The last instruction transferred to here; behind an exception: its handler. */
void told_branch(struct told *told, uint64_t target);

struct told_exception {
	int number;		/* of ETE; -1 not known */
	bool exact;		/* that is said, not concluded */
	bool interrupt;		/* not by an instruction */
	bool own;		/* by the last instruction, */
	bool faults;		/* ... which did not complete, if it is no call */
	bool nowhere;		/* nothing is known of where it was taken */
	bool has_address;
	uint64_t address;	/* of the instruction that did not complete; else where it returns */
};

/* 0, -ENOMEM, the sink's. */
int told_exception(struct told *told, const struct told_exception *exception);
/* Any other element; the flow need not go on behind a gap. 0, -ENOMEM, the sink's. */
int told_element(struct told *told, const struct flowtap_element *element);
/* The end. */
int told_finish(struct told *told);

#endif /* FLOWTAP_TOLD_H */
