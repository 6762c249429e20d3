/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf events that trigger samples: one per task, counting on every CPU, or one of a CPU. */
#ifndef FLOWTAP_EVENT_H
#define FLOWTAP_EVENT_H

#include <linux/flowtap.h>

struct stream;
struct task_struct;
struct tasks;

#define EVENT_PERIOD_MIN 1000

/* -EINVAL, -EOPNOTSUPP for what CONFIGURE may not ask for. */
int event_check(const struct flowtap_configure *configure);
/* Sees to it that tasks->events has an event of `task`. -errno of perf. */
int event_add(struct tasks *tasks, struct task_struct *task);
/* The task has one of this set's events. */
bool event_counts(const struct tasks *tasks, struct task_struct *task);
/* Releases all of a set's events and those that children inherited. */
void event_release(struct tasks *tasks);

/*
 * The event of a CPU-wide stream, under group_lock. open: anew, counting if the stream is enabled;
 * -errno of perf (-ENODEV: the CPU is offline).
 */
int event_open_cpu(struct stream *stream);
void event_close_cpu(struct stream *stream);

#endif /* FLOWTAP_EVENT_H */
