// SPDX-License-Identifier: GPL-2.0-only
/*
 * Signals: handlers that return, that alter where the program goes on, that leave by siglongjmp,
 * on another stack, nested, by timer, and for faults. CTR sees none of these ways.
 */
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "workload.h"

static volatile sig_atomic_t ticks, users, nested, faults;
static sigjmp_buf out;
static volatile uint64_t *guarded;

static void on_tick(int sig) { (void)sig; ticks++; }

static void on_nested(int sig) { (void)sig; nested++; }

static void on_user(int sig)
{
	(void)sig;
	users++;
	raise(SIGUSR2);
}

/* The instruction that faulted is passed over: it is 4 bytes long (see touch). */
static void on_fault(int sig, siginfo_t *info, void *context)
{
	ucontext_t *where = context;

	(void)sig;
	(void)info;
	faults++;
#ifdef __aarch64__
	where->uc_mcontext.pc += 4;
#else
	where->uc_mcontext.__gregs[REG_PC] += 4;
#endif
}

static void on_leave(int sig) { (void)sig; siglongjmp(out, 3); }

/* A load that faults, and what is next to it, so that passing it over looks like nothing. */
static __attribute__((noinline)) uint64_t touch(volatile uint64_t *at)
{
	uint64_t value = 11;

#ifdef __aarch64__
	__asm__ volatile("	ldr	%0, [%1]\n"
			 "	add	%0, %0, #1\n" : "+r"(value) : "r"(at) : "memory");
#else
	__asm__ volatile(".option push\n.option norvc\n"
			 "	ld	%0, 0(%1)\n"
			 "	addi	%0, %0, 1\n"
			 ".option pop\n" : "+r"(value) : "r"(at) : "memory");
#endif
	return value;
}

static int leave(void)
{
	int value = sigsetjmp(out, 1);

	if (!value)
		raise(SIGHUP);
	return value;
}

static void catch(int sig, void (*handler)(int), int flags)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };

	sigaction(sig, &action, NULL);
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 200);
	struct sigaction fault = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	struct itimerval interval = { { 0, 1000 }, { 0, 1000 } };
	static char stack[65536];
	stack_t other = { .ss_sp = stack, .ss_size = sizeof(stack) };
	uint64_t state = 3, sum = 0;
	int right = 1;

	sigaltstack(&other, NULL);
	sigaction(SIGSEGV, &fault, NULL);
	catch(SIGALRM, on_tick, SA_RESTART);
	catch(SIGUSR1, on_user, SA_ONSTACK);
	catch(SIGUSR2, on_nested, 0);
	catch(SIGHUP, on_leave, 0);
	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	setitimer(ITIMER_REAL, &interval, NULL);
	for (unsigned long i = 0; i < amount && right; i++) {
		for (int k = 0; k < 500; k++)
			sum ^= mix(&state);
		right = touch(guarded) == 12 && leave() == 3;
		kill(getpid(), SIGUSR1);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	right &= users == (int)amount && nested == (int)amount && faults == (int)amount;
	return end("signals", right, sum);
}
