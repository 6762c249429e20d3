/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* A number that is written again and again, one higher each time: its digits are kept. */
#ifndef FLOWTAP_LIBUAPI_BASE_COUNTER_H
#define FLOWTAP_LIBUAPI_BASE_COUNTER_H

#include <stdint.h>
#include <string.h>

#define COUNTER_MAX	9999999999999999999U	/* 19 digits */
/* What flowtap_counter_write needs space for, more than it may write. */
#define COUNTER_CAPACITY	24U

/* By value, so that a loop has it in registers whatever it stores to. */
struct flowtap_counter {
	uint64_t value;
	uint64_t high[2];	/* the digits above the last three, as bytes in memory */
	uint32_t size;		/* of those */
	uint32_t low;		/* the last three as a number */
	uint32_t columns;	/* so wide at least, by spaces on the left: 0 or 11 */
};

/* "000 001 002 ... 999 ": four bytes each. */
extern const char flowtap_counter_digits[];

/* value: at most COUNTER_MAX. */
struct flowtap_counter flowtap_counter_at(uint64_t value, uint32_t columns);
/* Any value. Returns where it ends. */
uint8_t *flowtap_counter_write_any(uint8_t *to, uint64_t value, uint32_t columns);

static inline struct flowtap_counter flowtap_counter_next(struct flowtap_counter counter)
{
	if (__builtin_expect(counter.low == 999, 0))
		return flowtap_counter_at(counter.value + 1, counter.columns);
	counter.value++;
	counter.low++;
	return counter;
}

static inline uint8_t *flowtap_counter_write(uint8_t *to, struct flowtap_counter counter)
{
	if (__builtin_expect(counter.value < 1000, 0))
		return flowtap_counter_write_any(to, counter.value, counter.columns);
	memcpy(to, &counter.high[0], 8);
	memcpy(to + 8, &counter.high[1], 8);
	memcpy(to + counter.size, flowtap_counter_digits + 4 * counter.low, 4);
	return to + counter.size + 3;
}

#endif /* FLOWTAP_LIBUAPI_BASE_COUNTER_H */
