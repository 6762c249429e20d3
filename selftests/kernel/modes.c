// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what each way to configure CTR records, and only that: privilege modes, transfer types,
 * call stacks, triggers; that no address of the kernel is in a user's record; and that a task's
 * history goes on where it left the CPU. riscv64 with CTR only.
 */
#include <sys/resource.h>

#include "stream.h"
#include "support/kselftest_harness.h"
#include "task.h"

#ifdef __riscv

#include "loop.h"
#include "insn_programs.h"

#define BOTH (FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL)

FIXTURE(modes)
{
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct stream stream;
};

FIXTURE_SETUP(modes)
{
	self->stream.fd = -1;
	unthrottle();
	if (!query_source(FLOWTAP_SOURCE_CTR, &self->query))
		SKIP(return, "no CTR here");
	ASSERT_EQ(0, pin(0, 0));
	self->configure = plain(FLOWTAP_SOURCE_CTR, 0);
	self->configure.ring_pages = 256;
	self->configure.ctr.depth = 256;
}

FIXTURE_TEARDOWN(modes)
{
	stream_close(&self->stream);
}

static bool settable(const struct flowtap_query *query, uint64_t bits)
{
	return (query->ctr.settable & bits) == bits;
}

/*
 * What `action` did, in the last sample of two: 1, or an error. Nothing is read in between, for a
 * reader has transfers as well. *sequence: the first sample's.
 */
static int bracket(struct stream *stream, struct stream *after, void (*action)(void),
		   uint64_t *sequence)
{
	if (snapshot(stream) < 0)
		return -EPROTO;
	action();
	if (snapshot(after) < 0)
		return -EPROTO;
	do {
		if (stream_next_sample(stream, 0) != 1)
			return -ENODATA;
	} while (stream->record.sample.trigger != FLOWTAP_TRIGGER_SNAPSHOT ||
		 stream->record.sample.tid != getpid());
	*sequence = stream->record.sample.sequence;
	return stream_next_sample(after, 0) == 1 ? 1 : -ENODATA;
}

/* The same, again where something got lost: we may be taken off the CPU. 1, or 0: never whole. */
static int sample_of(struct stream *stream, void (*action)(void))
{
	unsigned int round;
	uint64_t sequence;

	for (round = 0; round < 100; round++) {
		while (stream_next(stream) == 1)
			;
		if (bracket(stream, stream, action, &sequence) == 1 && !stream->record.sample.loss)
			return 1;
	}
	return 0;
}

/* The count is what insn_program() does under these filters, so many times; says what is not. */
static bool insn_program_is(const unsigned int *count, uint64_t control, unsigned int times)
{
	unsigned int i, expected[16];
	bool same = true;

	memcpy(expected, insn_program_has, sizeof(expected));
	expected[TYPE_NOT_TAKEN] = 0;
	for (i = 0; i < FILTERS; i++)
		if (control & filters[i].bit)
			expected[filters[i].type] = filters[i].enables ? 1 : 0;
	for (i = 0; i < 16; i++) {
		/* An interrupt may come at any time. */
		if (i == TYPE_INTERRUPT || count[i] == times * expected[i])
			continue;
		if (same)
			printf("# control %#llx:", (unsigned long long)control);
		printf(" %u, not %u, of type %u;", count[i], times * expected[i], i);
		same = false;
	}
	if (!same)
		printf("\n");
	return same;
}

TEST_F(modes, every_filter_changes_its_own_type_and_no_other)
{
	unsigned int i, count[16];

	/* Number -1: none. */
	for (i = -1U; i + 1 <= FILTERS; i++) {
		uint64_t bit = i < FILTERS ? filters[i].bit : 0, effect = bit;

		if (!settable(&self->query, bit))
			continue;
		self->configure.ctr.control = bit;
		ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
		ASSERT_EQ(1, sample_of(&self->stream, insn_program));
		EXPECT_EQ(bit, self->stream.record.sample.control & 0xffff00000000ULL);
		count_insn_program(&self->stream, count);
		/* Traps to a mode that is not recorded do not depend on them (6.1.2). */
		if (i < FILTERS && filters[i].type <= TYPE_TRAP_RETURN)
			effect = 0;
		EXPECT_TRUE(insn_program_is(count, effect, 1));
		stream_close(&self->stream);
	}
	if (!settable(&self->query, INHIBIT_ALL))
		SKIP(return, "no transfer type filters here");
}

