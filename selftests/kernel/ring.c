// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the ring holds all that its counters say: a slow reader loses exactly what is told,
 * a hostile one harms only itself, and poll wakes when flowtap.h says.
 */
#include <pthread.h>

#include "loss_log.h"
#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

FIXTURE(ring)
{
	struct stream stream;
	struct pattern pattern;
	pid_t task;
};

FIXTURE_SETUP(ring)
{
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	self->stream.fd = -1;
	self->pattern.depth = 16;
	self->task = spinner(0);
	ASSERT_LT(0, self->task);
}

FIXTURE_TEARDOWN(ring)
{
	end(self->task);
	stream_close(&self->stream);
}

static int start(struct stream *stream, const struct flowtap_configure *configure, pid_t task)
{
	int error = stream_open(stream, configure);

	if (!error) {
		error = add_task(stream, task, 0);
		error = error == 1 ? enable(stream) : error ?: -ECHILD;
	}
	return error;
}

/*
 * Takes what waits, up to `most` records. Every sample is the pattern's next one, as many as LOST
 * tells are passed over. False: the ring does not say what happened.
 */
static bool take(struct stream *stream, struct pattern *pattern, struct loss_log *loss_log,
		 unsigned int most)
{
	int got = 0;

	while (most-- && (got = stream_next(stream)) == 1)
		if (!loss_log_add(stream, pattern, loss_log))
			return false;
	return got >= 0;
}

TEST_F(ring, a_slow_reader_loses_exactly_what_is_told)
{
	struct flowtap_configure configure = ticking(0, 50000);
	struct flowtap_stats stats_now;
	struct loss_log loss_log = { 0 };
	unsigned int round;

	configure.ring_pages = 2;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	for (round = 0; round < 60 || stats(&self->stream).lost_samples < 200; round++) {
		ASSERT_TRUE(take(&self->stream, &self->pattern, &loss_log, round % 7 * 5))
			TH_LOG("round %u", round);
		sleep_ms(round % 5 * 10);
	}
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_TRUE(take(&self->stream, &self->pattern, &loss_log, ~0U));
	/* There may have been no room to tell of the last losses: there is now. */
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_TRUE(take(&self->stream, &self->pattern, &loss_log, ~0U));

	stats_now = stats(&self->stream);
	EXPECT_LT(100, stats_now.samples);
	EXPECT_LT(100, stats_now.lost_samples);
	EXPECT_EQ(stats_now.samples, loss_log.samples);
	EXPECT_EQ(stats_now.entries, loss_log.entries);
	EXPECT_EQ(stats_now.records, loss_log.records);
	EXPECT_EQ(stats_now.bytes, loss_log.bytes);
	EXPECT_EQ(stats_now.bytes, self->stream.ring->data_head);
	EXPECT_EQ(stats_now.lost_records, loss_log.lost_records);
	EXPECT_EQ(stats_now.lost_records, stats_now.lost_samples);
	EXPECT_EQ(stats_now.lost_bytes, loss_log.lost_bytes);
	EXPECT_EQ(stats_now.lost_bytes, stats_now.lost_samples *
		  sizeof(struct flowtap_record_sample) +
		  stats_now.lost_entries * sizeof(struct flowtap_entry));
	EXPECT_EQ(stats_now.lost_records, self->stream.ring->lost_records);
	EXPECT_EQ(stats_now.lost_bytes, self->stream.ring->lost_bytes);
	EXPECT_EQ(stats_now.triggers, stats_now.samples + stats_now.lost_samples);
	EXPECT_EQ(stats_now.triggers, self->pattern.drains);
	EXPECT_EQ(stats_now.lost_samples, stats_now.losses[FLOWTAP_CAUSE_RING_FULL]);
	EXPECT_GE(8192, stats_now.high_water);
	EXPECT_LT(8192 - 1024, stats_now.high_water);
}

