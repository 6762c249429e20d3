// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads each ring through a window, and merges the rings by a heap; a task's sequence numbers
 * decide between equal times.
 */
#include "formats/archive/merge.h"

#include <errno.h>
#include <flowtap/ring.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpus.h"
#include "base/hash_table.h"
#include "base/read_at.h"
#include "base/vector.h"

#define WINDOW (2 * FLOWTAP_RECORD_MAX)
/* Of so many records with one time it is looked which one comes first. */
#define TIED_MOST 64U

/* Every record type begins like this. */
struct timed {
	struct flowtap_record header;
	uint64_t time;
};

struct span {
	uint64_t offset;
	uint32_t size;
};

/* Where one ring is being read. The window holds [begin, end) of the current span. */
struct cursor {
	uint32_t cpu;
	struct span *spans;
	size_t n_spans;
	size_t next;		/* span */
	uint64_t offset;	/* in the file, of what is not in the window yet */
	uint64_t left;		/* bytes of the span from there */
	uint8_t *window;
	size_t begin;
	size_t end;
	const struct timed *head;
};

struct task {
	uint32_t tid;
	uint64_t sequence;
};

struct flowtap_merge {
	int fd;
	struct cursor *cursors;
	uint32_t n;
	struct flowtap_hash_table by_cpu;
	/* The cursors that have a head: a binary heap, the first in order on top. */
	uint32_t *heap;
	uint32_t n_heap;
	/* The last of each task that was handed out. */
	struct task *tasks;
	uint32_t n_tasks;
	struct flowtap_hash_table by_tid;
	/* To be moved on before the heap is in order: those not begun, then the one handed out. */
	uint32_t started;
	bool pending;
	uint32_t current;
};

struct flowtap_merge *flowtap_merge_new(int fd)
{
	struct flowtap_merge *merge = calloc(1, sizeof(*merge));

	if (merge)
		merge->fd = fd;
	return merge;
}

void flowtap_merge_free(struct flowtap_merge *merge)
{
	if (!merge)
		return;
	for (uint32_t i = 0; i < merge->n; i++) {
		free(merge->cursors[i].spans);
		free(merge->cursors[i].window);
	}
	free(merge->cursors);
	free(merge->heap);
	free(merge->tasks);
	flowtap_hash_table_free(&merge->by_cpu);
	flowtap_hash_table_free(&merge->by_tid);
	free(merge);
}

static int find_cursor(struct flowtap_merge *merge, uint32_t cpu, struct cursor **cursor)
{
	uint64_t hash = flowtap_hash_words(&(uint64_t) { cpu }, 1);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&merge->by_cpu, hash);
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index)) {
		*cursor = &merge->cursors[index];
		if ((*cursor)->cpu == cpu)
			return 0;
	}
	if (merge->n == FLOWTAP_CPUS_MAX)
		return -E2BIG;
	if (FLOWTAP_GROW(merge->cursors, merge->n) || FLOWTAP_GROW(merge->heap, merge->n))
		return -ENOMEM;
	if (flowtap_hash_table_add(&merge->by_cpu, hash, merge->n))
		return -ENOMEM;
	*cursor = &merge->cursors[merge->n++];
	**cursor = (struct cursor) { .cpu = cpu };
	return 0;
}

int flowtap_merge_add(struct flowtap_merge *merge, uint32_t cpu, uint64_t offset, uint32_t size)
{
	struct cursor *cursor;
	int err = find_cursor(merge, cpu, &cursor);

	if (err)
		return err;
	if (FLOWTAP_GROW(cursor->spans, cursor->n_spans))
		return -ENOMEM;
	cursor->spans[cursor->n_spans++] = (struct span) { offset, size };
	return 0;
}

/* Sees to it that `want` bytes are in the window. False: the span has not so many, or no read. */
static bool fill(int fd, struct cursor *cursor, size_t want)
{
	size_t held = cursor->end - cursor->begin, n, got;
	int error;

	if (held >= want)
		return true;
	if (want - held > cursor->left)
		return false;
	memmove(cursor->window, cursor->window + cursor->begin, held);
	cursor->begin = 0;
	n = WINDOW - held < cursor->left ? WINDOW - held : (size_t)cursor->left;
	got = flowtap_read_at(fd, cursor->window + held, n, cursor->offset, &error);
	cursor->end = held + got;
	cursor->offset += got;
	cursor->left -= got;
	return cursor->end >= want;
}

