/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same everywhere for the same seed (splitmix64). */
#ifndef FLOWTAP_SELFTESTS_ETE_RNG_H
#define FLOWTAP_SELFTESTS_ETE_RNG_H

#include <stdbool.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

/* Below n, which is not 0. */
static inline uint32_t rng_below(struct rng *rng, uint32_t n)
{
	return (uint64_t)(uint32_t)rng_next(rng) * n >> 32;
}

/* True once in n times. */
static inline bool rng_one_in(struct rng *rng, uint32_t n)
{
	return n && !rng_below(rng, n);
}

#endif
