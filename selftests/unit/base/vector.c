// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Arrays that grow by one. */
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

TEST_HARNESS_MAIN