TEST_F(modes, filters_work_together)
{
	unsigned int round, seed = 1, count[16];

	if (!settable(&self->query, INHIBIT_ALL))
		SKIP(return, "no transfer type filters here");
	for (round = 0; round < 20; round++) {
		uint64_t control = 0;
		unsigned int i;

		for (i = 0; i < FILTERS; i++)
			if (filters[i].type > TYPE_TRAP_RETURN && rand_r(&seed) % 2)
				control |= filters[i].bit;
		self->configure.ctr.control = control & self->query.ctr.settable;
		ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
		ASSERT_EQ(1, sample_of(&self->stream, insn_program));
		count_insn_program(&self->stream, count);
		EXPECT_TRUE(insn_program_is(count, control & self->query.ctr.settable, 1));
		stream_close(&self->stream);
	}
}

/* With both modes traps and returns are inner transfers, subject to their filters. */
TEST_F(modes, traps_and_their_returns_with_the_kernel_recorded)
{
	static const struct { unsigned int bit; enum transfer_type type; } traps[] = {
		{ 33, TYPE_EXCEPTION }, { 35, TYPE_TRAP_RETURN },
	};
	unsigned int i, inhibited, count[16], n;

	if (!(self->query.modes & FLOWTAP_MODE_KERNEL) || !settable(&self->query, INHIBIT_ALL))
		SKIP(return, "no kernel mode, or no filters");
	self->configure.modes = BOTH;
	for (i = 0; i < 2; i++) {
		for (inhibited = 0; inhibited < 2; inhibited++) {
			self->configure.ctr.control = INHIBIT_ALL;
			if (!inhibited)
				self->configure.ctr.control &= ~(1ULL << traps[i].bit);
			ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
			/* Not counted: who is interrupted is back in insn_program() once more. */
			for (n = 0; n < 20; n++) {
				ASSERT_EQ(1, sample_of(&self->stream, insn_program));
				count_insn_program(&self->stream, count);
				if (count[traps[i].type] == !inhibited)
					break;
			}
			EXPECT_EQ(!inhibited, count[traps[i].type]) TH_LOG("type %u", traps[i].type);
			for (n = 0; n < 16; n++)
				if (n != traps[i].type)
					EXPECT_EQ(0, count[n]) TH_LOG("type %u", n);
			stream_close(&self->stream);
		}
	}
}

static bool is_kernel(uint64_t address)
{
	return address >> 63;
}

/* Where the entries of a task in a loop, and of what interrupts it, come from and go to. */
struct origins {
	unsigned int user;
	unsigned int kernel;
	unsigned int entries;
};

static struct origins origins_of(struct stream *stream, unsigned int samples)
{
	const struct flowtap_entry *entry = entries_of(stream);
	struct origins origins = { 0 };
	unsigned int i;

	while (samples-- && stream_next_sample(stream, 10000) == 1) {
		for (i = 0; i < stream->record.sample.nr; i++) {
			uint64_t ends[2] = { entry[i].source & ~1ULL, entry[i].target & ~1ULL };

			origins.entries++;
			origins.kernel += is_kernel(ends[0]) + is_kernel(ends[1]);
			origins.user += (ends[0] && !is_kernel(ends[0])) +
					(ends[1] && !is_kernel(ends[1]));
		}
	}
	return origins;
}

