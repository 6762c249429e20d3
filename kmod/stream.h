/* SPDX-License-Identifier: GPL-2.0-only */
/* A stream: one configured open of /dev/flowtap, one source on one CPU, one ring. */
#ifndef FLOWTAP_STREAM_H
#define FLOWTAP_STREAM_H

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

struct stream {
	const struct source *source;
	struct group *group;
	struct pid *owner;
	char owner_name[TASK_COMM_LEN];
	u32 cpu;
	u32 flags;
	u32 triggers;
	u64 timer_ns;
	u64 timer_left;			/* of timer_ns, when a task comes onto the CPU */
	bool enabled;			/* READ_ONCE, WRITE_ONCE */
	u64 enabled_since;		/* 0 while disabled */
	u64 enabled_ns;
	struct list_head group_link;	/* in group->streams */
	struct list_head cpu_link;	/* in the CPU's list, oldest first */
	bool attached;			/* it is, or was */
	bool hooked;
	bool closing;			/* nobody may enable it any more; under the group's lock */
	bool last;			/* its group goes with it */
	struct rcu_work teardown;

	/* FLOWTAP_CPU_WIDE */
	struct flowtap_member everyone;		/* task: the current one */
	struct perf_event *event;	/* under the group's lock */
	struct work_struct reopen;	/* the event went away with its CPU */

	struct task_struct *named;		/* the recorded task once `thread` names it, else NULL */
	struct flowtap_thread thread;

	struct recording recording;
	struct output output;
	struct piece piece;
	struct charge charge;
	struct hrtimer timer;		/* FLOWTAP_TRIGGER_TIMER */
	struct hrtimer tick;		/* piece_tick */
};

/*
 * leader: the stream whose task set is shared, or NULL. Rights are the calling task's.
 * ERR_PTR(-errno).
 */
struct stream *stream_new(const struct flowtap_configure *configure, struct stream *leader);
/*
 * Nothing is recorded any more. It is freed, and what it was charged for given back, two grace periods
 * later: nobody waits for them.
 */
void stream_close(struct stream *stream);

int stream_init(void);
/* Waits until all that were closed are freed. */
void stream_exit(void);

static inline bool stream_is_wide(const struct stream *stream)
{
	return stream->flags & FLOWTAP_CPU_WIDE;
}

void stream_stats(struct stream *stream, struct flowtap_stats *stats);
__poll_t stream_poll(struct stream *stream);

/* The task's numbers for its records. Those of the recorded one are looked up once. */
static inline struct flowtap_thread stream_name_task(const struct stream *stream,
						     struct task_struct *task)
{
	return task == stream->named ? stream->thread : output_thread(&stream->output, task);
}

/* On its CPU: the task that it records; it has no numbers yet, has them by now, or has other ones. */
static inline void stream_name_recorded(struct stream *stream, struct task_struct *task)
{
	stream->thread = output_thread(&stream->output, task);
	stream->named = task;
}

/* A GAP record of `task` from `since` until now, of nobody knows how much: see output_write. */
static inline void stream_write_gap(struct stream *stream, struct task_struct *task, u64 since, u32 cause)
{
	output_write_gap(&stream->output, stream_name_task(stream, task), since, cause, FLOWTAP_UNKNOWN);
}

#endif /* FLOWTAP_STREAM_H */
