/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to groups: tasks are added and removed, fork, execute and exit; streams are enabled
 * and disabled. Only here sets, streams and events meet.
 */
#ifndef FLOWTAP_KMOD_SESSION_H
#define FLOWTAP_KMOD_SESSION_H

#include <linux/flowtap.h>

struct group;
struct stream;
struct task_struct;

/**
 * session_new() - make a group without streams, and its empty set
 * @configure: the leader's. The calling user pays for the set.
 * @depth: transfers that are kept for each task while it is off the CPU; 0: none.
 *
 * Context: process context, may sleep.
 * Return: the group, with one reference; ERR_PTR(-errno) of set_init().
 */
struct group *session_new(const struct flowtap_configure *configure, u32 depth);

/**
 * session_get() - take another reference, for a stream
 * @group: a group; the caller's reference lasts meanwhile.
 *
 * Context: any.
 */
void session_get(struct group *group);

/**
 * session_put() - drop a reference
 * @group: a group.
 *
 * Context: process context.
 * Return: true: nobody has it any more, and session_free() is to follow, a grace period later.
 */
bool session_put(struct group *group);

/**
 * session_free() - free a group, its set and its events
 * @group: one whose last session_put() is a grace period ago.
 *
 * Context: may sleep.
 */
void session_free(struct group *group);

/* --- What a group is asked to do. --- */

/**
 * session_each() - enable or disable streams
 * @stream: the stream.
 * @all: all open streams of its group, not only this one.
 * @change: session_enable() or session_disable().
 *
 * What they do is done when this returns, on the streams' CPUs too.
 *
 * Context: may sleep; takes group->lock.
 */
void session_each(struct stream *stream, bool all, void (*change)(struct stream *));

/**
 * session_enable() - enable a stream, if it is not
 * @stream: open.
 *
 * Context: session_each(): group->lock.
 */
void session_enable(struct stream *stream);

/**
 * session_disable() - disable a stream, and have it write what it still has to
 * @stream: open.
 *
 * Context: session_each(): group->lock.
 */
void session_disable(struct stream *stream);

/* --- members.c --- */

/**
 * session_add() - add a process, with its threads, or one thread to a set
 * @group: whose set.
 * @pid: in the caller's PID namespace.
 * @thread: it is a thread's: that thread only.
 *
 * Context: process context, may sleep; takes group->lock.
 * Return: the number of threads that were added; -ESRCH: there is none, or none lives; -EPERM: see
 * rights_over(); -EINVAL: a kernel thread, or the group has no set of tasks; -ENOSPC: a limit;
 * -EINTR: a fatal signal; -ENOMEM; -errno of perf.
 */
int session_add(struct group *group, u32 pid, bool thread);

/**
 * session_remove() - remove a process, with its threads, or one thread from a set
 * @group: as for session_add().
 * @pid: the same.
 * @thread: the same.
 *
 * Context: process context, may sleep; takes group->lock.
 * Return: the number of threads that were removed; -ESRCH: no such member; -EINVAL.
 */
int session_remove(struct group *group, u32 pid, bool thread);

/**
 * session_add_process() - session_add() of the process of a task
 * @group: whose set.
 * @task: referenced by the caller.
 * @asked: whether it is to be there, as is known under group->set.lock; where that has changed,
 *	nothing is done any more.
 *
 * Context: the group's worker, by the worker's rights; may sleep; takes group->lock.
 * Return: as session_add().
 */
int session_add_process(struct group *group, struct task_struct *task, const bool *asked);

/**
 * session_remove_process() - session_remove() of the process of a task
 * @group: whose set.
 * @task: referenced by the caller.
 * @asked: as for session_add_process().
 *
 * Context: the group's worker; may sleep; takes group->lock.
 * Return: as session_remove().
 */
int session_remove_process(struct group *group, struct task_struct *task, const bool *asked);

/**
 * session_change() - add or remove a task, asked for by a program in the kernel
 * @group: whose set.
 * @task: the current one or a new one: that one is changed here and now. Of any other the whole
 *	process is, by a worker of the group, in the order of the calls.
 * @add: it is to be added, not removed.
 *
 * Context: preemption disabled, under RCU.
 * Return: 0; -EINVAL: a kernel thread; -ENOMEM; -ENOSPC.
 */
