/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a stream's records go: the ring and the AUX area that its reader maps, what waits for that
 * reader, and what wakes it up. It knows no source, no task set and no stream.
 */
#ifndef FLOWTAP_KMOD_OUTPUT_H
#define FLOWTAP_KMOD_OUTPUT_H

#ifdef __KERNEL__
#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/poll.h>
#include <linux/wait.h>
#endif

#include "aux.h"
#include "ring.h"

struct pid_namespace;
struct task_struct;

/**
 * struct flowtap_output - the ring, the AUX area and their reader
 */
struct flowtap_output {
	/** @ring: of the records. */
	struct flowtap_ring_writer ring;
	/** @aux: of a source with a collector. */
	struct flowtap_aux aux;
	/** @stats: what records are about: written by the CPU that writes them. */
	struct flowtap_stats stats;
	/** @namespace: the reader's. */
	struct pid_namespace *namespace;
	/** @cpu: the one that writes. */
	u32 cpu;
	/** @misc: of records that name a task: FLOWTAP_MISC_CPU_WIDE or 0. */
	u16 misc;
	/** @watermark: bytes of the ring. */
	u32 watermark;
	/** @flush_ns: how long a record may wait; 0: for ever. */
	u64 flush_ns;
	/** @wait: readers. */
	wait_queue_head_t wait;
	/** @wake: wakes them, from where the scheduler's locks are not held. */
	struct irq_work wake;
	/** @flush: runs while something waits. */
	struct hrtimer flush;
	/** @flushed: it has waited long enough. */
	bool flushed;
	/** @unwritten: GAP records that its CPU was not asked to write; counted on any CPU. */
	atomic_t unwritten;
	/** @unwritten_since: when the first of them was; 0: there is none; cmpxchg, xchg. */
	u64 unwritten_since;
};

/**
 * struct flowtap_thread - a thread's numbers as the reader knows them
 * @pid: its process's; 0: it has none there.
 * @tid: its own; 0: it has none there.
 */
struct flowtap_thread {
	u32 pid;
	u32 tid;
};

/**
 * output_init() - initialize what cannot fail: output_free() is allowed from here on
 * @output: zeroed. Its reader is the caller.
 * @configure: what the caller asks for.
 *
 * Context: process context.
 */
void output_init(struct flowtap_output *output, const struct flowtap_configure *configure);

/**
 * output_allocate() - allocate the ring and the AUX area
 * @output: initialized.
 * @configure: the same.
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int output_allocate(struct flowtap_output *output, const struct flowtap_configure *configure);

/**
 * output_free() - free all of it
 * @output: initialized. Nobody writes any more, nor waits.
 *
 * Context: may sleep.
 */
void output_free(struct flowtap_output *output);

/**
 * output_pages() - how much output_allocate() takes
 * @configure: what is asked for.
 *
 * Context: any.
 * Return: pages: the control page, the ring, the AUX area and its spare ones.
 */
unsigned long output_pages(const struct flowtap_configure *configure);

/**
 * output_poll() - whether the reader is to read
 * @output: the output.
 * @quiet: nothing more may come: anything is enough.
 *
 * Context: any CPU.
 * Return: EPOLLIN | EPOLLRDNORM where there is enough to read; else 0.
 */
__poll_t output_poll(const struct flowtap_output *output, bool quiet);

/**
 * output_stats() - fill the output's part of a STATS
 * @output: the output.
 * @stats: overwritten.
 *
 * Context: any, any CPU.
 */
void output_stats(const struct flowtap_output *output, struct flowtap_stats *stats);

/**
 * output_wake() - have the reader look what there is
 * @output: the output.
 *
 * Context: atomic, any CPU, also under the scheduler's locks.
 */
void output_wake(struct flowtap_output *output);

/**
 * output_thread() - look up a task's numbers in the reader's namespace
 * @output: the output.
 * @task: referenced, or the current one.
 *
 * Context: any.
 * Return: the numbers; 0 where there are none.
 */
struct flowtap_thread output_thread(const struct flowtap_output *output, struct task_struct *task);

/**
 * output_write() - write a record, and wake whom it wakes: see ring_write()
 * @output: the output.
 * @time: of the record, ns of CLOCK_MONOTONIC_RAW.
 * @head: its first bytes, with the header.
 * @head_size: bytes.
 * @tail: what follows.
 * @tail_size: bytes, may be 0.
 *
 * Context: the output's CPU, interrupts off.
 * Return: false: no space.
 */
