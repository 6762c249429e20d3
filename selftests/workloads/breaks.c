// SPDX-License-Identifier: GPL-2.0-only
/* Breakpoints that the program handles itself, after histories of different length. */
#include <signal.h>
#include <ucontext.h>

#include "workload.h"

static volatile unsigned long breaks;

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	breaks++;
	user->uc_mcontext.__gregs[REG_PC] += 4;
}

static __attribute__((noinline)) uint64_t work(uint64_t *state, unsigned int turns)
{
	uint64_t sum = 0;

	while (turns--)
		sum += mix(state) & 1 ? 3 : mix(state);
	return sum;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 100);
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };
	uint64_t state = 9, sum = 0;

	sigaction(SIGTRAP, &action, NULL);
	for (unsigned long i = 0; i < amount; i++) {
		sum += work(&state, i % 300);
		__asm__ volatile(".option push\n.option norvc\nebreak\n.option pop" ::: "memory");
		sum += work(&state, 40);
	}
	return end("breaks", breaks == amount, sum);
}
