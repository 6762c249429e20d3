// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the STF writer makes of Arm's flow, byte for byte, and that a random one in A64, A32
 * and T32 is read back instruction by instruction.
 */
#include <flowtap/arm.h>
#include <flowtap/check.h>
#include <flowtap/stf.h>

#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/random.h"
#include "support/sink.h"

#include <errno.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

static const struct flowtap_stf_options options = {
	.comment = "arm",
	.generator = 0xff,
	.version = { 0, 1, 0 },
	.generator_comment = "ftp",
};

#define CODE(...) .bytes = (const uint8_t[]){ __VA_ARGS__ }
#define NOP	U32(0xd503201f)
#define KERNEL	0xffff000000080400

enum { EQ, SVC, BR, ISB, ERET, SWITCH, THUMB, BACK, ZERO, BLOCKS };

static const struct flowtap_block templates[BLOCKS] = {
	[EQ] = { .address = 0x400000, .size = 8, .instructions = 2, .last = 4,
		 .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0x54000040)), .end = FLOWTAP_ARM_BRANCH,
		 .direct = true, .conditional = true, .target = 0x40000c },
	[SVC] = { .address = 0x40000c, .size = 8, .instructions = 2, .last = 4,
		  .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0xd4000001)) },
	[BR] = { .address = 0x400014, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		 CODE(U32(0xd61f0000)), .end = FLOWTAP_ARM_INDIRECT },
	[ISB] = { .address = KERNEL, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		  CODE(U32(0xd5033fdf)), .end = FLOWTAP_ARM_ISB, .direct = true,
		  .target = KERNEL + 4 },
	[ERET] = { .address = KERNEL + 4, .size = 8, .instructions = 2, .last = 4,
		   .isa = FLOWTAP_ISA_A64, CODE(NOP, U32(0xd69f03e0)),
		   .end = FLOWTAP_ARM_EXCEPTION_RETURN },
	[SWITCH] = { .address = 0x1000, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		     CODE(U32(0xfa000000)), .end = FLOWTAP_ARM_CALL, .direct = true, .link = true,
		     .target = 0x1008, .target_isa = FLOWTAP_ISA_T32 },
	/* nop.w, nop, bx lr: the halfwords as they stand in memory. */
	[THUMB] = { .address = 0x1008, .size = 8, .instructions = 3, .last = 6,
		    .isa = FLOWTAP_ISA_T32, .end = FLOWTAP_ARM_RETURN,
		    CODE(U16(0xf3af), U16(0x8000), U16(0xbf00), U16(0x4770)) },
	[BACK] = { .address = 0x1004, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		   CODE(U32(0xe12fff1e)), .end = FLOWTAP_ARM_RETURN },
	[ZERO] = { .address = 0, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		   CODE(NOP) },
};

FIXTURE(stf_arm)
{
	struct flowtap_block blocks[BLOCKS];
	struct output output;
	struct flowtap_stf *stf;
	struct flowtap_sink *sink;
};

FIXTURE_SETUP(stf_arm)
{
	memcpy(self->blocks, templates, sizeof(templates));
	self->output = output_new();
	ASSERT_EQ(0, flowtap_stf_new(self->output.fd, &options, &self->stf));
	self->sink = flowtap_stf_sink(self->stf);
}

FIXTURE_TEARDOWN(stf_arm)
{
	flowtap_stf_free(self->stf);
	blocks_unrender(self->blocks, BLOCKS);
	output_free(&self->output);
}

#define BLOCK(n, taken, target) \
	EXPECT_EQ(0, sink_block(self->sink, &self->blocks[n], taken, target))
#define ELEMENT(...) \
	EXPECT_EQ(0, sink_element(self->sink, (struct flowtap_element){ .kind = __VA_ARGS__ }))
