// SPDX-License-Identifier: GPL-2.0-only
#include <linux/smp.h>

#include "gap.h"
#include "stream.h"

struct story {
	struct stream *stream;
	struct task_struct *task;
	u64 since;
	u32 cause;
};

static void tell(void *argument)
{
	const struct story *story = argument;

	stream_write_gap(story->stream, story->task, story->since, story->cause);
}

void gap_tell(struct group *group, struct task_struct *task, u64 since, u32 cause)
{
	struct story story = { .task = task, .since = since, .cause = cause };

	list_for_each_entry_rcu(story.stream, &group->streams, group_link) {
		if (story.stream->cpu != raw_smp_processor_id() ||
		    !READ_ONCE(story.stream->enabled))
			continue;
		if (!smp_call_function_single(story.stream->cpu, tell, &story, 1))
			return;
	}
	list_for_each_entry_rcu(story.stream, &group->streams, group_link) {
		if (!READ_ONCE(story.stream->enabled))
			continue;
		/* -ENXIO: that CPU is offline. */
		if (!smp_call_function_single(story.stream->cpu, tell, &story, 1))
			return;
	}
}
