// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the block cache finds every block, cuts where told, and forgets nothing it counted. */
#include <errno.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>

#include "support/kselftest_harness.h"
#include "support/rv64.h"

#define BASE 0x10000

FIXTURE(cache) {
	uint8_t *bytes;
	struct rv_code text;
	struct flowtap_code code;
	struct flowtap_blocks *blocks;
};

#define CAPACITY (1U << 20)

FIXTURE_SETUP(cache)
{
	self->bytes = calloc(1, CAPACITY);
	self->text = (struct rv_code){ .bytes = self->bytes, .capacity = CAPACITY };
	self->code = (struct flowtap_code){
		.start = BASE, .until = UINT64_MAX, .bytes = self->bytes, .key = 7,
	};
	self->blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	ASSERT_NE(self->blocks, NULL);
}

FIXTURE_TEARDOWN(cache)
{
	flowtap_blocks_free(self->blocks);
	free(self->bytes);
}

static void put(FIXTURE_DATA(cache) *self, uint32_t insn)
{
	rv_put(&self->text, insn);
	self->code.end = BASE + self->text.size;
}

static int get(FIXTURE_DATA(cache) *self, uint64_t address, uint64_t stop,
	       struct flowtap_block **block)
{
	return flowtap_blocks_get(self->blocks, &self->code, FLOWTAP_ISA_RV64, address, stop,
				  block);
}

TEST_F(cache, a_block_ends_at_what_can_transfer_and_says_how)
{
	struct flowtap_block *block;

	put(self, RV_C_NOP);
	put(self, RV_NOP);
	put(self, rv_b(RV_BNE, 10, 0, -6));
	put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE, 0, &block), 0);
	EXPECT_EQ(block->address, (uint64_t)BASE);
	EXPECT_EQ(block->size, 10U);
	EXPECT_EQ(block->instructions, 3U);
	EXPECT_EQ(block->last, 6U);
	EXPECT_EQ(block->end, FLOWTAP_TRANSFER_TAKEN);
	EXPECT_TRUE(block->conditional);
	EXPECT_TRUE(block->direct);
	EXPECT_EQ(block->target, (uint64_t)BASE);
	EXPECT_EQ(block->stop, 0U);
	EXPECT_EQ(block->key, 7U);
	EXPECT_EQ(block->isa, FLOWTAP_ISA_RV64);
	EXPECT_EQ(block->bytes, self->bytes);
	EXPECT_EQ(block->executed, 0U);
	ASSERT_EQ(get(self, BASE + 10, 0, &block), 0);
	EXPECT_EQ(block->instructions, 2U);
	EXPECT_EQ(block->end, FLOWTAP_TRANSFER_RETURN);
	EXPECT_FALSE(block->conditional);
	EXPECT_FALSE(block->direct);
	EXPECT_EQ(block->bytes, self->bytes + 10);
}

TEST_F(cache, one_block_is_made_once_for_each_key)
{
	struct flowtap_block *first, *again, *other;

	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE, 0, &first), 0);
	ASSERT_EQ(get(self, BASE, 0, &again), 0);
	EXPECT_EQ(first, again);
	self->code.key = 8;
	ASSERT_EQ(get(self, BASE, 0, &other), 0);
	EXPECT_NE(first, other);
}

TEST_F(cache, a_stop_cuts_unless_the_block_ends_before_it)
{
	struct flowtap_block *whole, *cut, *block;

	put(self, RV_C_NOP);
	put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	put(self, RV_C_NOP);
	ASSERT_EQ(get(self, BASE, BASE + 4, &cut), 0);
	EXPECT_EQ(cut->size, 4U);
	EXPECT_EQ(cut->instructions, 2U);
	EXPECT_EQ(cut->end, FLOWTAP_TRANSFER_NONE);
	EXPECT_EQ(cut->stop, (uint64_t)BASE + 4);
	ASSERT_EQ(get(self, BASE, 0, &whole), 0);
	EXPECT_EQ(whole->size, 6U);
	EXPECT_NE(whole, cut);
	/* Cut again, now that the whole is known; and not cut at its end or beyond. */
	ASSERT_EQ(get(self, BASE, BASE + 4, &block), 0);
	EXPECT_EQ(block, cut);
	ASSERT_EQ(get(self, BASE, BASE + 6, &block), 0);
	EXPECT_EQ(block, whole);
	ASSERT_EQ(get(self, BASE, BASE + 8, &block), 0);
	EXPECT_EQ(block, whole);
}

