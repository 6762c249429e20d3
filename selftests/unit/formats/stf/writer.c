// SPDX-License-Identifier: GPL-2.0-only
/* Shows byte for byte what the STF writer makes of each element, and what it refuses. */
#include <flowtap/stf.h>

#include "formats/stf/writer.h"
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/sink.h"

#include <errno.h>

#include "support/kselftest_harness.h"

static const struct flowtap_stf_options options = {
	.comment = "user",
	.generator = 0xff,
	.version = { 0, 1, 0 },
	.generator_comment = "ftp",
};

enum { LOOP, ECALL, LI, RET, CNOP, SRET, JUMP, WIDE, KSRET, XRET, SBI, BUG, BLOCKS };

#define KERNEL 0xffffffff80000000

/* The code of sample_user, and some more. */
static const struct flowtap_block templates[BLOCKS] = {
	SAMPLE_BLOCKS,
	[CNOP] = { .address = 0x1000c, .size = 2, .instructions = 1, .last = 0,
		   .bytes = (const uint8_t[]){ U16(0x0001) } },
	[SRET] = { .address = 0x1000e, .size = 6, .instructions = 2, .last = 2,
		   .bytes = (const uint8_t[]){ U16(0x0001), U32(0x10200073) },
		   .end = FLOWTAP_TRANSFER_TRAP_RETURN },
	[KSRET] = { .address = KERNEL, .size = 6, .instructions = 2, .last = 2,
		    .bytes = (const uint8_t[]){ U16(0x0001), U32(0x10200073) },
		    .end = FLOWTAP_TRANSFER_TRAP_RETURN },
	[XRET] = { .address = KERNEL + 2, .size = 4, .instructions = 1, .last = 0,
		   .bytes = (const uint8_t[]){ U32(0x10200073) },
		   .end = FLOWTAP_TRANSFER_TRAP_RETURN },
	[SBI] = { .address = KERNEL + 0x10, .size = 6, .instructions = 2, .last = 2,
		  .bytes = (const uint8_t[]){ U16(0x0001), U32(0x00000073) },
		  .end = FLOWTAP_TRANSFER_EXCEPTION },
	[BUG] = { .address = KERNEL + 0x16, .size = 2, .instructions = 1, .last = 0,
		  .bytes = (const uint8_t[]){ U16(0x9002) },
		  .end = FLOWTAP_TRANSFER_EXCEPTION },
};

FIXTURE(stf)
{
	struct flowtap_block blocks[BLOCKS];
	struct output output;
	struct flowtap_stf *stf;
	struct flowtap_sink *sink;
};

FIXTURE_SETUP(stf)
{
	memcpy(self->blocks, templates, sizeof(templates));
	self->output = output_new();
	ASSERT_EQ(0, flowtap_stf_new(self->output.fd, &options, &self->stf));
	self->sink = flowtap_stf_sink(self->stf);
}

FIXTURE_TEARDOWN(stf)
{
	flowtap_stf_free(self->stf);
	blocks_unrender(self->blocks, BLOCKS);
	output_free(&self->output);
}

#define BLOCK(n, taken, target) \
	EXPECT_EQ(0, sink_block(self->sink, &self->blocks[n], taken, target))
#define EXPECT_BYTES(want, want_size) do {							\
	long differs;										\
												\
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));						\
	output_read(&self->output);								\
	differs = output_differs(&self->output, want, want_size);				\
	EXPECT_EQ(-1, differs)									\
		TH_LOG("%zu bytes, want %zu", self->output.size, (size_t)(want_size));		\
	EXPECT_EQ(self->output.size, flowtap_stf_counts(self->stf)->bytes);			\
} while (0)

static int check_ours(struct stfcheck *check, const struct output *output)
{
	check->strict = true;
	return stfcheck_run(check, output->bytes, output->size);
}

