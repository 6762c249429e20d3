// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows line for line what the Tarmac writer makes of each element in each dialect, and that what
 * real readers reject is never written.
 */
#include <flowtap/arm.h>
#include <flowtap/learned.h>
#include <flowtap/read.h>
#include <flowtap/tarmac.h>

#include "stfcheck/sample.h"
#include "support/sink.h"
#include "support/ttu.h"

#include <errno.h>
#include <fcntl.h>

#include "support/kselftest_harness.h"

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }
#define NOP	U32(0xd503201f)
#define KERNEL	0xffff000000080000
#define VECTOR	0xffff000000010280

enum { MOVE, CALL, CALLR, JUMP, RETURN, CBZ, SVC, IRQ, ERET, A32_CALL, A32_BACK, A32_IF, A32_BLX,
       T32_CODE, T32_CALL, T32_CBZ, T32_SVC, RV_CALL, RV_T0, RV_ECALL, RV_RET, BLOCKS };

static const struct flowtap_block templates[BLOCKS] = {
	[MOVE] = { .address = 0x210800, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd2800060)) },
	[CALL] = { .address = 0x210804, .size = 8, .instructions = 2, .last = 4, .link = true,
		   .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0x94000006)), .end = FLOWTAP_ARM_CALL,
		   .direct = true, .target = 0x210820, .target_isa = FLOWTAP_ISA_A64 },
	[CALLR] = { .address = 0x210820, .size = 4, .instructions = 1, .link = true,
		    .isa = FLOWTAP_ISA_A64, CODE(U32(0xd63f0000)),
		    .end = FLOWTAP_ARM_INDIRECT_CALL },
	[JUMP] = { .address = 0x210824, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd61f0000)), .end = FLOWTAP_ARM_INDIRECT },
	[RETURN] = { .address = 0x210830, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		     CODE(U32(0xd65f03c0)), .end = FLOWTAP_ARM_RETURN },
	[CBZ] = { .address = 0x210840, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		  CODE(U32(0xb4000060)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		  .conditional = true, .target = 0x21084c, .target_isa = FLOWTAP_ISA_A64 },
	[SVC] = { .address = 0x21080c, .size = 8, .instructions = 2, .last = 4,
		  .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0xd4000001)) },
	[IRQ] = { .address = VECTOR, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		  CODE(NOP) },
	[ERET] = { .address = VECTOR + 4, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(U32(0xd69f03e0)), .end = FLOWTAP_ARM_EXCEPTION_RETURN },
	[A32_CALL] = { .address = 0x8000, .size = 4, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_A32, CODE(U32(0xeb000000)), .end = FLOWTAP_ARM_CALL,
		       .direct = true, .target = 0x8008, .target_isa = FLOWTAP_ISA_A32 },
	[A32_BACK] = { .address = 0x8008, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		       CODE(U32(0xe12fff1e)), .end = FLOWTAP_ARM_RETURN },
	[A32_IF] = { .address = 0x8004, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		     CODE(U32(0x1a000792)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		     .conditional = true, .target = 0x9e54, .target_isa = FLOWTAP_ISA_A32 },
	[A32_BLX] = { .address = 0x8008, .size = 4, .instructions = 1, .link = true,
		      .isa = FLOWTAP_ISA_A32, CODE(U32(0xfa000000)), .end = FLOWTAP_ARM_CALL,
		      .direct = true, .target = 0x8010, .target_isa = FLOWTAP_ISA_T32 },
	/* nop.w, nop, bx lr: the halfwords as they stand in memory. */
	[T32_CODE] = { .address = 0x8010, .size = 8, .instructions = 3, .last = 6,
		       .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_RETURN,
		       CODE(U16(0xf3af), U16(0x8000), U16(0xbf00), U16(0x4770)) },
	[T32_CALL] = { .address = 0x8018, .size = 2, .instructions = 1, .link = true,
		       .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_INDIRECT_CALL,
		       CODE(U16(0x4780)) },
	[T32_CBZ] = { .address = 0x801a, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
		      CODE(U16(0xb108)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		      .conditional = true, .target = 0x8020, .target_isa = FLOWTAP_ISA_T32 },
	[T32_SVC] = { .address = 0x801c, .size = 2, .instructions = 1, .isa = FLOWTAP_ISA_T32,
		      CODE(U16(0xdf00)) },
	[RV_CALL] = { .address = 0x80000000, .size = 6, .instructions = 2, .last = 2,
		      CODE(U16(0x450d), U32(0x006000ef)), .direct = true, .target = 0x80000008,
		      .end = FLOWTAP_TRANSFER_DIRECT_CALL },
	[RV_T0] = { .address = 0x80000008, .size = 4, .instructions = 1, CODE(U32(0x000302e7)),
		    .end = FLOWTAP_TRANSFER_INDIRECT_CALL },
	[RV_ECALL] = { .address = 0x80000010, .size = 4, .instructions = 1, CODE(U32(0x73)),
		       .end = FLOWTAP_TRANSFER_EXCEPTION },
	[RV_RET] = { .address = 0x80000020, .size = 2, .instructions = 1, CODE(U16(0x8082)),
		     .end = FLOWTAP_TRANSFER_RETURN },
};

struct run {
	struct flowtap_block blocks[BLOCKS];
	struct output output;
	struct flowtap_tarmac *tarmac;
	struct flowtap_sink *sink;
	bool rows;
	bool spelled;
	int worst;		/* the first error of the sink */
};

static size_t named(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
		    const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	(void)isa, (void)it, (void)address, (void)bytes, (void)size;
	return (size_t)snprintf(text, capacity, "%s", (const char *)argument);
}

static struct run run_new(const struct flowtap_tarmac_options *options)
{
	struct run run = {
		.output = output_new(),
		.rows = options->dialect == FLOWTAP_TARMAC_FVP,
		.spelled = options->dialect == FLOWTAP_TARMAC_STRICT,
	};

	memcpy(run.blocks, templates, sizeof(templates));
	run.worst = flowtap_tarmac_new(run.output.fd, options, &run.tarmac);
	if (!run.worst)
		run.sink = flowtap_tarmac_sink(run.tarmac);
	return run;
}

static void run_free(struct run *run)
{
	flowtap_tarmac_free(run->tarmac);
	blocks_unrender(run->blocks, BLOCKS);
	output_free(&run->output);
}

static void keep(struct run *run, int error)
{
	run->worst = run->worst ? run->worst : error;
}

static void block(struct run *run, int n, bool taken, uint64_t target)
{
	keep(run, sink_block(run->sink, &run->blocks[n], taken, target));
}

#define ELEMENT(run, ...) \
	keep(run, sink_element((run)->sink, (struct flowtap_element){ .kind = __VA_ARGS__ }))
#define CONTEXT(run, which, level, ...) \
	ELEMENT(run, FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = FLOWTAP_ISA_ ## which, \
		.mode = level, .width = FLOWTAP_ISA_ ## which == FLOWTAP_ISA_A64 ? 64 : 32, \
		__VA_ARGS__ })
