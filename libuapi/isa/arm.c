// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Arm instructions: what is the same in A64, A32 and T32, and the blocks they make. */
#include <errno.h>
#include <flowtap/arm.h>

#include "isa/arm_internal.h"

static const char *const names[] = {
	[FLOWTAP_ARM_OTHER] = "no branch",
	[FLOWTAP_ARM_BRANCH] = "branch",
	[FLOWTAP_ARM_CALL] = "call",
	[FLOWTAP_ARM_INDIRECT] = "indirect branch",
	[FLOWTAP_ARM_INDIRECT_CALL] = "indirect call",
	[FLOWTAP_ARM_RETURN] = "return",
	[FLOWTAP_ARM_EXCEPTION_RETURN] = "exception return",
	[FLOWTAP_ARM_ISB] = "instruction barrier",
	[FLOWTAP_ARM_WFX] = "wait",
	[FLOWTAP_ARM_TSTART] = "transaction start",
};

const char *flowtap_arm_class_name(unsigned int class)
{
	return class < FLOWTAP_ARM_CLASSES ? names[class] : NULL;
}

static uint32_t half(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8;
}

static uint32_t word(const uint8_t *bytes)
{
	return half(bytes) | half(bytes + 2) << 16;
}

/* F3.1: a first halfword of 0b11101, 0b11110 or 0b11111 has a second one. */
static bool is_wide(uint32_t first)
{
	return first >= 0xe800;
}

static int classify_t32(uint64_t address, const uint8_t *bytes, size_t available,
			struct flowtap_arm_insn *insn)
{
	uint32_t opcode;

	if (available < 2)
		return -ENODATA;
	opcode = half(bytes);
	insn->length = 2;
	if (is_wide(opcode)) {
		if (available < 4)
			return -ENODATA;
		opcode = opcode << 16 | half(bytes + 2);
		insn->length = 4;
	}
	flowtap_arm_t32(address, opcode, insn);
	return 0;
}

int flowtap_arm_classify(enum flowtap_isa isa, uint64_t address, uint8_t it, const uint8_t *bytes,
			 size_t available, struct flowtap_arm_insn *insn)
{
	int status;

	*insn = (struct flowtap_arm_insn){ .length = 4, .target_isa = isa };
	switch (isa) {
	case FLOWTAP_ISA_A64:
	case FLOWTAP_ISA_A32:
		if (available < 4)
			return -ENODATA;
		if (isa == FLOWTAP_ISA_A64)
			flowtap_arm_a64(address, word(bytes), insn);
		else
			flowtap_arm_a32(address, word(bytes), insn);
		break;
	case FLOWTAP_ISA_T32:
		insn->it = it;
		status = classify_t32(address, bytes, available, insn);
		if (status)
			return status;
		break;
	default:
		return -EINVAL;
	}
	insn->link = insn->kind == FLOWTAP_ARM_CALL || insn->kind == FLOWTAP_ARM_INDIRECT_CALL;
	return 0;
}

/*
 * Whether the block ends before the instruction at `offset`: a BF in it announced a branch, and this
 * is the instruction at the branch point (an offset), or a P0 instruction that comes before it.
 */
static bool ends_before(const struct flowtap_block *block, uint64_t branch_point, uint64_t offset,
			const struct flowtap_arm_insn *insn, bool p0)
{
	return block->branch_future && (p0 || offset + insn->length > branch_point);
}

static int make_block(struct flowtap_block *block, const uint8_t *bytes, size_t available, bool wfx)
{
	uint64_t limit = flowtap_block_max_size(block->address, block->stop);
	uint64_t branch_point = UINT64_MAX, offset = 0;
	struct flowtap_arm_insn insn = { 0 };
	bool ends, undefined;
	int status;

	block->instructions = 0;
	block->branch_future = false;
	do {
		status = flowtap_arm_classify(block->isa, block->address + offset, insn.it,
					      bytes + offset, available - offset, &insn);
		if (status)
			return status;
		ends = insn.kind != FLOWTAP_ARM_OTHER && (wfx || insn.kind != FLOWTAP_ARM_WFX);
		if (ends_before(block, branch_point, offset, &insn, ends)) {
			ends = false;
			break;
		}
		if (insn.branch_point) {
			block->branch_future = true;
			if (offset + insn.branch_point < branch_point)
				branch_point = offset + insn.branch_point;
		}
		block->last = offset;
		block->instructions++;
		undefined = block->isa == FLOWTAP_ISA_A64 && arm_is_udf(word(bytes + offset));
		offset += insn.length;
	} while (!ends && !undefined && offset < limit && offset < branch_point);
	if (block->stop && offset > block->stop - block->address)
		return -EILSEQ;
	block->size = offset;
	block->end = FLOWTAP_ARM_OTHER;
	block->conditional = false;
	block->direct = false;
	block->link = false;
	block->target = 0;
	if (!ends)
		return 0;
	block->end = insn.kind;
	block->conditional = insn.conditional;
	block->direct = insn.direct;
	block->link = insn.link;
	block->target = insn.target;
	block->target_isa = insn.target_isa;
	return 0;
}

int flowtap_arm_block(struct flowtap_block *block, const uint8_t *bytes, size_t available)
{
	return make_block(block, bytes, available, false);
}

int flowtap_arm_block_wfx(struct flowtap_block *block, const uint8_t *bytes, size_t available)
{
	return make_block(block, bytes, available, true);
}
