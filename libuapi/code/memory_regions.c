// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * A sweep over the addresses: at each address where an image begins or ends, the first one of those
 * that are there counts up to the next such address.
 */
#include "code/memory_regions.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vector.h"

struct sweep {
	const struct flowtap_memory_image *images;
	const uint32_t *chosen;
	uint32_t *begins;	/* indices into chosen, by address */
	uint32_t *heap;		/* indices into chosen: those that have begun, the least one on top */
	size_t depth;
	struct flowtap_memory_image *pieces;
	size_t n;
};

static const struct flowtap_memory_image *image_at(const struct sweep *sweep, uint32_t index)
{
	return &sweep->images[sweep->chosen[index]];
}

static int by_address(const void *one, const void *other, void *argument)
{
	const struct sweep *sweep = argument;
	const uint32_t *a = one, *b = other;
	uint64_t x = image_at(sweep, *a)->address, y = image_at(sweep, *b)->address;

	return x != y ? (x < y ? -1 : 1) : (*a > *b) - (*a < *b);
}

static void swap(uint32_t *one, uint32_t *other)
{
	uint32_t kept = *one;

	*one = *other;
	*other = kept;
}

static void push(struct sweep *sweep, uint32_t index)
{
	size_t at = sweep->depth++;

	sweep->heap[at] = index;
	for (; at && sweep->heap[at] < sweep->heap[(at - 1) / 2]; at = (at - 1) / 2)
		swap(&sweep->heap[at], &sweep->heap[(at - 1) / 2]);
}

static void pop(struct sweep *sweep)
{
	size_t at = 0, child;

	sweep->heap[0] = sweep->heap[--sweep->depth];
	for (; (child = 2 * at + 1) < sweep->depth; at = child) {
		if (child + 1 < sweep->depth && sweep->heap[child + 1] < sweep->heap[child])
			child++;
		if (sweep->heap[at] <= sweep->heap[child])
			return;
		swap(&sweep->heap[at], &sweep->heap[child]);
	}
}

static int emit(struct sweep *sweep, uint64_t from, uint64_t to,
		const struct flowtap_memory_image *image)
{
	struct flowtap_memory_image *last = sweep->n ? &sweep->pieces[sweep->n - 1] : NULL;
	uint64_t offset = image->offset + (from - image->address);

	/* The same bytes go on. */
	if (last && last->end == from && last->file == image->file &&
	    last->offset + (from - last->address) == offset) {
		last->end = to;
		return 0;
	}
	if (FLOWTAP_GROW(sweep->pieces, sweep->n))
		return -ENOMEM;
	sweep->pieces[sweep->n++] = (struct flowtap_memory_image) {
		.address = from, .end = to, .offset = offset, .file = image->file,
	};
	return 0;
}

static int run(struct sweep *sweep, size_t n)
{
	size_t begun = 0;
	uint64_t at = 0;
	int error;

	while (begun < n || sweep->depth) {
		const struct flowtap_memory_image *image;
		uint64_t to;

		if (!sweep->depth)
			at = image_at(sweep, sweep->begins[begun])->address;
		while (begun < n && image_at(sweep, sweep->begins[begun])->address == at)
			push(sweep, sweep->begins[begun++]);
		image = image_at(sweep, sweep->heap[0]);
		if (image->end <= at) {
			pop(sweep);
			continue;
		}
		to = image->end;
		/* Up to where the next one begins: it may count before this one. */
		if (begun < n && image_at(sweep, sweep->begins[begun])->address < to)
			to = image_at(sweep, sweep->begins[begun])->address;
		error = emit(sweep, at, to, image);
		if (error)
			return error;
		at = to;
	}
	return 0;
}

int flowtap_memory_layout(const struct flowtap_memory_image *images, const uint32_t *chosen,
			  size_t n, struct flowtap_memory_image **pieces, size_t *n_pieces)
{
	struct sweep sweep = { .images = images, .chosen = chosen };
	int error = -ENOMEM;

	sweep.begins = calloc(n + 1, sizeof(sweep.begins[0]));
	sweep.heap = calloc(n + 1, sizeof(sweep.heap[0]));
	if (sweep.begins && sweep.heap) {
		for (size_t i = 0; i < n; i++)
			sweep.begins[i] = (uint32_t)i;
		qsort_r(sweep.begins, n, sizeof(sweep.begins[0]), by_address, &sweep);
		error = run(&sweep, n);
	}
	free(sweep.begins);
	free(sweep.heap);
	if (error) {
		free(sweep.pieces);
		return error;
	}
	*pieces = sweep.pieces;
	*n_pieces = sweep.n;
	return 0;
}
