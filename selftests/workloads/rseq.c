// SPDX-License-Identifier: GPL-2.0-only
/*
 * Restartable sequences: threads that are preempted, or get a signal, within one, so that the
 * kernel sends them to the abort handler, after CTR's back.
 */
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/rseq.h>
#include <sys/time.h>

#include "workload.h"

#define THREADS 3
#define CPUS 64

static uint64_t counts[CPUS][8];	/* a cache line each */
static unsigned long amount, aborts;

static struct rseq *area(void)
{
	return (struct rseq *)((char *)__builtin_thread_pointer() + __rseq_offset);
}

/*
 * counts[cpu]++ as a restartable sequence, long enough to be interrupted. False: it was aborted
 * or ran on another CPU than `cpu`.
 */
static __attribute__((noinline)) int add_on(uint32_t cpu, uint64_t *count)
{
	struct rseq *rseq = area();

	__asm__ goto volatile(
		"	.pushsection .data.rel, \"aw\"\n"
		"	.balign	32\n"
		"1:	.word	0, 0\n"
		"	.dword	2f, 3f - 2f, 4f\n"
		"	.popsection\n"
		"	la	t0, 1b\n"
		"	sd	t0, %[cs](%[rseq])\n"
		"2:	lw	t1, %[id](%[rseq])\n"
		"	bne	t1, %[cpu], 5f\n"
		"	ld	t0, 0(%[count])\n"
		"	li	t2, 200\n"
		"6:	addi	t2, t2, -1\n"
		"	bnez	t2, 6b\n"
		"	addi	t0, t0, 1\n"
		"	sd	t0, 0(%[count])\n"
		"3:	j	7f\n"
		"	.option	push\n"
		"	.option	norvc\n"
		"	.word	0xf1401073\n"	/* RSEQ_SIG */
		"	.option	pop\n"
		"4:	j	%l[aborted]\n"
		"5:	j	%l[elsewhere]\n"
		"7:\n"
		: : [rseq] "r"(rseq), [cpu] "r"((uint64_t)cpu), [count] "r"(count),
		    [cs] "i"(offsetof(struct rseq, rseq_cs)),
		    [id] "i"(offsetof(struct rseq, cpu_id))
		: "t0", "t1", "t2", "memory" : aborted, elsewhere);
	return 1;
aborted:
	__atomic_add_fetch(&aborts, 1, __ATOMIC_RELAXED);
	return 0;
elsewhere:
	return 0;
}

static void on_tick(int sig) { (void)sig; }

static void *worker(void *unused)
{
	(void)unused;
	for (unsigned long i = 0; i < amount; i++) {
		uint32_t cpu;

		do {
			cpu = __atomic_load_n(&area()->cpu_id_start, __ATOMIC_RELAXED);
		} while (cpu >= CPUS || !add_on(cpu, &counts[cpu][0]));
		if (i % 64 == 0)
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval interval = { { 0, 200 }, { 0, 200 } };
	pthread_t threads[THREADS];
	uint64_t total = 0;

	amount = begin(argc, argv, 5000);
	if (!__rseq_size) {
		fputs("rseq: the C library did not register it\n", stderr);
		return 1;
	}
	signal(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &interval, NULL);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, worker, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int cpu = 0; cpu < CPUS; cpu++)
		total += counts[cpu][0];
	return end("rseq", total == amount * THREADS && aborts, total);
}
