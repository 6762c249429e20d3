// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds a CPU that may write a group's GAP record, first this one, then one where the task may run,
 * and has it written there. Any other is asked so often only.
 *
 * The host's unit tests run this file with CPUs of their own.
 */
#ifdef __KERNEL__
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#endif

#include "gap.h"
#include "stream.h"

struct flowtap_gap_request {
	struct flowtap_stream *stream;
	struct task_struct *task;
	u64 since;
	u32 cause;
};

#define ASKED_PER_SECOND	100

struct flowtap_asked {
	u64 since;
	u32 n;
};

static DEFINE_PER_CPU(struct flowtap_asked, asked);
static DEFINE_RAW_SPINLOCK(asked_lock);

bool gap_may_ask(u32 cpu, bool last)
{
	struct flowtap_asked *there = &per_cpu(asked, cpu);
	unsigned long flags;
	bool may;
	u64 now;

	raw_spin_lock_irqsave(&asked_lock, flags);
	now = ktime_get_raw_fast_ns();
	/* CPUs' clocks may differ a little. */
	if ((s64)(now - there->since) >= NSEC_PER_SEC)
		*there = (struct flowtap_asked){ .since = now };
	may = there->n < (last ? 2 : 1) * ASKED_PER_SECOND;
	if (may)
		there->n++;
	raw_spin_unlock_irqrestore(&asked_lock, flags);
	return may;
}

static void write_here(void *argument)
{
	const struct flowtap_gap_request *gap = argument;

	stream_write_gap(gap->stream, gap->task, gap->since, gap->cause);
	/* Nothing but this record tells of it. */
	if (gap->cause == FLOWTAP_CAUSE_MEMORY)
		gap->stream->output.stats.losses[gap->cause]++;
}

/* False: the stream is not enabled, or its CPU is offline. */
static bool write_there(struct flowtap_gap_request *gap)
{
	/* -ENXIO: it is offline. */
	return READ_ONCE(gap->stream->enabled) &&
	       !smp_call_function_single(gap->stream->cpu, write_here, gap, 1);
}

/* The same, or it is counted as lost. */
static bool write_seldom(struct flowtap_gap_request *gap)
{
	if (!READ_ONCE(gap->stream->enabled) || !cpu_online(gap->stream->cpu))
		return false;
	if (gap_may_ask(gap->stream->cpu, false))
		return write_there(gap);
	output_leave_gap(&gap->stream->output, ktime_get_raw_fast_ns());
	return true;
}

bool gap_write(struct flowtap_group *group, struct task_struct *task, u64 since, u32 cause)
{
	struct flowtap_gap_request gap = { .task = task, .since = since, .cause = cause };

	list_for_each_entry_rcu(gap.stream, &group->streams, group_link)
		if (gap.stream->cpu == raw_smp_processor_id() && write_there(&gap))
			return true;
	list_for_each_entry_rcu(gap.stream, &group->streams, group_link)
		if (cpumask_test_cpu(gap.stream->cpu, &task->cpus_mask) &&
		    write_there(&gap))
			return true;
	list_for_each_entry_rcu(gap.stream, &group->streams, group_link)
		if (write_seldom(&gap))
			return true;
	return false;
}
