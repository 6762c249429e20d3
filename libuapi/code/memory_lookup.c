// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* What is at an address in a context, read when somebody looks. */
#include "code/memory_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/read_at.h"
#include "base/vector.h"

#define REGION_MAX	(512ULL << 20)
#define HELD_MAX	(4ULL << 30)
#define CUTS_MAX	4096	/* a file of holes can be as long as it likes */

/* The spaces that code of this context is in. */
static uint8_t spaces_of(const struct flowtap_context *context)
{
	static const uint8_t el1[] = {
		[FLOWTAP_NONSECURE] = FLOWTAP_SPACE_EL1N,
		[FLOWTAP_SECURE] = FLOWTAP_SPACE_EL1S,
		[FLOWTAP_REALM] = FLOWTAP_SPACE_EL1R,
		[FLOWTAP_ROOT] = FLOWTAP_SPACE_ROOT,
	}, el2[] = {
		[FLOWTAP_NONSECURE] = FLOWTAP_SPACE_EL2N,
		[FLOWTAP_SECURE] = FLOWTAP_SPACE_EL2S,
		[FLOWTAP_REALM] = FLOWTAP_SPACE_EL2R,
		[FLOWTAP_ROOT] = FLOWTAP_SPACE_ROOT,
	};
	unsigned int security = context->security & 3;

	if (context->mode >= FLOWTAP_PRIVILEGE_M)
		return FLOWTAP_SPACE_EL3 | (security == FLOWTAP_ROOT ? FLOWTAP_SPACE_ROOT : 0);
	return context->mode == FLOWTAP_PRIVILEGE_H ? el2[security] : el1[security];
}

static bool passes(const struct flowtap_memory_filter *filter,
		   const struct flowtap_context *context)
{
	if (filter->spaces && !(filter->spaces & spaces_of(context)))
		return false;
	if (filter->has_contextid &&
	    (!context->has_contextid || context->contextid != filter->contextid))
		return false;
	return !filter->has_vmid || (context->has_vmid && context->vmid == filter->vmid);
}

static bool same_pieces(const struct memory_region *region,
			const struct flowtap_memory_image *pieces, size_t n)
{
	return region->n == n && !memcmp(region->pieces, pieces, n * sizeof(pieces[0]));
}

/* The region of these pieces, which lie end to end; made where there is none yet. */
static struct memory_region *region_of(struct flowtap_memory *memory,
				  const struct flowtap_memory_image *pieces, size_t n)
{
	uint64_t hash = flowtap_hash(0, pieces, n * sizeof(pieces[0]));
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&memory->by_pieces, hash);
	struct memory_region *made;
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (same_pieces(memory->regions[index], pieces, n))
			return memory->regions[index];
	if (FLOWTAP_GROW(memory->regions, memory->n_regions))
		return NULL;
	made = calloc(1, sizeof(*made));
	if (!made)
		return NULL;
	made->pieces = malloc(n * sizeof(pieces[0]));
	index = (uint32_t)memory->n_regions;
	if (!made->pieces || flowtap_hash_table_add(&memory->by_pieces, hash, index)) {
		flowtap_memory_free_region(made);
		return NULL;
	}
	memcpy(made->pieces, pieces, n * sizeof(pieces[0]));
	made->n = n;
	made->code = (struct flowtap_code){
		.start = pieces[0].address,
		.end = pieces[n - 1].end,
		.until = UINT64_MAX,
		.file_offset = pieces[0].offset,
		.path = memory->files[pieces[0].file].path,
		.key = memory->first_key + index,
		.file = UINT32_MAX,
	};
	memory->regions[memory->n_regions++] = made;
	return made;
}

/*
 * No piece is longer than a region may be: where one is, it is cut, and what is left after so many
 * cuts is not there. malloc'ed.
 */
static struct flowtap_memory_image *cut(struct flowtap_memory_image *pieces, size_t *n)
{
	struct flowtap_memory_image *all;
	uint64_t more = 0;
	size_t used = 0, cuts = 0;

	for (size_t i = 0; i < *n && more < CUTS_MAX; i++)
		more += (pieces[i].end - pieces[i].address - 1) / REGION_MAX;
	more = more < CUTS_MAX ? more : CUTS_MAX;
	all = calloc(*n + (size_t)more + 1, sizeof(all[0]));
	for (size_t i = 0; i < *n && all; i++) {
		struct flowtap_memory_image rest = pieces[i];

		while (rest.end - rest.address > REGION_MAX) {
			if (cuts++ >= CUTS_MAX) {
				rest.end = rest.address + REGION_MAX;
				break;
			}
			all[used] = rest;
			all[used++].end = rest.address + REGION_MAX;
			rest.address += REGION_MAX;
			rest.offset += REGION_MAX;
		}
		all[used++] = rest;
	}
	free(pieces);
	*n = used;
	return all;
}

