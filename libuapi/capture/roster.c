// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A roster's memory, and its log; roster_process.c has who is there, roster_write.c writes it. */
#include "capture/roster_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- Space. --- */

static bool reserve(struct flowtap_roster *roster, size_t size)
{
	if (size > roster->limit - roster->size) {
		roster->dropped++;
		return false;
	}
	roster->size += size;
	return true;
}

void *flowtap_roster_allocate(struct flowtap_roster *roster, size_t size)
{
	void *memory;

	if (!reserve(roster, size))
		return NULL;
	memory = calloc(1, size);
	if (!memory) {
		roster->size -= size;
		roster->dropped++;
	}
	return memory;
}

void flowtap_roster_release(struct flowtap_roster *roster, void *memory, size_t size)
{
	if (memory)
		roster->size -= size;
	free(memory);
}

void *flowtap_roster_grow(struct flowtap_roster *roster, void *array, size_t n, size_t each)
{
	void *more;

	if (!reserve(roster, each))
		return NULL;
	more = reallocarray(array, n + 1, each);
	if (more)
		return more;
	roster->size -= each;
	roster->dropped++;
	return NULL;
}

/* --- The log. --- */

static bool keep(struct flowtap_roster *roster, struct roster_event *entry, const void *first,
		 size_t first_size, const void *second, size_t second_size)
{
	if (second_size > SIZE_MAX - first_size)
		return false;
	entry->size = first_size + second_size;
	entry->payload = flowtap_roster_allocate(roster, entry->size ? entry->size : 1);
	if (!entry->payload)
		return false;
	if (first_size)
		memcpy(entry->payload, first, first_size);
	if (second_size)
		memcpy(entry->payload + first_size, second, second_size);
	return true;
}

static void drop(struct flowtap_roster *roster, struct roster_event *entry)
{
	flowtap_roster_release(roster, entry->payload, entry->size ? entry->size : 1);
}

static void add_to_log(struct flowtap_roster *roster, struct roster_event *entry)
{
	if (roster->n_log == roster->capacity_log) {
		const size_t capacity = roster->capacity_log ? 2 * roster->capacity_log : 64;
		struct roster_event *more;

		if (!reserve(roster, (capacity - roster->capacity_log) * sizeof(*more)))
			goto err_drop;
		more = reallocarray(roster->log, capacity, sizeof(*more));
		if (!more) {
			roster->size -= (capacity - roster->capacity_log) * sizeof(*more);
			roster->dropped++;
			goto err_drop;
		}
		roster->log = more;
		roster->capacity_log = capacity;
	}
	roster->log[roster->n_log++] = *entry;
	return;

err_drop:
	drop(roster, entry);
}

/* Code that is mapped by this path in every process: the first is as good as any. */
static void add_shared(struct flowtap_roster *roster, struct roster_event *entry)
{
	struct flowtap_archive_mapping head, other;
	struct roster_event *more = NULL;
	bool fresh = flowtap_roster_is_whole(entry, &head);

	for (size_t i = 0; fresh && i < roster->n_shared; i++)
		fresh = !flowtap_roster_is_whole(&roster->shared[i], &other) ||
			head.path_size != other.path_size ||
			memcmp(entry->payload + sizeof(head),
			       roster->shared[i].payload + sizeof(other), head.path_size);
	if (fresh)
		more = flowtap_roster_grow(roster, roster->shared, roster->n_shared, sizeof(*more));
	if (!more) {
		drop(roster, entry);
		return;
	}
	roster->shared = more;
	more[roster->n_shared++] = *entry;
}

/* Of no process: of all. */
static bool is_shared(const struct roster_event *entry)
{
	struct flowtap_archive_mapping head;

	if (entry->type != FLOWTAP_ARCHIVE_BYTES || entry->size < sizeof(head))
		return false;
	memcpy(&head, entry->payload, sizeof(head));
	return !head.pid;
}

void flowtap_roster_add(struct flowtap_roster *roster, uint32_t type, uint32_t cpu, uint64_t time,
			const void *first, size_t first_size, const void *second,
			size_t second_size)
{
	struct roster_event entry = { .type = type, .cpu = cpu, .time = time };

	if (type != FLOWTAP_ARCHIVE_TASK && type != FLOWTAP_ARCHIVE_MAPPING &&
	    type != FLOWTAP_ARCHIVE_BYTES)
		return;
	if (!keep(roster, &entry, first, first_size, second, second_size))
		return;
	entry.number = roster->numbers++;
	if (is_shared(&entry))
		add_shared(roster, &entry);
	else
		add_to_log(roster, &entry);
}

static int by_time(const void *one, const void *other)
{
	const struct roster_event *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->number < b->number ? -1 : a->number > b->number;
}

void flowtap_roster_advance(struct flowtap_roster *roster, uint64_t time)
{
	size_t done = 0;

	if (roster->n_log)
		qsort(roster->log, roster->n_log, sizeof(roster->log[0]), by_time);
	while (done < roster->n_log && roster->log[done].time <= time) {
		struct roster_event *entry = &roster->log[done++];

		flowtap_roster_apply(roster, entry);
		drop(roster, entry);
	}
	roster->n_log -= done;
	if (roster->n_log)
		memmove(roster->log, roster->log + done, roster->n_log * sizeof(roster->log[0]));
}

/* --- */

size_t flowtap_roster_size(const struct flowtap_roster *roster)
{
	return roster->size;
}

uint64_t flowtap_roster_dropped(const struct flowtap_roster *roster)
{
	return roster->dropped;
}

struct flowtap_roster *flowtap_roster_new(size_t limit)
{
	struct flowtap_roster *roster = calloc(1, sizeof(*roster));

	if (roster)
		roster->limit = limit;
	return roster;
}

void flowtap_roster_free(struct flowtap_roster *roster)
{
	if (!roster)
		return;
	flowtap_roster_clear(roster);
	for (size_t i = 0; i < roster->n_log; i++)
		free(roster->log[i].payload);
	for (size_t i = 0; i < roster->n_shared; i++)
		free(roster->shared[i].payload);
	free(roster->log);
	free(roster->shared);
	free(roster);
}
