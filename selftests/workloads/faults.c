// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults: by loads and stores in fresh memory, and by instruction fetch, also in the middle of
 * an instruction that lies across two pages (RISC-V). The code's own pages are dropped again and
 * again.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "workload.h"

#define PAGE 4096UL

#ifdef __aarch64__
/* Two pages of code with a loop across their border. */
__asm__(
	"	.text\n"
	"	.balign	4096\n"
	"	.globl	across\n"
	"	.type	across, @function\n"
	"across:\n"
	"	mov	x9, #3\n"
	"	mov	x10, #85\n"
	"	b	1f\n"
	"	.skip	4096 - (. - across) - 8\n"
	"1:	add	x0, x0, #1\n"
	"	sub	x9, x9, #1\n"
	"	eor	x0, x0, x10\n"
	"	cbnz	x9, 1b\n"
	"	ret\n"
	"	.skip	4096\n"
	"	.size	across, . - across\n");
#else
/* Two pages of code with an instruction of 4 bytes across their border. */
__asm__(
	"	.text\n"
	"	.balign	4096\n"
	"	.globl	across\n"
	"	.type	across, @function\n"
	"across:\n"
	"	li	t0, 3\n"
	"	j	1f\n"
	"	.skip	4096 - (. - across) - 10\n"
	"1:	.option	push\n"
	"	.option	norvc\n"
	"	addi	a0, a0, 1\n"
	"	.option	pop\n"
	"	c.addi	t0, -1\n"
	"	c.nop\n"
	"	.option	push\n"
	"	.option	norvc\n"
	"	xori	a0, a0, 85\n"		/* its second half is in the next page */
	"	.option	pop\n"
	"	bnez	t0, 1b\n"
	"	ret\n"
	"	.skip	4096\n"
	"	.size	across, . - across\n");
#endif

uint64_t across(uint64_t x);

static uint64_t touch(volatile uint8_t *memory, size_t pages, uint64_t *state)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pages; i++) {
		memory[i * PAGE + (mix(state) & 4095)] += i;
		sum += memory[i * PAGE];
	}
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 100);
	uint64_t state = 4, sum = 0, want = 1;
	int right = ((uintptr_t)across & (PAGE - 1)) == 0;

	for (int i = 0; i < 3; i++)
		want = (want + 1) ^ 85;
	for (unsigned long i = 0; i < amount && right; i++) {
		uint8_t *memory = mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		sum += touch(memory, 16, &state);
		madvise(memory, 8 * PAGE, MADV_DONTNEED);
		sum += touch(memory, 16, &state);
		munmap(memory, 16 * PAGE);
		madvise((void *)across, 2 * PAGE, MADV_DONTNEED);
		right = across(1) == want;
		madvise((char *)(uintptr_t)across + PAGE, PAGE, MADV_DONTNEED);
		right &= across(1) == want;
	}
	return end("faults", right, sum);
}