#define CONTEXT(which, level, ...) \
	ELEMENT(FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = FLOWTAP_ISA_ ## which, .mode = level, \
			.width = FLOWTAP_ISA_ ## which == FLOWTAP_ISA_A64 ? 64 : 32, __VA_ARGS__ })

#define PIDS(process) \
	"08 " process " "
#define BEGIN(process, pc) \
	"01 'STF' 02 01000000 05000000 03 #'arm' 04 0200 05 0000 06 ff 000100 0300 'ftp' " \
	"07 0804080000000000 " PIDS(process) "09 " pc " 13"
#define NOBODY	"00000000 00000000 00000000"
#define MODE(n)	"64 0000000000000040 01 0" #n "00000000000000"
#define OPCODE_NOP "f0 1f2003d5"

/* The bytes, that our own rules are kept, and that `flowtap check` finds nothing. */
#define EXPECT_TEXT(...) do {									\
	static const char *const text[] = { __VA_ARGS__ };					\
	struct stfcheck ours = { .strict = true };						\
	struct flowtap_check rules = { 0 };							\
	struct hex want = { .size = 0 };							\
	long differs;										\
												\
	for (size_t line = 0; line < sizeof(text) / sizeof(text[0]); line++)			\
		hex_add(&want, text[line]);							\
	EXPECT_EQ(0, flowtap_stf_finish(self->stf));						\
	output_read(&self->output);								\
	differs = output_differs(&self->output, want.bytes, want.size);				\
	EXPECT_EQ(-1, differs)									\
		TH_LOG("%zu bytes, want %zu", self->output.size, want.size);			\
	EXPECT_EQ(0, stfcheck_run(&ours, self->output.bytes, self->output.size));		\
	EXPECT_STREQ("", ours.reason);								\
	EXPECT_EQ(2, ours.isa);									\
	EXPECT_EQ(flowtap_stf_counts(self->stf)->instructions, ours.counts.instructions);	\
	EXPECT_EQ(flowtap_stf_counts(self->stf)->forced, ours.counts.forced);			\
	EXPECT_EQ(0, flowtap_check_file(&rules, self->output.fd));				\
	EXPECT_EQ(0, rules.problems);								\
	EXPECT_EQ(ours.counts.instructions, rules.instructions);				\
} while (0)

TEST_F(stf_arm, a_system_call_is_a_comment_and_its_return_continuous)
{
	CONTEXT(A64, 0);
	BLOCK(EQ, true, 0x40000c);
	BLOCK(SVC, false, 0x400014);
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = 2, .address = 0x400014 });
	CONTEXT(A64, 1);
	BLOCK(ISB, true, KERNEL + 4);
	BLOCK(ERET, true, 0x400014);
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION_RETURN);
	ELEMENT(FLOWTAP_ELEMENT_EVENT, .event = 1);
	ELEMENT(FLOWTAP_ELEMENT_TIMESTAMP, .timestamp = { .ticks = 1 });
	CONTEXT(A64, 0);
	BLOCK(BR, true, 0x400000);
	BLOCK(EQ, false, 0x400008);
	EXPECT_TEXT(BEGIN(NOBODY, "0000400000000000"), "03 #'context A64 EL0 nonsecure 64'",
		    PIDS(NOBODY), MODE(0), OPCODE_NOP, "1f 0c00400000000000", "f0 40000054",
		    OPCODE_NOP, "f0 010000d4",
		    "03 #'exception 2 400014'", "03 #'context A64 EL1 nonsecure 64'",
		    "09 000408000000ffff", MODE(1), "f0 df3f03d5",
		    OPCODE_NOP, "1f 1400400000000000", MODE(0), "f0 e0039fd6",
		    "03 #'event 1'", "03 #'context A64 EL0 nonsecure 64'",
		    "1f 0000400000000000", "f0 00001fd6", OPCODE_NOP, "f0 40000054");
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->forced);
	EXPECT_EQ(1, flowtap_stf_counts(self->stf)->traps);
	EXPECT_EQ(0, flowtap_stf_counts(self->stf)->events);
}

