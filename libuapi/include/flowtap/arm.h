/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Arm instructions, as a trace analyzer has to know them (K10.5.5.18.5): which are P0 instructions,
 * where they go, how long they are. A64, A32 and T32.
 *
 * What is no branch is FLOWTAP_ARM_OTHER, known or not: the trace itself says to an analyzer that
 * an instruction was executed, and new ones are made every year. So are those that take an
 * exception (SVC, HVC, SMC, BRK, UDF, TCANCEL, TENTER: Exception elements say so), DRPS (Debug
 * state is not traced), TCOMMIT and the barriers other than ISB.
 *
 * Bits that A32 and T32 want to be 0 or 1 are not looked at. A32 and T32 instructions for which the
 * manual calls the PC as destination UNPREDICTABLE are no branches.
 */
#ifndef FLOWTAP_ARM_H
#define FLOWTAP_ARM_H

#include <flowtap/block.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flowtap_block.end of a block of Arm code. */
enum flowtap_arm_class {
	FLOWTAP_ARM_OTHER,		/* no P0 instruction */
	FLOWTAP_ARM_BRANCH,		/* direct: B, B.cond, BC.cond, CBZ, TBZ, CB<cc> ... */
	FLOWTAP_ARM_CALL,		/* direct, link: BL, BLX <label> */
	FLOWTAP_ARM_INDIRECT,		/* BR, BX, LDR PC, TBB ... */
	FLOWTAP_ARM_INDIRECT_CALL,	/* BLR, BLX <register> */
	FLOWTAP_ARM_RETURN,		/* RET, BX LR, POP {.., PC}: indirect as well */
	/* ERET, TEXIT, RFE, MOVS PC, LR, LDM {.., PC}^ ...: indirect as well. */
	FLOWTAP_ARM_EXCEPTION_RETURN,
	FLOWTAP_ARM_ISB,		/* always P0: goes on after it */
	FLOWTAP_ARM_WFX,		/* WFE, WFI, WFET, WFIT: P0 where TRCIDR2.WFXMODE says so */
	FLOWTAP_ARM_TSTART,		/* TSTART: goes on after it */
	FLOWTAP_ARM_CLASSES
};

struct flowtap_arm_insn {
	uint8_t length;		/* bytes: 2 or 4 */
	uint8_t kind;		/* enum flowtap_arm_class */
	bool direct;		/* `target` is known; ISB, WFX, TSTART: it is the address after it */
	/*
	 * It may not branch: by its condition (AL and NV are none), by that of an IT block, or by
	 * what it compares.
	 */
	bool conditional;
	bool link;		/* taken, it leaves the address after it as a return address */
	uint8_t target_isa;	/* enum flowtap_isa; where it is direct */
	uint64_t target;	/* 32 bits in A32 and T32 */
	uint8_t it;		/* T32: ITSTATE for the instruction after it; elsewhere 0 */
	/*
	 * BF, BFL, BFX, BFLX, BFCSEL (Armv8.1-M): bytes from its address to its branch point, where
	 * it announces a branch; of any other 0.
	 */
	uint8_t branch_point;
};

/*
 * Takes apart the instruction of `isa` at `address` of which `bytes` are there (little endian).
 * it: ITSTATE as the instruction before left it, 0 at the begin of a block and in A64 and A32.
 * 0; -ENODATA: available bytes end before the instruction does; -EINVAL: no Arm ISA.
 * A64: DDI 0487 C4.1, A32: F4.1, T32: F3.1.
 */
int flowtap_arm_classify(enum flowtap_isa isa, uint64_t address, uint8_t it, const uint8_t *bytes,
			 size_t available, struct flowtap_arm_insn *insn);

/*
 * For flowtap_blocks_new: WFx instructions are no P0 instructions (TRCIDR2.WFXMODE is 0). Blocks
 * of T32 begin outside an IT block: one that was cut within (by stop, or where an exception
 * returned to) may have an instruction that is conditional and not say so. Target and kind do not
 * depend on it. A block of A64 ends with UDF as well, of class FLOWTAP_ARM_OTHER: nothing after it
 * is executed. One with a BF or the like ends at the branch point at the latest, or before a P0
 * instruction that comes first: it has branch_future.
 */
int flowtap_arm_block(struct flowtap_block *block, const uint8_t *bytes, size_t available);
/* The same where they are. */
int flowtap_arm_block_wfx(struct flowtap_block *block, const uint8_t *bytes, size_t available);

/* "branch", "indirect call" ...; NULL where kind is none. */
const char *flowtap_arm_class_name(unsigned int kind);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_ARM_H */
