/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * CTR's driver on a model of the registers, for the tests of it: kmod/ctr.c and kmod/sample.c are
 * compiled in, with one stream whose ring has room for one sample.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_KMOD_CTR_DRIVER_H
#define FLOWTAP_SELFTESTS_UNIT_KMOD_CTR_DRIVER_H

#include "support/kselftest_harness.h"

#include "hart.h"

#include "../../../kmod/ctr.c"

/* In place of kmod/stream.h: one stream. */
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

static unsigned int valid(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < HART_ENTRIES; i++)
		n += hart.source[i] & 1;
	return n;
}

static int configure(struct flowtap_stream *stream, const struct flowtap_configure *configure)
{
	*stream = (struct flowtap_stream){ .source = &ctr_source };
	stream->recording.modes = configure->modes;
	return ctr_configure(&stream->recording, configure);
}

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

#endif /* FLOWTAP_SELFTESTS_UNIT_KMOD_CTR_DRIVER_H */
