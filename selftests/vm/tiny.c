// SPDX-License-Identifier: GPL-2.0-only
/*
 * The least program, for those who look whether its first instruction is recorded: that is a jump,
 * and all of its transfers have room in the hardware's buffer. With an argument it does not end.
 */
#if defined(__riscv)
__asm__(".globl _start\n"
	"_start:	j	1f\n"
	"	nop\n"
	"1:	ld	t0, 0(sp)\n"	/* argc */
	"	li	t1, 1\n"
	"3:	bne	t0, t1, 3b\n"
	"	li	t0, 20\n"
	"2:	addi	t0, t0, -1\n"
	"	bnez	t0, 2b\n"
	"	li	a0, 0\n"
	"	li	a7, 93\n"	/* exit */
	"	ecall\n");
#elif defined(__aarch64__)
__asm__(".globl _start\n"
	"_start:	b	1f\n"
	"	nop\n"
	"1:	ldr	x1, [sp]\n"
	"3:	cmp	x1, #1\n"
	"	b.ne	3b\n"
	"	mov	x1, #20\n"
	"2:	subs	x1, x1, #1\n"
	"	b.ne	2b\n"
	"	mov	x0, #0\n"
	"	mov	x8, #93\n"
	"	svc	#0\n");
#endif
