/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Where a block ends, which is where execution goes on when its branch is not taken. */
#ifndef FLOWTAP_LIBUAPI_ETE_NEXT_ADDRESS_H
#define FLOWTAP_LIBUAPI_ETE_NEXT_ADDRESS_H

#include <flowtap/block.h>

/* The address after its last instruction; of 32 bits in AArch32. */
static inline uint64_t ete_block_end(const struct flowtap_block *block)
{
	uint64_t end = block->address + block->size;

	return block->isa == FLOWTAP_ISA_A64 ? end : (uint32_t)end;
}

#endif /* FLOWTAP_LIBUAPI_ETE_NEXT_ADDRESS_H */
