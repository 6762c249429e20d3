// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that instructions given one by one become the blocks that the decoders' cache makes of the
 * same code, left as they were left; that what does not follow becomes a gap; and that memory is
 * bounded.
 */
#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/learned.h>
#include <flowtap/riscv.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"
#include "support/random.h"
#include "support/rv64.h"

#define BASE	0x10000ULL
#define CODE	(24U << 10)

/* What came to the sink: a block's value, or an element's kind. */
struct taped {
	bool element;
	struct flowtap_block block;
	bool taken;
	uint64_t target;
	struct flowtap_gap gap;
};

struct tape {
	struct flowtap_sink sink;
	struct taped *steps;
	size_t n, capacity;
	int answer;
};

static struct taped *tape_add(struct tape *tape)
{
	if (tape->n == tape->capacity) {
		tape->capacity = tape->capacity ? 2 * tape->capacity : 64;
		tape->steps = realloc(tape->steps, tape->capacity * sizeof(*tape->steps));
		if (!tape->steps)
			abort();
	}
	tape->steps[tape->n] = (struct taped){ 0 };
	return &tape->steps[tape->n++];
}

static int tape_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct tape *tape = (struct tape *)sink;
	struct taped *step = tape_add(tape);

	step->block = *block;
	step->taken = taken;
	step->target = target;
	return tape->answer;
}

static int tape_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct tape *tape = (struct tape *)sink;
	struct taped *step = tape_add(tape);

	step->element = true;
	step->gap = element->gap;
	return tape->answer;
}

FIXTURE(learned) {
	struct tape tape;
	struct flowtap_learned *learned;
	uint64_t random;
	uint8_t *code;
};

FIXTURE_SETUP(learned)
{
	self->tape.sink = (struct flowtap_sink){ .block = tape_block, .element = tape_element };
	self->learned = flowtap_learned_new(0);
	ASSERT_NE(self->learned, NULL);
	flowtap_learned_sink(self->learned, &self->tape.sink);
	self->random = 0x9e3779b97f4a7c15;
	self->code = calloc(1, CODE);
	ASSERT_NE(self->code, NULL);
}

FIXTURE_TEARDOWN(learned)
{
	flowtap_learned_free(self->learned);
	free(self->tape.steps);
	free(self->code);
}

static uint32_t below(FIXTURE_DATA(learned) *self, uint32_t limit)
{
	return (uint32_t)(random_next(&self->random) >> 20) % limit;
}

static int tell(FIXTURE_DATA(learned) *self, uint64_t address, uint32_t opcode)
{
	uint8_t bytes[4] = { opcode, opcode >> 8, opcode >> 16, opcode >> 24 };

	return flowtap_learned_instruction(self->learned, FLOWTAP_ISA_RV64, address, bytes,
					   (opcode & 3) == 3 ? 4 : 2);
}

static size_t length(enum flowtap_isa isa, const uint8_t *bytes)
{
	struct flowtap_riscv_insn riscv;
	struct flowtap_arm_insn arm;

	if (isa != FLOWTAP_ISA_RV64)
		return flowtap_arm_classify(isa, 0, 0, bytes, 4, &arm) ? 0 : arm.length;
	return flowtap_riscv_classify(bytes, 4, &riscv) ? 0 : riscv.length;
}

/* Random code of which the decoders know each instruction; the last ones branch back. */
static void make_code(FIXTURE_DATA(learned) *self, enum flowtap_isa isa, unsigned int plain)
{
	size_t at = 0, n;

	while (at + 8 <= CODE) {
		uint32_t word = below(self, 1 << 16) | below(self, 1 << 16) << 16;

		/* Long runs as well, so that some are cut by their length. */
		if (isa == FLOWTAP_ISA_RV64 && below(self, plain))
			word = below(self, 2) ? RV_NOP : RV_C_NOP;
		if (isa == FLOWTAP_ISA_A64 && below(self, plain))
			word = 0xd503201f;
		if (isa == FLOWTAP_ISA_T32 && below(self, plain))
			word = below(self, 2) ? 0x8000f3af : 0xbf00;
		if (isa == FLOWTAP_ISA_A32 && below(self, plain))
			word = 0xe320f000;
		memcpy(self->code + at, &word, 4);
		n = length(isa, self->code + at);
		at += n;
	}
	memset(self->code + at, 0, CODE - at);
	while (at < CODE) {
		static const uint32_t last[] = {
			[FLOWTAP_ISA_RV64] = 0x00008082, [FLOWTAP_ISA_A64] = 0xd65f03c0,
			[FLOWTAP_ISA_A32] = 0xe12fff1e, [FLOWTAP_ISA_T32] = 0x47704770,
		};
		size_t unit = isa == FLOWTAP_ISA_RV64 || isa == FLOWTAP_ISA_T32 ? 2 : 4;

		memcpy(self->code + at, &last[isa], unit);
		at += unit;
	}
}

