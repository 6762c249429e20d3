/* SPDX-License-Identifier: GPL-2.0-only */
/* What the comparator knows of RV64GC, on its own account: nothing is shared with libuapi. */
#ifndef ORACLE_OPCODE_H
#define ORACLE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

/* Transfer types (Smctr table 9). */
enum {
	TYPE_EXCEPTION = 1,
	TYPE_INTERRUPT = 2,
	TYPE_TRAP_RETURN = 3,
	TYPE_NOT_TAKEN = 4,
	TYPE_TAKEN = 5,
	TYPE_INDIRECT_CALL = 8,
	TYPE_DIRECT_CALL = 9,
	TYPE_INDIRECT_JUMP = 10,
	TYPE_DIRECT_JUMP = 11,
	TYPE_SWAP = 12,
	TYPE_RETURN = 13,
	TYPE_INDIRECT_LINK = 14,
	TYPE_DIRECT_LINK = 15,
};

/* The type of a jump (table 10) or sret, TYPE_TAKEN of a conditional branch, 0 of all others. */
unsigned int opcode_type(uint32_t opcode);

/* ecall, ebreak, c.ebreak: they trap and never complete. */
bool opcode_traps(uint32_t opcode);

#endif /* ORACLE_OPCODE_H */
