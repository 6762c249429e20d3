// SPDX-License-Identifier: GPL-2.0-only
/* Finds a CPU that may write a group's GAP record, first this one, and has it written there. */
#include <linux/smp.h>

#include "gap.h"
#include "stream.h"

struct gap {
	struct flowtap_stream *stream;
	struct task_struct *task;
	u64 since;
	u32 cause;
};

static void write_here(void *argument)
{
	const struct gap *gap = argument;

	stream_write_gap(gap->stream, gap->task, gap->since, gap->cause);
}

bool gap_write(struct flowtap_group *group, struct task_struct *task, u64 since, u32 cause)
{
	struct gap gap = { .task = task, .since = since, .cause = cause };

	list_for_each_entry_rcu(gap.stream, &group->streams, group_link) {
		if (gap.stream->cpu != raw_smp_processor_id() ||
		    !READ_ONCE(gap.stream->enabled))
			continue;
		if (!smp_call_function_single(gap.stream->cpu, write_here, &gap, 1))
			return true;
	}
	list_for_each_entry_rcu(gap.stream, &group->streams, group_link) {
		if (!READ_ONCE(gap.stream->enabled))
			continue;
		/* -ENXIO: that CPU is offline. */
		if (!smp_call_function_single(gap.stream->cpu, write_here, &gap, 1))
			return true;
	}
	return false;
}
