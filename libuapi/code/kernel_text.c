// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Collects the findings of a recorder's looks by region, and builds timelines on demand, of which
 * a bounded number of bytes is held.
 */
#include "code/kernel_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "code/kernel_history.h"

#define REGIONS_MAX 4096U
#define REGION_MAX (256ULL << 20)	/* bytes of one */
#define HELD_MAX (1ULL << 30)		/* bytes of all that looks found */
#define FINDINGS_MAX 64U		/* different ones of one region */
#define FILES_MAX (1U << 24)
#define PARTS_MAX (4U << 20)		/* of timelines, 128 MiB; more are made anew ... */
#define EVICTIONS_MAX 64U		/* ... so often, and then given up */

#define PAGE FLOWTAP_KERNEL_PAGE

struct flowtap_kernel_texts {
	struct flowtap_kernel_symbols *symbols;
	struct kernel_region **list;	/* in the order they came */
	uint32_t n;
	uint64_t held;
	uint32_t files;			/* that were given out; 0 is none */
	size_t parts, parts_max;	/* of timelines */
	unsigned int evictions;		/* of all of them */
	/* By start; max_end: the greatest end of those up to here. */
	bool sorted;
	struct kernel_region **by_start;
	uint64_t *max_end;
};

struct flowtap_kernel_texts *flowtap_kernel_texts_new(struct flowtap_kernel_symbols *symbols,
						      size_t limit)
{
	struct flowtap_kernel_texts *texts = calloc(1, sizeof(*texts));

	if (!texts)
		return NULL;
	texts->symbols = symbols;
	texts->parts_max = limit ? limit : PARTS_MAX;
	return texts;
}

static void free_region(struct kernel_region *region)
{
	for (uint32_t i = 0; i < region->n; i++) {
		free(region->findings[i].bytes);
		free(region->findings[i].stored);
	}
	free(region->findings);
	free(region->path);
	kernel_history_drop(region);
	free(region);
}

void flowtap_kernel_texts_free(struct flowtap_kernel_texts *texts)
{
	if (!texts)
		return;
	for (uint32_t i = 0; i < texts->n; i++)
		free_region(texts->list[i]);
	free(texts->list);
	free(texts->by_start);
	free(texts->max_end);
	free(texts);
}

static void drop(struct flowtap_kernel_texts *texts, struct kernel_region *region)
{
	texts->parts -= kernel_history_size(region);
	kernel_history_drop(region);
}

void flowtap_kernel_texts_renew(struct flowtap_kernel_texts *texts)
{
	for (uint32_t i = 0; i < texts->n; i++)
		drop(texts, texts->list[i]);
}

static int check(const struct flowtap_kernel_text *text)
{
	uint64_t end = text->offset + text->part_size;

	if (!(text->start >> 63) || !text->size || text->size > UINT64_MAX - text->start ||
	    text->until < text->time || end < text->offset || end > text->size ||
	    text->offset % PAGE || (text->part_size % PAGE && end != text->size) ||
	    (text->gone && text->part_size))
		return -EINVAL;
	return text->size > REGION_MAX ? -EFBIG : 0;
}

/* The region of this name and address that is not gone. */
static struct kernel_region *find_region(const struct flowtap_kernel_texts *texts,
					 const struct flowtap_kernel_text *text)
{
	for (uint32_t i = texts->n; i--;) {
		struct kernel_region *region = texts->list[i];
		size_t size = strlen(text->name);

		if (region->start == text->start && region->end - region->start == text->size &&
		    region->end_time == UINT64_MAX &&
		    !strncmp(region->path + 1, text->name, size) &&
		    !strcmp(region->path + 1 + size, "]"))
			return region;
	}
	return NULL;
}

static int new_region(struct flowtap_kernel_texts *texts, const struct flowtap_kernel_text *text,
		      struct kernel_region **out)
{
	struct kernel_region *region;

	if (texts->n == REGIONS_MAX)
		return -EFBIG;
	if (FLOWTAP_GROW(texts->list, texts->n))
		return -ENOMEM;
	region = calloc(1, sizeof(*region));
	if (!region)
		return -ENOMEM;
	if (asprintf(&region->path, "[%s]", text->name) < 0) {
		free(region);
		return -ENOMEM;
	}
	region->start = text->start;
	region->end = text->start + text->size;
	region->begin_time = text->fresh ? text->time : 0;
	region->fresh = text->fresh;
	region->end_time = UINT64_MAX;
	texts->list[texts->n++] = region;
	texts->sorted = false;
	*out = region;
	return 0;
}