#define EXCEPTION(run, type, pc, ...) \
	ELEMENT(run, FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = type, .address = pc, \
		__VA_ARGS__ })


#define HEADER "Tarmac Text Rev 3t\n"
#define GOLDEN "selftests/corpus/lines/"

/* The file as a string, to be freed. */
static char *golden(const char *name)
{
	char path[200], *text = calloc(1, 65536);
	int fd;

	snprintf(path, sizeof(path), GOLDEN "%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (!text || fd < 0 || read(fd, text, 65535) < 0)
		strcpy(text, "no such file");
	close(fd);
	return text;
}

/* What was written is what the file holds, and readers take it. */
#define EXPECT_GOLDEN(run, name) do {								\
	struct ttu ttu = { .rows = (run)->rows, .spelled = (run)->spelled };			\
	char *want = golden(name);								\
												\
	EXPECT_EQ(0, (run)->worst);								\
	EXPECT_EQ(0, flowtap_tarmac_finish((run)->tarmac));					\
	output_read(&(run)->output);								\
	EXPECT_STREQ(want, (const char *)(run)->output.bytes)					\
		TH_LOG("%s%s:\n%s", GOLDEN, name, (const char *)(run)->output.bytes);		\
	EXPECT_TRUE(ttu_check(&ttu, (const char *)(run)->output.bytes, (run)->output.size));	\
	EXPECT_EQ(flowtap_tarmac_counts((run)->tarmac)->instructions, ttu.instructions);	\
	EXPECT_EQ(flowtap_tarmac_counts((run)->tarmac)->bytes, (run)->output.size);		\
	free(want);										\
} while (0)

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

