/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs in the kernel ask for: tasks into a set, or out of it, from where nothing may
 * sleep. What cannot be done there a worker of the set does, in this order.
 */
#ifndef FLOWTAP_REQUEST_H
#define FLOWTAP_REQUEST_H

#include <linux/types.h>

struct task_struct;
struct group;

#define REQUESTS_MAX	4096		/* that wait, of a set */

/* Under RCU, atomic. 0; -EINVAL: a kernel thread; -ENOMEM; -ENOSPC. */
int request_change(struct group *group, struct task_struct *task, bool add);
/* The worker's: does all that waits. */
void request_serve(struct group *group);
/* Nobody can ask any more: what waits is dropped. */
void request_drop(struct group *group);

#endif /* FLOWTAP_REQUEST_H */
