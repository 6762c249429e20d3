/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream: one configured open of /dev/flowtap, one source on one CPU, one ring. */
#ifndef FLOWTAP_KMOD_STREAM_H
#define FLOWTAP_KMOD_STREAM_H

#include <linux/hrtimer.h>
#include <linux/workqueue.h>

#include "charge.h"
#include "output.h"
#include "piece.h"
#include "source.h"
#include "group.h"

/* Flags of CONFIGURE that this version does. */
#define FLAGS_SUPPORTED	(FLOWTAP_GROUP | FLOWTAP_INHERIT | FLOWTAP_ENABLE_ON_EXEC | \
			 FLOWTAP_OVERWRITE | FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE_GUEST | \
			 FLOWTAP_ENDLESS | FLOWTAP_EXCLUDE)

/**
 * struct flowtap_stream - a stream
 */
struct flowtap_stream {
	/** @recording: what the source records, and keeps for that. Its address is the stream's. */
	struct flowtap_recording recording;
	/** @source: whose transfers it records. */
	const struct flowtap_source *source;
	/** @group: whose set it shares; NULL: it has none yet. */
	struct flowtap_group *group;
	/** @owner: the process that called CONFIGURE. */
	struct pid *owner;
	/** @owner_name: its name then. */
	char owner_name[TASK_COMM_LEN];
	/** @cpu: the only one where it records. */
	u32 cpu;
	/** @flags: FLOWTAP_ flags of CONFIGURE. */
	u32 flags;
	/** @triggers: FLOWTAP_TRIGGER_. */
	u32 triggers;
	/** @timer_ns: the interval of @timer; 0: none. */
	u64 timer_ns;
	/** @timer_left: of @timer_ns, when a task comes onto the CPU. */
	u64 timer_left;
	/** @enabled: READ_ONCE, WRITE_ONCE. */
	bool enabled;
	/** @enabled_since: when it was enabled last, ns of CLOCK_MONOTONIC_RAW. */
	u64 enabled_since;
	/** @enabled_ns: how long it was enabled before that. */
	u64 enabled_ns;
	/** @group_link: in group->streams. */
	struct list_head group_link;
	/** @cpu_link: in the CPU's list, oldest first. */
	struct list_head cpu_link;
	/** @attached: it is in the CPU's list, or was. */
	bool attached;
	/** @hooked: hooks_put() is to follow. */
	bool hooked;
	/** @closing: nobody may enable it any more; under the group's lock. */
	bool closing;
	/** @last: its group goes with it. */
	bool last;
	/** @teardown: it leaves its group, and is freed. */
	struct rcu_work teardown;

	/** @everyone: FLOWTAP_CPU_WIDE: the member of whoever runs; its task is the current one. */
	struct flowtap_member everyone;
	/** @event: FLOWTAP_CPU_WIDE: under the group's lock. */
	struct perf_event *event;
	/** @reopen: FLOWTAP_CPU_WIDE: the event went away with its CPU. */
	struct work_struct reopen;

	/** @named: the recorded task once @thread names it, else NULL. */
	struct task_struct *named;
	/** @thread: the numbers of @named. */
	struct flowtap_thread thread;

	/** @output: where the records go. */
	struct flowtap_output output;
	/** @piece: of a source with a collector. */
	struct flowtap_piece piece;
	/** @charge: what the user pays for. */
	struct flowtap_charge charge;
	/** @timer: FLOWTAP_TRIGGER_TIMER. */
	struct hrtimer timer;
	/** @tick: piece_tick(). */
	struct hrtimer tick;
};

/**
 * stream_new() - make a stream, disabled
 * @configure: what it is to be; any content.
 * @leader: the stream whose group is joined, or NULL. Its file is held.
 *
 * Rights are the calling task's.
 *
 * Context: process context; may sleep, for some grace periods where the user is at a limit.
 * Return: the stream; ERR_PTR(-errno) as linux/flowtap.h says of CONFIGURE.
 */
