/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Arrays that grow: what the command and flowtapd have of the library's base/vector.h, which is not
 * theirs to include. An array is the caller's to free.
 */
#ifndef FLOWTAP_TOOLS_COMMON_GROW_H
#define FLOWTAP_TOOLS_COMMON_GROW_H

#include <stddef.h>

/* Makes *list `n` elements of `each` bytes long, and at least one. 0; -ENOMEM, and it stays. */
int grow_to(void **list, size_t n, size_t each);

/*
 * Makes space for one more element of `each` bytes after the n that *list has. It is NULL while n
 * is 0 for the first time, and grows by nothing else: its capacity is a power of two. 0; -ENOMEM,
 * and it stays.
 */
int grow_by_one(void **list, size_t n, size_t each);

/*
 * Makes *bytes hold `size` bytes: doubles its *capacity until they fit, or begins with as many. It is
 * NULL while that is 0. 0; -ENOMEM, and both stay.
 */
int grow_bytes(void **bytes, size_t *capacity, size_t size);

/* The same for pointers of any type. */
#define GROW_TO(list, n) grow_to((void **)&(list), n, sizeof(*(list)))
#define GROW_BY_ONE(list, n) grow_by_one((void **)&(list), n, sizeof(*(list)))
#define GROW_BYTES(bytes, capacity, size) grow_bytes((void **)&(bytes), &(capacity), size)

#endif /* FLOWTAP_TOOLS_COMMON_GROW_H */
