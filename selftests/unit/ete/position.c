// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows where the analysis is when its address is known and when it is not, that a block is found
 * there and is cut where it has to end, and that code is asked for again when it may have changed.
 */
#include "part_fixture.h"

FIXTURE(position)
{
	struct part part;
	struct flowtap_ete *ete;
	struct ete_position *position;
};

FIXTURE_SETUP(position)
{
	const struct flowtap_ete_config config = { .configr = 1U << 12 };

	part_begin(&self->part, &config, NULL);
	self->ete = self->part.ete;
	self->position = &self->ete->position;
}

FIXTURE_TEARDOWN(position)
{
	part_end(&self->part);
}

static void enter(FIXTURE_DATA(position) *self, uint64_t address)
{
	const struct flowtap_context context = { .width = 64, .mode = 1 };

	flowtap_ete_set_context(self->ete, &context);
	ete_set_address(self->position, address, 0);
}

#define EXPECT_GAP(want) do {								\
	EXPECT_EQ(ETE_DROP, flowtap_ete_require_address(self->ete));			\
	EXPECT_STREQ(want, part_flow(&self->part));					\
	EXPECT_EQ(ETE_ADDRESS_LOST, self->position->state);				\
	/* It is one gap, however much cannot be analyzed then. */			\
	EXPECT_EQ(ETE_DROP, flowtap_ete_require_address(self->ete));			\
	EXPECT_STREQ(want, part_flow(&self->part));					\
} while (0)

TEST_F(position, no_address_is_a_gap_that_says_why_and_only_one)
{
	enter(self, CODE);
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_MISSING, "nobody knows");
	EXPECT_GAP("gap no_address detail=nobody knows\n");
}

TEST_F(position, an_address_that_is_lost_already_is_no_further_gap)
{
	enter(self, CODE);
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_LOST, NULL);
	EXPECT_GAP("");
}

TEST_F(position, an_address_without_a_context_is_a_gap)
{
	ete_set_address(self->position, CODE, 0);
	EXPECT_GAP("gap no_address address=1000 detail=no context has come\n");
}

TEST_F(position, a_return_without_an_address_goes_where_its_call_said)
{
	struct flowtap_block call = { .address = CODE, .size = 4, .isa = FLOWTAP_ISA_A64 };

	enter(self, 0);
	ete_push_return(&self->ete->returns, &call);
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_RETURN, NULL);
	EXPECT_EQ(0, flowtap_ete_require_address(self->ete));
	EXPECT_EQ(ETE_ADDRESS_KNOWN, self->position->state);
	EXPECT_EQ(CODE + 4, self->position->address);
	EXPECT_EQ(&call, self->position->last);
	EXPECT_TRUE(ete_returns_empty(&self->ete->returns));
	self->position->last = NULL;
}

TEST_F(position, a_return_with_an_empty_stack_is_a_gap)
{
	enter(self, CODE);
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_RETURN, NULL);
	EXPECT_GAP("gap no_address detail=an indirect branch has no address in the trace, and the "
		   "return stack is empty\n");
}

TEST_F(position, before_a_q_element_a_return_is_no_gap)
{
	const struct ete_entry q = { .kind = ETE_Q, .count = 1 };

	enter(self, CODE);
	EXPECT_EQ(0, flowtap_ete_push(self->ete, &q));
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_RETURN, NULL);
	EXPECT_EQ(ETE_DROP, flowtap_ete_require_address(self->ete));
	EXPECT_STREQ("", part_flow(&self->part));
	EXPECT_EQ(ETE_ADDRESS_RETURN, self->position->state);
}

TEST_F(position, a_trace_info_empties_the_stack_before_the_next_call)
{
	struct flowtap_block call = { .address = CODE, .size = 4, .isa = FLOWTAP_ISA_A64 };

	enter(self, CODE);
	ete_push_return(&self->ete->returns, &call);
	ete_clear_returns_at_p0(&self->ete->returns);
	EXPECT_EQ(0, flowtap_ete_require_address(self->ete));
	EXPECT_TRUE(ete_returns_empty(&self->ete->returns));
}

