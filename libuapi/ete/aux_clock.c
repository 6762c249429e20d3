// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Interpolates between two CLOCK records, pairs of the timestamp counter and the clock; outside
 * of them it extrapolates by the counter's frequency.
 */
#include "ete/aux_internal.h"

#define SECOND 1000000000ULL

void aux_clock_add(struct aux_clock *clock, uint64_t counter, uint64_t time)
{
	/* Two pairs that do not both increase: nothing is between them. */
	clock->before = counter > clock->last.counter && time > clock->last.time ?
			clock->last : (struct aux_pair){ 0 };
	clock->last = (struct aux_pair){ counter, time };
}

static uint64_t scale(uint64_t value, uint64_t by, uint64_t of)
{
	unsigned __int128 scaled = (unsigned __int128)value * by / of;

	return scaled > UINT64_MAX ? UINT64_MAX : (uint64_t)scaled;
}

/* Beyond the last pair, or before the first one. */
static bool extrapolate(const struct aux_clock *clock, uint64_t ticks, uint64_t *time)
{
	const struct aux_pair *last = &clock->last, *before = &clock->before;
	bool later = ticks >= last->counter;
	uint64_t n = later ? ticks - last->counter : last->counter - ticks, ns;

	if (clock->frequency)
		ns = scale(n, SECOND, clock->frequency);
	else if (before->time)
		ns = scale(n, last->time - before->time, last->counter - before->counter);
	else
		return false;
	if (later)
		*time = ns < UINT64_MAX - last->time ? last->time + ns : UINT64_MAX;
	else
		*time = ns < last->time ? last->time - ns : 0;
	return true;
}

bool aux_clock_time(const struct aux_clock *clock, uint64_t ticks, uint64_t *time)
{
	const struct aux_pair *last = &clock->last, *before = &clock->before;

	if (!last->time)
		return false;
	if (!before->time || ticks < before->counter || ticks > last->counter)
		return extrapolate(clock, ticks, time);
	*time = before->time + scale(ticks - before->counter, last->time - before->time,
				     last->counter - before->counter);
	return true;
}
