/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System registers by the fields of MRS and MSR (DDI 0487 C5.2). */
#ifndef FLOWTAP_SELFTESTS_MODEL_SYSREG_H
#define FLOWTAP_SELFTESTS_MODEL_SYSREG_H

#include <stdint.h>

/* As in bits 20:5 of the opcode. */
#define SYSREG(op0, op1, crn, crm, op2) \
	((op0) << 14 | (op1) << 11 | (crn) << 7 | (crm) << 3 | (op2))

/* A trace register by its offset in the memory map (DDI 0487 H9): op0 2, op1 1. */
#define SYSREG_TRACE(offset) \
	SYSREG(2, 1, (offset) >> 9 & 7, (offset) >> 2 & 15, (offset) >> 6 & 7)

#define SYSREG_OSLAR_EL1	SYSREG(2, 0, 1, 0, 4)
#define SYSREG_ID_AA64DFR0_EL1	SYSREG(3, 0, 0, 5, 0)
#define SYSREG_MIDR_EL1		SYSREG(3, 0, 0, 0, 0)
#define SYSREG_TRFCR_EL1	SYSREG(3, 0, 1, 2, 1)
#define SYSREG_TRFCR_EL2	SYSREG(3, 4, 1, 2, 1)
#define SYSREG_TRFCR_EL12	SYSREG(3, 5, 1, 2, 1)
#define SYSREG_MDCR_EL2		SYSREG(3, 4, 1, 1, 1)
#define SYSREG_CONTEXTIDR_EL1	SYSREG(3, 0, 13, 0, 1)
#define SYSREG_CONTEXTIDR_EL2	SYSREG(3, 4, 13, 0, 1)
#define SYSREG_CONTEXTIDR_EL12	SYSREG(3, 5, 13, 0, 1)
#define SYSREG_SCTLR_EL1	SYSREG(3, 0, 1, 0, 0)
#define SYSREG_TTBR0_EL1	SYSREG(3, 0, 2, 0, 0)
#define SYSREG_TTBR1_EL1	SYSREG(3, 0, 2, 0, 1)
#define SYSREG_TCR_EL1		SYSREG(3, 0, 2, 0, 2)
#define SYSREG_SCTLR_EL2	SYSREG(3, 4, 1, 0, 0)
#define SYSREG_HCR_EL2		SYSREG(3, 4, 1, 1, 0)
#define SYSREG_TTBR0_EL2	SYSREG(3, 4, 2, 0, 0)
#define SYSREG_TTBR1_EL2	SYSREG(3, 4, 2, 0, 1)
#define SYSREG_TCR_EL2		SYSREG(3, 4, 2, 0, 2)
#define SYSREG_VTTBR_EL2	SYSREG(3, 4, 2, 1, 0)
#define SYSREG_VTCR_EL2		SYSREG(3, 4, 2, 1, 2)
#define SYSREG_TRBLIMITR_EL1	SYSREG(3, 0, 9, 11, 0)
#define SYSREG_TRBPTR_EL1	SYSREG(3, 0, 9, 11, 1)
#define SYSREG_TRBBASER_EL1	SYSREG(3, 0, 9, 11, 2)
#define SYSREG_TRBSR_EL1	SYSREG(3, 0, 9, 11, 3)
#define SYSREG_TRBMAR_EL1	SYSREG(3, 0, 9, 11, 4)
#define SYSREG_TRBTRG_EL1	SYSREG(3, 0, 9, 11, 6)
#define SYSREG_TRBIDR_EL1	SYSREG(3, 0, 9, 11, 7)

#endif