FIXTURE(dialect)
{
	struct flowtap_tarmac_options options;
	const char *name;
};

FIXTURE_VARIANT(dialect)
{
	enum flowtap_tarmac_dialect dialect;
};

FIXTURE_VARIANT_ADD(dialect, es) { .dialect = FLOWTAP_TARMAC_ES };
FIXTURE_VARIANT_ADD(dialect, fvp) { .dialect = FLOWTAP_TARMAC_FVP };
FIXTURE_VARIANT_ADD(dialect, strict) { .dialect = FLOWTAP_TARMAC_STRICT };

FIXTURE_SETUP(dialect)
{
	self->options.dialect = variant->dialect;
	self->name = flowtap_tarmac_dialect_name(variant->dialect);
}

FIXTURE_TEARDOWN(dialect)
{
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

/*
 * --- What readers reject (facts of running them), one by one: the checker would find it, and ...
 * ---
 */

#define ES "1 clk ES  (0000000000000000:d503201f) O el1h_ns: NOP\n"

/* Whether the checker takes a trace of these lines in columns after the header. */
static bool takes(const char *lines)
{
	struct ttu ttu = { 0 };
	char text[1024];
	int size = snprintf(text, sizeof(text), HEADER "%s", lines);

	return ttu_check(&ttu, text, (size_t)size);
}

static bool takes_rows(const char *lines)
{
	struct ttu ttu = { .rows = true };

	return ttu_check(&ttu, lines, strlen(lines));
}

TEST(the_checker_finds_what_readers_reject)
{
	static const char *const bad[] = {
		"1 s ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 ms ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 fs ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 us ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"-----------     ES  (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 clk ES  IRQ\n",
		"1 clk ES  System Error (Abort)\n",
		"1 clk IT (0000000000000000:d503201f) O el1h_ns: NOP\n",
		"1 clk ES  (00000000:e320f000) E svc_ns: NOP\n",
		"1 clk ES  (0000000000000000:d503201f) X el1h_ns: NOP\n",
		ES "                    LA 0000000000000000 00000000 00000000 00000000 00000000\n",
		ES "                    ST 0000000000000000 000000\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: {pc}\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: ; nop\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: ?\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: \"nop\"\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: *nop\n",
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns:\n",
		"// a comment\n", "; a comment\n", "* a comment\n", "\n", ES "\n",
		"1 clk ES  (00000000:e320f000) A hyp ns: NOP\n",
		ES "                    R X30 1\n",
		ES ES,
		"1 clk ES  (0000000000000000:d503201f) O el1h_ns: NOP",
		"1 clk ES  (000000000000000:d503201f) O el1h_ns: NOP\n",
	};

	EXPECT_TRUE(takes(ES));
	EXPECT_TRUE(takes("1 clk ES  EXC [0x280] IRQ/vIRQ Current EL with SP_ELx\n"));
	EXPECT_TRUE(takes(ES "2 clk E DebugEvent_TraceGap overflow\n"));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		EXPECT_FALSE(takes(bad[i]))
			TH_LOG("%s", bad[i]);
	}
	EXPECT_TRUE(takes_rows("1 clk IT (1) 0000000000000000 d503201f O EL1h_n : NOP\n"));
	EXPECT_FALSE(takes_rows(HEADER "1 clk IT (1) 0000000000000000 d503201f O EL1h_n : NOP\n"));
	EXPECT_FALSE(takes_rows("1 clk IT (1) 0000000000000000 d503201f O EL1h_n NOP\n"));
	EXPECT_FALSE(takes_rows("1 clk IT (1) 00000000 d503201f O EL1h_n : NOP\n"));
}

/* One block, disassembled as `text`; the end of its line, to be freed. */
static char *disassembled(const char *text, enum flowtap_tarmac_dialect dialect)
{
	const struct flowtap_tarmac_options options = {
		.dialect = dialect,
		.lines = { .disassemble = named, .argument = (void *)(uintptr_t)text },
	};
	struct run run = run_new(&options);
	struct ttu ttu = { .rows = run.rows };
	char *end;

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	flowtap_tarmac_finish(run.tarmac);
	output_read(&run.output);
	end = strdup("not taken");
	if (!run.worst && ttu_check(&ttu, (char *)run.output.bytes, run.output.size)) {
		free(end);
		end = strdup(strstr((char *)run.output.bytes, run.rows ? " : " : ":   "));
	}
	run_free(&run);
	return end;
}

TEST_F(dialect, a_disassembly_begins_as_readers_take_it_and_is_one_line)
{
	static const struct {
		const char *text;
		const char *want;	/* NULL: the opcode */
	} texts[] = {
		{ "MOV      x0, #0x3", "MOV      x0, #0x3\n" }, { ".inst 0x0", ".inst 0x0\n" },
		{ "<unknown>", "<unknown>\n" }, { "9", "9\n" }, { "a  \t", "a\n" },
		{ "BL 21081c\nBL 210820", "BL 21081c\n" }, { "a\tb\x01\xe4", "a b??\n" },
		{ "{pc}+8", NULL }, { "; x", NULL }, { "? x", NULL }, { "\"x\"", NULL },
		{ "*x", NULL }, { "", NULL }, { " x", NULL }, { "\n", NULL }, { "\xe4", NULL },
		{ "// x", NULL },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char *end = disassembled(texts[i].text, variant->dialect);
		const char *want = texts[i].want ? texts[i].want : ".inst 0xd2800060\n";

		EXPECT_STREQ(want, end + strspn(end, ": ")) TH_LOG("%s", texts[i].text);
		free(end);
	}
}

TEST_F(dialect, a_long_disassembly_is_cut)
{
	char text[251], *end;

	memset(text, 'x', sizeof(text) - 1);
	text[250] = '\0';
	end = disassembled(text, variant->dialect);
	EXPECT_EQ(121, strlen(end + strspn(end, ": ")));
	free(end);
}

/* A detail of a gap may be any text: it never begins a line, and ends within what gem5 reads. */
TEST_F(dialect, no_line_is_longer_than_readers_take)
{
	struct run run = run_new(&self->options);
	struct ttu ttu = { .rows = run.rows };
	static char detail[8000];

	memset(detail, 'x', sizeof(detail) - 1);
	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	ELEMENT(&run, FLOWTAP_ELEMENT_GAP, .gap = {
		.reason = FLOWTAP_GAP_NO_CODE, .detail = detail });
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_TRUE(ttu_check(&ttu, (char *)run.output.bytes, run.output.size));
	EXPECT_EQ(1, ttu.gaps);
	EXPECT_NE(NULL, strstr((char *)run.output.bytes, "xxx...\n"));
	run_free(&run);
}

/* --- What is refused. --- */

TEST(what_cannot_be_is_refused_and_nothing_of_it_written)
{
	const struct flowtap_tarmac_options options = { 0 };
	struct run run = run_new(&options);
	struct flowtap_block *bad = run.blocks;

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(-EOPNOTSUPP, sink_block(run.sink, &bad[RV_CALL], true, 0x80000008));
	EXPECT_EQ(-EOPNOTSUPP, sink_context(run.sink, 1, 1, 0, 0));
	bad[CALL].address = 0x210806;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[CALL], true, 0x210820));
	bad[T32_CODE].address = 0x8011;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[T32_CODE], true, 0x8018));
	bad[A32_CALL].address = 0xfffffffffffffffc;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_CALL], true, 0x8008));
	bad[A32_BLX].address = 1ULL << 32;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_BLX], true, 0x8010));
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[A32_BACK], true, 1ULL << 32));
	bad[SVC].instructions = 3;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[SVC], false, 0x210814));
	bad[IRQ].isa = 77;
	EXPECT_EQ(-EINVAL, sink_block(run.sink, &bad[IRQ], false, 0x210814));
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_STREQ(HEADER
		"          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n"
		"          2 clk E DebugEvent_TraceGap unexplained\n"
		"          3 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n",
		(char *)run.output.bytes);
	EXPECT_EQ(1, flowtap_tarmac_counts(run.tarmac)->breaks);
	run_free(&run);
}

