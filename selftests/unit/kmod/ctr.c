// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers what no emulator has: harts that lack what is optional, that are
 * open to guests, or whose firmware is recorded; and that what gets lost there is told.
 */
#include "ctr_driver.h"

/* --- What a hart is found to be. --- */

TEST_F(ctr, what_there_is_is_found)
{
	static const struct {
		unsigned int depths, depth_max;
		bool points;
	} harts[] = {
		{ 0x1f, 256, true }, { 1, 16, false }, { 4, 64, true }, { 0x15, 256, false },
	};
	unsigned int i;

	for (i = 0; i < COUNT(harts); i++) {
		hart.depths = harts[i].depths;
		hart.points = harts[i].points;
		hart.depth = ilog2(harts[i].depths);
		hart.data_bits = i % 2 ? TYPE_ONLY : ALL_DATA;
		ASSERT_EQ(FLOWTAP_REASON_NONE, ctr_online());
		EXPECT_EQ(harts[i].depths, ctrs.caps.depths);
		EXPECT_EQ(harts[i].depth_max, ctrs.caps.depth_max);
		EXPECT_EQ(harts[i].points, ctrs.points);
		EXPECT_EQ(hart.data_bits, ctrs.caps.data);
		EXPECT_EQ(hart.control_bits, ctrs.caps.control);
		EXPECT_EQ(0, hart.control | hart.frozen | valid());
		ctr_offline();
	}
}

/* Guests see the host's entries unless somebody keeps them away. */
TEST_F(ctr, it_is_not_used_where_guests_could_read_it)
{
	unsigned int set;

	for (set = 0; set < 8; set++) {
		bool open = set == 3;

		memset(&ctrs, 0, sizeof(ctrs));
		said[0] = 0;
		hart.hypervisor = set & 1;
		hart.kvm = set >> 1 & 1;
		hart.stateen = set >> 2 & 1;
		EXPECT_EQ(open ? FLOWTAP_REASON_UNUSABLE : FLOWTAP_REASON_NONE, ctr_online())
			TH_LOG("%u", set);
		EXPECT_EQ(open, !!strstr(said, "Smstateen"));
		EXPECT_EQ(0, hart.control | hart.guests_control);
	}
}

/* Without H there is no vsctrctl to be read or written. */
TEST_F(ctr, a_hart_without_guests_has_no_owner_of_theirs)
{
	hart.hypervisor = false;
	hart.stateen = false;
	ASSERT_EQ(FLOWTAP_REASON_NONE, ctr_online());
	ctr_recover();
	ctr_offline();
	EXPECT_EQ(0, hart.wrong);
}

/* Whoever had set it, or the firmware while the hart was away. */
TEST_F(ctr, what_guests_record_with_is_zero_from_the_first_moment_on)
{
	hart.guests_control = 1;
	EXPECT_EQ(FLOWTAP_REASON_OWNED, ctr_online());
	/* It is its owner's yet. */
	EXPECT_EQ(1, hart.guests_control);
	takeover = true;
	EXPECT_EQ(FLOWTAP_REASON_NONE, ctr_online());
	takeover = false;
	EXPECT_EQ(0, hart.guests_control);
	hart.guests_control = 1;
	ctr_recover();
	EXPECT_EQ(0, hart.guests_control);
	/* The hart comes back. */
	hart.guests_control = 1;
	EXPECT_EQ(FLOWTAP_REASON_NONE, ctr_online());
	EXPECT_EQ(0, hart.guests_control);
}

TEST_F(ctr, it_is_not_used_where_the_firmware_is_recorded)
{
	hart.select = 0x77;
	hart.depth = 2;
	ASSERT_EQ(FLOWTAP_REASON_NONE, ctr_online());
	ctr_offline();
	EXPECT_EQ(2, hart.depth);
	EXPECT_LT(0, hart.calls);
	EXPECT_EQ(0, valid());
	memset(&ctrs, 0, sizeof(ctrs));
	hart.depth = 3;
	hart.m_recorded = true;
	EXPECT_EQ(FLOWTAP_REASON_UNUSABLE, ctr_online());
	EXPECT_NE(NULL, strstr(said, "mctrctl.M"));
	EXPECT_EQ(0, hart.control | valid());
	EXPECT_EQ(0x77, hart.select);
	/* As it was found. */
	EXPECT_EQ(3, hart.depth);
}

