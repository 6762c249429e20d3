// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what comes out of the hardware (riscv64 with CTR): every depth, only valid entries, only
 * the traced task's, whoever else uses counters or the CPU.
 */
#include <sys/syscall.h>
#include <linux/perf_event.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#ifdef __riscv

#include "loop.h"

FIXTURE(ctr)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct stream stream;
};

FIXTURE_SETUP(ctr)
{
	self->stream.fd = -1;
	unthrottle();
	if (!query_source(FLOWTAP_SOURCE_CTR, &self->query))
		SKIP(return, "no CTR here");
	self->configure = plain(FLOWTAP_SOURCE_CTR, 0);
	self->configure.ring_pages = 256;
}

FIXTURE_TEARDOWN(ctr)
{
	stream_close(&self->stream);
}

TEST_F(ctr, query_tells_the_hardware)
{
	EXPECT_NE(0, self->query.ctr.depths);
	EXPECT_EQ(16U << (31 - __builtin_clz(self->query.ctr.depths)), self->query.ctr.depth_max);
	EXPECT_EQ(1, self->query.ctr.control & 1);
	EXPECT_EQ(0xf, self->query.ctr.data & 0xf);
	EXPECT_EQ(1000, self->query.period_min);
	EXPECT_EQ(FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_TIMER |
		  FLOWTAP_TRIGGER_SWITCH, self->query.triggers);
	EXPECT_EQ(FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL, self->query.modes);
	/* What is ours to set is not the caller's. */
	EXPECT_EQ(0, self->query.ctr.settable & ~self->query.ctr.control);
	EXPECT_EQ(0, self->query.ctr.settable & 0x1103);
}

TEST_F(ctr, every_depth_is_set_filled_and_valid)
{
	struct loop loop = start_loop(0, 0x10000000);
	uint32_t depth, n;

	for (depth = 16; depth <= 256; depth *= 2) {
		uint32_t greatest = 0;

		if (!(self->query.ctr.depths & depth / 16))
			continue;
		self->configure = sampling(self->configure, 100000);
		self->configure.ctr.depth = depth;
		ASSERT_EQ(0, trace(&self->stream, &self->configure, loop.pid));
		for (n = 0; n < 20; n++) {
			ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
			EXPECT_EQ(depth, self->stream.record.sample.depth);
			ASSERT_GE(depth, self->stream.record.sample.nr);
			EXPECT_EQ(-1, bad_entry(&self->stream));
			EXPECT_TRUE(inside(&self->stream, loop.code));
			if (self->stream.record.sample.nr > greatest)
				greatest = self->stream.record.sample.nr;
		}
		EXPECT_EQ(depth, greatest);
		stream_close(&self->stream);
	}
	end_loop(&loop);
}

TEST_F(ctr, depths_that_there_are_not)
{
	static const struct { uint32_t depth, flags; int error; } tries[] = {
		{ 8, 0, -EINVAL }, { 512, 0, -EINVAL }, { 257, 0, -EINVAL },
		{ 24, 0, -EOPNOTSUPP }, { 100, 0, -EOPNOTSUPP },
		{ 24, FLOWTAP_CTR_SHALLOW, 16 }, { 255, FLOWTAP_CTR_SHALLOW, 128 },
		{ 64, FLOWTAP_CTR_SHALLOW, 64 }, { 0, 0, 256 },
	};
	struct loop loop = start_loop(0, 0x10000000);
	unsigned int i;

	if (self->query.ctr.depths != 0x1f)
		SKIP(return, "this hardware has not all depths");
	for (i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
		struct flowtap_configure configure = sampling(self->configure, 100000);

		configure.ctr.depth = tries[i].depth;
		configure.ctr.flags = tries[i].flags;
		if (tries[i].error < 0) {
			EXPECT_EQ(tries[i].error, stream_open(&self->stream, &configure))
				TH_LOG("depth %u", tries[i].depth);
			continue;
		}
		ASSERT_EQ(0, trace(&self->stream, &configure, loop.pid));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
		EXPECT_EQ(tries[i].error, self->stream.record.sample.depth);
		stream_close(&self->stream);
	}
	end_loop(&loop);
}

