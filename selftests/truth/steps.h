/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A hart's log as the driver's drains see it: for each drain of the CTR buffer, the instructions
 * that were executed while recording was on since the buffer had last been cleared. A drain reads
 * sctrstatus, then ctrsource of entry 0, 1 and so on; reading an entry alone is none.
 */
#ifndef TRUTH_STEPS_H
#define TRUTH_STEPS_H

#include <stdbool.h>

#include "reader.h"

enum step_kind {
	STEP_INSN,		/* completed, or an ecall or ebreak */
	STEP_TRAP,		/* recording modes were left; pc: what executes after the return */
	STEP_BREAK,		/* instructions that were not recorded come between */
};

struct step {
	uint64_t pc;
	uint32_t opcode;	/* INSN */
	uint8_t kind;
	bool recorded;		/* TRAP: CTR records it (STE, not the LCOFI that freezes) */
	bool interrupt;		/* TRAP */
};

/* What kernel and firmware executed, in the counts' order of log.h. */
struct truth_cost {
	uint64_t kernel;
	uint64_t module;
	uint64_t machine;
};

struct drain {
	const struct step *steps;	/* the last one is a TRAP, if there is any */
	size_t n;
	size_t offset;		/* in the hart's log, for messages */
	uint64_t control;	/* sctrctl */
	uint64_t task;		/* whose steps they are, 0 unknown */
	uint64_t satp;
	bool by_overflow;	/* an LCOFI froze the buffer */
	bool from_user;		/* ... in user mode */
	bool one_task;		/* all steps ran as `task` */
	bool one_satp;		/* ... in address space `satp` */
	bool ordered;		/* the indexes read ascend from 0 */
	bool lost;		/* `task` did things since its last drain here that are not in steps */
	uint32_t reads;		/* of ctrsource */
};

struct steps_counts {
	uint64_t instructions;	/* user mode, in the whole log */
	uint64_t recorded;	/* of them, while recording was on */
	uint64_t drains;
	uint64_t entries;	/* sireg reads */
	uint64_t uncleared;	/* drains after which user mode went on with the old entries */
	uint64_t strays;	/* times that recording went on into another task */
	uint64_t samples;	/* drains by an LCOFI in user mode, whose cost is here: */
	struct truth_cost cost;	/* from LCOFI to the return to user mode */
	uint64_t entries_read;	/* in them */
	uint64_t entry_pairs;	/* consecutive sireg reads: */
	uint64_t entry_cost;	/* kernel instructions from one to the next */
	uint64_t entry_least;
	uint64_t entry_most;
};

/* A task that ran on the hart. */
struct ran {
	uint64_t task;
	bool lost;		/* without being recorded, or what was recorded was cleared away */
};

struct steps {
	struct truth_hart hart;
	struct truth_event event;
	bool pending;		/* event is still to be taken */
	uint64_t control, satp, select;
	bool frozen, frozen_in_user;
	bool ran;		/* the event before was a run, whose last instruction: */
	struct step last;
	struct ran *tasks;
	size_t n_tasks, room_tasks;
	bool drained;		/* nothing was appended since the last drain */
	struct step *steps;	/* since the last SCTRCLR: */
	size_t n, room;
	uint64_t window_task, window_satp;
	bool one_task, one_satp;
	bool asked;		/* sctrstatus was read just before */
	bool draining;		/* from the first sireg read after that to the drain's end */
	struct drain drain;
	bool costing;		/* since an LCOFI in user mode, without a task switch */
	struct truth_cost cost;
	uint32_t cost_entries;
	struct steps_counts counts;
};

int steps_open(struct steps *steps, const struct truth_code *code, const char *prefix,
	       unsigned int hart);
/*
 * The next drain: 1 and *drain, valid until the next call; 0: no more; -EBADMSG: the log is
 * damaged or contradicts itself at steps->hart.offset; -ENOMEM.
 */
int steps_next(struct steps *steps, struct drain *drain);
void steps_close(struct steps *steps);

#endif /* TRUTH_STEPS_H */
