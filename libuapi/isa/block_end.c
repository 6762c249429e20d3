// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Measures a block's instructions, which have to make up its size. */
#include "isa/block_end.h"

#include <errno.h>

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

int flowtap_block_check(const struct flowtap_block *block)
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
	return at == block->size && n == block->instructions && last == block->last ? 0 : -EINVAL;
}