TEST_F(stf, user_trace_with_a_system_call_and_another_thread)
{
	struct stfcheck check = { 0 };

	EXPECT_EQ(0, sink_context(self->sink, 100, 100, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	BLOCK(LOOP, false, 0x10008);
	BLOCK(ECALL, true, 0);
	EXPECT_EQ(0, sink_exception(self->sink, 8, 0x10008));
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_TRAP));
	BLOCK(LI, false, 0x1000e);
	EXPECT_EQ(0, sink_context(self->sink, 100, 101, 1, 0));
	BLOCK(RET, true, 0x1000c);
	BLOCK(CNOP, false, 0x1000e);
	EXPECT_BYTES(sample_user, sizeof(sample_user));
	EXPECT_EQ(0, check_ours(&check, &self->output));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(8, flowtap_stf_counts(self->stf)->instructions);
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->gaps);
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->traps);
	EXPECT_EQ(2, flowtap_stf_counts(self->stf)->forced);
	EXPECT_EQ(0, flowtap_stf_counts(self->stf)->skipped);
}

#define BEGIN	"01 'STF' 02 01000000 05000000 03 #'user' "
#define INFO	"04 0100 05 0200 06 ff 000100 0300 'ftp' 07 2804080000000000 "
/* cpu, pid and tid, first PC */
#define REST(process, pc) INFO "08" process "09" pc "13 " "08" process
#define NOBODY	" 00000000 00000000 00000000 "
#define MODE_U	"64 0000000000000040 01 0000000000000000 "
#define MODE_S	"64 0000000000000040 01 0100000000000000 "
#define LOOP_INSNS_BUT_LAST "f0 13055000 "
#define LOOP_LAST "f0 e31eb5fe "
#define LOOP_INSNS LOOP_INSNS_BUT_LAST LOOP_LAST

#define EXPECT_TEXT(...) do {									\
	static const char *const text[] = { __VA_ARGS__ };					\
	struct hex want = { .size = 0 };							\
												\
	for (size_t line = 0; line < sizeof(text) / sizeof(text[0]); line++)			\
		hex_add(&want, text[line]);							\
	EXPECT_BYTES(want.bytes, want.size);							\
} while (0)

#define EXPECT_RULES_KEPT() do {								\
	struct stfcheck check = { 0 };								\
												\
	EXPECT_EQ(0, check_ours(&check, &self->output));					\
	EXPECT_STREQ("", check.reason);								\
	EXPECT_EQ(flowtap_stf_counts(self->stf)->instructions, check.counts.instructions);	\
	EXPECT_EQ(flowtap_stf_counts(self->stf)->forced, check.counts.forced);			\
} while (0)

TEST_F(stf, what_has_no_record_becomes_a_comment_and_the_next_pc_is_forced)
{
	static const uint64_t frames[] = { 0x10, 0x20, 0xffffffff80000000 };
	struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_WRAPPED, .since = 0x12, .until = 0x34,
			 .size = UINT64_MAX, .address = 0x56, .detail = "a\nb" },
	};
	struct flowtap_element transfer = {
		.kind = FLOWTAP_ELEMENT_TRANSFER,
		.transfer = { .source = 0x10, .target = 0x20, .mispredicted = true,
			      .type = FLOWTAP_TRANSFER_RETURN },
	};
	struct flowtap_element stack = {
		.kind = FLOWTAP_ELEMENT_CALLSTACK,
		.callstack = { .frames = frames, .n = 3 },
	};

	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_START));
	EXPECT_EQ(0, sink_element(self->sink, transfer));
	BLOCK(RET, true, 0x1000c);
	BLOCK(LI, false, 0x1000e);
	EXPECT_EQ(0, sink_element(self->sink, gap));
	EXPECT_EQ(0, sink_element(self->sink, transfer));
	EXPECT_EQ(0, sink_element(self->sink, stack));
	EXPECT_EQ(0, sink_element(self->sink,
				  (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_SESSION }));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_EQ(0, sink_element(self->sink, transfer));
	EXPECT_TEXT(BEGIN, "03 #'gap start'", "03 #'transfer 10 20 function_return mispredicted'",
		    REST(NOBODY, "0000020000000000"), "1f 0c00010000000000", MODE_U,
		    "f1 8280", /* they ascend: target, event */
		    "f1 8545",
		    "03 #'gap wrapped since=0.000000018 until=0.000000052 size=unknown address=56 "
		    "detail=a?b'",
		    "03 #'transfer 10 20 function_return mispredicted'",
		    "03 #'callstack 10 20 ffffffff80000000'", "03 #'session'",
		    "09 0000010000000000", LOOP_INSNS_BUT_LAST, "03 #'after the next instruction'",
		    "03 #'transfer 10 20 function_return mispredicted'", LOOP_LAST);
	EXPECT_RULES_KEPT();
	EXPECT_EQ(4, flowtap_stf_counts(self->stf)->skipped);
	EXPECT_EQ(2, flowtap_stf_counts(self->stf)->gaps);
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->forced);
}

