/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CSRs of Smctr/Ssctr 1.0 and their fields. The host's unit tests have accessors of their own.
 */
#ifndef FLOWTAP_KMOD_CTR_CSR_H
#define FLOWTAP_KMOD_CTR_CSR_H

#ifdef __KERNEL__
#include <linux/bits.h>
#include <asm/asm-extable.h>
#include <asm/csr.h>
#endif
#include <linux/flowtap.h>

#define SCTRCTL			0x14e		/* Smctr 2.2 */
#define SCTRSTATUS		0x14f		/* 2.5 */
#define SCTRDEPTH		0x15f		/* 2.4 */
#define VSCTRCTL		0x24e		/* 2.3; with H only */
#define SISELECT		0x150		/* Sscsrind */
#define SIREG			0x151		/* ctrsource, 3.1 */
#define SIREG2			0x152		/* ctrtarget, 3.2 */
#define SIREG3			0x153		/* ctrdata, 3.3 */

#define CTR_SELECT(entry)	(0x200UL + (entry)) /* 3; entry 0 is the youngest */

#define CTRCTL_U		FLOWTAP_SCTRCTL_U
#define CTRCTL_S		FLOWTAP_SCTRCTL_S
#define CTRCTL_RASEMU		FLOWTAP_SCTRCTL_RASEMU
#define CTRCTL_STE		FLOWTAP_SCTRCTL_STE
#define CTRCTL_BPFRZ		FLOWTAP_SCTRCTL_BPFRZ
#define CTRCTL_LCOFIFRZ		FLOWTAP_SCTRCTL_LCOFIFRZ
#define CTRCTL_INTRINH		FLOWTAP_SCTRCTL_INTRINH
#define CTRCTL_FILTERS		(GENMASK_ULL(47, 40) | GENMASK_ULL(37, 33))
/* All that sctrctl has, without the custom bits 63:60. */
#define CTRCTL_STANDARD		(CTRCTL_U | CTRCTL_S | CTRCTL_RASEMU | CTRCTL_STE | \
				 CTRCTL_BPFRZ | CTRCTL_LCOFIFRZ | CTRCTL_FILTERS)

#define CTRSTATUS_FROZEN	BIT(31)
#define CTRSTATUS_WRPTR		GENMASK(7, 0)
#define CTRSOURCE_V		BIT(0)
#define CTRTARGET_MISP		BIT(0)
#define CTRDATA_CCV		BIT(15)
#define CTRDATA_INTERRUPT	2		/* TYPE, table 9 */

#ifdef __KERNEL__

/**
 * sctrclr() - SCTRCLR (4.1): invalidate all entries, reset the cycle counter
 *
 * Context: interrupts off: the buffer is of this CPU.
 */
static inline void sctrclr(void)
{
	asm volatile(".4byte 0x10400073" ::: "memory");
}

/**
 * csr_read_guarded() - read a CSR that may not be there
 * @csr: its number, a constant.
 * @value: points to an unsigned long; 0 after a trap.
 *
 * Context: interrupts off: the CSR is of this CPU.
 * Return: false: the access trapped.
 */
#define csr_read_guarded(csr, value)						\
({										\
	bool __there = true;							\
	unsigned long __value = 0;						\
										\
	asm volatile("1:	csrr %0, " __ASM_STR(csr) "\n"			\
		     "	j 3f\n"							\
		     "2:	li %1, 0\n"					\
		     "3:\n"							\
		     _ASM_EXTABLE(1b, 2b)					\
		     : "+&r" (__value), "+r" (__there) : : "memory");		\
	*(value) = __value;							\
	__there;								\
})

#endif /* __KERNEL__ */

#endif /* FLOWTAP_KMOD_CTR_CSR_H */
