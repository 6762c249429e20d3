/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Under the kernel, at EL2 without VHE and with the MMU off: x0 is a call of enum hypercall, x1 its
 * value; x0 comes back as what the register was before, or as what the loop counted.
 */
	.macro fatal
	.balign 128
	b	stray
	.endm

	.text
	.balign 2048
	.global hyper_vectors
hyper_vectors:
	.rept 8
	fatal
	.endr
	.balign 128
	b	hyper_call		/* from EL1, AArch64 */
	.rept 7
	fatal
	.endr

hyper_call:
	stp	x2, x3, [sp, #-16]!
	mrs	x2, esr_el2
	lsr	x2, x2, #26
	cmp	x2, #0x16		/* HVC */
	b.ne	stray
	cmp	x0, #8
	b.hi	stray
	adr	x2, calls
	add	x2, x2, x0, lsl #4
	br	x2
calls:	nop
	nop
	nop
	b	hyper_return

	.macro call register
	mrs	x0, \register
	msr	\register, x1
	isb
	b	hyper_return
	.endm

	call	hcr_el2
	call	vttbr_el2
	call	vtcr_el2
	call	trfcr_el2
	call	mdcr_el2
	call	contextidr_el2
	b	hyper_loop
	nop
	nop
	nop
	dsb	ish
	tlbi	alle1is
	dsb	ish
	b	hyper_return

hyper_return:
	ldp	x2, x3, [sp], #16
	eret

hyper_loop:
	mov	x0, xzr
	mov	x3, x1
1:	cbz	x3, hyper_return
	add	x0, x0, x3
	tbz	x3, #0, 2f
	bl	hyper_leaf
2:	sub	x3, x3, #1
	b	1b
hyper_leaf:
	add	x0, x0, #1
	ret

	/* Nothing here is meant to happen: say where, and end. */
stray:	mrs	x0, elr_el2
	mrs	x1, esr_el2
	mrs	x2, far_el2
	ldr	x3, =0xffff800000000000
	adrp	x4, hyper_strayed
	add	x4, x4, :lo12:hyper_strayed
	stp	x0, x1, [x4]
	str	x2, [x4, #16]
	ldr	w0, =0x84000008		/* SYSTEM_OFF */
	smc	#0
1:	b	1b

	.section .bss
	.balign 16
	.global hyper_strayed
hyper_strayed: .space 32
