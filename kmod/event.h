/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf events that trigger samples: one per task, counting on every CPU, user mode only. */
#ifndef FLOWTAP_EVENT_H
#define FLOWTAP_EVENT_H

#include <linux/flowtap.h>

struct task_struct;
struct tasks;

#define EVENT_PERIOD_MIN 1000

/* -EINVAL, -EOPNOTSUPP for what CONFIGURE may not ask for. */
int event_check(const struct flowtap_configure *configure);
/* Sees to it that tasks->events has an event of `task`. -errno of perf. */
int event_add(struct tasks *tasks, struct task_struct *task);
/* Releases all of a set's events and those that children inherited. */
void event_release(struct tasks *tasks);

#endif /* FLOWTAP_EVENT_H */
