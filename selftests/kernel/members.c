// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that who comes into a set twice is counted once, that whoever ends elsewhere is told, and that
 * nothing interrupts a CPU for nothing: neither its counters nor other CPUs.
 */
#include <fcntl.h>
#include <linux/perf_event.h>

#include "other_driver.h"
#include "stream.h"
#include "support/kselftest_harness.h"
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

/* Interrupts of the CPUs' counters; -1: they have none here. */
static long overflows(void)
{
	FILE *file = fopen("/proc/interrupts", "re");
	char line[4096], *at, *end;
	long sum = -1;

	while (file && fgets(line, sizeof(line), file)) {
		if (!strstr(line, "pmu"))
			continue;
		sum = sum < 0 ? 0 : sum;
		for (at = strchr(line, ':') + 1;; at = end) {
			long here = strtol(at, &end, 10);

			if (at == end)
				break;
			sum += here;
		}
	}
	if (file)
		fclose(file);
	return sum;
}

static long overflows_in(unsigned int ms)
{
	long before = overflows();

	sleep_ms(ms);
	return overflows() - before;
}

static void count_instructions(struct flowtap_configure *configure)
{
	configure->triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	configure->event_type = PERF_TYPE_HARDWARE;
	configure->event_config = PERF_COUNT_HW_INSTRUCTIONS;
	configure->period = 100000;
}

TEST_F(members, events_count_while_the_set_is_enabled_and_for_nobody_else)
{
	long added, enabled, disabled, both, child_removed, removed, again, closed;
	volatile pid_t *child;
	pid_t tid, parent;

	if (overflows() < 0)
		SKIP(return, "no counter here has interrupts");
	unthrottle();
	child = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	count_instructions(&self->configure);
	tid = spinner(0);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	added = overflows_in(100);
	ASSERT_EQ(0, enable(&self->stream));
	enabled = overflows_in(100);
	ASSERT_EQ(0, disable(&self->stream));
	disabled = overflows_in(100);
	ASSERT_EQ(0, enable(&self->stream));
	again = overflows_in(100);
	ASSERT_EQ(1, remove_task(&self->stream, tid, 0));
	removed = overflows_in(100);
	end(tid);
	EXPECT_EQ(0, added);
	EXPECT_LT(10, enabled);
	EXPECT_EQ(0, disabled);
	EXPECT_LT(10, again);
	EXPECT_EQ(0, removed);

	/* A child that was forked while the set was disabled, and which goes alone. */
	ASSERT_EQ(0, disable(&self->stream));
	parent = fork_pinned(0);
	if (!parent) {
		/* It is added first. */
		while (!*child)
			usleep(1000);
		tid = fork();
		if (tid)
			*child = tid;
		else
			prctl(PR_SET_PDEATHSIG, SIGKILL);
		spin();
	}
	ASSERT_EQ(1, add_task(&self->stream, parent, 0));
	*child = -1;
	ASSERT_TRUE(WAIT_FOR(stats(&self->stream).tasks == 2));
	added = overflows_in(100);
	ASSERT_EQ(0, enable(&self->stream));
	both = overflows_in(100);
	ASSERT_EQ(1, remove_task(&self->stream, parent, 0));
	child_removed = overflows_in(100);
	ASSERT_TRUE(WAIT_FOR(*child > 0));
	ASSERT_EQ(1, remove_task(&self->stream, *child, 0));
	removed = overflows_in(100);
	stream_close(&self->stream);
	closed = overflows_in(100);
	end(parent);
	TH_LOG("%ld enabled, %ld two, %ld one of them", enabled, both, child_removed);
	EXPECT_EQ(0, added);
	EXPECT_LT(10, both);
	EXPECT_LT(0, child_removed);
	/* They share a CPU: by halves where the host has no say in it (guests.sh). */
	if (!getenv("FLOWTAP_REAL_TIME")) {
		EXPECT_LT(both / 4, child_removed);
		EXPECT_GT(both * 3 / 4, child_removed);
	}
	EXPECT_EQ(0, removed);
	EXPECT_EQ(0, closed);
}

