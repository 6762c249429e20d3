/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that are to come into a set, or to leave it, and wait for a worker to do that: a queue for
 * each group, in the order in which they were asked for.
 */
#ifndef FLOWTAP_REQUEST_H
#define FLOWTAP_REQUEST_H

#include <linux/types.h>

struct group;
struct task_struct;

#define REQUESTS_MAX	4096		/* that wait, of a group */

/* Atomic, under RCU. 0; -ENOMEM; -ENOSPC. */
int request_queue(struct group *group, struct task_struct *task, bool add);
/* What waits for this process is overtaken: it is to end as is asked for last. Atomic. */
void request_amend(struct group *group, struct task_struct *task, bool add);
/* Has all that waits served. asked: as it is asked for by then, under the set's lock. May sleep. */
void request_serve(struct group *group,
		   void (*serve)(struct group *group, struct task_struct *task, bool add,
				 const bool *asked));
/* Nobody can ask any more: what waits is dropped. */
void request_drop(struct group *group);

#endif /* FLOWTAP_REQUEST_H */
