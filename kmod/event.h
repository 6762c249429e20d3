/* SPDX-License-Identifier: GPL-2.0-only */
/* The perf events that trigger samples: one per task, counting on every CPU, or one of a CPU. */
#ifndef FLOWTAP_KMOD_EVENT_H
#define FLOWTAP_KMOD_EVENT_H

#include <linux/flowtap.h>

struct flowtap_event;
struct flowtap_stream;
struct task_struct;
struct flowtap_group;

#define EVENT_PERIOD_MIN 1000

/**
 * event_check() - check the event that CONFIGURE asks for
 * @configure: its triggers, period and event_ fields.
 *
 * Context: any.
 * Return: 0; -EINVAL: an event without FLOWTAP_TRIGGER_OVERFLOW, a type that is not allowed, a
 * period below EVENT_PERIOD_MIN or with the sign bit; -EOPNOTSUPP: not on this machine.
 */
int event_check(const struct flowtap_configure *configure);

/**
 * event_add() - make an event for a task
 * @group: counts; the event counts as far as it is enabled.
 * @task: has a member in the group's set, without an event.
 *
 * Context: group->lock; may sleep.
 * Return: 0; -ENOMEM; -errno of perf, -ESRCH: the task has ended.
 */
int event_add(struct flowtap_group *group, struct task_struct *task);

/**
 * event_sync() - bring the events of a set up to date
 * @group: a group.
 *
 * Afterwards each task has an event, made for it or inherited, and nobody else has one; they count
 * while a stream of the group is enabled, or from the next exec on if that enables them. Where no
 * event can be made a GAP record says so; while no stream is enabled the next call tries again.
 * Without an open stream all are released.
 *
 * Context: group->lock; may sleep.
 */
void event_sync(struct flowtap_group *group);

/**
 * event_release() - release all events of a set, and those that children inherited
 * @group: a group.
 *
 * Context: group->lock; may sleep.
 */
void event_release(struct flowtap_group *group);

/**
 * event_of() - find the event of a set that a task has
 * @group: whose set.
 * @task: the current task, which has executed a program, or its newborn child.
 *
 * Context: the hooks; group->set.lock and RCU.
 * Return: the event; NULL: none.
 */
struct flowtap_event *event_of(const struct flowtap_group *group, struct task_struct *task);

/**
 * event_left() - have event_sync() release an event
 * @event: one of those who have it is not in the set any more.
 *
 * Context: group->set.lock and RCU.
 */
void event_left(struct flowtap_event *event);

/**
 * event_executed() - record that perf lets an event count
 * @event: one of those who have it executes a program by which the set is enabled.
 *
 * Context: the hooks; group->set.lock and RCU.
 */
void event_executed(struct flowtap_event *event);

/**
 * event_open_cpu() - make the event of a CPU-wide stream, in place of one that it has
 * @stream: CPU-wide; the event counts if it is enabled.
 *
 * Context: group->lock; may sleep.
 * Return: 0 or -errno of perf (-ENODEV: the CPU is offline).
 */
int event_open_cpu(struct flowtap_stream *stream);

/**
 * event_close_cpu() - release the event of a CPU-wide stream, if it has one
 * @stream: any stream.
 *
 * Context: group->lock; may sleep.
 */
void event_close_cpu(struct flowtap_stream *stream);

#endif /* FLOWTAP_KMOD_EVENT_H */