TEST_F(cache, a_stop_beyond_the_end_makes_no_other_block)
{
	struct flowtap_block *whole, *block;

	put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	put(self, RV_C_NOP);
	ASSERT_EQ(get(self, BASE, BASE + 6, &block), 0);
	EXPECT_EQ(block->stop, 0U);
	ASSERT_EQ(get(self, BASE, BASE + 4, &whole), 0);
	EXPECT_EQ(whole, block);
	ASSERT_EQ(get(self, BASE, 0, &whole), 0);
	EXPECT_EQ(whole, block);
}

TEST_F(cache, a_stop_that_is_no_boundary_is_told)
{
	struct flowtap_block *block;

	put(self, RV_C_NOP);
	put(self, RV_NOP);
	put(self, rv_jal(0, 0));
	EXPECT_EQ(get(self, BASE, BASE + 4, &block), -EILSEQ);
	EXPECT_EQ(get(self, BASE, BASE + 8, &block), -EILSEQ);
	EXPECT_EQ(get(self, BASE, BASE, &block), -EINVAL);
	EXPECT_EQ(get(self, BASE + 2, BASE, &block), -EINVAL);
	EXPECT_EQ(get(self, BASE - 2, 0, &block), -EINVAL);
	EXPECT_EQ(get(self, self->code.end, 0, &block), -EINVAL);
}

TEST_F(cache, code_that_ends_or_is_unknown_is_told_and_what_is_before_it_is_not_lost)
{
	struct flowtap_block *block;

	put(self, RV_C_NOP);
	put(self, RV_C_NOP);
	put(self, 0x0000);
	EXPECT_EQ(get(self, BASE, 0, &block), -EILSEQ);
	EXPECT_EQ(get(self, BASE, BASE + 6, &block), -EILSEQ);
	ASSERT_EQ(get(self, BASE, BASE + 4, &block), 0);
	EXPECT_EQ(block->instructions, 2U);
	self->code.end = BASE + 4;
	EXPECT_EQ(get(self, BASE, 0, &block), -ENODATA);
	EXPECT_EQ(get(self, BASE, BASE + 8, &block), -ENODATA);
	/* Half an instruction is none, though its second half could be read. */
	put(self, RV_NOP);
	self->code.end = BASE + 8;
	EXPECT_EQ(get(self, BASE + 6, 0, &block), -ENODATA);
}

TEST_F(cache, a_known_block_is_not_there_where_less_is_mapped)
{
	struct flowtap_code shorter;
	struct flowtap_block *block;

	put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE, 0, &block), 0);
	shorter = self->code;
	shorter.end = BASE + 2;
	EXPECT_EQ(flowtap_blocks_get(self->blocks, &shorter, FLOWTAP_ISA_RV64, BASE, 0, &block),
		  -ENODATA);
	EXPECT_EQ(flowtap_blocks_get(self->blocks, &shorter, FLOWTAP_ISA_RV64, BASE, BASE + 4,
				     &block),
		  -ENODATA);
	ASSERT_EQ(flowtap_blocks_get(self->blocks, &shorter, FLOWTAP_ISA_RV64, BASE, BASE + 2,
				     &block),
		  0);
	EXPECT_EQ(block->instructions, 1U);
}

TEST_F(cache, the_next_block_is_remembered_within_the_same_code_only)
{
	struct flowtap_block *first, *second, *next;
	struct flowtap_code shorter, other;

	put(self, rv_b(RV_BEQ, 0, 0, 8));
	put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE, 0, &first), 0);
	EXPECT_EQ(first->next, NULL);
	ASSERT_EQ(flowtap_blocks_next(self->blocks, &self->code, first, BASE + 6, &next), 0);
	EXPECT_EQ(next->size, 2U);
	EXPECT_EQ(first->next, NULL);
	ASSERT_EQ(flowtap_blocks_next(self->blocks, &self->code, first, 0, &second), 0);
	EXPECT_EQ(second->size, 4U);
	EXPECT_EQ(first->next, second);
	ASSERT_EQ(flowtap_blocks_next(self->blocks, &self->code, first, 0, &next), 0);
	EXPECT_EQ(next, second);
	/* The memory of it does not outweigh a stop, other code or an earlier end. */
	ASSERT_EQ(flowtap_blocks_next(self->blocks, &self->code, first, BASE + 6, &next), 0);
	EXPECT_EQ(next->size, 2U);
	other = self->code;
	other.key = 9;
	ASSERT_EQ(flowtap_blocks_next(self->blocks, &other, first, 0, &next), 0);
	EXPECT_EQ(next->key, 9U);
	EXPECT_EQ(first->next, second);
	shorter = self->code;
	shorter.end = BASE + 6;
	EXPECT_EQ(flowtap_blocks_next(self->blocks, &shorter, first, 0, &next), -ENODATA);
}

