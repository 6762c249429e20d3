/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task set: whom the streams of one group trace. Shared by the streams, owned by none: it goes
 * with the last of them.
 *
 * entries is changed under `lock` and read under RCU from the scheduler's hooks. What an entry
 * says of its task (sequence, loss, runs ...) belongs to the CPU on which that task runs.
 */
#ifndef FLOWTAP_TASKS_H
#define FLOWTAP_TASKS_H

#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

struct perf_event;
struct stream;
struct task_struct;

#define TASKS_MAX	32768
#define TASKS_BITS	8
#define TASKS_HISTORIES	1024		/* tasks of a set that have one; others lose theirs */

struct entry {
	struct hlist_node node;
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
	bool ran;			/* switches and disables are valid */
	bool displaced;			/* and a GAP record has told so */
	bool gone;			/* removed; READ_ONCE, WRITE_ONCE */
	struct rcu_head rcu;
};

struct tasks {
	refcount_t references;
	struct list_head link;		/* in the list of all sets, RCU */
	struct list_head streams;	/* changed under group_lock, RCU */
	struct mutex group_lock;	/* adding, removing, event list */
	raw_spinlock_t lock;
	DECLARE_HASHTABLE(entries, TASKS_BITS);
	struct list_head events;	/* struct event, under group_lock */
	struct work_struct recount;	/* tasks that perf has taken their events off get new ones */
	u32 count;			/* entries */
	u32 depth;			/* entries of a history, 0: none are kept */
	u32 disables;			/* how often a stream was disabled */
	bool any;			/* there has been an entry */
	bool privileged;		/* may follow set-uid programs */
	bool exec_pending;		/* the next exec enables the group */
	struct flowtap_configure configure;	/* the leader's: event, period, modes, flags */
	struct rcu_head rcu;
};

/* depth: transfers that are kept for each task while it is off the CPU. NULL: no memory. */
struct tasks *tasks_new(const struct flowtap_configure *configure, u32 depth);
void tasks_get(struct tasks *tasks);
/* May sleep: releases events. */
void tasks_put(struct tasks *tasks);

/* A process (with its threads) or one thread; number of threads or -errno. */
int tasks_add(struct tasks *tasks, u32 pid, bool thread);
int tasks_remove(struct tasks *tasks, u32 pid, bool thread);

/* Under RCU. */
struct entry *tasks_find(struct tasks *tasks, const struct task_struct *task);
bool tasks_ended(const struct tasks *tasks);

/* From the tracepoints, for every set. */
void tasks_forked(struct task_struct *parent, struct task_struct *child);
void tasks_executed(struct task_struct *task, bool secure);
void tasks_exited(struct task_struct *task);

#endif /* FLOWTAP_TASKS_H */
