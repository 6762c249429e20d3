// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Shows that arrays that grow by one, and bytes that grow by any size, keep what is in them. */
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/vector.h"
#include "support/kselftest_harness.h"

TEST(each_element_finds_room_and_keeps_what_is_before_it)
{
	uint32_t *list = NULL;
	size_t n;

	for (n = 0; n < 5000; n++) {
		ASSERT_EQ(0, FLOWTAP_GROW(list, n));
		ASSERT_LE((n + 1) * sizeof(*list), malloc_usable_size(list));
		list[n] = (uint32_t)n * 3;
	}
	for (n = 0; n < 5000; n++)
		ASSERT_EQ(n * 3, list[n]);
	free(list);
}

TEST(it_moves_at_the_powers_of_two_only)
{
	void *list = NULL;
	size_t n, moves = 0, usable = 0;

	for (n = 0; n < 1000; n++) {
		ASSERT_EQ(0, flowtap_vector_grow(&list, n, 64));
		moves += malloc_usable_size(list) != usable;
		usable = malloc_usable_size(list);
		ASSERT_LE(64 * flowtap_vector_capacity(n + 1), usable);
	}
	EXPECT_EQ(11, moves);
	free(list);
}

TEST(a_list_that_took_the_place_of_another_grows_as_that_one)
{
	uint64_t *list = malloc(flowtap_vector_capacity(5) * sizeof(*list));
	size_t n;

	ASSERT_NE(NULL, list);
	EXPECT_EQ(8, flowtap_vector_capacity(5));
	EXPECT_EQ(8, flowtap_vector_capacity(8));
	EXPECT_EQ(0, flowtap_vector_capacity(0));
	for (n = 5; n < 20; n++) {
		ASSERT_EQ(0, FLOWTAP_GROW(list, n));
		list[n] = n;
	}
	free(list);
}

TEST(what_no_memory_can_hold_is_refused_and_the_list_stays)
{
	void *list = NULL, *before;

	ASSERT_EQ(0, flowtap_vector_grow(&list, 0, 16));
	before = list;
	EXPECT_EQ(-ENOMEM, flowtap_vector_grow(&list, 1, SIZE_MAX / 2 + 1));
	EXPECT_EQ(-ENOMEM, flowtap_vector_grow(&list, SIZE_MAX / 2 + 1, 1));
	EXPECT_EQ(before, list);
	free(list);
}

TEST(bytes_double_until_they_fit_and_keep_what_is_there)
{
	size_t capacity = 0;
	uint8_t *bytes = NULL, *before;

	ASSERT_EQ(0, FLOWTAP_RESERVE(bytes, capacity, 1, 16));
	EXPECT_EQ(16, capacity);
	for (size_t i = 0; i < 16; i++)
		bytes[i] = (uint8_t)(i + 1);
	before = bytes;
	ASSERT_EQ(0, FLOWTAP_RESERVE(bytes, capacity, 16, 16));
	EXPECT_EQ(16, capacity);
	EXPECT_EQ(before, bytes);
	ASSERT_EQ(0, FLOWTAP_RESERVE(bytes, capacity, 65, 16));
	EXPECT_EQ(128, capacity);
	ASSERT_LE(128, malloc_usable_size(bytes));
	for (size_t i = 0; i < 16; i++)
		EXPECT_EQ(i + 1, bytes[i]);
	free(bytes);
}

TEST(bytes_that_no_memory_can_hold_are_refused_and_what_is_there_stays)
{
	size_t capacity = 0;
	uint8_t *bytes = NULL, *before;

	ASSERT_EQ(0, FLOWTAP_RESERVE(bytes, capacity, 1, 16));
	before = bytes;
	/* No power of two of a size_t is that large. */
	EXPECT_EQ(-ENOMEM, FLOWTAP_RESERVE(bytes, capacity, SIZE_MAX, 16));
	EXPECT_EQ(16, capacity);
	EXPECT_EQ(before, bytes);
	free(bytes);
}

TEST_HARNESS_MAIN
