// SPDX-License-Identifier: GPL-2.0-only
/* Shows line for line what the QEMU4V writer makes of each element, and what it leaves out. */
#include <flowtap/arm.h>
#include <flowtap/qemu4v.h>

#include "stfcheck/sample.h"
#include "support/sink.h"
#include "support/ttu.h"

#include <errno.h>

#include "support/kselftest_harness.h"

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }

enum { CALL, LINK_T0, BRANCH, ECALL, RET, VENDOR, A64_CALL, A32_IF, T32_CALL, BLOCKS };

static const struct flowtap_block templates[BLOCKS] = {
	[CALL] = { .address = 0x80000000, .size = 6, .instructions = 2, .last = 2,
		   CODE(U16(0x450d), U32(0x006000ef)), .direct = true, .target = 0x80000008,
		   .end = FLOWTAP_TRANSFER_DIRECT_CALL },
	[LINK_T0] = { .address = 0x80000008, .size = 4, .instructions = 1, CODE(U32(0x000302e7)),
		      .end = FLOWTAP_TRANSFER_INDIRECT_CALL },
	[BRANCH] = { .address = 0x8000000c, .size = 2, .instructions = 1, CODE(U16(0xc501)),
		     .direct = true, .conditional = true, .target = 0x80000014,
		     .end = FLOWTAP_TRANSFER_TAKEN },
	[ECALL] = { .address = 0x8000000e, .size = 4, .instructions = 1, CODE(U32(0x73)),
		    .end = FLOWTAP_TRANSFER_EXCEPTION },
	[RET] = { .address = 0x80000020, .size = 2, .instructions = 1, CODE(U16(0x8082)),
		  .end = FLOWTAP_TRANSFER_RETURN },
	[VENDOR] = { .address = 0x8000000e, .size = 4, .instructions = 1, CODE(U32(0x0b)),
		     .conditional = true, .end = FLOWTAP_TRANSFER_INDIRECT_JUMP },
	[A64_CALL] = { .address = 0x210804, .size = 4, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_A64, CODE(U32(0xd63f0000)),
		       .end = FLOWTAP_ARM_INDIRECT_CALL },
	[A32_IF] = { .address = 0x8004, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		     CODE(U32(0x1a000792)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		     .conditional = true, .target = 0x9e54, .target_isa = FLOWTAP_ISA_A32 },
	[T32_CALL] = { .address = 0x8018, .size = 2, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_INDIRECT_CALL,
		       CODE(U16(0x4780)) },
};

struct run {
	struct flowtap_block blocks[BLOCKS];
	struct output output;
	struct flowtap_qemu4v *qemu4v;
	struct flowtap_sink *sink;
};

static void run_new(struct run *run, const struct flowtap_qemu4v_options *options)
{
	memcpy(run->blocks, templates, sizeof(templates));
	run->output = output_new();
	if (flowtap_qemu4v_new(run->output.fd, options, &run->qemu4v))
		abort();
	run->sink = flowtap_qemu4v_sink(run->qemu4v);
}

static void run_free(struct run *run)
{
	flowtap_qemu4v_free(run->qemu4v);
	blocks_unrender(run->blocks, BLOCKS);
	output_free(&run->output);
}

#define BLOCK(n, taken, target) \
	EXPECT_EQ(0, sink_block(run.sink, &run.blocks[n], taken, target))
#define ELEMENT(...) \
	EXPECT_EQ(0, sink_element(run.sink, (struct flowtap_element){ .kind = __VA_ARGS__ }))
#define EXPECT_LINES(...) do {									\
	EXPECT_EQ(0, flowtap_qemu4v_finish(run.qemu4v));					\
	output_read(&run.output);								\
	EXPECT_STREQ("" __VA_ARGS__, (char *)run.output.bytes);					\
} while (0)