TEST_F(position, the_block_at_an_address_ends_with_its_branch_or_where_it_has_to)
{
	enter(self, CODE + 4);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	EXPECT_EQ(CODE + 4, self->position->block->address);
	EXPECT_EQ(4, self->position->block->size);
	EXPECT_NE(0, self->position->block->end);
	EXPECT_EQ(&self->part.code, self->position->code);
	ete_set_address(self->position, CODE + 0x10, 0);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, CODE + 0x18));
	EXPECT_EQ(8, self->position->block->size);
	EXPECT_EQ(0, self->position->block->end);
	EXPECT_EQ(0, flowtap_ete_next_block(self->ete, self->position->block, 0));
	EXPECT_EQ(CODE + 0x18, self->position->block->address);
}

TEST_F(position, a_block_at_the_end_of_the_code_is_cut_there_and_then_there_is_none)
{
	enter(self, CODE_END - 4);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	EXPECT_EQ(CODE_END, ete_block_end(self->position->block));
	ete_set_address(self->position, CODE_END, 0);
	EXPECT_EQ(-ENODATA, flowtap_ete_probe_block(self->ete, 0));
	EXPECT_STREQ("", part_flow(&self->part));
	EXPECT_EQ(ETE_DROP, flowtap_ete_find_block(self->ete, 0));
	EXPECT_STREQ("no_image 1108\n", part_flow(&self->part));
}

TEST_F(position, no_instruction_of_a64_is_at_an_odd_address)
{
	enter(self, CODE + 2);
	EXPECT_EQ(-EILSEQ, flowtap_ete_probe_block(self->ete, 0));
	EXPECT_EQ(ETE_DROP, flowtap_ete_find_block(self->ete, 0));
	EXPECT_STREQ("gap impossible address=1002 detail=instructions do not begin here in this "
		     "state\n", part_flow(&self->part));
}

TEST_F(position, code_is_asked_for_once_until_it_is_invalidated)
{
	const struct flowtap_block *block;

	enter(self, CODE);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	block = self->position->block;
	ete_set_address(self->position, CODE + 4, 0);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	EXPECT_EQ(1, self->part.looked_up);
	ete_set_address(self->position, CODE, 0);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	EXPECT_EQ(1, self->part.looked_up);
	flowtap_ete_invalidate_code(self->ete);
	/* Still there, but only by its address. */
	EXPECT_EQ(NULL, self->position->block);
	EXPECT_EQ(CODE, self->position->address);
	EXPECT_EQ(ETE_ADDRESS_KNOWN, self->position->state);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	EXPECT_EQ(2, self->part.looked_up);
	EXPECT_EQ(block, self->position->block);
}

TEST_F(position, a_gap_takes_address_code_and_return_stack)
{
	struct flowtap_block call = { .address = CODE, .size = 4, .isa = FLOWTAP_ISA_A64 };

	enter(self, CODE);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	ete_push_return(&self->ete->returns, &call);
	EXPECT_EQ(0, flowtap_ete_emit_gap(self->ete, FLOWTAP_GAP_IMPOSSIBLE, 0x44, "%d", 5));
	EXPECT_STREQ("gap impossible address=44 detail=5\n", part_flow(&self->part));
	EXPECT_EQ(1, self->ete->counts.gaps[FLOWTAP_GAP_IMPOSSIBLE]);
	EXPECT_EQ(NULL, self->position->block);
	EXPECT_EQ(ETE_ADDRESS_LOST, self->position->state);
	EXPECT_TRUE(ete_returns_empty(&self->ete->returns));
}

TEST_F(position, it_comes_back_to_a_place)
{
	struct ete_saved_position place;

	enter(self, CODE + 8);
	EXPECT_EQ(0, flowtap_ete_find_block(self->ete, 0));
	place = flowtap_ete_save_position(self->position);
	ete_set_address(self->position, 0x4444, 1);
	flowtap_ete_restore_position(self->position, &place);
	EXPECT_EQ(CODE + 8, self->position->address);
	EXPECT_EQ(0, self->position->sub_isa);
	flowtap_ete_set_unknown_address(self->position, ETE_ADDRESS_RETURN, NULL);
	place = flowtap_ete_save_position(self->position);
	ete_set_address(self->position, 0x4444, 1);
	flowtap_ete_restore_position(self->position, &place);
	EXPECT_EQ(ETE_ADDRESS_RETURN, self->position->state);
}

TEST_HARNESS_MAIN
