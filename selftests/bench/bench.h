/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What benchmarks share: random numbers that are the same each time, CPU time, and blocks that lie
 * as they do in the cache.
 */
#ifndef FLOWTAP_SELFTESTS_BENCH_BENCH_H
#define FLOWTAP_SELFTESTS_BENCH_BENCH_H

#include <flowtap/block.h>

#include "support/random.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t state = 0x9e3779b97f4a7c15;

static inline uint32_t below(uint32_t limit)
{
	return random_below(&state, limit);
}

static inline double seconds_of(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

/* Of all threads. */
static inline double cpu_seconds(void)
{
	return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

/* Of the one that asks. */
static inline double thread_seconds(void)
{
	return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

struct bench_block {
	_Alignas(64) struct flowtap_block block;
};

/* All zeros; NULL: no memory. */
static inline struct bench_block *bench_blocks_new(uint32_t n)
{
	struct bench_block *blocks = aligned_alloc(_Alignof(struct bench_block),
						   n * sizeof(*blocks));

	return blocks ? memset(blocks, 0, n * sizeof(*blocks)) : NULL;
}

static inline void bench_blocks_free(struct bench_block *blocks, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (int r = 0; r < FLOWTAP_RENDERINGS; r++)
			free(blocks[i].block.render[r].bytes);
	free(blocks);
}

#endif /* FLOWTAP_SELFTESTS_BENCH_BENCH_H */
