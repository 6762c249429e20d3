/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A set of tasks. Members come and go under `lock` and are read under RCU from the scheduler's
 * hooks. What a member says of its task (sequence, loss, runs ...) belongs to the CPU on which that
 * task runs.
 */
#ifndef FLOWTAP_KMOD_SET_H
#define FLOWTAP_KMOD_SET_H

#include <linux/pid.h>
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

struct flowtap_event;
struct flowtap_payer;
struct flowtap_set_table;

#define SET_MAX		32768
#define SET_HISTORIES	1024		/* tasks of a set that have one; others lose theirs */

/**
 * struct flowtap_member - a task of a set, and what is known of it there
 */
struct flowtap_member {
	/** @links: on chains of set->table, and of the one that replaces it. */
	struct hlist_node links[2];
	/** @link: in set->members. */
	struct list_head link;
	/** @task: referenced: the pointer stays unique. */
	struct task_struct *task;
	/** @sequence: of its last sample or AUX record; jumps by one more at a loss. */
	u64 sequence;
	/** @since: end of the last sample, or when tracing began. */
	u64 since;
	/** @switches: of the task, when it last left a CPU of the group. */
	u64 switches;
	/** @disables: group->disables when it last came onto one. */
	u32 disables;
	/** @loss: bits 1 << FLOWTAP_CAUSE_: causes since the last sample. */
	u32 loss;
	/** @nr: entries in history: kept when it last left, to be put back. */
	u32 nr;
	/** @capacity: entries that history can hold. */
	u32 capacity;
	/** @history: oldest first; after this structure, or NULL. */
	struct flowtap_entry *history;
	/** @control: of the stream that recorded history. */
	u64 control;
	/** @data: the bits of ctrdata that the CPU had which did. */
	u64 data;
	/** @event: that which triggers for it; set under set->lock, cleared by cmpxchg too. */
	struct flowtap_event *event;
	/** @number: the task's, where all are seen, when it was last recorded; 0: never yet. */
	pid_t number;
	/** @ran: switches and disables are valid. */
	bool ran;
	/** @gaps_written: the causes in loss that a GAP record names; of pieces. */
	u32 gaps_written;
	/** @displaced_since: of pieces; 0: no GAP record is to be written; xchg, cmpxchg. */
	u64 displaced_since;
	/** @displaced: of samples: it is, and a GAP record says so. */
	bool displaced;
	/** @started: an ITRACE_START record says so. */
	bool started;
	/** @ended: what it had is to be written; before @gone. */
	bool ended;
	/** @gone: removed; smp_store_release. */
	bool gone;
	/** @uncounted: no event can be made, and a GAP record says so. */
	bool uncounted;
	/** @rcu: it is freed after a grace period. */
	struct rcu_head rcu;
};

/**
 * struct flowtap_set - tasks
 */
struct flowtap_set {
	/** @lock: taken with interrupts off, also from the hooks. */
	raw_spinlock_t lock;
	/** @table: members by task; replaced under @lock, RCU. */
	struct flowtap_set_table __rcu *table;
	/** @growth: replaces it by a larger one. */
	struct work_struct growth;
	/** @members: oldest first; the same. */
	struct list_head members;
	/** @payer: the user who made it. */
	struct flowtap_payer *payer;
	/** @unlimited: that user may have as many members as he likes. */
	bool unlimited;
	/** @any: there has been a member. */
	bool any;
	/** @count: members. */
	u32 count;
	/** @depth: entries of a history, 0: none are kept. */
	u32 depth;
};

/**
 * set_init() - initialize an empty set; the calling user pays for it
 * @set: zeroed.
 * @depth: entries that are kept for each task while it is off the CPU; 0: none.
 *
 * Context: process context, may sleep.
 * Return: 0; -ENOMEM; -EMFILE: the user has too many sets.
 */
int set_init(struct flowtap_set *set, u32 depth);

/**
 * set_free() - free all but the structure itself
 * @set: nobody finds it any more; its members go with the next grace period.
 *
 * Context: may sleep.
 */
void set_free(struct flowtap_set *set);

/**
 * set_find() - find a task's member
 * @set: the set.
 * @task: any task.
 *
 * Context: any, under RCU.
 * Return: the member; NULL: the task has none.
 */
struct flowtap_member *set_find(struct flowtap_set *set, const struct task_struct *task);

/**
 * set_each() - call a function for each member, under RCU
 * @set: the set.
 * @function: does not sleep.
 * @argument: passed on to it.
 *
 * Context: any.
 */
void set_each(struct flowtap_set *set,
	      void (*function)(struct flowtap_member *member, void *argument), void *argument);

/**
 * set_new_member() - allocate a member for set_insert()
 * @set: the set, not locked.
 * @task: whose member; gets its reference from set_insert().
 * @gfp: of the allocation; where memory is short the member has no history.
 *
 * Context: as @gfp allows.
 * Return: the member, to be freed by kfree() where it is not inserted; NULL: no memory.
 */
struct flowtap_member *set_new_member(const struct flowtap_set *set, struct task_struct *task,
				      gfp_t gfp);

/**
 * set_insert() - put a member into its set
 * @set: the set.
 * @member: of set_new_member(); its task has none in the set.
 *
 * Context: set->lock and RCU; set_grow() is to follow without the lock.
 * Return: 1; -ENOSPC: a limit.
 */
int set_insert(struct flowtap_set *set, struct flowtap_member *member);

/**
 * set_grow() - let the set's table grow, if it is too small; it does so later
 * @set: the set, not locked.
 *
 * Context: any, under RCU.
 */
void set_grow(struct flowtap_set *set);

/**
 * set_remove() - take a member out of its set; set_release() is to follow
 * @set: the set.
 * @member: in the set.
 * @ended: see struct flowtap_member.
 *
 * Context: set->lock.
 */
void set_remove(struct flowtap_set *set, struct flowtap_member *member, bool ended);

/**
 * set_release() - free a member after a grace period
 * @member: removed; no CPU holds its source for it any more.
 *
 * Context: any.
 */
void set_release(struct flowtap_member *member);

/**
 * set_switches() - how often a task has left a CPU
 * @task: any task.
 *
 * Context: any.
 * Return: its context switches, voluntary or not.
 */
static inline u64 set_switches(const struct task_struct *task)
{
	return task->nvcsw + task->nivcsw;
}

/**
 * set_member_left() - record that a task leaves its CPU, or runs on unrecorded
 * @member: the task's.
 *
 * Context: the task's CPU, interrupts off.
 */
static inline void set_member_left(struct flowtap_member *member)
{
	member->switches = set_switches(member->task);
	member->ran = true;
}

/**
 * set_member_ran() - whether a task has run elsewhere since set_member_left()
 * @member: the task's, which has just come onto this CPU.
 *
 * Context: the task's CPU, interrupts off.
 * Return: it has been on a CPU since.
 */
static inline bool set_member_ran(const struct flowtap_member *member)
{
	return member->switches != set_switches(member->task);
}

/**
 * set_member_renamed() - whether a task has another number than when it was last recorded
 * @member: the task's, which is about to be recorded.
 *
 * A thread that executes a program takes its process's first thread's number, with what was recorded
 * of that before.
 *
 * Context: the task's CPU, interrupts off.
 * Return: it has; that is reported once.
 */
static inline bool set_member_renamed(struct flowtap_member *member)
{
	pid_t before = member->number;

	member->number = task_pid_nr(member->task);
	return before && before != member->number;
}

#endif /* FLOWTAP_KMOD_SET_H */
