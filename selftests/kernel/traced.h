/* SPDX-License-Identifier: GPL-2.0-only */
/* The fixture of tests about whose samples there are: once with soft, once with CTR. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_TRACED_H
#define FLOWTAP_SELFTESTS_KERNEL_TRACED_H

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

FIXTURE(tasks)
{
	struct stream stream;
	struct flowtap_configure configure;
};

FIXTURE_VARIANT(tasks)
{
	unsigned int source;
	unsigned int trigger;
};

FIXTURE_VARIANT_ADD(tasks, soft)
{
	.source = FLOWTAP_SOURCE_SOFT,
	.trigger = FLOWTAP_TRIGGER_TIMER,
};

FIXTURE_VARIANT_ADD(tasks, ctr)
{
	.source = FLOWTAP_SOURCE_CTR,
	.trigger = FLOWTAP_TRIGGER_OVERFLOW,
};

FIXTURE_SETUP(tasks)
{
	if (!source_there(variant->source))
		SKIP(return, "source %u is not on this machine", variant->source);
	self->stream.fd = -1;
	unthrottle();
	/* All that a test makes is on the stream's CPU. */
	ASSERT_EQ(0, pin(0, 0));
	self->configure = plain(variant->source, 0);
	self->configure.ring_pages = 256;
	self->configure.triggers |= variant->trigger;
	if (variant->trigger == FLOWTAP_TRIGGER_TIMER) {
		self->configure.timer_ns = 500000;
	} else {
		/* PERF_COUNT_HW_INSTRUCTIONS */
		self->configure.event_config = 1;
		self->configure.period = 100000;
	}
}

FIXTURE_TEARDOWN(tasks)
{
	stream_close(&self->stream);
}

/* Of the last sample that samples_of found. */
static struct flowtap_record_sample found;

/* Samples of this thread that wait in the ring; everything in it is taken. */
static inline int samples_of(struct stream *stream, pid_t tid)
{
	int count = 0;

	while (stream_next(stream) == 1) {
		if (stream->record.header.type != FLOWTAP_RECORD_SAMPLE ||
		    stream->record.sample.tid != tid)
			continue;
		found = stream->record.sample;
		count++;
	}
	return count;
}

/* Waits until there is a sample of the thread. */
static inline bool sample_comes(struct stream *stream, pid_t tid)
{
	uint64_t until = now_ns() + 10000 * MS;

	while (now_ns() < until) {
		if (samples_of(stream, tid))
			return true;
		sleep_ms(10);
	}
	return false;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_TRACED_H */
