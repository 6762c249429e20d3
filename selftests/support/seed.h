/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The seed of all that is random in a test: FLOWTAP_SEED of the environment, else 1. It is printed.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_SEED_H
#define FLOWTAP_SELFTESTS_SUPPORT_SEED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t test_seed = 1;

__attribute__((constructor)) static void test_seed_read(void)
{
	const char *text = getenv("FLOWTAP_SEED");

	if (text)
		test_seed = strtoull(text, NULL, 0);
	printf("# FLOWTAP_SEED=%llu\n", (unsigned long long)test_seed);
	fflush(stdout);
}

/*
 * How often chance made something is known of the seed that is used if none is given, of no other.
 */
static inline bool test_seed_given(void)
{
	return test_seed != 1;
}

/* What a generator begins with: with each seed another, n itself with the one that is used if none
 * is given. */
static inline uint64_t seeded(uint64_t n)
{
	return n ^ (test_seed - 1) * 0xd1342543de82ef95;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_SEED_H */
