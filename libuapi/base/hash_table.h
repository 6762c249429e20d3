/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * A hash table from a 64-bit hash to indexes of the caller's own array, with open addressing. The
 * caller compares what it finds: several indexes can have one hash.
 */
#ifndef FLOWTAP_LIBUAPI_BASE_HASH_TABLE_H
#define FLOWTAP_LIBUAPI_BASE_HASH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_hash_table_slot {
	uint64_t hash;
	uint32_t index;
	bool used;
};

/* All zeros is an empty one. */
struct flowtap_hash_table {
	struct flowtap_hash_table_slot *slots;
	size_t capacity;		/* a power of two, or 0 */
	size_t used;
};

/* The slots that can hold `hash`. Ends with any change of the table. */
struct flowtap_hash_table_walk {
	const struct flowtap_hash_table *table;
	uint64_t hash;
	size_t at;
};

/* Of this process only: another one has another seed. */
uint64_t flowtap_hash(uint64_t start, const void *bytes, size_t size);
uint64_t flowtap_hash_words(const uint64_t *words, size_t n);

/* 0 or -ENOMEM. */
int flowtap_hash_table_add(struct flowtap_hash_table *table, uint64_t hash, uint32_t index);
void flowtap_hash_table_free(struct flowtap_hash_table *table);

static inline struct flowtap_hash_table_walk
flowtap_hash_table_walk(const struct flowtap_hash_table *table, uint64_t hash)
{
	return (struct flowtap_hash_table_walk) {
		.table = table,
		.hash = hash,
		.at = table->capacity ? hash & (table->capacity - 1) : 0,
	};
}

/* The next index that was added with this hash; false: no more. */
static inline bool flowtap_hash_table_next(struct flowtap_hash_table_walk *walk, uint32_t *index)
{
	const struct flowtap_hash_table *table = walk->table;

	if (!table->capacity)
		return false;
	while (table->slots[walk->at].used) {
		const struct flowtap_hash_table_slot *slot = &table->slots[walk->at];

		walk->at = (walk->at + 1) & (table->capacity - 1);
		if (slot->hash == walk->hash) {
			*index = slot->index;
			return true;
		}
	}
	return false;
}

#endif /* FLOWTAP_LIBUAPI_BASE_HASH_TABLE_H */
