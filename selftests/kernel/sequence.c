// SPDX-License-Identifier: GPL-2.0-only
/* Shows that sequence numbers and losses tell truly which samples follow each other. */
#include "traced.h"

/*
 * Two tasks take turns on the CPU. With a sample at each switch nothing of them is lost but by a
 * full buffer, so each one's samples count up by one except where `loss` says why not.
 */
TEST_F(tasks, samples_are_contiguous_unless_a_loss_is_told)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	pid_t tids[2] = { spinner(0), spinner(0) };
	uint64_t sequence[2] = { 0 };
	unsigned int contiguous = 0, switched = 0, task;

	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tids[0], 0));
	ASSERT_EQ(1, add_task(&self->stream, tids[1], 0));
	ASSERT_EQ(0, enable(&self->stream));
	sleep_ms(300);
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).switches > 20));
	ASSERT_EQ(0, disable(&self->stream));
	while (stream_next(&self->stream) == 1) {
		if (sample->header.type != FLOWTAP_RECORD_SAMPLE)
			continue;
		task = sample->tid == tids[1];
		EXPECT_EQ(tids[task], sample->tid);
		EXPECT_EQ(!sequence[task], !!(sample->loss & 1 << FLOWTAP_CAUSE_START));
		EXPECT_LT(sequence[task], sample->sequence);
		EXPECT_EQ(!sample->loss, sample->sequence == sequence[task] + 1);
		EXPECT_EQ(sample->nr == sample->depth,
			  !!(sample->loss & 1 << FLOWTAP_CAUSE_WRAPPED));
		/* Nobody disabled, displaced or moved anything here. */
		EXPECT_EQ(0, sample->loss & ~(1 << FLOWTAP_CAUSE_START |
					      1 << FLOWTAP_CAUSE_WRAPPED |
					      1 << FLOWTAP_CAUSE_RING_FULL));
		contiguous += !sample->loss;
		switched += sample->trigger == FLOWTAP_TRIGGER_SWITCH;
		sequence[task] = sample->sequence;
	}
	EXPECT_LT(0, switched);
	if (variant->source == FLOWTAP_SOURCE_SOFT)
		EXPECT_LT(0, contiguous);
	EXPECT_LT(2, stats(&self->stream).switches);
	end(tids[0]);
	end(tids[1]);
}

TEST_F(tasks, a_time_without_tracing_is_a_loss)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	volatile uint64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t tid = fork_pinned(0);
	unsigned int round;
	uint64_t last, ran;

	if (!tid)
		for (;;)
			++*count;
	/* With two CPUs it never leaves its own. */
	if (cpus_online() > 1)
		ASSERT_EQ(0, pin(0, 1));
	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		ASSERT_EQ(0, disable(&self->stream));
		do {
			last = sample->sequence;
		} while (stream_next_sample(&self->stream, 0) == 1);
		/* It does run in that time. */
		ran = *count;
		ASSERT_TRUE(WAIT_FOR(*count > ran));
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		EXPECT_LT(last + 1, sample->sequence);
		EXPECT_NE(0, sample->loss & (1 << FLOWTAP_CAUSE_DISABLED));
	}
	end(tid);
}

/* It is away at both ends of the time in which nothing was recorded: no switch counts that. */
TEST_F(tasks, who_came_while_nothing_was_recorded_has_a_loss)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	volatile uint64_t *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int round;
	uint64_t last, ran;
	pid_t tid;

	if (cpus_online() < 2)
		SKIP(return, "one CPU: it never runs while we do");
	tid = fork_pinned(0);
	if (!tid)
		for (;;)
			++*count;
	ASSERT_EQ(0, pin(0, 1));
	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	for (round = 0; round < 5; round++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		ASSERT_EQ(0, kill(tid, SIGSTOP));
		ASSERT_TRUE(WAIT_FOR(state_of(tid) == 'T'));
		ASSERT_EQ(0, disable(&self->stream));
		do {
			last = sample->sequence;
		} while (stream_next_sample(&self->stream, 0) == 1);
		ran = *count;
		ASSERT_EQ(0, kill(tid, SIGCONT));
		ASSERT_TRUE(WAIT_FOR(*count > ran));
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		EXPECT_LT(last + 1, sample->sequence);
		EXPECT_NE(0, sample->loss & 1 << FLOWTAP_CAUSE_DISABLED);
	}
	end(tid);
}

