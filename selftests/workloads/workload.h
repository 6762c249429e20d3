/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest programs for tests: small, deterministic, self-checking. Each takes [-w] [AMOUNT]: -w
 * stops it before it begins, until SIGCONT; AMOUNT scales the work. Each prints one line at its
 * end and exits 0 if its results were right.
 */
#ifndef FLOWTAP_SELFTESTS_WORKLOADS_WORKLOAD_H
#define FLOWTAP_SELFTESTS_WORKLOADS_WORKLOAD_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Before the work: the amount to do. */
static inline unsigned long begin(int argc, char **argv, unsigned long amount)
{
	int at = 1;

	if (at < argc && !strcmp(argv[at], "-w")) {
		raise(SIGSTOP);
		at++;
	}
	return at < argc ? strtoul(argv[at], NULL, 10) : amount;
}

/* After it: the exit status. */
static inline int end(const char *name, int right, uint64_t sum)
{
	printf("%s: %s %016llx\n", name, right ? "right" : "WRONG", (unsigned long long)sum);
	fflush(stdout);
	return !right;
}

/* Numbers that look random and are the same every time. */
static inline uint64_t mix(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

#endif /* FLOWTAP_SELFTESTS_WORKLOADS_WORKLOAD_H */
