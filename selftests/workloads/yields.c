// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes that yield to each other, strictly in turn, and do next to nothing in between: so
 * little that what either does in user mode and in the kernel from one switch to the next fits
 * into a CTR buffer. No C library. With one argument it stops itself before, until SIGCONT.
 */
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <stdint.h>
#include <sys/syscall.h>

#define SIGCHLD 17
#define SIGSTOP 19
#define SCHED_FIFO 1
#define TURNS 300

static long call(long number, long a, long b, long c, long d)
{
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = 0;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) :
			 "memory");
	return a0;
}

static __attribute__((noinline)) uint64_t step(uint64_t x)
{
	return x & 1 ? x * 5 + 1 : x / 2 + 3;
}

static __attribute__((noinline)) uint64_t take_turns(uint64_t sum)
{
	for (int turn = 0; turn < TURNS; turn++) {
		sum = step(sum);
		call(SYS_sched_yield, 0, 0, 0, 0);
	}
	return sum;
}

void work(long words)
{
	static const char right[] = "yields: right\n";
	int priority = 1;

	if (words > 1)
		call(SYS_kill, call(SYS_getpid, 0, 0, 0, 0), SIGSTOP, 0, 0);
	if (call(SYS_sched_setscheduler, 0, SCHED_FIFO, (long)&priority, 0))
		call(SYS_exit_group, 2, 0, 0, 0);
	if (!call(SYS_clone, SIGCHLD, 0, 0, 0)) {
		take_turns(3);
		call(SYS_exit_group, 0, 0, 0, 0);
	}
	take_turns(7);
	call(SYS_wait4, -1, 0, 0, 0);
	call(SYS_write, 1, (long)right, sizeof(right) - 1, 0);
	call(SYS_exit_group, 0, 0, 0, 0);
}

/* The number of words is where sp points to. */
__asm__(".globl _start\n"
	"_start:\n"
	"	ld	a0, 0(sp)\n"
	"	j	work\n");