/* Nothing told yet whose it is: it is of what comes after it. */
TEST(an_exception_before_all_else)
{
	static const struct {
		int number;
		const char *line;
	} table[] = {
		{ 0, "          1 clk ES  Reset at 0000000000001000\n" },
		{ 14, "          1 clk ES  EXC IRQ/vIRQ at 0000000000001000\n" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		const struct flowtap_tarmac_options options = { 0 };
		struct run run = run_new(&options);
		char want[400];

		EXCEPTION(&run, table[i].number, 0x1000);
		CONTEXT(&run, A64, 3);
		block(&run, MOVE, false, 0x210804);
		EXPECT_EQ(0, run.worst);
		EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
		output_read(&run.output);
		snprintf(want, sizeof(want), HEADER "%s"
			 "                    BR (0000000000210800) O\n"
			 "          2 clk ES  (0000000000210800:d2800060) O el3h_ns:        "
			 ".inst 0xd2800060\n", table[i].line);
		EXPECT_STREQ(want, (char *)run.output.bytes);
		run_free(&run);
	}
}

/* As of a file in which it shows only then that it is of several: the first one had no name. */
TEST(another_cpu_explains_that_the_flow_goes_on_elsewhere)
{
	const struct flowtap_tarmac_options options = { 0 };
	struct run run = run_new(&options);

	CONTEXT(&run, A64, 1);
	block(&run, MOVE, false, 0x210804);
	CONTEXT(&run, A64, 1, .cpu = 1, .has_cpu = true);
	block(&run, CBZ, false, 0x210844);
	CONTEXT(&run, A64, 1, .cpu = 0, .has_cpu = true);
	block(&run, MOVE, false, 0x210804);
	EXPECT_EQ(0, run.worst);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_STREQ(HEADER
		"          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=1\n"
		"          2 clk ES  (0000000000210840:b4000060) O el1h_ns:        .inst 0xb4000060\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=0\n"
		"          3 clk ES  (0000000000210800:d2800060) O el1h_ns:        .inst 0xd2800060\n",
		(char *)run.output.bytes);
	EXPECT_EQ(0, flowtap_tarmac_counts(run.tarmac)->breaks);
	run_free(&run);
}

TEST(options_out_of_range_are_refused)
{
	struct flowtap_tarmac_options options = { .dialect = FLOWTAP_TARMAC_DIALECTS };
	struct flowtap_tarmac *tarmac;

	EXPECT_EQ(-EINVAL, flowtap_tarmac_new(1, &options, &tarmac));
	options.dialect = FLOWTAP_TARMAC_FVP;
	options.lines.time = FLOWTAP_LINES_TIMES;
	EXPECT_EQ(-EINVAL, flowtap_tarmac_new(1, &options, &tarmac));
	EXPECT_EQ(NULL, tarmac);
	EXPECT_EQ(NULL, flowtap_tarmac_dialect_name(FLOWTAP_TARMAC_DIALECTS));
}

TEST_F(dialect, a_trace_without_an_instruction_is_none)
{
	struct run run = run_new(&self->options);

	EXPECT_EQ(-ENODATA, flowtap_tarmac_finish(run.tarmac));
	run_free(&run);
}

TEST_F(dialect, an_error_of_write_stays)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC), error = 0;
	struct flowtap_block block = templates[IRQ];
	struct flowtap_tarmac *tarmac;
	struct flowtap_sink *sink;

	ASSERT_EQ(0, flowtap_tarmac_new(fd, &self->options, &tarmac));
	sink = flowtap_tarmac_sink(tarmac);
	for (int i = 0; i < 50000 && !error; i++)
		error = sink_block(sink, &block, true, VECTOR);
	EXPECT_EQ(-ENOSPC, error);
	EXPECT_EQ(-ENOSPC, sink_block(sink, &block, true, VECTOR));
	EXPECT_EQ(-ENOSPC, sink_gap(sink, FLOWTAP_GAP_START));
	EXPECT_EQ(-ENOSPC, flowtap_tarmac_finish(tarmac));
	flowtap_tarmac_free(tarmac);
	blocks_unrender(&block, 1);
	close(fd);
}

