/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Arrays that grow by one, whose number is all that has to be kept; and bytes that grow by any size,
 * whose capacity is kept beside them.
 */
#ifndef FLOWTAP_LIBUAPI_BASE_VECTOR_H
#define FLOWTAP_LIBUAPI_BASE_VECTOR_H

#include <stddef.h>

/*
 * Makes space for one more element of `each` bytes after the n that *list has. *list is NULL while
 * n is 0, grows by nothing else, and is the caller's to free. Its capacity is the next power of two
 * from n + 1 on, which nobody needs to keep. 0; -ENOMEM, then *list stays as it is.
 */
int flowtap_vector_grow(void **list, size_t n, size_t each);

/* The capacity of a list that has n: where it takes the place of another one. */
size_t flowtap_vector_capacity(size_t n);

/* The same as flowtap_vector_grow() for a pointer of any type. */
#define FLOWTAP_GROW(list, n) flowtap_vector_grow((void **)&(list), n, sizeof(*(list)))

/*
 * Makes *bytes hold `size` bytes: doubles its *capacity, or begins with `first`, until they fit.
 * *bytes is NULL while *capacity is 0, and the caller's to free. first: not 0. 0; -ENOMEM, then both
 * stay as they are.
 */
int flowtap_vector_reserve(void **bytes, size_t *capacity, size_t size, size_t first);

/* The same for a pointer of any type. */
#define FLOWTAP_RESERVE(bytes, capacity, size, first) \
	flowtap_vector_reserve((void **)&(bytes), &(capacity), size, first)

#endif /* FLOWTAP_LIBUAPI_BASE_VECTOR_H */
