// SPDX-License-Identifier: GPL-2.0-only
/* A debugger at work: the parent stops its child and sends it elsewhere, again and again. */
#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

/* Stops by ebreak, which the parent passes over together with the instruction after it. */
static __attribute__((noinline)) uint64_t stop(uint64_t x)
{
	__asm__ volatile(".option push\n.option norvc\n"
			 "	ebreak\n"
			 "	addi	%0, %0, 100\n"
			 "	addi	%0, %0, 1\n"
			 ".option pop\n" : "+r"(x) : : "memory");
	return x;
}

static int child(unsigned long amount)
{
	uint64_t state = 6, x = 0;

	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	for (unsigned long i = 0; i < amount; i++) {
		for (int k = 0; k < 300; k++)
			mix(&state);
		x = stop(x);
	}
	return x == amount;
}

static int pass_over(pid_t pid)
{
	uint64_t registers[32];		/* pc first */
	struct iovec part = { registers, sizeof(registers) };

	if (ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &part))
		return 0;
	registers[0] += 8;
	return !ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &part);
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 200), stops = 0;
	int status = 0, right = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(!child(amount));
	while (waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) == SIGTRAP) {
			stops++;
			right &= pass_over(pid);
		}
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	}
	return end("ptrace", right && WIFEXITED(status) && !WEXITSTATUS(status) && stops == amount,
		   stops);
}
