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
	bool leads;
};

/*
 * Charges the calling process for a stream on this CPU; leads: with a set of tasks of its own. 0,
 * -EPERM (over the limit), -EMFILE (too many streams or sets), -ENOMEM.
 */
int charge_pages(struct charge *charge, unsigned long pages, u32 cpu, bool leads);
void charge_return(struct charge *charge);

#endif /* FLOWTAP_CHARGE_H */