TEST_F(ctr, control_bits_that_are_not_the_callers)
{
	uint64_t bit;

	for (bit = 1; bit; bit <<= 1) {
		int error;

		self->configure.ctr.control = bit;
		error = stream_open(&self->stream, &self->configure);
		EXPECT_TRUE(bit & self->query.ctr.settable ? !error :
			    error == -EINVAL || error == -EOPNOTSUPP)
			TH_LOG("control %#llx: %d", (unsigned long long)bit, error);
		stream_close(&self->stream);
	}
	self->configure.ctr.control = 1;
	EXPECT_EQ(-EINVAL, stream_open(&self->stream, &self->configure));
	self->configure.ctr.control = 2;
	EXPECT_EQ(-EINVAL, stream_open(&self->stream, &self->configure));
}

TEST_F(ctr, an_overflow_samples_the_program_where_it_is)
{
	struct flowtap_configure configure = sampling(self->configure, 100000);
	struct loop loop = start_loop(0, 0x10000000);
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	const struct flowtap_entry *last;
	unsigned int n, user = 0;

	ASSERT_EQ(0, trace(&self->stream, &configure, loop.pid));
	for (n = 0; n < 50; n++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
		EXPECT_EQ(loop.pid, sample->tid);
		EXPECT_EQ(FLOWTAP_TRIGGER_OVERFLOW, sample->trigger);
		EXPECT_EQ(1, sample->control & 3);
		EXPECT_NE(0, sample->control & 1 << 12);
		if (!(sample->header.misc & FLOWTAP_MISC_USER))
			continue;
		user++;
		EXPECT_GT(LOOP_SIZE, sample->ip - loop.code);
		if (!sample->nr)
			continue;
		/* Frozen at the overflow: from the last target it is straight to ip. */
		last = entries_of(&self->stream) + sample->nr - 1;
		EXPECT_LE(last->target & ~1ULL, sample->ip);
	}
	EXPECT_LT(40, user);
	end_loop(&loop);
}

FIXTURE(apart)
{
	struct flowtap_configure configure;
	struct loop loops[2];
};

/* What is in the buffer at a switch goes to its task, or to nobody. */
FIXTURE_VARIANT(apart)
{
	unsigned int triggers;
};

FIXTURE_VARIANT_ADD(apart, flushed)
{
	.triggers = FLOWTAP_TRIGGER_OVERFLOW | FLOWTAP_TRIGGER_SWITCH,
};

FIXTURE_VARIANT_ADD(apart, dropped)
{
	.triggers = FLOWTAP_TRIGGER_OVERFLOW,
};

FIXTURE_SETUP(apart)
{
	if (!source_there(FLOWTAP_SOURCE_CTR))
		SKIP(return, "no CTR here");
	unthrottle();
	self->configure = sampling(plain(FLOWTAP_SOURCE_CTR, 0), 20000);
	self->configure.triggers = variant->triggers;
	self->configure.ctr.depth = 256;
	self->configure.ring_pages = 4096;
	/* Two tasks that share a CPU, each in a place of its own. */
	self->loops[0] = start_loop(0, 0x10000000);
	self->loops[1] = start_loop(0, 0x20000000);
}

FIXTURE_TEARDOWN(apart)
{
	end_loop(&self->loops[0]);
	end_loop(&self->loops[1]);
}

/* Samples of the loop only, with transfers of the loop only; how many there were, or -1. */
static int all_inside(struct stream *stream, const struct loop *loop)
{
	int count = 0;

	while (stream_next_sample(stream, 0) == 1) {
		if (stream->record.sample.tid != loop->pid || !inside(stream, loop->code) ||
		    bad_entry(stream) != -1)
			return -1;
		count++;
	}
	return count;
}

static bool enough(const struct stream *stream)
{
	struct flowtap_stats now = stats(stream);

	return now.samples > 50 && now.switches > 30;
}