TEST_F(stf, nothing_is_written_for_times_cycles_and_the_same_context)
{
	struct flowtap_element time = { .kind = FLOWTAP_ELEMENT_TIME, .time = 5 };
	struct flowtap_element cycles = { .kind = FLOWTAP_ELEMENT_CYCLES, .cycles = { 5, true } };

	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(0, sink_element(self->sink, time));
	EXPECT_EQ(0, sink_element(self->sink, cycles));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "0000010000000000"), MODE_U,
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe", LOOP_INSNS);
	EXPECT_RULES_KEPT();
}

/* A thread that moves goes on where it was; another thread does not, even at the same address. */
TEST_F(stf, another_cpu_goes_on_and_another_thread_is_forced)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 3, 0));
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(0, sink_context(self->sink, 1, 2, 3, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_EQ(0, sink_context(self->sink, 1, 2, 0, 0));
	BLOCK(LI, false, 0x1000e);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "0000010000000000"), MODE_U,
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe",
		    "08 03000000 01000000 01000000",
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe",
		    "08 03000000 01000000 02000000", "09 0000010000000000", LOOP_INSNS,
		    "03 #'gap unexplained'", "08 00000000 01000000 02000000",
		    "09 0c00010000000000", "f1 8545");
	EXPECT_RULES_KEPT();
}

TEST_F(stf, a_block_elsewhere_is_forced_even_if_nobody_said_why)
{
	BLOCK(LOOP, true, 0x10000);
	BLOCK(RET, true, 0x10008);
	BLOCK(ECALL, true, 0);
	BLOCK(CNOP, false, 0x1000e);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0000010000000000"), MODE_U,
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe",
		    "03 #'gap unexplained'", "09 0000020000000000",
		    "1f 0800010000000000", "f1 8280", "f0 73000000",
		    "03 #'gap unexplained'", "09 0c00010000000000", "f1 0100");
	EXPECT_RULES_KEPT();
}

/* A trap that resumes where it was needs no FORCE_PC unless the decoder says there is a gap. */
TEST_F(stf, a_trap_alone_is_only_a_comment)
{
	struct flowtap_element interrupt = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = { .number = -1, .interrupt = true, .address = 0x1000e },
	};

	BLOCK(LI, false, 0x1000e);
	EXPECT_EQ(0, sink_element(self->sink, interrupt));
	BLOCK(SRET, true, 0);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0c00010000000000"), MODE_U, "f1 8545",
		    "03 #'exception -1 1000e interrupt'", "f1 0100", "f0 73002010");
}

TEST_F(stf, a_change_of_mode_stands_with_the_xret_or_beside_a_forced_pc)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0x10000);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	BLOCK(ECALL, true, 0x1000e);
	EXPECT_EQ(0, sink_exception(self->sink, 8, 0x10008));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_SKID));
	BLOCK(LI, false, 0x1000e);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "00000080ffffffff"), MODE_S,
		    "f1 0100", "1f 0000010000000000", MODE_U, "f0 73002010",
		    LOOP_INSNS, "f0 73000000",
		    "03 #'exception 8 10008'", "09 00000080ffffffff", MODE_S,
		    "f1 0100", "f0 73002010",
		    /* What was before the gap. */
		    "03 #'context RV64 EL0 nonsecure 64 pid=1 tid=1 cpu=0 mode=U'",
		    "03 #'gap skid'", "09 0c00010000000000", "f1 8545");
	EXPECT_RULES_KEPT();
}

