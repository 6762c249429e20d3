// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Counts blocks, gaps and samples by process in a tree, and remembers which code each block key
 * stands for.
 */
#include <flowtap/profile.h>

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "profile/pieces.h"

/* More distinct pieces of code than any archive has. */
#define KEYS_MAX (1U << 24)

static int compare(const void *one, const void *other)
{
	const struct flowtap_profile_process *a = one, *b = other;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct flowtap_profile_process *process_of(struct flowtap_profile *profile, uint32_t pid)
{
	struct flowtap_profile_process wanted = { .pid = pid }, *made;
	struct flowtap_profile_process **found = tfind(&wanted, &profile->processes, compare);

	if (found)
		return *found;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->pid = pid;
	if (!tsearch(made, &profile->processes, compare)) {
		free(made);
		return NULL;
	}
	return made;
}

int flowtap_profile_set_name(struct flowtap_profile *profile, uint32_t pid, const char *comm,
			     size_t size)
{
	struct flowtap_profile_process *process = process_of(profile, pid);

	if (!process)
		return -ENOMEM;
	size = size < sizeof(process->comm) ? size : sizeof(process->comm) - 1;
	memcpy(process->comm, comm, size);
	process->comm[size] = 0;
	return 0;
}

int flowtap_profile_add_hit(struct flowtap_profile *profile, uint32_t pid, uint64_t time,
			    uint64_t address)
{
	if (FLOWTAP_GROW(profile->hits, profile->n_hits))
		return -ENOMEM;
	profile->hits[profile->n_hits++] = (struct flowtap_profile_hit){
		.code = flowtap_address_map_find(profile->map, pid, time, address),
		.address = address,
	};
	return 0;
}

/* The first block of its code: keeps where that is. Without memory the summary knows less. */
static void learn(struct flowtap_profile *profile, const struct flowtap_block *block)
{
	uint32_t key = block->key;

	if (key >= KEYS_MAX)
		return;
	if (key >= profile->n_keys) {
		uint32_t n = key < 512 ? 1024 : 2 * key;
		const struct flowtap_code **bigger =
			realloc(profile->code_by_key, n * sizeof(bigger[0]));

		if (!bigger)
			return;
		memset(bigger + profile->n_keys, 0, (n - profile->n_keys) * sizeof(bigger[0]));
		profile->code_by_key = bigger;
		profile->n_keys = n;
	}
	profile->code_by_key[key] =
		flowtap_address_map_find(profile->map, profile->pid, profile->time, block->address);
}

static int add_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target)
{
	struct flowtap_profile *profile = (struct flowtap_profile *)sink;

	if (block->key >= profile->n_keys || !profile->code_by_key[block->key])
		learn(profile, block);
	profile->instructions += block->instructions;
	profile->blocks++;
	profile->pieces.current += block->instructions;
	if (!profile->process)
		profile->process = process_of(profile, profile->pid);
	if (profile->process)
		profile->process->instructions += block->instructions;
	return profile->next->block(profile->next, block, taken, target);
}

/* A gap for lack of code: whose? */
static void add_missing(struct flowtap_profile *profile, uint64_t address)
{
	const struct flowtap_code *code =
		flowtap_address_map_find(profile->map, profile->pid, profile->time, address);

	if (!code || !code->missing)
		return;
	for (size_t i = 0; i < profile->n_missing; i++) {
		if (strcmp(profile->missing[i].path, code->path))
			continue;
		profile->missing[i].gaps++;
		return;
	}
	if (profile->n_missing < FLOWTAP_PROFILE_MISSING_MAX)
		profile->missing[profile->n_missing++] = (struct flowtap_profile_missing){
			.path = code->path,
			.reason = code->missing,
			.gaps = 1,
		};
}

static void add_gap(struct flowtap_profile *profile, const struct flowtap_gap *gap)
{
	flowtap_pieces_end(&profile->pieces);
	profile->gaps[gap->reason]++;
	if (gap->since && gap->since < gap->until)
		profile->gap_ns[gap->reason] += gap->until - gap->since;
	if (gap->reason == FLOWTAP_GAP_NO_CODE)
		add_missing(profile, gap->address);
}

static int add_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct flowtap_profile *profile = (struct flowtap_profile *)sink;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT && element->context.pid != profile->pid) {
		profile->pid = element->context.pid;
		profile->process = NULL;
	} else if (element->kind == FLOWTAP_ELEMENT_TIME) {
		profile->time = element->time;
	} else if (element->kind == FLOWTAP_ELEMENT_GAP) {
		add_gap(profile, &element->gap);
	}
	return profile->next->element(profile->next, element);
}

void flowtap_profile_init(struct flowtap_profile *profile, struct flowtap_address_map *map)
{
	*profile = (struct flowtap_profile){
		.sink = { .block = add_block, .element = add_element },
		.map = map,
	};
}

void flowtap_profile_end(struct flowtap_profile *profile)
{
	flowtap_pieces_end(&profile->pieces);
}

void flowtap_profile_free(struct flowtap_profile *profile)
{
	tdestroy(profile->processes, free);
	flowtap_pieces_free(&profile->pieces);
	free(profile->code_by_key);
	free(profile->hits);
}

const struct flowtap_code *flowtap_profile_code(const struct flowtap_profile *profile, uint32_t key)
{
	return key < profile->n_keys ? profile->code_by_key[key] : NULL;
}

const char *flowtap_profile_symbol(void *argument, uint64_t address, uint64_t *offset)
{
	const struct flowtap_profile *profile = argument;
	const struct flowtap_code *code =
		flowtap_address_map_find(profile->map, profile->pid, profile->time, address);

	return code ? flowtap_address_map_symbol(profile->map, code, address, offset) : NULL;
}

struct collection {
	const struct flowtap_profile_process **list;
	size_t n;
};

static void collect(const void *node, VISIT visit, void *closure)
{
	const struct flowtap_profile_process *process = *(struct flowtap_profile_process *const *)node;
	struct collection *all = closure;

	if ((visit != postorder && visit != leaf) || !process->instructions)
		return;
	if (!FLOWTAP_GROW(all->list, all->n))
		all->list[all->n++] = process;
}

static int busier(const void *one, const void *other)
{
	const struct flowtap_profile_process *a = *(struct flowtap_profile_process *const *)one;
	const struct flowtap_profile_process *b = *(struct flowtap_profile_process *const *)other;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return compare(a, b);
}

const struct flowtap_profile_process **
flowtap_profile_processes(const struct flowtap_profile *profile, size_t *n)
{
	struct collection all = { .list = NULL };

	twalk_r(profile->processes, collect, &all);
	if (all.n)
		qsort(all.list, all.n, sizeof(all.list[0]), busier);
	*n = all.n;
	return all.list;
}
