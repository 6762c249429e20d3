// SPDX-License-Identifier: GPL-2.0-only
/* Doubles arrays when their number is a power of two, and bytes when they are full. */
#include "common/grow.h"

#include <errno.h>
#include <stdlib.h>

int grow_to(void **list, size_t n, size_t each)
{
	size_t bytes;
	void *bigger;

	if (__builtin_mul_overflow(n ? n : 1, each, &bytes))
		return -ENOMEM;
	bigger = realloc(*list, bytes);
	if (!bigger)
		return -ENOMEM;
	*list = bigger;
	return 0;
}

int grow_by_one(void **list, size_t n, size_t each)
{
	size_t twice;

	if (n & (n - 1))
		return 0;
	if (__builtin_mul_overflow(n, 2, &twice))
		return -ENOMEM;
	return grow_to(list, twice, each);
}

int grow_bytes(void **bytes, size_t *capacity, size_t size)
{
	size_t wanted = *capacity ? *capacity : size;
	int error;

	while (wanted < size)
		if (__builtin_mul_overflow(wanted, 2, &wanted))
			return -ENOMEM;
	if (wanted == *capacity)
		return 0;
	error = grow_to(bytes, wanted, 1);
	if (!error)
		*capacity = wanted;
	return error;
}