static bool same_block(const struct flowtap_block *a, const struct flowtap_block *b)
{
	return a->address == b->address && a->size == b->size && a->last == b->last &&
	       a->instructions == b->instructions && a->isa == b->isa && a->end == b->end &&
	       a->direct == b->direct && a->conditional == b->conditional && a->link == b->link &&
	       a->target == b->target && a->target_isa == b->target_isa && a->stop == b->stop;
}

static int tell_block(FIXTURE_DATA(learned) *self, const struct flowtap_block *block)
{
	size_t n;
	int error = 0;

	for (uint32_t at = 0; at < block->size && !error; at += n) {
		n = length((enum flowtap_isa)block->isa, block->bytes + at);
		error = flowtap_learned_instruction(self->learned, (enum flowtap_isa)block->isa,
						    block->address + at, block->bytes + at, n);
	}
	return error;
}

static bool can_go(const struct flowtap_block *block)
{
	if (block->isa == FLOWTAP_ISA_RV64)
		return block->end && block->end != FLOWTAP_TRANSFER_RECORDING;
	return block->end >= FLOWTAP_ARM_BRANCH && block->end <= FLOWTAP_ARM_EXCEPTION_RETURN;
}

/* Whether the decoders can go on there: it may be in the midst of an instruction. */
static bool lands(struct flowtap_blocks *blocks, const struct flowtap_code *code,
		  enum flowtap_isa isa, uint64_t address)
{
	struct flowtap_block *block;

	return address >= code->start && address < code->end &&
	       !flowtap_blocks_get(blocks, code, isa, address, 0, &block);
}

static uint64_t anywhere(FIXTURE_DATA(learned) *self, struct flowtap_blocks *blocks,
			 const struct flowtap_code *code, enum flowtap_isa isa)
{
	unsigned int unit = isa == FLOWTAP_ISA_RV64 || isa == FLOWTAP_ISA_T32 ? 2 : 4;
	uint64_t address;

	do
		address = BASE + below(self, CODE / unit) * unit;
	while (!lands(blocks, code, isa, address));
	return address;
}

/* A walk through the code as a decoder has it, cut now and then; each step is given and compared. */
static void walk(struct __test_metadata *_metadata, FIXTURE_DATA(learned) *self,
		 enum flowtap_isa isa, unsigned int plain, unsigned int steps)
{
	struct flowtap_blocks *blocks = flowtap_blocks_new(
		isa == FLOWTAP_ISA_RV64 ? flowtap_riscv_block : flowtap_arm_block, 0);
	struct flowtap_code code = { .start = BASE, .end = BASE + CODE, .bytes = self->code };
	uint64_t address, instructions = 0, counted = 0;
	struct tape want = { .steps = NULL };

	make_code(self, isa, plain);
	address = anywhere(self, blocks, &code, isa);
	for (unsigned int i = 0; i < steps; i++) {
		struct flowtap_block *block;
		struct taped *step;
		bool cut = false, elsewhere;

		ASSERT_EQ(flowtap_blocks_get(blocks, &code, isa, address, 0, &block), 0);
		if (!below(self, 8) && block->last) {
			cut = !flowtap_blocks_get(blocks, &code, isa, address,
						  address + block->last, &block);
		}
		ASSERT_EQ(tell_block(self, block), 0);
		step = tape_add(&want);
		step->block = *block;
		step->taken = can_go(block) && (!block->conditional || below(self, 2));
		step->target = block->address + block->size;
		if (step->taken)
			step->target = block->direct ? block->target :
						       anywhere(self, blocks, &code, isa);
		if (step->taken) {
			ASSERT_EQ(flowtap_learned_taken(self->learned, step->target), 0);
		} else if (block->end && isa != FLOWTAP_ISA_RV64 && !can_go(block)) {
			step->taken = true;
		}
		address = step->target;
		instructions += block->instructions;
		/* A direct branch may lead anywhere: an element comes between then. */
		elsewhere = block->target_isa != isa || !lands(blocks, &code, isa, address);
		if (cut || !below(self, 5) || elsewhere)
			ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
		if (elsewhere)
			address = anywhere(self, blocks, &code, isa);
	}
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, want.n);
	for (size_t i = 0; i < want.n; i++) {
		const struct taped *a = &want.steps[i], *b = &self->tape.steps[i];

		ASSERT_FALSE(b->element);
		EXPECT_TRUE(same_block(&a->block, &b->block)) {
			TH_LOG("step %zu: block 0x%llx of %u, wanted 0x%llx of %u", i,
			       (unsigned long long)b->block.address, b->block.size,
			       (unsigned long long)a->block.address, a->block.size);
		}
		EXPECT_EQ(a->taken, b->taken);
		EXPECT_EQ(a->target, b->target);
		counted += b->block.instructions;
	}
	EXPECT_EQ(counted, instructions);
	free(want.steps);
	flowtap_blocks_free(blocks);
}

