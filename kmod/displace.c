// SPDX-License-Identifier: GPL-2.0-only
/*
 * Notes when a task is displaced, and writes the GAP record: for samples at once, for pieces at
 * the end of the gap.
 */
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "displace.h"
#include "sample.h"
#include "stream.h"

static void displace_piece(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (!cmpxchg(&member->displaced_since, 0, ktime_get_raw_fast_ns()))
		sample_add_loss(stream, member, FLOWTAP_CAUSE_DISPLACED);
	WRITE_ONCE(stream->group->displacements, true);
	set_member_left(member);
}

void displace(struct flowtap_stream *stream, struct flowtap_member *member)
{
	if (stream->source->collector) {
		displace_piece(stream, member);
		return;
	}
	if (!member->displaced) {
		sample_add_loss(stream, member, FLOWTAP_CAUSE_DISPLACED);
		stream_write_gap(stream, member->task, member->since, FLOWTAP_CAUSE_DISPLACED);
	}
	member->displaced = true;
	/* What it runs from now on is accounted for, and what it ran before is too old. */
	member->ran = false;
	member->nr = 0;
}

void displace_end(struct flowtap_stream *stream, struct flowtap_member *member)
{
	u64 since = xchg(&member->displaced_since, 0);

	if (since)
		stream_write_gap(stream, member->task, since, FLOWTAP_CAUSE_DISPLACED);
}

static void end(struct flowtap_member *member, void *stream)
{
	if (READ_ONCE(member->displaced_since))
		displace_end(stream, member);
}

void displace_end_all(struct flowtap_stream *stream)
{
	if (xchg(&stream->group->displacements, false))
		set_each(&stream->group->set, end, stream);
}
