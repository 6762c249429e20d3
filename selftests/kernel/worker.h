/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the tests of ETE trace, and how they begin. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_WORKER_H
#define FLOWTAP_SELFTESTS_KERNEL_WORKER_H

#include "aux.h"
#include "task.h"

/* A child that works in turns: each byte in the pipe is one. */
struct worker {
	pid_t pid;
	int go;
	int done;
};

#define STEP(n)									\
static __attribute__((noinline, unused)) unsigned long step##n(unsigned long value) \
{										\
	asm volatile("" : "+r" (value));					\
	return value * 6364136223846793005UL + n;				\
}
STEP(1) STEP(3) STEP(5) STEP(7)
#undef STEP

/* Where it goes next no packet foretells: each step is some bytes of trace. */
static __attribute__((noinline, unused)) unsigned long work(unsigned long n)
{
	static unsigned long (*const steps[])(unsigned long) = { step1, step3, step5, step7 };
	unsigned long i, value = 1;

	for (i = 0; i < n; i++)
		value = steps[value >> 62](value);
	return value;
}

/* On this CPU; a turn is one call of the function. */
static inline struct worker start_worker_on(int cpu, unsigned long (*program)(unsigned long),
					    unsigned long steps)
{
	struct worker worker;
	int go[2], done[2];
	char byte;

	if (pipe(go) || pipe(done))
		abort();
	worker.pid = fork_pinned(cpu);
	if (!worker.pid) {
		close(go[1]);
		while (read(go[0], &byte, 1) == 1) {
			program(steps);
			if (write(done[1], &byte, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(go[0]);
	close(done[1]);
	worker.go = go[1];
	worker.done = done[0];
	return worker;
}

static inline struct worker start_worker(int cpu, unsigned long steps)
{
	return start_worker_on(cpu, work, steps);
}

static inline bool turn(const struct worker *worker)
{
	char byte = 0;

	return write(worker->go, &byte, 1) == 1 && read(worker->done, &byte, 1) == 1;
}

static inline void end_worker(struct worker *worker)
{
	/* Another worker may have its pipe as well. */
	end(worker->pid);
	close(worker->go);
	close(worker->done);
}

/* 0 or -errno. */
static inline int trace(struct aux *aux, const struct flowtap_configure *configure, pid_t pid)
{
	int error = aux_open(aux, configure), added;

	if (error)
		return error;
	aux->tid = pid;
	added = add_task(&aux->stream, pid, 0);
	return added < 0 ? added : enable(&aux->stream);
}

static inline uint32_t all_gaps(const struct aux *aux)
{
	uint32_t sum = 0, i;

	for (i = 0; i < FLOWTAP_CAUSE_MAX; i++)
		sum += aux->gaps[i];
	return sum;
}

/* Nothing is lost; where FLOWTAP_ADVERSE hardware loses what it likes, that is told. */
static inline bool nothing_lost(const struct aux *aux)
{
	const uint32_t hardware = getenv("FLOWTAP_ADVERSE") ? aux->gaps[FLOWTAP_CAUSE_HARDWARE] : 0;

	return all_gaps(aux) == hardware &&
	       !(aux->losses & ~(hardware ? 1U << FLOWTAP_CAUSE_HARDWARE : 0));
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_WORKER_H */
