// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Doubles arrays when their number is a power of two, and bytes when they are full. */
#include "base/vector.h"

#include <errno.h>
#include <stdlib.h>

int flowtap_vector_grow(void **list, size_t n, size_t each)
{
	void *bigger;
	size_t bytes;

	if (n & (n - 1))
		return 0;
	if (__builtin_mul_overflow(n, 2, &bytes) || __builtin_mul_overflow(n ? bytes : 1, each, &bytes))
		return -ENOMEM;
	bigger = realloc(*list, bytes);
	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	return 0;
}

size_t flowtap_vector_capacity(size_t n)
{
	size_t capacity = n > 0;

	while (capacity < n)
		capacity *= 2;
	return capacity;
}

int flowtap_vector_reserve(void **bytes, size_t *capacity, size_t size, size_t first)
{
	size_t wanted = *capacity ? *capacity : first;
	void *bigger;

	while (wanted < size)
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return -ENOMEM;
	if (wanted == *capacity)
		return 0;
	bigger = realloc(*bytes, wanted);
	if (!bigger)
		return -ENOMEM;
	*bytes = bigger;
	*capacity = wanted;
	return 0;
}