/* Twice, as the second time blocks are rendered. */
TEST(instructions_and_return_addresses_of_riscv)
{
	const struct flowtap_qemu4v_options options = { 0 };
	struct run run;

	run_new(&run, &options);
	EXPECT_EQ(0, sink_context(run.sink, 0, 0, 3, 0));
	for (int i = 0; i < 2; i++) {
		BLOCK(CALL, true, 0x80000008);
		BLOCK(LINK_T0, true, 0x8000000c);
		BLOCK(BRANCH, i, i ? 0x80000014 : 0x8000000e);
		if (i)
			break;
		BLOCK(ECALL, true, 0);
		EXPECT_EQ(0, sink_exception(run.sink, 8, 0x8000000e));
		EXPECT_EQ(0, sink_context(run.sink, 0, 0, 3, 1));
		BLOCK(RET, true, 0x80000000);
	}
	EXPECT_LINES("1 clk 3 IT (1) 0000000080000000 450d A svc_ns : .2byte 0x450d\n"
		     "2 clk 3 IT (2) 0000000080000002 006000ef A svc_ns : .4byte 0x6000ef\n"
		     "2 clk R ra 0000000080000006\n"
		     "3 clk 3 IT (3) 0000000080000008 000302e7 A svc_ns : .4byte 0x302e7\n"
		     "3 clk R t0 000000008000000c\n"
		     "4 clk 3 IT (4) 000000008000000c c501 A svc_ns : .2byte 0xc501\n"
		     "5 clk 3 IT (5) 000000008000000e 00000073 A svc_ns : .4byte 0x73\n"
		     "6 clk 3 IT (6) 0000000080000020 8082 A svc_ns : .2byte 0x8082\n"
		     "7 clk 3 IT (7) 0000000080000000 450d A svc_ns : .2byte 0x450d\n"
		     "8 clk 3 IT (8) 0000000080000002 006000ef A svc_ns : .4byte 0x6000ef\n"
		     "8 clk R ra 0000000080000006\n"
		     "9 clk 3 IT (9) 0000000080000008 000302e7 A svc_ns : .4byte 0x302e7\n"
		     "9 clk R t0 000000008000000c\n"
		     "10 clk 3 IT (10) 000000008000000c c501 A svc_ns : .2byte 0xc501\n");
	EXPECT_EQ(10, flowtap_qemu4v_counts(run.qemu4v)->instructions);
	EXPECT_EQ(1, flowtap_qemu4v_counts(run.qemu4v)->exceptions);
	EXPECT_EQ(1, flowtap_qemu4v_counts(run.qemu4v)->unsaid);
	run_free(&run);
}

/* There is no record for a gap, but nobody has to take what is after it for what comes next. */
TEST(where_the_flow_is_broken_a_number_is_missing)
{
	const struct flowtap_qemu4v_options options = { 0 };
	struct run run;

	run_new(&run, &options);
	EXPECT_EQ(0, sink_gap(run.sink, FLOWTAP_GAP_START));
	EXPECT_EQ(0, sink_context(run.sink, 1, 1, 0, 0));
	BLOCK(RET, true, 0x80000020);
	EXPECT_EQ(0, sink_gap(run.sink, FLOWTAP_GAP_WRAPPED));
	EXPECT_EQ(0, sink_gap(run.sink, FLOWTAP_GAP_TRAP));
	BLOCK(RET, true, 0x80000020);
	BLOCK(RET, true, 0x80000020);
	BLOCK(BRANCH, false, 0x8000000e);
	EXPECT_EQ(0, sink_context(run.sink, 1, 2, 0, 0));
	BLOCK(ECALL, true, 0);
	EXPECT_LINES("1 clk 0 IT (1) 0000000080000020 8082 A svc_ns : .2byte 0x8082\n"
		     "3 clk 0 IT (3) 0000000080000020 8082 A svc_ns : .2byte 0x8082\n"
		     "4 clk 0 IT (4) 0000000080000020 8082 A svc_ns : .2byte 0x8082\n"
		     "6 clk 0 IT (6) 000000008000000c c501 A svc_ns : .2byte 0xc501\n"
		     "8 clk 0 IT (8) 000000008000000e 00000073 A svc_ns : .4byte 0x73\n");
	EXPECT_EQ(3, flowtap_qemu4v_counts(run.qemu4v)->gaps);
	EXPECT_EQ(1, flowtap_qemu4v_counts(run.qemu4v)->breaks);
	run_free(&run);
}

