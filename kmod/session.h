/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to groups: tasks are added and removed, fork, execute and exit; streams are enabled and
 * disabled. Only here sets, streams and events meet.
 */
#ifndef FLOWTAP_SESSION_H
#define FLOWTAP_SESSION_H

#include <linux/flowtap.h>

struct group;
struct stream;
struct task_struct;

/*
 * A group without streams, and its empty set: the calling user's, who pays for it. depth: transfers that are kept for each task while it is off the
 * CPU. ERR_PTR(-errno).
 */
struct group *session_new(const struct flowtap_configure *configure, u32 depth);
void session_get(struct group *group);
/* True: nobody has it any more, and session_free is to follow, a grace period later. */
bool session_put(struct group *group);
/* May sleep: releases events. */
void session_free(struct group *group);

/* --- What a group is asked to do. --- */

/*
 * Calls `change`, one of these two, for the stream, or for all of its group that are open. What they do
 * is done where they return, on their CPUs too.
 */
void session_each(struct stream *stream, bool all, void (*change)(struct stream *));
void session_enable(struct stream *stream);
void session_disable(struct stream *stream);

/* --- members.c --- */

/* A process (with its threads) or one thread; number of threads or -errno. */
int session_add(struct group *group, u32 pid, bool thread);
int session_remove(struct group *group, u32 pid, bool thread);
/*
 * The same for the process of a task that the caller has a reference to, by his rights. asked: whether
 * it is to be there, as is known under group->set.lock; where that has changed, nothing is done any more.
 */
int session_add_process(struct group *group, struct task_struct *task, const bool *asked);
int session_remove_process(struct group *group, struct task_struct *task, const bool *asked);

/*
 * By programs in the kernel, from where nothing may sleep: atomic, under RCU. What cannot be done here a
 * worker of the group does, in this order. 0; -EINVAL: a kernel thread; -ENOMEM; -ENOSPC.
 */
int session_change(struct group *group, struct task_struct *task, bool add);

/* --- session.c, for those: asked may be NULL --- */

/*
 * parent: whom it follows, or NULL; one that is not in the set any more is not followed. Nobody's
 * rights are asked for. 1: added; 0: there already, or not to be; -ECANCELED: not asked for any more;
 * -errno.
 */
int session_insert(struct group *group, struct task_struct *parent, struct task_struct *task,
		   const bool *asked, gfp_t gfp);
/*
 * Takes a task out from outside; false: it was not there, or is to be. One that has ended is told of
 * first, what others have is dropped. Under the group's lock.
 */
bool session_evict(struct group *group, struct task_struct *task, const bool *asked, bool ended);
/*
 * A thread, or the process of one, may be the set's now, or not any more: where it can run, who runs is
 * looked at. Under the group's lock.
 */
void session_reconsider(struct group *group, struct task_struct *task, bool thread);

/*
 * Of the current task, or of one that has not run yet: atomic, interrupts on, under RCU. Nobody's
 * rights are asked for. 0, -ENOMEM or -ENOSPC.
 */
int session_add_here(struct group *group, struct task_struct *task);
int session_remove_here(struct group *group, struct task_struct *task);
/* The worker will look: atomic, under RCU. */
void session_work(struct group *group);
/* The set's key, made when it is asked for; an open stream asks. -EPERM. */
int session_key(struct group *group, u64 *key);
/* Its last stream closes: nobody finds it by its key any more. */
void session_forget_key(struct group *group);
/* Under RCU; NULL: none has it. */
struct group *session_by_key(u64 key);

/* From the tracepoints, for every set. */
void session_forked(struct task_struct *parent, struct task_struct *child);
void session_executed(struct task_struct *task, bool secure);
void session_exited(struct task_struct *task);

#endif /* FLOWTAP_SESSION_H */
