/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What sinks have to know of a block's instructions: how long they are, and what the last one does.
 */
#ifndef FLOWTAP_LIBUAPI_ISA_BLOCK_END_H
#define FLOWTAP_LIBUAPI_ISA_BLOCK_END_H

#include <flowtap/arm.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>

/* RISC-V Unprivileged 1.5; A64 and A32 have one size; T32: DDI 0487 F3.1. */
static inline size_t insn_size(unsigned int isa, const uint8_t *insn)
{
	if (isa == FLOWTAP_ISA_RV64)
		return (insn[0] & 3) == 3 ? 4 : 2;
	return isa != FLOWTAP_ISA_T32 || insn[1] >= 0xe8 ? 4 : 2;
}

static inline bool isa_is_arm(unsigned int isa)
{
	return isa != FLOWTAP_ISA_RV64;
}

/* ecall, ebreak, xRET: what is said next may belong to it. */
static inline bool end_is_trap(const struct flowtap_block *block)
{
	if (isa_is_arm(block->isa))
		return block->end == FLOWTAP_ARM_EXCEPTION_RETURN;
	return (uint8_t)(block->end - FLOWTAP_TRANSFER_EXCEPTION) <=
	       FLOWTAP_TRANSFER_TRAP_RETURN - FLOWTAP_TRANSFER_EXCEPTION;
}

static inline bool end_returns(const struct flowtap_block *block)
{
	return isa_is_arm(block->isa) ? block->end == FLOWTAP_ARM_EXCEPTION_RETURN :
					block->end == FLOWTAP_TRANSFER_TRAP_RETURN;
}

/* A P0 instruction of Arm's that goes on after itself. */
static inline bool end_falls_through(const struct flowtap_block *block)
{
	return isa_is_arm(block->isa) &&
	       (block->end == FLOWTAP_ARM_OTHER || block->end == FLOWTAP_ARM_ISB ||
		block->end == FLOWTAP_ARM_WFX || block->end == FLOWTAP_ARM_TSTART);
}

/*
 * An Arm branch that leads to the address after it: a decoder may have it as not taken, it was all
 * the same. In T32 it may be conditional and not know it (arm.h).
 */
static inline bool end_branches_to_next(const struct flowtap_block *block)
{
	return (block->isa == FLOWTAP_ISA_A64 || block->isa == FLOWTAP_ISA_A32) &&
	       !end_falls_through(block) && block->direct && !block->conditional &&
	       block->target == block->address + block->size;
}

/*
 * The bytes are as many instructions as the block says, and `last` is where the last one begins: 0;
 * else -EINVAL, also where no instruction can be at that address.
 */
int flowtap_block_check(const struct flowtap_block *block);

#endif /* FLOWTAP_LIBUAPI_ISA_BLOCK_END_H */