/* As a handler that branches to itself, when it is interrupted. */
TEST_F(stf_arm, a_trap_to_where_the_flow_is_in_the_same_mode_forces_nothing)
{
	CONTEXT(A64, 1);
	BLOCK(BR, true, 0x400000);
	ELEMENT(FLOWTAP_ELEMENT_EXCEPTION, .exception = { .number = 10, .address = 0x400000 });
	CONTEXT(A64, 1, .pid = 7, .tid = 8, .cpu = 2);
	BLOCK(EQ, false, 0x400008);
	EXPECT_TEXT(BEGIN(NOBODY, "1400400000000000"), "03 #'context A64 EL1 nonsecure 64'",
		    PIDS(NOBODY), "1f 0000400000000000", MODE(1), "f0 00001fd6",
		    "03 #'exception 10 400000'",
		    "03 #'context A64 EL1 nonsecure 64 pid=7 tid=8 cpu=2'",
		    PIDS("02000000 07000000 08000000"), OPCODE_NOP, "f0 40000054");
	EXPECT_EQ(0, flowtap_stf_counts(self->stf)->forced);
}

/* Else it would look like one that was not taken: nothing after it may say where it went. */
TEST_F(stf_arm, that_a_branch_was_taken_without_a_target_is_said_where_it_may_not_have_been)
{
	struct flowtap_block maybe = {
		.address = 0x1004, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A32,
		CODE(U32(0x012fff1e)), .end = FLOWTAP_ARM_RETURN, .conditional = true,
	};

	CONTEXT(A32, 0);
	BLOCK(THUMB, true, 0);
	ELEMENT(FLOWTAP_ELEMENT_TRACE_ON);
	BLOCK(BACK, true, 0);
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_OVERFLOW });
	EXPECT_EQ(0, sink_block(self->sink, &maybe, false, 0x1008));
	ELEMENT(FLOWTAP_ELEMENT_TRACE_ON);
	EXPECT_EQ(0, sink_block(self->sink, &maybe, true, 0));
	blocks_unrender(&maybe, 1);
	EXPECT_TEXT(BEGIN(NOBODY, "0810000000000000"), "03 #'context T32 EL0 nonsecure 32'",
		    PIDS(NOBODY), MODE(0), "f0 0080aff3", "f1 00bf", "03 #'taken'", "f1 7047",
		    "03 #'trace_on'", "03 #'context A32 EL0 nonsecure 32'",
		    "09 0410000000000000", "f0 1eff2fe1",
		    "03 #'gap overflow'", "09 0410000000000000", "f0 1eff2f01",
		    "03 #'trace_on'", "09 0410000000000000", "03 #'taken'", "f0 1eff2f01");
}

/* The second time blocks are rendered, and still the change is told. */
TEST_F(stf_arm, what_isa_an_opcode_is_of_stands_before_it)
{
	CONTEXT(A32, 0, .security = FLOWTAP_SECURE, .has_vmid = true, .vmid = 7);
	for (int i = 0; i < 2; i++) {
		BLOCK(SWITCH, true, 0x1008);
		BLOCK(THUMB, true, 0x1004);
		BLOCK(BACK, true, 0x1000);
	}
#define T32	"03 #'context T32 EL0 secure 32 vmid=7'", "f0 0080aff3", "f1 00bf", \
		"1f 0410000000000000", "f1 7047"
#define A32	"03 #'context A32 EL0 secure 32 vmid=7'", "1f 0010000000000000", "f0 1eff2fe1"
	EXPECT_TEXT(BEGIN(NOBODY, "0010000000000000"), "03 #'context A32 EL0 secure 32 vmid=7'",
		    PIDS(NOBODY), "1f 0810000000000000", MODE(0), "f0 000000fa", T32, A32,
		    "1f 0810000000000000", "f0 000000fa", T32, A32);
}

