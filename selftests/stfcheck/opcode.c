// SPDX-License-Identifier: GPL-2.0-only
/*
 * Classifies opcodes of RV32 and RV64, with the offset of direct branches (unprivileged ISA 2.2,
 * 2.3; C 26.4).
 */
#include "opcode.h"

/* Bits of the opcode, listed from the most significant one of the immediate; sign-extended. */
static int64_t gather(uint32_t opcode, const uint8_t *bits, unsigned int n, unsigned int shift)
{
	int64_t value = 0;

	for (unsigned int i = 0; i < n; i++)
		value = value << 1 | (opcode >> bits[i] & 1);
	if (opcode >> bits[0] & 1)
		value -= (int64_t)1 << n;
	return value * (1 << shift);
}

/* Immediates as the manual draws them (2.2, 2.3; C 26.4): offset[12|10:5] ... */
static const uint8_t b_type[] = { 31, 7, 30, 29, 28, 27, 26, 25, 11, 10, 9, 8 };
static const uint8_t j_type[] = { 31, 19, 18, 17, 16, 15, 14, 13, 12, 20,
				  30, 29, 28, 27, 26, 25, 24, 23, 22, 21 };
static const uint8_t cb_type[] = { 12, 6, 5, 2, 11, 10, 4, 3 };
static const uint8_t cj_type[] = { 12, 8, 10, 9, 6, 7, 2, 11, 5, 4, 3 };

static enum opcode_kind kind_32(uint32_t opcode, int64_t *offset)
{
	unsigned int funct3 = opcode >> 12 & 7;

	if ((opcode & 3) != 3 || (opcode & 0x1c) == 0x1c)
		return OPCODE_BAD;
	switch (opcode & 0x7f) {
	case 0x63:
		if (funct3 == 2 || funct3 == 3)
			return OPCODE_BAD;
		*offset = gather(opcode, b_type, sizeof(b_type), 1);
		return OPCODE_BRANCH;
	case 0x6f:
		*offset = gather(opcode, j_type, sizeof(j_type), 1);
		return OPCODE_JUMP;
	case 0x67:
		return funct3 ? OPCODE_BAD : OPCODE_INDIRECT;
	case 0x73:
		/* CSRs from 0xc00 on are read-only (privileged 2.1). */
		if (opcode >> 30 == 3 && funct3 & 3 && ((funct3 & 3) == 1 || opcode & 0xf8000))
			return OPCODE_BAD;
	}
	switch (opcode) {
	case 0x00000073:
	case 0x00100073:
		return OPCODE_TRAP;
	case 0x10200073:
	case 0x30200073:
	case 0x70200073:
	case 0x7b200073:
		return OPCODE_RETURN;
	}
	return OPCODE_PLAIN;
}

static enum opcode_kind kind_16(uint32_t opcode, bool rv32, int64_t *offset)
{
	unsigned int rs1 = opcode >> 7 & 31, rs2 = opcode >> 2 & 31;

	if ((opcode & 3) == 3 || !opcode)
		return OPCODE_BAD;
	switch (opcode & 0xe003) {
	case 0x2001:
		if (!rv32)
			return OPCODE_PLAIN;
		/* fallthrough */
	case 0xa001:
		*offset = gather(opcode, cj_type, sizeof(cj_type), 1);
		return OPCODE_JUMP;
	case 0xc001:
	case 0xe001:
		*offset = gather(opcode, cb_type, sizeof(cb_type), 1);
		return OPCODE_BRANCH;
	case 0x8002:
		if (rs2)
			return OPCODE_PLAIN;
		if (rs1)
			return OPCODE_INDIRECT;
		return opcode == 0x9002 ? OPCODE_TRAP : OPCODE_BAD;
	case 0xa002:
		/* c.fsdsp, or Zcmt's cm.jt and cm.jalt, Zcmp's cm.popretz and cm.popret. */
		if (opcode >> 10 == 0x28 || opcode >> 8 == 0xbc || opcode >> 8 == 0xbe)
			return OPCODE_ANY;
	}
	return OPCODE_PLAIN;
}

enum opcode_kind opcode_kind(uint32_t opcode, unsigned int size, bool rv32, int64_t *offset)
{
	*offset = 0;
	return size == 4 ? kind_32(opcode, offset) : kind_16(opcode, rv32, offset);
}
