/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of FEAT_TRBE and FEAT_TRF (DDI 0601) and their fields. */
#ifndef FLOWTAP_KMOD_TRBE_REGISTERS_H
#define FLOWTAP_KMOD_TRBE_REGISTERS_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <asm/sysreg.h>
#endif

#define TRBLIMITR	sys_reg(3, 0, 9, 11, 0)
#define TRBPTR		sys_reg(3, 0, 9, 11, 1)
#define TRBBASER	sys_reg(3, 0, 9, 11, 2)
#define TRBSR		sys_reg(3, 0, 9, 11, 3)
#define TRBTRG		sys_reg(3, 0, 9, 11, 6)
#define TRBIDR		sys_reg(3, 0, 9, 11, 7)
/* With HCR_EL2.E2H at EL2 this is TRFCR_EL2. */
#define TRFCR		sys_reg(3, 0, 1, 2, 1)

#define LIMITR_E	BIT_ULL(0)
#define LIMITR_FILL	(0ULL << 1)
#define LIMITR_CIRCULAR	(3ULL << 1)
#define LIMITR_TRIGGER_IRQ	(1ULL << 3)
#define LIMITR_TRIGGER_IGNORE	(3ULL << 3)

#define SR_IRQ		BIT_ULL(22)
#define SR_TRG		BIT_ULL(21)

#define IDR_ALIGN	GENMASK(3, 0)
#define IDR_P		BIT(4)
#define ALIGN_MAX	11			/* 2 KiB; greater values are reserved */

#define TRFCR_E0	BIT_ULL(0)		/* E0TRE, E0HTRE: EL0 may be traced */
#define TRFCR_EX	BIT_ULL(1)		/* E1TRE, E2TRE: the kernel may be */
#define TRFCR_CX	BIT_ULL(3)		/* TRFCR_EL2 only: CONTEXTIDR_EL2 and VMID may be */
#define TRFCR_VIRTUAL	(1ULL << 5)		/* TS: time stamps are CNTVCT, as our clock's */

#endif /* FLOWTAP_KMOD_TRBE_REGISTERS_H */