#define AT_KERNEL(low) low "0080ffffffff "
#define EVENT_ECALL "64 0800000000000000 01 ffffffffffffffff "

static int trap(struct flowtap_sink *sink, int number, uint64_t address, uint64_t target)
{
	return sink_element(sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = { .number = number, .address = address, .target = target },
	});
}

/* What comes between them says nothing about where the flow is. */
static void say_little(struct flowtap_sink *sink)
{
	sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_CYCLES });
	sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_MISPREDICTED });
	sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN });
	sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_TIME });
}

TEST_F(stf, a_system_call_and_its_return_are_continuous)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	BLOCK(ECALL, true, 0);
	EXPECT_EQ(0, trap(self->sink, 8, 0x10008, KERNEL));
	say_little(self->sink);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0x1000c);
	say_little(self->sink);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LI, false, 0x1000e);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "0000010000000000"), MODE_U,
		    LOOP_INSNS, EVENT_ECALL, "65 " AT_KERNEL("0000"), MODE_S, "f0 73000000",
		    "f1 0100", "1f 0c00010000000000", MODE_U, "f0 73002010", "f1 8545");
	EXPECT_RULES_KEPT();
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->events);
	EXPECT_EQ(0, flowtap_stf_counts(self->stf)->traps);
	EXPECT_EQ(0, flowtap_stf_counts(self->stf)->forced);
}

/* A breakpoint of the kernel and its return, in one mode; a call of firmware, which is no trap. */
TEST_F(stf, traps_within_the_kernel_change_no_mode)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(SBI, false, KERNEL + 0x16);
	BLOCK(BUG, true, 0);
	EXPECT_EQ(0, trap(self->sink, 3, KERNEL + 0x16, KERNEL));
	BLOCK(KSRET, true, KERNEL + 0x10);
	BLOCK(SBI, false, KERNEL + 0x16);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", AT_KERNEL("1000")), MODE_S,
		    "f1 0100", "f0 73000000",
		    "64 0300000000000000 01", AT_KERNEL("1600"), "65", AT_KERNEL("0000"),
		    "f1 0290", "f1 0100", "1f", AT_KERNEL("1000"), "f0 73002010",
		    "f1 0100", "f0 73000000");
	EXPECT_RULES_KEPT();
}

/* Nobody recorded why, and an EVENT cannot say that. */
TEST_F(stf, a_trap_of_unknown_cause_is_a_comment_and_its_handler_is_forced)
{
	struct flowtap_element timer = {
		.kind = FLOWTAP_ELEMENT_EXCEPTION,
		.exception = { .number = -1, .interrupt = true, .address = 0x10008,
			       .target = KERNEL },
	};

	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_EQ(0, sink_element(self->sink, timer));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0x10008);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(ECALL, true, 0);
	EXPECT_EQ(0, trap(self->sink, -1, 0x10008, KERNEL));	/* its fetch may have failed */
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0x10008);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "0000010000000000"), MODE_U,
		    LOOP_INSNS,
		    "03 #'exception -1 10008 interrupt target=ffffffff80000000'",
		    "09", AT_KERNEL("0000"), MODE_S, "f1 0100",
		    "1f 0800010000000000", MODE_U, "f0 73002010", "f0 73000000",
		    "03 #'exception -1 10008 target=ffffffff80000000'",
		    "09", AT_KERNEL("0000"), MODE_S, "f1 0100",
		    "1f 0800010000000000", "f0 73002010");
	EXPECT_EQ(2, flowtap_stf_counts(self->stf)->traps);
}