TEST_F(stf_arm, a_target_that_was_lost_is_not_invented_and_0_may_be_one)
{
	CONTEXT(A64, 3);
	BLOCK(BR, true, 0);
	ELEMENT(FLOWTAP_ELEMENT_GAP, .gap = { .reason = FLOWTAP_GAP_NO_ADDRESS });
	BLOCK(EQ, true, 0x40000c);
	BLOCK(SVC, false, 0x400014);
	BLOCK(BR, true, 0);
	BLOCK(ZERO, false, 4);
	ELEMENT(FLOWTAP_ELEMENT_TRACE_ON);
	BLOCK(BR, true, 0);
	BLOCK(EQ, false, 0x400008);
	ELEMENT(FLOWTAP_ELEMENT_TRACE_ON);
	BLOCK(ERET, true, 0);
	EXPECT_TEXT(BEGIN(NOBODY, "1400400000000000"), "03 #'context A64 EL3 nonsecure 64'",
		    PIDS(NOBODY), MODE(3), "f0 00001fd6",
		    "03 #'gap no_address'", "09 0000400000000000",
		    OPCODE_NOP, "1f 0c00400000000000", "f0 40000054", OPCODE_NOP, "f0 010000d4",
		    "1f 0000000000000000", "f0 00001fd6", OPCODE_NOP,
		    "03 #'trace_on'", "09 1400400000000000", "f0 00001fd6",
		    "03 #'gap unexplained'", "09 0000400000000000", OPCODE_NOP, "f0 40000054",
		    "03 #'trace_on'", "09 040408000000ffff", OPCODE_NOP, "f0 e0039fd6");
}

TEST_F(stf_arm, what_the_trace_notes_is_a_comment_and_only_what_breaks_the_flow_explains)
{
	CONTEXT(A64, 1, .has_contextid = true, .contextid = 0x2a);
	BLOCK(EQ, true, 0x40000c);
	ELEMENT(FLOWTAP_ELEMENT_TRANSACTION, .transaction = FLOWTAP_TRANSACTION_START);
	ELEMENT(FLOWTAP_ELEMENT_INSTRUMENTATION, .instrumentation = { .value = 255, .mode = 1 });
	CONTEXT(A64, 1, .has_contextid = true, .contextid = 0x2b, .pid = 43, .tid = 44, .cpu = 2);
	BLOCK(SVC, false, 0x400014);
	ELEMENT(FLOWTAP_ELEMENT_EVENT, .event = 0);
	BLOCK(EQ, true, 0x40000c);
	ELEMENT(FLOWTAP_ELEMENT_Q, .q = { .start = 0x40000c, .next = 0x400000,
					  .instructions = 5 });
	BLOCK(EQ, false, 0x400008);
	EXPECT_TEXT(BEGIN(NOBODY, "0000400000000000"),
		    "03 #'context A64 EL1 nonsecure 64 contextid=2a'", PIDS(NOBODY),
		    MODE(1), OPCODE_NOP, "1f 0c00400000000000", "f0 40000054",
		    "03 #'transaction start'", "03 #'ite EL1 ff'",
		    "03 #'context A64 EL1 nonsecure 64 contextid=2b pid=43 tid=44 cpu=2'",
		    PIDS("02000000 2b000000 2c000000"), OPCODE_NOP, "f0 010000d4",
		    "03 #'event 0'", "03 #'gap unexplained'", "09 0000400000000000",
		    OPCODE_NOP, "1f 0c00400000000000", "f0 40000054",
		    "03 #'q_range 40000c 400000 5'", "09 0000400000000000",
		    OPCODE_NOP, "f0 40000054");
}