TEST_F(learned, blocks_of_rv64_are_those_of_the_cache)
{
	walk(_metadata, self, FLOWTAP_ISA_RV64, 3, 20000);
}

TEST_F(learned, blocks_of_a64_are_those_of_the_cache)
{
	walk(_metadata, self, FLOWTAP_ISA_A64, 3, 20000);
}

TEST_F(learned, blocks_of_a32_are_those_of_the_cache)
{
	walk(_metadata, self, FLOWTAP_ISA_A32, 3, 20000);
}

TEST_F(learned, blocks_of_t32_are_those_of_the_cache)
{
	walk(_metadata, self, FLOWTAP_ISA_T32, 3, 20000);
}

TEST_F(learned, long_runs_are_cut_where_the_cache_cuts_them)
{
	walk(_metadata, self, FLOWTAP_ISA_RV64, 3000, 200);
}

TEST_F(learned, what_comes_next_says_whether_a_branch_was_taken)
{
	ASSERT_EQ(tell(self, 0x1000, rv_b(RV_BNE, 10, 0, 16)), 0);	/* taken */
	ASSERT_EQ(tell(self, 0x1010, rv_b(RV_BNE, 10, 0, 16)), 0);	/* not taken */
	ASSERT_EQ(tell(self, 0x1014, rv_jal(1, 0x100)), 0);
	ASSERT_EQ(tell(self, 0x1114, rv_jalr(0, 1, 0)), 0);		/* anywhere */
	ASSERT_EQ(tell(self, 0x1018, RV_ECALL), 0);			/* to its handler */
	ASSERT_EQ(tell(self, 0x2000, RV_ECALL), 0);			/* nobody saw it */
	ASSERT_EQ(tell(self, 0x2004, RV_SRET), 0);
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, 7U);
	for (size_t i = 0; i < 7; i++) {
		static const struct { bool taken; uint64_t target; } want[] = {
			{ true, 0x1010 }, { false, 0x1014 }, { true, 0x1114 }, { true, 0x1018 },
			{ true, 0x2000 }, { false, 0x2004 }, { true, 0 },
		};

		EXPECT_EQ(self->tape.steps[i].taken, want[i].taken);
		EXPECT_EQ(self->tape.steps[i].target, want[i].target);
		EXPECT_EQ(self->tape.steps[i].block.executed, 1U);
	}
}

TEST_F(learned, what_does_not_follow_is_a_gap)
{
	ASSERT_EQ(tell(self, 0x1000, RV_NOP), 0);
	ASSERT_EQ(tell(self, 0x1008, RV_NOP), 0);	/* no branch led there */
	ASSERT_EQ(tell(self, 0x100c, rv_b(RV_BEQ, 8, 9, 64)), 0);
	ASSERT_EQ(tell(self, 0x1020, RV_NOP), 0);	/* not this branch */
	ASSERT_EQ(tell(self, 0x1024, rv_jalr(0, 1, 0)), 0);
	ASSERT_EQ(flowtap_learned_taken(self->learned, 0x3000), 0);
	ASSERT_EQ(tell(self, 0x4000, RV_NOP), 0);	/* not where it went */
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, 7U);
	for (size_t i = 0; i < 7; i++)
		ASSERT_EQ(self->tape.steps[i].element, i % 2 == 1);
	EXPECT_EQ(self->tape.steps[1].gap.reason, FLOWTAP_GAP_IMPOSSIBLE);
	EXPECT_EQ(self->tape.steps[1].gap.address, 0x1000U);
	EXPECT_EQ(self->tape.steps[3].gap.address, 0x100cU);
	EXPECT_EQ(self->tape.steps[4].block.instructions, 2U);
	EXPECT_TRUE(self->tape.steps[4].taken);
	EXPECT_EQ(self->tape.steps[4].target, 0x3000U);
	EXPECT_EQ(self->tape.steps[5].gap.address, 0x1024U);
}

