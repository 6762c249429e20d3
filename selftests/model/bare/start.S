/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From reset, at EL1 or EL2 with the MMU off, into C in the kernel half. */

#define MODE_VHE 1
#define MODE_NVHE 2

	.section .text.start, "ax"
	.global _start
_start:
	mov	x19, #0
	adrp	x0, boot_stack
	add	x0, x0, #4096
	mov	sp, x0
	bl	boot_early
	b	start

	/* PSCI CPU_ON: x0 is the CPU's number. */
	.global secondary_start
secondary_start:
	mov	x19, x0
start:
	adrp	x20, boot
	add	x20, x20, :lo12:boot
	mrs	x1, CurrentEL
	cmp	x1, #8
	b.ne	el1
	mov	x1, #3			/* EL1 may use the physical counter and timer */
	msr	cnthctl_el2, x1
	msr	cntvoff_el2, xzr
	mov	x1, #0xf
	msr	icc_sre_el2, x1
	isb
	mrs	x1, midr_el1
	msr	vpidr_el2, x1
	mrs	x1, mpidr_el1
	msr	vmpidr_el2, x1
	ldr	w2, [x20]
	cmp	w2, #MODE_VHE
	b.ne	nvhe
	ldr	x1, =(1 << 31 | 1 << 34 | 1 << 27 | 3 << 40)	/* RW E2H TGE API APK */
	msr	hcr_el2, x1
	isb
	b	el1

nvhe:	adrp	x1, hyper_vectors
	add	x1, x1, :lo12:hyper_vectors
	msr	vbar_el2, x1
	/* Its stack: after one another, by number. */
	adrp	x1, hyper_stacks
	add	x1, x1, #1024
	add	x1, x1, x19, lsl #10
	mov	sp, x1
	ldr	x1, =0x30c50830
	msr	sctlr_el2, x1
	ldr	x1, =0x33ff
	msr	cptr_el2, x1
	mrs	x1, mdcr_el2
	orr	x1, x1, #3 << 24	/* E2TB: the buffer is EL1's, no traps */
	msr	mdcr_el2, x1
	ldr	x1, =(1 << 31 | 3 << 40)
	msr	hcr_el2, x1
	mov	x1, #0x3c5
	msr	spsr_el2, x1
	adr	x1, el1
	msr	elr_el2, x1
	isb
	eret

	/* EL1, or EL2 where EL1's names are its own. */
el1:	ldp	x0, x1, [x20, #8]
	msr	ttbr0_el1, x0
	msr	ttbr1_el1, x1
	ldp	x2, x3, [x20, #24]
	msr	tcr_el1, x2
	msr	mair_el1, x3
	ldr	x4, [x20, #40]
	dsb	sy
	tlbi	vmalle1
	dsb	sy
	isb
	msr	spsel, #1
	adr	x5, 1f
	ldr	x6, =0xffff800000000000
	add	x5, x5, x6
	msr	sctlr_el1, x4
	isb
	br	x5
1:	ldr	x0, =vectors
	msr	vbar_el1, x0
	ldr	x0, =3 << 20		/* FPEN, no TTA */
	msr	cpacr_el1, x0
	ldr	x0, =kernel_stacks
	add	x1, x19, #1
	add	x0, x0, x1, lsl #14
	mov	sp, x0
	isb
	mov	x0, x19
	mov	x29, xzr
	mov	x30, xzr
	bl	main
2:	b	2b

	.section .bss
	.balign 4096
boot_stack: .space 4096
	.global kernel_stacks
kernel_stacks: .space 4 * 16384
hyper_stacks: .space 4 * 1024
