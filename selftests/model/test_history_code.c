// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The code of processes that the trace does not name apart, where it stands at the same addresses,
 * and the kernel's, which is patched.
 */
#include <string.h>

#include "history.h"
#include "support/kselftest_harness.h"

#define PAGE	0x10000

FIXTURE(code)
{
	struct history_code *code;
	struct history_state state;	/* of EL0 */
	uint32_t index;
	size_t item;
};

FIXTURE_SETUP(code)
{
	memset(self, 0, sizeof(*self));
	self->code = history_code_new();
	ASSERT_NE(NULL, self->code);
}

FIXTURE_TEARDOWN(code)
{
	history_code_free(self->code);
}

/* A block of n instructions, each of which is `opcode`; its item. */
static size_t execute(FIXTURE_DATA(code) *self, unsigned int at, uint32_t n, uint32_t opcode)
{
	uint32_t opcodes[16];
	const struct log_block block = { .address = PAGE + 4 * at, .opcodes = opcodes, .n = n };

	for (uint32_t i = 0; i < n; i++)
		opcodes[i] = opcode;
	if (history_code_add(self->code, self->index++, &block, &self->state, 0, self->item))
		return SIZE_MAX;
	return self->item++;
}

static uint32_t opcode_at(const FIXTURE_DATA(code) *self, size_t item, unsigned int at)
{
	const struct flowtap_code *code =
		history_code_find(self->code, self->state.el == 0, &self->state, 0, item,
				  PAGE + 4 * at);
	uint32_t opcode = 0;

	if (code)
		memcpy(&opcode, code->bytes + (PAGE + 4 * at - code->start), sizeof(opcode));
	return opcode;
}

/* A decoder that is in the page holds on to the code it found when it came there. */
TEST_F(code, what_agreed_at_first_is_the_new_process_s)
{
	size_t old, first, later;

	old = execute(self, 6, 6, 0xa);
	history_code_enter(self->code);
	first = execute(self, 0, 3, 0xb);
	execute(self, 3, 3, 0xb);
	later = execute(self, 6, 1, 0xb);
	history_code_enter(self->code);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xa, opcode_at(self, old, 6));
	EXPECT_EQ(0xb, opcode_at(self, first, 0));
	EXPECT_EQ(0xb, opcode_at(self, first, 6));
	EXPECT_EQ(0xb, opcode_at(self, later, 0));
	EXPECT_EQ(0xb, opcode_at(self, later, 6));
}

/* The same block again, which is found faster. */
TEST_F(code, a_block_that_is_known_counts_as_well)
{
	size_t old, first;

	execute(self, 0, 3, 0xb);
	old = execute(self, 6, 6, 0xa);
	history_code_enter(self->code);
	self->index = 0;
	first = execute(self, 0, 3, 0xb);
	self->index = 2;
	execute(self, 6, 1, 0xc);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xa, opcode_at(self, old, 6));
	EXPECT_EQ(0xc, opcode_at(self, first, 6));
	EXPECT_EQ(0xb, opcode_at(self, first, 0));
}

/*
 * A decoder asks before it comes to the word, maybe long before: another CPU patches at any time.
 */
TEST_F(code, a_word_of_the_kernel_is_what_is_executed_there_next)
{
	size_t first, second, third;

	self->state.el = 1;
	first = execute(self, 6, 6, 0xa);
	second = execute(self, 0, 3, 0xb);
	execute(self, 6, 1, 0xb);
	third = execute(self, 0, 3, 0xb);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xa, opcode_at(self, first, 6));
	EXPECT_EQ(0xb, opcode_at(self, first, 0));
	EXPECT_EQ(0xa, opcode_at(self, first, 7));
	EXPECT_EQ(0xb, opcode_at(self, second, 6));
	EXPECT_EQ(0xb, opcode_at(self, third, 0));
	EXPECT_EQ(0xb, opcode_at(self, third, 6));
	EXPECT_EQ(0xa, opcode_at(self, third, 7));
}

TEST_F(code, what_a_decoder_keeps_of_the_kernel_ends_before_a_word_that_changes)
{
	const struct flowtap_code *before, *word, *after;

	self->state.el = 1;
	execute(self, 0, 10, 0xa);
	execute(self, 6, 1, 0xb);
	ASSERT_EQ(0, history_code_finish(self->code));
	before = history_code_find(self->code, false, &self->state, 0, 0, PAGE + 4 * 2);
	word = history_code_find(self->code, false, &self->state, 0, 0, PAGE + 4 * 6);
	after = history_code_find(self->code, false, &self->state, 0, 0, PAGE + 4 * 7);
	EXPECT_EQ(PAGE, before->start);
	EXPECT_EQ(PAGE + 4 * 6, before->end);
	EXPECT_EQ(PAGE + 4 * 6, word->start);
	EXPECT_EQ(PAGE + 4 * 7, word->end);
	EXPECT_EQ(PAGE + 4 * 7, after->start);
	EXPECT_EQ(PAGE + 4096, after->end);
	EXPECT_NE(before->key, word->key);
	EXPECT_NE(after->key, word->key);
}

TEST_F(code, code_that_changes_is_what_it_was_until_then)
{
	size_t before, after;

	execute(self, 6, 2, 0xa);
	history_code_enter(self->code);
	before = execute(self, 6, 2, 0xa);
	after = execute(self, 6, 2, 0xb);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xa, opcode_at(self, before, 6));
	EXPECT_EQ(0xb, opcode_at(self, after, 6));
}

TEST_HARNESS_MAIN