/* The same code under other modes, and by sinks of other dialects, is rendered as each wants it. */
TEST(code_that_is_shared_is_written_as_each_has_it)
{
	const struct flowtap_tarmac_options es = { 0 }, fvp = { .dialect = FLOWTAP_TARMAC_FVP };
	struct run run = run_new(&es), other = run_new(&fvp);

	for (int i = 0; i < 3; i++) {
		CONTEXT(&run, A64, i);
		CONTEXT(&other, A64, i);
		block(&run, MOVE, false, 0x210804);
		keep(&other, sink_block(other.sink, &run.blocks[MOVE], false, 0x210804));
		ELEMENT(&run, FLOWTAP_ELEMENT_TRACE_ON);
		ELEMENT(&other, FLOWTAP_ELEMENT_TRACE_ON);
	}
	EXPECT_GOLDEN(&run, "shared.es");
	EXPECT_GOLDEN(&other, "shared.fvp");
	run_free(&run);
	run_free(&other);
}

/* Longer than what is kept, and than the output's buffer. */
TEST_F(dialect, a_block_of_any_size_is_written_whole)
{
	enum { N = 40000 };
	uint8_t *code = malloc(4 * N);
	struct flowtap_block block = {
		.address = 0x1000, .size = 4 * N, .instructions = N, .last = 4 * N - 4,
		.isa = FLOWTAP_ISA_A64, .bytes = code, .end = FLOWTAP_ARM_CALL, .link = true,
		.direct = true, .target = 0x1000, .target_isa = FLOWTAP_ISA_A64,
	};
	struct run run = run_new(&self->options);
	struct ttu ttu = { .rows = run.rows };

	for (int i = 0; i < N; i++)
		memcpy(code + 4 * i, (const uint8_t[]){ NOP }, 4);
	CONTEXT(&run, A64, 1);
	EXPECT_EQ(0, sink_block(run.sink, &block, true, 0x1000));
	EXPECT_EQ(0, sink_block(run.sink, &block, true, 0x1000));
	EXPECT_EQ(NULL, block.render[0].bytes);
	EXPECT_EQ(0, flowtap_tarmac_finish(run.tarmac));
	output_read(&run.output);
	EXPECT_TRUE(ttu_check(&ttu, (char *)run.output.bytes, run.output.size));
	EXPECT_EQ(2 * N, ttu.instructions);
	EXPECT_EQ(2, ttu.registers);
	EXPECT_EQ(0x1000 + 4 * N, ttu.link);
	EXPECT_EQ(2 * N, ttu.time);
	run_free(&run);
	free(code);
}

TEST_HARNESS_MAIN