TEST_F(modes, only_the_modes_that_were_asked_for_are_recorded)
{
	static const uint32_t modes[] = { FLOWTAP_MODE_USER, FLOWTAP_MODE_KERNEL, BOTH };
	unsigned int i;
	pid_t tid;

	tid = fork_pinned(0);
	if (!tid) {
		volatile unsigned int n;

		/* As much of one mode as of the other. */
		for (;;) {
			for (n = 0; n < 200; n++)
				;
			getppid();
		}
	}
	for (i = 0; i < 3; i++) {
		struct origins origins;

		if (modes[i] & ~self->query.modes)
			continue;
		self->configure.modes = modes[i];
		self->configure.triggers = FLOWTAP_TRIGGER_OVERFLOW;
		self->configure.event_config = PERF_COUNT_HW_INSTRUCTIONS;
		/*
		 * In an emulator the counter runs on in the handler: not so often that it never
		 * ends.
		 */
		self->configure.period = 1000000;
		ASSERT_EQ(0, trace(&self->stream, &self->configure, tid));
		origins = origins_of(&self->stream, 50);
		EXPECT_EQ(!!(modes[i] & FLOWTAP_MODE_USER), origins.user != 0);
		EXPECT_EQ(!!(modes[i] & FLOWTAP_MODE_KERNEL), origins.kernel != 0);
		EXPECT_LT(500, origins.entries);
		EXPECT_EQ(modes[i], self->stream.record.sample.control & 3);
		stream_close(&self->stream);
	}
	end(tid);
	if (!(self->query.modes & FLOWTAP_MODE_KERNEL))
		SKIP(return, "no kernel mode: only user mode was looked at");
}

/* All kinds of triggers, all kinds of traps: no source, target or ip is in the kernel. */
TEST_F(modes, no_address_of_the_kernel_is_in_a_users_record)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	unsigned int n = 0, i, samples = 0, wrong = 0;
	pid_t tid;

	tid = fork_pinned(0);
	if (!tid) {
		uint8_t *page = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (;;) {
			for (i = 0; i < 16; i++)
				page[n++ % 256 * 4096]++;
			if (n % 256 == 0)
				madvise(page, 1 << 20, MADV_DONTNEED);
			insn_program();
			if (n % 64 == 0)
				sched_yield();
		}
	}
	self->configure.triggers = self->query.triggers;
	self->configure.event_config = PERF_COUNT_HW_INSTRUCTIONS;
	self->configure.period = 50000;
	if (self->query.triggers & FLOWTAP_TRIGGER_TIMER)
		self->configure.timer_ns = 777777;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, tid));
	for (n = 0; n < 2000; n++) {
		if (stream_next_sample(&self->stream, n % 10 ? 0 : 1000) != 1) {
			snapshot(&self->stream);
			continue;
		}
		samples++;
		wrong += is_kernel(sample->ip) || bad_entry(&self->stream) != -1;
	}
	EXPECT_LT(200, samples);
	EXPECT_EQ(0, wrong);
	end(tid);
}

/* Functions in functions; the innermost takes the sample. */
static struct stream *asked;
static int asked_result;

static __attribute__((noinline, noipa)) void innermost(void)
{
	asked_result = snapshot(asked);
}

static __attribute__((noinline, noipa)) void inner(void)
{
	innermost();
	asm volatile("");
}

static __attribute__((noinline, noipa)) void outer(void)
{
	unsigned int i;

	/* What has returned is not on the stack. */
	for (i = 0; i < 50; i++)
		insn_program();
	inner();
	asm volatile("");
}

