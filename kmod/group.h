/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A group: streams that share a set of tasks, whom they trace, or with FLOWTAP_EXCLUDE do not.
 * Owned by none of them: it goes with the last. Tasks are added and removed, fork, execute and exit;
 * streams are enabled and disabled: only here sets, streams and events meet.
 */
#ifndef FLOWTAP_KMOD_GROUP_H
#define FLOWTAP_KMOD_GROUP_H

#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <linux/flowtap.h>

#include "set.h"

struct flowtap_stream;
struct task_struct;

/**
 * struct flowtap_group - streams and their set
 */
struct flowtap_group {
	/** @references: of streams. */
	refcount_t references;
	/** @link: in the list of all groups, RCU. */
	struct list_head link;
	/** @lock: adding, removing, enabling; the lists of streams and events. */
	struct mutex lock;
	/** @streams: changed under @lock, RCU. */
	struct list_head streams;
	/** @set: the tasks. */
	struct flowtap_set set;
	/** @events: struct flowtap_event, under @lock. */
	struct list_head events;
	/** @n_events: how many they are. */
	u32 n_events;
	/** @look_at_events: at so many it is looked at which have ended. */
	u32 look_at_events;
	/** @work: serves @requests; events are made and released. */
	struct delayed_work work;
	/** @requests: under set.lock, see request.h. */
	struct list_head requests;
	/** @n_requests: how many they are. */
	u32 n_requests;
	/** @key: by which BPF programs name it; 0: nobody has asked. */
	u64 key;
	/** @disables: how often a stream was disabled. */
	u32 disables;
	/** @pieces: its source has a collector. */
	bool pieces;
	/** @displacements: somebody may have a displaced_since. */
	bool displacements;
	/** @privileged: it may follow set-uid programs. */
	bool privileged;
	/** @exec_pending: the next exec enables it. */
	bool exec_pending;
	/** @configure: the leader's: event, period, modes, flags. */
	struct flowtap_configure configure;
	/** @rcu: it is freed after a grace period. */
	struct rcu_head rcu;
};

/**
 * group_excludes() - whether the members of the set are the ones who are not recorded
 * @group: a group.
 *
 * Context: any.
 * Return: they are.
 */
static inline bool group_excludes(const struct flowtap_group *group)
{
	return group->configure.flags & FLOWTAP_EXCLUDE;
}

/**
 * group_counts() - whether tasks of the set have events of their own
 * @group: a group.
 *
 * Context: any.
 * Return: they have.
 */
static inline bool group_counts(const struct flowtap_group *group)
{
	return group->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW && !group_excludes(group);
}

/**
 * group_ended() - whether all members have ended or were removed: nothing more will come
 * @group: a group.
 *
 * Context: any.
 * Return: there has been a member and there is none; false with FLOWTAP_ENDLESS and CPU-wide.
 */
static inline bool group_ended(const struct flowtap_group *group)
{
	if (group->configure.flags & (FLOWTAP_ENDLESS | FLOWTAP_CPU_WIDE))
		return false;
	return READ_ONCE(group->set.any) && !READ_ONCE(group->set.count);
}

/**
 * group_new() - make a group without streams, and its empty set
 * @configure: the leader's. The calling user pays for the set.
 * @depth: transfers that are kept for each task while it is off the CPU; 0: none.
 * @work: the group's worker: group_serve().
 *
 * Context: process context, may sleep.
 * Return: the group, with one reference; ERR_PTR(-errno) of set_init().
 */
struct flowtap_group *group_new(const struct flowtap_configure *configure, u32 depth,
				work_func_t work);

/**
 * group_get() - take another reference, for a stream
 * @group: a group; the caller's reference lasts meanwhile.
 *
 * Context: any.
 */
void group_get(struct flowtap_group *group);

/**
 * group_put() - drop a reference
 * @group: a group.
 *
 * Context: process context.
 * Return: true: nobody has it any more, and group_free() is to follow, a grace period later.
 */
bool group_put(struct flowtap_group *group);

/**
 * group_free() - free a group, its set and its events
 * @group: one whose last group_put() is a grace period ago.
 *
 * Context: may sleep.
 */
void group_free(struct flowtap_group *group);

/* --- What a group is asked to do. --- */

/**
 * group_each() - enable or disable streams
 * @stream: the stream.
 * @all: all open streams of its group, not only this one.
 * @change: group_enable() or group_disable().
 *
 * What they do is done when this returns, on the streams' CPUs too.
 *
 * Context: may sleep; takes group->lock.
 */
void group_each(struct flowtap_stream *stream, bool all, void (*change)(struct flowtap_stream *));

/**
 * group_enable() - enable a stream, if it is not
 * @stream: open.
 *
 * Context: group_each(): group->lock.
 */
void group_enable(struct flowtap_stream *stream);

/**
 * group_disable() - disable a stream, and have it write what it still has to
 * @stream: open.
 *
 * Context: group_each(): group->lock.
 */
void group_disable(struct flowtap_stream *stream);

/* --- members.c --- */

/**
 * group_add() - add a process, with its threads, or one thread to a set
 * @group: whose set.
 * @pid: in the caller's PID namespace.
 * @thread: it is a thread's: that thread only.
 *
 * Context: process context, may sleep; takes group->lock.
 * Return: the number of threads that were added; -ESRCH: there is none, or none lives; -EPERM: see
 * rights_over(); -EINVAL: a kernel thread, or the group has no set of tasks; -ENOSPC: a limit;
 * -EINTR: a fatal signal; -ENOMEM; -errno of perf.
 */
int group_add(struct flowtap_group *group, u32 pid, bool thread);

