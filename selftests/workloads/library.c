// SPDX-License-Identifier: GPL-2.0-only
/*
 * The libraries that `dlopen` and `remap` load: built as library_a.so and library_b.so, of the
 * same size and with the same symbols, but other code at the same places.
 */
#include <stdint.h>

#ifdef LIBRARY_B
#define STEP(x, i) ((x) & 1 ? (x) * 3 + (i) : (x) >> 1)
#else
#define STEP(x, i) ((x) % 5 == 2 ? (x) ^ (i) : (x) + (x) / 7)
#endif

uint64_t library_work(uint64_t x, uint64_t n);

uint64_t library_work(uint64_t x, uint64_t n)
{
	for (uint64_t i = 1; i < n; i++)
		x = STEP(x, i) + 12345;
	return x;
}