/* --- What a recording is. --- */

TEST_F(ctr, only_an_interrupt_of_its_own_event_freezes_it)
{
	static const struct {
		u32 type;
		bool hardware;
	} types[] = {
		{ PERF_TYPE_HARDWARE, true }, { PERF_TYPE_HW_CACHE, true }, { PERF_TYPE_RAW, true },
		{ PERF_TYPE_SOFTWARE, false },
	};
	unsigned int i, round;

	for (round = 0; round < 2; round++) {
		if (round)
			hart.control_bits &= ~HART_LCOFIFRZ;
		ASSERT_EQ(FLOWTAP_REASON_NONE, ctr_online());
		for (i = 0; i < COUNT(types); i++) {
			self->configure.event_type = types[i].type;
			EXPECT_EQ(round && types[i].hardware ? -EOPNOTSUPP : 0,
				  configure(&self->stream, &self->configure));
			if (round)
				continue;
			EXPECT_EQ(types[i].hardware,
				  !!(self->stream.recording.control & HART_LCOFIFRZ));
			EXPECT_EQ(types[i].hardware ? FLOWTAP_TRIGGER_OVERFLOW : 0,
				  self->stream.recording.stopping);
		}
		self->configure.triggers = FLOWTAP_TRIGGER_SNAPSHOT;
		self->configure.event_type = 0;
		EXPECT_EQ(0, configure(&self->stream, &self->configure));
		EXPECT_EQ(0, self->stream.recording.control & HART_LCOFIFRZ);
		EXPECT_EQ(0, self->stream.recording.stopping);
		self->configure.triggers |= FLOWTAP_TRIGGER_OVERFLOW;
	}
}

/* --- What becomes a sample. --- */

TEST_F(ctr, an_overflow_ends_where_it_was)
{
	struct flowtap_stream *stream = &self->stream;

	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	run(HART_U, PROGRAM, 3);
	overflows(stream, &self->member, PROGRAM + 0x30, true, true, self->scratch);
	EXPECT_EQ(3, written.sample.nr);
	EXPECT_EQ(PROGRAM + 0x30, written.sample.ip);
	EXPECT_EQ(FLOWTAP_MISC_USER, written.sample.header.misc);
	EXPECT_EQ(0, written.sample.loss | self->member.loss);
	EXPECT_EQ(0, gaps[FLOWTAP_CAUSE_FROZEN]);
	/* It goes on. */
	run(HART_U, PROGRAM, 2);
	overflows(stream, &self->member, PROGRAM + 0x20, true, true, self->scratch);
	EXPECT_EQ(2, written.sample.nr);
	EXPECT_EQ(0, written.sample.loss);
	EXPECT_EQ(2, written.sample.sequence);
}

/* The trap of somebody else's overflow is put in where the pointer can be moved. */
TEST_F(ctr, an_overflow_of_others_is_no_loss_with_a_write_pointer)
{
	struct flowtap_stream *stream = &self->stream;

	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	run(HART_U, PROGRAM, 3);
	overflows(stream, &self->member, PROGRAM + 0x30, true, false, self->scratch);
	EXPECT_EQ(0, hart.frozen);
	run(HART_U, PROGRAM + 0x30, 2);
	overflows(stream, &self->member, PROGRAM + 0x50, true, true, self->scratch);
	ASSERT_EQ(6, written.sample.nr);
	EXPECT_EQ((PROGRAM + 0x30) | 1, written.entries[3].source);
	EXPECT_EQ(0, written.entries[3].target);
	EXPECT_EQ(HART_INTERRUPT, written.entries[3].data);
	EXPECT_EQ(0, self->member.loss | gaps[FLOWTAP_CAUSE_FROZEN]);
}

