// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Looks the last three digits up in a table, and computes the others once for each thousand. */
#include "base/counter.h"

#define ONES(d)	d "0 " d "1 " d "2 " d "3 " d "4 " d "5 " d "6 " d "7 " d "8 " d "9 "
#define TENS(d)	ONES(d "0") ONES(d "1") ONES(d "2") ONES(d "3") ONES(d "4") \
		ONES(d "5") ONES(d "6") ONES(d "7") ONES(d "8") ONES(d "9")

const char flowtap_counter_digits[] =
	TENS("0") TENS("1") TENS("2") TENS("3") TENS("4")
	TENS("5") TENS("6") TENS("7") TENS("8") TENS("9");

/* Its digits, right-aligned in 20 bytes with spaces before them. Returns how many they are. */
static unsigned int digits_of(char text[20], uint64_t value)
{
	unsigned int at = 20;

	memset(text, ' ', 20);
	do
		text[--at] = '0' + value % 10;
	while (value /= 10);
	return 20 - at;
}

struct flowtap_counter flowtap_counter_at(uint64_t value, uint32_t columns)
{
	struct flowtap_counter counter = {
		.value = value, .low = value % 1000, .columns = columns,
	};
	unsigned int least = columns > 3 ? columns - 3 : 0;
	char text[20];

	counter.size = digits_of(text, value / 1000);
	if (counter.size < least)
		counter.size = least;
	memset(counter.high, ' ', sizeof(counter.high));
	memcpy(counter.high, text + sizeof(text) - counter.size, counter.size);
	return counter;
}

uint8_t *flowtap_counter_write_any(uint8_t *to, uint64_t value, uint32_t columns)
{
	char text[20];
	unsigned int size = digits_of(text, value);

	size = size < columns ? columns : size;
	memcpy(to, text + sizeof(text) - size, size);
	return to + size;
}
