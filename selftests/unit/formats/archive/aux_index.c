// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the index of AUX bytes knows how many of them follow each other, at once. */
#include "formats/archive/aux_index.h"

#include "support/kselftest_harness.h"

#define BLOCKS (1U << 17)
#define RECORDS (1U << 16)

static uint64_t count(const struct flowtap_aux_index *index, uint64_t position, uint64_t offset,
		      uint64_t size)
{
	return flowtap_aux_index_count(index, 3, position, offset, size);
}

TEST(counts_up_to_a_hole_or_to_another_stream)
{
	struct flowtap_aux_index index = { .n = 0 };

	EXPECT_EQ(0, count(&index, 1000, 0, 10));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 10, 5, 100));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 15, 5, 200));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 7, 20, 5, 250));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 20, 0, 260));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 30, 4, 300));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 34, 4, 400));
	EXPECT_EQ(0, count(&index, 1000, 9, 10));
	EXPECT_EQ(10, count(&index, 1000, 10, 100));
	EXPECT_EQ(7, count(&index, 1000, 10, 7));
	EXPECT_EQ(4, count(&index, 1000, 16, 100));
	EXPECT_EQ(0, count(&index, 1000, 20, 100));
	EXPECT_EQ(8, count(&index, 1000, 30, -1ULL));
	EXPECT_EQ(1, count(&index, 1000, 37, 2));
	EXPECT_EQ(0, count(&index, 1000, 38, 2));
	/* One that begins where the last one ended, and one that goes back. */
	flowtap_aux_index_restart(&index, 3);
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 38, 4, 500));
	EXPECT_EQ(8, count(&index, 500, 30, 100));
	EXPECT_EQ(0, count(&index, 501, 30, 100));
	EXPECT_EQ(4, count(&index, 501, 38, 100));
	EXPECT_EQ(0, flowtap_aux_index_add(&index, 3, 0, 40, 600));
	EXPECT_EQ(4, count(&index, 600, 38, 100));
	EXPECT_EQ(38, count(&index, 601, 2, 100));
	flowtap_aux_index_free(&index);
}

/* As an archive of some MiB may have them: of all of its blocks by each record it would not end. */
TEST(counts_at_once_however_many_blocks_have_the_bytes)
{
	struct flowtap_aux_index index = { .n = 0 };

	for (uint32_t i = 0; i < BLOCKS; i++)
		ASSERT_EQ(0, flowtap_aux_index_add(&index, 3, i, 1, i));
	for (uint32_t i = 0; i < RECORDS; i++)
		ASSERT_EQ(BLOCKS, count(&index, BLOCKS, 0, UINT64_MAX));
	flowtap_aux_index_free(&index);
}

TEST_HARNESS_MAIN