TEST_F(cache, the_block_at_the_target_is_remembered_within_the_same_code_only)
{
	struct flowtap_block *first, *target, *taken;
	struct flowtap_code shorter, other;

	put(self, rv_b(RV_BEQ, 0, 0, 6));
	put(self, RV_C_NOP);
	put(self, RV_C_NOP);			/* BASE + 6 */
	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE, 0, &first), 0);
	EXPECT_EQ(first->taken, NULL);
	ASSERT_EQ(flowtap_blocks_taken(self->blocks, &self->code, first, &target), 0);
	EXPECT_EQ(target->address, BASE + 6U);
	EXPECT_EQ(target->size, 4U);
	EXPECT_EQ(first->taken, target);
	EXPECT_EQ(first->next, NULL);
	ASSERT_EQ(flowtap_blocks_taken(self->blocks, &self->code, first, &taken), 0);
	EXPECT_EQ(taken, target);
	other = self->code;
	other.key = 9;
	ASSERT_EQ(flowtap_blocks_taken(self->blocks, &other, first, &taken), 0);
	EXPECT_EQ(taken->key, 9U);
	EXPECT_EQ(first->taken, target);
	shorter = self->code;
	shorter.end = BASE + 8;
	EXPECT_EQ(flowtap_blocks_taken(self->blocks, &shorter, first, &taken), -ENODATA);
}

TEST_F(cache, long_runs_are_ended_and_share_their_blocks)
{
	struct flowtap_block *block, *one = NULL, *two = NULL;
	uint64_t at;

	while (self->text.size < 0x10000)
		put(self, RV_C_NOP);
	put(self, rv_c_jr(1));
	ASSERT_EQ(get(self, BASE + 2, 0, &block), 0);
	EXPECT_EQ(block->end, FLOWTAP_TRANSFER_NONE);
	EXPECT_EQ(block->stop, 0U);
	EXPECT_EQ(block->size, 0x3ffeU);
	for (at = BASE + 2; at < BASE + 0xc000; at += one->size)
		ASSERT_EQ(get(self, at, 0, &one), 0);
	for (at = BASE + 0x3f00; at < BASE + 0xc000; at += two->size)
		ASSERT_EQ(get(self, at, 0, &two), 0);
	EXPECT_EQ(one, two);
	ASSERT_EQ(get(self, BASE + 0xc000, 0, &block), 0);
	EXPECT_EQ(block->end, FLOWTAP_TRANSFER_NONE);
	EXPECT_EQ(block->address + block->size, (uint64_t)BASE + 0x10000);
}

TEST_F(cache, pointers_live_until_the_trim_and_all_blocks_are_found)
{
	enum { N = 20000 };
	struct flowtap_blocks *small =
		flowtap_blocks_new(flowtap_riscv_block, 1 << 16);
	struct flowtap_block **made = calloc(N, sizeof(*made)), *block;

	for (int i = 0; i < N; i++)
		put(self, rv_c_jr(1));
	for (int i = 0; i < N; i++)
		ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE + 2 * i, 0,
					     &made[i]),
			  0);
	for (int i = 0; i < N; i++) {
		ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE + 2 * i, 0,
					     &block),
			  0);
		ASSERT_EQ(block, made[i]);
		ASSERT_EQ(block->address, (uint64_t)BASE + 2 * i);
	}
	flowtap_blocks_free(small);
	free(made);
}

struct sum {
	uint64_t instructions;
	uint64_t blocks;
	uint64_t at;		/* executions of the block at BASE */
	uint64_t others;
	uint64_t evicted;
};

static void add(const struct flowtap_block *block, void *argument)
{
	struct sum *sum = argument;

	sum->instructions += block->executed * block->instructions;
	sum->blocks++;
	sum->evicted += !block->bytes;
	if (block->address == BASE && block->key == 7)
		sum->at += block->executed;
	if (!block->address && block->key == UINT32_MAX)
		sum->others += block->executed * block->instructions;
}

