/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf events that trigger samples: one per task, counting on every CPU, or one of a CPU. */
#ifndef FLOWTAP_EVENT_H
#define FLOWTAP_EVENT_H

#include <linux/flowtap.h>

struct flowtap_event;
struct stream;
struct task_struct;
struct group;

#define EVENT_PERIOD_MIN 1000

/* -EINVAL, -EOPNOTSUPP for what CONFIGURE may not ask for. */
int event_check(const struct flowtap_configure *configure);
/* Makes one for a task that has a member without one, under the group's lock. -errno of perf. */
int event_add(struct group *group, struct task_struct *task);
/*
 * The set's events are as they should be: each task has one, made for it or inherited, and nobody else
 * has; they count while a stream of the set is enabled, or from the next exec on if that enables them.
 * Under the group's lock. Where one cannot be made a GAP record tells so.
 */
void event_sync(struct group *group);
/* Releases all of a set's events and those that children inherited. Under the group's lock. */
void event_release(struct group *group);

/*
 * Under group->set.lock and RCU, from the hooks. event_of: that which a task that is forked, or executes
 * a program, has of this set; NULL: none.
 */
struct flowtap_event *event_of(const struct group *group, struct task_struct *task);
/* One of those who have it is not in the set any more: event_sync will release it. */
void event_left(struct flowtap_event *event);
/* One of those who have it executes a program by which the set is enabled. */
void event_executed(struct flowtap_event *event);

/*
 * The event of a CPU-wide stream, under the group's lock. open: anew, counting if the stream is enabled;
 * -errno of perf (-ENODEV: the CPU is offline).
 */
int event_open_cpu(struct stream *stream);
void event_close_cpu(struct stream *stream);

#endif /* FLOWTAP_EVENT_H */
