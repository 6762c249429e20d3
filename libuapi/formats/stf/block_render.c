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

struct flowtap_slot flowtap_stf_slot(struct flowtap_blocks *blocks)
{
	static uint64_t kind;

	return flowtap_blocks_slot(blocks, &kind);
}

/*
 * Records of all instructions but the last, a target to fill in, the last; mark: the target. NULL:
 * no memory.
 */
static const struct flowtap_render *render(const struct flowtap_block *block,
					   struct flowtap_slot *slot, size_t records)
{
	size_t capacity = flowtap_write_buffer_padded(records + TARGET_SIZE + sizeof(uint64_t));
	uint8_t *bytes = calloc(1, capacity), *to = bytes;
	struct flowtap_render made = { .bytes = bytes };
	size_t at;

	if (!bytes)
		return NULL;
	for (at = 0; at < block->last; at += insn_size(block->isa, block->bytes + at))
		to = put_insn(to, block->isa, block->bytes + at);
	made.mark = (uint32_t)(to - bytes) | (uint32_t)block->isa << STF_MARK_ISA;
	if (end_is_trap(block) || end_falls_through(block) || end_branches_to_next(block))
		made.mark |= STF_MARK_APART;
	to = put_address(to, STF_INST_PC_TARGET, 0);
	to = put_insn(to, block->isa, block->bytes + at);
	made.size = to - bytes;
	return flowtap_slot_keep(slot, block, &made, capacity);
}

int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_slot *slot,
		       const struct flowtap_render **rendered)
{
	size_t records = (size_t)block->size + block->instructions;
	int error;

	*rendered = flowtap_slot_find(slot, block);
	if (*rendered)
		return 0;
	error = flowtap_block_check(block);
	if (error || records > RENDER_MAX)
		return error;
	*rendered = render(block, slot, records);
	return *rendered ? 0 : -ENOMEM;
}
