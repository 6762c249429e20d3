/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The records that a block becomes, made once and kept with it; what its last instruction is. */
#ifndef FLOWTAP_STF_RENDER_H
#define FLOWTAP_STF_RENDER_H

#include <flowtap/arm.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>

/*
 * flowtap_render.mark: the offset of the target, and whether the last instruction is one of those
 * of which there may be more to say, or less, than where a branch goes.
 */
#define STF_MARK_TARGET	0xffffffU
#define STF_MARK_APART	(1U << 31)

static inline bool stf_is_arm(unsigned int isa)
{
	return isa != FLOWTAP_ISA_RV64;
}

/* ecall, ebreak, xRET: what is said next may belong to it. */
static inline bool stf_is_trap(const struct flowtap_block *block)
{
	if (stf_is_arm(block->isa))
		return block->end == FLOWTAP_ARM_EXCEPTION_RETURN;
	return (uint8_t)(block->end - FLOWTAP_TRANSFER_EXCEPTION) <=
	       FLOWTAP_TRANSFER_TRAP_RETURN - FLOWTAP_TRANSFER_EXCEPTION;
}

static inline bool stf_returns(const struct flowtap_block *block)
{
	return stf_is_arm(block->isa) ? block->end == FLOWTAP_ARM_EXCEPTION_RETURN :
					block->end == FLOWTAP_TRANSFER_TRAP_RETURN;
}

/* A P0 instruction of Arm's that goes on behind itself. */
static inline bool stf_stays(const struct flowtap_block *block)
{
	return stf_is_arm(block->isa) &&
	       (block->end == FLOWTAP_ARM_OTHER || block->end == FLOWTAP_ARM_ISB ||
		block->end == FLOWTAP_ARM_WFX || block->end == FLOWTAP_ARM_TSTART);
}

/*
 * An Arm branch that leads to the address behind it: a decoder may have it as not taken, it was all
 * the same. In T32 it may be conditional and not know it (arm.h).
 */
static inline bool stf_goes_anyway(const struct flowtap_block *block)
{
	return (block->isa == FLOWTAP_ISA_A64 || block->isa == FLOWTAP_ISA_A32) &&
	       !stf_stays(block) && block->direct && !block->conditional &&
	       block->target == block->address + block->size;
}

/*
 * Renders the block unless that was done, or it is too long for that. blocks: charged for it; may
 * be NULL. 0; -EINVAL: it is not what it claims to be; -ENOMEM.
 */
int flowtap_stf_render(const struct flowtap_block *block, struct flowtap_blocks *blocks);

#endif /* FLOWTAP_STF_RENDER_H */
