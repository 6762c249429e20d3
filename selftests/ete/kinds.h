/* SPDX-License-Identifier: GPL-2.0-only */
/* Random tests, so many of each kind: what the environment asks for, and TAP. */
#ifndef FLOWTAP_SELFTESTS_ETE_KINDS_H
#define FLOWTAP_SELFTESTS_ETE_KINDS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the environment. */
static inline uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

/* The seed of run n of a kind. */
static inline uint64_t kinds_seed(uint64_t seed, unsigned int kinds, unsigned int kind, uint64_t n)
{
	return (seed * kinds + kind) * 1000003 + n;
}

struct kinds {
	unsigned int n;
	uint64_t runs;			/* of each, where FLOWTAP_RUNS is not set */
	const char *(*name)(unsigned int kind);
	bool (*run)(unsigned int kind, uint64_t seed);
};

static inline bool kinds_run_one(const struct kinds *kinds, unsigned int kind, uint64_t seed)
{
	uint64_t only = number("FLOWTAP_ONLY", UINT64_MAX), runs = number("FLOWTAP_RUNS", kinds->runs);
	unsigned int failed = 0;

	for (uint64_t n = 0; n < runs; n++) {
		if (only != UINT64_MAX && n != only)
			continue;
		if (kinds->run(kind, kinds_seed(seed, kinds->n, kind, n)))
			continue;
		failed++;
		printf("# bad: FLOWTAP_SEED=%llu FLOWTAP_KIND=%u FLOWTAP_ONLY=%llu\n",
		       (unsigned long long)seed, kind, (unsigned long long)n);
	}
	if (failed)
		printf("# %u of %llu are bad\n", failed, (unsigned long long)runs);
	return !failed;
}

/* FLOWTAP_SEED, FLOWTAP_RUNS, FLOWTAP_KIND, FLOWTAP_ONLY. The exit status. */
static inline int kinds_run(const struct kinds *kinds)
{
	uint64_t seed = number("FLOWTAP_SEED", 1), only = number("FLOWTAP_KIND", kinds->n);
	unsigned int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%u\n# FLOWTAP_SEED=%llu\n", kinds->n, (unsigned long long)seed);
	for (unsigned int kind = 0; kind < kinds->n; kind++) {
		bool good = (only < kinds->n && kind != only) || kinds_run_one(kinds, kind, seed);

		failed += !good;
		printf("%sok %u %s\n", good ? "" : "not ", kind + 1, kinds->name(kind));
	}
	return failed ? 1 : 0;
}

#endif /* FLOWTAP_SELFTESTS_ETE_KINDS_H */
