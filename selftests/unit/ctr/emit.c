// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what the CTR decoder's output is: a context only where it changes, blocks and gaps that are
 * counted, and what the sink returns.
 */
#include <errno.h>

#include "ctr/emit.h"

#include "support/kselftest_harness.h"

struct heard {
	struct flowtap_sink sink;
	struct flowtap_element element;	/* the last one */
	char detail[200];
	int elements;
	uint64_t block, target;
	bool taken;
	int answer;
};

static int hear_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct heard *heard = (struct heard *)sink;

	heard->block = block->address;
	heard->taken = taken;
	heard->target = target;
	return heard->answer;
}

static int hear_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct heard *heard = (struct heard *)sink;

	heard->element = *element;
	heard->elements++;
	if (element->kind == FLOWTAP_ELEMENT_GAP && element->gap.detail)
		snprintf(heard->detail, sizeof(heard->detail), "%s", element->gap.detail);
	return heard->answer;
}

FIXTURE(emit)
{
	struct heard heard;
	struct ctr_emit emit;
};

FIXTURE_SETUP(emit)
{
	self->heard.sink = (struct flowtap_sink){ hear_block, hear_element };
	self->emit.sink = &self->heard.sink;
}

FIXTURE_TEARDOWN(emit)
{
}

TEST_F(emit, a_context_comes_once_until_it_changes)
{
	EXPECT_EQ(0, flowtap_ctr_enter(&self->emit, 0, 0, 0, FLOWTAP_PRIVILEGE_U));
	EXPECT_EQ(1, self->heard.elements);
	EXPECT_EQ(FLOWTAP_ELEMENT_CONTEXT, self->heard.element.kind);
	EXPECT_EQ(FLOWTAP_ISA_RV64, self->heard.element.context.isa);
	EXPECT_EQ(0, flowtap_ctr_enter(&self->emit, 0, 0, 0, FLOWTAP_PRIVILEGE_U));
	EXPECT_EQ(1, self->heard.elements);
	flowtap_ctr_enter(&self->emit, 7, 0, 0, FLOWTAP_PRIVILEGE_U);
	flowtap_ctr_enter(&self->emit, 7, 8, 0, FLOWTAP_PRIVILEGE_U);
	flowtap_ctr_enter(&self->emit, 7, 8, 9, FLOWTAP_PRIVILEGE_U);
	flowtap_ctr_enter(&self->emit, 7, 8, 9, FLOWTAP_PRIVILEGE_S);
	EXPECT_EQ(5, self->heard.elements);
	EXPECT_EQ(7, self->heard.element.context.pid);
	EXPECT_EQ(8, self->heard.element.context.tid);
	EXPECT_EQ(9, self->heard.element.context.cpu);
	EXPECT_EQ(FLOWTAP_PRIVILEGE_S, self->heard.element.context.mode);
	EXPECT_EQ(FLOWTAP_PRIVILEGE_S, self->emit.context.mode);
}

TEST_F(emit, blocks_are_counted_and_passed_on)
{
	struct flowtap_block block = { .address = 0x1000, .instructions = 3 };

	EXPECT_EQ(0, flowtap_ctr_send_block(&self->emit, &block, true, 0x2000));
	EXPECT_EQ(0, flowtap_ctr_send_block(&self->emit, &block, false, 0x100c));
	EXPECT_EQ(2, block.executed);
	EXPECT_EQ(2, self->emit.counts.blocks);
	EXPECT_EQ(6, self->emit.counts.instructions);
	EXPECT_EQ(0x1000, self->heard.block);
	EXPECT_FALSE(self->heard.taken);
	EXPECT_EQ(0x100c, self->heard.target);
}

TEST_F(emit, gaps_are_counted_by_their_reason)
{
	const struct flowtap_gap gap = { .reason = FLOWTAP_GAP_TRAP, .size = 5 };

	EXPECT_EQ(0, flowtap_ctr_gap(&self->emit, &gap));
	EXPECT_EQ(FLOWTAP_ELEMENT_GAP, self->heard.element.kind);
	EXPECT_EQ(5, self->heard.element.gap.size);
	EXPECT_EQ(1, self->emit.counts.gaps[FLOWTAP_GAP_TRAP]);
	EXPECT_EQ(0, self->emit.counts.bad_records);
}

TEST_F(emit, a_bad_record_is_a_gap_that_says_why)
{
	EXPECT_EQ(0, flowtap_ctr_bad_record(&self->emit, 44, "%d of %s", 3, "them"));
	EXPECT_EQ(FLOWTAP_GAP_BAD_RECORD, self->heard.element.gap.reason);
	EXPECT_EQ(44, self->heard.element.gap.until);
	EXPECT_EQ(UINT64_MAX, self->heard.element.gap.size);
	EXPECT_STREQ("3 of them", self->heard.detail);
	EXPECT_EQ(1, self->emit.counts.bad_records);
	EXPECT_EQ(1, self->emit.counts.gaps[FLOWTAP_GAP_BAD_RECORD]);
}

TEST_F(emit, what_the_sink_returns_is_returned)
{
	const struct flowtap_gap gap = { .reason = FLOWTAP_GAP_TRAP };
	struct flowtap_block block = { .instructions = 1 };

	self->heard.answer = -EIO;
	EXPECT_EQ(-EIO, flowtap_ctr_gap(&self->emit, &gap));
	EXPECT_EQ(-EIO, flowtap_ctr_bad_record(&self->emit, 0, "bad"));
	EXPECT_EQ(-EIO, flowtap_ctr_enter(&self->emit, 1, 1, 1, FLOWTAP_PRIVILEGE_U));
	EXPECT_EQ(-EIO, flowtap_ctr_send_block(&self->emit, &block, true, 0));
}

TEST_HARNESS_MAIN
