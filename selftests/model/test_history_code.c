// SPDX-License-Identifier: GPL-2.0-or-later
/* The code of processes that the trace does not name apart, where it stands at the same addresses. */
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
		memcpy(&opcode, code->bytes + 4 * at, sizeof(opcode));
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

/* The kernel's is nobody else's: a module may go and another come within an entry. */
TEST_F(code, code_of_the_kernel_is_what_it_was_until_it_is_another)
{
	size_t first, behind;

	self->state.el = 1;
	execute(self, 6, 6, 0xa);
	history_code_enter(self->code);
	first = execute(self, 0, 3, 0xb);
	behind = execute(self, 6, 1, 0xb);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xb, opcode_at(self, first, 0));
	EXPECT_EQ(0xa, opcode_at(self, first, 6));
	EXPECT_EQ(0xb, opcode_at(self, behind, 6));
}

TEST_F(code, code_that_changes_is_what_it_was_until_then)
{
	size_t before, behind;

	execute(self, 6, 2, 0xa);
	history_code_enter(self->code);
	before = execute(self, 6, 2, 0xa);
	behind = execute(self, 6, 2, 0xb);
	ASSERT_EQ(0, history_code_finish(self->code));
	EXPECT_EQ(0xa, opcode_at(self, before, 6));
	EXPECT_EQ(0xb, opcode_at(self, behind, 6));
}

TEST_HARNESS_MAIN