int session_change(struct group *group, struct task_struct *task, bool add);

/* --- session.c, for those --- */

/**
 * session_insert() - give a task a member; nobody's rights are asked for
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
int session_insert(struct group *group, struct task_struct *parent, struct task_struct *task,
		   const bool *asked, gfp_t gfp);

/**
 * session_evict() - take a task out of the set, from outside
 * @group: whose set.
 * @task: the task.
 * @asked: whether it is to be there, as is known under group->set.lock; NULL: it is not.
 * @ended: it has ended: what its streams hold of it becomes a last record, else it is dropped.
 *
 * Context: group->lock; interrupts on.
 * Return: false: it was not there, or is to be.
 */
bool session_evict(struct group *group, struct task_struct *task, const bool *asked, bool ended);

/**
 * session_reconsider() - have the CPUs where a task can run look who runs
 * @group: a thread, or the process of one, may be in its set from now on, or not any more.
 * @task: the thread.
 * @thread: that thread only.
 *
 * Context: group->lock; interrupts on.
 */
void session_reconsider(struct group *group, struct task_struct *task, bool thread);

/**
 * session_add_here() - add a task from a hook; nobody's rights are asked for
 * @group: whose set.
 * @task: the current task, or one that has not run yet.
 *
 * Context: atomic, interrupts on, under RCU.
 * Return: 0; -ENOMEM; -ENOSPC.
 */
int session_add_here(struct group *group, struct task_struct *task);

/**
 * session_remove_here() - remove a task from a hook
 * @group: whose set.
 * @task: the current task, or one that has not run yet.
 *
 * Context: atomic, interrupts on, under RCU.
 * Return: 0.
 */
int session_remove_here(struct group *group, struct task_struct *task);

/**
 * session_work() - have the group's worker look: requests and events
 * @group: a group.
 *
 * Context: atomic, under RCU.
 */
void session_work(struct group *group);

/**
 * session_key() - give a set the key by which BPF programs name it
 * @group: of an open stream, which asks.
 * @key: set to the key, made when it is asked for first; never 0.
 *
 * Context: process context.
 * Return: 0; -EPERM: the caller, or the group, lacks CAP_SYS_PTRACE.
 */
int session_key(struct group *group, u64 *key);

/**
 * session_drop_key() - take the key away: nobody finds the set by it any more
 * @group: its last stream closes.
 *
 * Context: any.
 */
void session_drop_key(struct group *group);

/**
 * session_by_key() - find the group whose set has a key
 * @key: the key; 0 is nobody's.
 *
 * Context: RCU.
 * Return: the group, for as long as RCU is held; NULL: none has it.
 */
struct group *session_by_key(u64 key);

/* --- From the tracepoints, for every set. --- */

/**
 * session_forked() - add a new task to the sets that have its parent
 * @parent: the current task.
 * @child: has not run yet.
 *
 * A thread follows always, a process with FLOWTAP_INHERIT. Where there is no memory a GAP record
 * says so.
 *
 * Context: the fork hook, preemption disabled, interrupts on.
 */
void session_forked(struct task_struct *parent, struct task_struct *child);

/**
 * session_executes() - a member executes a program, and is as it was yet
 * @task: the current task. It gets its process's number where it has another one.
 *
 * Context: the hook before an exec, preemption disabled, interrupts on.
 */
void session_executes(struct task_struct *task);

/**
 * session_executed() - a member has executed a program
 * @task: the current task. It leaves each set that may not follow the program.
 * @secure: bprm->secureexec.
 *
 * Groups that wait for an exec are enabled.
 *
 * Context: the exec hook, preemption disabled, interrupts on.
 */
void session_executed(struct task_struct *task, bool secure);

/**
 * session_exited() - a task ends: it leaves all sets
 * @task: the current task.
 *
 * Context: the exit hook, preemption disabled, interrupts on.
 */
void session_exited(struct task_struct *task);

#endif /* FLOWTAP_KMOD_SESSION_H */
