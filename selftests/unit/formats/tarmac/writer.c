// SPDX-License-Identifier: GPL-2.0-only
/* Shows line for line what the Tarmac writer makes of each element in each dialect. */
#include "writer_fixture.h"

/* Twice, as the second time blocks are rendered. */
static void calls(struct run *run)
{
	CONTEXT(run, A64, 1);
	block(run, MOVE, false, 0x210804);
	for (int i = 0; i < 2; i++) {
		block(run, CALL, true, 0x210820);
		block(run, CALLR, true, 0x210824);
		block(run, JUMP, true, 0x210830);
		block(run, RETURN, true, i ? 0x210840 : 0x210804);
	}
	for (int i = 0; i < 2; i++) {
		block(run, CBZ, true, 0x21084c);
		ELEMENT(run, FLOWTAP_ELEMENT_TRACE_ON);
		block(run, CBZ, false, 0x210844);
		ELEMENT(run, FLOWTAP_ELEMENT_TRACE_ON);
	}
}

/* Of EL0 and of the kernel; one comes while another one is handled. */
static void exceptions(struct run *run)
{
	CONTEXT(run, A64, 0);
	block(run, SVC, false, 0x210814);
	EXCEPTION(run, 2, 0x210814);
	CONTEXT(run, A64, 1);
	block(run, IRQ, false, VECTOR + 4);
	block(run, ERET, true, 0x210820);
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION_RETURN);
	CONTEXT(run, A64, 0);
	EXCEPTION(run, 14, 0x210820);
	CONTEXT(run, A64, 1);
	EXCEPTION(run, 4, VECTOR);
	block(run, IRQ, false, VECTOR + 4);
	EXCEPTION(run, 15, VECTOR + 4);
	block(run, IRQ, false, VECTOR + 4);
	EXCEPTION(run, 12, VECTOR + 4);
	block(run, IRQ, false, VECTOR + 4);
	block(run, ERET, true, 0x210820);
	CONTEXT(run, A64, 0);
	EXCEPTION(run, 11, 0x210820);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_TRAP });
	block(run, MOVE, false, 0x210804);
	EXCEPTION(run, 0, 0);
	CONTEXT(run, A64, 3, .security = FLOWTAP_SECURE);
	block(run, MOVE, false, 0x210804);
	EXCEPTION(run, 14, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_OVERFLOW });
	block(run, MOVE, false, 0x210804);
	EXCEPTION(run, 1, 0x210804);
	CONTEXT(run, A64, 2, .security = FLOWTAP_REALM);
	block(run, MOVE, false, 0x210804);
	EXCEPTION(run, 3, 0x210804);
}

static void narrow(struct run *run)
{
	CONTEXT(run, A32, 1, .security = FLOWTAP_SECURE);
	for (int i = 0; i < 2; i++) {
		block(run, A32_CALL, true, 0x8008);
		block(run, A32_BACK, true, 0x8004);
		block(run, A32_IF, false, 0x8008);
		block(run, A32_BLX, true, 0x8010);
		block(run, T32_CODE, true, 0x8018);
		block(run, T32_CALL, true, 0x801a);
		block(run, T32_CBZ, false, 0x801c);
		ELEMENT(run, FLOWTAP_ELEMENT_TRACE_ON);
	}
	block(run, A32_IF, true, 0x9e54);
	EXCEPTION(run, 12, 0x9e54);
	CONTEXT(run, A32, 1);
	block(run, A32_CALL, true, 0x8008);
	CONTEXT(run, A32, 0, .security = FLOWTAP_ROOT);
	block(run, A32_BACK, true, 0x8004);
	block(run, A32_IF, false, 0x8008);
	EXCEPTION(run, 14, 0x8008);
	CONTEXT(run, A64, 1);
	block(run, IRQ, false, VECTOR + 4);
	block(run, ERET, true, 0x8008);
	CONTEXT(run, A32, 0);
	block(run, A32_BACK, true, 0x8010);
}

static void gaps(struct run *run)
{
	static const uint64_t frames[] = { 0x10, 0x20 };

	ELEMENT(run, FLOWTAP_ELEMENT_SESSION);
	ELEMENT(run, FLOWTAP_ELEMENT_TRACE_ON);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_START });
	CONTEXT(run, A64, 1, .has_contextid = true, .contextid = 0x2a);
	block(run, MOVE, false, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_CODE, .since = 1, .until = 2, .size = UINT64_MAX,
		.address = 0x30, .detail = "; // a\nb" });
	block(run, MOVE, false, 0x210804);
	block(run, MOVE, false, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_IMAGE, .address = 0x210804 });
	ELEMENT(run, FLOWTAP_ELEMENT_TRANSACTION, .transaction = FLOWTAP_TRANSACTION_START);
	ELEMENT(run, FLOWTAP_ELEMENT_EVENT, .event = 3);
	CONTEXT(run, A64, 1, .has_contextid = true, .contextid = 0x2b, .pid = 16, .tid = 17);
	block(run, JUMP, true, 0);
	ELEMENT(run, FLOWTAP_ELEMENT_Q, .q = { .start = 0x10, .next = 0x20, .instructions = 3 });
	ELEMENT(run, FLOWTAP_ELEMENT_TRANSFER, .transfer = { .source = 0x10, .target = 0x20 });
	ELEMENT(run, FLOWTAP_ELEMENT_CALLSTACK, .callstack = { .frames = frames, .n = 2 });
	block(run, JUMP, true, 0);
	block(run, MOVE, false, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_INSTRUMENTATION, .instrumentation = { .value = 255 });
	ELEMENT(run, FLOWTAP_ELEMENT_MARKER);
}