/* An xRET with nothing before it says two modes: its own, and that of what follows. */
TEST_F(stf, the_mode_of_an_xret_itself_is_said_where_it_is_news)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(XRET, true, 0x10000);
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_RECORDER));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(XRET, true, KERNEL);
	BLOCK(KSRET, true, 0);
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_GUEST));
	BLOCK(XRET, true, KERNEL);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", AT_KERNEL("0200")),
		    "1f 0000010000000000", MODE_S, MODE_U, "f0 73002010",
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe",
		    "03 #'gap recorder'", "09", AT_KERNEL("0200"),
		    "1f", AT_KERNEL("0000"), MODE_S, MODE_S, "f0 73002010",
		    "f1 0100", "f0 73002010",
		    "03 #'gap guest'", "09", AT_KERNEL("0200"),
		    "1f", AT_KERNEL("0000"), "f0 73002010");
	EXPECT_RULES_KEPT();
}

/* A gap, another thread, the end: what is said then does not belong to the instruction before. */
TEST_F(stf, what_is_said_later_does_not_go_into_the_group_of_the_last_instruction)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	BLOCK(ECALL, true, 0);
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_TRAP));
	EXPECT_EQ(0, trap(self->sink, 8, 0x10008, KERNEL));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	BLOCK(KSRET, true, 0x1000c);
	EXPECT_EQ(0, sink_context(self->sink, 1, 2, 0, 0));
	BLOCK(ECALL, true, 0);
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	EXPECT_EQ(0, trap(self->sink, 8, 0x10008, KERNEL));
	EXPECT_EQ(0, sink_context(self->sink, 1, 2, 0, 1));
	BLOCK(KSRET, true, 0x1000c);
	EXPECT_TEXT(BEGIN, REST(" 00000000 01000000 01000000 ", "0000010000000000"), MODE_U,
		    LOOP_INSNS, "f0 73000000", "03 #'gap trap'",
		    "03 #'exception 8 10008 target=ffffffff80000000'", "09", AT_KERNEL("0000"),
		    MODE_S, "f1 0100", "1f 0c00010000000000", "f0 73002010",
		    "03 #'context RV64 EL0 nonsecure 64 pid=1 tid=2 cpu=0 mode=U'",
		    "08 00000000 01000000 02000000", "09 0800010000000000", "f0 73000000",
		    "03 #'exception 8 10008 target=ffffffff80000000'", "09", AT_KERNEL("0000"),
		    MODE_S, "f1 0100", "1f 0c00010000000000", "f0 73002010");
	EXPECT_RULES_KEPT();
}

TEST_F(stf, a_jump_to_null_has_a_target_and_so_does_every_length_of_opcode)
{
	BLOCK(JUMP, true, 0x30004);
	BLOCK(WIDE, true, 0x20000);
	BLOCK(RET, true, 0);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0000030000000000"), "1f 0400030000000000", MODE_U,
		    "f1 11a0", "f1 0100", "f1 8545", "f1 0100", "1f 0000020000000000",
		    "f0 67800000", "1f 0000000000000000", "f1 8280");
	EXPECT_RULES_KEPT();
}

#define LEFT_OUT(address) "03 #'gap no_address size=unknown address=" address			\
	" detail=where this jump went is not known, and STF has no jump without a target'"

/* What is before it in its block is written: the first time, and once it was rendered. */
TEST_F(stf, a_jump_to_nobody_knows_where_is_left_out_and_that_is_told)
{
	BLOCK(WIDE, false, 0x3000e);
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_NO_CODE));
	BLOCK(WIDE, true, 0x20000);
	BLOCK(RET, true, 0x30004);
	BLOCK(WIDE, false, 0x3000e);
	BLOCK(RET, false, 0x20002);
	BLOCK(LI, false, 0x1000e);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0400030000000000"), MODE_U,
		    "f1 0100", "f1 8545", "f1 0100", LEFT_OUT("3000a"), "03 #'gap no_code'",
		    "09 0400030000000000", "f1 0100", "f1 8545", "f1 0100",
		    "1f 0000020000000000", "f0 67800000", "1f 0400030000000000", "f1 8280",
		    "f1 0100", "f1 8545", "f1 0100", LEFT_OUT("3000a"), LEFT_OUT("20000"),
		    "09 0c00010000000000", "f1 8545");
	EXPECT_RULES_KEPT();
	EXPECT_EQ(4, flowtap_stf_counts(self->stf)->gaps);
	EXPECT_EQ(3, flowtap_stf_counts(self->stf)->jumps);
}

