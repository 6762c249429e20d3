// SPDX-License-Identifier: GPL-2.0-only
/* Threads and children that go from CPU to CPU while they work. */
#include <pthread.h>
#include <sched.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "workload.h"

#define THREADS 3
#define CHILDREN 2

static unsigned long amount;

/* Of the calling thread. A CPU that is offline now is not gone to. */
static void go_to(unsigned long cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu % get_nprocs_conf(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static uint64_t work(uint64_t who, int move)
{
	uint64_t state = who, sum = 0;

	for (unsigned long round = 0; round < amount; round++) {
		if (move)
			go_to(who + round);
		for (int i = 0; i < 2000; i++)
			sum = sum * 3 + (mix(&state) >> (sum & 15));
	}
	return sum;
}

static void *thread(void *who)
{
	return (void *)(uintptr_t)work((uintptr_t)who, 1);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	pid_t children[CHILDREN];
	uint64_t sum = 0;
	int right = 1;

	amount = begin(argc, argv, 30);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread, (void *)(i + 1)))
			return 2;
	for (uint64_t i = 0; i < CHILDREN; i++) {
		children[i] = fork();
		if (children[i] < 0)
			return 2;
		if (!children[i])
			_exit(work(100 + i, 1) != work(100 + i, 0));
	}
	for (uintptr_t i = 0; i < THREADS; i++) {
		void *result;

		pthread_join(threads[i], &result);
		right &= (uintptr_t)result == work(i + 1, 0);
		sum += (uintptr_t)result;
	}
	for (int i = 0; i < CHILDREN; i++) {
		int status = 1;

		waitpid(children[i], &status, 0);
		right &= !status;
	}
	return end("migrate", right, sum);
}
