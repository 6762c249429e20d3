/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The answers that a map gave, which stay, and the keys of code that is the same. */
#ifndef FLOWTAP_LIBUAPI_CODE_CODE_INDEX_H
#define FLOWTAP_LIBUAPI_CODE_CODE_INDEX_H

#include <flowtap/address_map.h>

#include "base/hash_table.h"

struct code_key;

/* All zeros is an empty one. */
struct flowtap_code_index {
	struct flowtap_code **list;
	uint32_t n;
	struct flowtap_hash_table by_position;
	struct code_key *keys;
	uint32_t n_keys;
	struct flowtap_hash_table by_key;
};

void flowtap_code_index_free(struct flowtap_code_index *code_index);
/*
 * The same for the same file at the same addresses, up to the same end. bias: address minus
 * offset in the file. 0 and *key, or -ENOMEM.
 */
int flowtap_code_index_key(struct flowtap_code_index *code_index, uint32_t file, uint64_t bias,
			   uint64_t end, uint32_t *key);
/* The code that is equal to this one and stays; NULL: no memory. */
struct flowtap_code *flowtap_code_index_intern(struct flowtap_code_index *code_index,
					       const struct flowtap_code *code);

#endif /* FLOWTAP_LIBUAPI_CODE_CODE_INDEX_H */
