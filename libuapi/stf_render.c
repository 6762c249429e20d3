// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include "stf_render.h"

#include "out.h"
#include "stf_records.h"

#include <errno.h>
#include <stdlib.h>

/* Longer blocks are written instruction by instruction and nothing is kept of them. */
#define RENDER_MAX	(64U << 10)
_Static_assert(RENDER_MAX + LAST_MAX <= STF_MARK_TARGET, "a mark has room for any offset");

/* One that RISC-V does not have (longer than 32 bits), or at an address where Arm has none. */
static bool impossible(const struct flowtap_block *block, size_t at)
{
	switch (block->isa) {
	case FLOWTAP_ISA_RV64:
		return (block->bytes[at] & 0x1f) == 0x1f;
	case FLOWTAP_ISA_T32:
		return false;
	default:
		return block->address & 3;
	}
}

/* The bytes are as many instructions as the block says, and `last` is where the last one begins. */
static int check(const struct flowtap_block *block, size_t *records)
{
	size_t at = 0, last = 0;
	uint32_t n;

	if (block->address & 1 || !block->instructions)
		return -EINVAL;
	for (n = 0; at < block->size; n++) {
		if (block->size - at < 2 || impossible(block, at))
			return -EINVAL;
		last = at;
		at += insn_size(block->isa, block->bytes + at);
	}
	*records = at + n;
	return at == block->size && n == block->instructions && last == block->last ? 0 : -EINVAL;
}

/* Records of all instructions but the last, a target to fill in, the last; mark: the target. */
static int render(const struct flowtap_block *block, struct flowtap_blocks *blocks, size_t records)
{
	/* The slot is the sink's: what it holds is no part of the block's value. */
	struct flowtap_render *slot = (void *)&block->render[FLOWTAP_RENDER_STF];
	size_t room = flowtap_out_padded(records + TARGET_SIZE + sizeof(uint64_t));
	uint8_t *bytes = calloc(1, room), *to = bytes;
	size_t at;

	if (!bytes)
		return -ENOMEM;
	for (at = 0; at < block->last; at += insn_size(block->isa, block->bytes + at))
		to = put_insn(to, block->isa, block->bytes + at);
	slot->mark = to - bytes;
	if (stf_is_trap(block) || stf_stays(block) || stf_goes_anyway(block))
		slot->mark |= STF_MARK_APART;
	to = put_address(to, STF_INST_PC_TARGET, 0);
	to = put_insn(to, block->isa, block->bytes + at);
	slot->size = to - bytes;
	slot->bytes = bytes;
	if (blocks)
		flowtap_blocks_charge(blocks, room);
	return 0;
}

int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_blocks *blocks)
{
	size_t records;
	int error;

	if (block->render[FLOWTAP_RENDER_STF].bytes)
		return 0;
	error = check(block, &records);
	if (error || records > RENDER_MAX)
		return error;
	return render(block, blocks, records);
}
