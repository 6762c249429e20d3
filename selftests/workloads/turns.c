// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two processes that take turns: each blocks until the other one has written to its pipe. No C
 * library, so that between two switches there are never more transfers than a CTR buffer holds,
 * from the first instruction to the last.
 */
#include <linux/sched.h>
#include <stdint.h>
#include <sys/syscall.h>

#define SIGCHLD 17
#define TURNS 200

static long call(long number, long a, long b, long c, long d, long e)
{
	register long a0 __asm__("a0") = a;
	register long a1 __asm__("a1") = b;
	register long a2 __asm__("a2") = c;
	register long a3 __asm__("a3") = d;
	register long a4 __asm__("a4") = e;
	register long a7 __asm__("a7") = number;

	__asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a7) :
			 "memory");
	return a0;
}

static __attribute__((noinline)) uint64_t step(uint64_t x)
{
	return x & 1 ? x * 5 + 1 : x / 2 + 3;
}

/* sum: what the turns have computed so far, handed to and fro. */
static __attribute__((noinline)) uint64_t take_turns(int from, int to, int first, unsigned int work)
{
	uint64_t sum = first;

	for (int turn = 0; turn < TURNS; turn++) {
		if (!first || turn)
			if (call(SYS_read, from, (long)&sum, sizeof(sum), 0, 0) != sizeof(sum))
				return 0;
		for (unsigned int i = 0; i < work; i++)
			sum = step(sum);
		if (call(SYS_write, to, (long)&sum, sizeof(sum), 0, 0) != sizeof(sum))
			return 0;
	}
	return sum;
}

void _start(void)
{
	static const char right[] = "turns: right\n", wrong[] = "turns: WRONG\n";
	int ping[2], pong[2];
	uint64_t sum;
	long child;

	if (call(SYS_pipe2, (long)ping, 0, 0, 0, 0) || call(SYS_pipe2, (long)pong, 0, 0, 0, 0))
		call(SYS_exit_group, 2, 0, 0, 0, 0);
	child = call(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (child < 0)
		call(SYS_exit_group, 2, 0, 0, 0, 0);
	if (!child) {
		sum = take_turns(ping[0], pong[1], 0, 20);
		call(SYS_exit_group, !sum, 0, 0, 0, 0);
	}
	sum = take_turns(pong[0], ping[1], 1, 17);
	call(SYS_wait4, child, 0, 0, 0, 0);
	call(SYS_write, 1, (long)(sum ? right : wrong), sizeof(right) - 1, 0, 0);
	call(SYS_exit_group, !sum, 0, 0, 0, 0);
	__builtin_unreachable();
}
