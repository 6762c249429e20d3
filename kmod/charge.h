/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who pays for the rings: mlock_kb of each user first, then the process's RLIMIT_MEMLOCK, as perf does. What
 * is closed is paid for until it is freed, which takes some time: see charge_closing.
 */
#ifndef FLOWTAP_CHARGE_H
#define FLOWTAP_CHARGE_H

#include <linux/types.h>

struct mm_struct;
struct payer;

struct charge {
	struct payer *payer;
	struct mm_struct *mm;		/* holds its struct, not its memory */
	unsigned long free_pages;	/* of the user's allowance */
	unsigned long locked_pages;	/* of RLIMIT_MEMLOCK: mm->pinned_vm */
	u32 cpu;
	bool closing;
};

/*
 * Charges the calling process for a stream on this CPU. 0, -EPERM (over the limit), -EMFILE (too many
 * streams), -ENOMEM.
 */
int charge_pages(struct charge *charge, unsigned long pages, u32 cpu);
void charge_return(struct charge *charge);
/* What this pays for is closed, and charge_return will follow. */
void charge_closing(struct charge *charge);
/*
 * Waits until all that the calling user has closed is given back. False: that was so already, or there is
 * a fatal signal. May sleep for some grace periods.
 */
bool charge_wait(void);

/*
 * Charges the calling user for a set of tasks, for as long as there is one. ERR_PTR: -EMFILE (too many
 * sets), -ENOMEM.
 */
struct payer *charge_set(void);
void charge_set_return(struct payer *payer);
/* For a task in one of his sets: false, he has too many. Any context. */
bool charge_task(struct payer *payer, bool unlimited);
void charge_task_return(struct payer *payer);
/* Whether he may have as many more, for now. */
bool charge_has_room(const struct payer *payer, unsigned int tasks);

#endif /* FLOWTAP_CHARGE_H */
