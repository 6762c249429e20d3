// SPDX-License-Identifier: GPL-2.0-only
/* Shows the line that each element of the flow becomes in the flow as text. */
#include <flowtap/arm.h>
#include <flowtap/text.h>

#include "support/sink.h"

#include <errno.h>
#include <fcntl.h>

#include "support/kselftest_harness.h"

FIXTURE(text)
{
	struct output output;
	struct flowtap_text *text;
	struct flowtap_sink *sink;
};

FIXTURE_SETUP(text)
{
	self->output = output_new();
	ASSERT_EQ(0, flowtap_text_new(self->output.fd, NULL, &self->text));
	self->sink = flowtap_text_sink(self->text);
}

FIXTURE_TEARDOWN(text)
{
	flowtap_text_free(self->text);
	output_free(&self->output);
}

#define EXPECT_LINES(want) do {									\
	EXPECT_EQ(0, flowtap_text_finish(self->text));						\
	output_read(&self->output);								\
	EXPECT_STREQ(want, (const char *)self->output.bytes);					\
} while (0)

#define ELEMENT(...) \
	EXPECT_EQ(0, sink_element(self->sink, (struct flowtap_element){ .kind = __VA_ARGS__ }))

TEST_F(text, a_range_says_whether_its_last_instruction_was_taken)
{
	struct flowtap_block blocks[] = {
		{ .address = 0x1045a, .size = 10, .instructions = 3, .conditional = true,
		  .end = FLOWTAP_TRANSFER_TAKEN },
		{ .address = 0xffffffff80000000, .size = 4, .instructions = 1,
		  .isa = FLOWTAP_ISA_A64, .end = FLOWTAP_ARM_BRANCH },
		{ .address = 0, .size = 0xfffffffe, .instructions = 0xffffffff,
		  .isa = FLOWTAP_ISA_T32 },
		{ .address = 0x10, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32 },
	};

	for (int pass = 0; pass < 2; pass++) {
		EXPECT_EQ(0, sink_block(self->sink, &blocks[0], true, 0x1045a));
		EXPECT_EQ(0, sink_block(self->sink, &blocks[0], false, 0x10464));
	}
	EXPECT_EQ(0, sink_block(self->sink, &blocks[1], true, 0));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[2], false, 0xfffffffe));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[3], false, 0x14));
	EXPECT_LINES("range 1045a 10464 3 RV64 E\n"
		     "range 1045a 10464 3 RV64 N\n"
		     "range 1045a 10464 3 RV64 E\n"
		     "range 1045a 10464 3 RV64 N\n"
		     "range ffffffff80000000 ffffffff80000004 1 A64 E\n"
		     "range 0 fffffffe 4294967295 T32 E\n"
		     "range 10 14 1 A32 E\n");
	EXPECT_NE(NULL, blocks[0].render[0].bytes);
	blocks_unrender(blocks, 4);
}

/* The longest numbers there are. */
TEST_F(text, a_range_of_any_size_fits)
{
	struct flowtap_block block = {
		.address = 0xffffffff00000000, .size = 0xffffffff, .instructions = 0xffffffff,
	};

	EXPECT_EQ(0, sink_block(self->sink, &block, false, 0));
	EXPECT_LINES("range ffffffff00000000 ffffffffffffffff 4294967295 RV64 E\n");
	blocks_unrender(&block, 1);
}

