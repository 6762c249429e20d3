/* SPDX-License-Identifier: GPL-2.0-only */
/* What the comparator knows of RV64GC, on its own account: nothing is shared with libuapi. */
#ifndef FLOWTAP_SELFTESTS_ORACLE_OPCODE_H
#define FLOWTAP_SELFTESTS_ORACLE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "support/transfer_type.h"

/* The type of a jump (table 10) or sret, TYPE_TAKEN of a conditional branch, 0 of all others. */
unsigned int opcode_type(uint32_t opcode);

/* ecall, ebreak, c.ebreak: they trap and never complete. */
bool opcode_traps(uint32_t opcode);

#endif /* FLOWTAP_SELFTESTS_ORACLE_OPCODE_H */
