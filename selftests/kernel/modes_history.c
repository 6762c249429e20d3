// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that a task's history goes on where it left the CPU, after a task switch and on another CPU.
 * riscv64 with CTR only.
 */
#include "support/kselftest_harness.h"

#ifdef __riscv

#include "loop.h"
#include "modes.h"

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