bool output_write(struct flowtap_output *output, u64 time, const void *head, u32 head_size,
		  const void *tail, u32 tail_size);

/**
 * output_lose() - count a record as lost that there was no space for, as output_write() does
 * @output: not in overwrite mode.
 * @time: of the record, ns of CLOCK_MONOTONIC_RAW.
 * @size: bytes of the record.
 *
 * For who has asked ring_fits() before, and acted by the answer: there may be space by now.
 *
 * Context: the output's CPU, interrupts off.
 */
void output_lose(struct flowtap_output *output, u64 time, u32 size);

/**
 * output_waits() - wake whom a record wakes, now or later
 * @output: not in overwrite mode.
 * @before: bytes that waited without the record.
 * @after: bytes that wait with it.
 *
 * Context: the output's CPU, interrupts off.
 */
void output_waits(struct flowtap_output *output, u64 before, u64 after);

/**
 * output_reserve() - find space for a record, to be written without a copy: see ring_reserve()
 * @output: the output.
 * @size: bytes. What is reserved is written and committed.
 *
 * Context: the output's CPU, interrupts off.
 * Return: where the record goes; NULL: output_write() it is.
 */
static inline void *output_reserve(struct flowtap_output *output, u32 size)
{
	return ring_reserve(&output->ring, size);
}

/**
 * output_commit() - make what was reserved a record, and wake whom it wakes
 * @output: the output.
 * @size: bytes, as reserved.
 *
 * Context: the output's CPU, interrupts off since output_reserve().
 */
static inline void output_commit(struct flowtap_output *output, u32 size)
{
	u64 before = output->ring.waiting, after = before + size;

	ring_commit(&output->ring, size);
	if (output->ring.overwrite)
		return;
	/* Most often somebody is about to be woken anyway. */
	if (!before || after >= output->watermark || !hrtimer_is_queued(&output->flush))
		output_waits(output, before, after);
}

/**
 * output_write_gap() - write a GAP record that ends now
 * @output: the output.
 * @thread: whose gap it is.
 * @since: when it began, ns of CLOCK_MONOTONIC_RAW.
 * @cause: FLOWTAP_CAUSE_.
 * @size: bytes, or FLOWTAP_UNKNOWN.
 *
 * Context: the output's CPU, interrupts off.
 * Return: false: no space. The ring counts it as lost.
 */
bool output_write_gap(struct flowtap_output *output, struct flowtap_thread thread, u64 since,
		      u32 cause, u64 size);

/**
 * output_gap_fits() - whether a GAP record would find space
 * @output: the output.
 *
 * Context: the output's CPU, interrupts off.
 * Return: it would, after a LOST record if there are losses, those of output_leave_gap() too. More
 * of these, and a reader who takes space back, may come until it is written.
 */
bool output_gap_fits(struct flowtap_output *output);

/**
 * output_leave_gap() - count a GAP record as lost that the output's CPU is not to be asked to write
 * @output: the output.
 * @time: of the record, ns of CLOCK_MONOTONIC_RAW.
 *
 * STATS knows of it at once. A LOST record, which there is none of with FLOWTAP_OVERWRITE, comes
 * ahead of the next GAP record at the latest, or with output_write_lost().
 *
 * Context: any, any CPU.
 */
void output_leave_gap(struct flowtap_output *output, u64 time);

/**
 * output_lost_fits() - whether output_write_lost() would write a record
 * @output: the output.
 * @left: for what output_leave_gap() has counted, too.
 *
 * Context: any CPU.
 * Return: there are losses, and there is space for a LOST record.
 */
bool output_lost_fits(const struct flowtap_output *output, bool left);

/**
 * output_write_lost() - write a LOST record now, if there are losses and there is space
 * @output: the output.
 *
 * Context: the output's CPU, interrupts off.
 */
void output_write_lost(struct flowtap_output *output);

/**
 * output_published() - wake the reader if enough bytes are in the AUX area
 * @output: more of them are there.
 *
 * Context: the output's CPU, interrupts off.
 */
void output_published(struct flowtap_output *output);

#endif /* FLOWTAP_KMOD_OUTPUT_H */
