/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is hard to follow from outside: branches to themselves that only an interrupt ends, branches
 * to where they would go on anyway, blocks that QEMU leaves in the middle (a device in a loop whose
 * branch leads back there), instructions that fail, calls of firmware. EL1, no MMU, one CPU.
 *
 * To be run with -icount: its interrupts come after so many instructions. The trace unit is enabled
 * throughout, the trace buffer is not: all bytes are lost.
 */
#define UART		0x09000000
#define GICD		0x08000000
#define GICR_SGI	0x080b0000
#define TIMER		27		/* INTID of the virtual timer, PPI 11 */
#define SOON		2000		/* ticks */

#define OSLAR_EL1	s2_0_c1_c0_4
#define TRFCR_EL1	s3_0_c1_c2_1
#define TRCPRGCTLR	s2_1_c0_c1_0
#define TRCCONFIGR	s2_1_c0_c4_0
#define TRCTRACEIDR	s2_1_c0_c0_1
#define TRCEVENTCTL0R	s2_1_c0_c8_0
#define TRCEVENTCTL1R	s2_1_c0_c9_0
#define TRCTSCTLR	s2_1_c0_c12_0
#define TRCSYNCPR	s2_1_c0_c13_0
#define TRCVIIECTLR	s2_1_c0_c1_2
#define TRCVISSCTLR	s2_1_c0_c2_2
#define TRCVICTLR	s2_1_c0_c0_2

	.text
	.global _start
