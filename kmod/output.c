// SPDX-License-Identifier: GPL-2.0-only
/*
 * Puts records into the ring, keeps count of what waits, and wakes the reader at the watermark or
 * after the flush time.
 *
 * The host's unit tests run this file with timers of their own.
 */
#ifdef __KERNEL__
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#endif

#include "compat.h"
#include "output.h"
#include "timer.h"

#define FLUSH_MS	100

static void wake(struct irq_work *work)
{
	struct flowtap_output *output = container_of(work, struct flowtap_output, wake);

	output->stats.wakeups++;
	wake_up_interruptible(&output->wait);
}

static enum hrtimer_restart flush(struct hrtimer *timer)
{
	struct flowtap_output *output = container_of(timer, struct flowtap_output, flush);

	if (ring_waiting(&output->ring)) {
		WRITE_ONCE(output->flushed, true);
		output_wake(output);
	}
	return HRTIMER_NORESTART;
}

void output_init(struct flowtap_output *output, const struct flowtap_configure *configure)
{
	output->cpu = configure->cpu;
	output->misc = configure->flags & FLOWTAP_CPU_WIDE ? FLOWTAP_MISC_CPU_WIDE : 0;
	output->watermark = configure->watermark ?:
			    ((u64)configure->ring_pages << PAGE_SHIFT) / 4;
	if (configure->flush_ms != ~0U)
		output->flush_ns = (u64)(configure->flush_ms ?: FLUSH_MS) * NSEC_PER_MSEC;
	output->namespace = get_pid_ns(task_active_pid_ns(current));
	init_waitqueue_head(&output->wait);
	init_irq_work(&output->wake, wake);
	hrtimer_setup(&output->flush, flush, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_PINNED_HARD);
}

unsigned long output_pages(const struct flowtap_configure *configure)
{
	return 1UL + configure->ring_pages + configure->aux_pages +
	       (configure->aux_pages ? AUX_SPARE_PAGES : 0);
}

int output_allocate(struct flowtap_output *output, const struct flowtap_configure *configure)
{
	return ring_init(&output->ring, configure->ring_pages, configure) ?:
	       aux_init(&output->aux, &output->ring, configure);
}

void output_free(struct flowtap_output *output)
{
	hrtimer_cancel(&output->flush);
	irq_work_sync(&output->wake);
	put_pid_ns(output->namespace);
	aux_free(&output->aux);
	ring_free(&output->ring);
}

void output_stats(const struct flowtap_output *output, struct flowtap_stats *stats)
{
	u64 unwritten;

	*stats = output->stats;
	stats->records = output->ring.records;
	stats->bytes = output->ring.head;
	unwritten = atomic_read(&output->unwritten);
	stats->lost_records = output->ring.total_lost_records + unwritten;
	stats->lost_bytes += output->ring.total_lost_bytes +
			     unwritten * sizeof(struct flowtap_record_gap);
	stats->high_water = output->ring.high_water;
}

static bool aux_is_due(const struct flowtap_output *output)
{
	return output->aux.bytes && aux_waiting(&output->aux) >= output->aux.watermark;
}

/* A flight recorder is read when it has stopped, or without being asked to. */
static bool is_due(const struct flowtap_output *output, bool quiet)
{
	u64 waiting = ring_waiting(&output->ring);

	if (output->ring.overwrite)
		return waiting && quiet;
	return waiting >= output->watermark || aux_is_due(output) ||
	       (waiting && (quiet || READ_ONCE(output->flushed)));
}

__poll_t output_poll(const struct flowtap_output *output, bool quiet)
{
	return is_due(output, quiet) ? EPOLLIN | EPOLLRDNORM : 0;
}

void output_wake(struct flowtap_output *output)
{
	irq_work_queue(&output->wake);
}

struct flowtap_thread output_thread(const struct flowtap_output *output, struct task_struct *task)
{
	return (struct flowtap_thread){
		.pid = __task_pid_nr_ns(task, PIDTYPE_TGID, output->namespace),
		.tid = __task_pid_nr_ns(task, PIDTYPE_PID, output->namespace),
	};
}

