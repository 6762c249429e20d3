// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers that what another owner records there is in no sample and not
 * put right, that a call stack stays as it is, and that a history goes to no hart of another kind.
 */
#include "ctr_driver.h"

/* --- Whose it is. --- */

/* What another driver does: he records the kernel, of whoever runs. */
static void intrude(unsigned long control)
{
	csr_write(SCTRCTL, control);
	run(HART_S, KERNEL, 3);
}

TEST_F(ctr, nothing_of_another_owner_is_in_a_sample)
{
	static const unsigned long controls[] = { HART_S, HART_U | HART_S, HART_U, 0 };
	static const u32 triggers[] = { FLOWTAP_TRIGGER_OVERFLOW, FLOWTAP_TRIGGER_TIMER,
					FLOWTAP_TRIGGER_SNAPSHOT, FLOWTAP_TRIGGER_SWITCH };
	struct pt_regs regs = { .pc = PROGRAM, .user = true };
	struct flowtap_stream *stream = &self->stream;
	unsigned int i, n = 0;

	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	for (i = 0; i < COUNT(controls) * COUNT(triggers); i++) {
		const u32 trigger = triggers[i / COUNT(controls)];

		run(HART_U, PROGRAM, 3);
		intrude(controls[i % COUNT(controls)]);
		hart_traps(HART_U, PROGRAM, HART_INTERRUPT, trigger == FLOWTAP_TRIGGER_OVERFLOW);
		sample_write(stream, &self->member, trigger, &regs, self->scratch);
		ctr_resume(&stream->recording);
		EXPECT_EQ(0, written.sample.nr);
		EXPECT_EQ(1U << FLOWTAP_CAUSE_HARDWARE, written.sample.loss);
		EXPECT_EQ(++n, gaps[FLOWTAP_CAUSE_HARDWARE]);
		/* It is ours again. */
		EXPECT_EQ(stream->recording.control, hart.control);
		run(HART_U, PROGRAM, 3);
		overflows(stream, &self->member, PROGRAM + 0x30, true, true, self->scratch);
		EXPECT_EQ(3, written.sample.nr);
		EXPECT_EQ(0, written.sample.loss | self->member.loss);
		EXPECT_EQ(0, gaps[FLOWTAP_CAUSE_FROZEN]);
	}
}

TEST_F(ctr, nothing_of_another_owner_is_put_back_or_put_right)
{
	struct flowtap_stream *stream = &self->stream;
	struct pt_regs regs = { .pc = PROGRAM, .user = true };

	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	run(HART_U, PROGRAM, 3);
	/* Frozen by somebody's overflow: that is no reason to write his sctrctl. */
	intrude(HART_S | HART_LCOFIFRZ);
	hart_traps(HART_S, KERNEL, HART_INTERRUPT, true);
	irq_regs = &regs;
	ctr_thaw(&stream->recording);
	EXPECT_EQ(HART_S | HART_LCOFIFRZ, hart.control);
	csr_clear(SCTRSTATUS, HART_FROZEN);
	/* The task leaves the CPU. */
	sample_keep(stream, &self->member, ctr_pause(&stream->recording), self->scratch);
	EXPECT_EQ(0, self->member.nr);
	EXPECT_EQ(0, gaps[FLOWTAP_CAUSE_FROZEN]);
	EXPECT_EQ(1U << FLOWTAP_CAUSE_HARDWARE, self->member.loss);
	EXPECT_EQ(1, gaps[FLOWTAP_CAUSE_HARDWARE]);
	EXPECT_FALSE(ctr_stop(&stream->recording));
	EXPECT_EQ(0, hart.control | valid());
	/* Also where nothing is kept: holder.c tells the loss then. */
	sample_start(stream, &self->member);
	ctr_resume(&stream->recording);
	intrude(HART_S);
	EXPECT_TRUE(ctr_pause(&stream->recording));
}

