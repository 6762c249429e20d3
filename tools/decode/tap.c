// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts blocks, gaps and samples by process in a tree, and remembers which code each block key
 * stands for.
 */
#include "decode/tap.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

/* More distinct pieces of code than any archive has. */
#define CODES_MAX (1U << 24)

static int compare(const void *one, const void *other)
{
	const struct tap_process *a = one, *b = other;

	return a->pid < b->pid ? -1 : a->pid > b->pid;
}

static struct tap_process *process_of(struct tap *tap, uint32_t pid)
{
	struct tap_process wanted = { .pid = pid }, *made;
	struct tap_process **found = tfind(&wanted, &tap->processes, compare);

	if (found)
		return *found;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->pid = pid;
	if (!tsearch(made, &tap->processes, compare)) {
		free(made);
		return NULL;
	}
	return made;
}

int tap_name(struct tap *tap, uint32_t pid, const char *comm, size_t size)
{
	struct tap_process *process = process_of(tap, pid);

	if (!process)
		return -ENOMEM;
	size = size < sizeof(process->comm) ? size : sizeof(process->comm) - 1;
	memcpy(process->comm, comm, size);
	process->comm[size] = 0;
	return 0;
}

int tap_hit(struct tap *tap, uint32_t pid, uint64_t time, uint64_t address)
{
	if (tap->n_hits == tap->hits_room) {
		size_t room = tap->hits_room ? 2 * tap->hits_room : 1024;
		struct tap_hit *hits = realloc(tap->hits, room * sizeof(hits[0]));

		if (!hits)
			return -ENOMEM;
		tap->hits = hits;
		tap->hits_room = room;
	}
	tap->hits[tap->n_hits++] = (struct tap_hit){
		.code = flowtap_map_find(tap->map, pid, time, address),
		.address = address,
	};
	return 0;
}

/* The first block of its code: keeps where that is. Without memory the summary knows less. */
static void learn(struct tap *tap, const struct flowtap_block *block)
{
	uint32_t key = block->key;

	if (key >= CODES_MAX)
		return;
	if (key >= tap->n_codes) {
		uint32_t n = key < 512 ? 1024 : 2 * key;
		const struct flowtap_code **codes = realloc(tap->codes, n * sizeof(codes[0]));

		if (!codes)
			return;
		memset(codes + tap->n_codes, 0, (n - tap->n_codes) * sizeof(codes[0]));
		tap->codes = codes;
		tap->n_codes = n;
	}
	tap->codes[key] = flowtap_map_find(tap->map, tap->pid, tap->time, block->address);
}

static int take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	struct tap *tap = (struct tap *)sink;

	if (block->key >= tap->n_codes || !tap->codes[block->key])
		learn(tap, block);
	tap->instructions += block->instructions;
	tap->blocks++;
	tap->pieces.current += block->instructions;
	if (!tap->process)
		tap->process = process_of(tap, tap->pid);
	if (tap->process)
		tap->process->instructions += block->instructions;
	return tap->next->block(tap->next, block, taken, target);
}

/* A gap for lack of code: whose? */
static void note_missing(struct tap *tap, uint64_t address)
{
	const struct flowtap_code *code = flowtap_map_find(tap->map, tap->pid, tap->time, address);

	if (!code || !code->missing)
		return;
	for (size_t i = 0; i < tap->n_missing; i++) {
		if (strcmp(tap->missing[i].path, code->path))
			continue;
		tap->missing[i].gaps++;
		return;
	}
	if (tap->n_missing < TAP_MISSING_MAX)
		tap->missing[tap->n_missing++] = (struct tap_missing){
			.path = code->path,
			.reason = code->missing,
			.gaps = 1,
		};
}

static void note_gap(struct tap *tap, const struct flowtap_gap *gap)
{
	pieces_end(&tap->pieces);
	tap->gaps[gap->reason]++;
	if (gap->since && gap->since < gap->until)
		tap->gap_ns[gap->reason] += gap->until - gap->since;
	if (gap->reason == FLOWTAP_GAP_NO_CODE)
		note_missing(tap, gap->address);
}

static int take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct tap *tap = (struct tap *)sink;

	if (element->kind == FLOWTAP_ELEMENT_CONTEXT && element->context.pid != tap->pid) {
		tap->pid = element->context.pid;
		tap->process = NULL;
	} else if (element->kind == FLOWTAP_ELEMENT_TIME) {
		tap->time = element->time;
	} else if (element->kind == FLOWTAP_ELEMENT_GAP) {
		note_gap(tap, &element->gap);
	}
	return tap->next->element(tap->next, element);
}

void tap_init(struct tap *tap, struct flowtap_map *map)
{
	*tap = (struct tap){
		.sink = { .block = take_block, .element = take_element },
		.map = map,
	};
}

void tap_free(struct tap *tap)
{
	tdestroy(tap->processes, free);
	pieces_free(&tap->pieces);
	free(tap->codes);
	free(tap->hits);
}

const struct flowtap_code *tap_code(const struct tap *tap, uint32_t key)
{
	return key < tap->n_codes ? tap->codes[key] : NULL;
}

const char *tap_symbol(void *argument, uint64_t address, uint64_t *offset)
{
	const struct tap *tap = argument;
	const struct flowtap_code *code = flowtap_map_find(tap->map, tap->pid, tap->time, address);

	return code ? flowtap_map_symbol(tap->map, code, address, offset) : NULL;
}

struct collection {
	const struct tap_process **list;
	size_t n;
	size_t room;
};

static void collect(const void *node, VISIT visit, void *closure)
{
	const struct tap_process *process = *(struct tap_process *const *)node;
	struct collection *all = closure;

	if ((visit != postorder && visit != leaf) || !process->instructions)
		return;
	if (all->n == all->room) {
		size_t room = all->room ? 2 * all->room : 64;
		const struct tap_process **list = realloc(all->list, room * sizeof(list[0]));

		if (!list)
			return;
		all->list = list;
		all->room = room;
	}
	all->list[all->n++] = process;
}

static int busier(const void *one, const void *other)
{
	const struct tap_process *a = *(struct tap_process *const *)one;
	const struct tap_process *b = *(struct tap_process *const *)other;

	if (a->instructions != b->instructions)
		return a->instructions > b->instructions ? -1 : 1;
	return compare(a, b);
}

const struct tap_process **tap_processes(const struct tap *tap, size_t *n)
{
	struct collection all = { .list = NULL };

	twalk_r(tap->processes, collect, &all);
	if (all.n)
		qsort(all.list, all.n, sizeof(all.list[0]), busier);
	*n = all.n;
	return all.list;
}
