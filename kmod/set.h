/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of tasks. Members come and go under `lock` and are read under RCU from the scheduler's hooks.
 * What a member says of its task (sequence, loss, runs ...) belongs to the CPU on which that task runs.
 */
#ifndef FLOWTAP_SET_H
#define FLOWTAP_SET_H

#include <linux/rhashtable-types.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/flowtap.h>

struct flowtap_event;
struct payer;

#define SET_MAX		32768
#define SET_HISTORIES	1024		/* tasks of a set that have one; others lose theirs */

struct flowtap_member {
	struct rhash_head node;		/* in set->table */
	struct list_head link;		/* in set->members */
	struct task_struct *task;	/* referenced: the pointer stays unique */
	u64 sequence;
	u64 since;			/* end of the last sample, or when tracing began */
	u64 switches;			/* of the task, when it last left a CPU of the group */
	u32 disables;			/* group->disables when it last came onto one */
	u32 loss;			/* causes since the last sample */
	u32 nr;				/* in history: kept when it last left, to be put back */
	u32 room;
	struct flowtap_entry *history;	/* oldest first; behind this structure, or NULL */
	u64 control;			/* of the stream that recorded history */
	struct flowtap_event *event;	/* that which triggers for it; under set->lock */
	u32 tid;			/* in AUX records: an exec may change it */
	bool ran;			/* switches and disables are valid */
	u32 gaps_written;		/* the causes in loss that a GAP record names; of pieces */
	u64 displaced_since;		/* 0 no GAP record is to tell of it; xchg, cmpxchg */
	bool displaced;			/* and a GAP record has told so */
	bool started;			/* an ITRACE_START record has told so */
	bool ended;			/* what it had is to be told; before `gone` */
	bool gone;			/* removed; smp_store_release */
	bool uncounted;			/* no event can be made */
	struct rcu_head rcu;
};

struct flowtap_set {
	raw_spinlock_t lock;
	struct rhashtable table;	/* members by task; changed under lock, RCU */
	struct list_head members;	/* oldest first; the same */
	struct payer *payer;		/* whoever made it */
	bool unlimited;			/* he may have as many members as he likes */
	bool any;			/* there has been a member */
	u32 count;			/* members */
	u32 depth;			/* entries of a history, 0: none are kept */
};

/*
 * The calling user's, who pays for it. depth: transfers that are kept for each task while it is off the
 * CPU. -errno.
 */
int set_init(struct flowtap_set *set, u32 depth);
/* Nobody finds it any more; its members go with the next grace period. */
void set_free(struct flowtap_set *set);

/* Under RCU; NULL: the task is none. */
struct flowtap_member *set_find(struct flowtap_set *set, const struct task_struct *task);
/* Calls `function` for each member. Any context. */
void set_each(struct flowtap_set *set, void (*function)(struct flowtap_member *member, void *argument),
	      void *argument);

/* One for set_insert; kfree where that fails. NULL: no memory. */
struct flowtap_member *set_new_member(const struct flowtap_set *set, struct task_struct *task, gfp_t gfp);
/* Under lock and RCU. 1; -ENOSPC: a limit; -ENOMEM. */
int set_insert(struct flowtap_set *set, struct flowtap_member *member);
/* Under lock. ended: see there. */
void set_remove(struct flowtap_set *set, struct flowtap_member *member, bool ended);
/* That was removed: it goes when no CPU has it any more. */
void set_release(struct flowtap_member *member);

static inline u64 set_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/* On its CPU: its task leaves, or runs on unrecorded. */
static inline void set_member_left(struct flowtap_member *member)
{
	member->switches = set_switches(member->task);
	member->ran = true;
}

/* On its CPU, that has just come onto it: it has been on another one since. */
static inline bool set_member_ran(const struct flowtap_member *member)
{
	return member->switches != set_switches(member->task);
}

#endif /* FLOWTAP_SET_H */