/* For a decoder it is not taken, for readers of STF every jump is: it makes no difference. */
TEST_F(stf_arm, a_jump_to_the_next_instruction_has_its_target)
{
	struct flowtap_block next = {
		.address = 0x400008, .size = 4, .instructions = 1, .isa = FLOWTAP_ISA_A64,
		CODE(U32(0x14000001)), .end = FLOWTAP_ARM_BRANCH, .direct = true,
		.target = 0x40000c,
	};

	CONTEXT(A64, 1);
	BLOCK(EQ, false, 0x400008);
	for (int i = 0; i < 2; i++)
		EXPECT_EQ(0, sink_block(self->sink, &next, i, 0x40000c));
	blocks_unrender(&next, 1);
	EXPECT_TEXT(BEGIN(NOBODY, "0000400000000000"), "03 #'context A64 EL1 nonsecure 64'",
		    PIDS(NOBODY), MODE(1), OPCODE_NOP, "f0 40000054",
		    "1f 0c00400000000000", "f0 01000014",
		    "03 #'gap unexplained'", "09 0800400000000000",
		    "1f 0c00400000000000", "f0 01000014");
}

/* Of another architecture in the middle, as well as at the begin. */
TEST_F(stf_arm, one_trace_has_one_architecture)
{
	struct flowtap_block riscv = { .address = 0x400000, .size = 2, .instructions = 1,
				       .bytes = (const uint8_t[]){ U16(0x0001) } };
	struct flowtap_block odd = templates[EQ], half = templates[THUMB], cut = templates[THUMB];
	struct flowtap_element context = { .kind = FLOWTAP_ELEMENT_CONTEXT,
					   .context = { .isa = FLOWTAP_ISA_RV64 } };

	odd.address += 2;
	half.address += 1;
	cut.size = 2;
	CONTEXT(A64, 1);
	EXPECT_EQ(-EOPNOTSUPP, sink_block(self->sink, &riscv, false, 0x400002));
	BLOCK(EQ, false, 0x400008);
	EXPECT_EQ(-EOPNOTSUPP, sink_block(self->sink, &riscv, false, 0x400002));
	EXPECT_EQ(-EOPNOTSUPP, sink_element(self->sink, context));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &odd, false, 0x40000a));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &half, false, 0x1010));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &cut, false, 0x1010));
	EXPECT_EQ(-EINVAL, sink_block(self->sink, &self->blocks[EQ], true, 0x400001));
	context.context.isa = FLOWTAP_ISA_A64;
	context.context.mode = 4;
	EXPECT_EQ(-EINVAL, sink_element(self->sink, context));
	EXPECT_TEXT(BEGIN(NOBODY, "0000400000000000"), "03 #'context A64 EL1 nonsecure 64'",
		    PIDS(NOBODY), MODE(1), OPCODE_NOP, "f0 40000054");
}

/* --- At random --- */

enum kind { PLAIN, CONDITIONAL, JUMP, INDIRECT, STAYS, RETURN };

struct form {
	uint8_t isa;
	uint8_t kind;
	uint8_t class;
	uint8_t size;
	uint32_t opcode;	/* of a direct branch: to where the test says it goes */
	int32_t offset;
};