TEST_F(cache, the_limit_holds_and_what_was_counted_stays)
{
	enum { N = 3000, ROUNDS = 5, LIMIT = 1 << 18 };
	struct flowtap_blocks *small =
		flowtap_blocks_new(flowtap_riscv_block, LIMIT);
	struct flowtap_block *block;
	struct sum sum = { 0 };
	unsigned int fresh = 0;

	for (int i = 0; i < N; i++) {
		put(self, RV_C_NOP);
		put(self, rv_c_jr(1));
	}
	for (int i = 0; i < N * ROUNDS; i++) {
		flowtap_blocks_trim(small);
		ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64,
					     BASE + 4 * (i % N), 0, &block),
			  0);
		fresh += !block->executed;
		block->executed++;
	}
	/* 3000 blocks do not fit into 256 KiB, so they were made more than once. */
	EXPECT_GT(fresh, (unsigned int)N);
	flowtap_blocks_visit(small, add, &sum);
	EXPECT_EQ(sum.instructions, 2ULL * N * ROUNDS);
	EXPECT_EQ(sum.at, (uint64_t)ROUNDS);
	EXPECT_EQ(sum.others, 0U);
	EXPECT_LT(sum.blocks, 2ULL * N);
	/* They can be told from those that are there, each of which is one block. */
	EXPECT_GT(sum.evicted, 0U);
	EXPECT_LT(sum.evicted, sum.blocks);
	flowtap_blocks_free(small);
}

TEST_F(cache, counts_that_find_no_room_are_added_up_as_one)
{
	enum { N = 20000 };
	struct flowtap_blocks *small =
		flowtap_blocks_new(flowtap_riscv_block, 1 << 16);
	struct flowtap_block *block;
	struct sum sum = { 0 };

	for (int i = 0; i < N; i++)
		put(self, rv_c_jr(1));
	for (int i = 0; i < N; i++) {
		flowtap_blocks_trim(small);
		ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE + 2 * i, 0,
					     &block),
			  0);
		block->executed = 3;
	}
	flowtap_blocks_visit(small, add, &sum);
	EXPECT_EQ(sum.instructions, 3ULL * N);
	EXPECT_GT(sum.others, 0U);
	/* Half of 64 KiB for counts of 32 bytes, and what is in the cache. */
	EXPECT_LT(sum.blocks, 2048U);
	flowtap_blocks_free(small);
}

/* Keeps `size` bytes of its own with the block and returns them. */
static void *keep(struct flowtap_slot *slot, struct flowtap_block *block, size_t size)
{
	const struct flowtap_render made = { .bytes = malloc(size), .size = size };
	const struct flowtap_render *kept = flowtap_slot_keep(slot, block, &made, size);

	return kept->bytes == made.bytes && kept->size == size ? made.bytes : NULL;
}

TEST_F(cache, renderings_count_and_are_freed)
{
	struct flowtap_blocks *small =
		flowtap_blocks_new(flowtap_riscv_block, 1 << 20);
	struct flowtap_slot slots[] = {
		flowtap_blocks_slot(small, NULL), flowtap_blocks_slot(small, NULL),
	};
	struct flowtap_block *block;
	void *one, *other;

	put(self, rv_c_jr(1));
	ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE, 0, &block), 0);
	block->executed = 1;
	one = keep(&slots[0], block, 64);
	other = keep(&slots[1], block, 1 << 19);
	EXPECT_FALSE(flowtap_blocks_trim(small));
	ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE, 0, &block), 0);
	EXPECT_EQ(block->executed, 1U);
	EXPECT_FALSE(__asan_address_is_poisoned(one));
	EXPECT_FALSE(__asan_address_is_poisoned(other));
	flowtap_blocks_charge(small, 1 << 19);
	EXPECT_TRUE(flowtap_blocks_trim(small));
	EXPECT_TRUE(__asan_address_is_poisoned(one));
	EXPECT_TRUE(__asan_address_is_poisoned(other));
	ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE, 0, &block), 0);
	EXPECT_EQ(block->executed, 0U);
	EXPECT_EQ(flowtap_slot_find(&slots[0], block), NULL);
	EXPECT_EQ(flowtap_slot_find(&slots[1], block), NULL);
	/* The charge went with what was charged. */
	block->executed = 1;
	flowtap_blocks_trim(small);
	ASSERT_EQ(flowtap_blocks_get(small, &self->code, FLOWTAP_ISA_RV64, BASE, 0, &block), 0);
	EXPECT_EQ(block->executed, 1U);
	one = keep(&slots[0], block, 64);
	flowtap_blocks_free(small);
	EXPECT_TRUE(__asan_address_is_poisoned(one));
}

TEST_HARNESS_MAIN