TEST(modes_are_told_if_asked_for_and_what_was_skipped)
{
	const struct flowtap_qemu4v_options options = {
		.modes = true, .lines = { .untaken_skipped = true },
	};
	static const uint8_t security[] = {
		FLOWTAP_NONSECURE, FLOWTAP_SECURE, FLOWTAP_REALM, FLOWTAP_ROOT,
	};
	struct run run;

	run_new(&run, &options);
	for (int i = 0; i < 4; i++) {
		ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
			.isa = FLOWTAP_ISA_A32, .mode = i, .security = security[i] });
		BLOCK(A32_IF, false, 0x8008);
		EXPECT_EQ(0, sink_exception(run.sink, 3, 0x8008));
	}
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = FLOWTAP_ISA_T32, .mode = 1 });
	BLOCK(T32_CALL, true, 0x8004);
	BLOCK(A32_IF, true, 0x9e54);
	EXPECT_EQ(0, sink_exception(run.sink, 3, 0x9e54));
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = FLOWTAP_ISA_A64 });
	BLOCK(A64_CALL, true, 0x210804);
	EXPECT_EQ(0, sink_context(run.sink, 0, 0, 0, 0));
	EXPECT_EQ(0, sink_gap(run.sink, FLOWTAP_GAP_TRAP));
	BLOCK(BRANCH, false, 0x8000000e);
	BLOCK(VENDOR, false, 0x80000012);
	EXPECT_LINES("1 clk 0 IS (1) 00008004 1a000792 A usr_ns : .inst 0x1a000792\n"
		     "2 clk 0 IS (2) 00008004 1a000792 A svc_s : .inst 0x1a000792\n"
		     "3 clk 0 IS (3) 00008004 1a000792 A svc_ns : .inst 0x1a000792\n"
		     "4 clk 0 IS (4) 00008004 1a000792 A mon_s : .inst 0x1a000792\n"
		     "5 clk 0 IT (5) 00008018 4780 T svc_ns : .inst 0x4780\n"
		     "5 clk R lr 0000801b\n"
		     "6 clk 0 IT (6) 00008004 1a000792 A svc_ns : .inst 0x1a000792\n"
		     "7 clk 0 IT (7) 0000000000210804 d63f0000 A usr_ns : .inst 0xd63f0000\n"
		     "7 clk R x30 0000000000210808\n"
		     "9 clk 0 IS (9) 000000008000000c c501 A usr_ns : .2byte 0xc501\n"
		     "10 clk 0 IT (10) 000000008000000e 0000000b A usr_ns : .4byte 0xb\n");
	run_free(&run);
}

/* So it is Tarmac as Arm's models write it, which other tools read. */
TEST(with_names_of_cpus_it_has_events)
{
	const struct flowtap_qemu4v_options options = {
		.cpu_names = true, .lines = { .synthetic_sp = true },
	};
	struct ttu ttu = { .rows = true };
	struct run run;

	run_new(&run, &options);
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_A64, .cpu = UINT32_MAX, .has_cpu = true });
	BLOCK(A64_CALL, true, 0x210804);
	BLOCK(A64_CALL, true, 0x210804);
	EXPECT_EQ(0, sink_exception(run.sink, 14, 0x210804));
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_A64, .mode = 1, .cpu = UINT32_MAX, .has_cpu = true });
	BLOCK(A64_CALL, true, 0x210804);
	EXPECT_EQ(0, sink_gap(run.sink, FLOWTAP_GAP_OVERFLOW));
	EXPECT_LINES("0 clk cpu4294967295 E DebugEvent_SyntheticSP\n"
		"0 clk cpu4294967295 E DebugEvent_TraceNote context A64 EL0 nonsecure 0 cpu=4294967295\n"
		"1 clk cpu4294967295 IT (1) 0000000000210804 d63f0000 O svc_ns : .inst 0xd63f0000\n"
		"1 clk cpu4294967295 R sp 000000007fff0000\n"
		"1 clk cpu4294967295 R x30 0000000000210808\n"
		"2 clk cpu4294967295 IT (2) 0000000000210804 d63f0000 O svc_ns : .inst 0xd63f0000\n"
		"2 clk cpu4294967295 R sp 000000007ffefff0\n"
		"2 clk cpu4294967295 R x30 0000000000210808\n"
		"3 clk cpu4294967295 E 0000000000210804 00000089 CoreEvent_LOWER_64_IRQ\n"
		"4 clk cpu4294967295 IT (3) 0000000000210804 d63f0000 O svc_ns : .inst 0xd63f0000\n"
		"4 clk cpu4294967295 R sp 000000007ffeffe0\n"
		"4 clk cpu4294967295 R x30 0000000000210808\n"
		"4 clk cpu4294967295 BR (0000000000210804) O\n"
		"5 clk cpu4294967295 E DebugEvent_TraceGap overflow\n");
	EXPECT_TRUE(ttu_check(&ttu, (char *)run.output.bytes, run.output.size));
	run_free(&run);
}

TEST(what_cannot_be_is_refused)
{
	struct flowtap_qemu4v_options options = { .lines = { .time = FLOWTAP_LINES_TIMES } };
	struct flowtap_qemu4v *none;
	struct run run;

	EXPECT_EQ(-EINVAL, flowtap_qemu4v_new(1, &options, &none));
	EXPECT_EQ(NULL, none);
	options.lines.time = FLOWTAP_LINES_INDEX;
	run_new(&run, &options);
	EXPECT_EQ(-ENODATA, flowtap_qemu4v_finish(run.qemu4v));
	run.blocks[CALL].address = 1;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &run.blocks[CALL], true, 0x80000008));
	EXPECT_EQ(-EINVAL, sink_context(run.sink, 0, 0, 0, 4));
	run_free(&run);
}

TEST_HARNESS_MAIN
