/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a stream's records go: the ring and the AUX area that its reader maps, what waits for that
 * reader, and what wakes it up. It knows no source, no task set and no stream.
 */
#ifndef FLOWTAP_OUTPUT_H
#define FLOWTAP_OUTPUT_H

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "aux.h"
#include "ring.h"

struct pid_namespace;
struct task_struct;

struct output {
	struct ring ring;
	struct aux aux;			/* of a source with a collector */
	struct flowtap_stats stats;	/* what records tell of: written by the CPU that writes them */
	struct pid_namespace *namespace; /* the reader's */
	u32 cpu;
	u16 misc;			/* of records that name a task: FLOWTAP_MISC_CPU_WIDE or 0 */
	u32 watermark;			/* bytes of the ring */
	u64 flush_ns;			/* 0: never */
	wait_queue_head_t wait;
	struct irq_work wake;
	struct hrtimer flush;		/* something waits */
	bool flushed;			/* and has waited long enough */
};

/* A thread's numbers as the reader knows them; 0 where it has none there. */
struct flowtap_thread {
	u32 pid;
	u32 tid;
};

/* The reader is the caller. What cannot fail: output_free is allowed from here on. */
void output_init(struct output *output, const struct flowtap_configure *configure);
/* The ring and the AUX area. -ENOMEM. */
int output_allocate(struct output *output, const struct flowtap_configure *configure);
/* Nobody writes any more, nor waits. */
void output_free(struct output *output);

/* Pages that output_allocate takes: the control page, the ring, the AUX area and its spare ones. */
unsigned long output_pages(const struct flowtap_configure *configure);

/* EPOLLIN where there is enough to read, or, if nothing more may come (`quiet`), anything. */
__poll_t output_poll(const struct output *output, bool quiet);
/* Its part of a STATS. Any CPU may ask. */
void output_stats(const struct output *output, struct flowtap_stats *stats);
/* The reader looks what there is. Atomic, any CPU. */
void output_wake(struct output *output);

struct flowtap_thread output_thread(const struct output *output, struct task_struct *task);

/*
 * On the output's CPU with interrupts off, as ring_write: a record, and what follows from it.
 * False: no room.
 */
bool output_write(struct output *output, u64 time, const void *head, u32 head_size,
		  const void *tail, u32 tail_size);
/* Whom a record wakes, now or later. Bytes that wait without it, and with it. */
void output_waits(struct output *output, u64 before, u64 after);
/* The same without a copy: see ring_reserve. What is reserved is written and committed. */
static inline void *output_reserve(struct output *output, u32 size)
{
	return ring_reserve(&output->ring, size);
}

static inline void output_commit(struct output *output, u32 size)
{
	u64 before = output->ring.waiting;

	ring_commit(&output->ring, size);
	if (output->ring.overwrite)
		return;
	/* Most often somebody is about to be woken anyway. */
	if (!before || output->ring.waiting >= output->watermark || !hrtimer_is_queued(&output->flush))
		output_waits(output, before, output->ring.waiting);
}

/* A GAP record from `since` until now. size: bytes, or FLOWTAP_UNKNOWN. */
void output_write_gap(struct output *output, struct flowtap_thread thread, u64 since, u32 cause,
		      u64 size);
/* More bytes are in the AUX area. */
void output_published(struct output *output);

#endif /* FLOWTAP_OUTPUT_H */
