/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What tasks execute, at EL0 or, called by the kernel at these addresses or those of the kernel
 * half, at EL1. Position independent, no data; only x0 to x17 change, and what is saved.
 * X is in the comments what the first argument is.
 */
	.arch	armv8.8-a+hbc
	.section .user, "ax"

	/* Where a task's first function returns to: at the very beginning. */
user_exit:
	svc	#1
	b	user_exit

	.macro function name
	.balign 16
	.global \name
\name:
	.endm

	/* X rounds of straight code, a call and a return. */
	function user_loop
	stp	x29, x30, [sp, #-16]!
	mov	x9, x0
	mov	x0, xzr
1:	bl	leaf
	add	x0, x0, x9
	subs	x9, x9, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	ret
leaf:	eor	x0, x0, x9
	add	x0, x0, #3
	ret

	/* 64 branches, taken as the bits of X are 1, nothing between them; then again, of ~X. */
	function user_atoms
	mvn	x1, x0
	mov	x2, #2
1:
	.set bit, 0
	.rept 64
	tbnz	x0, #bit, . + 8
	add	x3, x3, #1
	.set bit, bit + 1
	.endr
	mov	x0, x1
	sub	x2, x2, #1
	cbnz	x2, 1b
	mov	x0, x3
	ret

	/* Every conditional form with flags of X from 0 on, both ways. */
	function user_conditions
	mov	x1, xzr
	mov	x2, xzr
1:	lsl	x3, x1, #28
	.irp c, eq, ne, cs, cc, mi, pl, vs, vc, hi, ls, ge, lt, gt, le, al
	msr	nzcv, x3
	b.\c	2f
	add	x2, x2, #1
2:	msr	nzcv, x3
	bc.\c	3f
	add	x2, x2, #1
3:
	.endr
	and	x4, x1, #1
	cbz	x4, 4f
	add	x2, x2, #1
4:	cbz	w4, 4f
	add	x2, x2, #1
4:	cbnz	x4, 4f
	add	x2, x2, #1
4:	cbnz	w4, 4f
	add	x2, x2, #1
4:	tbz	w4, #0, 4f
	add	x2, x2, #1
4:	tbnz	w4, #0, 4f
	add	x2, x2, #1
4:	lsl	x4, x4, #63
	tbz	x4, #63, 4f
	add	x2, x2, #1
4:	tbnz	x4, #63, 4f
	add	x2, x2, #1
4:	b	4f
	udf	#0
4:	add	x1, x1, #1
	cmp	x1, #16
	b.ne	1b
	mov	x0, x2
	ret

	/* X calls deep. */
	function user_recurse
	stp	x29, x30, [sp, #-16]!
	cbz	x0, 1f
	sub	x0, x0, #1
	bl	user_recurse
	add	x0, x0, #1
1:	ldp	x29, x30, [sp], #16
	ret

	/* Two that call one another, X deep, by register; the return is by another register. */
	function user_indirect
	stp	x29, x30, [sp, #-16]!
	cbz	x0, 1f
	sub	x0, x0, #1
	adr	x16, other
	tbz	x0, #0, 2f
	adr	x16, user_indirect
2:	blr	x16
	add	x0, x0, #1
1:	ldp	x29, x17, [sp], #16
	ret	x17
other:	stp	x29, x30, [sp, #-16]!
	adr	x17, 3f
	br	x17
	udf	#1
3:	bl	user_indirect
	ldp	x29, x30, [sp], #16
	br	x30

	/* X rounds through a table of jumps, by a number that is not regular. */
	function user_table
	mov	x9, x0
	mov	x10, #12345
	mov	x0, xzr
1:	mov	x11, #0x4e6d
	movk	x11, #0x41c6, lsl #16
	mul	x10, x10, x11
	add	x10, x10, #1, lsl #12
	add	x10, x10, #57
	ubfx	x12, x10, #16, #3
	adr	x13, 2f
	add	x13, x13, x12, lsl #3
	br	x13
2:
	.irp n, 1, 2, 3, 4, 5, 6, 7, 8
	add	x0, x0, #\n
	b	3f
	.endr
3:	subs	x9, x9, #1
	b.ne	1b
	ret

	/* Branches with pointer authentication, X rounds. */
	function user_pauth
	paciasp
	stp	x29, x30, [sp, #-16]!
	mov	x9, x0
1:	adr	x16, signed_leaf
	paciza	x16
	blraaz	x16
	adr	x16, signed_leaf
	mov	x17, sp
	pacia	x16, x17
	blraa	x16, x17
	adr	x16, signed_leaf_b
	pacizb	x16
	blrabz	x16
	adr	x16, signed_leaf_b
	mov	x17, x9
	pacib	x16, x17
	blrab	x16, x17
	adr	x16, 2f
	paciza	x16
	braaz	x16
	udf	#2
2:	adr	x16, 3f
	pacib	x16, x17
	brab	x16, x17
	udf	#3
3:	adr	x16, 4f
	pacia	x16, x17
	braa	x16, x17
	udf	#4
4:	adr	x16, 5f
	pacizb	x16
	brabz	x16
	udf	#5
5:	subs	x9, x9, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	retaa
signed_leaf:
	paciasp
	add	x0, x0, #1
	retaa
signed_leaf_b:
	pacibsp
	add	x0, x0, #1
	retab

	/* X system calls, those with exceptions inside too; undefined instructions, BRK. */
	function user_calls
	mov	x9, x0
1:	svc	#2
	svc	#3
	udf	#7
	brk	#8
	svc	#2
	b	2f
2:	subs	x9, x9, #1
	b.ne	1b
	mov	x0, #77
	ret

	/* X system calls that work. */
	function user_work
	mov	x9, x0
	mov	x10, xzr
1:	mov	x0, x9
	svc	#4
	add	x10, x10, x0
	subs	x9, x9, #1
	b.ne	1b
	mov	x0, x10
	ret

	/* Loads and stores of pages from X on, 16 of size 1 << x1, that may fault first. */
	function user_touch
	mov	x9, #16
	mov	x10, #1
	lsl	x10, x10, x1
	mov	x11, xzr
1:	ldr	x12, [x0]
	add	x12, x12, x9
	str	x12, [x0]
	add	x11, x11, x12
	add	x0, x0, x10
	subs	x9, x9, #1
	b.ne	1b
	mov	x0, x11
	ret

	/* X rounds of a long way without a branch, then one. */
	function user_straight
1:	.rept 3000
	add	x1, x1, #1
	.endr
	subs	x0, x0, #1
	b.ne	1b
	mov	x0, x1
	ret

	/* X rounds of WFE, WFI, ISB and other barriers. */
	function user_wait
1:	isb
	sevl
	wfe
	isb
	dsb	sy
	yield
	wfi
	subs	x0, x0, #1
	b.ne	1b
	ret

	/* A branch to itself, X times; an interrupt must end each. */
	function user_self
1:	b	.
	add	x1, x1, #1
	subs	x0, x0, #1
	b.ne	1b
	mov	x0, x1
	ret

	/* Calls of `near` in copies of this code at far addresses and back, X rounds. */
	function user_far
	stp	x29, x30, [sp, #-16]!
	mov	x9, x0
1:	.irp distance, 0x10000, 0x30000, 0x1000000, 0x100000000, 0x1000000000, 0x400000000000, 0x100000000, 0x30000, 0x1000000000
	adr	x16, near
	mov	x17, #\distance
	add	x16, x16, x17
	blr	x16
	adr	x16, near_end
	add	x16, x16, x17
	blr	x16
	.endr
	bl	near
	bl	near_end
	subs	x9, x9, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	ret
near:	cbz	x0, 2f
	add	x0, x0, #1
2:	ret

	/* Places named for comparators: a is called X times, b every second time. */
	function user_places
	stp	x29, x30, [sp, #-16]!
	mov	x9, x0
	mov	x0, xzr
1:	bl	user_place_a
	tbz	x9, #0, 2f
	bl	user_place_b
2:	nop
	subs	x9, x9, #1
	b.ne	1b
	ldp	x29, x30, [sp], #16
	ret
	.space 256, 0
	.global user_place_a, user_place_a_end, user_place_b, user_place_b_end
user_place_a:
	add	x0, x0, #1
	tbz	x0, #1, 3f
	add	x0, x0, #4
3:	add	x0, x0, #8
user_place_a_end:
	ret
	.space 256, 0
user_place_b:
	add	x0, x0, #2
	tbnz	x0, #2, 4f
	eor	x0, x0, #4
4:	add	x0, x0, #16
user_place_b_end:
	ret

	.space 8192, 0
near_end:
	add	x0, x0, #2
	ret
