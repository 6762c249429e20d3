// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the return stack gives the calls back newest first, keeps the 15 newest, and is
 * emptied by a Trace Info only when the next P0 element comes.
 */
#include "ete/return_stack.h"

#include "support/kselftest_harness.h"

#define BASE 0x1000

FIXTURE(stack)
{
	struct ete_return_stack stack;
	struct flowtap_block calls[20];	/* call i is 4 bytes from BASE + 0x100 * i */
};

FIXTURE_SETUP(stack)
{
	flowtap_ete_returns_init(&self->stack, true);
	for (int i = 0; i < 20; i++)
		self->calls[i] = (struct flowtap_block){
			.address = BASE + 0x100 * i, .size = 4, .isa = FLOWTAP_ISA_A64,
		};
}

FIXTURE_TEARDOWN(stack)
{
}

static void push(FIXTURE_DATA(stack) *self, int from, int to)
{
	for (int i = from; i < to; i++)
		ete_push_return(&self->stack, &self->calls[i]);
}

#define EXPECT_POP(i) do {							\
	struct ete_return entry_ = { 0 };					\
	EXPECT_TRUE(ete_pop_return(&self->stack, &entry_));			\
	EXPECT_EQ(BASE + 0x100 * (i) + 4, entry_.address);			\
	EXPECT_EQ(&self->calls[i], entry_.caller);				\
} while (0)

#define EXPECT_EMPTY() do {							\
	struct ete_return entry_ = { .address = 1 };				\
	EXPECT_TRUE(ete_returns_empty(&self->stack));				\
	EXPECT_EQ(NULL, ete_peek_return(&self->stack));				\
	EXPECT_FALSE(ete_pop_return(&self->stack, &entry_));			\
	EXPECT_EQ(1, entry_.address);						\
} while (0)

TEST_F(stack, calls_come_back_newest_first)
{
	EXPECT_EMPTY();
	push(self, 0, 3);
	EXPECT_FALSE(ete_returns_empty(&self->stack));
	EXPECT_EQ(&self->calls[2], ete_peek_return(&self->stack)->caller);
	EXPECT_POP(2);
	EXPECT_POP(1);
	push(self, 3, 4);
	EXPECT_POP(3);
	EXPECT_POP(0);
	EXPECT_EMPTY();
}

TEST_F(stack, what_is_dropped_is_what_was_peeked)
{
	push(self, 0, 2);
	ete_drop_return(&self->stack);
	EXPECT_POP(0);
	EXPECT_EMPTY();
}

TEST_F(stack, of_more_than_15_calls_the_oldest_are_lost)
{
	push(self, 0, 20);
	for (int i = 19; i > 4; i--)
		EXPECT_POP(i);
	EXPECT_EMPTY();
}

TEST_F(stack, a_return_address_has_the_width_and_the_isa_of_its_call)
{
	struct ete_return entry;

	self->calls[0].address = 0xfffffffc;
	self->calls[0].isa = FLOWTAP_ISA_T32;
	self->calls[1].address = 0xfffffffc;
	push(self, 0, 2);
	ASSERT_TRUE(ete_pop_return(&self->stack, &entry));
	EXPECT_EQ(0x100000000, entry.address);
	EXPECT_EQ(0, entry.sub_isa);
	ASSERT_TRUE(ete_pop_return(&self->stack, &entry));
	EXPECT_EQ(0, entry.address);
	EXPECT_EQ(1, entry.sub_isa);
}

TEST_F(stack, one_that_the_trace_unit_has_not_stays_empty)
{
	flowtap_ete_returns_init(&self->stack, false);
	push(self, 0, 3);
	EXPECT_EMPTY();
}

TEST_F(stack, it_is_used_again_after_it_was_cleared)
{
	push(self, 0, 15);
	ete_clear_returns(&self->stack);
	EXPECT_EMPTY();
	push(self, 15, 17);
	EXPECT_POP(16);
	EXPECT_POP(15);
	EXPECT_EMPTY();
}

TEST_F(stack, after_a_trace_info_the_next_p0_element_clears_it_once)
{
	push(self, 0, 2);
	ete_returns_at_p0(&self->stack);
	EXPECT_POP(1);
	ete_clear_returns_at_p0(&self->stack);
	EXPECT_TRUE(ete_returns_pending(&self->stack));
	EXPECT_FALSE(ete_returns_empty(&self->stack));
	ete_returns_at_p0(&self->stack);
	EXPECT_FALSE(ete_returns_pending(&self->stack));
	EXPECT_EMPTY();
	push(self, 2, 3);
	ete_returns_at_p0(&self->stack);
	EXPECT_POP(2);
}

TEST_F(stack, a_new_trace_has_nothing_of_the_one_before)
{
	push(self, 0, 2);
	ete_clear_returns_at_p0(&self->stack);
	flowtap_ete_returns_init(&self->stack, true);
	EXPECT_FALSE(ete_returns_pending(&self->stack));
	EXPECT_EMPTY();
}

TEST_F(stack, an_address_outlives_the_block_of_its_call)
{
	push(self, 0, 1);
	flowtap_ete_returns_invalidate_blocks(&self->stack);
	EXPECT_EQ(NULL, ete_peek_return(&self->stack)->caller);
	EXPECT_EQ(BASE + 4, ete_peek_return(&self->stack)->address);
}

TEST_HARNESS_MAIN
