// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows on a model of the registers what no emulator has: harts that lack what is optional, that are
 * open to guests, or whose firmware is recorded; and that what gets lost there is told. kmod/ctr.c
 * and kmod/sample.c are compiled into this program.
 */
#include "support/kselftest_harness.h"

#include "hart.h"

#include "../../../kmod/ctr.c"

/* In place of kmod/stream.h: one stream, whose ring has room for one sample. */
#define FLOWTAP_KMOD_STREAM_H

struct flowtap_member {
	struct task_struct *task;
	u64 sequence, since, control, data;
	u32 loss, nr, capacity;
	struct flowtap_entry *history;
	bool displaced;
};

struct flowtap_output {
	struct flowtap_stats stats;
	u16 misc;
};

struct flowtap_stream {
	const struct flowtap_source *source;
	u32 cpu;
	struct task_struct *named;
	struct {
		u32 pid, tid;
	} thread;
	struct flowtap_recording recording;
	struct flowtap_output output;
};

static struct {
	struct flowtap_record_sample sample;
	struct flowtap_entry entries[FLOWTAP_DEPTH_MAX];
} written;

static unsigned int gaps[FLOWTAP_CAUSE_MAX];

static bool stream_is_wide(const struct flowtap_stream *stream)
{
	return false;
}

static void stream_name_recorded(struct flowtap_stream *stream, struct task_struct *task)
{
	stream->named = task;
}

static void stream_write_gap(struct flowtap_stream *stream, struct task_struct *task, u64 since,
			     u32 cause)
{
	gaps[cause]++;
}

static void *output_reserve(struct flowtap_output *output, u32 size)
{
	return size <= sizeof(written) ? &written : NULL;
}

static void output_commit(struct flowtap_output *output, u32 size)
{
}

static bool output_write(struct flowtap_output *output, u64 time, const void *head, u32 head_size,
			 const void *tail, u32 tail_size)
{
	return false;
}

#include "../../../kmod/sample.c"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TYPE_ONLY 0xfUL
#define ALL_DATA 0xffff800fUL
/* Where the program is, and somebody else. */
#define PROGRAM 0x10000UL
#define KERNEL 0xffffffff80000000UL

FIXTURE(ctr)
{
	struct flowtap_configure configure;
	struct flowtap_member member;
	struct flowtap_entry history[FLOWTAP_DEPTH_MAX], scratch[FLOWTAP_DEPTH_MAX];
	struct flowtap_stream stream;
};

FIXTURE_SETUP(ctr)
{
	hart = (struct hart){
		.control_bits = 0xff3e00001983, .data_bits = ALL_DATA, .depths = 0x1f,
		.points = true, .hypervisor = true, .stateen = true, .kvm = true,
	};
	memset(&ctrs, 0, sizeof(ctrs));
	memset(gaps, 0, sizeof(gaps));
	irq_regs = NULL;
	current->flags = 0;
	said[0] = 0;
	self->configure = (struct flowtap_configure){
		.source = FLOWTAP_SOURCE_CTR,
		.modes = FLOWTAP_MODE_USER,
		.triggers = FLOWTAP_TRIGGER_SNAPSHOT | FLOWTAP_TRIGGER_OVERFLOW,
		.event_type = PERF_TYPE_HARDWARE,
		.ctr.depth = 16,
	};
	self->member = (struct flowtap_member){
		.capacity = FLOWTAP_DEPTH_MAX, .history = self->history,
	};
}

FIXTURE_TEARDOWN(ctr)
{
	EXPECT_EQ(0, hart.wrong);
}

/* --- What a hart is found to be. --- */

static unsigned int valid(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < HART_ENTRIES; i++)
		n += hart.source[i] & 1;
	return n;
}

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

static int configure(struct flowtap_stream *stream, const struct flowtap_configure *configure)
{
	*stream = (struct flowtap_stream){ .source = &ctr_source };
	stream->recording.modes = configure->modes;
	return ctr_configure(&stream->recording, configure);
}

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

static int start(struct flowtap_stream *stream, struct flowtap_member *member,
		 const struct flowtap_configure *asked)
{
	int error = ctr_online() == FLOWTAP_REASON_NONE ? configure(stream, asked) : -ENODEV;

	if (error)
		return error;
	sample_start(stream, member);
	ctr_resume(&stream->recording);
	return 0;
}

static void run(unsigned long mode, unsigned long at, unsigned int n)
{
	for (; n; n--, at += 16)
		hart_transfers(mode, at, at + 16, HART_TAKEN);
}

/* The interrupt of a counter, of which `own` is the stream's; and what the kernel does then. */
static void overflows(struct flowtap_stream *stream, struct flowtap_member *member,
		      unsigned long pc, bool user, bool own, struct flowtap_entry *scratch)
{
	struct pt_regs regs = { .pc = pc, .user = user };

	hart_traps(user ? HART_U : HART_S, pc, HART_INTERRUPT, true);
	run(HART_S, KERNEL + 0x1000, 2);
	irq_regs = &regs;
	if (own) {
		sample_write(stream, member, FLOWTAP_TRIGGER_OVERFLOW, &regs, scratch);
		ctr_resume(&stream->recording);
	}
	ctr_thaw(&stream->recording);
	irq_regs = NULL;
}

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
