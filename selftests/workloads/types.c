// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each type of transfer that there is (Smctr 6.2), again and again: in assembly, so that those no
 * compiler makes are there, too (co-routine swaps, other registers than ra and t0 for a link).
 */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "workload.h"

/*
 * Per round, so that samples of a few thousand instructions fall among them, not only on its
 * exceptions.
 */
#define TURNS 40

uint64_t types_turn(uint64_t n);

__asm__(".text\n"
	".balign 4\n"
	"leaf:\n"
	"	addi	a0, a0, 1\n"
	"	ret\n"				/* function return */
	"leaf_t0:\n"
	"	addi	a0, a0, 1\n"
	"	jr	t0\n"			/* function return */
	"other:\n"
	"	addi	a0, a0, 1\n"
	"	jr	t2\n"			/* indirect jump */
	"coroutine:\n"
	"	addi	a0, a0, 1\n"
	"	jalr	t0, ra\n"		/* co-routine swap */
	"	.globl	types_turn\n"
	"	.type	types_turn, @function\n"
	"types_turn:\n"
	"	addi	sp, sp, -16\n"
	"	sd	ra, 8(sp)\n"
	"	srli	t3, a0, 1\n"
	"	andi	t3, t3, 7\n"
	"	addi	t3, t3, 1\n"
	"1:	addi	t3, t3, -1\n"
	"	bnez	t3, 1b\n"		/* taken, and at last not taken */
	"	beqz	a0, 2f\n"		/* not taken */
	"	jal	ra, leaf\n"		/* direct call */
	"	jal	t0, leaf_t0\n"
	"	lla	t4, leaf\n"
	"	jalr	ra, t4\n"		/* indirect call */
	"	lla	t4, leaf_t0\n"
	"	jalr	t0, t4\n"
	"2:	lla	t4, 3f\n"
	"	jr	t4\n"			/* indirect jump */
	"	unimp\n"
	"3:	j	4f\n"			/* direct jump */
	"	unimp\n"
	"4:	jal	t2, other\n"		/* other direct jump */
	"	lla	t4, other\n"
	"	jalr	t2, t4\n"		/* other indirect jump */
	"	lla	t0, coroutine\n"
	"	jalr	ra, t0\n"		/* co-routine swap */
	"	ld	ra, 8(sp)\n"
	"	addi	sp, sp, 16\n"
	"	ret\n"
	".size types_turn, . - types_turn\n");

/* How often a loop goes round differs from turn to turn: no two samples are alike. */
static uint64_t random_odd(uint64_t n)
{
	return (n * 6364136223846793005 + 1442695040888963407) >> 20 | 1;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 100);
	size_t page = sysconf(_SC_PAGESIZE);
	volatile uint8_t *memory = mmap(NULL, page, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0, n = 1;

	if (memory == MAP_FAILED)
		return 2;
	for (unsigned long i = 0; i < amount; i++) {
		for (int k = 0; k < TURNS; k++) {
			n = random_odd(n);
			sum += types_turn(n) - n;
		}
		/* Exceptions: a page fault, a system call. */
		sum += memory[0]++;
		madvise((void *)memory, page, MADV_DONTNEED);
		sum += syscall(SYS_getppid) < 0;
	}
	return end("types", sum == amount * TURNS * 7, sum);
}