TEST_F(ring, a_quick_reader_loses_nothing)
{
	struct flowtap_configure configure = ticking(0, 1000000);
	struct flowtap_stats stats_now;
	struct loss_log loss_log = { 0 };
	unsigned int round;

	configure.ring_pages = 256;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	for (round = 0; round < 20 || loss_log.samples < 50; round++) {
		sleep_ms(20);
		ASSERT_TRUE(take(&self->stream, &self->pattern, &loss_log, ~0U));
	}
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_TRUE(take(&self->stream, &self->pattern, &loss_log, ~0U));
	stats_now = stats(&self->stream);
	EXPECT_EQ(0, stats_now.lost_records);
	EXPECT_EQ(stats_now.samples, loss_log.samples);
	EXPECT_EQ(stats_now.triggers, loss_log.samples);
	EXPECT_LT(40, loss_log.samples);
}

TEST_F(ring, times_do_not_go_back_and_are_clock_monotonic_raw)
{
	struct flowtap_configure configure = ticking(0, 1000000);
	uint64_t last = now_ns(), until;
	unsigned int count = 0;

	configure.ring_pages = 256;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).samples > 20));
	ASSERT_EQ(0, disable(&self->stream));
	until = now_ns();
	while (stream_next(&self->stream) == 1) {
		if (self->stream.record.header.type != FLOWTAP_RECORD_SAMPLE)
			continue;
		EXPECT_LE(last, self->stream.record.sample.time);
		last = self->stream.record.sample.time;
		EXPECT_GE(until, last);
		EXPECT_EQ(self->task, self->stream.record.sample.pid);
		EXPECT_EQ(self->task, self->stream.record.sample.tid);
		EXPECT_EQ(0, self->stream.record.sample.cpu);
		EXPECT_EQ(FLOWTAP_TRIGGER_TIMER, self->stream.record.sample.trigger);
		count++;
	}
	EXPECT_LT(10, count);
}

TEST_F(ring, the_first_page_says_what_the_ring_is)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	const struct flowtap_ring *ring;
	unsigned long i;

	ASSERT_EQ(0, stream_open(&self->stream, &configure));
	ring = self->stream.ring;
	EXPECT_EQ(FLOWTAP_ABI, ring->abi);
	EXPECT_EQ(0, ring->cpu);
	EXPECT_EQ(FLOWTAP_SOURCE_SOFT, ring->source);
	EXPECT_EQ(sysconf(_SC_PAGESIZE), ring->data_offset);
	EXPECT_EQ(16 * sysconf(_SC_PAGESIZE), ring->data_size);
	EXPECT_EQ(0, ring->aux_offset | ring->aux_size | ring->data_head | ring->data_tail);
	/* Nothing that the kernel had in these pages is shown. */
	for (i = sizeof(*ring); i < self->stream.length; i++)
		ASSERT_EQ(0, ((const uint8_t *)ring)[i]);
}

/* A tail that makes no sense: the ring counts as full, nothing is written. */
TEST_F(ring, a_hostile_tail_is_a_full_ring)
{
	static const int64_t away[] = { 1, 8, 1 << 20, INT64_MAX, INT64_MIN, -65536 - 1,
					-65536 - 8, -(1LL << 40) };
	struct flowtap_configure configure = ticking(0, 100000);
	struct flowtap_ring *ring;
	struct flowtap_stats before, after;
	uint64_t head;
	unsigned int i;

	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	ring = self->stream.ring;
	ASSERT_TRUE(WAIT_FOR(ring->data_head > 8));
	for (i = 0; i < sizeof(away) / sizeof(away[0]); i++) {
		ASSERT_EQ(0, disable(&self->stream));
		head = ring->data_head;
		ring->data_tail = head + away[i];
		before = stats(&self->stream);
		ASSERT_EQ(0, enable(&self->stream));
		EXPECT_TRUE(WAIT_FOR(stats(&self->stream).triggers > before.triggers + 3));
		ASSERT_EQ(0, disable(&self->stream));
		after = stats(&self->stream);
		EXPECT_EQ(head, ring->data_head) TH_LOG("tail %lld", (long long)away[i]);
		EXPECT_LT(before.lost_samples, after.lost_samples);
		EXPECT_EQ(before.samples, after.samples);
		EXPECT_EQ(POLLIN, poll_now(&self->stream));
	}
	/* A sane tail again: it goes on. */
	ring->data_tail = ring->data_head;
	before = stats(&self->stream);
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).triggers > before.triggers + 3));
	ASSERT_EQ(0, disable(&self->stream));
	after = stats(&self->stream);
	EXPECT_LT(before.samples, after.samples);
	EXPECT_EQ(1, stream_next(&self->stream));
	EXPECT_EQ(FLOWTAP_RECORD_LOST, self->stream.record.header.type);
}

