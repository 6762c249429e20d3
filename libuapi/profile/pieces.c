// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Counts lengths in logarithmic steps, from which it reads the median. */
#include "profile/pieces.h"

#include <stdlib.h>

/* Lengths below 2 * STEPS each have a step of their own, then each power of two has so many. */
#define STEP_BITS 9
#define STEPS (1U << STEP_BITS)
#define ALL_STEPS ((64 - STEP_BITS + 1) * STEPS)

static uint32_t step_of(uint64_t length)
{
	unsigned int shift;

	if (length < STEPS)
		return (uint32_t)length;
	shift = 63U - (unsigned int)__builtin_clzll(length) - STEP_BITS;
	return shift * STEPS + (uint32_t)(length >> shift);
}

/* The least length of it. */
static uint64_t length_of(uint32_t step)
{
	uint32_t shift = step < 2 * STEPS ? 0 : step / STEPS - 1;

	return (uint64_t)(step - shift * STEPS) << shift;
}

void flowtap_pieces_end(struct flowtap_profile_pieces *pieces)
{
	if (!pieces->current)
		return;
	pieces->n++;
	if (pieces->current > pieces->longest)
		pieces->longest = pieces->current;
	if (pieces->n == 1)
		pieces->counts = calloc(ALL_STEPS, sizeof(pieces->counts[0]));
	if (pieces->counts)
		pieces->counts[step_of(pieces->current)]++;
	pieces->current = 0;
}

uint64_t flowtap_profile_median(const struct flowtap_profile_pieces *pieces)
{
	uint64_t seen = 0;

	for (uint32_t step = 0; pieces->counts && step < ALL_STEPS; step++) {
		seen += pieces->counts[step];
		if (seen >= pieces->n - pieces->n / 2)
			return length_of(step);
	}
	return 0;
}

void flowtap_pieces_free(struct flowtap_profile_pieces *pieces)
{
	free(pieces->counts);
}