TEST_F(members, the_event_of_a_cpu_counts_while_its_stream_is_enabled)
{
	long opened, enabled, disabled, again, closed;
	pid_t pid;

	if (overflows() < 0)
		SKIP(return, "no counter here has interrupts");
	unthrottle();
	count_instructions(&self->configure);
	self->configure.flags = FLOWTAP_CPU_WIDE;
	pid = spinner(0);
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	opened = overflows_in(100);
	ASSERT_EQ(0, enable(&self->stream));
	enabled = overflows_in(100);
	ASSERT_EQ(0, disable(&self->stream));
	disabled = overflows_in(100);
	ASSERT_EQ(0, enable(&self->stream));
	again = overflows_in(100);
	stream_close(&self->stream);
	closed = overflows_in(100);
	end(pid);
	EXPECT_EQ(0, opened);
	EXPECT_LT(10, enabled);
	EXPECT_EQ(0, disabled);
	EXPECT_LT(10, again);
	EXPECT_EQ(0, closed);
}

TEST_F(members, an_event_that_an_exec_enables_does_not_count_before)
{
	volatile bool *go = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
				 -1, 0);
	long before, after;
	pid_t pid;

	if (overflows() < 0)
		SKIP(return, "no counter here has interrupts");
	unthrottle();
	count_instructions(&self->configure);
	self->configure.flags |= FLOWTAP_ENABLE_ON_EXEC;
	pid = fork_pinned(0);
	if (!pid) {
		while (!*go)
			;
		execl("/proc/self/exe", "executed", ROLE_SPIN, NULL);
		_exit(1);
	}
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, pid, 0));
	before = overflows_in(100);
	*go = true;
	ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
	after = overflows_in(100);
	end(pid);
	EXPECT_EQ(0, before);
	EXPECT_LT(10, after);
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

#define CSD "/sys/kernel/tracing/events/csd/csd_queue_cpu/"

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : write(fd, text, strlen(text));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -1 : 0;
}

/* The kernel's own trace: whoever asks CPU 1 to call something. */
static int watch_calls(void)
{
	return put(CSD "filter", "cpu == 1") || put("/sys/kernel/tracing/trace", "") ||
	       put(CSD "enable", "1");
}

/*
 * How many there were since, of the module and of perf: memory, RCU and the scheduler have theirs.
 */
static unsigned int calls(void)
{
	FILE *file = fopen("/sys/kernel/tracing/trace", "re");
	unsigned int n = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		n += strstr(line, "csd_queue_cpu:") &&
		     (strstr(line, "[flowtap]") || strstr(line, "func=remote_function") ||
		      strstr(line, "func=event_function"));
	if (file)
		fclose(file);
	put("/sys/kernel/tracing/trace", "");
	return n;
}

#define ROUNDS 304

TEST_F(members, nobodys_cpu_is_interrupted_for_nothing)
{
	struct stream others[8];
	unsigned int i, round, n[5];
	pid_t tid;

	if (cpus_online() < 2 || watch_calls())
		SKIP(return, "one CPU, or no tracefs with csd_queue_cpu");
	ASSERT_EQ(0, pin(0, 0));
	tid = fork_pinned(0);
	if (!tid)
		for (;;)
			pause();
	/*
	 * That of CPU 1, of a task that cannot be there: nothing that changes is of interest to it.
	 */
	self->configure.cpu = 1;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	calls();
	for (round = 0; round < ROUNDS; round++)
		ASSERT_EQ(0, enable(&self->stream));
	n[0] = calls();
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, disable(&self->stream));
		ASSERT_EQ(0, enable(&self->stream));
	}
	n[1] = calls();
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(1, add_task(&self->stream, tid, 0));
		ASSERT_EQ(0, disable(&self->stream));
		ASSERT_EQ(0, enable(&self->stream));
		ASSERT_EQ(1, remove_task(&self->stream, tid, 0));
	}
	n[2] = calls();
	for (round = 0; round < ROUNDS; round += 8) {
		for (i = 0; i < 8; i++)
			ASSERT_EQ(0, stream_open(&others[i], &self->configure));
		for (i = 0; i < 8; i++)
			stream_close(&others[i]);
	}
	n[3] = calls();
	/* Where the task may be, the CPU is asked: the count counts. */
	ASSERT_EQ(0, pin(tid, 1));
	calls();
	ASSERT_EQ(1, add_task(&self->stream, tid, 0));
	for (round = 0; round < ROUNDS; round++) {
		ASSERT_EQ(0, disable(&self->stream));
		ASSERT_EQ(0, enable(&self->stream));
	}
	n[4] = calls();
	put(CSD "enable", "0");
	end(tid);
	TH_LOG("%u, %u, %u, %u, %u calls", n[0], n[1], n[2], n[3], n[4]);
	for (i = 0; i < 4; i++)
		EXPECT_EQ(0, n[i]);
	EXPECT_LE(ROUNDS, n[4]);
}