/* The ring was full when its CPU went: nobody is left there to write what was lost. */
TEST_F(ring, disable_again_writes_what_was_lost_on_a_cpu_that_went)
{
	struct flowtap_configure configure = ticking(1, 100000);
	uint64_t lost, told = 0;

	if (cpus_online() < 2 || access(CPU1, W_OK))
		SKIP(return, "no CPU that can go");
	end(self->task);
	self->task = spinner(1);
	ASSERT_LT(0, self->task);
	configure.ring_pages = 2;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).lost_samples > 3));
	ASSERT_EQ(0, write_file(CPU1, "0"));
	/* So small a record may fit where no sample does: not with a tail like this. */
	self->stream.ring->data_tail = self->stream.ring->data_head + 1;
	ASSERT_EQ(0, disable(&self->stream));
	self->stream.ring->data_tail = 0;
	while (stream_next(&self->stream) == 1)
		if (self->stream.record.header.type == FLOWTAP_RECORD_LOST)
			told += self->stream.record.lost.records;
	lost = stats(&self->stream).lost_records;
	EXPECT_LT(told, lost);
	ASSERT_EQ(0, disable(&self->stream));
	ASSERT_EQ(1, stream_next(&self->stream));
	EXPECT_EQ(FLOWTAP_RECORD_LOST, self->stream.record.header.type);
	EXPECT_EQ(lost - told, self->stream.record.lost.records);
	EXPECT_EQ(lost, self->stream.record.lost.total_records);
	/* That was all. */
	ASSERT_EQ(0, disable(&self->stream));
	EXPECT_EQ(0, stream_next(&self->stream));
	ASSERT_EQ(0, write_file(CPU1, "1"));
	EXPECT_EQ(0, stream_next(&self->stream));
}

/* An odd tail within range is the reader's own affair: records go on being written after head. */
TEST_F(ring, an_odd_tail_harms_the_reader_only)
{
	struct flowtap_configure configure = ticking(0, 100000);
	struct flowtap_stats stats_now;

	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	ASSERT_TRUE(WAIT_FOR(self->stream.ring->data_head));
	self->stream.ring->data_tail = self->stream.ring->data_head - 13;
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).triggers > 100));
	ASSERT_EQ(0, disable(&self->stream));
	stats_now = stats(&self->stream);
	EXPECT_EQ(0, stats_now.bytes % 8);
	EXPECT_EQ(stats_now.bytes, self->stream.ring->data_head);
	EXPECT_GE(self->stream.ring->data_size, stats_now.high_water);
}

struct vandal {
	const struct stream *stream;
	struct flowtap_ring *ring;
	volatile bool stop;
};

static void *change_all(void *argument)
{
	struct vandal *vandal = argument;
	uint64_t random = 1;

	while (!vandal->stop) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		vandal->ring->data_tail = random >> (random & 63);
		/* What it really is; the ring's own may not be true any more. */
		if (random >> 62 == 0)
			vandal->ring->data_tail = stats(vandal->stream).bytes;
		if (random >> 60 == 4) {
			/* What the kernel writes, it never believes. */
			vandal->ring->data_size = random;
			vandal->ring->data_offset = random;
			vandal->ring->data_head = random;
		}
		usleep(random >> 58);
	}
	return NULL;
}

TEST_F(ring, a_first_page_that_changes_all_the_time_does_no_harm)
{
	struct flowtap_configure configure = ticking(0, 20000);
	struct vandal vandal = { 0 };
	struct flowtap_stats last = { 0 }, stats_now;
	pthread_t thread;
	unsigned int round;

	configure.ring_pages = 1;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	vandal.ring = self->stream.ring;
	vandal.stream = &self->stream;
	ASSERT_EQ(0, pthread_create(&thread, NULL, change_all, &vandal));
	for (round = 0; round < 50; round++) {
		sleep_ms(20);
		poll_now(&self->stream);
		stats_now = stats(&self->stream);
		ASSERT_LE(last.samples, stats_now.samples);
		ASSERT_LE(last.bytes, stats_now.bytes);
		ASSERT_LE(last.lost_bytes, stats_now.lost_bytes);
		ASSERT_GE(4096, stats_now.high_water);
		last = stats_now;
	}
	vandal.stop = true;
	pthread_join(thread, NULL);
	ASSERT_EQ(0, disable(&self->stream));
	stats_now = stats(&self->stream);
	EXPECT_EQ(stats_now.triggers, stats_now.samples + stats_now.lost_samples);
	EXPECT_LT(0, stats_now.samples);
	EXPECT_LT(0, stats_now.lost_samples);
}