TEST_F(modes, ras_emulation_gives_the_stack_of_calls)
{
	const struct flowtap_entry *entry = entries_of(&self->stream);
	void (*functions[])(void) = { outer, inner, innermost };
	unsigned int i, n, round, found = 0;

	if (!settable(&self->query, FLOWTAP_SCTRCTL_RASEMU))
		SKIP(return, "no RAS emulation here");
	self->configure.ctr.control = FLOWTAP_SCTRCTL_RASEMU;
	self->configure.modes = BOTH;
	if (self->query.modes & FLOWTAP_MODE_KERNEL)
		EXPECT_EQ(-EINVAL, stream_open(&self->stream, &self->configure));
	self->configure.modes = FLOWTAP_MODE_USER;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
	asked = &self->stream;
	for (round = 0; round < 20 && found < 3; round++) {
		while (stream_next(&self->stream) == 1)
			;
		outer();
		ASSERT_LE(0, asked_result);
		if (stream_next_sample(&self->stream, 0) != 1)
			continue;
		EXPECT_NE(0, self->stream.record.sample.control & FLOWTAP_SCTRCTL_RASEMU);
		for (i = 0, n = 0; i < self->stream.record.sample.nr && n < 3; i++)
			if ((entry[i].target & ~1ULL) == (uint64_t)functions[n])
				n++;
		found = n;
		for (i = 0; i < self->stream.record.sample.nr; i++)
			EXPECT_FALSE(in_insn_program(entry[i].target) ||
				     in_insn_program(entry[i].source));
	}
	/* We may have been taken off the CPU in between, never twenty times. */
	EXPECT_EQ(3, found);
}

TEST_F(modes, a_timer_samples_without_a_counter)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	struct loop loop;
	unsigned int n, timed = 0;
	uint64_t begin, took;

	if (!(self->query.triggers & FLOWTAP_TRIGGER_TIMER))
		SKIP(return, "no timer trigger");
	loop = start_loop(0, 0x10000000);
	self->configure.triggers = FLOWTAP_TRIGGER_TIMER;
	self->configure.timer_ns = 2 * MS;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, loop.pid));
	begin = now_ns();
	/* Where the host is slow more of them come while the kernel runs. */
	for (n = 0; n < 500 && timed < 41; n++) {
		ASSERT_EQ(1, stream_next_sample(&self->stream, 10000));
		EXPECT_EQ(FLOWTAP_TRIGGER_TIMER, sample->trigger);
		EXPECT_EQ(loop.pid, sample->tid);
		EXPECT_TRUE(inside(&self->stream, loop.code));
		EXPECT_EQ(-1, bad_entry(&self->stream));
		EXPECT_EQ(0, sample->control & 1 << 12);
		if (!(sample->header.misc & FLOWTAP_MISC_USER))
			continue;
		timed++;
		EXPECT_GT(LOOP_SIZE, sample->ip - loop.code);
	}
	took = now_ns() - begin;
	/* Not faster than asked for. */
	EXPECT_LT((n - 1) * 2 * MS, took + 20 * MS);
	EXPECT_LT(40, timed);
	end_loop(&loop);
}

TEST_F(modes, while_a_guest_runs_can_be_left_out)
{
	struct loop loop;

	if (!(self->query.flags & FLOWTAP_EXCLUDE_GUEST))
		SKIP(return, "no such flag here");
	loop = start_loop(0, 0x10000000);
	self->configure = sampling(self->configure, 100000);
	self->configure.flags = FLOWTAP_EXCLUDE_GUEST;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, loop.pid));
	EXPECT_EQ(1, stream_next_sample(&self->stream, 10000));
	EXPECT_TRUE(inside(&self->stream, loop.code));
	end_loop(&loop);
}

static __attribute__((noinline, noipa)) void breakpoint(void)
{
	asm volatile(".option push\n.option norvc\nebreak\n.option pop" ::: "memory");
}

static void step_over(int signal, siginfo_t *info, void *context)
{
	((ucontext_t *)context)->uc_mcontext.__gregs[REG_PC] += 4;
}

static void program_and_breakpoint(void)
{
	insn_program();
	breakpoint();
	insn_program();
}

static long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw + usage.ru_nivcsw;
}

/* What is seen of a breakpoint that freezes, and of the time after it. */
struct freeze {
	unsigned int before[16];	/* insn_program() up to the breakpoint, by type */
	unsigned int after[16];		/* ... and when recording has gone on */
	bool told;
	uint32_t loss;
};