/* The block cache cuts long code where it likes; the grammar knows no such cuts. */
TEST_F(text, blocks_without_a_transfer_between_them_are_one_range)
{
	struct flowtap_block blocks[] = {
		{ .address = 0x1000, .size = 0x3000, .instructions = 0xc00,
		  .isa = FLOWTAP_ISA_A64 },
		{ .address = 0x4000, .size = 0x4000, .instructions = 0x1000,
		  .isa = FLOWTAP_ISA_A64 },
		{ .address = 0x8000, .size = 8, .instructions = 2, .isa = FLOWTAP_ISA_A64,
		  .end = FLOWTAP_ARM_BRANCH, .conditional = true },
		{ .address = 0x8000, .size = 8, .instructions = 2, .isa = FLOWTAP_ISA_A32,
		  .end = FLOWTAP_ARM_BRANCH, .conditional = true },
	};

	/* Twice: what ends a range was rendered, or was not. */
	for (int pass = 0; pass < 2; pass++) {
		EXPECT_EQ(0, sink_block(self->sink, &blocks[0], false, 0x4000));
		EXPECT_EQ(0, sink_block(self->sink, &blocks[1], false, 0x8000));
		EXPECT_EQ(0, sink_block(self->sink, &blocks[2], false, 0x8008));
		EXPECT_EQ(0, sink_block(self->sink, &blocks[2], true, 0x8000));
	}
	EXPECT_EQ(0, sink_block(self->sink, &blocks[1], false, 0x8000));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[2], true, 0x1000));
	/* Elsewhere, after an element, or of another ISA it is not the same range. */
	EXPECT_EQ(0, sink_block(self->sink, &blocks[0], false, 0x4000));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[2], true, 0x1000));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[1], false, 0x8000));
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = 3, .address = 0x8000 });
	EXPECT_EQ(0, sink_block(self->sink, &blocks[2], false, 0x8008));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[1], false, 0x8000));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[3], false, 0x8008));
	EXPECT_EQ(0, sink_block(self->sink, &blocks[0], false, 0x4000));
	EXPECT_LINES("range 1000 8008 7170 A64 N\n"
		     "range 8000 8008 2 A64 E\n"
		     "range 1000 8008 7170 A64 N\n"
		     "range 8000 8008 2 A64 E\n"
		     "range 4000 8008 4098 A64 E\n"
		     "range 1000 4000 3072 A64 E\n"
		     "range 8000 8008 2 A64 E\n"
		     "range 4000 8000 4096 A64 E\n"
		     "exception 3 8000\n"
		     "range 8000 8008 2 A64 N\n"
		     "range 4000 8000 4096 A64 E\n"
		     "range 8000 8008 2 A32 N\n"
		     "range 1000 4000 3072 A64 E\n");
	blocks_unrender(blocks, 4);
}

/* A block that begins within an IT block does not know that its branch is conditional. */
TEST_F(text, a_branch_of_t32_may_have_been_conditional)
{
	struct flowtap_block branch = { .address = 0x1000, .size = 4, .instructions = 2,
					.isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_BRANCH };
	struct flowtap_block before = { .address = 0xffc, .size = 4, .instructions = 1,
					.isa = FLOWTAP_ISA_T32 };

	EXPECT_EQ(0, sink_block(self->sink, &branch, false, 0x1004));
	EXPECT_EQ(0, sink_block(self->sink, &branch, true, 0x1000));
	EXPECT_EQ(0, sink_block(self->sink, &before, false, 0x1000));
	EXPECT_EQ(0, sink_block(self->sink, &branch, false, 0x1004));
	EXPECT_EQ(0, sink_block(self->sink, &before, false, 0x1000));
	EXPECT_LINES("range 1000 1004 2 T32 N\n"
		     "range 1000 1004 2 T32 E\n"
		     "range ffc 1004 3 T32 N\n"
		     "range ffc 1000 1 T32 E\n");
	blocks_unrender(&branch, 1);
	blocks_unrender(&before, 1);
}

/* More than a block can have, at the end of the addresses. */
TEST_F(text, a_range_of_many_long_blocks_fits)
{
	struct flowtap_block block = {
		.size = 0xfffffffc, .instructions = 0xffffffff, .isa = FLOWTAP_ISA_A64,
	};

	for (block.address = 0xfffffff000000000; block.address < 0xffffffff00000000;
	     block.address += 0xfffffffc)
		ASSERT_EQ(0, sink_block(self->sink, &block, false, 0));
	EXPECT_LINES("range fffffff000000000 ffffffffffffffc0 68719476720 A64 E\n");
	blocks_unrender(&block, 1);
}

