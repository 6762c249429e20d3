// SPDX-License-Identifier: GPL-2.0-only
/* Arm's branches, by the encodings of DDI 0487 (C4.1, F4.1, F3.1). */
#include "opcode.h"

/* Bits high to low of the opcode as a signed number. */
static int64_t field(uint32_t opcode, unsigned int high, unsigned int low)
{
	int64_t value = opcode >> low & ((1ULL << (high - low + 1)) - 1);

	return opcode >> high & 1 ? value - ((int64_t)1 << (high - low + 1)) : value;
}

/* C4.1, unconditional branch (register); what is not allocated there is nobody's business. */
static enum opcode_kind by_register(uint32_t opcode)
{
	static const struct {
		uint32_t mask, value;
		enum opcode_kind kind;
	} known[] = {
		{ 0xffbffc1f, 0xd61f0000, OPCODE_INDIRECT },	/* BR, RET */
		{ 0xfffffc1f, 0xd63f0000, OPCODE_INDIRECT },	/* BLR */
		{ 0xffdff81f, 0xd61f081f, OPCODE_INDIRECT },	/* BRAAZ, BLRAAZ and B */
		{ 0xffdff800, 0xd71f0800, OPCODE_INDIRECT },	/* BRAA, BLRAA and B */
		{ 0xfffffbff, 0xd65f0bff, OPCODE_INDIRECT },	/* RETAA, RETAB */
		{ 0xfffffbe0, 0xd65f0be0, OPCODE_INDIRECT },	/* RETAASPPCR, RETABSPPCR */
		{ 0xffffffff, 0xd69f03e0, OPCODE_RETURN },	/* ERET */
		{ 0xfffffbff, 0xd69f0bff, OPCODE_RETURN },	/* ERETAA, ERETAB */
		{ 0xfffffbff, 0xd6ff03e0, OPCODE_RETURN },	/* TEXIT */
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if ((opcode & known[i].mask) == known[i].value)
			return known[i].kind;
	return OPCODE_ANY;
}

static enum opcode_kind kind_a64(uint32_t opcode, uint64_t pc, uint64_t *target)
{
	static const struct {
		uint32_t mask, value;
		uint8_t high, low;
	} direct[] = {
		{ 0x7c000000, 0x14000000, 25, 0 },	/* B, BL */
		{ 0xff000000, 0x54000000, 23, 5 },	/* B.cond, BC.cond */
		{ 0x7e000000, 0x34000000, 23, 5 },	/* CBZ, CBNZ */
		{ 0x7e000000, 0x36000000, 18, 5 },	/* TBZ, TBNZ */
		{ 0x7f00c000, 0x74000000, 13, 5 },	/* CB<cc> (register) */
		{ 0xff008000, 0x74008000, 13, 5 },	/* CBB<cc>, CBH<cc> */
		{ 0x7f004000, 0x75000000, 13, 5 },	/* CB<cc> (immediate) */
	};

	for (unsigned int i = 0; i < sizeof(direct) / sizeof(direct[0]); i++) {
		if ((opcode & direct[i].mask) != direct[i].value)
			continue;
		/* Two of eight conditions there are not allocated. */
		if (i > 3 && (opcode >> 22 & 3) == 2)
			return OPCODE_ANY;
		*target = pc + (uint64_t)field(opcode, direct[i].high, direct[i].low) * 4;
		/* AL and NV are always. */
		return i == 0 || (i == 1 && (opcode & 14) == 14) ? OPCODE_JUMP : OPCODE_BRANCH;
	}
	if ((opcode & 0xfe000000) == 0xd6000000)
		return by_register(opcode);
	/* RETAASPPC, RETABSPPC */
	return (opcode & 0xffc0001f) == 0x5500001f ? OPCODE_INDIRECT : OPCODE_PLAIN;
}

static enum opcode_kind kind_a32(uint32_t opcode, uint64_t pc, uint64_t *target)
{
	uint64_t to = pc + 8 + (uint64_t)field(opcode, 23, 0) * 4;

	if ((opcode & 0x0e000000) != 0x0a000000)
		return OPCODE_ANY;
	if (opcode >> 28 == 15)		/* BLX: halfword in bit 24 */
		to += opcode >> 23 & 2;
	*target = (uint32_t)to;
	return opcode >> 28 >= 14 ? OPCODE_JUMP : OPCODE_BRANCH;
}

/* In an IT block any of them may be conditional. */
static enum opcode_kind kind_t32_short(uint32_t opcode, uint64_t pc, uint64_t *target)
{
	uint64_t from = pc + 4;

