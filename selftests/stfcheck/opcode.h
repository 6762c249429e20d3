/* SPDX-License-Identifier: GPL-2.0-only */
/* What a RISC-V opcode can do to the PC. Its own decoder: the library's is what it checks. */
#ifndef STFCHECK_OPCODE_H
#define STFCHECK_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum opcode_kind {
	OPCODE_PLAIN,
	OPCODE_BRANCH,		/* conditional, direct */
	OPCODE_JUMP,		/* direct */
	OPCODE_INDIRECT,
	OPCODE_RETURN,		/* sret, mret, mnret, dret */
	OPCODE_TRAP,		/* ecall, ebreak */
	OPCODE_BAD,		/* of another length than its record, or defined to be illegal */
};

/* *offset: of direct ones. rv32: C.JAL is there, where RV64 has C.ADDIW. */
enum opcode_kind opcode_kind(uint32_t opcode, unsigned int size, bool rv32, int64_t *offset);

#endif /* STFCHECK_OPCODE_H */
