/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task set: whom the streams of one group trace, or with FLOWTAP_EXCLUDE do not. Shared by the
 * streams, owned by none: it goes with the last of them.
 *
 * Members come and go under `lock` and are read under RCU from the scheduler's hooks. What a member
 * says of its task (sequence, loss, runs ...) belongs to the CPU on which that task runs.
 */
#ifndef FLOWTAP_TASKS_H
#define FLOWTAP_TASKS_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

struct flowtap_event;
struct payer;
struct stream;
struct task_struct;

#define TASKS_MAX	32768
#define TASKS_HISTORIES	1024		/* tasks of a set that have one; others lose theirs */

struct flowtap_member {
	struct rhash_head node;		/* in tasks->table */
	struct list_head link;		/* in tasks->members */
	struct task_struct *task;	/* referenced: the pointer stays unique */
	u64 sequence;
	u64 since;			/* end of the last sample, or when tracing began */
	u64 switches;			/* of the task, when it last left a CPU of the group */
	u32 disables;			/* tasks->disables when it last came onto one */
	u32 loss;			/* causes since the last sample */
	u32 nr;				/* in history: kept when it last left, to be put back */
	u32 room;
	struct flowtap_entry *history;	/* oldest first; behind this structure, or NULL */
	u64 control;			/* of the stream that recorded history */
	struct flowtap_event *event;		/* that which triggers for it; under tasks->lock */
	u32 tid;			/* in AUX records: an exec may change it */
	bool ran;			/* switches and disables are valid */
	u32 told;			/* of loss, by GAP records; of pieces alone, as displaced_since */
	u64 displaced_since;		/* 0 no GAP record is to tell of it; xchg, cmpxchg */
	bool displaced;			/* and a GAP record has told so */
	bool started;			/* an ITRACE_START record has told so */
	bool ended;			/* what it had is to be told; before `gone` */
	bool gone;			/* removed; smp_store_release */
	bool uncounted;			/* no event can be made */
	struct rcu_head rcu;
};

struct tasks {
	refcount_t references;
	struct list_head link;		/* in the list of all sets, RCU */
	struct list_head streams;	/* changed under group_lock, RCU */
	struct mutex group_lock;	/* adding, removing, event list */
	raw_spinlock_t lock;
	struct rhashtable table;	/* members by task; changed under lock, RCU */
	struct list_head members;	/* oldest first; the same */
	struct list_head events;	/* struct flowtap_event, under group_lock */
	struct work_struct work;	/* requests; events are made and released */
	struct list_head requests;	/* under lock, see request.h */
	u32 n_requests;
	u64 key;			/* by which BPF programs name it; 0: nobody has asked */
	struct payer *payer;		/* whoever made it */
	bool unlimited;			/* he may have as many members as he likes */
	u32 count;			/* members */
	u32 depth;			/* entries of a history, 0: none are kept */
	u32 disables;			/* how often a stream was disabled */
	bool any;			/* there has been a member */
	bool pieces;			/* its source has a collector */
	bool displacements;		/* somebody may have a displaced_since */
	bool privileged;		/* may follow set-uid programs */
	bool exec_pending;		/* the next exec enables the group */
	struct flowtap_configure configure;	/* the leader's: event, period, modes, flags */
	struct rcu_head rcu;
};

/*
 * The calling user's, who pays for it. depth: transfers that are kept for each task while it is off the
 * CPU. ERR_PTR(-errno).
 */
struct tasks *tasks_new(const struct flowtap_configure *configure, u32 depth);
void tasks_get(struct tasks *tasks);
/* True: nobody has it any more, and tasks_free is to follow, a grace period later. */
bool tasks_put(struct tasks *tasks);
/* May sleep: releases events. */
void tasks_free(struct tasks *tasks);

/* Those in the set are the ones who are not recorded. */
static inline bool tasks_exclude(const struct tasks *tasks)
{
	return tasks->configure.flags & FLOWTAP_EXCLUDE;
}

/* Tasks of the set have events of their own. */
static inline bool tasks_count(const struct tasks *tasks)
{
	return tasks->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW && !tasks_exclude(tasks);
}

/* --- members.c --- */

/* A process (with its threads) or one thread; number of threads or -errno. */
int tasks_add(struct tasks *tasks, u32 pid, bool thread);
int tasks_remove(struct tasks *tasks, u32 pid, bool thread);
/*
 * The same for the process of a task that the caller has a reference to, by his rights. asked: whether
 * it is to be there, as is known under tasks->lock; where that has changed, nothing is done any more.
 */
int tasks_add_process(struct tasks *tasks, struct task_struct *task, const bool *asked);
int tasks_remove_process(struct tasks *tasks, struct task_struct *task, const bool *asked);

/* --- tasks.c, for those: asked may be NULL --- */

/*
 * parent: whom it follows, or NULL; one that is not in the set any more is not followed. Nobody's
 * rights are asked for. 1: added; 0: there already, or not to be; -ECANCELED: not asked for any more;
 * -errno.
 */
int tasks_insert(struct tasks *tasks, struct task_struct *parent, struct task_struct *task,
		 const bool *asked, gfp_t gfp);
/*
 * Takes a task out from outside; false: it was not there, or is to be. One that has ended is told of
 * first, what others have is dropped. Under group_lock.
 */
bool tasks_evict(struct tasks *tasks, struct task_struct *task, const bool *asked, bool ended);
/*
 * A thread, or the process of one, may be the set's now, or not any more: where it can run, who runs is
 * looked at. Under group_lock.
 */
void tasks_reconsider(struct tasks *tasks, struct task_struct *task, bool thread);

/*
 * Of the current task, or of one that has not run yet: atomic, interrupts on, under RCU. Nobody's
 * rights are asked for. 0, -ENOMEM or -ENOSPC.
 */
int tasks_add_here(struct tasks *tasks, struct task_struct *task);
int tasks_remove_here(struct tasks *tasks, struct task_struct *task);
/* The worker will look: atomic, under RCU. */
void tasks_work(struct tasks *tasks);
/* The set's key, made when it is asked for; an open stream asks. -EPERM. */
int tasks_key(struct tasks *tasks, u64 *key);
/* Its last stream closes: nobody finds it by its key any more. */
void tasks_forget_key(struct tasks *tasks);
/* Under RCU; NULL: none has it. */
struct tasks *tasks_by_key(u64 key);

/* Under RCU. */
struct flowtap_member *tasks_find(struct tasks *tasks, const struct task_struct *task);
bool tasks_ended(const struct tasks *tasks);
/* Calls `function` for each member. Any context. */
void tasks_each(struct tasks *tasks, void (*function)(struct flowtap_member *member, void *argument),
		void *argument);

/* From the tracepoints, for every set. */
void tasks_forked(struct task_struct *parent, struct task_struct *child);
void tasks_executed(struct task_struct *task, bool secure);
void tasks_exited(struct task_struct *task);

#endif /* FLOWTAP_TASKS_H */
