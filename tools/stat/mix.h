/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What kind of instruction an opcode is: as much as its encoding shows at a glance, for the
 * statistics of traces. RV64GCV, A64, A32, T32.
 */
#ifndef FLOWTAP_TOOLS_STAT_MIX_H
#define FLOWTAP_TOOLS_STAT_MIX_H

#include <flowtap/block.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mix {
	MIX_TAKEN,		/* conditional branches */
	MIX_NOT_TAKEN,
	MIX_JUMP,
	MIX_CALL,
	MIX_INDIRECT_JUMP,
	MIX_INDIRECT_CALL,
	MIX_RETURN,
	MIX_TRAP,		/* instructions that take an exception: ecall, SVC, BRK ... */
	MIX_TRAP_RETURN,
	MIX_LOAD,
	MIX_STORE,
	MIX_ATOMIC,		/* that load and store */
	MIX_INTEGER,
	MIX_MULTIPLY,		/* and divide */
	MIX_FLOAT,		/* floating point and SIMD; RV64: F, D, Q */
	MIX_VECTOR,		/* V, SVE, SME: but loads and stores */
	MIX_SYSTEM,		/* system registers, barriers, hints, caches */
	MIX_OTHER,
	MIX_KINDS
};

/* "taken_branch" ...: for JSON; with spaces for people. Static. */
const char *mix_name(enum mix mix);
const char *mix_title(enum mix mix);

/*
 * Of an instruction of `size` bytes that transfers no control, or takes an exception. Encodings
 * that are not known are MIX_OTHER.
 */
enum mix mix_of(enum flowtap_isa isa, const uint8_t *bytes, size_t size);
/* Of the last instruction of a block, by how it went. */
enum mix mix_of_end(const struct flowtap_block *block, bool taken);

#endif /* FLOWTAP_TOOLS_STAT_MIX_H */