/* Said of the block before, it does not explain what comes after it. */
TEST_F(stf, an_explanation_holds_for_the_next_block_only)
{
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(0, sink_exception(self->sink, -1, 0x10000));
	BLOCK(LOOP, false, 0x10008);
	BLOCK(RET, true, 0x10000);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0000010000000000"), MODE_U,
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe",
		    "03 #'exception -1 10000'", LOOP_INSNS,
		    "03 #'gap unexplained'", "09 0000020000000000",
		    "1f 0000010000000000", "f1 8280");
	EXPECT_RULES_KEPT();
}

TEST_F(stf, a_mode_that_executed_nothing_is_not_written)
{
	BLOCK(LI, false, 0x1000e);
	EXPECT_EQ(0, sink_context(self->sink, 0, 0, 0, 1));
	EXPECT_EQ(0, sink_context(self->sink, 0, 0, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0c00010000000000"), MODE_U, "f1 8545",
		    "03 #'gap unexplained'", "09 0000010000000000", LOOP_INSNS);
	EXPECT_RULES_KEPT();
}

/*
 * A change of mode goes into the group of the xRET before only if nothing was written since,
 * wherever in its buffer the writer stands: comments of all lengths bring it everywhere.
 */
TEST_F(stf, a_change_of_mode_long_after_an_xret_does_not_go_back_to_it)
{
	char detail[200] = { 0 };
	struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_SKID, .detail = detail },
	};

	self->stf->out.comments.most = 256 << 10;
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	for (size_t length = 1; length < sizeof(detail); length++) {
		memset(detail, 'x', length);
		EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
		BLOCK(KSRET, true, 0x10000);
		for (size_t written = 0; written < (256 << 10) + 1000; written += length + 21) {
			EXPECT_EQ(0, sink_element(self->sink, gap));
			EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
			EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
		}
		EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	}
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	output_read(&self->output);
	EXPECT_RULES_KEPT();
}

/* As after a program without code, of which samples go on to come. */
TEST_F(stf, a_megabyte_after_the_last_instruction_stands_before_its_opcode)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	for (size_t written = 0; written < 1 << 20; written += 16)
		EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_NO_CODE));
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	output_read(&self->output);
	EXPECT_LT(1U << 20, self->output.size);
	EXPECT_RULES_KEPT();
}

/* Memory has a limit: what is beyond it is there, only not before the opcode. */
TEST_F(stf, more_than_is_held_back_stands_at_the_end)
{
	struct stfcheck check = { 0 };

	self->stf->out.comments.most = 1000;
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, true, 0x10000);
	for (size_t i = 0; i < 100; i++)
		EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_NO_CODE));
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	output_read(&self->output);
	EXPECT_EQ(-ENODATA, check_ours(&check, &self->output));
	EXPECT_STREQ("ends with a comment", check.reason);
	EXPECT_EQ(2, check.counts.instructions);
}

/* What is refused leaves no trace, and what comes next does not suffer. */
TEST_F(stf, refuses_what_it_cannot_write_and_goes_on)
{
	struct flowtap_block odd = templates[LOOP], short_one = templates[LOOP];
	struct flowtap_block long_one = templates[LOOP], last = templates[LOOP];
	struct flowtap_block arm = templates[LOOP], wide = templates[LI], none = templates[LI];
	struct flowtap_element context = {
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = { .isa = FLOWTAP_ISA_A64 },
	};

	odd.address = 0x10001;
	short_one.size = 7;
	long_one.instructions = 3;
	last.last = 0;
	arm.isa = FLOWTAP_ISA_A64;
	wide.bytes = (const uint8_t[]){ U16(0x001f) };
	none.instructions = none.size = 0;
	BLOCK(LOOP, true, 0x10000);
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &odd, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &short_one, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &long_one, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &last, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &wide, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &none, false, 0));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &self->blocks[LOOP], true, 0x10001));
	EXPECT_EQ(-EOPNOTSUPP, sink_block(self->sink, &arm, false, 0));
	EXPECT_EQ(-EOPNOTSUPP, sink_element(self->sink, context));
	EXPECT_EQ(-EINVAL, sink_context(self->sink, 1, 1, 1, 4));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_TEXT(BEGIN, REST(NOBODY, "0000010000000000"), MODE_U,
		    "f0 13055000", "1f 0000010000000000", "f0 e31eb5fe", LOOP_INSNS);
}