/* As the assembler makes them (as, for armv8-a). */
static const struct form forms[] = {
	{ FLOWTAP_ISA_A64, PLAIN, FLOWTAP_ARM_OTHER, 4, 0x8b010000, 0 },	/* add x0, x0, x1 */
	{ FLOWTAP_ISA_A64, PLAIN, FLOWTAP_ARM_OTHER, 4, 0xf9400020, 0 },	/* ldr x0, [x1] */
	{ FLOWTAP_ISA_A64, CONDITIONAL, FLOWTAP_ARM_BRANCH, 4, 0x54ffff81, -16 }, /* b.ne */
	{ FLOWTAP_ISA_A64, CONDITIONAL, FLOWTAP_ARM_BRANCH, 4, 0xb4000063, 12 },  /* cbz x3 */
	{ FLOWTAP_ISA_A64, CONDITIONAL, FLOWTAP_ARM_BRANCH, 4, 0x3707ff81, -16 }, /* tbnz w1, 0 */
	{ FLOWTAP_ISA_A64, JUMP, FLOWTAP_ARM_CALL, 4, 0x94000004, 16 },		/* bl */
	{ FLOWTAP_ISA_A64, INDIRECT, FLOWTAP_ARM_RETURN, 4, 0xd65f03c0, 0 },	/* ret */
	{ FLOWTAP_ISA_A64, STAYS, FLOWTAP_ARM_WFX, 4, 0xd503207f, 0 },		/* wfi */
	{ FLOWTAP_ISA_A64, RETURN, FLOWTAP_ARM_EXCEPTION_RETURN, 4, 0xd69f03e0, 0 }, /* eret */
	{ FLOWTAP_ISA_A32, PLAIN, FLOWTAP_ARM_OTHER, 4, 0xe0800001, 0 },	/* add r0, r0, r1 */
	{ FLOWTAP_ISA_A32, CONDITIONAL, FLOWTAP_ARM_BRANCH, 4, 0x1afffffa, -16 }, /* bne */
	{ FLOWTAP_ISA_A32, JUMP, FLOWTAP_ARM_CALL, 4, 0xeb000002, 16 },		/* bl */
	{ FLOWTAP_ISA_A32, INDIRECT, FLOWTAP_ARM_RETURN, 4, 0xe12fff1e, 0 },	/* bx lr */
	{ FLOWTAP_ISA_A32, STAYS, FLOWTAP_ARM_ISB, 4, 0xf57ff06f, 0 },		/* isb */
	{ FLOWTAP_ISA_T32, PLAIN, FLOWTAP_ARM_OTHER, 2, 0x1840, 0 },		/* adds r0, r0, r1 */
	{ FLOWTAP_ISA_T32, PLAIN, FLOWTAP_ARM_OTHER, 4, 0xf8d10004, 0 },	/* ldr.w r0, [r1, #4] */
	{ FLOWTAP_ISA_T32, CONDITIONAL, FLOWTAP_ARM_BRANCH, 2, 0xd1f6, -16 },	/* bne.n */
	{ FLOWTAP_ISA_T32, CONDITIONAL, FLOWTAP_ARM_BRANCH, 2, 0xb123, 12 },	/* cbz r3 */
	{ FLOWTAP_ISA_T32, CONDITIONAL, FLOWTAP_ARM_BRANCH, 4, 0xf47faff8, -12 }, /* bne.w */
	{ FLOWTAP_ISA_T32, JUMP, FLOWTAP_ARM_BRANCH, 2, 0xe006, 16 },		/* b.n */
	{ FLOWTAP_ISA_T32, JUMP, FLOWTAP_ARM_BRANCH, 4, 0xf000b806, 16 },	/* b.w */
	{ FLOWTAP_ISA_T32, JUMP, FLOWTAP_ARM_CALL, 4, 0xf7fffff6, -16 },	/* bl */
	{ FLOWTAP_ISA_T32, INDIRECT, FLOWTAP_ARM_RETURN, 2, 0x4770, 0 },	/* bx lr */
	{ FLOWTAP_ISA_T32, INDIRECT, FLOWTAP_ARM_INDIRECT, 4, 0xe8d1f010, 0 },	/* tbh */
};

#define MADE	512		/* blocks */
#define INSNS	200000
#define MODES	4

struct made {
	struct flowtap_block block;
	uint8_t bytes[64];
	const struct form *insns[16];
};

struct seen {
	uint64_t pc;
	uint64_t target;
	uint32_t opcode;
	uint32_t pid;
	uint8_t isa;
	uint8_t mode;
	bool taken;
	bool forced;
};

struct run {
	struct made made[MADE];
	struct seen *seen;
	size_t n, checked, wrong;
	struct flowtap_context context;
	uint64_t random;
	bool force;
};

static struct run run;

static uint32_t below(uint32_t limit)
{
	return random_below(&run.random, limit);
}

static const struct form *pick(unsigned int isa, bool plain)
{
	const struct form *form;

	do
		form = &forms[below(sizeof(forms) / sizeof(forms[0]))];
	while (form->isa != isa || (form->kind == PLAIN) != plain);
	return form;
}

/* As in memory. */
static void put_form(uint8_t *to, const struct form *form)
{
	uint32_t opcode = form->opcode;

	if (form->isa == FLOWTAP_ISA_T32 && form->size == 4)
		opcode = opcode >> 16 | opcode << 16;
	memcpy(to, &opcode, form->size);
}

