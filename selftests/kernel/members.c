// SPDX-License-Identifier: GPL-2.0-only
/* Shows that who comes into a set twice is counted once, and that whoever ends elsewhere is told. */
#include <linux/perf_event.h>

#include "kselftest_harness.h"
#include "stream.h"
#include "task.h"

#define FAULTS 10000
#define PERIOD 1000

FIXTURE(members)
{
	struct flowtap_configure configure;
	struct stream stream;
};

FIXTURE_SETUP(members)
{
	self->stream.fd = -1;
	if (!source_there(FLOWTAP_SOURCE_SOFT))
		SKIP(return, "the soft source is not there: load the module with soft=1");
	self->configure = plain(FLOWTAP_SOURCE_SOFT, 0);
	self->configure.flags = FLOWTAP_INHERIT;
}

FIXTURE_TEARDOWN(members)
{
	stream_close(&self->stream);
}

/* So many page faults: so many events of a counter that is exact. */
static void fault(unsigned int times)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	while (times--) {
		*(volatile uint8_t *)page = 1;
		madvise(page, 4096, MADV_DONTNEED);
	}
}

TEST_F(members, an_inherited_event_is_not_made_once_more)
{
	volatile struct { pid_t child; unsigned int round, done; } *shared;
	uint64_t before, triggers[2];
	unsigned int round;
	pid_t parent;

	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	self->configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	self->configure.event_type = PERF_TYPE_SOFTWARE;
	self->configure.event_config = PERF_COUNT_SW_PAGE_FAULTS;
	self->configure.period = PERIOD;
	/* A fault is triggered in the kernel, by the program. */
	self->configure.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL;
	parent = fork_pinned(0);
	if (!parent) {
		while (!shared->round)
			usleep(1000);
		if (!fork()) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			shared->child = getpid();
			for (round = 2; round < 4; round++) {
				while (shared->round < round)
					usleep(1000);
				fault(FAULTS);
				shared->done = round;
			}
		}
		for (;;)
			pause();
	}
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, parent, 0));
	ASSERT_EQ(0, enable(&self->stream));
	shared->round = 1;
	ASSERT_TRUE(WAIT_FOR(shared->child && stats(&self->stream).tasks == 2));
	for (round = 0; round < 2; round++) {
		before = stats(&self->stream).triggers;
		shared->round = 2 + round;
		ASSERT_TRUE(WAIT_FOR(shared->done == 2 + round));
		triggers[round] = stats(&self->stream).triggers - before;
		/* It has the event by inheritance; out and in again, that is one still. */
		ASSERT_EQ(1, remove_task(&self->stream, shared->child, 0));
		ASSERT_EQ(1, add_task(&self->stream, shared->child, 0));
	}
	/* Some faults happen twice. */
	EXPECT_LE(FAULTS / PERIOD, triggers[0]);
	EXPECT_GE(triggers[0] * 3 / 2, triggers[1]);
	kill(shared->child, SIGKILL);
	end(parent);
}

TEST_F(members, who_ends_where_the_group_has_no_stream_is_told_of)
{
	bool told = false;
	pid_t tid;

	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	self->configure.triggers |= FLOWTAP_TRIGGER_TIMER;
	self->configure.timer_ns = 1000000;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	tid = spinner(0);
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	ASSERT_EQ(0, enable(&self->stream));
	ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
	ASSERT_EQ(0, pin(tid, 1));
	sleep_ms(50);
	end(tid);
	ASSERT_TRUE(WAIT_FOR(poll_now(&self->stream) & POLLHUP));
	while (stream_next(&self->stream) == 1)
		told |= self->stream.record.header.type == FLOWTAP_RECORD_GAP &&
			self->stream.record.gap.tid == tid;
	EXPECT_TRUE(told);
}

/* How often others had a function called on a CPU; -1: not to be found. */
static long calls_on(unsigned int cpu)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char line[4096], *at, *end;
	long calls = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "Function call"))
			continue;
		at = strchr(line, ':');
		for (unsigned int i = 0; at && i <= cpu; i++, at = end)
			calls = strtol(at + !i, &end, 10);
	}
	if (file)
		fclose(file);
	return calls;
}

#define ROUNDS 300

TEST_F(members, nobodys_cpu_is_interrupted_for_nothing)
{
	struct stream others[8];
	unsigned int i, round;
	long before, after[4];
	pid_t tid;

	if (cpus_online() < 2 || calls_on(1) < 0)
		SKIP(return, "one CPU, or no such line in /proc/interrupts");
	ASSERT_EQ(0, pin(0, 0));
	tid = fork_pinned(0);
	if (!tid)
		for (;;)
			pause();
	/* That of CPU 1, of a task that cannot be there: nothing that changes is of interest to it. */
	self->configure.cpu = 1;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	before = calls_on(1);
	for (round = 0; round < ROUNDS; round++)
		ASSERT_EQ(0, enable(&self->stream));
	after[0] = calls_on(1);
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, disable(&self->stream));
		ASSERT_EQ(0, enable(&self->stream));
	}
	after[1] = calls_on(1);
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(1, add_task(&self->stream, tid, 0));
		ASSERT_EQ(0, disable(&self->stream));
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, remove_task(&self->stream, tid, 0));
	}
	after[2] = calls_on(1);
	for (round = 0; round < ROUNDS; round += 8) {
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, stream_open(&others[i], &self->configure));
		for (i = 0; i < 8; i++)
			stream_close(&others[i]);
	}
	after[3] = calls_on(1);
	TH_LOG("%ld, %ld, %ld, %ld calls", after[0] - before, after[1] - after[0],
	       after[2] - after[1], after[3] - after[2]);
	for (i = 0; i < 4; i++, before = after[i - 1])
		EXPECT_GT(ROUNDS / 4, after[i] - before);
	end(tid);
}

TEST_HARNESS_MAIN
