/* SPDX-License-Identifier: GPL-2.0-only */
/* The registers of FEAT_ETE (DDI 0487), by their offsets, and their fields. */
#ifndef FLOWTAP_KMOD_ETE_REGISTERS_H
#define FLOWTAP_KMOD_ETE_REGISTERS_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <asm/sysreg.h>
#endif
#include <linux/flowtap.h>

/**
 * TRC() - the system register of a trace unit's register
 * @offset: bytes, a constant. n is the offset / 4: CRn is n[9:7], op2 n[6:4], CRm n[3:0].
 *
 * Return: as sys_reg().
 */
#define TRC(offset)	sys_reg(2, 1, (offset) >> 9 & 7, (offset) >> 2 & 15, (offset) >> 6 & 7)

#define TRCPRGCTLR	0x004
#define TRCSTATR	0x00c
#define TRCCONFIGR	0x010
#define TRCAUXCTLR	0x018
#define TRCEVENTCTL0R	0x020
#define TRCEVENTCTL1R	0x024
#define TRCRSR		0x028
#define TRCSTALLCTLR	0x02c
#define TRCTSCTLR	0x030
#define TRCSYNCPR	0x034
#define TRCCCCTLR	0x038
#define TRCBBCTLR	0x03c
#define TRCTRACEIDR	0x040
#define TRCQCTLR	0x044
#define TRCVICTLR	0x080
#define TRCVIIECTLR	0x084
#define TRCVISSCTLR	0x088
#define TRCVIPCSSCTLR	0x08c
#define TRCSEQEVR	0x100			/* 3, 4 bytes apart */
#define TRCSEQRSTEVR	0x118
#define TRCSEQSTR	0x11c
#define TRCCNTRLDVR	0x140			/* 4, 4 */
#define TRCCNTCTLR	0x150			/* 4, 4 */
#define TRCCNTVR	0x160			/* 4, 4 */
#define TRCIDR8		0x180			/* to 13 */
#define TRCIDR0		0x1e0			/* to 7 */
#define TRCRSCTLR	0x200			/* 32, 4; 0 and 1 are fixed */
#define TRCSSCCR	0x280			/* 8, 4 */
#define TRCSSCSR	0x2a0			/* 8, 4 */
#define TRCACVR		0x400			/* 16, 8 */
#define TRCACATR	0x480			/* 16, 8 */
#define TRCCIDCVR	0x600			/* 8, 8 */
#define TRCVMIDCVR	0x640			/* 8, 8 */
#define TRCCIDCCTLR	0x680			/* 2, 4 */
#define TRCVMIDCCTLR	0x688			/* 2, 4 */
#define TRCCLAIMSET	0xfa0
#define TRCCLAIMCLR	0xfa4
#define TRCAUTHSTATUS	0xfb8
#define TRCDEVARCH	0xfbc

#define OSLAR		sys_reg(2, 0, 1, 0, 4)
#define OSLSR		sys_reg(2, 0, 1, 1, 4)
#define OSLSR_OSLK	BIT(1)

#define STATR_IDLE	BIT(0)
#define STATR_PMSTABLE	BIT(1)
#define DEVARCH_ETE	0x47705a13		/* of any revision */
#define DEVARCH_REVISION GENMASK(19, 16)
#define CLAIM_SELF	BIT(1)			/* a driver on the PE itself, by Arm's convention */
#define RSR_TA		BIT(12)

#define CONFIGR_RES1	BIT(0)
#define CONFIGR_BB		FLOWTAP_TRCCONFIGR_BB
#define CONFIGR_CCI		FLOWTAP_TRCCONFIGR_CCI
#define CONFIGR_CID		FLOWTAP_TRCCONFIGR_CID
#define CONFIGR_VMID		FLOWTAP_TRCCONFIGR_VMID
#define CONFIGR_TS		FLOWTAP_TRCCONFIGR_TS
#define CONFIGR_RS		FLOWTAP_TRCCONFIGR_RS
#define CONFIGR_VMIDOPT	FLOWTAP_TRCCONFIGR_VMIDOPT

#define VICTLR_ALWAYS	0x1			/* EVENT: resource 1 is true */
#define VICTLR_SSSTATUS	BIT(9)			/* start/stop logic: started */
#define VICTLR_NS_EL0	BIT(20)			/* not there */
#define VICTLR_NS_KERNEL GENMASK(22, 21)
#define VICTLR_S	GENMASK(19, 16)

#define IDR0_BB		BIT(5)
#define IDR0_CCI	BIT(7)
#define IDR0_RETSTACK	BIT(9)
#define IDR0_QFILT	BIT(14)
#define IDR0_TSSIZE	GENMASK(28, 24)
#define IDR2_CIDSIZE	GENMASK(9, 5)
#define IDR2_VMIDSIZE	GENMASK(14, 10)
#define IDR2_VMIDOPT	GENMASK(30, 29)		/* 0 cannot be set, 1 can, 2 is always */
#define IDR3_CCITMIN	GENMASK(11, 0)
#define IDR3_EXLEVELS	GENMASK(22, 16)		/* at the positions of TRCVICTLR's */
#define IDR3_SYNCPR	BIT(25)			/* TRCSYNCPR is read-only */
#define IDR3_STALLCTL	BIT(26)
#define IDR4_ACPAIRS	GENMASK(3, 0)
#define IDR4_NUMPC	GENMASK(15, 12)
#define IDR4_RSPAIR	GENMASK(19, 16)		/* less one */
#define IDR4_SSC	GENMASK(23, 20)
#define IDR4_CIDC	GENMASK(27, 24)
#define IDR4_VMIDC	GENMASK(31, 28)
#define IDR5_SEQSTATE	GENMASK(27, 25)
#define IDR5_COUNTERS	GENMASK(30, 28)

#endif /* FLOWTAP_KMOD_ETE_REGISTERS_H */
