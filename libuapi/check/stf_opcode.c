// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Classifies an opcode as RISC-V's or Arm's, by the encodings of the STF's header. */
#include "check/stf_opcode.h"

#include "formats/stf/records.h"

#include <flowtap/arm.h>
#include <flowtap/riscv.h>

#define IEM_RV32	1

static const struct stf_ability unknown;

/*
 * What may branch, and is no branch of RV64GC: RV32's C.JAL; of the encodings of C.FSDSP Zcmt's
 * CM.JT and CM.JALT, Zcmp's CM.POPRETZ and CM.POPRET, which RV64 without Zcd has as well.
 */
static bool may_branch(bool rv32, const uint8_t *opcode)
{
	unsigned int half = opcode[0] | opcode[1] << 8;

	if (rv32 && (half & 0xe003) == 0x2001)
		return true;
	return (half & 0xe003) == 0xa002 && (!(half >> 10 & 7) || (half >> 8 & 0x1d) == 0x1c);
}

/* Where it may be other than RV64GC nothing is known. */
static struct stf_ability riscv_ability(bool rv32, uint64_t pc, const uint8_t *opcode, size_t size)
{
	struct flowtap_riscv_insn insn;
	bool jumps, returns;
	uint64_t target;

	if (size == 2 && may_branch(rv32, opcode))
		return unknown;
	if (flowtap_riscv_classify(opcode, size, &insn) || insn.length != size)
		return unknown;
	jumps = insn.transfer != FLOWTAP_TRANSFER_NONE && insn.cause < 0 &&
		insn.transfer != FLOWTAP_TRANSFER_RECORDING;
	returns = insn.transfer == FLOWTAP_TRANSFER_TRAP_RETURN;
	target = pc + (uint64_t)(int64_t)insn.offset;
	/* Of 32 bits, whatever the upper ones are. */
	if (rv32)
		target = (pc & ~(uint64_t)UINT32_MAX) | (uint32_t)target;
	return (struct stf_ability){
		.known = true,
		.branches = jumps,
		.must = jumps && !insn.conditional && !returns,
		.direct = insn.direct,
		.target = target,
		.returns = returns,
		.nowhere = returns,
	};
}

/* As it is in memory (formats/stf/records.h). */
static int classify(enum flowtap_isa isa, uint64_t pc, const uint8_t *opcode, size_t size,
		    struct flowtap_arm_insn *insn)
{
	uint8_t halves[4];

	if (isa != FLOWTAP_ISA_T32 || size != 4)
		return flowtap_arm_classify(isa, pc, 0, opcode, size, insn);
	memcpy(halves, opcode + 2, 2);
	memcpy(halves + 2, opcode, 2);
	return flowtap_arm_classify(isa, pc, 0, halves, size, insn);
}

/*
 * What is in an IT block, and so conditional, is not known. Nor are all branches, among those of
 * A64 that go by a register least of all: only of its other groups it is certain that nothing
 * branches (DDI 0487 C4.1).
 */
static struct stf_ability arm_ability(enum flowtap_isa isa, uint64_t pc, const uint8_t *opcode,
				      size_t size)
{
	struct flowtap_arm_insn insn;
	bool next_only, branches, always;

	if (classify(isa, pc, opcode, size, &insn) || insn.length != size)
		return unknown;
	if (insn.kind == FLOWTAP_ARM_OTHER && isa == FLOWTAP_ISA_A64 && opcode[3] >> 1 == 0x6b)
		return unknown;
	next_only = insn.kind == FLOWTAP_ARM_ISB || insn.kind == FLOWTAP_ARM_WFX ||
		 insn.kind == FLOWTAP_ARM_TSTART;
	branches = !next_only && insn.kind != FLOWTAP_ARM_OTHER;
	always = branches && !insn.conditional && isa != FLOWTAP_ISA_T32;
	return (struct stf_ability){
		.known = true,
		.branches = branches || (!next_only && (isa != FLOWTAP_ISA_A64 ||
							(opcode[3] >> 2 & 7) == 5)),
		.must = always && insn.direct,
		.direct = branches && insn.direct,
		.target = insn.target,
		.returns = insn.kind == FLOWTAP_ARM_EXCEPTION_RETURN,
		.nowhere = always && !insn.direct,
	};
}

struct stf_ability flowtap_stf_ability(const struct stf_encoding *encoding, uint64_t pc,
				       const uint8_t *opcode, size_t size)
{
	if (encoding->isa == ISA_RISCV)
		return riscv_ability(encoding->iem == IEM_RV32, pc, opcode, size);
	if (encoding->isa == ISA_ARM && encoding->arm != FLOWTAP_ISA_RV64)
		return arm_ability(encoding->arm, pc, opcode, size);
	return unknown;
}

bool flowtap_stf_right_length(const struct stf_encoding *encoding, const uint8_t *opcode,
			      size_t size)
{
	if (encoding->isa == ISA_RISCV)
		return ((opcode[0] & 3) == 3) == (size == 4) && (opcode[0] & 0x1f) != 0x1f;
	if (encoding->isa != ISA_ARM || encoding->arm == FLOWTAP_ISA_RV64)
		return true;
	if (encoding->arm != FLOWTAP_ISA_T32)
		return size == 4;
	return (opcode[size - 1] >= 0xe8) == (size == 4);
}