_start:
	ldr	x0, =vectors
	msr	vbar_el1, x0
	ldr	x0, =stack
	mov	sp, x0

	/* The GIC: affinity routing, group 1, the timer's interrupt. */
	ldr	x0, =GICD
	mov	w1, #0x12
	str	w1, [x0]
	ldr	x0, =GICR_SGI - 0x10000
	str	wzr, [x0, #0x14]	/* awake */
	ldr	x0, =GICR_SGI
	mov	w1, #-1
	str	w1, [x0, #0x80]
	mov	w1, #1 << TIMER
	str	w1, [x0, #0x100]
	mov	x1, #7
	msr	icc_sre_el1, x1
	isb
	mov	x1, #0xff
	msr	icc_pmr_el1, x1
	mov	x1, #1
	msr	icc_igrpen1_el1, x1
	isb

	msr	OSLAR_EL1, xzr
	isb
	mov	x0, #1
	msr	TRCCONFIGR, x0
	msr	TRCTRACEIDR, x0
	msr	TRCEVENTCTL0R, xzr
	msr	TRCEVENTCTL1R, xzr
	msr	TRCTSCTLR, xzr
	msr	TRCSYNCPR, xzr
	msr	TRCVIIECTLR, xzr
	msr	TRCVISSCTLR, xzr
	mov	x0, #0x201
	msr	TRCVICTLR, x0
	mov	x0, #3
	msr	TRFCR_EL1, x0
	isb
	mov	x0, #1
	msr	TRCPRGCTLR, x0
	isb

	mov	x20, #40
again:
	/* A device in the middle of a block, and its branch leads back to it. */
	ldr	x1, =UART
	mov	x3, #5
	nop
2:	ldr	w2, [x1, #0x18]
	subs	x3, x3, #1
	b.ne	2b
	/* And where the device is what the block begins and ends with. */
	mov	x3, #3
3:	ldr	w2, [x1, #0x18]
	str	wzr, [x1, #0x30]
	subs	x3, x3, #1
	nop
	b.ne	3b

	/* To the next instruction, taken and not. */
	cmp	x20, #20
	b.hi	.+4
	b.le	.+4
	and	x4, x20, #1
	cbz	x4, .+4
	cbnz	w4, .+4
	tbz	x20, #1, .+4
	tbnz	x20, #2, .+4
	b	.+4
	bl	.+4

	/* To themselves: directly, when a condition holds, by a register. */
	bl	soon
	b	.
	bl	soon
	cmp	x20, x20
	b.eq	.
	bl	soon
	adr	x5, 4f
4:	br	x5
	bl	soon
5:	nop
	b	5b
	bl	soon
	wfi
	msr	daifset, #2
	sevl
	wfe
	yield

	/* Failing, and skipped by the handler; the last two are their block's first and last. */
	add	x6, x20, #1
	brk	#1
	udf	#0
	mrs	x6, s3_7_c15_c15_7
	b	6f
6:	udf	#1
	svc	#7
	/* TRCACVR8 and so on: not there. */
	msr	s2_1_c2_c15_7, x6
	mrs	x6, s2_1_c0_c11_7	/* TRCIDR3: there, in the middle of a block */
	nop
	mrs	x6, id_aa64dfr0_el1
	add	x6, x6, #1
	dsb	sy
	hint	#18
	nop
	isb
	nop

	/* To EL0 and back by a system call. */
	adr	x6, user
	msr	elr_el1, x6
	msr	spsr_el1, xzr
	eret
back:
	/* AArch32 at EL0: mov r0, #3; subs r0, r0, #1; bne back; svc #0. It is not traced. */
	adr	x6, narrow
	msr	elr_el1, x6
	mov	x6, #0x10
	msr	spsr_el1, x6
	eret
	.balign 4
narrow:	.word	0xe3a00003, 0xe2500001, 0x1afffffd, 0xef000000
wide:
	/* PSCI_VERSION: QEMU is the firmware. */
	mov	x0, #0x84000000
	hvc	#0
	mov	x6, x0
	adr	x7, 7f
	blr	x7
	subs	x20, x20, #1
	b.ne	again
	b	end
7:	ret

end:	mov	x0, #0x18		/* semihosting SYS_EXIT, ADP_Stopped_ApplicationExit */
	ldr	x1, =leave
	hlt	#0xf000
	b	.

user:	mov	x8, #3
8:	subs	x8, x8, #1
	b.ne	8b
	svc	#1

/* An interrupt soon. */
soon:	mov	x9, #SOON
	msr	cntv_tval_el0, x9
	mov	x9, #1
	msr	cntv_ctl_el0, x9
	isb
	msr	daifclr, #2
	ret

	/* Steps over the instruction, but for system calls: those have been. */
synchronous:
	mrs	x10, esr_el1
	lsr	x11, x10, #26
	cmp	x11, #0x15
	b.eq	1f
	mrs	x12, elr_el1
	add	x12, x12, #4
	msr	elr_el1, x12
1:	eret

system_call:
	mov	x10, #0x3c5
	msr	spsr_el1, x10
	adr	x10, back
	msr	elr_el1, x10
	eret

narrow_call:
	mov	x10, #0x3c5
	msr	spsr_el1, x10
	adr	x10, wide
	msr	elr_el1, x10
	eret

/* Off goes the timer; goes on after a branch to itself. */
interrupt:
	mrs	x10, icc_iar1_el1
	msr	cntv_ctl_el0, xzr
	isb
	msr	icc_eoir1_el1, x10
	mrs	x12, elr_el1
	ldr	w13, [x12]
	ldr	w14, [x12, #-4]
	adr	x15, 5b
	cmp	x12, x15
	b.eq	2f
	add	x15, x15, #4
	cmp	x12, x15
	b.eq	3f
	ldr	w16, =0x14000000	/* b . */
	cmp	w13, w16
	b.eq	3f
	ldr	w16, =0x54000000	/* b.eq . */
	cmp	w13, w16
	b.eq	3f
	ldr	w16, =0xd61f00a0	/* br x5 */
	cmp	w13, w16
	b.eq	3f
	eret				/* after wfi, or somewhere else */
2:	add	x12, x12, #4
3:	add	x12, x12, #4
	msr	elr_el1, x12
	eret

	.balign 2048
vectors:
	.macro	entry label
	.balign 128
	b	\label
	.endm
	.rept 4
	entry	end
	.endr
	entry	synchronous
	entry	interrupt
	entry	end
	entry	end
	entry	system_call
	entry	interrupt
	entry	end
	entry	end
	entry	narrow_call
	entry	interrupt
	entry	end
	entry	end

	.data
	.balign 16
leave:	.quad	0x20026, 0
	.bss
	.balign 16
	.space	4096
stack:
