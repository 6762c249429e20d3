// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Who is there, and with which code: a tree of processes. */
#include "capture/roster_internal.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static void write_origin(struct flowtap_roster *roster, struct roster_origin *origin)
{
	if (!--origin->references)
		flowtap_roster_release(roster, origin,
				       sizeof(*origin) + origin->path_size + origin->size);
}

static int by_pid(const void *one, const void *other)
{
	const struct roster_process *a = one, *b = other;

	return (a->pid > b->pid) - (a->pid < b->pid);
}

static struct roster_process *find(const struct flowtap_roster *roster, uint32_t pid)
{
	struct roster_process key = { .pid = pid }, **found;

	found = tfind(&key, &roster->processes, by_pid);
	return found ? *found : NULL;
}

static void clear_mappings(struct flowtap_roster *roster, struct roster_process *process)
{
	for (size_t i = 0; i < process->n_mappings; i++)
		write_origin(roster, process->mappings[i].origin);
	flowtap_roster_release(roster, process->mappings,
			       process->n_mappings * sizeof(process->mappings[0]));
	process->mappings = NULL;
	process->n_mappings = process->mapped = 0;
}

static void clear_threads(struct flowtap_roster *roster, struct roster_process *process)
{
	flowtap_roster_release(roster, process->threads,
			       process->n_threads * sizeof(process->threads[0]));
	process->threads = NULL;
	process->n_threads = 0;
}

static void free_process(struct flowtap_roster *roster, struct roster_process *process)
{
	clear_mappings(roster, process);
	clear_threads(roster, process);
	flowtap_roster_release(roster, process, sizeof(*process));
}

static void remove_process(struct flowtap_roster *roster, struct roster_process *process)
{
	tdelete(process, &roster->processes, by_pid);
	free_process(roster, process);
}

/* NULL: no memory. */
static struct roster_process *get(struct flowtap_roster *roster, uint32_t pid)
{
	struct roster_process *process = find(roster, pid);

	if (process)
		return process;
	process = flowtap_roster_allocate(roster, sizeof(*process));
	if (!process)
		return NULL;
	process->pid = pid;
	if (tsearch(process, &roster->processes, by_pid))
		return process;
	flowtap_roster_release(roster, process, sizeof(*process));
	roster->dropped++;
	return NULL;
}