TEST_F(apart, nothing_of_one_task_is_in_anothers_samples)
{
	struct stream streams[2];
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, trace(&streams[i], &self->configure, self->loops[i].pid));
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(WAIT_FOR(enough(&streams[i])));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, disable(&streams[i]));
		EXPECT_LT(50, all_inside(&streams[i], &self->loops[i]));
		EXPECT_LT(1000, stats(&streams[i]).entries);
		stream_close(&streams[i]);
	}
}

TEST_F(apart, nothing_of_who_is_not_traced_is_in_any_sample)
{
	struct stream stream;

	ASSERT_EQ(0, trace(&stream, &self->configure, self->loops[0].pid));
	EXPECT_TRUE(WAIT_FOR(enough(&stream)));
	ASSERT_EQ(0, disable(&stream));
	EXPECT_LT(50, all_inside(&stream, &self->loops[0]));
	stream_close(&stream);
}

TEST_F(ctr, a_snapshot_of_another_task)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	struct loop loop;
	unsigned int n;
	int nr;

	if (cpus_online() < 2)
		SKIP(return, "one CPU: nothing else runs while we ask");
	ASSERT_EQ(0, pin(0, 1));
	loop = start_loop(0, 0x10000000);
	self->configure.ctr.depth = 64;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, loop.pid));
	for (n = 0; n < 20; n++) {
		uint64_t before = *loop.count;

		while (*loop.count - before < 10000)
			sleep_ms(1);
		nr = snapshot(&self->stream);
		/* It was not there, or had come this moment: an empty sample. */
		if (!nr) {
			stream_next_sample(&self->stream, 0);
			continue;
		}
		ASSERT_EQ(1, stream_next_sample(&self->stream, 0));
		EXPECT_EQ(nr, sample->nr);
		EXPECT_EQ(FLOWTAP_TRIGGER_SNAPSHOT, sample->trigger);
		EXPECT_TRUE(inside(&self->stream, loop.code));
		EXPECT_EQ(-1, bad_entry(&self->stream));
		if (sample->header.misc & FLOWTAP_MISC_USER)
			EXPECT_GT(LOOP_SIZE, sample->ip - loop.code);
	}
	EXPECT_LT(10, stats(&self->stream).samples);
	/* It does not run: there is nothing to take. */
	kill(loop.pid, SIGSTOP);
	sleep_ms(50);
	EXPECT_EQ(0, snapshot(&self->stream));
	EXPECT_EQ(0, stream_next_sample(&self->stream, 0));
	end_loop(&loop);
}

/* Ten calls that nobody else makes, then the system call that takes them. */
static __attribute__((noinline, noipa)) void called(void)
{
	asm volatile("");
}

TEST_F(ctr, a_task_takes_its_own_history)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	const struct flowtap_entry *entry;
	unsigned int calls = 0, returns = 0, round, i;
	int nr;

	ASSERT_EQ(0, pin(0, 0));
	self->configure.ctr.depth = 256;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
	/* Again where we were taken off the CPU in between. */
	for (round = 0; round < 100; round++) {
		snapshot(&self->stream);
		for (i = 0; i < 10; i++)
			called();
		nr = snapshot(&self->stream);
		ASSERT_EQ(1, stream_next_sample(&self->stream, 0));
		if (stream_next_sample(&self->stream, 0) == 1 && !sample->loss)
			break;
	}
	ASSERT_LT(20, nr);
	ASSERT_EQ(nr, sample->nr);
	EXPECT_EQ(getpid(), sample->tid);
	EXPECT_EQ(-1, bad_entry(&self->stream));
	entry = entries_of(&self->stream);
	for (i = 0; i < sample->nr; i++) {
		calls += (entry[i].target & ~1ULL) == (uint64_t)called && (entry[i].data & 0xf) == 9;
		returns += (entry[i].source & ~1ULL) - (uint64_t)called < 8 &&
			   (entry[i].data & 0xf) == 13;
	}
	EXPECT_EQ(10, calls);
	EXPECT_EQ(10, returns);
	/* The last is the trap of this very system call. */
	EXPECT_EQ(1, entry[sample->nr - 1].data & 0xf);
	EXPECT_EQ(0, entry[sample->nr - 1].target & ~1ULL);
}