/* An address between two words is T32's. */
static void make(struct made *made, uint64_t address)
{
	struct flowtap_block *block = &made->block;
	uint8_t isa = address & 2 ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A64 + below(3);
	uint32_t n = 1 + below(9);
	const struct form *form = NULL;

	*block = (struct flowtap_block){ .address = address, .bytes = made->bytes,
					 .isa = isa };
	for (uint32_t i = 0; i < n; i++) {
		form = made->insns[i] = pick(block->isa, i + 1 < n || !below(8));
		put_form(made->bytes + block->size, form);
		block->last = block->size;
		block->size += form->size;
	}
	block->instructions = n;
	block->end = form->class;
	block->conditional = form->kind == CONDITIONAL;
	block->direct = form->kind == CONDITIONAL || form->kind == JUMP || form->kind == STAYS;
	block->target = form->kind == STAYS ? address + block->size :
					      address + block->last + (uint64_t)form->offset;
}

static void expect(const struct made *made, bool taken, uint64_t target)
{
	uint64_t pc = made->block.address;

	for (uint32_t i = 0; i < made->block.instructions; i++) {
		bool last = i + 1 == made->block.instructions;

		run.seen[run.n++] = (struct seen){
			.pc = pc, .opcode = made->insns[i]->opcode, .pid = run.context.pid,
			.isa = made->block.isa, .mode = run.context.mode,
			.taken = last && taken, .target = last && taken ? target : 0,
			.forced = !i && run.force,
		};
		pc += made->insns[i]->size;
	}
	run.force = false;
}

static int compare(void *argument, const struct stfcheck_insn *insn)
{
	static const uint8_t arms[] = { [FLOWTAP_ISA_A64] = 64, [FLOWTAP_ISA_A32] = 32,
					[FLOWTAP_ISA_T32] = 16 };
	const struct seen *want = &run.seen[insn->index];

	(void)argument;
	run.checked++;
	if (insn->index >= run.n || insn->pc != want->pc || insn->opcode != want->opcode ||
	    insn->taken != want->taken || insn->target != want->target ||
	    insn->forced != want->forced || insn->pid != want->pid ||
	    insn->mode != want->mode || insn->arm != arms[want->isa] || insn->trapped)
		run.wrong++;
	else
		return 0;
	if (run.wrong == 1)
		printf("# instruction %llu: %llx, %x of ISA %u, mode %u, pid %u%s, to %llx; wanted %llx, "
		       "%x of ISA %u, mode %u, pid %u%s, to %llx\n", (unsigned long long)insn->index,
		       (unsigned long long)insn->pc, insn->opcode, insn->arm, insn->mode, insn->pid,
		       insn->forced ? ", forced" : "", (unsigned long long)insn->target,
		       (unsigned long long)want->pc, want->opcode, arms[want->isa], want->mode,
		       want->pid, want->forced ? ", forced" : "", (unsigned long long)want->target);
	return 0;
}

static int put_context(struct flowtap_sink *sink)
{
	return sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_CONTEXT,
							    .context = run.context });
}

/* The block at an address: what was there before, unless another one took its place. */
static struct made *place(uint64_t address)
{
	struct made *made = &run.made[address / 2 % MADE];

	if (made->block.address == address)
		return made;
	blocks_unrender(&made->block, 1);
	make(made, address);
	return made;
}

static int put_event(struct flowtap_sink *sink)
{
	return sink_element(sink, (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_EVENT,
							    .event = below(4) });
}

static int put_gap(struct flowtap_sink *sink)
{
	run.force = true;
	return sink_gap(sink, FLOWTAP_GAP_OVERFLOW);
}

