/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What lines are of: Tarmac or QEMU4V (flowtap_tarmac_is ...), and which instruction set. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_TARMAC_KIND_H
#define FLOWTAP_LIBUAPI_FORMATS_TARMAC_KIND_H

#include "formats/tarmac/line.h"

/* A64, or RV64. */
static inline bool tarmac_is_wide(const struct tarmac_instruction *insn, bool qemu4v)
{
	return insn->letter == 'O' || (qemu4v && insn->letter == 'A' && insn->address_digits > 8);
}

/*
 * RV64 has no letter of its own. An opcode of 4 digits is RV64's, one of 8 that does not end as its
 * instructions of 32 bits do (Unprivileged 1.5) is A64's. Where neither comes it is RV64 if there
 * are several.
 */
bool tarmac_is_riscv(const char *begin, size_t size, bool qemu4v);

#endif /* FLOWTAP_LIBUAPI_FORMATS_TARMAC_KIND_H */