	if (opcode >> 12 == 13 && (opcode >> 8 & 15) < 14)
		*target = (uint32_t)(from + (uint64_t)field(opcode, 7, 0) * 2);
	else if (opcode >> 11 == 0x1c)
		*target = (uint32_t)(from + (uint64_t)field(opcode, 10, 0) * 2);
	else if ((opcode & 0xf500) == 0xb100)
		*target = (uint32_t)(from + (opcode >> 3 & 64) + (opcode >> 2 & 62));
	else
		return OPCODE_ANY;
	return OPCODE_BRANCH;
}

/* Armv8.1-M: WLS, WLSTP lead past a loop, LE, LETP back to its begin. */
static enum opcode_kind kind_loop(uint32_t opcode, uint64_t pc, uint64_t *target)
{
	uint32_t offset = (opcode & 0x7fe) << 1 | (opcode >> 10 & 2);
	uint32_t which = opcode >> 16 & 0x7f;

	if ((opcode & 0xff80f001) != 0xf000c001 || which >= 0x50)
		return OPCODE_ANY;
	if (which == 0x0f || which == 0x1f || which == 0x2f)
		*target = (uint32_t)(pc + 4 - offset);
	else
		*target = (uint32_t)(pc + 4 + offset);
	return OPCODE_BRANCH;
}

static enum opcode_kind kind_t32_long(uint32_t opcode, uint64_t pc, uint64_t *target)
{
	uint32_t sign = opcode >> 26 & 1, j1 = opcode >> 13 & 1, j2 = opcode >> 11 & 1;
	uint32_t low = (opcode >> 16 & 0x3ff) << 11 | (opcode & 0x7ff);
	int64_t offset;

	if (opcode >> 27 != 0x1e || !(opcode & 0x8000))
		return OPCODE_ANY;
	if (!(opcode & 0x5000)) {		/* B<c>.W: imm6, and the rest is the condition */
		if ((opcode >> 23 & 7) == 7)
			return OPCODE_ANY;
		low = j2 << 18 | j1 << 17 | (opcode >> 16 & 0x3f) << 11 | (opcode & 0x7ff);
		offset = (int64_t)low - ((int64_t)sign << 19);
	} else {
		low |= (j1 ^ sign ^ 1) << 22 | (j2 ^ sign ^ 1) << 21;
		offset = (int64_t)low - ((int64_t)sign << 23);
	}
	if ((opcode & 0x5000) == 0x4000) {	/* BLX */
		if (opcode & 1)
			return kind_loop(opcode, pc, target);
		pc &= ~3ULL;
	}
	*target = (uint32_t)(pc + 4 + (uint64_t)offset * 2);
	return OPCODE_BRANCH;
}

enum opcode_kind opcode_arm_kind(enum opcode_arm isa, uint32_t opcode, unsigned int size,
				 uint64_t pc, uint64_t *target)
{
	*target = 0;
	switch (isa) {
	case ARM_A64:
		return size == 4 && !(pc & 3) ? kind_a64(opcode, pc, target) : OPCODE_BAD;
	case ARM_A32:
		return size == 4 && !(pc & 3) ? kind_a32(opcode, pc, target) : OPCODE_BAD;
	case ARM_T32:
		if (pc & 1 || ((size == 2 ? opcode : opcode >> 16) >= 0xe800) != (size == 4))
			return OPCODE_BAD;
		return size == 2 ? kind_t32_short(opcode, pc, target) :
				   kind_t32_long(opcode, pc, target);
	default:
		return OPCODE_ANY;
	}
}

bool opcode_arm_returns(enum opcode_arm isa, uint32_t opcode)
{
	static const struct {
		enum opcode_arm isa;
		uint32_t mask, value;
	} known[] = {
		{ ARM_A32, 0x0ff000f0, 0x01600060 },	/* ERET */
		{ ARM_A32, 0x0c10f000, 0x0010f000 },	/* MOVS PC, LR and its like */
		{ ARM_A32, 0x0e508000, 0x08508000 },	/* LDM {.., PC}^ */
		{ ARM_A32, 0xfe500000, 0xf8100000 },	/* RFE */
		{ ARM_T32, 0xfff0d000, 0xf3d08000 },	/* ERET, SUBS PC, LR */
		{ ARM_T32, 0xffd00000, 0xe8100000 },	/* RFEDB */
		{ ARM_T32, 0xffd00000, 0xe9900000 },	/* RFEIA */
	};

	for (unsigned int i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (isa == known[i].isa && (opcode & known[i].mask) == known[i].value)
			return true;
	return false;
}