/* Without, it stays frozen, and what is told then is not taken for our own overflow's doing. */
TEST_F(ctr, an_overflow_of_others_is_a_loss_without_a_write_pointer)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int others, i;

	hart.points = false;
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	/* Once, several times, and in the kernel. */
	for (others = 1; others < 4; others++) {
		u64 sequence = self->member.sequence;

		memset(gaps, 0, sizeof(gaps));
		run(HART_U, PROGRAM, 3);
		for (i = 0; i < others; i++)
			overflows(stream, &self->member, i % 2 ? KERNEL : PROGRAM + 0x30, !(i % 2),
				  false, self->scratch);
		EXPECT_EQ(HART_FROZEN, hart.frozen);
		run(HART_U, PROGRAM + 0x30, 5);
		overflows(stream, &self->member, PROGRAM + 0x80, true, true, self->scratch);
		EXPECT_EQ(3, written.sample.nr);
		/* There is no way from the last entry to where we are. */
		EXPECT_EQ(0, written.sample.ip);
		EXPECT_EQ(0, written.sample.header.misc);
		EXPECT_EQ(1, gaps[FLOWTAP_CAUSE_FROZEN]);
		/* What comes next does not follow; after that all is as before. */
		run(HART_U, PROGRAM + 0x80, 2);
		overflows(stream, &self->member, PROGRAM + 0xa0, true, true, self->scratch);
		EXPECT_EQ(1U << FLOWTAP_CAUSE_FROZEN, written.sample.loss);
		EXPECT_EQ(2, written.sample.nr);
		EXPECT_EQ(PROGRAM + 0xa0, written.sample.ip);
		run(HART_U, PROGRAM + 0xa0, 2);
		overflows(stream, &self->member, PROGRAM + 0xc0, true, true, self->scratch);
		EXPECT_EQ(0, written.sample.loss);
		EXPECT_EQ(1, gaps[FLOWTAP_CAUSE_FROZEN]);
		EXPECT_EQ(sequence + 4, written.sample.sequence);
	}
}

/* One trap serves several interrupts: that of an overflow that came meanwhile has no trap. */
TEST_F(ctr, an_overflow_without_a_trap_has_no_place_where_it_was)
{
	struct pt_regs regs = { .pc = PROGRAM + 0x30, .user = true };
	struct flowtap_stream *stream = &self->stream;
	unsigned int kernel;

	for (kernel = 0; kernel < 2; kernel++) {
		if (kernel)
			self->configure.modes |= FLOWTAP_MODE_KERNEL;
		ASSERT_EQ(0, start(stream, &self->member, &self->configure));
		run(HART_U, PROGRAM, 3);
		hart_traps(HART_U, regs.pc, HART_INTERRUPT, false);
		run(HART_S, KERNEL, 4);
		sample_write(stream, &self->member, FLOWTAP_TRIGGER_OVERFLOW, &regs, self->scratch);
		ctr_resume(&stream->recording);
		EXPECT_EQ(kernel ? 8 : 4, written.sample.nr);
		EXPECT_EQ(kernel ? 0 : regs.pc, written.sample.ip);
		EXPECT_EQ(kernel ? 0 : FLOWTAP_MISC_USER, written.sample.header.misc);
		/* With one it has. */
		run(HART_U, PROGRAM, 3);
		overflows(stream, &self->member, regs.pc, true, true, self->scratch);
		EXPECT_EQ(3, written.sample.nr);
		EXPECT_EQ(regs.pc, written.sample.ip);
		EXPECT_EQ(0, gaps[FLOWTAP_CAUSE_FROZEN] | self->member.loss);
	}
}

/* An event of software stops nothing: if something did, it was somebody else's. */
TEST_F(ctr, what_stopped_it_before_a_software_event_was_another)
{
	struct pt_regs regs = { .pc = PROGRAM + 0x30, .user = true };
	struct flowtap_stream *stream = &self->stream;

	self->configure.event_type = PERF_TYPE_SOFTWARE;
	self->configure.ctr.control = 1 << 11;		/* BPFRZ */
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	run(HART_U, PROGRAM, 3);
	hart.frozen = HART_FROZEN;
	run(HART_U, PROGRAM + 0x30, 3);
	sample_write(stream, &self->member, FLOWTAP_TRIGGER_OVERFLOW, &regs, self->scratch);
	EXPECT_EQ(3, written.sample.nr);
	EXPECT_EQ(1, gaps[FLOWTAP_CAUSE_FROZEN]);
	EXPECT_EQ(1U << FLOWTAP_CAUSE_FROZEN, self->member.loss);
}

