/* SPDX-License-Identifier: GPL-2.0-only */
/* Who pays for the rings: mlock_kb of each user first, then the process's RLIMIT_MEMLOCK. */
#ifndef FLOWTAP_CHARGE_H
#define FLOWTAP_CHARGE_H

#include <linux/types.h>

struct mm_struct;
struct payer;

struct charge {
	struct payer *payer;
	struct mm_struct *mm;		/* holds its struct, not its memory */
	unsigned long free_pages;	/* of the user's allowance */
	unsigned long locked_pages;	/* of RLIMIT_MEMLOCK */
	u32 cpu;
};

/*
 * Charges the calling process for a stream on this CPU. 0, -EPERM (over the limit), -EMFILE (too many
 * streams), -ENOMEM.
 */
int charge_pages(struct charge *charge, unsigned long pages, u32 cpu);
void charge_return(struct charge *charge);

/*
 * Charges the calling user for a set of tasks, for as long as there is one. ERR_PTR: -EMFILE (too many
 * sets), -ENOMEM.
 */
struct payer *charge_set(void);
void charge_set_return(struct payer *payer);
/* For a task in one of his sets: false, he has too many. Any context. */
bool charge_task(struct payer *payer, bool unlimited);
void charge_task_return(struct payer *payer);

#endif /* FLOWTAP_CHARGE_H */