/* In the words of the reference decoder's output, but for ITE, which no trace of ours has. */
TEST_F(text, what_only_an_arm_trace_has)
{
	ELEMENT(FLOWTAP_ELEMENT_TRACE_ON);
	ELEMENT(FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = { .ticks = 0x6fd7 });
	ELEMENT(FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = {
		.ticks = UINT64_MAX, .cycles = 1048575, .has_cycles = true });
	ELEMENT(FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = { .has_cycles = true });
	ELEMENT(FLOWTAP_ELEMENT_MARKER);
	ELEMENT(FLOWTAP_ELEMENT_Q, .q = { .start = 0x1000, .next = 0x2000, .instructions = 12 });
	ELEMENT(FLOWTAP_ELEMENT_Q, .q = { .start = 0x1000 });
	ELEMENT(FLOWTAP_ELEMENT_TRANSACTION, .transaction = FLOWTAP_TRANSACTION_START);
	ELEMENT(FLOWTAP_ELEMENT_TRANSACTION, .transaction = FLOWTAP_TRANSACTION_COMMIT);
	ELEMENT(FLOWTAP_ELEMENT_TRANSACTION, .transaction = FLOWTAP_TRANSACTION_FAIL);
	ELEMENT(FLOWTAP_ELEMENT_EVENT, .event = 3);
	ELEMENT(FLOWTAP_ELEMENT_INSTRUMENTATION, .instrumentation = {
		.value = 0xabcdef0123456789, .mode = 2 });
	ELEMENT(FLOWTAP_ELEMENT_CYCLES, .cycles = { .unknown = true });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_IMAGE, .address = 0xffff000008080000 });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_IMAGE, .address = 0x10, .detail = "why" });
	EXPECT_LINES("trace_on\n"
		     "timestamp 000000006fd7\n"
		     "timestamp ffffffffffffffff cycles 1048575\n"
		     "timestamp 000000000000 cycles 0\n"
		     "marker\n"
		     "q_range 1000 2000 12\n"
		     "q_range 1000 0 0\n"
		     "transaction start\n"
		     "transaction commit\n"
		     "transaction fail\n"
		     "event 3\n"
		     "ite EL2 abcdef0123456789\n"
		     "cycles 0\n"
		     "no_image ffff000008080000\n"
		     "gap no_image address=10 detail=why\n");
}

TEST_F(text, gaps_of_an_arm_trace)
{
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_OVERFLOW });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_UNSYNCED, .size = 255 });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_BAD_PACKET, .detail = "offset 12: 08" });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_NO_ADDRESS, .address = 16 });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_UNRESOLVED });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_TRUNCATED });
	EXPECT_LINES("gap overflow\n"
		     "gap unsynced size=255\n"
		     "gap bad_packet detail=offset 12: 08\n"
		     "gap no_address address=10\n"
		     "gap unresolved\n"
		     "gap truncated\n");
}

TEST_F(text, contexts_of_both_architectures)
{
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.pid = 0x1a2b, .tid = 0x1a2c, .cpu = 10, .width = 64 });
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.mode = FLOWTAP_PRIVILEGE_S, .width = 64 });
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_A64, .mode = 1, .width = 64 });
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_A64, .security = FLOWTAP_SECURE, .width = 64,
		.has_vmid = true, .has_contextid = true, .contextid = 0xabcdef0123456789 });
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_T32, .security = FLOWTAP_REALM, .width = 32, .mode = 2,
		.pid = 16, .tid = 17 });
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = {
		.isa = FLOWTAP_ISA_A32, .security = FLOWTAP_ROOT, .width = 32, .mode = 3 });
	EXPECT_LINES("context RV64 EL0 nonsecure 64 pid=6699 tid=6700 cpu=10 mode=U\n"
		     "context RV64 EL1 nonsecure 64 cpu=0 mode=S\n"
		     "context A64 EL1 nonsecure 64\n"
		     "context A64 EL0 secure 64 vmid=0 contextid=abcdef0123456789\n"
		     "context T32 EL2 realm 32 pid=16 tid=17 cpu=0\n"
		     "context A32 EL3 root 32\n");
}

TEST_F(text, traps_times_and_sessions)
{
	ELEMENT(FLOWTAP_ELEMENT_SESSION);
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = -1, .address = 0x1045a });
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION, .exception = {
		.number = 12, .interrupt = true, .address = 0x10, .target = 0xffff });
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION_RETURN);
	ELEMENT(FLOWTAP_ELEMENT_TIME, .time = 0x6fd7);
	ELEMENT(FLOWTAP_ELEMENT_TIME, .time = 0);
	ELEMENT(FLOWTAP_ELEMENT_TIME, .time = 1ULL << 44);
	ELEMENT(FLOWTAP_ELEMENT_TIME, .time = UINT64_MAX);
	ELEMENT(FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = 43 });
	ELEMENT(FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = 0, .at_least = true });
	ELEMENT(FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = UINT64_MAX });
	ELEMENT(FLOWTAP_ELEMENT_MISPREDICTED);
	EXPECT_LINES("session\n"
		     "exception -1 1045a\n"
		     "exception 12 10 interrupt target=ffff\n"
		     "eret\n"
		     "time 0.000028631\n"
		     "time 0.000000000\n"
		     "time 17592.186044416\n"
		     "time 18446744073.709551615\n"
		     "cycles 43\n"
		     "cycles 0 at_least\n"
		     "cycles 18446744073709551615\n"
		     "mispredicted\n");
}

