/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All harts of the log together, in the order of its stamps: what CTR's registers held, and for
 * each time that the driver took the entries out of a buffer (a drain) where they come from.
 *
 * A drain reads ctrsource, ctrtarget and ctrdata of entry 0, 1 and so on; reading one entry's
 * source alone is none. Either it became a sample, or it was put aside for the task (saved), whose
 * buffer is filled with it again when the task returns.
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_MACHINE_H
#define FLOWTAP_SELFTESTS_ORACLE_MACHINE_H

#include "history.h"
#include "reader.h"

#define MACHINE_HARTS 16
#define NO_TASK UINT32_MAX

enum step_kind {
	STEP_INSN,		/* completed, or an ecall or ebreak */
	STEP_TRAP,		/* pc: what executes after the return */
	STEP_BREAK,		/* something that was not recorded comes between */
};

struct step {
	uint64_t pc;
	uint32_t opcode;	/* INSN */
	uint8_t kind;
	bool recorded;		/* TRAP: it is an entry */
	bool interrupt;		/* TRAP */
};

/* What was executed while it was recorded, since the last sample. */
struct window {
	struct step *steps;
	size_t n, capacity;
	uint32_t task;		/* of the steps in user mode; NO_TASK: there were none */
	uint64_t satp;		/* 0: none */
	bool one_task, one_satp;
};

struct frame {
	uint64_t source, target;
	uint8_t type;
};

struct task {
	uint64_t pointer;
	struct history history;		/* in user mode */
	struct frame *stack;		/* its calls in user mode that have not returned */
	size_t frames, frames_capacity;
	uint64_t instructions;		/* in user mode */
	uint64_t began;			/* ... before it was recorded; UINT64_MAX: it never was */
	uint64_t began_at;		/* the history's length then */
	uint64_t satp;			/* of what was recorded at last in user mode */
	bool exits;			/* whoever has its pointer in user mode now is another: */
	uint32_t heir;			/* ... NO_TASK if it has not come yet */
	bool dropped;			/* entries were cleared away; whoever looks resets it */
	struct entry saved[CTR_ENTRIES];	/* the oldest first: */
	unsigned int n_saved;
	struct window saved_window;
};

/* What kernel and firmware executed, in the counts' order of log.h. */
struct oracle_cost {
	uint64_t kernel;
	uint64_t module;
	uint64_t machine;
};

/* Kernel instructions from one entry to the next. */
struct entry_cost {
	uint64_t pairs;			/* of consecutive accesses to ctrsource: */
	uint64_t kernel;
	uint64_t least;
	uint64_t most;
};

struct drain {
	unsigned int hart;
	size_t offset;			/* in the hart's log, for messages */
	const struct window *window;
	struct entry entries[CTR_ENTRIES]; /* the oldest first */
	unsigned int nr;
	unsigned int depth;
	uint64_t control;		/* sctrctl */
	uint32_t task;			/* that ran, or had run until a switch */
	bool unsure;			/* ... or has exited, and another with its pointer was in the kernel */
	uint64_t in_task, in_hart;	/* transfers that each had made when recording ended */
	uint64_t user;			/* instructions that the task has executed in user mode */
	bool by_overflow;		/* an LCOFI froze the buffer */
	bool by_breakpoint;		/* ... or a breakpoint before */
	bool from_user;			/* in user mode */
	uint64_t ip;			/* where */
	uint64_t user_pc;		/* what user mode was last left before, 0 never */
	bool ordered;			/* the indexes read ascend from 0 */
	bool again;			/* entries are in it that are in a sample already */
};

struct machine_counts {
	uint64_t instructions;	/* user mode, in the whole log */
	uint64_t kernel;	/* in the kernel, while it was recorded */
	uint64_t recorded;	/* all that was executed while it was recorded */
	uint64_t drains;	/* with entries */
	uint64_t entries;	/* in them */
	uint64_t restored;	/* entries that came back into a buffer */
	uint64_t strays;	/* windows with more than one task's steps in user mode */
	uint64_t samples;	/* drains by an LCOFI in user mode, whose cost is here: */
	struct oracle_cost cost; /* from LCOFI to the return to user mode */
	uint64_t entries_read;	/* in them */
	struct entry_cost read;	/* into a sample, or to be kept at a task switch */
	struct entry_cost put_back; /* at another */
	uint64_t interrupts;	/* of recorded programs, no counter's, without a write to CTR */
	uint64_t looked;	/* those in which one of its registers was read */
};

struct machine_hart {
	struct oracle_hart log;
	struct oracle_event event;	/* the next one */
	bool ended;
	bool dropped;			/* as a task's */
	struct ctr ctr;
	uint64_t satp;
	uint32_t task;			/* NO_TASK: not known yet */
	struct history history;
	struct window window;
	bool broken;			/* something came between that was not recorded */
	bool has_last;			/* the instruction before, whose successor is not known: */
	struct step last;
	bool last_recorded, last_taken;
	bool written;			/* software put entries in that have no origin yet */
	bool restored;			/* the window is joined to the one that was saved */
	bool froze, overflowed;		/* by a trap; the last one was an LCOFI: */
	bool froze_user;
	uint64_t froze_pc;
	bool froze_by_breakpoint;	/* the first one was */
	struct origin froze_at;		/* the first one */
	uint64_t user_pc;
	bool draining;
	unsigned int reads;
	bool whole;			/* targets were read, too */
	struct drain drain;
	bool costing;			/* since an LCOFI in user mode, without a task switch */
	struct oracle_cost costs;
	unsigned int costs_entries;
	uint64_t since_entry;		/* kernel instructions since an entry was read */
	bool putting;			/* entries back, one after the other */
	bool idle;			/* nothing was written since an interrupt, no counter's */
	bool looked;			/* ... but read */
};

struct machine {
	struct oracle_code code;
	struct machine_hart harts[MACHINE_HARTS];
	unsigned int n;
	unsigned int last_drained;	/* hart of the drain that machine_next gave */
	struct task *tasks;
	uint32_t n_tasks, tasks_capacity;
	struct machine_counts counts;
	const char *why;		/* after an error: a line for people, or NULL */
};

/* 0; -errno of open; -EBADMSG; -ENOMEM. */
int machine_open(struct machine *machine, const char *prefix);
void machine_close(struct machine *machine);

/*
 * The next drain: 1 and *drain, valid until the next call, which must come after either
 * machine_sampled or machine_saved; 0: no more; -EBADMSG and machine->why; -ENOMEM.
 */
int machine_next(struct machine *machine, const struct drain **drain);
void machine_sampled(struct machine *machine);
int machine_saved(struct machine *machine);

#endif /* FLOWTAP_SELFTESTS_ORACLE_MACHINE_H */