/* A block and where it goes; an exception return goes to the same mode or a lower one. */
static int walk_block(struct flowtap_sink *sink, struct made *made, uint64_t *at)
{
	const struct flowtap_block *block = &made->block;
	const struct form *last = made->insns[block->instructions - 1];
	bool taken = last->kind != PLAIN && (last->kind != CONDITIONAL || below(2));
	bool goes = taken && last->kind != STAYS, lost = goes && !block->direct && !below(8);
	int error;

	*at = block->address + block->size;
	if (goes)
		*at = block->direct ? block->target : 0x100000 + 4 * below(4 * MADE);
	expect(made, goes && !lost, *at);
	error = sink_block(sink, block, taken, lost ? 0 : *at);
	if (!error && !below(9))
		error = put_event(sink);
	if (!error && last->kind == RETURN) {
		run.context.mode = lost ? run.context.mode : below(run.context.mode + 1U);
		error = put_context(sink);
	}
	return error || !lost ? error : put_gap(sink);
}

/* To a handler, which may be where the flow was, in the same mode: it just goes on then. */
static int walk_trap(struct flowtap_sink *sink, uint64_t *at)
{
	int error = sink_exception(sink, 10, *at);
	uint64_t handler = 0x200000 + 0x80 * below(16);
	uint8_t mode = below(MODES);

	run.context.pid += below(2);
	run.force |= handler != *at || mode != run.context.mode;
	run.context.mode = mode;
	*at = handler;
	return error ? error : put_context(sink);
}

static int walk(struct flowtap_sink *sink)
{
	uint64_t at = 0x100000;
	int error;

	run.context = (struct flowtap_context){ .isa = FLOWTAP_ISA_A64, .width = 64 };
	error = put_context(sink);
	while (!error && run.n < INSNS) {
		error = walk_block(sink, place(at), &at);
		if (!error && !below(20))
			error = walk_trap(sink, &at);
		if (!error && !below(60))
			error = put_gap(sink);
	}
	return error;
}

static void check_walk(struct __test_metadata *_metadata, uint64_t seed, bool packed)
{
	const struct flowtap_zstf_options zstf = { .markers = 1000 };
	struct stfcheck check = { .strict = true, .insn = compare };
	struct flowtap_check rules = { 0 };
	struct output output = output_new();
	struct flowtap_stf_options with = options;
	struct stfcheck_file file;
	struct flowtap_stf *stf;

	with.zstf = packed ? &zstf : NULL;
	run.random = seeded(seed * 0x9e3779b97f4a7c15);
	run.seen = calloc(INSNS + 16, sizeof(*run.seen));
	run.n = run.wrong = run.checked = 0;
	run.force = false;
	memset(run.made, 0, sizeof(run.made));
	ASSERT_EQ(0, flowtap_stf_new(output.fd, &with, &stf));
	ASSERT_EQ(0, walk(flowtap_stf_sink(stf)));
	ASSERT_EQ(0, flowtap_stf_finish(stf));
	ASSERT_EQ(0, stfcheck_open(output.fd, &file));
	EXPECT_EQ(0, stfcheck_run_file(&check, &file))
		TH_LOG("seed %llu: %s at %llu", (unsigned long long)seed, check.reason,
		       (unsigned long long)check.offset);
	EXPECT_EQ(run.n, run.checked);
	EXPECT_EQ(0, run.wrong);
	EXPECT_EQ(run.n, flowtap_stf_counts(stf)->instructions);
	EXPECT_LT(run.n / 20, check.counts.taken);
	EXPECT_EQ(0, flowtap_check_file(&rules, output.fd));
	EXPECT_EQ(0, rules.problems);
	EXPECT_EQ(run.n, rules.instructions);
	stfcheck_close(&file);
	flowtap_stf_free(stf);
	for (size_t i = 0; i < MADE; i++)
		blocks_unrender(&run.made[i].block, 1);
	free(run.seen);
	output_free(&output);
}

TEST(reads_back_what_was_written)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		check_walk(_metadata, seed, false);
}

TEST(reads_back_chunks)
{
	check_walk(_metadata, 5, true);
}

TEST_HARNESS_MAIN
