/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random numbers that are the same everywhere for the same seed: xorshift64. The state is what it
 * begins with, anything but 0; seeded (seed.h) makes another of it for each FLOWTAP_SEED.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_RANDOM_H
#define FLOWTAP_SELFTESTS_SUPPORT_RANDOM_H

#include <stdint.h>

/* The next state is the number. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	return *state ^= *state << 17;
}

/* 32 bits of the next one, which are more random than its lowest. */
static inline uint32_t random_u32(uint64_t *state)
{
	return (uint32_t)(random_next(state) >> 16);
}

/* Below limit, which is not 0. */
static inline uint32_t random_below(uint64_t *state, uint32_t limit)
{
	return random_u32(state) % limit;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_RANDOM_H */
