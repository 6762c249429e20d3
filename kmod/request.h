/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that are to come into a set, or to leave it, and wait for a worker to do that: a queue for
 * each group, in the order in which they were asked for.
 */
#ifndef FLOWTAP_KMOD_REQUEST_H
#define FLOWTAP_KMOD_REQUEST_H

#include <linux/types.h>

struct flowtap_group;
struct task_struct;

#define REQUESTS_MAX	4096		/* that wait, of a group */
#define REQUEST_TRIES	100		/* after the first one */

/**
 * request_queue() - queue a task that is to be added or removed
 * @group: whose set.
 * @task: of the process in question; gets a reference.
 * @add: it is to be added, not removed.
 *
 * Context: atomic, under RCU; takes group->set.lock.
 * Return: 0; -ENOMEM; -ENOSPC: REQUESTS_MAX wait.
 */
int request_queue(struct flowtap_group *group, struct task_struct *task, bool add);

/**
 * request_amend() - have what waits for a process end as is asked for last
 * @group: whose set.
 * @task: of the process in question.
 * @add: it is to be added, not removed.
 *
 * Context: atomic; takes group->set.lock.
 */
void request_amend(struct flowtap_group *group, struct task_struct *task, bool add);

/**
 * request_serve() - serve all that waits, the oldest first
 * @group: whose set.
 * @serve: called for each task, without a lock, and again where it is amended meanwhile. @asked is
 *	the answer of that moment, under group->set.lock: whether the task is to be there. False puts
 *	the task off, after others, unless @last: what is asked for of the same process in the
 *	meantime holds for it as well.
 *
 * Context: a worker of the group, only one at a time; may sleep.
 * Return: some were put off, for the next call.
 */
bool request_serve(struct flowtap_group *group,
		   bool (*serve)(struct flowtap_group *group, struct task_struct *task, bool add,
				 const bool *asked, bool last));

/**
 * request_drop() - drop what waits
 * @group: nobody can ask any more, and its worker does not run.
 *
 * Context: any.
 */
void request_drop(struct flowtap_group *group);

#endif /* FLOWTAP_KMOD_REQUEST_H */
