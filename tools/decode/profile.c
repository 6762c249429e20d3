// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts blocks, gaps and samples by process in a tree, and remembers which code each block key
 * stands for.
 */
#include "decode/profile.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* More distinct pieces of code than any archive has. */
#define CODES_MAX (1U << 24)

static int compare(const void *one, const void *other)
{
	const struct profile_process *a = one, *b = other;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct profile_process *process_of(struct profile *profile, uint32_t pid)
{
	struct profile_process wanted = { .pid = pid }, *made;
	struct profile_process **found = tfind(&wanted, &profile->processes, compare);

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

int profile_set_name(struct profile *profile, uint32_t pid, const char *comm, size_t size)
{
	struct profile_process *process = process_of(profile, pid);

	if (!process)
		return -ENOMEM;
	size = size < sizeof(process->comm) ? size : sizeof(process->comm) - 1;
	memcpy(process->comm, comm, size);
	process->comm[size] = 0;
	return 0;
}

int profile_add_hit(struct profile *profile, uint32_t pid, uint64_t time, uint64_t address)
{
	if (profile->n_hits == profile->hits_capacity) {
		size_t capacity = profile->hits_capacity ? 2 * profile->hits_capacity : 1024;
		struct profile_hit *hits = realloc(profile->hits, capacity * sizeof(hits[0]));

		if (!hits)
			return -ENOMEM;
		profile->hits = hits;
		profile->hits_capacity = capacity;
	}
	profile->hits[profile->n_hits++] = (struct profile_hit){
		.code = flowtap_map_find(profile->map, pid, time, address),
		.address = address,
	};
	return 0;
}

/* The first block of its code: keeps where that is. Without memory the summary knows less. */
static void learn(struct profile *profile, const struct flowtap_block *block)
{
	uint32_t key = block->key;

	if (key >= CODES_MAX)
		return;
	if (key >= profile->n_codes) {
		uint32_t n = key < 512 ? 1024 : 2 * key;
		const struct flowtap_code **codes = realloc(profile->codes, n * sizeof(codes[0]));

		if (!codes)
			return;
		memset(codes + profile->n_codes, 0, (n - profile->n_codes) * sizeof(codes[0]));
		profile->codes = codes;
		profile->n_codes = n;
	}
	profile->codes[key] = flowtap_map_find(profile->map, profile->pid, profile->time,
					       block->address);
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct profile *profile = (struct profile *)sink;

	if (block->key >= profile->n_codes || !profile->codes[block->key])
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
static void note_missing(struct profile *profile, uint64_t address)
{
	const struct flowtap_code *code = flowtap_map_find(profile->map, profile->pid,
							   profile->time, address);

	if (!code || !code->missing)
		return;
	for (size_t i = 0; i < profile->n_missing; i++) {
		if (strcmp(profile->missing[i].path, code->path))
			continue;
		profile->missing[i].gaps++;
		return;
	}
	if (profile->n_missing < PROFILE_MISSING_MAX)
		profile->missing[profile->n_missing++] = (struct profile_missing){
			.path = code->path,
			.reason = code->missing,
			.gaps = 1,
		};
}

static void note_gap(struct profile *profile, const struct flowtap_gap *gap)
{
	pieces_end(&profile->pieces);
	profile->gaps[gap->reason]++;
	if (gap->since && gap->since < gap->until)
		profile->gap_ns[gap->reason] += gap->until - gap->since;
	if (gap->reason == FLOWTAP_GAP_NO_CODE)
		note_missing(profile, gap->address);
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct profile *profile = (struct profile *)sink;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT && element->context.pid != profile->pid) {
		profile->pid = element->context.pid;
		profile->process = NULL;
	} else if (element->kind == FLOWTAP_ELEMENT_TIME) {
		profile->time = element->time;
	} else if (element->kind == FLOWTAP_ELEMENT_GAP) {
		note_gap(profile, &element->gap);
	}
	return profile->next->element(profile->next, element);
}

void profile_init(struct profile *profile, struct flowtap_map *map)
{
	*profile = (struct profile){
		.sink = { .block = take_block, .element = take_element },
		.map = map,
	};
}

void profile_free(struct profile *profile)
{
	tdestroy(profile->processes, free);
	pieces_free(&profile->pieces);
	free(profile->codes);
	free(profile->hits);
}

const struct flowtap_code *profile_code(const struct profile *profile, uint32_t key)
{
	return key < profile->n_codes ? profile->codes[key] : NULL;
}

const char *profile_symbol(void *argument, uint64_t address, uint64_t *offset)
{
	const struct profile *profile = argument;
	const struct flowtap_code *code = flowtap_map_find(profile->map, profile->pid,
							   profile->time, address);

	return code ? flowtap_map_symbol(profile->map, code, address, offset) : NULL;
}

struct collection {
	const struct profile_process **list;
	size_t n;
	size_t room;
};

static void collect(const void *node, VISIT visit, void *closure)
{
	const struct profile_process *process = *(struct profile_process *const *)node;
	struct collection *all = closure;

	if ((visit != postorder && visit != leaf) || !process->instructions)
		return;
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		const struct profile_process **list = realloc(all->list, room * sizeof(list[0]));

		if (!list)
			return;
		all->list = list;
		all->room = room;
	}
	all->list[all->n++] = process;
}

static int busier(const void *one, const void *other)
{
	const struct profile_process *a = *(struct profile_process *const *)one;
	const struct profile_process *b = *(struct profile_process *const *)other;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return compare(a, b);
}

const struct profile_process **profile_processes(const struct profile *profile, size_t *n)
{
	struct collection all = { .list = NULL };

	twalk_r(profile->processes, collect, &all);
	if (all.n)
		qsort(all.list, all.n, sizeof(all.list[0]), busier);
	*n = all.n;
	return all.list;
}
