// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Collects functions from the block cache and from the samples' addresses, merges equal names and
 * sorts them by share.
 */
#include <flowtap/profile.h>

#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

struct collection {
	struct flowtap_function *list;
	size_t n;
	const struct flowtap_profile *profile;
};

static void append(struct collection *all, const struct flowtap_code *code, uint64_t address,
		   struct flowtap_function function)
{
	uint64_t offset;

	if (code) {
		function.path = code->path;
		function.name =
			flowtap_address_map_symbol(all->profile->map, code, address, &offset);
	}
	if (!FLOWTAP_GROW(all->list, all->n))
		all->list[all->n++] = function;
}

static void add_block(const struct flowtap_block *block, void *argument)
{
	struct collection *all = argument;

	append(all, flowtap_profile_code(all->profile, block->key), block->address,
	       (struct flowtap_function){ .instructions = block->instructions * block->executed });
}

static int compare_text(const char *one, const char *other)
{
	if (one == other)
		return 0;
	if (!one || !other)
		return one ? 1 : -1;
	return strcmp(one, other);
}

/* One function is at other addresses in other processes, and a name may be in many files. */
static int same(const void *one, const void *other)
{
	const struct flowtap_function *a = one, *b = other;
	int order = compare_text(a->path, b->path);

	return order ? order : compare_text(a->name, b->name);
}

static int hotter(const void *one, const void *other)
{
	const struct flowtap_function *a = one, *b = other;

	if (a->hits != b->hits)
		return a->hits > b->hits ? -1 : 1;
	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return same(one, other);
}

struct flowtap_function *flowtap_profile_functions(const struct flowtap_profile *profile,
						   struct flowtap_blocks *blocks, size_t *n)
{
	struct collection all = { .profile = profile };
	size_t merged = 0;

	flowtap_blocks_visit(blocks, add_block, &all);
	for (size_t i = 0; i < profile->n_hits; i++)
		append(&all, profile->hits[i].code, profile->hits[i].address,
		       (struct flowtap_function){ .hits = 1 });
	if (all.n)
		qsort(all.list, all.n, sizeof(all.list[0]), same);
	for (size_t i = 0; i < all.n; i++) {
		if (!merged || same(&all.list[merged - 1], &all.list[i])) {
			all.list[merged++] = all.list[i];
			continue;
		}
		all.list[merged - 1].hits += all.list[i].hits;
		all.list[merged - 1].instructions += all.list[i].instructions;
	}
	if (merged)
		qsort(all.list, merged, sizeof(all.list[0]), hotter);
	*n = merged;
	return all.list;
}
