// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls of every shape: tables of functions, jump tables, recursion deeper than any CTR buffer,
 * tail calls, setjmp and longjmp across frames, link registers other than ra. Built with and
 * without compressed instructions.
 */
#include <setjmp.h>
#include <stdarg.h>

#include "workload.h"

#define NOINLINE __attribute__((noinline))

static NOINLINE uint64_t op_add(uint64_t a, uint64_t b) { return a + b; }
static NOINLINE uint64_t op_sub(uint64_t a, uint64_t b) { return a - b; }
static NOINLINE uint64_t op_xor(uint64_t a, uint64_t b) { return a ^ b; }
static NOINLINE uint64_t op_mul(uint64_t a, uint64_t b) { return a * (b | 1); }

static uint64_t (*volatile const table[])(uint64_t, uint64_t) = { op_add, op_sub, op_xor, op_mul };

static NOINLINE uint64_t jump_table(unsigned int which, uint64_t x)
{
	switch (which) {
	case 0: return x + 3;
	case 1: return x * 5;
	case 2: return x ^ 0x55;
	case 3: return x - 9;
	case 4: return x << 1 | x >> 63;
	case 5: return ~x;
	case 6: return x / 3;
	case 7: return x * x;
	case 8: return x >> 1;
	case 9: return x + (x << 7);
	default: return 0;
	}
}

static NOINLINE uint64_t fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static NOINLINE uint64_t deep(unsigned int n, uint64_t x)
{
	uint64_t y = n ? deep(n - 1, x * 3 + n) : x;

	__asm__ volatile("" ::: "memory");	/* no tail call */
	return y + 1;
}

static NOINLINE uint64_t odd(uint64_t n);
static NOINLINE uint64_t even(uint64_t n) { return n ? odd(n - 1) : 1; }
static NOINLINE uint64_t odd(uint64_t n) { return n ? even(n - 1) : 0; }

static jmp_buf out;

static NOINLINE int descend(int n)
{
	volatile int depth = n;

	if (!depth)
		longjmp(out, 7);
	return depth > 100 || descend(depth - 1) + 1;
}

static NOINLINE int jump_out(void)
{
	int value = setjmp(out);

	if (!value)
		descend(20);
	return value;
}

static NOINLINE uint64_t add_up(int n, ...)
{
	uint64_t sum = 0;
	va_list args;

	va_start(args, n);
	while (n--)
		sum += va_arg(args, uint64_t);
	va_end(args);
	return sum;
}

#ifdef __aarch64__
/* BL, BLR, BR and RET by other registers than the usual, and a RET that does not return. */
static NOINLINE uint64_t links(uint64_t x)
{
	__asm__ volatile(
		"	mov	x12, x30\n"
		"	bl	10f\n"
		"	adr	x9, 20f\n"
		"	blr	x9\n"
		"	adr	x9, 30f\n"
		"	br	x9\n"
		"10:	add	%0, %0, #1\n"
		"	ret\n"
		"20:	lsl	%0, %0, #1\n"
		"	mov	x10, x30\n"
		"	ret	x10\n"		/* a return by another register */
		"30:	eor	%0, %0, #1\n"
		"	eor	%0, %0, #4\n"
		"	eor	%0, %0, #16\n"
		"	adr	x30, 40f\n"
		"	ret\n"			/* to where no BL came from */
		"40:	add	%0, %0, #3\n"
		"	bl	50f\n"
		"50:	add	%0, %0, #5\n"	/* a BL that nothing returns from */
		"	mov	x30, x12\n"
		: "+r"(x) : : "x9", "x10", "x12", "x30", "memory");
	return x;
}
#else
/* jal and jalr through t0 and t1, and a swap between ra and t0 (Smctr table 10). */
static NOINLINE uint64_t links(uint64_t x)
{
	__asm__ volatile(
		"	mv	t6, ra\n"
		"	jal	t0, 10f\n"	/* direct call by the alternate link register */
		"	jal	t1, 20f\n"	/* other direct jump */
		"	la	t2, 30f\n"
		"	jalr	t1, t2\n"	/* other indirect jump */
		"	la	t2, 40f\n"
		"	jalr	ra, t2\n"	/* indirect call */
		"	la	t0, 50f\n"
		"	jalr	ra, t0\n"	/* swap */
		"	j	60f\n"
		"10:	addi	%0, %0, 1\n"
		"	jalr	x0, t0\n"	/* return by t0 */
		"20:	slli	%0, %0, 1\n"
		"	jalr	x0, t1\n"	/* indirect jump */
		"30:	xori	%0, %0, 21\n"
		"	jr	t1\n"
		"40:	addi	%0, %0, 3\n"
		"	ret\n"
		"50:	addi	%0, %0, 5\n"
		"	jalr	t0, ra\n"	/* swap back */
		"60:	mv	ra, t6\n"
		: "+r"(x) : : "t0", "t1", "t2", "t6", "ra", "memory");
	return x;
}
#endif

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 100);
	uint64_t state = 2, sum = 0;
	int right = 1;

	for (unsigned long i = 0; i < amount && right; i++) {
		for (int k = 0; k < 256; k++) {
			uint64_t random = mix(&state);

			sum = table[random & 3](sum, random);
			sum = jump_table(random >> 8 & 15, sum);
		}
		sum += add_up(3, sum, (uint64_t)1, (uint64_t)2);
		right = fibonacci(12) == 144 && deep(300, 0) && even(400) && jump_out() == 7 &&
			links(4) == (((4 + 1) << 1) ^ 21) + 3 + 5;
	}
	return end("calls", right, sum);
}
