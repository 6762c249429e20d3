// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * T32 (DDI 0487 F3.1), of one halfword and of two; ITSTATE as ITAdvance() has it.
 *
 * Bits that should be 0 or 1 are not looked at; see arm_a32.c for what is UNPREDICTABLE.
 */
#include "isa/arm_internal.h"

enum form {
	NOT,		/* no P0 instruction, and no row below matters */
	NEXT_INSN,	/* the address after it */
	INDIRECT,
	B_T1,		/* the encodings of B */
	B_T2,
	B_T3,
	B_T4,		/* and of BL */
	BLX,		/* goes to A32 */
	CBZ,
	LOOP_BACK,	/* Armv8.1-M's low-overhead loops: to their begin */
	LOOP_ALWAYS,	/* ... of which nobody counts the rounds */
	LOOP_OVER,	/* ... past their end */
};

static const struct arm_row narrow[] = {
	{ 0xfffffff8, 0x4770, FLOWTAP_ARM_RETURN, INDIRECT },		/* BX LR */
	{ 0xffffff80, 0x4700, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* BX */
	{ 0xffffff80, 0x4780, FLOWTAP_ARM_INDIRECT_CALL, INDIRECT },	/* BLX */
	{ 0xffffffff, 0x46f7, FLOWTAP_ARM_RETURN, INDIRECT },		/* MOV PC, LR */
	{ 0xffffff87, 0x4687, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* MOV PC, Rm */
	{ 0xffffff87, 0x4487, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* ADD PC, Rm */
	{ 0xfffff500, 0xb100, FLOWTAP_ARM_BRANCH, CBZ },		/* CBZ, CBNZ */
	{ 0xffffff00, 0xbd00, FLOWTAP_ARM_RETURN, INDIRECT },		/* POP {.., PC} */
	{ 0xffffffef, 0xbf20, FLOWTAP_ARM_WFX, NEXT_INSN },		/* WFE, WFI */
	{ 0xfffffe00, 0xde00, FLOWTAP_ARM_OTHER, NOT },			/* UDF, SVC */
	{ 0xfffff000, 0xd000, FLOWTAP_ARM_BRANCH, B_T1 },
	{ 0xfffff800, 0xe000, FLOWTAP_ARM_BRANCH, B_T2 },
};

static const struct arm_row wide[] = {
	/* Branches and miscellaneous control. */
	{ 0xf800d000, 0xf000d000, FLOWTAP_ARM_CALL, B_T4 },			/* BL */
	{ 0xf800d001, 0xf000c000, FLOWTAP_ARM_CALL, BLX },
	{ 0xfffff001, 0xf02fc001, FLOWTAP_ARM_BRANCH, LOOP_ALWAYS },		/* LE <label> */
	{ 0xfffff001, 0xf00fc001, FLOWTAP_ARM_BRANCH, LOOP_BACK },		/* LE LR, <label> */
	{ 0xfffff001, 0xf01fc001, FLOWTAP_ARM_BRANCH, LOOP_BACK },		/* LETP */
	{ 0xffc0f001, 0xf000c001, FLOWTAP_ARM_BRANCH, LOOP_OVER },		/* WLSTP */
	{ 0xfff0f001, 0xf040c001, FLOWTAP_ARM_BRANCH, LOOP_OVER },		/* WLS */
	{ 0xf800d000, 0xf0009000, FLOWTAP_ARM_BRANCH, B_T4 },
	{ 0xffffd000, 0xf3ce8000, FLOWTAP_ARM_RETURN, INDIRECT },		/* BXJ LR, as BX */
	{ 0xfff0d000, 0xf3c08000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* BXJ */
	{ 0xfff0d000, 0xf3d08000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT }, /* ERET, SUBS PC, LR */
	{ 0xfff0d7fe, 0xf3a08002, FLOWTAP_ARM_WFX, NEXT_INSN },			/* WFE.W, WFI.W */
	{ 0xfff0d0f0, 0xf3b08060, FLOWTAP_ARM_ISB, NEXT_INSN },
	{ 0xfb80d000, 0xf3808000, FLOWTAP_ARM_OTHER, NOT },	/* a condition of 111x */
	{ 0xf800d000, 0xf0008000, FLOWTAP_ARM_BRANCH, B_T3 },
	/* Load multiple, table branch. */
	{ 0xffff8000, 0xe8bd8000, FLOWTAP_ARM_RETURN, INDIRECT },		/* POP.W {.., PC} */
	{ 0xffff0000, 0xe89f0000, FLOWTAP_ARM_OTHER, NOT },			/* CLRM {.., APSR} */
	{ 0xffd08000, 0xe8908000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDM {.., PC} */
	{ 0xffd08000, 0xe9108000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDMDB {.., PC} */
	{ 0xffd00000, 0xe8100000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* RFEDB */
	{ 0xffd00000, 0xe9900000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* RFEIA */
	{ 0xfff000e0, 0xe8d00000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* TBB, TBH */
	/* Load word. */
	{ 0xff7ff000, 0xf85ff000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDR PC, <label> */
	{ 0xfff0f000, 0xf8d0f000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* T3 */
	{ 0xffffff00, 0xf85dfb00, FLOWTAP_ARM_RETURN, INDIRECT },	/* LDR PC, [SP], #n: POP */
	{ 0xfff0fd00, 0xf850f900, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* T4: post-indexed */
	{ 0xfff0fd00, 0xf850fd00, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* T4: pre-indexed */
	{ 0xfff0ff00, 0xf850fc00, FLOWTAP_ARM_INDIRECT, INDIRECT },	/* T4: [Rn, #-n]; +: LDRT */
	{ 0xfff0ffc0, 0xf850f000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* [Rn, Rm, LSL #n] */
	/* PACBTI-M. */
	{ 0xffff0ff0, 0xfb5e0f10, FLOWTAP_ARM_RETURN, INDIRECT },		/* BXAUT Ra, LR, Rm */
	{ 0xfff00ff0, 0xfb500f10, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* BXAUT */
	{ 0xffff0fff, 0xee070f95, FLOWTAP_ARM_ISB, NEXT_INSN },	/* MCR p15, 0, Rt, c7, c5, 4 */
};

/* S:I1:I2:imm10:imm11:0, where I<n> is NOT(J<n> EOR S). */
static int64_t offset_t4(uint32_t word)
{
	uint32_t s = arm_field(word, 26, 1);
	uint32_t i1 = arm_field(word, 13, 1) ^ s ^ 1;
	uint32_t i2 = arm_field(word, 11, 1) ^ s ^ 1;

	return arm_signed(s << 24 | i1 << 23 | i2 << 22 | arm_field(word, 16, 10) << 12 |
			  arm_field(word, 0, 11) << 1, 25);
}

/* imm10:imm1:0 of WLS and LE, without a sign. */
static uint32_t offset_loop(uint32_t word)
{
	return arm_field(word, 1, 10) << 2 | arm_field(word, 11, 1) << 1;
}

/* S:J2:J1:imm6:imm11:0 */
static int64_t offset_t3(uint32_t word)
{
	return arm_signed(arm_field(word, 26, 1) << 20 | arm_field(word, 11, 1) << 19 |
			  arm_field(word, 13, 1) << 18 | arm_field(word, 16, 6) << 12 |
			  arm_field(word, 0, 11) << 1, 21);
}

static uint8_t it_advance(uint8_t it)
{
	return it & 7 ? (it & 0xe0) | (it << 1 & 0x1f) : 0;
}

static bool is_it(uint32_t word)
{
	return (word & 0xffffff00) == 0xbf00 && word & 0xf;
}

static const struct arm_row *find(uint32_t word, unsigned int length)
{
	if (length == 2)
		return arm_find(narrow, sizeof(narrow) / sizeof(narrow[0]), word);
	return arm_find(wide, sizeof(wide) / sizeof(wide[0]), word);
}

/*
 * BFL, or BF, BFX, BFLX and BFCSEL: bytes to the branch point, which is PC + boff:0; no other
 * instruction has a boff that is not 0. 0: it is none.
 */
static uint8_t branch_point(uint32_t word, unsigned int length)
{
	const uint32_t boff = arm_field(word, 23, 4);

	if (length != 4 || !boff || (word & 0xf800d001) != 0xf000c001)
		return 0;
	return (uint8_t)(4 + 2 * boff);
}

void flowtap_arm_t32(uint32_t address, uint32_t word, struct flowtap_arm_insn *insn)
{
	const struct arm_row *row = find(word, insn->length);
	/* The condition AL always holds, in an IT block as well. */
	bool conditional = insn->it & 0xf && insn->it < 0xe0;
	uint32_t target = address + 4;

	insn->it = is_it(word) ? (uint8_t)word : it_advance(insn->it);
	if (!row)
		insn->branch_point = branch_point(word, insn->length);
	if (!row || row->form == NOT)
		return;
	switch ((enum form)row->form) {
	case NOT:
	case INDIRECT:
		break;
	case NEXT_INSN:
		target = address + insn->length;
		break;
	case B_T1:
		conditional = true;
		target += arm_signed(word, 8) * 2;
		break;
	case B_T2:
		target += arm_signed(word, 11) * 2;
		break;
	case B_T3:
		conditional = true;
		target += offset_t3(word);
		break;
	case B_T4:
		target += offset_t4(word);
		break;
	case BLX:
		target = (target & ~3U) + offset_t4(word);
		insn->target_isa = FLOWTAP_ISA_A32;
		break;
	case CBZ:
		conditional = true;
		target += arm_field(word, 9, 1) << 6 | arm_field(word, 3, 5) << 1;
		break;
	case LOOP_ALWAYS:
		target -= offset_loop(word);
		break;
	case LOOP_BACK:
		conditional = true;
		target -= offset_loop(word);
		break;
	case LOOP_OVER:
		conditional = true;
		target += offset_loop(word);
		break;
	}
	insn->kind = row->class;
	insn->conditional = conditional;
	insn->direct = row->form != INDIRECT;
	if (insn->direct)
		insn->target = target;
}
