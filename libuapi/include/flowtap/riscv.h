/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* RV64GC: instruction lengths and which instructions transfer control (Smctr table 10). */
#ifndef FLOWTAP_RISCV_H
#define FLOWTAP_RISCV_H

#include <flowtap/flow.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_block;

/*
 * What one instruction can do to the flow. transfer is the type CTR reports when it transfers
 * (TAKEN for conditional branches), NONE for all that only fall through; ecall and ebreak
 * are EXCEPTION (they never fall through by themselves), xRET TRAP_RETURN. RECORDING falls
 * through, but ends a block.
 */
struct flowtap_riscv_insn {
	uint8_t length;		/* 2 or 4 */
	uint8_t transfer;	/* enum flowtap_transfer_type */
	bool conditional;
	bool direct;		/* target = address + offset */
	int32_t offset;
	int8_t cause;		/* ecall from U 8, ebreak 3; else -1 */
};

/*
 * Takes the instruction at `bytes` (little-endian, of which `available` can be read) apart.
 *
 * What may be something else than it looks is not taken for an instruction that falls through:
 * encodings that RV64GC reserves or leaves to vendors, and those longer than 32 bits, have no
 * known class, as vendors and later extensions put branches there; nor have writes to read-only CSRs,
 * which never complete. Zcb, Zcmop, Zimop, V and other
 * ratified extensions that only compute are known. Where Zcmp and Zcmt would overlap Zcd it is
 * Zcd, which RV64GC has.
 *
 * 0 and *insn; -ENODATA: fewer bytes than the instruction has; -EILSEQ: no class, as above.
 */
int flowtap_riscv_classify(const uint8_t *bytes, size_t available, struct flowtap_riscv_insn *insn);

/* flowtap_block_decode for RV64GC (block.h). */
int flowtap_riscv_block(struct flowtap_block *block, const uint8_t *bytes, size_t available);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_RISCV_H */
