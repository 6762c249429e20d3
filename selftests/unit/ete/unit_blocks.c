// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that trace units whose WFE and WFI are P0 elements, and those whose are not, have blocks of
 * their own, that all of a kind share a cache, and that the second is made only when it is needed.
 */
#include "ete/unit_blocks.h"

#include <flowtap/arm.h>

#include "support/kselftest_harness.h"

FIXTURE(units)
{
	struct flowtap_blocks *blocks;
	struct flowtap_ete_config plain, wfx;
};

FIXTURE_SETUP(units)
{
	self->wfx.idr2 = 1U << 31;
	self->blocks = flowtap_blocks_new(flowtap_arm_block, 0);
	ASSERT_NE(NULL, self->blocks);
	ASSERT_FALSE(flowtap_ete_wfx_is_p0(&self->plain));
	ASSERT_TRUE(flowtap_ete_wfx_is_p0(&self->wfx));
}

FIXTURE_TEARDOWN(units)
{
	flowtap_blocks_free(self->blocks);
}

TEST_F(units, those_of_the_callers_kind_share_the_callers)
{
	struct flowtap_blocks *wfx = flowtap_blocks_new(flowtap_arm_block_wfx, 0);

	EXPECT_EQ(self->blocks, flowtap_ete_unit_blocks(self->blocks, &self->plain));
	ASSERT_NE(NULL, wfx);
	EXPECT_EQ(wfx, flowtap_ete_unit_blocks(wfx, &self->wfx));
	flowtap_blocks_free(wfx);
}

TEST_F(units, those_of_the_other_kind_share_another)
{
	struct flowtap_blocks *other = flowtap_ete_unit_blocks(self->blocks, &self->wfx);

	ASSERT_NE(NULL, other);
	EXPECT_NE(self->blocks, other);
	EXPECT_EQ(other, flowtap_ete_unit_blocks(self->blocks, &self->wfx));
	EXPECT_EQ(self->blocks, flowtap_ete_unit_blocks(self->blocks, &self->plain));
}

static void add_instructions(const struct flowtap_block *block, void *sum)
{
	*(uint64_t *)sum += block->executed * block->instructions;
}

/* NOP, RET. */
static void execute(struct __test_metadata *_metadata, struct flowtap_blocks *blocks, uint64_t times)
{
	static const uint32_t words[] = { 0xd503201f, 0xd65f03c0 };
	const struct flowtap_code code = {
		.key = 1, .start = 0x1000, .end = 0x1008, .bytes = (const uint8_t *)words,
	};
	struct flowtap_block *block;

	ASSERT_EQ(0, flowtap_blocks_get(blocks, &code, FLOWTAP_ISA_A64, 0x1000, 0, &block));
	block->executed += times;
}

/* What one of them executed is in the functions as well. */
TEST_F(units, blocks_of_both_kinds_are_visited)
{
	uint64_t sum = 0;

	execute(_metadata, self->blocks, 1);
	execute(_metadata, flowtap_ete_unit_blocks(self->blocks, &self->wfx), 10);
	flowtap_blocks_visit(self->blocks, add_instructions, &sum);
	EXPECT_EQ(22, sum);
}

/* NOP, WFI, RET: WFI ends a block where it is a P0 element. */
static uint32_t first_block(struct __test_metadata *_metadata, bool wfx)
{
	static const uint32_t code[] = { 0xd503201f, 0xd503207f, 0xd65f03c0 };
	struct flowtap_block block = { .address = 0x1000, .isa = FLOWTAP_ISA_A64 };

	ASSERT_EQ(0, flowtap_ete_block_decode(wfx)(&block, (const uint8_t *)code, sizeof(code)));
	return block.instructions;
}

TEST(wfi_ends_a_block_only_where_it_is_a_p0_element)
{
	EXPECT_EQ(2, first_block(_metadata, true));
	EXPECT_EQ(3, first_block(_metadata, false));
}

TEST_HARNESS_MAIN
