// SPDX-License-Identifier: GPL-2.0-only
/* Shows where blocks of Arm code end and how, alone and in the block cache. */
#include <errno.h>
#include <flowtap/arm.h>
#include <stdlib.h>

#include "support/kselftest_harness.h"

#define BASE	0x40000000
#define A64_NOP	0xd503201f
#define A64_RET	0xd65f03c0
#define T32_NOP	0xbf00
#define T32_BX_LR 0x4770

FIXTURE(code) {
	uint8_t *bytes;
	size_t size;
	struct flowtap_block block;
};

#define CAPACITY (64U << 10)

FIXTURE_SETUP(code)
{
	self->bytes = malloc(CAPACITY);
	ASSERT_NE(self->bytes, NULL);
}

FIXTURE_TEARDOWN(code)
{
	free(self->bytes);
}

static void half(FIXTURE_DATA(code) *self, uint32_t value)
{
	self->bytes[self->size++] = value;
	self->bytes[self->size++] = value >> 8;
}

static void word(FIXTURE_DATA(code) *self, uint32_t value)
{
	half(self, value & 0xffff);
	half(self, value >> 16);
}

/* A T32 instruction of four bytes. */
static void wide(FIXTURE_DATA(code) *self, uint32_t value)
{
	half(self, value >> 16);
	half(self, value & 0xffff);
}

/* In memory of its own, so that a read beyond it is seen. */
static int make(FIXTURE_DATA(code) *self, flowtap_block_decode decode, enum flowtap_isa isa,
		uint64_t address, uint64_t stop)
{
	uint8_t *copy = malloc(self->size ? self->size : 1);
	int status;

	memcpy(copy, self->bytes, self->size);
	memset(&self->block, 0xa5, sizeof(self->block));
	self->block.address = address;
	self->block.stop = stop;
	self->block.isa = isa;
	self->block.target_isa = isa;
	status = decode(&self->block, copy, self->size);
	free(copy);
	return status;
}

/* It always takes an exception: what comes after it is another run. */
TEST_F(code, a_block_goes_up_to_an_undefined_instruction_of_a64)
{
	word(self, A64_NOP);
	word(self, 0x0000ffff);		/* udf #0xffff */
	word(self, A64_RET);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 8U);
	EXPECT_EQ(self->block.instructions, 2U);
	EXPECT_EQ(self->block.last, 4U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_OTHER);
	/* andeq r0, r0, r0 and so on */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A32, BASE, 0), -ENODATA);
}

TEST_F(code, a_block_goes_up_to_its_branch)
{
	word(self, A64_NOP);
	word(self, 0xd4000001);		/* svc: no P0 instruction */
	word(self, 0x54ffffc0);		/* b.eq .-8 */
	word(self, A64_RET);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 12U);
	EXPECT_EQ(self->block.instructions, 3U);
	EXPECT_EQ(self->block.last, 8U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_BRANCH);
	EXPECT_TRUE(self->block.direct);
	EXPECT_TRUE(self->block.conditional);
	EXPECT_FALSE(self->block.link);
	EXPECT_EQ(self->block.target, (uint64_t)BASE);
	EXPECT_EQ(self->block.target_isa, FLOWTAP_ISA_A64);
}

TEST_F(code, a_call_links_and_an_indirect_one_has_no_target)
{
	word(self, 0x94000004);		/* bl .+16 */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), 0);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_CALL);
	EXPECT_TRUE(self->block.link);
	EXPECT_EQ(self->block.target, BASE + 16U);
	self->size = 0;
	word(self, 0xd63f0100);		/* blr x8 */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), 0);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_INDIRECT_CALL);
	EXPECT_TRUE(self->block.link);
	EXPECT_FALSE(self->block.direct);
	EXPECT_EQ(self->block.target, 0U);
}