/* A finding that begins as the one before it: its parts come over that. 0, -ENOMEM, -EFBIG. */
static int new_finding(struct flowtap_kernel_texts *texts, struct kernel_region *region,
		       const struct flowtap_kernel_text *text)
{
	uint64_t size = region->end - region->start, pages = (size + PAGE - 1) / PAGE;
	struct kernel_finding *finding;

	if (region->n == FINDINGS_MAX || texts->files + 1 == FILES_MAX ||
	    size + pages > HELD_MAX - texts->held)
		return -EFBIG;
	if (FLOWTAP_GROW(region->findings, region->n))
		return -ENOMEM;
	finding = &region->findings[region->n];
	*finding = (struct kernel_finding) {
		.time = text->time,
		.until = text->until,
		.bytes = calloc(1, size),
		.stored = calloc(1, pages),
	};
	if (!finding->bytes || !finding->stored) {
		free(finding->bytes);
		free(finding->stored);
		return -ENOMEM;
	}
	if (region->n) {
		memcpy(finding->bytes, region->findings[region->n - 1].bytes, size);
		memcpy(finding->stored, region->findings[region->n - 1].stored, pages);
	}
	finding->file = ++texts->files;
	texts->held += size + pages;
	region->n++;
	return 0;
}

static void store_part(struct kernel_finding *finding, const struct flowtap_kernel_text *text,
		       const void *bytes)
{
	memcpy(finding->bytes + text->offset, bytes, text->part_size);
	for (uint64_t at = 0; at < text->part_size; at += PAGE)
		finding->stored[(text->offset + at) / PAGE] = 1;
}

static int look_again(struct flowtap_kernel_texts *texts, struct kernel_region *region,
		      const struct flowtap_kernel_text *text, const void *bytes)
{
	struct kernel_finding *last = &region->findings[region->n - 1];
	bool same = text->time == region->last_time && text->until == region->last_until;
	int err = 0;

	if (region->lost || (!same && text->time < region->last_until))
		return -EINVAL;
	if (text->gone) {
		region->lost = "unloaded while it was recorded; its text was not seen again";
		region->end_time = text->until;
		return 0;
	}
	if (text->part_size && !(same && last->time == text->time && last->until == text->until)) {
		err = new_finding(texts, region, text);
		last = &region->findings[region->n - 1];
	}
	if (err == -EFBIG)
		region->lost = "more of the kernel's text than can be held";
	if (err)
		return err;
	if (text->part_size)
		store_part(last, text, bytes);
	region->last_time = text->time;
	region->last_until = text->until;
	last->last_time = text->time;
	return 0;
}

int flowtap_kernel_texts_add(struct flowtap_kernel_texts *texts,
			     const struct flowtap_kernel_text *text, const void *bytes)
{
	struct kernel_region *region;
	int err = check(text);

	if (err)
		return err;
	region = find_region(texts, text);
	if (!region && text->gone)
		return -EINVAL;
	if (region && !region->n)
		return -EFBIG;
	if (!region) {
		err = new_region(texts, text, &region);
		if (!err)
			err = new_finding(texts, region, text);
		if (err)
			return err;
		region->last_time = text->time;
		region->last_until = text->until;
	}
	drop(texts, region);
	return look_again(texts, region, text, bytes);
}

static int by_start(const void *a, const void *b)
{
	const struct kernel_region *x = *(struct kernel_region *const *)a;
	const struct kernel_region *y = *(struct kernel_region *const *)b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->begin_time < y->begin_time ? -1 : x->begin_time > y->begin_time;
}

static int sort(struct flowtap_kernel_texts *texts)
{
	struct kernel_region **list = realloc(texts->by_start, texts->n * sizeof(list[0]));
	uint64_t *max_end, most = 0;

	if (!list)
		return -ENOMEM;
	texts->by_start = list;
	max_end = realloc(texts->max_end, texts->n * sizeof(max_end[0]));
	if (!max_end)
		return -ENOMEM;
	texts->max_end = max_end;
	memcpy(list, texts->list, texts->n * sizeof(list[0]));
	qsort(list, texts->n, sizeof(list[0]), by_start);
	for (uint32_t i = 0; i < texts->n; i++)
		max_end[i] = most = list[i]->end > most ? list[i]->end : most;
	texts->sorted = true;
	return 0;
}

/* Timelines that drive out one another in turns would be made at nearly each question. */
static int build(struct flowtap_kernel_texts *texts, struct kernel_region *region)
{
	bool full = texts->parts > texts->parts_max;
	int err;

	if (region->n_eras)
		return 0;
	if (full && texts->evictions < EVICTIONS_MAX) {
		flowtap_kernel_texts_renew(texts);
		texts->evictions++;
		full = false;
	}
	err = full ? kernel_history_give_up(region) :
		     kernel_history_build(region, texts->symbols);
	texts->parts += kernel_history_size(region);
	return err;
}

int flowtap_kernel_texts_find(struct flowtap_kernel_texts *texts, uint64_t time, uint64_t address,
			      struct flowtap_code *code)
{
	uint32_t low = 0, high = texts->n;

	if (!texts->n)
		return -ENOENT;
	if (!texts->sorted && sort(texts))
		return -ENOMEM;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (texts->by_start[middle]->start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low && texts->max_end[low - 1] > address; low--) {
		struct kernel_region *region = texts->by_start[low - 1];

		/* One without findings could not be held. */
		if (address >= region->end || time < region->begin_time ||
		    time >= region->end_time || !region->n)
			continue;
		if (build(texts, region))
			return -ENOMEM;
		kernel_history_find(region, time, address, code);
		return 0;
	}
	return -ENOENT;
}