TEST_F(tasks, running_where_the_group_has_no_stream_is_a_loss)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	unsigned int round, seen = 0;
	pid_t tid;

	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	tid = spinner(0);
	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	for (round = 0; round < 10; round++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 5000));
		ASSERT_EQ(0, pin(tid, 1));
		sleep_ms(10);
		ASSERT_EQ(0, pin(tid, 0));
		sleep_ms(30);
		while (stream_next_sample(&self->stream, 0) == 1)
			seen += !!(sample->loss & 1 << FLOWTAP_CAUSE_NO_STREAM);
	}
	EXPECT_LE(8, seen);
	end(tid);
}

TEST_F(tasks, a_task_that_moves_is_traced_by_each_cpus_stream)
{
	const struct flowtap_record_sample *sample;
	struct stream streams[2];
	uint64_t sequence = 0;
	unsigned int i, round, count[2] = { 0 };
	pid_t tid;

	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	tid = spinner(0);
	self->configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, stream_open(&streams[0], &self->configure));
	self->configure.flags = FLOWTAP_GROUP;
	self->configure.group_fd = streams[0].fd;
	self->configure.cpu = 1;
	ASSERT_EQ(0, stream_open(&streams[1], &self->configure));
	ASSERT_EQ(1, add_task(&streams[1], tid, 0));
	struct flowtap_enable group = { .flags = FLOWTAP_ENABLE_GROUP };
	ASSERT_EQ(0, command(streams[0].fd, FLOWTAP_IOC_ENABLE, &group));
	for (round = 0; round < 20; round++) {
		ASSERT_EQ(0, pin(tid, round % 2));
		sleep_ms(20);
		/* It is on that CPU, all that was before is in the other's ring. */
		for (i = 0; i < 2; i++) {
			struct stream *stream = &streams[(round + 1 + i) % 2];

			sample = &stream->record.sample;
			while (stream_next_sample(stream, 0) == 1) {
				if (sample->sequence <= sequence)
					continue;
				EXPECT_EQ(0, sample->loss & 1 << FLOWTAP_CAUSE_NO_STREAM);
				sequence = sample->sequence;
				count[sample->cpu]++;
			}
		}
	}
	EXPECT_LT(10, count[0]);
	EXPECT_LT(10, count[1]);
	end(tid);
	EXPECT_EQ(POLLHUP, poll_for(&streams[0], 5000) & POLLHUP);
	EXPECT_EQ(POLLHUP, poll_for(&streams[1], 5000) & POLLHUP);
	stream_close(&streams[0]);
	stream_close(&streams[1]);
}

TEST_F(tasks, two_groups_that_want_one_task_the_older_gets_it)
{
	struct stream younger;
	pid_t tid = spinner(0);

	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(0, stream_open(&younger, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	ASSERT_EQ(1, add_task(&younger, tid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(0, enable(&younger));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).samples > 3));
	EXPECT_TRUE(WAIT_FOR(stats(&younger).losses[FLOWTAP_CAUSE_DISPLACED]));
	EXPECT_EQ(0, stats(&younger).samples);
	stream_close(&self->stream);
	EXPECT_EQ(1, stream_next_sample(&younger, 5000));
	EXPECT_NE(0, younger.record.sample.loss & 1 << FLOWTAP_CAUSE_DISPLACED);
	end(tid);
	stream_close(&younger);
}

TEST_HARNESS_MAIN