TEST_F(ctr, traps_are_recorded_unless_they_are_not_wanted)
{
	unsigned int round, n, i, traps[2] = { 0 };

	ASSERT_EQ(0, pin(0, 0));
	for (round = 0; round < 2; round++) {
		self->configure.ctr.flags = round ? FLOWTAP_CTR_NO_TRAPS : 0;
		ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
		for (n = 0; n < 100; n++) {
			getppid();
			snapshot(&self->stream);
		}
		while (stream_next_sample(&self->stream, 0) == 1) {
			const struct flowtap_entry *entry = entries_of(&self->stream);

			EXPECT_EQ(!round, !!(self->stream.record.sample.control & 1 << 8));
			for (i = 0; i < self->stream.record.sample.nr; i++)
				traps[round] += (entry[i].data & 0xf) - 1 < 2;
		}
		stream_close(&self->stream);
	}
	EXPECT_LT(100, traps[0]);
	EXPECT_EQ(0, traps[1]);
}

static int perf_open(uint64_t event, pid_t pid, int cpu, uint64_t period)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.config = event,
		.sample_period = period,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return syscall(SYS_perf_event_open, &attr, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
}

/* 20000 instructions without a transfer. */
asm(".pushsection .text\n"
    ".balign 4\n"
    "straight_on:\n"
    ".rept 19999\n"
    "	nop\n"
    ".endr\n"
    "straight_on_end:\n"
    "	ret\n"
    ".popsection");
extern const char straight_on[], straight_on_end[];

/*
 * Somebody samples cycles on our CPU: each of his overflows freezes CTR. Recording goes on after
 * each, nothing that we did is missing, and his interrupts are there as such.
 */
TEST_F(ctr, overflows_of_others_do_not_stop_it)
{
	struct flowtap_configure configure = sampling(self->configure, 1ULL << 40);
	const struct flowtap_entry *entry = entries_of(&self->stream);
	unsigned int round, i, interrupts = 0, clean = 0, calls, walks;
	uint64_t count, until = now_ns() + 15000 * MS;
	int fd;

	ASSERT_EQ(0, pin(0, 0));
	configure.ctr.depth = 256;
	ASSERT_EQ(0, trace(&self->stream, &configure, getpid()));
	fd = perf_open(PERF_COUNT_HW_CPU_CYCLES, -1, 0, 300000);
	if (fd < 0)
		SKIP(return, "no second counter: %s", strerror(errno));
	for (round = 0; round < 200 || (interrupts <= 10 && now_ns() < until); round++) {
		while (stream_next(&self->stream) == 1)
			;
		snapshot(&self->stream);
		for (i = 0; i < 10; i++) {
			called();
			((void (*)(void))straight_on)();
		}
		snapshot(&self->stream);
		/* The sample of the second one. */
		ASSERT_EQ(1, stream_next_sample(&self->stream, 0));
		ASSERT_EQ(1, stream_next_sample(&self->stream, 0));
		ASSERT_GT(256, self->stream.record.sample.nr);
		/* We were not alone on the CPU. */
		if (self->stream.record.sample.loss == 1 << FLOWTAP_CAUSE_SWITCH)
			continue;
		clean++;
		ASSERT_EQ(0, self->stream.record.sample.loss);
		ASSERT_EQ(-1, bad_entry(&self->stream));
		for (i = 0, calls = 0, walks = 0; i < self->stream.record.sample.nr; i++) {
			uint64_t source = entry[i].source & ~1ULL, target = entry[i].target & ~1ULL;

			calls += target == (uint64_t)called;
			walks += target == (uint64_t)straight_on;
			interrupts += (entry[i].data & 0xf) == 2 &&
				      source >= (uint64_t)straight_on &&
				      source <= (uint64_t)straight_on_end;
		}
		ASSERT_EQ(10, calls);
		ASSERT_EQ(10, walks);
	}
	EXPECT_LT(20, clean);
	EXPECT_LT(10, interrupts);
	/* They did overflow: his counter went on counting. */
	ASSERT_EQ(8, read(fd, &count, 8));
	EXPECT_LT(300000 * 10, count);
	close(fd);
}

