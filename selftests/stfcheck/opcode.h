/* SPDX-License-Identifier: GPL-2.0-only */
/* What an opcode can do to the PC. Its own decoders: the library's are what it checks. */
#ifndef FLOWTAP_SELFTESTS_STFCHECK_OPCODE_H
#define FLOWTAP_SELFTESTS_STFCHECK_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

enum opcode_kind {
	OPCODE_PLAIN,
	OPCODE_BRANCH,		/* conditional, direct */
	OPCODE_JUMP,		/* direct */
	OPCODE_INDIRECT,
	OPCODE_RETURN,		/* sret, mret, mnret, dret; ERET */
	OPCODE_TRAP,		/* ecall, ebreak */
	OPCODE_BAD,		/* of another length than its record, or defined to be illegal */
	/* Nobody's business: of A32 and T32 only direct branches are known; c.fsdsp may be one. */
	OPCODE_ANY,
};

/* *offset: of direct ones. rv32: C.JAL is there, where RV64 has C.ADDIW. */
enum opcode_kind opcode_kind(uint32_t opcode, unsigned int size, bool rv32, int64_t *offset);

enum opcode_arm { ARM_UNKNOWN, ARM_A64, ARM_A32, ARM_T32 };

/* The same for Arm; *target: where direct ones go. */
enum opcode_kind opcode_arm_kind(enum opcode_arm isa, uint32_t opcode, unsigned int size,
				 uint64_t pc, uint64_t *target);
/* Of A32 and T32: an exception return, if it is executed. */
bool opcode_arm_returns(enum opcode_arm isa, uint32_t opcode);

#endif /* FLOWTAP_SELFTESTS_STFCHECK_OPCODE_H */
