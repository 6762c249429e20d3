/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who pays for the rings: mlock_kb of each user first, then the process's RLIMIT_MEMLOCK, as perf
 * does. What is closed is paid for until it is freed, which takes some time: see charge_closing().
 */
#ifndef FLOWTAP_KMOD_CHARGE_H
#define FLOWTAP_KMOD_CHARGE_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif

struct mm_struct;
struct flowtap_payer;

/**
 * struct flowtap_charge - what a stream is charged for
 */
struct flowtap_charge {
	/** @payer: the user; NULL: nothing is charged. */
	struct flowtap_payer *payer;
	/** @mm: the process that @locked_pages count for: holds its struct, not its memory. */
	struct mm_struct *mm;
	/** @free_pages: of the user's allowance. */
	unsigned long free_pages;
	/** @locked_pages: of RLIMIT_MEMLOCK: mm->pinned_vm. */
	unsigned long locked_pages;
	/** @cpu: the stream's. */
	u32 cpu;
	/** @closing: charge_closing() was called. */
	bool closing;
};

/**
 * charge_pages() - charge the calling process for a stream
 * @charge: zeroed; without a payer after an error.
 * @pages: of the ring, its control page and the AUX area.
 * @cpu: the stream's.
 *
 * Context: process context, may sleep.
 * Return: 0; -EPERM: over the limit; -EMFILE: too many streams on this CPU; -ENOMEM.
 */
int charge_pages(struct flowtap_charge *charge, unsigned long pages, u32 cpu);

/**
 * charge_return() - give back what charge_pages() has charged, if anything
 * @charge: what it pays for is freed.
 *
 * Context: may sleep.
 */
void charge_return(struct flowtap_charge *charge);

/**
 * charge_closing() - let charge_wait() know that charge_return() follows
 * @charge: what it pays for is closed.
 *
 * Context: any.
 */
void charge_closing(struct flowtap_charge *charge);

/**
 * charge_wait() - wait until all that the calling user has closed is given back
 *
 * Context: process context; may sleep for some grace periods.
 * Return: true: it is worth another try; false: nothing was closing, or there is a fatal signal.
 */
bool charge_wait(void);

/**
 * charge_set() - charge the calling user for a set of tasks
 *
 * The charge lasts until charge_set_return().
 *
 * Context: process context, may sleep.
 * Return: the user; ERR_PTR(-EMFILE): too many sets; ERR_PTR(-ENOMEM).
 */
struct flowtap_payer *charge_set(void);

/**
 * charge_set_return() - end what charge_set() has begun
 * @payer: from charge_set(). No task of the set is charged any more.
 *
 * Context: may sleep.
 */
void charge_set_return(struct flowtap_payer *payer);

/**
 * charge_task() - charge a user for one more member of a set
 * @payer: whose set it is.
 * @unlimited: the limit does not hold for this set.
 *
 * Context: any.
 * Return: false: the user has too many, nothing is charged.
 */
bool charge_task(struct flowtap_payer *payer, bool unlimited);

/**
 * charge_task_return() - end what charge_task() has begun
 * @payer: the same.
 *
 * Context: any.
 */
void charge_task_return(struct flowtap_payer *payer);

/**
 * charge_allows() - whether a user may have more members
 * @payer: the user.
 * @tasks: how many more.
 *
 * Context: any.
 * Return: they are within the limit, for now: somebody else may use it up.
 */
bool charge_allows(const struct flowtap_payer *payer, unsigned int tasks);

#endif /* FLOWTAP_KMOD_CHARGE_H */
