/* SPDX-License-Identifier: GPL-2.0-only */
/* What benchmarks share: random numbers that are the same each time, and CPU time. */
#ifndef SELFTESTS_BENCH_H
#define SELFTESTS_BENCH_H

#include <stdint.h>
#include <time.h>

static uint64_t state = 0x9e3779b97f4a7c15;

static inline uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % limit;
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

#endif /* SELFTESTS_BENCH_H */
