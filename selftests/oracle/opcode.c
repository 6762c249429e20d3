// SPDX-License-Identifier: GPL-2.0-only
/*
 * Finds the type of a transfer by its opcode (Smctr table 9), of a jump by its link registers
 * (table 10).
 */
#include "opcode.h"

static bool is_link(unsigned int x)
{
	return x == 1 || x == 5;
}

/* JALR rd, rs: table 10 row by row. */
static unsigned int jalr(unsigned int rd, unsigned int rs)
{
	if (is_link(rd))
		return is_link(rs) && rs != rd ? TYPE_SWAP : TYPE_INDIRECT_CALL;
	if (is_link(rs))
		return TYPE_RETURN;
	return rd ? TYPE_OTHER_INDIRECT : TYPE_INDIRECT_JUMP;
}

static unsigned int jal(unsigned int rd)
{
	if (is_link(rd))
		return TYPE_DIRECT_CALL;
	return rd ? TYPE_OTHER_DIRECT : TYPE_DIRECT_JUMP;
}

unsigned int opcode_type(uint32_t opcode)
{
	unsigned int rs1 = opcode >> 7 & 31;

	if (opcode == 0x10200073)		/* sret */
		return TYPE_TRAP_RETURN;
	if ((opcode & 3) == 3) {
		switch (opcode & 0x7f) {
		case 0x63:
			return TYPE_TAKEN;
		case 0x67:
			return jalr(opcode >> 7 & 31, opcode >> 15 & 31);
		case 0x6f:
			return jal(opcode >> 7 & 31);
		}
		return 0;
	}
	switch (opcode & 0xe003) {
	case 0xa001:			/* c.j */
		return TYPE_DIRECT_JUMP;
	case 0xc001:			/* c.beqz, c.bnez */
	case 0xe001:
		return TYPE_TAKEN;
	case 0x8002:			/* c.jr, c.jalr: rs2 is 0, rs1 is not */
		if ((opcode >> 2 & 31) || !rs1)
			return 0;
		return jalr(opcode >> 12 & 1, rs1);
	}
	return 0;
}

bool opcode_traps(uint32_t opcode)
{
	return opcode == 0x00000073 || opcode == 0x00100073 || opcode == 0x9002;
}
