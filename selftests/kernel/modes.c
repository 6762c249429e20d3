// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what each way to configure CTR records, and only that: privilege modes, transfer types,
 * call stacks, triggers; and that no address of the kernel is in a user's record. riscv64 with CTR
 * only.
 */
#include <sys/resource.h>

#include "support/kselftest_harness.h"

#ifdef __riscv

#include "loop.h"
#include "modes.h"

#define BOTH (FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL)

static bool settable(const struct flowtap_query *query, uint64_t bits)
{
	return (query->ctr.settable & bits) == bits;
}

/* bracket() of one stream, again where something got lost: we may be taken off the CPU. 1, or 0: never whole. */
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

#else

TEST(ctr_is_riscv)
{
	SKIP(return, "CTR is RISC-V's");
}

#endif

TEST_HARNESS_MAIN
