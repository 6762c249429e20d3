// SPDX-License-Identifier: GPL-2.0-only
/* Shows that arrays that grow keep what is in them, and stay where no memory can hold more. */
#include "../../../tools/common/grow.h"

#include <malloc.h>
#include <stdint.h>

#include "support/kselftest_harness.h"

TEST(each_element_finds_room_and_keeps_what_is_before_it)
{
	uint32_t *list = NULL;
	size_t n, moves = 0, usable = 0;

	for (n = 0; n < 1000; n++) {
		ASSERT_EQ(0, GROW_BY_ONE(list, n));
		ASSERT_LE((n + 1) * sizeof(*list), malloc_usable_size(list));
		moves += malloc_usable_size(list) != usable;
		usable = malloc_usable_size(list);
		list[n] = (uint32_t)n * 3;
	}
	/* At powers of two only, of which malloc makes small ones the same. */
	EXPECT_GE(11, moves);
	for (n = 0; n < 1000; n++)
		ASSERT_EQ(n * 3, list[n]);
	free(list);
}

TEST(a_list_that_was_emptied_begins_again)
{
	uint64_t *list = NULL;

	for (size_t n = 0; n < 9; n++)
		ASSERT_EQ(0, GROW_BY_ONE(list, n));
	for (size_t n = 0; n < 3; n++) {
		ASSERT_EQ(0, GROW_BY_ONE(list, n));
		ASSERT_LE((n + 1) * sizeof(*list), malloc_usable_size(list));
		list[n] = n;
	}
	free(list);
}

TEST(a_list_is_as_long_as_it_was_asked_for_and_at_least_one)
{
	uint64_t *list = NULL;

	ASSERT_EQ(0, GROW_TO(list, 0));
	ASSERT_LE(sizeof(*list), malloc_usable_size(list));
	list[0] = 47;
	ASSERT_EQ(0, GROW_TO(list, 300));
	ASSERT_LE(300 * sizeof(*list), malloc_usable_size(list));
	EXPECT_EQ(47, list[0]);
	free(list);
}

TEST(bytes_double_until_they_fit)
{
	size_t capacity = 0;
	uint8_t *bytes = NULL, *before;

	ASSERT_EQ(0, GROW_BYTES(bytes, capacity, 100));
	EXPECT_EQ(100, capacity);
	bytes[99] = 7;
	before = bytes;
	ASSERT_EQ(0, GROW_BYTES(bytes, capacity, 100));
	EXPECT_EQ(100, capacity);
	EXPECT_EQ(before, bytes);
	ASSERT_EQ(0, GROW_BYTES(bytes, capacity, 201));
	EXPECT_EQ(400, capacity);
	ASSERT_LE(400, malloc_usable_size(bytes));
	EXPECT_EQ(7, bytes[99]);
	free(bytes);
}

TEST(what_no_memory_can_hold_is_refused_and_all_stays)
{
	size_t capacity = 0;
	uint64_t *list = NULL;
	void *bytes = NULL, *before;

	ASSERT_EQ(0, GROW_BY_ONE(list, 0));
	before = list;
	EXPECT_EQ(-ENOMEM, GROW_BY_ONE(list, SIZE_MAX / 2 + 1));
	EXPECT_EQ(-ENOMEM, GROW_TO(list, SIZE_MAX / 8 + 1));
	EXPECT_EQ(before, list);
	free(list);
	ASSERT_EQ(0, GROW_BYTES(bytes, capacity, 16));
	before = bytes;
	/* No power of two of a size_t is that large. */
	EXPECT_EQ(-ENOMEM, GROW_BYTES(bytes, capacity, SIZE_MAX));
	EXPECT_EQ(16, capacity);
	EXPECT_EQ(before, bytes);
	free(bytes);
}

TEST_HARNESS_MAIN