/* The rest of the span is of no use. */
static int pass_over(struct cursor *cursor, struct flowtap_merge_result *result, const char *reason)
{
	size_t held = cursor->end - cursor->begin;

	result->cpu = cursor->cpu;
	result->offset = cursor->offset - held;
	result->bytes = cursor->left + held;
	result->reason = reason;
	cursor->begin = cursor->end = 0;
	cursor->left = 0;
	return -EBADMSG;
}

/* Goes on to the cursor's next record: 1, 0 (no more), -EBADMSG (call again), -ENOMEM. */
static int move_on(int fd, struct cursor *cursor, struct flowtap_merge_result *result)
{
	const struct flowtap_record *record;

	if (cursor->head)
		cursor->begin += cursor->head->header.size;
	cursor->head = NULL;
	while (cursor->begin == cursor->end && !cursor->left) {
		if (cursor->next == cursor->n_spans)
			return 0;
		cursor->offset = cursor->spans[cursor->next].offset;
		cursor->left = cursor->spans[cursor->next].size;
		cursor->next++;
	}
	if (!cursor->window)
		cursor->window = malloc(WINDOW);
	if (!cursor->window)
		return -ENOMEM;
	if (!fill(fd, cursor, sizeof(*record)))
		return pass_over(cursor, result, "no whole record");
	record = (const void *)(cursor->window + cursor->begin);
	if (record->size < sizeof(struct timed) || record->size % 8)
		return pass_over(cursor, result, "a record of an impossible size");
	if (!fill(fd, cursor, record->size))
		return pass_over(cursor, result, "a record that does not fit into its block");
	cursor->head = (const void *)(cursor->window + cursor->begin);
	return 1;
}

/*
 * When what the record describes began. A task can have left one CPU and come to another within a
 * tick: what began later is later.
 */
static uint64_t began(const struct timed *head)
{
	const struct flowtap_record_aux *aux = (const void *)head;
	const struct flowtap_record_gap *gap = (const void *)head;

	if (head->header.type == FLOWTAP_RECORD_AUX && head->header.size >= sizeof(*aux))
		return aux->since;
	if (head->header.type == FLOWTAP_RECORD_GAP && head->header.size >= sizeof(*gap))
		return gap->since;
	return head->time;
}

static bool heap_before(const struct flowtap_merge *merge, uint32_t x, uint32_t y)
{
	const struct cursor *a = &merge->cursors[merge->heap[x]];
	const struct cursor *b = &merge->cursors[merge->heap[y]];
	bool gap = a->head->header.type == FLOWTAP_RECORD_GAP;

	if (a->head->time != b->head->time)
		return a->head->time < b->head->time;
	if (began(a->head) != began(b->head))
		return began(a->head) < began(b->head);
	/* Within one tick a gap comes before what follows it. */
	if (gap != (b->head->header.type == FLOWTAP_RECORD_GAP))
		return gap;
	return a->cpu < b->cpu;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t c = *a;

	*a = *b;
	*b = c;
}

static void push(struct flowtap_merge *merge, uint32_t cursor)
{
	uint32_t at = merge->n_heap++;

	merge->heap[at] = cursor;
	for (; at && heap_before(merge, at, (at - 1) / 2); at = (at - 1) / 2)
		swap(&merge->heap[at], &merge->heap[(at - 1) / 2]);
}

static uint32_t pop(struct flowtap_merge *merge)
{
	uint32_t top = merge->heap[0], at = 0;

	merge->heap[0] = merge->heap[--merge->n_heap];
	for (;;) {
		uint32_t least = at, below = 2 * at + 1;

		for (uint32_t i = below; i < below + 2 && i < merge->n_heap; i++)
			if (heap_before(merge, i, least))
				least = i;
		if (least == at)
			return top;
		swap(&merge->heap[at], &merge->heap[least]);
		at = least;
	}
}