TEST_F(text, gaps_say_what_is_known_of_them_on_one_line)
{
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_START });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_RING_FULL, .since = 1, .until = 255, .size = 16 });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_WRAPPED, .until = 16, .size = UINT64_MAX });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_CODE, .address = 0x1000,
		.detail = "/tmp/a b\n\x7f\tc\xc3\xa4: gone" });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_TRAP, .detail = "" });
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = (enum flowtap_gap_reason)99 });
	EXPECT_LINES("gap start\n"
		     "gap ring_full since=0.000000001 until=0.000000255 size=16\n"
		     "gap wrapped until=0.000000016 size=unknown\n"
		     "gap no_code address=1000 detail=/tmp/a b???c\xc3\xa4: gone\n"
		     "gap trap\n"
		     "gap unknown\n");
}

TEST_F(text, transfers_and_call_stacks)
{
	static const uint64_t frames[] = { 0x10, 0, UINT64_MAX };

	ELEMENT(FLOWTAP_ELEMENT_TRANSFER, .transfer = {
		.source = 0x10, .target = 0x20, .type = FLOWTAP_TRANSFER_DIRECT_CALL });
	ELEMENT(FLOWTAP_ELEMENT_TRANSFER, .transfer = {
		.target = 0x20, .type = FLOWTAP_TRANSFER_TRAP_RETURN, .mispredicted = true });
	ELEMENT(FLOWTAP_ELEMENT_TRANSFER, .transfer = { .type = 7 });
	ELEMENT(FLOWTAP_ELEMENT_CALLSTACK, .callstack = { .frames = frames, .n = 3 });
	ELEMENT(FLOWTAP_ELEMENT_CALLSTACK);
	EXPECT_LINES("transfer 10 20 direct_call\n"
		     "transfer 0 20 trap_return mispredicted\n"
		     "transfer 0 0 reserved\n"
		     "callstack 10 0 ffffffffffffffff\n"
		     "callstack\n");
}

/* 256 frames are what hardware can hold; a line has an end all the same. */
TEST_F(text, the_deepest_call_stack_fits_and_a_longer_line_is_cut)
{
	static uint64_t frames[600];
	char *line;

	memset(frames, 0xff, sizeof(frames));
	ELEMENT(FLOWTAP_ELEMENT_CALLSTACK, .callstack = { .frames = frames, .n = 256 });
	ELEMENT(FLOWTAP_ELEMENT_CALLSTACK, .callstack = { .frames = frames, .n = 600 });
	ELEMENT(FLOWTAP_ELEMENT_SESSION);
	EXPECT_EQ(0, flowtap_text_finish(self->text));
	output_read(&self->output);
	line = (char *)self->output.bytes;
	EXPECT_EQ(9 + 256 * 17, strchr(line, '\n') - line);
	line = strchr(line, '\n') + 1;
	EXPECT_EQ(8192, strchr(line, '\n') - line);
	EXPECT_EQ(0, memcmp(line + 8192 - 4, "f...\nsession\n", 13));
}

TEST_F(text, much_goes_through_and_nothing_is_lost)
{
	struct flowtap_block block = { .address = 0x10000, .size = 4, .instructions = 2 };
	static const char want[] = "range 10000 10004 2 RV64 E\n";
	size_t lines = 50000;

	for (size_t i = 0; i < lines; i++)
		ASSERT_EQ(0, sink_block(self->sink, &block, false, 0));
	EXPECT_EQ(0, flowtap_text_finish(self->text));
	output_read(&self->output);
	ASSERT_EQ(lines * strlen(want), self->output.size);
	for (size_t i = 0; i < lines; i++)
		ASSERT_EQ(0, memcmp(self->output.bytes + i * strlen(want), want, strlen(want)));
	blocks_unrender(&block, 1);
}

TEST(an_error_of_write_stays)
{
	struct flowtap_block block = { .address = 0x10000, .size = 4, .instructions = 2 };
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct flowtap_text *text;
	struct flowtap_sink *sink;
	int error = 0;

	ASSERT_EQ(0, flowtap_text_new(fd, NULL, &text));
	sink = flowtap_text_sink(text);
	for (int i = 0; i < 50000 && !error; i++)
		error = sink_block(sink, &block, false, 0);
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(-ENOSPC, sink_block(sink, &block, false, 0));
	EXPECT_EQ(-ENOSPC, sink_gap(sink, FLOWTAP_GAP_START));
	EXPECT_EQ(-ENOSPC, flowtap_text_finish(text));
	flowtap_text_free(text);
	blocks_unrender(&block, 1);
	close(fd);
}

TEST_HARNESS_MAIN