TEST_F(learned, only_what_can_transfer_can_be_said_to_have_done_so)
{
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1000), -EPROTO);
	ASSERT_EQ(tell(self, 0x1000, RV_NOP), 0);
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1000), -EPROTO);
	ASSERT_EQ(tell(self, 0x1004, RV_CSRW_SCTRCTL_A0), 0);
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1000), -EPROTO);
	ASSERT_EQ(tell(self, 0x1008, rv_jal(0, 8)), 0);
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1000), -EPROTO);
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1010), 0);
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, 2U);
	EXPECT_FALSE(self->tape.steps[0].taken);
	EXPECT_EQ(self->tape.steps[1].target, 0x1010U);
	EXPECT_EQ(flowtap_learned_taken(self->learned, 0x1010), -EPROTO);
}

TEST_F(learned, code_that_changes_at_an_address_is_another_block)
{
	for (unsigned int i = 0; i < 100; i++) {
		ASSERT_EQ(tell(self, 0x1000, rv_addi(10, 10, i % 3)), 0);
		ASSERT_EQ(tell(self, 0x1004, rv_jal(0, -4)), 0);
		ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	}
	ASSERT_EQ(self->tape.n, 100U);
	for (unsigned int i = 0; i < 100; i++) {
		uint32_t opcode = rv_addi(10, 10, i % 3);

		EXPECT_EQ(memcmp(self->tape.steps[i].block.bytes, &opcode, 4), 0);
		EXPECT_EQ(self->tape.steps[i].block.executed, i / 3 + 1);
	}
}

TEST_F(learned, an_unknown_instruction_may_do_anything)
{
	const uint32_t custom = 0x0000000b;

	ASSERT_EQ(tell(self, 0x1000, custom), 0);
	ASSERT_EQ(tell(self, 0x1004, custom), 0);
	ASSERT_EQ(tell(self, 0x2000, RV_NOP), 0);
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, 3U);
	EXPECT_FALSE(self->tape.steps[0].taken);
	EXPECT_TRUE(self->tape.steps[1].taken);
	EXPECT_EQ(self->tape.steps[1].target, 0x2000U);
	EXPECT_EQ(self->tape.steps[1].block.end, FLOWTAP_TRANSFER_INDIRECT_JUMP);
	EXPECT_TRUE(self->tape.steps[1].block.conditional);
}

TEST_F(learned, what_is_no_instruction_is_refused_and_changes_nothing)
{
	const uint8_t nop[4] = { 0x13 }, longer[4] = { 0x1f }, wide[4] = { 0x00, 0xf0 };

	EXPECT_EQ(tell(self, 0x1000, RV_NOP), 0);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_RV64, 0x1004, nop, 2),
		  -EILSEQ);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_RV64, 0x1004, longer, 4),
		  -EILSEQ);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_RV64, 0x1005, nop, 4),
		  -EINVAL);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_RV64, UINT64_MAX - 3, nop,
					      4), -EINVAL);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_A64, 0x1002, nop, 4),
		  -EINVAL);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_A64, 0x1004, nop, 2),
		  -EILSEQ);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_T32, 0x1004, wide, 2),
		  -EILSEQ);
	EXPECT_EQ(flowtap_learned_instruction(self->learned, FLOWTAP_ISA_A32, 1ULL << 32, nop, 4),
		  -EINVAL);
	EXPECT_EQ(tell(self, 0x1004, RV_NOP), 0);
	ASSERT_EQ(flowtap_learned_flush(self->learned), 0);
	ASSERT_EQ(self->tape.n, 1U);
	EXPECT_EQ(self->tape.steps[0].block.instructions, 2U);
}

TEST_F(learned, what_the_sink_returns_comes_back)
{
	self->tape.answer = -ENOSPC;
	ASSERT_EQ(tell(self, 0x1000, rv_jal(0, 8)), 0);
	EXPECT_EQ(tell(self, 0x1008, RV_NOP), -ENOSPC);
}

static void add_up(const struct flowtap_block *block, void *argument)
{
	*(uint64_t *)argument += block->executed * block->instructions;
}

TEST_F(learned, memory_is_bounded_and_counts_stay)
{
	struct flowtap_learned *learned = flowtap_learned_new(4U << 20);
	uint64_t instructions = 0;
	unsigned int n = 100000;

	ASSERT_NE(learned, NULL);
	flowtap_learned_sink(learned, &self->tape.sink);
	for (unsigned int i = 0; i < n; i++) {
		uint32_t opcode = rv_jal(0, 64);

		ASSERT_EQ(flowtap_learned_instruction(learned, FLOWTAP_ISA_RV64,
						      0x1000 + 64ULL * i,
						      (const uint8_t *)&opcode, 4), 0);
		self->tape.n = 0;
	}
	ASSERT_EQ(flowtap_learned_flush(learned), 0);
	flowtap_blocks_visit(flowtap_learned_blocks(learned), add_up, &instructions);
	EXPECT_EQ(instructions, n);
	flowtap_learned_free(learned);
}

TEST_HARNESS_MAIN
