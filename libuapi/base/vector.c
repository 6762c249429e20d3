// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Doubles arrays when their number is a power of two. */
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