/*
 * Of the M profile: SVC, tail-chained by SysTick, a fault, IRQ8, debug halt, lockup up to an NMI, a
 * lazy push and a reset. Handler mode is EL3.
 */
static void m_exceptions(struct run *run)
{
	CONTEXT(run, T32, 0);
	block(run, T32_SVC, false, 0x801e);
	EXCEPTION(run, 11, 0x801e, .m_profile = true);
	CONTEXT(run, T32, 3);
	block(run, T32_CODE, true, 0);
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION_RETURN);
	EXCEPTION(run, 15, 0, .m_profile = true);
	block(run, T32_CODE, true, 0x8018);
	EXCEPTION(run, 5, 0x8018, .m_profile = true);
	block(run, T32_CODE, true, 0x8018);
	EXCEPTION(run, 0x208, 0x8018, .m_profile = true);
	block(run, T32_CODE, true, 0x8018);
	EXCEPTION(run, 24, 0x8018, .m_profile = true);
	block(run, T32_CODE, true, 0x8018);
	EXCEPTION(run, 26, 0x8018, .m_profile = true);
	EXCEPTION(run, 2, 0xeffffffe, .m_profile = true);
	block(run, T32_CODE, true, 0x8018);
	EXCEPTION(run, 25, 0x8018, .m_profile = true);
	block(run, T32_CALL, true, 0x8010);
	EXCEPTION(run, 1, 0, .m_profile = true);
	CONTEXT(run, T32, 0);
	block(run, T32_CODE, true, 0x8018);
}

static void riscv(struct run *run)
{
	CONTEXT(run, RV64, 0);
	block(run, RV_CALL, true, 0x80000008);
	block(run, RV_T0, true, 0x80000010);
	block(run, RV_ECALL, true, 0);
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION, .exception = {
		.number = 8, .address = 0x80000010, .target = 0x80000020 });
	CONTEXT(run, RV64, 1);
	block(run, RV_RET, true, 0x80000000);
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION, .exception = {
		.number = -1, .interrupt = true, .address = 0x80000000 });
	block(run, RV_RET, true, 0);
}

static void recursion(struct run *run)
{
	CONTEXT(run, A64, 0);
	block(run, MOVE, false, 0x210804);
	block(run, CALL, true, 0x210820);
	block(run, CALLR, true, 0x210830);
	EXCEPTION(run, 14, 0x210830);
	CONTEXT(run, A64, 1);
	block(run, IRQ, false, VECTOR + 4);
	block(run, ERET, true, 0x210830);
	CONTEXT(run, A64, 0);
	block(run, RETURN, true, 0x210830);
	block(run, RETURN, true, 0x210830);
	block(run, RETURN, true, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_OVERFLOW });
	block(run, CALL, true, 0x210820);
}

static void times(struct run *run)
{
	CONTEXT(run, A64, 1);
	ELEMENT(run, FLOWTAP_ELEMENT_TIME, .time = 1000);
	block(run, MOVE, false, 0x210804);
	ELEMENT(run, FLOWTAP_ELEMENT_TIME, .time = 1001);
	ELEMENT(run, FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = 100 });
	block(run, CALL, true, 0x210820);
	ELEMENT(run, FLOWTAP_ELEMENT_TIME, .time = 900);
	ELEMENT(run, FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = { .ticks = 120 });
	ELEMENT(run, FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = 7, .unknown = true });
	block(run, CALLR, true, 0x210824);
	ELEMENT(run, FLOWTAP_ELEMENT_TIME, .time = UINT64_MAX);
	ELEMENT(run, FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = { .ticks = UINT64_MAX });
	ELEMENT(run, FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = UINT64_MAX });
	block(run, JUMP, true, 0x210830);
	ELEMENT(run, FLOWTAP_ELEMENT_TIME, .time = 999 + 999999999999999);
	ELEMENT(run, FLOWTAP_ELEMENT_CYCLES, .cycles = { .count = 99999999999 });
	block(run, RETURN, true, 0x210804);
}

/* flow: what is fed; golden: its name. */
#define EXPECT_FLOW(flow, suffix) do {								\
	struct run run = run_new(&self->options);						\
	char name[64];										\
												\
	flow(&run);										\
	snprintf(name, sizeof(name), #flow suffix ".%s", self->name);				\
	EXPECT_GOLDEN(&run, name);								\
	run_free(&run);										\
} while (0)

