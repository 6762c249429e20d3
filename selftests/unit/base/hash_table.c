// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Shows that nobody can make keys that collide, and that what was added is found. */
#include "base/hash_table.h"
#include "support/kselftest_harness.h"

#define KEYS	4096

static uint64_t mix(uint64_t word)
{
	word = (word ^ word >> 33) * 0xff51afd7ed558ccdULL;
	word = (word ^ word >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return word ^ word >> 33;
}

/* Of a word that was multiplied by an odd number, the word. */
static uint64_t divide(uint64_t word, uint64_t factor)
{
	uint64_t inverse = factor;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	return word * inverse;
}

/* What MurmurHash3's finaliser makes this word of. */
static uint64_t unmix(uint64_t word)
{
	word ^= word >> 33;
	word = divide(word, 0xc4ceb9fe1a85ec53ULL);
	word ^= word >> 33;
	word = divide(word, 0xff51afd7ed558ccdULL);
	return word ^ word >> 33;
}

/* Keys whose hashes end in 32 equal bits where there is no seed. */
static uint64_t colliding(uint64_t i)
{
	return mix(sizeof(i)) ^ unmix(unmix(i << 32) - 0x9e3779b97f4a7c15ULL);
}

TEST(keys_that_are_made_to_collide_do_not)
{
	static bool used[2 * KEYS];
	unsigned int different = 0;

	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t slot = flowtap_hash_words((uint64_t[]){ colliding(i) }, 1) % (2 * KEYS);

		different += !used[slot];
		used[slot] = true;
	}
	/* By chance it is 3 of 4 and some. */
	EXPECT_GT(different, KEYS / 2);
}

TEST(the_hash_depends_on_all_that_it_is_of)
{
	const char bytes[] = "twelve bytes";

	EXPECT_EQ(flowtap_hash(1, bytes, 12), flowtap_hash(1, bytes, 12));
	EXPECT_NE(flowtap_hash(1, bytes, 12), flowtap_hash(2, bytes, 12));
	EXPECT_NE(flowtap_hash(1, bytes, 12), flowtap_hash(1, bytes, 11));
	EXPECT_NE(flowtap_hash(1, bytes, 11), flowtap_hash(1, bytes + 1, 11));
	EXPECT_EQ(flowtap_hash_words((uint64_t[]){ 1, 2 }, 2),
		  flowtap_hash(0, (uint64_t[]){ 1, 2 }, 16));
}

TEST(what_was_added_is_found_however_it_grows)
{
	struct flowtap_hash_table table = { 0 };
	struct flowtap_hash_table_walk walk;
	uint32_t index, found;

	walk = flowtap_hash_table_walk(&table, 1);
	EXPECT_FALSE(flowtap_hash_table_next(&walk, &index));
	for (uint32_t i = 0; i < KEYS; i++)
		ASSERT_EQ(0, flowtap_hash_table_add(&table, i / 2, i));
	for (uint32_t i = 0; i < KEYS / 2; i++) {
		walk = flowtap_hash_table_walk(&table, i);
		for (found = 0; flowtap_hash_table_next(&walk, &index); found++)
			EXPECT_EQ(i, index / 2);
		EXPECT_EQ(2, found);
	}
	walk = flowtap_hash_table_walk(&table, KEYS);
	EXPECT_FALSE(flowtap_hash_table_next(&walk, &index));
	flowtap_hash_table_free(&table);
	EXPECT_EQ(0, table.capacity);
}

TEST_HARNESS_MAIN