static int join(struct flowtap_memory *memory, struct memory_view *view,
		const struct flowtap_memory_image *pieces, size_t n)
{
	size_t first = 0;

	view->regions = calloc(n + 1, sizeof(view->regions[0]));
	if (!view->regions)
		return -ENOMEM;
	for (size_t i = 1; i <= n; i++) {
		if (i < n && pieces[i].address == pieces[i - 1].end &&
		    pieces[i].end - pieces[first].address <= REGION_MAX)
			continue;
		view->regions[view->n] = region_of(memory, &pieces[first], i - first);
		if (!view->regions[view->n++])
			return -ENOMEM;
		first = i;
	}
	return 0;
}

static int lay_out(struct flowtap_memory *memory, struct memory_view *view)
{
	struct flowtap_memory_image *pieces = NULL;
	uint32_t *chosen = calloc(memory->n_images + 1, sizeof(chosen[0]));
	size_t n = 0;
	int error;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < memory->n_images; i++)
		if (view->mask >> memory->images[i].filter & 1)
			chosen[n++] = (uint32_t)i;
	error = flowtap_memory_layout(memory->images, chosen, n, &pieces, &n);
	free(chosen);
	if (error)
		return error;
	pieces = cut(pieces, &n);
	error = pieces ? join(memory, view, pieces, n) : -ENOMEM;
	free(pieces);
	return error;
}

/* What this context sees; NULL: no memory, or more different views than anybody has. */
static struct memory_view *view_of(struct flowtap_memory *memory,
				   const struct flowtap_context *context)
{
	struct memory_view *view;
	uint64_t mask = 0;

	for (size_t i = 0; i < memory->n_filters; i++)
		if (passes(&memory->filters[i], context))
			mask |= 1ULL << i;
	for (size_t i = 0; i < memory->n_views; i++)
		if (memory->views[i]->mask == mask)
			return memory->views[i];
	if (memory->n_views == FLOWTAP_MEMORY_VIEWS)
		return NULL;
	view = calloc(1, sizeof(*view));
	if (!view)
		return NULL;
	view->mask = mask;
	if (lay_out(memory, view)) {
		free(view->regions);
		free(view);
		return NULL;
	}
	memory->views[memory->n_views++] = view;
	return view;
}

static int read_pieces(const struct flowtap_memory *memory, struct memory_region *region,
		       uint8_t *bytes)
{
	for (size_t i = 0; i < region->n; i++) {
		const struct flowtap_memory_image *piece = &region->pieces[i];
		const struct memory_file *file = &memory->files[piece->file];
		int fd = flowtap_memory_open(memory, file), error = fd;

		if (fd >= 0) {
			error = flowtap_read_all_at(fd, bytes, piece->end - piece->address,
						    piece->offset, -ENODATA);
			close(fd);
		}
		if (error < 0) {
			snprintf(region->missing, sizeof(region->missing), "%.300s: %s",
				 file->path, error == -ENODATA ? "has become shorter" :
								 strerrordesc_np(-error));
			return error;
		}
		bytes += piece->end - piece->address;
	}
	return 0;
}

/* At the first look. */
static void load(struct flowtap_memory *memory, struct memory_region *region)
{
	uint64_t size = region->code.end - region->code.start;

	region->looked = true;
	region->code.missing = region->missing;
	if (size > HELD_MAX - memory->held) {
		snprintf(region->missing, sizeof(region->missing),
			 "%.300s: more than 4 GiB of code", region->code.path);
		return;
	}
	region->bytes = malloc(size);
	if (!region->bytes) {
		snprintf(region->missing, sizeof(region->missing), "%.300s: no memory",
			 region->code.path);
		return;
	}
	if (read_pieces(memory, region, region->bytes)) {
		free(region->bytes);
		region->bytes = NULL;
		return;
	}
	memory->held += size;
	region->code.bytes = region->bytes;
	region->code.missing = NULL;
}

static bool same_context(const struct flowtap_context *one, const struct flowtap_context *other)
{
	return one->mode == other->mode && one->security == other->security &&
	       one->has_vmid == other->has_vmid && one->vmid == other->vmid &&
	       one->has_contextid == other->has_contextid && one->contextid == other->contextid;
}

const struct flowtap_code *flowtap_memory_find(void *argument,
					       const struct flowtap_context *context,
					       uint64_t address)
{
	struct flowtap_memory *memory = argument;
	struct memory_view *view = memory->view;
	size_t low = 0, high;
	int saved = errno;

	if (!view || !same_context(context, &memory->context)) {
		view = view_of(memory, context);
		if (!view)
			return NULL;
		memory->view = view;
		memory->context = *context;
	}
	for (high = view->n; low < high;) {
		size_t middle = low + (high - low) / 2;

		if (view->regions[middle]->code.end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == view->n || view->regions[low]->code.start > address)
		return NULL;
	if (!view->regions[low]->looked)
		load(memory, view->regions[low]);
	errno = saved;
	return &view->regions[low]->code;
}
