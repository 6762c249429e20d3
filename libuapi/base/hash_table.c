// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Linear probing in an array that is at most half full and grows by doubling; the hash is
 * MurmurHash3's finaliser, word by word, from a seed of the process: keys come from files, and whoever
 * made one of them cannot know which ones collide.
 */
#include "base/hash_table.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* The finaliser of MurmurHash3: every bit of the input moves every bit of the output. */
static inline uint64_t mix(uint64_t word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccdULL;
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53ULL;
	return word ^ word >> 33;
}

/* The first caller's stays. Early in a machine's life there may be none: any other is as good. */
static uint64_t seed(void)
{
	static _Atomic uint64_t seed_of_process;
	uint64_t seed = seed_of_process, none = 0;
	int saved = errno;

	if (seed)
		return seed;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != sizeof(seed))
		seed = (uintptr_t)&none;
	errno = saved;
	seed |= 1;
	return atomic_compare_exchange_strong(&seed_of_process, &none, seed) ? seed : none;
}

uint64_t flowtap_hash(uint64_t start, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;
	uint64_t hash = mix(mix(seed() ^ start) ^ size);
	uint64_t word;

	for (; size >= sizeof(word); from += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		hash = mix(hash ^ word) + 0x9e3779b97f4a7c15ULL;
	}
	word = 0;
	memcpy(&word, from, size);
	return mix(hash ^ word);
}

uint64_t flowtap_hash_words(const uint64_t *words, size_t n)
{
	return flowtap_hash(0, words, n * sizeof(words[0]));
}

static void insert(struct flowtap_hash_table *table, uint64_t hash, uint32_t index)
{
	size_t at = hash & (table->capacity - 1);

	while (table->slots[at].used)
		at = (at + 1) & (table->capacity - 1);
	table->slots[at] = (struct flowtap_hash_table_slot) { hash, index, true };
	table->used++;
}

static int grow(struct flowtap_hash_table *table)
{
	struct flowtap_hash_table bigger = {
		.capacity = table->capacity ? 2 * table->capacity : 64,
	};

	bigger.slots = calloc(bigger.capacity, sizeof(bigger.slots[0]));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < table->capacity; i++)
		if (table->slots[i].used)
			insert(&bigger, table->slots[i].hash, table->slots[i].index);
	free(table->slots);
	*table = bigger;
	return 0;
}

int flowtap_hash_table_add(struct flowtap_hash_table *table, uint64_t hash, uint32_t index)
{
	if (2 * (table->used + 1) > table->capacity) {
		int err = grow(table);

		if (err)
			return err;
	}
	insert(table, hash, index);
	return 0;
}

void flowtap_hash_table_free(struct flowtap_hash_table *table)
{
	free(table->slots);
	*table = (struct flowtap_hash_table) { 0 };
}