TEST_F(code, waits_end_a_block_only_where_they_are_p0)
{
	static const struct {
		uint32_t insn;
		enum flowtap_isa isa;
		unsigned int length;
	} waits[] = {
		{ 0xd503205f, FLOWTAP_ISA_A64, 4 }, { 0xd503207f, FLOWTAP_ISA_A64, 4 },
		{ 0xd5031003, FLOWTAP_ISA_A64, 4 }, { 0xd5031023, FLOWTAP_ISA_A64, 4 },
		{ 0xe320f002, FLOWTAP_ISA_A32, 4 }, { 0xe320f003, FLOWTAP_ISA_A32, 4 },
		{ 0xbf20, FLOWTAP_ISA_T32, 2 }, { 0xbf30, FLOWTAP_ISA_T32, 2 },
		{ 0x8002f3af, FLOWTAP_ISA_T32, 4 }, { 0x8003f3af, FLOWTAP_ISA_T32, 4 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(waits); i++) {
		self->size = 0;
		word(self, waits[i].insn);
		self->size = waits[i].length;
		if (waits[i].isa == FLOWTAP_ISA_T32)
			half(self, T32_BX_LR);
		else
			word(self, waits[i].isa == FLOWTAP_ISA_A64 ? A64_RET : 0xe12fff1e);
		ASSERT_EQ(make(self, flowtap_arm_block_wfx, waits[i].isa, BASE, 0), 0);
		EXPECT_EQ(self->block.end, FLOWTAP_ARM_WFX);
		EXPECT_EQ(self->block.size, waits[i].length);
		EXPECT_EQ(self->block.target, BASE + waits[i].length);
		ASSERT_EQ(make(self, flowtap_arm_block, waits[i].isa, BASE, 0), 0);
		EXPECT_EQ(self->block.end, FLOWTAP_ARM_RETURN);
		EXPECT_EQ(self->block.instructions, 2U);
	}
}

TEST_F(code, a_stop_or_the_room_after_a_wait_leaves_no_class)
{
	word(self, 0xd503207f);		/* wfi */
	word(self, A64_RET);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, BASE + 4), 0);
	EXPECT_EQ(self->block.size, 4U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_OTHER);
	EXPECT_FALSE(self->block.direct || self->block.conditional || self->block.link);
	EXPECT_EQ(self->block.target, 0U);
	EXPECT_EQ(self->block.target_isa, FLOWTAP_ISA_A64);
}

TEST_F(code, isb_always_ends_a_block)
{
	word(self, 0xd5033fdf);
	word(self, A64_RET);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), 0);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_ISB);
	EXPECT_EQ(self->block.size, 4U);
	EXPECT_TRUE(self->block.direct);
	EXPECT_EQ(self->block.target, BASE + 4U);
}

TEST_F(code, t32_mixes_two_and_four_bytes_and_switches)
{
	half(self, T32_NOP);
	wide(self, 0xf3af8000);		/* nop.w */
	half(self, 0x2000);		/* movs r0, #0 */
	wide(self, 0xf000e802);		/* blx, from an address that is not aligned to 4 */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE + 2, 0), 0);
	EXPECT_EQ(self->block.size, 12U);
	EXPECT_EQ(self->block.instructions, 4U);
	EXPECT_EQ(self->block.last, 8U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_CALL);
	EXPECT_TRUE(self->block.link);
	EXPECT_EQ(self->block.target, BASE + 16U);
	EXPECT_EQ(self->block.target_isa, FLOWTAP_ISA_A32);
}

TEST_F(code, the_branch_at_the_end_of_an_it_block_is_conditional)
{
	half(self, 0xbf04);		/* itt eq */
	half(self, 0x2001);		/* moveq r0, #1 */
	half(self, T32_BX_LR);
	half(self, T32_BX_LR);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 6U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_RETURN);
	EXPECT_TRUE(self->block.conditional);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE + 2, 0), 0);
	EXPECT_TRUE(self->block.conditional);
	self->size = 0;
	half(self, 0xbf08);		/* it eq */
	half(self, 0x2001);
	half(self, T32_BX_LR);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 6U);
	EXPECT_FALSE(self->block.conditional);
}

/* Armv8.1-M: what is at the branch point is executed or not. */
TEST_F(code, a_block_ends_where_a_bf_announces_a_branch)
{
	static const struct {
		uint32_t opcode;
		unsigned int branch_point;
	} futures[] = {
		{ 0xf0c0e803, 6 },	/* bf #2, #6 */
		{ 0xf7dfe001, 34 },	/* bf #30, #-4096 */
		{ 0xf163e001, 8 },	/* bfx #4, r3 */
		{ 0xf1f2e001, 10 },	/* bflx #6, r2 */
		{ 0xf200c033, 12 },	/* bfl #8, #100 */
		{ 0xf080e805, 6 },	/* bfcsel #2, #10, #4, eq */
	};

	for (size_t i = 0; i < sizeof(futures) / sizeof(futures[0]); i++) {
		self->size = 0;
		wide(self, futures[i].opcode);
		for (int n = 0; n < 20; n++)
			half(self, T32_NOP);
		ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE + 2, 0), 0);
		EXPECT_EQ(self->block.size, futures[i].branch_point);
		EXPECT_EQ(self->block.instructions, 1 + (futures[i].branch_point - 4) / 2);
		EXPECT_EQ(self->block.last, futures[i].branch_point - 2);
		EXPECT_EQ(self->block.end, FLOWTAP_ARM_OTHER);
		EXPECT_TRUE(self->block.branch_future);
	}
}