/* Gives every cursor that waits for it a head. 0, -EBADMSG (call again), -ENOMEM. */
static int fill_heads(struct flowtap_merge *merge, struct flowtap_merge_result *result)
{
	for (;;) {
		int got;

		if (!merge->pending) {
			if (merge->started == merge->n)
				return 0;
			merge->current = merge->started++;
			merge->pending = true;
		}
		got = move_on(merge->fd, &merge->cursors[merge->current], result);
		if (got < 0)
			return got;
		if (got)
			push(merge, merge->current);
		merge->pending = false;
	}
}

/* Tasks. */

/* Whether the record counts in its task's sequence, not in its CPU's, and how far. */
static bool counts(const struct cursor *cursor, struct task *task)
{
	const struct flowtap_record *record = &cursor->head->header;
	const struct flowtap_record_sample *sample = (const void *)record;
	const struct flowtap_record_aux *aux = (const void *)record;

	if (record->misc & FLOWTAP_MISC_CPU_WIDE)
		return false;
	if (record->type == FLOWTAP_RECORD_SAMPLE && record->size >= sizeof(*sample))
		*task = (struct task){ sample->tid, sample->sequence };
	else if (record->type == FLOWTAP_RECORD_AUX && record->size >= sizeof(*aux))
		*task = (struct task){ aux->tid, aux->sequence };
	else
		return false;
	return true;
}

static struct task *find_task(const struct flowtap_merge *merge, uint32_t tid)
{
	struct flowtap_hash_table_walk walk =
		flowtap_hash_table_walk(&merge->by_tid, flowtap_hash_words(&(uint64_t) { tid }, 1));
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (merge->tasks[index].tid == tid)
			return &merge->tasks[index];
	return NULL;
}

static int set_task(struct flowtap_merge *merge, const struct task *now)
{
	struct task *task = find_task(merge, now->tid);

	if (!task) {
		uint32_t n = merge->n_tasks;

		if (FLOWTAP_GROW(merge->tasks, n))
			return -ENOMEM;
		if (flowtap_hash_table_add(&merge->by_tid,
					   flowtap_hash_words(&(uint64_t) { now->tid }, 1), n))
			return -ENOMEM;
		task = &merge->tasks[merge->n_tasks++];
	}
	*task = *now;
	return 0;
}

/* Whether the task's record before this one has not come: it may be in another ring. */
static bool is_early(const struct flowtap_merge *merge, const struct cursor *cursor)
{
	const struct task *task;
	struct task now;

	if (!counts(cursor, &now) || !now.sequence)
		return false;
	task = find_task(merge, now.tid);
	return !task || now.sequence - 1 > task->sequence;
}

/* Nothing but the order of sequences says which of them comes first. */
static bool is_tied(const struct timed *a, const struct timed *b)
{
	return a->time == b->time && began(a) == began(b);
}

/*
 * The cursor whose turn it is. Clocks are coarse (a RISC-V timebase may tick once a microsecond):
 * of records with one time those come first that do not miss a predecessor. More than some of them
 * are a broken clock's, or somebody malicious wrote them: each would be looked at for each other.
 */
static uint32_t choose(struct flowtap_merge *merge)
{
	uint32_t aside[TIED_MOST], n = 0, chosen = pop(merge);
	const struct timed *first = merge->cursors[chosen].head;

	while (is_early(merge, &merge->cursors[chosen])) {
		aside[n++] = chosen;
		if (n == TIED_MOST || !merge->n_heap ||
		    !is_tied(merge->cursors[merge->heap[0]].head, first)) {
			/* All of them do, or so many: something was lost. */
			chosen = aside[0];
			aside[0] = aside[--n];
			break;
		}
		chosen = pop(merge);
	}
	while (n)
		push(merge, aside[--n]);
	return chosen;
}

int flowtap_merge_next(struct flowtap_merge *merge, struct flowtap_merge_result *result)
{
	int saved = errno, err = fill_heads(merge, result);
	const struct cursor *cursor;
	struct task now;

	errno = saved;
	if (err)
		return err;
	if (!merge->n_heap)
		return 0;
	merge->current = choose(merge);
	merge->pending = true;
	cursor = &merge->cursors[merge->current];
	if (counts(cursor, &now) && set_task(merge, &now))
		return -ENOMEM;
	result->record = &cursor->head->header;
	result->cpu = cursor->cpu;
	result->offset = cursor->offset - (cursor->end - cursor->begin);
	return 1;
}
