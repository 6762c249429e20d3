// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts pages by user under a lock and by process as perf does; an open can wait for memory that
 * is about to be freed.
 *
 * The host's unit tests run this file with users of their own.
 */
#ifdef __KERNEL__
#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/resource.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/user_namespace.h>
#include <linux/wait.h>
#endif

#include "charge.h"

static unsigned int mlock_kb = 516;
module_param(mlock_kb, uint, 0644);
MODULE_PARM_DESC(mlock_kb,
		 "KiB of rings each user has for each CPU before RLIMIT_MEMLOCK is charged (516)");

struct flowtap_payer {
	struct list_head link;
	kuid_t uid;
	unsigned long pages;
	unsigned int charges;
	unsigned int sets;
	unsigned int waiting;		/* callers of charge_wait */
	atomic_t closing;		/* charges that will be given back soon */
	atomic_t tasks;			/* in all of them */
	u16 streams[];			/* of each CPU */
};

/*
 * Without CAP_PERFMON: each stream is looked at whenever its CPU goes from task to task, each set
 * at each fork, exec and exit; each task in a set is memory.
 */
#define STREAMS_PER_CPU	64
#define SETS_PER_USER	64
#define TASKS_PER_USER	131072

static LIST_HEAD(payers);
static DEFINE_MUTEX(payers_lock);
static DECLARE_WAIT_QUEUE_HEAD(given_back);

static struct flowtap_payer *known_payer(kuid_t uid)
{
	struct flowtap_payer *payer;

	list_for_each_entry(payer, &payers, link)
		if (uid_eq(payer->uid, uid))
			return payer;
	return NULL;
}

/*
 * A user namespace has as many users as its owner was given subordinate numbers: they are charged to
 * whoever made it, the outermost one where there are several.
 */
static kuid_t payer_uid(void)
{
	const struct user_namespace *namespace = current_user_ns();
	kuid_t uid = current_uid();

	for (; namespace != &init_user_ns; namespace = namespace->parent)
		uid = namespace->owner;
	return uid;
}

/*
 * With payers_lock: the caller's, or NULL: no memory. That is not allocated with the lock, which
 * everybody needs who opens or closes: where his memory cgroup is full the caller may take his time.
 */
static struct flowtap_payer *lock_payer(void)
{
	const kuid_t uid = payer_uid();
	struct flowtap_payer *payer, *fresh;

	mutex_lock(&payers_lock);
	payer = known_payer(uid);
	if (payer)
		return payer;
	mutex_unlock(&payers_lock);
	fresh = kzalloc(struct_size(payer, streams, nr_cpu_ids), GFP_KERNEL_ACCOUNT);
	mutex_lock(&payers_lock);
	payer = known_payer(uid);
	if (payer) {
		kfree(fresh);
	} else if (fresh) {
		payer = fresh;
		payer->uid = uid;
		list_add(&payer->link, &payers);
	}
	return payer;
}

static void put_payer(struct flowtap_payer *payer)
{
	if (payer->charges || payer->sets || payer->waiting)
		return;
	list_del(&payer->link);
	kfree(payer);
}

/* Under payers_lock. What is beyond the free pages is the caller's to lock. */
static int charge_user(struct flowtap_charge *charge, struct flowtap_payer *payer,
		       unsigned long pages, u32 cpu)
{
	unsigned long allowed = ((u64)mlock_kb << 10 >> PAGE_SHIFT) * num_online_cpus();

	if (!payer)
		return -ENOMEM;
	if (payer->streams[cpu] >= STREAMS_PER_CPU && !perfmon_capable()) {
		put_payer(payer);
		return -EMFILE;
	}
	charge->free_pages = min(pages, allowed - min(allowed, payer->pages));
	charge->locked_pages = pages - charge->free_pages;
	payer->pages += charge->free_pages;
	payer->charges++;
	payer->streams[cpu]++;
	charge->cpu = cpu;
	charge->payer = payer;
	return 0;
}

static void give_back(struct flowtap_charge *charge)
{
	mutex_lock(&payers_lock);
	charge->payer->pages -= charge->free_pages;
	charge->payer->charges--;
	charge->payer->streams[charge->cpu]--;
	if (charge->closing && atomic_dec_and_test(&charge->payer->closing))
		wake_up_all(&given_back);
	put_payer(charge->payer);
	mutex_unlock(&payers_lock);
	charge->payer = NULL;
}

/*
 * As perf counts what it pins. (mm->locked_vm asks for the mmap_lock, which a thread of the caller
 * may keep for as long as it likes.)
 */
static bool pin(struct mm_struct *mm, unsigned long pages)
{
	unsigned long limit = rlimit(RLIMIT_MEMLOCK) >> PAGE_SHIFT;

	if (atomic64_add_return(pages, &mm->pinned_vm) <= limit || capable(CAP_IPC_LOCK))
		return true;
	atomic64_sub(pages, &mm->pinned_vm);
	return false;
}

int charge_pages(struct flowtap_charge *charge, unsigned long pages, u32 cpu)
{
	int error;

	error = charge_user(charge, lock_payer(), pages, cpu);
	mutex_unlock(&payers_lock);
	if (error)
		return error;
	if (charge->locked_pages && !pin(current->mm, charge->locked_pages)) {
		give_back(charge);
		return -EPERM;
	}
	charge->mm = current->mm;
	mmgrab(charge->mm);
	return 0;
}

void charge_return(struct flowtap_charge *charge)
{
	if (!charge->payer)
		return;
	atomic64_sub(charge->locked_pages, &charge->mm->pinned_vm);
	mmdrop(charge->mm);
	give_back(charge);
}

void charge_closing(struct flowtap_charge *charge)
{
	charge->closing = true;
	atomic_inc(&charge->payer->closing);
}

bool charge_wait(void)
{
	struct flowtap_payer *payer;
	bool closing;

	mutex_lock(&payers_lock);
	payer = known_payer(payer_uid());
	closing = payer && atomic_read(&payer->closing);
	if (closing)
		payer->waiting++;
	mutex_unlock(&payers_lock);
	if (!closing)
		return false;
	closing = !wait_event_killable(given_back, !atomic_read(&payer->closing));
	mutex_lock(&payers_lock);
	payer->waiting--;
	put_payer(payer);
	mutex_unlock(&payers_lock);
	return closing;
}

struct flowtap_payer *charge_set(void)
{
	struct flowtap_payer *payer = lock_payer();

	if (!payer) {
		payer = ERR_PTR(-ENOMEM);
	} else if (payer->sets >= SETS_PER_USER && !perfmon_capable()) {
		payer = ERR_PTR(-EMFILE);
	} else {
		payer->sets++;
	}
	mutex_unlock(&payers_lock);
	return payer;
}

void charge_set_return(struct flowtap_payer *payer)
{
	mutex_lock(&payers_lock);
	payer->sets--;
	put_payer(payer);
	mutex_unlock(&payers_lock);
}

bool charge_task(struct flowtap_payer *payer, bool unlimited)
{
	if (atomic_inc_return(&payer->tasks) <= TASKS_PER_USER || unlimited)
		return true;
	atomic_dec(&payer->tasks);
	return false;
}

void charge_task_return(struct flowtap_payer *payer)
{
	atomic_dec(&payer->tasks);
}

bool charge_allows(const struct flowtap_payer *payer, unsigned int tasks)
{
	return atomic_read(&payer->tasks) + tasks <= TASKS_PER_USER;
}