/* 1; 0: a record is missing. */
static int freeze_once(struct stream *stream, struct freeze *freeze)
{
	while (stream_next(stream) == 1)
		;
	if (!sample_of(stream, program_and_breakpoint))
		return 0;
	count_insn_program(stream, freeze->before);
	freeze->told = false;
	while (stream_next(stream) == 1)
		freeze->told |= stream->record.header.type == FLOWTAP_RECORD_GAP &&
				stream->record.gap.cause == FLOWTAP_CAUSE_FROZEN;
	insn_program();
	snapshot(stream);
	if (stream_next_sample(stream, 0) != 1)
		return 0;
	freeze->loss = stream->record.sample.loss;
	count_insn_program(stream, freeze->after);
	return 1;
}

TEST_F(modes, a_breakpoint_freezes_where_that_is_wanted)
{
	struct sigaction action = { .sa_sigaction = step_over, .sa_flags = SA_SIGINFO };
	unsigned int count[16], round;
	struct freeze freeze;
	long before;
	int status;

	if (!settable(&self->query, FLOWTAP_SCTRCTL_BPFRZ))
		SKIP(return, "no BPFRZ here");
	sigaction(SIGTRAP, &action, NULL);
	/* Not asked for: all is there. */
	ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
	ASSERT_EQ(1, sample_of(&self->stream, program_and_breakpoint));
	count_insn_program(&self->stream, count);
	EXPECT_TRUE(insn_program_is(count, 0, 2));
	stream_close(&self->stream);

	self->configure.ctr.control = FLOWTAP_SCTRCTL_BPFRZ;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
	/* A switch to another task ends the freeze: then it is tried again. */
	for (round = 0; round < 100; round++) {
		before = switches();
		status = freeze_once(&self->stream, &freeze);
		if (switches() == before)
			break;
	}
	ASSERT_EQ(1, status);
	/* What was before the breakpoint, and nothing after it. */
	EXPECT_TRUE(insn_program_is(freeze.before, 0, 1));
	EXPECT_TRUE(freeze.told);
	/* The next tells of it, and recording has gone on. */
	EXPECT_NE(0, freeze.loss & 1 << FLOWTAP_CAUSE_FROZEN);
	EXPECT_EQ(1, freeze.after[TYPE_TAKEN]);
	EXPECT_LT(0, stats(&self->stream).losses[FLOWTAP_CAUSE_FROZEN]);
}

static void program_and_sleep(void)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		insn_program();
		usleep(2000);
	}
	insn_program();
}

/*
 * Two others share the CPU, one of them traced as well. What we had recorded when we left is there
 * when we are back: all that we did is in one sample, nobody else's is.
 */
TEST_F(modes, a_history_goes_on_over_task_switches)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	struct loop traced = start_loop(0, 0x10000000), other = start_loop(0, 0x20000000);
	const struct flowtap_entry *entry = entries_of(&self->stream);
	unsigned int count[16], i, round, foreign = 0, whole = 0;

	ASSERT_EQ(0, trace(&self->stream, &self->configure, getpid()));
	ASSERT_EQ(1, add_task(&self->stream, traced.pid, 0));
	/* As it is not promised for the first one. */
	for (round = 0; round < 10; round++) {
		uint64_t sequence;

		ASSERT_EQ(1, bracket(&self->stream, &self->stream, program_and_sleep, &sequence));
		EXPECT_EQ(getpid(), sample->tid);
		ASSERT_EQ(0, sample->loss);
		EXPECT_EQ(sequence + 1, sample->sequence);
		count_insn_program(&self->stream, count);
		EXPECT_TRUE(insn_program_is(count, 0, 5));
		whole += count[TYPE_TAKEN] == 5;
		for (i = 0; i < sample->nr; i++)
			foreign += (entry[i].source & ~1ULL) - traced.code < LOOP_SIZE ||
				   (entry[i].source & ~1ULL) - other.code < LOOP_SIZE;
	}
	EXPECT_EQ(10, whole);
	EXPECT_EQ(0, foreign);
	EXPECT_EQ(0, stats(&self->stream).losses[FLOWTAP_CAUSE_SWITCH]);
	EXPECT_LT(40, stats(&self->stream).switches);
	end_loop(&traced);
	end_loop(&other);
}

