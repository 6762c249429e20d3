// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Makes the records of a block's instructions once, with a target address to be filled in before
 * the last one.
 */
#include "formats/stf/block_render.h"

#include "base/write_buffer.h"
#include "formats/stf/records.h"

#include <errno.h>
#include <stdlib.h>

/* Longer blocks are written instruction by instruction and nothing is kept of them. */
#define RENDER_MAX	(64U << 10)
_Static_assert(RENDER_MAX + LAST_MAX <= STF_MARK_TARGET, "a mark has room for any offset");

/* Records of all instructions but the last, a target to fill in, the last; mark: the target. */
static int render(const struct flowtap_block *block, struct flowtap_blocks *blocks, size_t records)
{
	/* The slot is the sink's: what it holds is no part of the block's value. */
	struct flowtap_render *slot = (void *)&block->render[FLOWTAP_RENDER_STF];
	size_t capacity = flowtap_write_buffer_padded(records + TARGET_SIZE + sizeof(uint64_t));
	uint8_t *bytes = calloc(1, capacity), *to = bytes;
	size_t at;

	if (!bytes)
		return -ENOMEM;
	for (at = 0; at < block->last; at += insn_size(block->isa, block->bytes + at))
		to = put_insn(to, block->isa, block->bytes + at);
	slot->mark = to - bytes;
	if (end_is_trap(block) || end_stays(block) || end_goes_anyway(block))
		slot->mark |= STF_MARK_APART;
	to = put_address(to, STF_INST_PC_TARGET, 0);
	to = put_insn(to, block->isa, block->bytes + at);
	slot->size = to - bytes;
	slot->bytes = bytes;
	if (blocks)
		flowtap_blocks_charge(blocks, capacity);
	return 0;
}

int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_blocks *blocks)
{
	size_t records = (size_t)block->size + block->instructions;
	int error;

	if (block->render[FLOWTAP_RENDER_STF].bytes)
		return 0;
	error = flowtap_block_check(block);
	if (error || records > RENDER_MAX)
		return error;
	return render(block, blocks, records);
}