TEST_F(dialect, a_call_leaves_its_return_address_and_a_branch_its_target)
{
	EXPECT_FLOW(calls, "");
	self->options.lines.untaken_skipped = true;
	EXPECT_FLOW(calls, "-skipped");
}

TEST_F(dialect, exceptions_say_where_they_went_as_far_as_it_is_known)
{
	EXPECT_FLOW(exceptions, "");
}

TEST_F(dialect, exceptions_of_the_m_profile_have_their_names)
{
	EXPECT_FLOW(m_exceptions, "");
}

/* What is read of it is written as it was. */
TEST_F(dialect, exceptions_of_the_m_profile_come_back)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0) };
	struct run run = run_new(&self->options);
	char name[64], path[200];
	int fd;

	snprintf(name, sizeof(name), "m_exceptions.%s", self->name);
	snprintf(path, sizeof(path), GOLDEN "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	read.sink = run.sink;
	EXPECT_EQ(0, flowtap_tarmac_read(&read, fd));
	EXPECT_EQ(0, read.problems);
	EXPECT_GOLDEN(&run, name);
	close(fd);
	flowtap_learned_free(read.learned);
	run_free(&run);
}

TEST_F(dialect, code_of_32_bits_in_a32_and_t32)
{
	EXPECT_FLOW(narrow, "");
}

/* What is written of a block of T32. */
static struct run run_t32(const struct flowtap_tarmac_options *options, struct flowtap_block *block,
			  bool taken)
{
	uint64_t target = taken ? 0x9000 : block->address + block->size;
	struct run run = run_new(options);

	CONTEXT(&run, T32, 1);
	keep(&run, sink_block(run.sink, block, taken, target));
	keep(&run, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	return run;
}

TEST_F(dialect, a_loop_that_is_left_fails_no_condition)
{
	/* WLS, WLSTP, LE LR, LETP; and BEQ.W, which does. */
	static const uint16_t second[] = { 0xc003, 0xc003, 0xc009, 0xc009, 0x8008 };
	static const uint16_t first[] = { 0xf042, 0xf002, 0xf00f, 0xf01f, 0xf000 };

	for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
		const uint8_t code[] = { U16(first[i]), U16(second[i]) };
		struct flowtap_block block = {
			.address = 0x8000, .size = 4, .instructions = 1, .bytes = code,
			.isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_BRANCH, .direct = true,
			.conditional = true, .target = 0x9000, .target_isa = FLOWTAP_ISA_T32,
		};
		struct run run = run_t32(&self->options, &block, false);
		const char *lines = (const char *)run.output.bytes;

		EXPECT_EQ(0, run.worst);
		EXPECT_EQ(first[i] == 0xf000, strstr(lines, "CCFAIL") || strstr(lines, " IS ("))
			TH_LOG("%04x%04x: %s", first[i], second[i], lines);
		run_free(&run);
		blocks_unrender(&block, 1);
	}
}

TEST_F(dialect, blxns_leaves_no_return_address_that_is_known)
{
	static const uint16_t codes[] = { 0x479c, 0x4798 };	/* BLXNS R3, BLX R3 */

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		const uint8_t code[] = { U16(codes[i]) };
		struct flowtap_block block = {
			.address = 0x8000, .size = 2, .instructions = 1, .bytes = code,
			.isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_INDIRECT_CALL, .link = true,
		};
		struct run run = run_t32(&self->options, &block, true);
		const char *lines = (const char *)run.output.bytes;

		EXPECT_EQ(0, run.worst);
		EXPECT_EQ(codes[i] == 0x4798, strstr(lines, "00008003") != NULL)
			TH_LOG("%04x: %s", codes[i], lines);
		run_free(&run);
		blocks_unrender(&block, 1);
	}
}

TEST_F(dialect, what_breaks_the_flow_is_a_gap_and_what_is_noted_a_note)
{
	EXPECT_FLOW(gaps, "");
}

TEST_F(dialect, riscv_is_written_as_if_it_were_a64)
{
	self->options.riscv = true;
	EXPECT_FLOW(riscv, "");
}

TEST_F(dialect, stack_pointers_are_invented_if_asked_for_and_the_file_says_so)
{
	self->options.lines.synthetic_sp = true;
	EXPECT_FLOW(recursion, "");
	EXPECT_FLOW(narrow, "-sp");
}

TEST_F(dialect, times_ascend_whatever_the_trace_tells)
{
	EXPECT_FLOW(times, "");
	self->options.lines.time = FLOWTAP_LINES_CYCLES;
	EXPECT_FLOW(times, "-cycles");
	self->options.lines.time = FLOWTAP_LINES_TIME;
	EXPECT_FLOW(times, "-time");
	self->options.lines.since = 999;
	self->options.lines.frequency = 100000000;
	EXPECT_FLOW(times, "-since");
}

TEST_HARNESS_MAIN
