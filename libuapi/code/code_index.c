// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Two hash tables: one of answers, each kept once, one of keys by file, bias and end. */
#include "code/code_index.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

struct code_key {
	uint64_t bias;			/* address minus offset in the file */
	uint64_t end;
	uint32_t file;
};

void flowtap_code_index_free(struct flowtap_code_index *code_index)
{
	for (uint32_t i = 0; i < code_index->n; i++)
		free(code_index->list[i]);
	free(code_index->list);
	free(code_index->keys);
	flowtap_hash_table_free(&code_index->by_position);
	flowtap_hash_table_free(&code_index->by_key);
}

int flowtap_code_index_key(struct flowtap_code_index *code_index, uint32_t file, uint64_t bias,
			   uint64_t end, uint32_t *key)
{
	uint64_t hash = flowtap_hash_words((uint64_t[]){ file, bias, end }, 3);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&code_index->by_key, hash);

	while (flowtap_hash_table_next(&walk, key))
		if (code_index->keys[*key].file == file && code_index->keys[*key].bias == bias &&
		    code_index->keys[*key].end == end)
			return 0;
	*key = code_index->n_keys;
	if (FLOWTAP_GROW(code_index->keys, code_index->n_keys) ||
	    flowtap_hash_table_add(&code_index->by_key, hash, *key))
		return -ENOMEM;
	code_index->keys[code_index->n_keys++] = (struct code_key){
		.bias = bias,
		.end = end,
		.file = file,
	};
	return 0;
}

static bool same_code(const struct flowtap_code *a, const struct flowtap_code *b)
{
	return a->start == b->start && a->end == b->end && a->from == b->from &&
	       a->until == b->until && a->file_offset == b->file_offset && a->file == b->file &&
	       a->bytes == b->bytes && a->path == b->path && a->missing == b->missing;
}

struct flowtap_code *flowtap_code_index_intern(struct flowtap_code_index *code_index,
					       const struct flowtap_code *code)
{
	uint64_t hash = flowtap_hash_words((uint64_t[]) { code->start, code->end, code->from,
					   code->until, code->file_offset, code->file }, 6);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&code_index->by_position, hash);
	struct flowtap_code *copy;
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (same_code(code_index->list[index], code))
			return code_index->list[index];
	copy = malloc(sizeof(*copy));
	if (!copy || FLOWTAP_GROW(code_index->list, code_index->n) ||
	    flowtap_hash_table_add(&code_index->by_position, hash, code_index->n)) {
		free(copy);
		return NULL;
	}
	*copy = *code;
	code_index->list[code_index->n++] = copy;
	return copy;
}
