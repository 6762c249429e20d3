// SPDX-License-Identifier: GPL-2.0-only
/* Threads: a queue with mutex and condition variables, a barrier, threads that come and go. */
#include <pthread.h>

#include "workload.h"

#define WORKERS 4
#define CAPACITY 8

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static uint64_t queue[CAPACITY];
static unsigned int head, tail;
static uint64_t total;

static uint64_t take(void)
{
	uint64_t item;

	pthread_mutex_lock(&lock);
	while (head == tail)
		pthread_cond_wait(&filled, &lock);
	item = queue[tail++ % CAPACITY];
	pthread_cond_signal(&emptied);
	pthread_mutex_unlock(&lock);
	return item;
}

static void put(uint64_t item)
{
	pthread_mutex_lock(&lock);
	while (head - tail == CAPACITY)
		pthread_cond_wait(&emptied, &lock);
	queue[head++ % CAPACITY] = item;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static uint64_t work(uint64_t item)
{
	uint64_t state = item, sum = 0;

	for (int i = 0; i < 200; i++)
		sum += mix(&state) >> 40;
	return sum;
}

static void *worker(void *unused)
{
	uint64_t item, sum = 0;

	(void)unused;
	pthread_barrier_wait(&barrier);
	while ((item = take()))
		sum += work(item);
	__atomic_add_fetch(&total, sum, __ATOMIC_RELAXED);
	return NULL;
}

static void *brief(void *item)
{
	return (void *)(uintptr_t)work((uintptr_t)item);
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 500);
	pthread_t workers[WORKERS], one;
	uint64_t want = 0;
	void *result;

	pthread_barrier_init(&barrier, NULL, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++)
		if (pthread_create(&workers[i], NULL, worker, NULL))
			return 2;
	pthread_barrier_wait(&barrier);
	for (unsigned long i = 1; i <= amount; i++) {
		put(i);
		want += work(i);
		if (i % 16)
			continue;
		if (pthread_create(&one, NULL, brief, (void *)i))
			return 2;
		pthread_join(one, &result);
		want += (uintptr_t)result;
		__atomic_add_fetch(&total, (uintptr_t)result, __ATOMIC_RELAXED);
	}
	for (int i = 0; i < WORKERS; i++)
		put(0);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(workers[i], NULL);
	return end("threads", total == want, total);
}