struct flowtap_stream *stream_new(const struct flowtap_configure *configure,
				  struct flowtap_stream *leader);

/**
 * stream_close() - close a stream: nothing is recorded any more
 * @stream: of stream_new(). It is freed, and what it was charged for given back, two grace periods
 *	later: nobody waits for them.
 *
 * Context: may sleep.
 */
void stream_close(struct flowtap_stream *stream);

/**
 * stream_init() - allocate what closing needs
 *
 * Context: the module's load; may sleep.
 * Return: 0 or -ENOMEM.
 */
int stream_init(void);

/**
 * stream_exit() - wait until all streams that were closed are freed
 *
 * Context: the module's unload: no file is open. May sleep.
 */
void stream_exit(void);

/**
 * stream_is_wide() - whether a stream records its CPU whoever runs there
 * @stream: any stream.
 *
 * Context: any.
 * Return: FLOWTAP_CPU_WIDE was asked for.
 */
static inline bool stream_is_wide(const struct flowtap_stream *stream)
{
	return stream->flags & FLOWTAP_CPU_WIDE;
}

/**
 * group_is_open() - whether a stream of the group is open
 * @group: a group.
 *
 * Context: group->lock.
 * Return: one is.
 */
static inline bool group_is_open(const struct flowtap_group *group)
{
	const struct flowtap_stream *stream;

	list_for_each_entry(stream, &group->streams, group_link)
		if (!stream->closing)
			return true;
	return false;
}

/**
 * group_is_enabled() - whether an open stream of the group is enabled
 * @group: a group.
 *
 * Context: group->lock.
 * Return: one is.
 */
static inline bool group_is_enabled(const struct flowtap_group *group)
{
	const struct flowtap_stream *stream;

	list_for_each_entry(stream, &group->streams, group_link)
		if (READ_ONCE(stream->enabled) && !stream->closing)
			return true;
	return false;
}

/**
 * stream_stats() - fill a STATS
 * @stream: any stream.
 * @stats: overwritten.
 *
 * Context: any, any CPU.
 */
void stream_stats(struct flowtap_stream *stream, struct flowtap_stats *stats);

/**
 * stream_poll() - what poll() of the stream's file returns
 * @stream: any stream.
 *
 * Context: any CPU.
 * Return: EPOLLIN | EPOLLRDNORM: there is enough to read; EPOLLHUP: the set has ended.
 */
__poll_t stream_poll(struct flowtap_stream *stream);

/**
 * stream_name_task() - look up a task's numbers for its records
 * @stream: those of the task that it records are looked up once.
 * @task: any task.
 *
 * Context: the stream's CPU, interrupts off.
 * Return: the numbers, as output_thread().
 */
static inline struct flowtap_thread stream_name_task(const struct flowtap_stream *stream,
						     struct task_struct *task)
{
	return task == stream->named ? stream->thread : output_thread(&stream->output, task);
}

/**
 * stream_name_recorded() - look up the numbers of the task that a stream records
 * @stream: holds the source.
 * @task: the recorded one. It has no numbers yet, has them by now, or has other ones.
 *
 * Context: the stream's CPU, interrupts off.
 */
static inline void stream_name_recorded(struct flowtap_stream *stream, struct task_struct *task)
{
	stream->thread = output_thread(&stream->output, task);
	stream->named = task;
}

/**
 * stream_write_gap() - write a GAP record that ends now, of nobody knows how much
 * @stream: writes it, see output_write_gap().
 * @task: whose gap it is.
 * @since: when it began, ns of CLOCK_MONOTONIC_RAW.
 * @cause: FLOWTAP_CAUSE_.
 *
 * Context: the stream's CPU, interrupts off.
 */
static inline void stream_write_gap(struct flowtap_stream *stream, struct task_struct *task,
				    u64 since, u32 cause)
{
	output_write_gap(&stream->output, stream_name_task(stream, task), since, cause,
			 FLOWTAP_UNKNOWN);
}

#endif /* FLOWTAP_KMOD_STREAM_H */