/* The first thread whose number is not below tid, or n_threads. */
static size_t thread_at(const struct roster_process *process, uint32_t tid)
{
	size_t first = 0, last = process->n_threads;

	while (first < last) {
		size_t middle = first + (last - first) / 2;

		if (process->threads[middle].tid < tid)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

static bool has_thread(const struct roster_process *process, size_t at, uint32_t tid)
{
	return at < process->n_threads && process->threads[at].tid == tid;
}

static struct roster_thread *get_thread(struct flowtap_roster *roster,
					struct roster_process *process, uint32_t tid)
{
	size_t at = thread_at(process, tid);
	struct roster_thread *more;

	if (has_thread(process, at, tid))
		return &process->threads[at];
	more = flowtap_roster_grow(roster, process->threads, process->n_threads, sizeof(*more));
	if (!more)
		return NULL;
	process->threads = more;
	more += at;
	memmove(more + 1, more, (process->n_threads++ - at) * sizeof(*more));
	*more = (struct roster_thread){ .tid = tid };
	return more;
}

/* --- What is mapped. --- */

static size_t mapped_bytes(const struct roster_origin *origin)
{
	return sizeof(struct roster_mapping) + origin->path_size + origin->size;
}

/* The first mapping that ends above address, or n_mappings. */
static size_t mapping_at(const struct roster_process *process, uint64_t address)
{
	size_t first = 0, last = process->n_mappings;

	while (first < last) {
		size_t middle = first + (last - first) / 2;
		const struct flowtap_archive_mapping *head = &process->mappings[middle].head;

		if (head->start + head->size <= address)
			first = middle + 1;
		else
			last = middle;
	}
	return first;
}

/* Where nothing else is mapped. */
static void add_mapping(struct flowtap_roster *roster, struct roster_process *process,
			const struct flowtap_archive_mapping *head, struct roster_origin *origin)
{
	const size_t at = mapping_at(process, head->start);
	struct roster_mapping *more;

	if (process->n_mappings == ROSTER_MAPPINGS_MAX ||
	    mapped_bytes(origin) > roster->limit / ROSTER_SHARE - process->mapped) {
		roster->dropped++;
		return;
	}
	more = flowtap_roster_grow(roster, process->mappings, process->n_mappings, sizeof(*more));
	if (!more)
		return;
	process->mappings = more;
	more += at;
	memmove(more + 1, more, (process->n_mappings++ - at) * sizeof(*more));
	*more = (struct roster_mapping){ .head = *head, .origin = origin };
	more->head.time = 0;
	more->head.pid = process->pid;
	more->head.path_size = origin->path_size;
	origin->references++;
	process->mapped += mapped_bytes(origin);
}

static void remove_mapping(struct flowtap_roster *roster, struct roster_process *process, size_t at)
{
	process->mapped -= mapped_bytes(process->mappings[at].origin);
	write_origin(roster, process->mappings[at].origin);
	memmove(&process->mappings[at], &process->mappings[at + 1],
		(--process->n_mappings - at) * sizeof(process->mappings[0]));
	roster->size -= sizeof(process->mappings[0]);
	if (!process->n_mappings) {
		free(process->mappings);
		process->mappings = NULL;
	}
}

/* What is left of it below and above [start, end). */
static void cut(struct flowtap_roster *roster, struct roster_process *process, size_t at,
		uint64_t start, uint64_t end)
{
	struct flowtap_archive_mapping below = process->mappings[at].head, above = below;
	struct roster_origin *origin = process->mappings[at].origin;

	origin->references++;
	remove_mapping(roster, process, at);
	if (below.start < start) {
		below.size = start - below.start;
		add_mapping(roster, process, &below, origin);
	}
	if (above.start + above.size > end) {
		above.size -= end - above.start;
		above.file_offset += end - above.start;
		above.start = end;
		add_mapping(roster, process, &above, origin);
	}
	write_origin(roster, origin);
}

static void unmap(struct flowtap_roster *roster, struct roster_process *process, uint64_t start,
		  uint64_t end)
{
	size_t at;

	while ((at = mapping_at(process, start)) < process->n_mappings &&
	       process->mappings[at].head.start < end)
		cut(roster, process, at, start, end);
}

bool flowtap_roster_is_whole(const struct roster_event *entry, struct flowtap_archive_mapping *head)
{
	if (entry->size < sizeof(*head))
		return false;
	memcpy(head, entry->payload, sizeof(*head));
	if (head->path_size > entry->size - sizeof(*head) || head->path_size > ROSTER_PATH_BYTES ||
	    !head->size || head->size > UINT64_MAX - head->start ||
	    head->size > UINT64_MAX - head->file_offset)
		return false;
	return entry->type == FLOWTAP_ARCHIVE_MAPPING ||
	       (roster_code_at(head) <= entry->size &&
		head->size == entry->size - roster_code_at(head));
}

static void apply_mapping(struct flowtap_roster *roster, const struct roster_event *entry)
{
	struct flowtap_archive_mapping head;
	struct roster_process *process;
	struct roster_origin *origin;
	uint64_t size;

	if (!flowtap_roster_is_whole(entry, &head))
		return;
	size = entry->type == FLOWTAP_ARCHIVE_BYTES ? head.size : 0;
	process = get(roster, head.pid);
	if (!process)
		return;
	origin = flowtap_roster_allocate(roster, sizeof(*origin) + head.path_size + size);
	if (!origin)
		return;
	origin->references = 1;
	origin->path_size = head.path_size;
	origin->size = size;
	memcpy(origin->bytes, entry->payload + sizeof(head), head.path_size);
	if (size) {
		memcpy(origin->bytes + head.path_size, entry->payload + roster_code_at(&head),
		       size);
		head.file_offset = 0;
	}
	unmap(roster, process, head.start, head.start + head.size);
	/* Data that covers code leaves none; of itself it says nothing. */
	if (head.executable)
		add_mapping(roster, process, &head, origin);
	write_origin(roster, origin);
}

/* --- Tasks. --- */

/* All of them at once: they are where they are already. */
static void copy_mappings(struct flowtap_roster *roster, struct roster_process *child,
			  const struct roster_process *parent)
{
	const size_t size = parent->n_mappings * sizeof(parent->mappings[0]);

	child->mappings = size ? flowtap_roster_allocate(roster, size) : NULL;
	if (!child->mappings)
		return;
	memcpy(child->mappings, parent->mappings, size);
	child->n_mappings = parent->n_mappings;
	child->mapped = parent->mapped;
	for (size_t i = 0; i < child->n_mappings; i++) {
		child->mappings[i].head.pid = child->pid;
		child->mappings[i].origin->references++;
	}
}

static void fork_process(struct flowtap_roster *roster, const struct flowtap_archive_task *task)
{
	struct roster_process *child = find(roster, task->pid);
	const struct roster_process *parent;

	/* Its number is used again. */
	if (child)
		remove_process(roster, child);
	child = get(roster, task->pid);
	if (!child)
		return;
	child->parent = task->parent_pid;
	get_thread(roster, child, task->tid);
	parent = find(roster, task->parent_pid);
	if (parent)
		copy_mappings(roster, child, parent);
}

static void name_thread(struct flowtap_roster *roster, struct roster_process *process,
			const struct flowtap_archive_task *task)
{
	struct roster_thread *thread = process ? get_thread(roster, process, task->tid) : NULL;

	if (!thread)
		return;
	memcpy(thread->comm, task->comm, sizeof(thread->comm));
	thread->comm_size = task->comm_size < sizeof(thread->comm) ? task->comm_size :
								     sizeof(thread->comm);
}

static void end_thread(struct flowtap_roster *roster, const struct flowtap_archive_task *task)
{
	struct roster_process *process = find(roster, task->pid);
	size_t at = process ? thread_at(process, task->tid) : 0;

	if (!process)
		return;
	if (has_thread(process, at, task->tid)) {
		memmove(&process->threads[at], &process->threads[at + 1],
			(--process->n_threads - at) * sizeof(process->threads[0]));
		roster->size -= sizeof(process->threads[0]);
	}
	if (!process->n_threads) {
		free(process->threads);
		process->threads = NULL;
		remove_process(roster, process);
	}
}

static void apply_task(struct flowtap_roster *roster, const struct roster_event *entry)
{
	struct flowtap_archive_task task;
	struct roster_process *process;

	if (entry->size < sizeof(task))
		return;
	memcpy(&task, entry->payload, sizeof(task));
	switch (task.event) {
	case FLOWTAP_TASK_FORK:
		if (task.pid != task.parent_pid)
			fork_process(roster, &task);
		else if ((process = get(roster, task.pid)))
			get_thread(roster, process, task.tid);
		break;
	case FLOWTAP_TASK_EXEC:
		process = get(roster, task.pid);
		if (process) {
			clear_mappings(roster, process);
			clear_threads(roster, process);
		}
		name_thread(roster, process, &task);
		break;
	case FLOWTAP_TASK_COMM:
		process = get(roster, task.pid);
		if (process && task.parent_pid)
			process->parent = task.parent_pid;
		name_thread(roster, process, &task);
		break;
	case FLOWTAP_TASK_EXIT:
		end_thread(roster, &task);
		break;
	}
}

/* --- */

void flowtap_roster_apply(struct flowtap_roster *roster, const struct roster_event *entry)
{
	if (entry->type == FLOWTAP_ARCHIVE_TASK)
		apply_task(roster, entry);
	else
		apply_mapping(roster, entry);
}

void flowtap_roster_clear(struct flowtap_roster *roster)
{
	while (roster->processes)
		remove_process(roster, *(struct roster_process **)roster->processes);
}