/**
 * group_remove() - remove a process, with its threads, or one thread from a set
 * @group: as for group_add().
 * @pid: the same.
 * @thread: the same.
 *
 * Context: process context, may sleep; takes group->lock.
 * Return: the number of threads that were removed; -ESRCH: no such member; -EINVAL.
 */
int group_remove(struct flowtap_group *group, u32 pid, bool thread);

/**
 * group_serve() - serve the requests of a group, make its events and release them
 * @work: in a group.
 *
 * Context: the group's worker, by the worker's rights; may sleep; takes group->lock.
 */
void group_serve(struct work_struct *work);

/**
 * group_change() - add or remove a task, asked for by a program in the kernel
 * @group: whose set.
 * @task: the current one or a new one: that one is changed here and now. Of any other the whole
 *	process is, by a worker of the group, in the order of the calls.
 * @add: it is to be added, not removed.
 *
 * Context: preemption disabled, under RCU.
 * Return: 0; -EINVAL: a kernel thread; -ENOMEM; -ENOSPC.
 */
int group_change(struct flowtap_group *group, struct task_struct *task, bool add);

/* --- For members.c and request.c. --- */

/**
 * group_insert() - give a task a member; nobody's rights are asked for
 * @group: whose set.
 * @parent: whom it follows, or NULL. One that is not in the set any more is not followed.
 * @task: the task.
 * @asked: whether it is to be there, as is known under group->set.lock; NULL: it is.
 * @gfp: of the allocation.
 *
 * Context: as @gfp allows; takes group->set.lock.
 * Return: 1: added; 0: there already, or not followed; -ECANCELED: not asked for any more; -ENOMEM;
 * -ENOSPC.
 */
int group_insert(struct flowtap_group *group, struct task_struct *parent, struct task_struct *task,
		   const bool *asked, gfp_t gfp);

/**
 * group_evict() - take a task out of the set, from outside
 * @group: whose set.
 * @task: the task.
 * @asked: whether it is to be there, as is known under group->set.lock; NULL: it is not.
 * @ended: it has ended: what its streams hold of it becomes a last record, else it is dropped.
 *
 * Context: group->lock; interrupts on.
 * Return: false: it was not there, or is to be.
 */
bool group_evict(struct flowtap_group *group, struct task_struct *task, const bool *asked,
		 bool ended);

/**
 * group_reconsider() - have the CPUs where a task can run look who runs
 * @group: a thread, or the process of one, may be in its set from now on, or not any more.
 * @task: the thread.
 * @thread: that thread only.
 *
 * Context: group->lock; interrupts on.
 */
void group_reconsider(struct flowtap_group *group, struct task_struct *task, bool thread);

/**
 * group_add_here() - add a task from a hook; nobody's rights are asked for
 * @group: whose set.
 * @task: the current task, or one that has not run yet.
 *
 * Context: atomic, interrupts on, under RCU.
 * Return: 0; -ENOMEM; -ENOSPC.
 */
int group_add_here(struct flowtap_group *group, struct task_struct *task);

/**
 * group_remove_here() - remove a task from a hook
 * @group: whose set.
 * @task: the current task, or one that has not run yet.
 *
 * Context: atomic, interrupts on, under RCU.
 * Return: 0.
 */
int group_remove_here(struct flowtap_group *group, struct task_struct *task);

/**
 * group_work() - have the group's worker look: requests and events
 * @group: a group.
 *
 * Context: atomic, under RCU.
 */
void group_work(struct flowtap_group *group);

/**
 * group_key() - give a set the key by which BPF programs name it
 * @group: of an open stream, which asks.
 * @key: set to the key, made when it is asked for first; never 0.
 *
 * Context: process context.
 * Return: 0; -EPERM: the caller, or the group, lacks CAP_SYS_PTRACE.
 */
int group_key(struct flowtap_group *group, u64 *key);

/**
 * group_drop_key() - take the key away: nobody finds the set by it any more
 * @group: its last stream closes.
 *
 * Context: any.
 */
void group_drop_key(struct flowtap_group *group);

/**
 * group_by_key() - find the group whose set has a key
 * @key: the key; 0 is nobody's.
 *
 * Context: RCU.
 * Return: the group, for as long as RCU is held; NULL: none has it.
 */
struct flowtap_group *group_by_key(u64 key);

/* --- From the tracepoints, for every set. --- */

/**
 * group_forked() - add a new task to the sets that have its parent
 * @parent: the current task.
 * @child: has not run yet.
 *
 * A thread follows always, a process with FLOWTAP_INHERIT. Where there is no memory a GAP record
 * says so.
 *
 * Context: the fork hook, preemption disabled, interrupts on.
 */
void group_forked(struct task_struct *parent, struct task_struct *child);

/**
 * group_executes() - a member executes a program, and is as it was yet
 * @task: the current task. It gets its process's number where it has another one.
 *
 * Context: the hook before an exec, preemption disabled, interrupts on.
 */
void group_executes(struct task_struct *task);

/**
 * group_executed() - a member has executed a program
 * @task: the current task. It leaves each set that may not follow the program.
 * @secure: bprm->secureexec.
 *
 * Groups that wait for an exec are enabled.
 *
 * Context: the exec hook, preemption disabled, interrupts on.
 */
void group_executed(struct task_struct *task, bool secure);

/**
 * group_exited() - a task ends: it leaves all sets
 * @task: the current task.
 *
 * Context: the exit hook, preemption disabled, interrupts on.
 */
void group_exited(struct task_struct *task);

#endif /* FLOWTAP_KMOD_GROUP_H */
