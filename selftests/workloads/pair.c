// SPDX-License-Identifier: GPL-2.0-only
/*
 * Half of a pair: pair_a and pair_b are this program linked statically at addresses far from each
 * other, so that an address tells whose it is. Run on one CPU they alternate all the time.
 */
#include <sched.h>

#include "workload.h"

static __attribute__((noinline)) uint64_t turn(uint64_t x)
{
	return x & 1 ? x * 5 + 1 : x / 2 + 3;
}

int main(int argc, char **argv)
{
	unsigned long amount = begin(argc, argv, 1000);
	uint64_t state = 5, sum = 0;

	for (unsigned long i = 0; i < amount; i++) {
		for (int k = 0; k < 100; k++)
			sum += turn(mix(&state));
		sched_yield();
	}
	return end("pair", 1, sum);
}
