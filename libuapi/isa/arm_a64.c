// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A64. Everything an analyzer has to know lies in one group of the top level encodings, "Branches,
 * Exception Generating and System instructions" (DDI 0487 C4.1): bits 28:26 are 101.
 *
 * No P0 instructions, so not in the table: what takes an exception, reported by Exception elements
 * (SVC, HVC, SMC, BRK, HLT, UDF, DCPS<n>, TCANCEL, and TENTER of FEAT_TEV); DRPS, which exists in
 * Debug state only, where nothing is traced; TCOMMIT and TTEST; the other barriers.
 */
#include "isa/arm_internal.h"

enum form {
	NEXT_INSN,	/* the address after it */
	INDIRECT,
	IMM26,
	IMM19,
	IMM19_CONDITION,	/* and a condition in bits 3:0 */
	IMM14,
	IMM9,
};

static const struct arm_row rows[] = {
	{ 0xfc000000, 0x14000000, FLOWTAP_ARM_BRANCH, IMM26 },		/* B */
	{ 0xfc000000, 0x94000000, FLOWTAP_ARM_CALL, IMM26 },		/* BL */
	{ 0xff000000, 0x54000000, FLOWTAP_ARM_BRANCH, IMM19_CONDITION }, /* B.cond, BC.cond */
	{ 0x7e000000, 0x34000000, FLOWTAP_ARM_BRANCH, IMM19 },		/* CBZ, CBNZ */
	{ 0x7e000000, 0x36000000, FLOWTAP_ARM_BRANCH, IMM14 },		/* TBZ, TBNZ */
	/* FEAT_CMPBR. The condition, bits 23:21, may be anything but 10x: two rows each. */
	{ 0x7f80c000, 0x74000000, FLOWTAP_ARM_BRANCH, IMM9 },		/* CB<cc> (register) */
	{ 0x7fc0c000, 0x74c00000, FLOWTAP_ARM_BRANCH, IMM9 },
	{ 0xff808000, 0x74008000, FLOWTAP_ARM_BRANCH, IMM9 },		/* CBB<cc>, CBH<cc> */
	{ 0xffc08000, 0x74c08000, FLOWTAP_ARM_BRANCH, IMM9 },
	{ 0x7f804000, 0x75000000, FLOWTAP_ARM_BRANCH, IMM9 },		/* CB<cc> (immediate) */
	{ 0x7fc04000, 0x75c00000, FLOWTAP_ARM_BRANCH, IMM9 },
	{ 0xfffffc1f, 0xd61f0000, FLOWTAP_ARM_INDIRECT, INDIRECT },	/* BR */
	{ 0xfffff81f, 0xd61f081f, FLOWTAP_ARM_INDIRECT, INDIRECT },	/* BRAAZ, BRABZ */
	{ 0xfffff800, 0xd71f0800, FLOWTAP_ARM_INDIRECT, INDIRECT },	/* BRAA, BRAB */
	{ 0xfffffc1f, 0xd63f0000, FLOWTAP_ARM_INDIRECT_CALL, INDIRECT }, /* BLR */
	{ 0xfffff81f, 0xd63f081f, FLOWTAP_ARM_INDIRECT_CALL, INDIRECT }, /* BLRAAZ, BLRABZ */
	{ 0xfffff800, 0xd73f0800, FLOWTAP_ARM_INDIRECT_CALL, INDIRECT }, /* BLRAA, BLRAB */
	{ 0xfffffc1f, 0xd65f0000, FLOWTAP_ARM_RETURN, INDIRECT },	/* RET */
	/* RETAA, RETAB; with a register, RETAASPPCR, RETABSPPCR (FEAT_PAuth_LR). */
	{ 0xfffffbe0, 0xd65f0be0, FLOWTAP_ARM_RETURN, INDIRECT },
	/* The immediate says where the return address was signed, not where it goes. */
	{ 0xffc0001f, 0x5500001f, FLOWTAP_ARM_RETURN, INDIRECT },	/* RETAASPPC, RETABSPPC */
	{ 0xffffffff, 0xd69f03e0, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT }, /* ERET */
	{ 0xfffffbff, 0xd69f0bff, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT }, /* ERETAA, ERETAB */
	{ 0xfffffbff, 0xd6ff03e0, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT }, /* TEXIT {NB} */
	{ 0xfffff0ff, 0xd50330df, FLOWTAP_ARM_ISB, NEXT_INSN },
	{ 0xffffffdf, 0xd503205f, FLOWTAP_ARM_WFX, NEXT_INSN },		/* WFE, WFI */
	{ 0xffffffc0, 0xd5031000, FLOWTAP_ARM_WFX, NEXT_INSN },		/* WFET, WFIT */
	{ 0xffffffe0, 0xd5233060, FLOWTAP_ARM_TSTART, NEXT_INSN },
};

void flowtap_arm_a64(uint64_t address, uint32_t word, struct flowtap_arm_insn *insn)
{
	const struct arm_row *row;
	int64_t offset = 4;

	if ((word & 0x1c000000) != 0x14000000)
		return;
	row = arm_find(rows, sizeof(rows) / sizeof(rows[0]), word);
	if (!row)
		return;
	switch ((enum form)row->form) {
	case NEXT_INSN:
	case INDIRECT:
		break;
	case IMM26:
		offset = arm_signed(word, 26) * 4;
		break;
	case IMM19_CONDITION:
		/* AL and NV always hold (ConditionHolds()). */
		insn->conditional = (word & 0xe) != 0xe;
		offset = arm_signed(word >> 5, 19) * 4;
		break;
	case IMM19:
		insn->conditional = true;
		offset = arm_signed(word >> 5, 19) * 4;
		break;
	case IMM14:
		insn->conditional = true;
		offset = arm_signed(word >> 5, 14) * 4;
		break;
	case IMM9:
		insn->conditional = true;
		offset = arm_signed(word >> 5, 9) * 4;
		break;
	}
	insn->kind = row->class;
	insn->direct = row->form != INDIRECT;
	if (insn->direct)
		insn->target = address + offset;
}