#define CHILDREN	1000
#define PER_SECOND	100	/* of kmod/gap.c */

/* Each child that ends there has a GAP record, which is that CPU's to write. */
TEST_F_TIMEOUT(members, who_ends_where_he_may_not_run_interrupts_nobody_over_and_over, 1200)
{
	volatile unsigned int *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int n, gaps = 0, i;
	uint64_t since, seconds, lost = 0;
	pid_t parent;

	if (cpus_online() < 2 || watch_calls())
		SKIP(return, "one CPU, or no tracefs with csd_queue_cpu");
	ASSERT_EQ(0, pin(0, 0));
	parent = fork_pinned(0);
	if (!parent) {
		while (!shared[0])
			usleep(1000);
		for (i = 0; i < CHILDREN; i++) {
			/* Nothing is copied, so that more of them end in a second. */
			if (!vfork())
				_exit(0);
			wait(NULL);
			shared[1] = i + 1;
		}
		for (;;)
			pause();
	}
	self->configure.cpu = 1;
	self->configure.ring_pages = 64;
	ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
	ASSERT_EQ(1, add_task(&self->stream, parent, 0));
	ASSERT_EQ(0, enable(&self->stream));
	calls();
	since = now_ns();
	shared[0] = 1;
	/* A kernel that checks itself takes minutes. */
	for (i = 0; i < CHILDREN; i = shared[1])
		ASSERT_TRUE(WAIT_FOR(shared[1] > i));
	seconds = (now_ns() - since) / 1000000000 + 1;
	/* Nor does who is told what is left. */
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(0, disable(&self->stream));
		EXPECT_EQ(0, enable(&self->stream));
	}
	n = calls();
	put(CSD "enable", "0");
	EXPECT_EQ(0, disable(&self->stream));
	while (stream_next(&self->stream) == 1) {
		gaps += self->stream.record.header.type == FLOWTAP_RECORD_GAP;
		if (self->stream.record.header.type == FLOWTAP_RECORD_LOST)
			lost += self->stream.record.lost.records;
	}
	end(parent);
	TH_LOG("%u calls in %llu s, %u gaps, %llu lost", n, (unsigned long long)seconds, gaps,
	       (unsigned long long)lost);
	EXPECT_EQ(CHILDREN, gaps + lost);
	if ((seconds + 1) * PER_SECOND >= CHILDREN)
		SKIP(return, "1000 children take so long that nobody is to be kept from asking");
	/* It may begin and end within a second, and DISABLE asks once more. */
	EXPECT_GE((seconds + 1) * PER_SECOND + 1, n);
}

#define TRACING	"/sys/kernel/tracing/"
#define PLACES	"tracepoint_probe_register_prio"

/* How often the module has put a hook in place, since the last time. */
static unsigned int hooks_placed(void)
{
	FILE *file = fopen(TRACING "trace", "re");
	unsigned int n = 0;
	char line[512];

	while (file && fgets(line, sizeof(line), file))
		n += line[0] != '#' && strstr(line, PLACES);
	if (file)
		fclose(file);
	put(TRACING "trace", "");
	return n;
}

/* To change the kernel's text interrupts every CPU. */
TEST_F(members, who_opens_and_closes_over_and_over_changes_the_kernels_text_seldom)
{
	unsigned int round, n;

	/* The module comes and goes, so that nothing is in place when this begins. */
	stream_close(&self->stream);
	ASSERT_EQ(0, unload());
	ASSERT_EQ(0, load("soft=1"));
	if (put(TRACING "set_ftrace_filter", PLACES) || put(TRACING "current_tracer", "function"))
		SKIP(return, "this kernel has no function tracer");
	hooks_placed();
	for (round = 0; round < 32; round++) {
		ASSERT_EQ(0, stream_open(&self->stream, &self->configure));
		stream_close(&self->stream);
	}
	n = hooks_placed();
	put(TRACING "current_tracer", "nop");
	put(TRACING "set_ftrace_filter", "");
	/* Each of them once, but that of interrupts where none stops a source. */
	EXPECT_LE(5, n);
	EXPECT_GE(6, n);
}

TEST_HARNESS_MAIN
