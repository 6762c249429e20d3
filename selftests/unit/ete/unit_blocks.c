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
	struct ete_unit_blocks unit_blocks;
	struct flowtap_ete_config plain, wfx;
};

FIXTURE_SETUP(units)
{
	self->wfx.idr2 = 1U << 31;
	self->unit_blocks.blocks = flowtap_blocks_new(flowtap_arm_block, 0);
	ASSERT_NE(NULL, self->unit_blocks.blocks);
	ASSERT_FALSE(flowtap_ete_wfx_is_p0(&self->plain));
	ASSERT_TRUE(flowtap_ete_wfx_is_p0(&self->wfx));
}

FIXTURE_TEARDOWN(units)
{
	flowtap_ete_unit_blocks_free(&self->unit_blocks);
	flowtap_blocks_free(self->unit_blocks.blocks);
}

TEST_F(units, those_of_the_callers_kind_share_the_callers)
{
	EXPECT_EQ(self->unit_blocks.blocks,
		  flowtap_ete_unit_blocks(&self->unit_blocks, &self->plain));
	EXPECT_EQ(NULL, self->unit_blocks.other);
	self->unit_blocks.wfx = true;
	EXPECT_EQ(self->unit_blocks.blocks,
		  flowtap_ete_unit_blocks(&self->unit_blocks, &self->wfx));
	EXPECT_EQ(NULL, self->unit_blocks.other);
}

TEST_F(units, those_of_the_other_kind_share_another)
{
	struct flowtap_blocks *other = flowtap_ete_unit_blocks(&self->unit_blocks, &self->wfx);

	ASSERT_NE(NULL, other);
	EXPECT_NE(self->unit_blocks.blocks, other);
	EXPECT_EQ(other, flowtap_ete_unit_blocks(&self->unit_blocks, &self->wfx));
	flowtap_ete_unit_blocks_free(&self->unit_blocks);
	EXPECT_EQ(NULL, self->unit_blocks.other);
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