TEST_F(ring, poll_wakes_at_the_watermark)
{
	struct flowtap_configure configure = ticking(0, 1000000);

	configure.watermark = 8192;
	configure.flush_ms = ~0U;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	EXPECT_EQ(POLLIN, poll_for(&self->stream, 10000));
	EXPECT_LE(8192, self->stream.ring->data_head);
	EXPECT_LT(0, stats(&self->stream).wakeups);
	ASSERT_EQ(0, disable(&self->stream));
	self->stream.ring->data_tail = self->stream.ring->data_head;
	EXPECT_EQ(0, poll_now(&self->stream));
}

TEST_F(ring, poll_does_not_wake_below_the_watermark_without_flush)
{
	struct flowtap_configure configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	unsigned int tries;

	configure.flush_ms = ~0U;
	/* On a machine of one CPU the task does not run while we ask. */
	configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	for (tries = 0; tries < 100 && !self->stream.ring->data_head; tries++) {
		sleep_ms(5);
		snapshot(&self->stream);
	}
	ASSERT_LT(0, self->stream.ring->data_head);
	ASSERT_GT(16384, self->stream.ring->data_head);
	EXPECT_EQ(0, poll_for(&self->stream, 50));
	/* Nothing more comes: what there is can be read. */
	ASSERT_EQ(0, disable(&self->stream));
	EXPECT_EQ(POLLIN, poll_now(&self->stream));
}

TEST_F(ring, what_waits_below_the_watermark_is_flushed)
{
	struct flowtap_configure configure = ticking(0, 500000000);

	configure.flush_ms = 20;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	EXPECT_EQ(POLLIN, poll_for(&self->stream, 20000));
	EXPECT_GT(16384, self->stream.ring->data_head - self->stream.ring->data_tail);
	EXPECT_EQ(1, stream_next(&self->stream));
	/* And again, after it was read. */
	self->stream.ring->data_tail = self->stream.ring->data_head;
	EXPECT_EQ(POLLIN, poll_for(&self->stream, 20000));
}

TEST_F(ring, poll_is_an_error_before_configure)
{
	self->stream.fd = open_device();
	EXPECT_EQ(POLLERR, poll_now(&self->stream));
}

TEST_F(ring, the_end_of_the_last_task_hangs_up_and_leaves_what_is_there)
{
	struct flowtap_configure configure = ticking(0, 1000000);
	struct loss_log loss_log = { 0 };
	struct pollfd hangup = { .events = 0 };
	pid_t task = spinner(0);

	configure.flush_ms = ~0U;
	ASSERT_EQ(0, start(&self->stream, &configure, self->task));
	ASSERT_EQ(1, add_task(&self->stream, task, 0));
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).samples > 3));
	end(task);
	EXPECT_EQ(0, poll_now(&self->stream) & POLLHUP);
	EXPECT_EQ(1, stats(&self->stream).tasks);
	kill(self->task, SIGKILL);
	/* There may be enough to read already. */
	hangup.fd = self->stream.fd;
	EXPECT_EQ(1, poll(&hangup, 1, 10000));
	EXPECT_EQ(POLLHUP, hangup.revents);
	EXPECT_EQ(POLLHUP | POLLIN, poll_now(&self->stream));
	EXPECT_EQ(0, stats(&self->stream).tasks);
	while (stream_next(&self->stream) == 1)
		loss_log.samples += self->stream.record.header.type == FLOWTAP_RECORD_SAMPLE;
	EXPECT_EQ(stats(&self->stream).samples, loss_log.samples);
	EXPECT_LT(0, loss_log.samples);
	EXPECT_EQ(POLLHUP, poll_now(&self->stream));
}

TEST_HARNESS_MAIN