/* At each interrupt's end. */
static unsigned int reads_to_thaw(struct flowtap_stream *stream)
{
	unsigned int before = hart.reads;

	ctr_thaw(&stream->recording);
	return hart.reads - before;
}

TEST_F(ctr, no_register_is_read_after_interrupts_that_cannot_have_stopped_it)
{
	struct flowtap_stream *stream = &self->stream;

	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	run(HART_U, PROGRAM, 3);
	EXPECT_LT(0, reads_to_thaw(stream));
	self->configure.ctr.control = 1 << 11;		/* BPFRZ */
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	EXPECT_EQ(0, reads_to_thaw(stream));
	self->configure.ctr.control = 0;
	self->configure.event_type = PERF_TYPE_SOFTWARE;
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	EXPECT_EQ(0, reads_to_thaw(stream));
	self->configure.triggers = FLOWTAP_TRIGGER_TIMER;
	self->configure.event_type = 0;
	ASSERT_EQ(0, start(stream, &self->member, &self->configure));
	EXPECT_EQ(0, reads_to_thaw(stream));
	EXPECT_EQ(0, hart.frozen);
}

/* The way out of a guest is the kernel's, and was not recorded. */
TEST_F(ctr, an_overflow_in_a_guest_is_a_loss_where_the_kernel_is_recorded)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int kernel;

	for (kernel = 0; kernel < 2; kernel++) {
		memset(gaps, 0, sizeof(gaps));
		if (kernel)
			self->configure.modes |= FLOWTAP_MODE_KERNEL;
		ASSERT_EQ(0, start(stream, &self->member, &self->configure));
		run(HART_U, PROGRAM, 3);
		hart.frozen = HART_FROZEN;
		current->flags = PF_VCPU;
		overflows(stream, &self->member, KERNEL, false, false, self->scratch);
		current->flags = 0;
		EXPECT_EQ(kernel ? HART_FROZEN : 0, hart.frozen);
		overflows(stream, &self->member, PROGRAM, true, true, self->scratch);
		EXPECT_EQ(3, written.sample.nr);
		EXPECT_EQ(kernel, gaps[FLOWTAP_CAUSE_FROZEN]);
	}
}

/* With every number of new ones, wherever the pointer is, whatever the buffer can hold. */
TEST_F(ctr, a_sample_has_what_came_since_the_one_before)
{
	struct flowtap_stream *stream = &self->stream;
	unsigned int depth, n, hardware, i;
	unsigned long at = PROGRAM;

	for (hardware = 0; hardware < 6; hardware++) {
		/* Cycles are counted; are not; there is no pointer: one that is frozen, too. */
		hart.data_bits = hardware % 3 == 1 ? TYPE_ONLY : ALL_DATA;
		hart.points = hardware % 3 != 2;
		for (depth = 16; depth <= 256; depth *= 2) {
			self->configure.ctr.depth = depth;
			ASSERT_EQ(0, start(stream, &self->member, &self->configure));
			for (n = 0; n < depth + 3; n++) {
				const unsigned int nr = n < depth ? n : depth;

				run(HART_U, at, n);
				at += 16 * n;
				if (hardware < 3)
					sample_write(stream, &self->member, FLOWTAP_TRIGGER_TIMER,
						     NULL, self->scratch);
				else
					overflows(stream, &self->member, at, true, true,
						  self->scratch);
				ASSERT_EQ(nr, written.sample.nr)
					TH_LOG("hardware %u, depth %u", hardware, depth);
				EXPECT_EQ(sizeof(written.sample) + nr * sizeof(written.entries[0]),
					  written.sample.header.size);
				EXPECT_EQ(nr == depth ? 1U << FLOWTAP_CAUSE_WRAPPED : 0,
					  written.sample.loss);
				EXPECT_EQ(hardware < 3 ? 0 : at, written.sample.ip);
				for (i = 0; i < nr; i++)
					ASSERT_EQ((at - 16 * (nr - i)) | 1,
						  written.entries[i].source);
				ctr_resume(&stream->recording);
			}
			ctr_pause(&stream->recording);
			ctr_stop(&stream->recording);
		}
	}
	EXPECT_EQ(0, gaps[FLOWTAP_CAUSE_FROZEN]);
}

TEST_HARNESS_MAIN
