// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A32 (DDI 0487 F4.1): nearly anything may write the PC. Tables by bits 27:25.
 *
 * Bits that should be 0 or 1 are not looked at. Where the manual calls the PC as a destination
 * UNPREDICTABLE (LDRT, shifts by register, multiplications, halfword loads, MOVW) it is no branch.
 * ADD PC, PC, #n and the like go to a known address but are traced as indirect branches.
 */
#include "isa/arm_internal.h"

enum form {
	NOT,		/* no P0 instruction, and no row below matters */
	NEXT_INSN,	/* the address after it */
	INDIRECT,
	IMM24,
	IMM24_H,	/* with half of a word in bit 24; goes to T32 */
};

/* Data processing with registers; above it bit 4 is 0, as shifts by register cannot have the PC. */
static const struct arm_row registers[] = {
	{ 0x0ff000ff, 0x0120001e, FLOWTAP_ARM_RETURN, INDIRECT },		/* BX LR */
	{ 0x0ff000f0, 0x01200010, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* BX */
	{ 0x0ff000ff, 0x0120002e, FLOWTAP_ARM_RETURN, INDIRECT },		/* BXJ LR, as BX */
	{ 0x0ff000f0, 0x01200020, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* BXJ */
	{ 0x0ff000f0, 0x01200030, FLOWTAP_ARM_INDIRECT_CALL, INDIRECT },	/* BLX */
	{ 0x0ff000f0, 0x01600060, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* ERET */
	{ 0x01800000, 0x01000000, FLOWTAP_ARM_OTHER, NOT },	/* TST to CMN, miscellaneous */
	{ 0x00000010, 0x00000010, FLOWTAP_ARM_OTHER, NOT },
	{ 0x0ff0ffff, 0x01a0f00e, FLOWTAP_ARM_RETURN, INDIRECT },		/* MOV PC, LR */
	{ 0x0010f000, 0x0000f000, FLOWTAP_ARM_INDIRECT, INDIRECT },
	{ 0x0010f000, 0x0010f000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* MOVS PC, LR ... */
};

static const struct arm_row immediates[] = {
	{ 0x0fff00fe, 0x03200002, FLOWTAP_ARM_WFX, NEXT_INSN },
	{ 0x01800000, 0x01000000, FLOWTAP_ARM_OTHER, NOT },	/* TST to CMN, MOVW, MOVT, MSR */
	{ 0x0010f000, 0x0000f000, FLOWTAP_ARM_INDIRECT, INDIRECT },
	{ 0x0010f000, 0x0010f000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* SUBS PC, LR, #n */
};

static const struct arm_row loads[] = {
	{ 0x0f70f000, 0x0430f000, FLOWTAP_ARM_OTHER, NOT },			/* LDRT */
	{ 0x0ffff000, 0x049df000, FLOWTAP_ARM_RETURN, INDIRECT },		/* POP {PC} */
	{ 0x0e50f000, 0x0410f000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDR PC, [Rn, #n] */
};

static const struct arm_row indexed_loads[] = {
	{ 0x0f70f000, 0x0630f000, FLOWTAP_ARM_OTHER, NOT },			/* LDRT */
	{ 0x0e50f010, 0x0610f000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDR PC, [Rn, Rm] */
};

static const struct arm_row multiples[] = {
	{ 0x0fff8000, 0x08bd8000, FLOWTAP_ARM_RETURN, INDIRECT },		/* POP {.., PC} */
	{ 0x0e508000, 0x08108000, FLOWTAP_ARM_INDIRECT, INDIRECT },		/* LDM {.., PC} */
	{ 0x0e508000, 0x08508000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* LDM {.., PC}^ */
};

static const struct arm_row branches[] = {
	{ 0x0f000000, 0x0a000000, FLOWTAP_ARM_BRANCH, IMM24 },			/* B */
	{ 0x0f000000, 0x0b000000, FLOWTAP_ARM_CALL, IMM24 },			/* BL */
};

static const struct arm_row coprocessors[] = {
	{ 0x0fff0fff, 0x0e070f95, FLOWTAP_ARM_ISB, NEXT_INSN },	/* MCR p15, 0, Rt, c7, c5, 4 */
};

/* Bits 31:28 are 1111. */
static const struct arm_row unconditional[] = {
	{ 0xfe000000, 0xfa000000, FLOWTAP_ARM_CALL, IMM24_H },			/* BLX */
	{ 0xfe500000, 0xf8100000, FLOWTAP_ARM_EXCEPTION_RETURN, INDIRECT },	/* RFE */
	{ 0xfff000f0, 0xf5700060, FLOWTAP_ARM_ISB, NEXT_INSN },
};

#define TABLE(rows) { rows, sizeof(rows) / sizeof((rows)[0]) }

static const struct {
	const struct arm_row *rows;
	size_t n;
} tables[] = {
	TABLE(registers), TABLE(immediates), TABLE(loads), TABLE(indexed_loads),
	TABLE(multiples), TABLE(branches), { NULL, 0 }, TABLE(coprocessors),
	TABLE(unconditional),
};

void flowtap_arm_a32(uint32_t address, uint32_t word, struct flowtap_arm_insn *insn)
{
	uint32_t condition = word >> 28;
	uint32_t table = condition == 15 ? 8 : arm_field(word, 25, 3);
	const struct arm_row *row = arm_find(tables[table].rows, tables[table].n, word);
	uint32_t target = address + 4;

	if (!row || row->form == NOT)
		return;
	switch ((enum form)row->form) {
	case NOT:
	case NEXT_INSN:
	case INDIRECT:
		break;
	case IMM24:
		target = address + 8 + arm_signed(word, 24) * 4;
		break;
	case IMM24_H:
		target = address + 8 + arm_signed(word, 24) * 4 + 2 * arm_field(word, 24, 1);
		insn->target_isa = FLOWTAP_ISA_T32;
		break;
	}
	insn->kind = row->class;
	insn->conditional = condition < 14;
	insn->direct = row->form != INDIRECT;
	if (insn->direct)
		insn->target = target;
}