struct turns {
	uint64_t own, others;
};

/* What two loops on one CPU do in a second of it. */
static struct turns turns(const struct loop *own, const struct loop *other)
{
	struct turns before = { *own->count, *other->count };

	sleep_ms(1000);
	return (struct turns){ *own->count - before.own, *other->count - before.others };
}

/* The scheduler bills interrupts to whom they interrupt, and none come while another task runs. */
TEST_F(ctr, a_storm_of_overflows_takes_nobody_elses_time)
{
	struct loop own = start_loop(0, 0x10000000), other = start_loop(0, 0x20000000);
	struct turns calm = turns(&own, &other), storm;
	struct flowtap_stats done;

	self->configure = sampling(self->configure, self->query.period_min);
	ASSERT_EQ(0, trace(&self->stream, &self->configure, own.pid));
	storm = turns(&own, &other);
	done = stats(&self->stream);
	TH_LOG("in a second: %llu overflows; own turns %llu of %llu, the other's %llu of %llu",
	       (unsigned long long)done.triggers, (unsigned long long)storm.own,
	       (unsigned long long)calm.own, (unsigned long long)storm.others,
	       (unsigned long long)calm.others);
	/*
	 * How many there are is the host's matter; that they are a storm, what is left of its own
	 * turns.
	 */
	EXPECT_LT(0, done.triggers);
	EXPECT_LT(storm.own, calm.own / 2);
	/* Where the guest's CPUs are the host's threads, so is what they do in a second. */
	if (!getenv("FLOWTAP_REAL_TIME"))
		EXPECT_GT(storm.others, calm.others / 4 * 3);
	end_loop(&own);
	end_loop(&other);
}

TEST_F(ctr, a_disabled_stream_costs_nothing_and_records_nothing)
{
	struct flowtap_configure configure = sampling(self->configure, 100000);
	struct loop loop = start_loop(0, 0x10000000);
	struct flowtap_stats before, after;

	configure.triggers |= FLOWTAP_TRIGGER_SWITCH;
	ASSERT_EQ(0, trace(&self->stream, &configure, loop.pid));
	ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
	ASSERT_EQ(0, disable(&self->stream));
	before = stats(&self->stream);
	sleep_ms(200);
	after = stats(&self->stream);
	/* What waited may have been flushed. */
	after.wakeups = before.wakeups;
	EXPECT_EQ(0, memcmp(&before, &after, sizeof(after)));
	EXPECT_EQ(0, snapshot(&self->stream));
	while (stream_next_sample(&self->stream, 0) == 1)
		;
	ASSERT_EQ(0, enable(&self->stream));
	EXPECT_EQ(1, stream_next_sample(&self->stream, 10000));
	end_loop(&loop);
}

TEST_F(ctr, the_holder_is_told)
{
	struct loop loop = start_loop(0, 0x10000000);
	struct flowtap_query query;
	unsigned int tries, seen = 0;

	if (cpus_online() < 2)
		SKIP(return, "one CPU: we run, not the task");
	ASSERT_EQ(0, pin(0, 1));
	ASSERT_EQ(0, trace(&self->stream, &self->configure, loop.pid));
	for (tries = 0; tries < 200 && seen < 20; tries++) {
		query = (struct flowtap_query){ .cpu = 0 };
		ASSERT_EQ(0, command(self->stream.fd, FLOWTAP_IOC_QUERY, &query));
		sleep_ms(5);
		if (!query.holder_pid)
			continue;
		EXPECT_EQ(getpid(), query.holder_pid);
		EXPECT_STREQ("ctr", (char *)query.holder_comm);
		seen++;
	}
	EXPECT_LT(0, seen);
	end_loop(&loop);
}

#else

TEST(ctr_is_riscv)
{
	SKIP(return, "CTR is RISC-V's");
}

#endif

TEST_HARNESS_MAIN