TEST_F(stf, a_trace_without_instructions_is_an_error)
{
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	EXPECT_EQ(0, sink_gap(self->sink, FLOWTAP_GAP_NO_IMAGE));
	EXPECT_EQ(-ENODATA, flowtap_stf_finish(self->stf));
}

TEST_F(stf, the_header_always_has_a_comment_and_its_strings_have_limits)
{
	struct flowtap_stf_options plain = { .generator = 1 };
	struct output output = output_new();
	struct stfcheck check = { 0 };
	char *text = malloc(0x10001);
	struct flowtap_stf *stf;

	memset(text, 'x', 0x10000);
	text[0x10000] = '\0';
	plain.generator_comment = text;
	EXPECT_EQ(-EINVAL, flowtap_stf_new(output.fd, &plain, &stf));
	EXPECT_EQ(NULL, stf);
	plain.generator_comment = text + 1;
	ASSERT_EQ(0, flowtap_stf_new(output.fd, &plain, &stf));
	EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &self->blocks[LI], false, 0x1000e));
	EXPECT_EQ(0, flowtap_stf_finish(stf));
	output_read(&output);
	EXPECT_EQ(0, check_ours(&check, &output));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(0, memcmp(output.bytes + 13, "\x03\x07\0\0\0flowtap", 12));
	flowtap_stf_free(stf);
	output_free(&output);
	free(text);
}

/* The same where the buffer was emptied and then filled just as far again. */
TEST_F(stf, a_change_of_mode_after_finish_does_not_go_back_to_an_xret)
{
	struct flowtap_block next = {	/* 4 * 3 + 5 bytes */
		.address = KERNEL + 0x30004, .size = 12, .instructions = 5, .last = 8,
		.bytes = (const uint8_t[]){ U16(1), U16(1), U16(1), U16(1), U32(0x13) },
	};

	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 1));
	EXPECT_EQ(0, sink_block(self->sink, &next, false, KERNEL + 0x30010));
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	BLOCK(KSRET, true, KERNEL + 0x30004);	/* 3 + 9 + 5 bytes */
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	EXPECT_EQ(0, sink_block(self->sink, &next, false, KERNEL + 0x30010));
	EXPECT_EQ(0, sink_context(self->sink, 1, 1, 0, 0));
	BLOCK(LOOP, false, 0x10008);
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));
	output_read(&self->output);
	EXPECT_RULES_KEPT();
	blocks_unrender(&next, 1);
}

/* More than the writer's buffer holds. */
TEST_F(stf, a_comment_of_any_length_is_written)
{
	enum { LONG = 300000 };
	struct flowtap_stf_options plain = { .generator = 1 };
	struct output output = output_new();
	struct stfcheck check = { 0 };
	char *text = malloc(LONG + 1);
	struct flowtap_stf *stf;

	memset(text, 'x', LONG);
	text[LONG] = '\0';
	plain.comment = text;
	ASSERT_EQ(0, flowtap_stf_new(output.fd, &plain, &stf));
	EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &self->blocks[LI], false, 0x1000e));
	EXPECT_EQ(0, flowtap_stf_finish(stf));
	output_read(&output);
	EXPECT_EQ(0, check_ours(&check, &output));
	EXPECT_STREQ("", check.reason);
	EXPECT_LT(LONG, output.size);
	EXPECT_EQ(0, memcmp(output.bytes + 18, text, LONG));
	flowtap_stf_free(stf);
	output_free(&output);
	free(text);
}

TEST_HARNESS_MAIN