/* A stack begins anew with another program: that does not hide that the one before had gaps. */
TEST_F(ctr, what_was_lost_before_an_exec_is_told)
{
	static const u32 causes[] = { FLOWTAP_CAUSE_MAX, FLOWTAP_CAUSE_HARDWARE,
				      FLOWTAP_CAUSE_FROZEN };
	struct flowtap_stream *stream = &self->stream;
	unsigned int i, cause;

	self->configure.ctr.control = 1 << 7;		/* RASEMU */
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	for (i = 0; i < COUNT(causes); i++) {
		memset(gaps, 0, sizeof(gaps));
		self->member.loss = 0;
		hart_transfers(HART_U, PROGRAM, PROGRAM + 16, HART_CALL);
		if (causes[i] == FLOWTAP_CAUSE_HARDWARE)
			intrude(HART_S);
		if (causes[i] == FLOWTAP_CAUSE_FROZEN)
			hart.frozen = HART_FROZEN;
		sample_restart(stream, &self->member);
		EXPECT_EQ(0, valid());
		EXPECT_EQ(stream->recording.control, hart.control);
		for (cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
			EXPECT_EQ(cause == causes[i], gaps[cause]) TH_LOG("%u", cause);
			EXPECT_EQ(cause == causes[i], self->member.loss >> cause & 1);
		}
		ctr_resume(&stream->recording);
	}
}

/* Returns take off it what calls have put there: a sample takes nothing, with cycle counts or without. */
TEST_F(ctr, a_sample_takes_nothing_off_a_call_stack)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int cycles, i;

	self->configure.ctr.control = 1 << 7;		/* RASEMU */
	for (cycles = 0; cycles < 2; cycles++) {
		hart.data_bits = cycles ? ALL_DATA : TYPE_ONLY;
		ASSERT_EQ(0, start(stream, &self->member, &self->configure));
		hart_transfers(HART_U, PROGRAM, PROGRAM + 16, HART_CALL);
		for (i = 0; i < 3; i++) {
			sample_write(stream, &self->member, FLOWTAP_TRIGGER_TIMER, NULL,
				     self->scratch);
			EXPECT_EQ(1, written.sample.nr) TH_LOG("cycles %u", cycles);
			EXPECT_EQ(1, valid());
			ctr_resume(&stream->recording);
		}
		ctr_pause(&stream->recording);
		ctr_stop(&stream->recording);
	}
}

/* --- What is put back. --- */

/* Counts that a hart has no bits for would be others there, or none. */
TEST_F(ctr, a_history_does_not_go_to_a_hart_with_other_fields)
{
	static const unsigned long bits[] = { ALL_DATA, 0x0fff800f, TYPE_ONLY, 0xffff8000, 0 };
	struct flowtap_stream *stream = &self->stream;
	unsigned int from, to, i;

	for (from = 0; from < COUNT(bits); from++)
		for (to = 0; to < COUNT(bits); to++) {
			bool same = from == to;

			self->member.loss = 0;
			hart.data_bits = bits[from];
			ASSERT_EQ(0, start(stream, &self->member, &self->configure));
			for (i = 0; i < 3; i++)
				hart_transfers(HART_U, PROGRAM, PROGRAM + 16, 0x1234ULL << 16 |
					       1 << 15 | HART_TAKEN);
			sample_keep(stream, &self->member, ctr_pause(&stream->recording),
				    self->scratch);
			ctr_stop(&stream->recording);
			EXPECT_EQ(3, self->member.nr);
			hart.data_bits = bits[to];
			ASSERT_EQ(0, start(stream, &self->member, &self->configure));
			EXPECT_EQ(0, self->member.nr);
			EXPECT_EQ(same ? 0 : 1U << FLOWTAP_CAUSE_SWITCH, self->member.loss);
			EXPECT_EQ(same ? 3 : 0, valid());
			ctr_pause(&stream->recording);
			ctr_stop(&stream->recording);
		}
}

TEST_HARNESS_MAIN