static int cpu_there;

/* There and back, and there. */
static void program_on_the_way(void)
{
	insn_program();
	pin(0, cpu_there);
	insn_program();
	pin(0, !cpu_there);
	insn_program();
	pin(0, cpu_there);
}

TEST_F(modes, a_history_goes_along_to_another_cpu)
{
	struct flowtap_enable group = { .flags = FLOWTAP_ENABLE_GROUP };
	unsigned int count[16], round;
	struct stream streams[2];

	if (cpus_online() < 2)
		SKIP(return, "one CPU");
	ASSERT_EQ(0, stream_open(&streams[0], &self->configure));
	self->configure.cpu = 1;
	self->configure.flags = FLOWTAP_GROUP;
	self->configure.group_fd = streams[0].fd;
	ASSERT_EQ(0, stream_open(&streams[1], &self->configure));
	ASSERT_EQ(1, add_task(&streams[0], getpid(), 0));
	ASSERT_EQ(0, command(streams[0].fd, FLOWTAP_IOC_ENABLE, &group));
	for (round = 0; round < 10; round++) {
		struct stream *here = &streams[round % 2], *there = &streams[!(round % 2)];
		uint64_t sequence;

		cpu_there = !(round % 2);
		ASSERT_EQ(1, bracket(here, there, program_on_the_way, &sequence));
		ASSERT_EQ(0, there->record.sample.loss);
		EXPECT_EQ(sequence + 1, there->record.sample.sequence);
		count_insn_program(there, count);
		EXPECT_TRUE(insn_program_is(count, 0, 3));
	}
	stream_close(&streams[0]);
	stream_close(&streams[1]);
}

/* Samples in the middle of time slices: only a full buffer breaks the sequence, never a switch. */
TEST_F(modes, overflow_samples_follow_each_other_over_switches)
{
	const struct flowtap_record_sample *sample = &self->stream.record.sample;
	uint64_t sequence[2] = { 0 };
	unsigned int contiguous = 0, i;
	pid_t tids[2];

	for (i = 0; i < 2; i++) {
		tids[i] = fork_pinned(0);
		if (!tids[i]) {
			volatile uint64_t n;

			/* Few transfers for so many instructions: the buffer is never full. */
			for (;;) {
				for (n = 0; n < 30; n++)
					asm volatile(".rept 2000\nnop\n.endr");
				getppid();
			}
		}
	}
	self->configure = sampling(self->configure, 50000);
	self->configure.ring_pages = 1024;
	ASSERT_EQ(0, trace(&self->stream, &self->configure, tids[0]));
	ASSERT_EQ(1, add_task(&self->stream, tids[1], 0));
	EXPECT_TRUE(WAIT_FOR(stats(&self->stream).switches > 40 &&
			     stats(&self->stream).samples > 200));
	ASSERT_EQ(0, disable(&self->stream));
	while (stream_next(&self->stream) == 1) {
		unsigned int task = sample->tid == tids[1];

		if (sample->header.type != FLOWTAP_RECORD_SAMPLE)
			continue;
		if (sequence[task]) {
			ASSERT_EQ(!sample->loss, sample->sequence == sequence[task] + 1);
			ASSERT_EQ(sample->nr == sample->depth ? 1 << FLOWTAP_CAUSE_WRAPPED : 0,
				  sample->loss);
		}
		contiguous += !sample->loss;
		sequence[task] = sample->sequence;
	}
	EXPECT_LT(0, contiguous);
	EXPECT_EQ(0, stats(&self->stream).losses[FLOWTAP_CAUSE_SWITCH]);
	end(tids[0]);
	end(tids[1]);
}

#else

TEST(ctr_is_riscv)
{
	SKIP(return, "CTR is RISC-V's");
}

#endif

TEST_HARNESS_MAIN