TEST_F(code, or_before_it)
{
	/* Before a branch that comes first. */
	wide(self, 0xf163e001);		/* bfx #4, r3 */
	half(self, T32_NOP);
	half(self, T32_BX_LR);
	half(self, T32_BX_LR);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 6U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_OTHER);
	EXPECT_TRUE(self->block.branch_future);
	/* Before an instruction that lies across it. */
	self->size = 0;
	wide(self, 0xf0c0e803);		/* bf #2, #6 */
	wide(self, 0xf3af8000);		/* nop.w */
	half(self, T32_BX_LR);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 4U);
	EXPECT_EQ(self->block.instructions, 1U);
	EXPECT_TRUE(self->block.branch_future);
	/* Of two at the nearer one. */
	self->size = 0;
	wide(self, 0xf7dfe001);		/* bf #30, #-4096 */
	wide(self, 0xf0c0e803);		/* bf #2, #6 */
	half(self, T32_NOP);
	half(self, T32_NOP);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 10U);
	EXPECT_TRUE(self->block.branch_future);
	/* Where it is to end sooner. */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, BASE + 4), 0);
	EXPECT_EQ(self->block.size, 4U);
	EXPECT_TRUE(self->block.branch_future);
}

TEST_F(code, what_begins_a_loop_announces_no_branch)
{
	wide(self, 0xf043e001);		/* dls lr, r3 */
	wide(self, 0xf00fe001);		/* lctp */
	wide(self, 0xf041c00b);		/* wls lr, r1, #20 */
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 12U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_BRANCH);
	EXPECT_FALSE(self->block.branch_future);
}

TEST_F(code, code_that_ends_within_a_block_is_no_block)
{
	word(self, A64_NOP);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), -ENODATA);
	half(self, A64_RET & 0xffff);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, 0), -ENODATA);
	self->size = 0;
	half(self, T32_NOP);
	half(self, 0xf000);		/* the first half of something */
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), -ENODATA);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, BASE + 2), 0);
	EXPECT_EQ(self->block.size, 2U);
	self->size = 0;
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), -ENODATA);
}

TEST_F(code, a_stop_within_an_instruction_cannot_be)
{
	word(self, A64_NOP);
	word(self, A64_RET);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, BASE + 2), -EILSEQ);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, BASE + 6), -EILSEQ);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, BASE + 8), 0);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_RETURN);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE, BASE + 16), 0);
	EXPECT_EQ(self->block.size, 8U);
	self->size = 0;
	half(self, T32_NOP);
	wide(self, 0xf3af8000);
	EXPECT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, BASE + 4), -EILSEQ);
}

TEST_F(code, a_long_run_is_cut_at_16_kib)
{
	while (self->size + 4 <= CAPACITY)
		word(self, A64_NOP);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_A64, BASE + 0x100, 0), 0);
	EXPECT_EQ(self->block.size, 0x3f00U);
	EXPECT_EQ(self->block.instructions, 0xfc0U);
	EXPECT_EQ(self->block.end, FLOWTAP_ARM_OTHER);
	EXPECT_FALSE(self->block.direct);
	self->size = 0;
	half(self, T32_NOP);
	while (self->size + 4 <= CAPACITY)
		wide(self, 0xf3af8000);
	ASSERT_EQ(make(self, flowtap_arm_block, FLOWTAP_ISA_T32, BASE, 0), 0);
	EXPECT_EQ(self->block.size, 0x4002U);	/* the last instruction overlaps the end */
}

TEST_F(code, the_cache_follows_a_call_from_t32_to_a32)
{
	struct flowtap_code code = { .start = BASE, .end = BASE + 16, .bytes = self->bytes };
	struct flowtap_blocks *blocks = flowtap_blocks_new(flowtap_arm_block, 0);
	struct flowtap_block *block, *taken;

	wide(self, 0xf000e804);		/* blx .+12 */
	half(self, T32_BX_LR);
	half(self, T32_NOP);
	word(self, 0xe12fff1e);
	word(self, 0xe12fff1e);
	ASSERT_NE(blocks, NULL);
	ASSERT_EQ(flowtap_blocks_get(blocks, &code, FLOWTAP_ISA_T32, BASE, 0, &block), 0);
	EXPECT_EQ(block->size, 4U);
	ASSERT_EQ(flowtap_blocks_taken(blocks, &code, block, &taken), 0);
	EXPECT_EQ(taken->isa, FLOWTAP_ISA_A32);
	EXPECT_EQ(taken->address, BASE + 12U);
	EXPECT_EQ(taken->end, FLOWTAP_ARM_RETURN);
	/* The same bytes are something else in T32, and no branch. */
	EXPECT_EQ(flowtap_blocks_get(blocks, &code, FLOWTAP_ISA_T32, BASE + 12, 0, &block),
		  -ENODATA);
	flowtap_blocks_free(blocks);
}

TEST_HARNESS_MAIN
