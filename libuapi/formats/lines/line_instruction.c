// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Classifies an instruction by its opcode: whether it calls, returns or ends a block, and whether
 * its address and size are possible.
 */
#include "formats/lines/line_instruction.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/riscv.h>

static uint32_t opcode(const struct line_instruction *insn)
{
	const uint8_t *bytes = insn->bytes;
	uint32_t low = bytes[0] | (uint32_t)bytes[1] << 8;
	uint32_t high = bytes[2] | (uint32_t)bytes[3] << 8;

	if (insn->size == 2)
		return low;
	return insn->isa == FLOWTAP_ISA_T32 ? low << 16 | high : high << 16 | low;
}

bool line_is_call(const struct line_instruction *insn)
{
	uint32_t op = opcode(insn);

	switch (insn->isa) {
	case FLOWTAP_ISA_RV64:		/* ecall, ebreak, c.ebreak */
		return op == 0x73 || op == 0x100073 || (insn->size == 2 && op == 0x9002);
	case FLOWTAP_ISA_A64:		/* SVC, HVC, SMC */
		return (op & 0xffe0001c) == 0xd4000000 && op & 3;
	case FLOWTAP_ISA_A32:
		return (op >> 28 != 0xf && (op & 0x0f000000) == 0x0f000000) ||
		       (op & 0x0ff000f0) == 0x01400070 || (op & 0x0ff000f0) == 0x01600070;
	default:
		return insn->size == 2 ? op >> 8 == 0xdf : (op & 0xffe0f000) == 0xf7e08000;
	}
}

bool line_is_return(const struct line_instruction *insn)
{
	uint32_t op = opcode(insn);

	if (insn->isa == FLOWTAP_ISA_RV64)	/* sret, mret, mnret */
		return op == 0x10200073 || op == 0x30200073 || op == 0x70200073;
	return insn->isa == FLOWTAP_ISA_A64 && ((op & 0xfffff3ff) == 0xd69f03e0 ||
		(op & 0xfffffbff) == 0xd69f0bff || (op & 0xfffffbff) == 0xd6ff03e0);
}

struct line_end line_end_of(const struct line_instruction *insn)
{
	struct flowtap_riscv_insn riscv;
	struct flowtap_arm_insn arm;

	if (insn->isa == FLOWTAP_ISA_RV64) {
		if (flowtap_riscv_classify(insn->bytes, insn->size, &riscv))
			return (struct line_end){ .ends = true, .falls_through = true };
		return (struct line_end){
			.ends = riscv.transfer != FLOWTAP_TRANSFER_NONE,
			.falls_through = riscv.conditional ||
					 riscv.transfer == FLOWTAP_TRANSFER_RECORDING,
			.direct = riscv.direct,
			.target = insn->address + (uint64_t)(int64_t)riscv.offset,
		};
	}
	if (flowtap_arm_classify(insn->isa, insn->address, 0, insn->bytes, insn->size, &arm) ||
	    arm.kind == FLOWTAP_ARM_OTHER || arm.kind == FLOWTAP_ARM_WFX)
		return (struct line_end){ 0 };
	return (struct line_end){
		.ends = true,
		.falls_through = insn->skipped || arm.conditional || arm.kind >= FLOWTAP_ARM_ISB,
		.direct = arm.direct,
		.target = arm.target,
	};
}

int line_instruction_check(const struct line_instruction *insn)
{
	uint64_t align = insn->isa == FLOWTAP_ISA_A64 || insn->isa == FLOWTAP_ISA_A32 ? 3 : 1;
	uint64_t end = insn->isa == FLOWTAP_ISA_A32 || insn->isa == FLOWTAP_ISA_T32 ?
		       1ULL << 32 : UINT64_MAX - 3;
	unsigned int size = 4;

	if (insn->address & align || insn->address > end - insn->size)
		return -EINVAL;
	if (insn->isa == FLOWTAP_ISA_T32)
		size = insn->bytes[1] >= 0xe8 ? 4 : 2;
	else if (insn->isa == FLOWTAP_ISA_RV64)
		size = (insn->bytes[0] & 3) != 3 ? 2 : (insn->bytes[0] & 0x1c) != 0x1c ? 4 : 0;
	return insn->size == size ? 0 : -EILSEQ;
}