/* Whether a record of so many bytes was the one with which the watermark's waited. */
static bool made_due(const struct flowtap_output *output, u64 waiting, u64 size)
{
	return waiting >= output->watermark && waiting - size < output->watermark;
}

void output_waits(struct flowtap_output *output, u64 before, u64 after)
{
	u64 size = after - before;

	if (!before)
		WRITE_ONCE(output->flushed, false);
	if (before >= output->watermark && !output->flush_ns) {
		/*
		 * The reader may have taken some since this was read, and sleep: no timer would wake
		 * him. Either he sees the new head before he does, or his tail is seen here.
		 */
		smp_mb();
		after = ring_waiting(&output->ring);
	}
	/* Not from here: the scheduler's locks may be held. */
	if (made_due(output, after, size))
		output_wake(output);
	/* Above the watermark too: a reader on its way may take all but what was just written. */
	if (after && output->flush_ns && !hrtimer_is_queued(&output->flush))
		timer_start_in(&output->flush, output->flush_ns);
}

bool output_write(struct flowtap_output *output, u64 time, const void *head, u32 head_size,
		  const void *tail, u32 tail_size)
{
	u64 begin = output->ring.head, waiting;
	bool written = ring_write(&output->ring, time, head, head_size, tail, tail_size);

	if (!output->ring.overwrite) {
		waiting = written ? output->ring.waiting : ring_waiting(&output->ring);
		output_waits(output, waiting - (output->ring.head - begin), waiting);
	}
	return written;
}

void output_lose(struct flowtap_output *output, u64 time, u32 size)
{
	u64 waiting = ring_waiting(&output->ring);

	ring_count_lost(&output->ring, time, 1, size);
	output_waits(output, waiting, waiting);
}

void output_leave_gap(struct flowtap_output *output, u64 time)
{
	cmpxchg(&output->unwritten_since, 0, time);
	atomic_inc(&output->unwritten);
}

/* What a flight recorder lost is in its STATS: it has no LOST records. */
static u32 unwritten(const struct flowtap_output *output)
{
	return output->ring.overwrite ? 0 : atomic_read(&output->unwritten);
}

/* They are the ring's losses now. */
static void take_unwritten(struct flowtap_output *output)
{
	u64 now = ktime_get_raw_fast_ns();
	u32 n;

	if (!unwritten(output))
		return;
	n = atomic_xchg(&output->unwritten, 0);
	ring_count_lost(&output->ring, xchg(&output->unwritten_since, 0) ?: now, n,
			n * sizeof(struct flowtap_record_gap));
}

bool output_lost_fits(const struct flowtap_output *output, bool left)
{
	return ring_lost_fits(&output->ring, left ? unwritten(output) : 0);
}

void output_write_lost(struct flowtap_output *output)
{
	take_unwritten(output);
	ring_write_lost(&output->ring, ktime_get_raw_fast_ns());
}

bool output_write_gap(struct flowtap_output *output, struct flowtap_thread thread, u64 since,
		      u32 cause, u64 size)
{
	struct flowtap_record_gap gap = {
		.header = {
			.type = FLOWTAP_RECORD_GAP,
			.misc = output->misc |
				(cause == FLOWTAP_CAUSE_THROTTLED ? FLOWTAP_MISC_ESTIMATE : 0),
			.size = sizeof(gap),
		},
		.time = ktime_get_raw_fast_ns(),
		.since = since,
		.size = size,
		.pid = thread.pid,
		.tid = thread.tid,
		.cpu = output->cpu,
		.cause = cause,
	};

	take_unwritten(output);
	return output_write(output, gap.time, &gap, sizeof(gap), NULL, 0);
}

bool output_gap_fits(struct flowtap_output *output)
{
	take_unwritten(output);
	return ring_fits(&output->ring, sizeof(struct flowtap_record_gap));
}

void output_published(struct flowtap_output *output)
{
	if (aux_is_due(output))
		output_wake(output);
}
