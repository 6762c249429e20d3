// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Overlays the findings about a region one by one, and makes of them a timeline of which bytes
 * are known when.
 */
#include "code/kernel_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define PAGE FLOWTAP_KERNEL_PAGE
#define PARCEL 2U
#define CHANGES_MAX 4096U	/* addresses between two findings; more are one range */
#define SPANS_MAX 8192U		/* of one finding; more, and all of it counts as changed */

/* Part of the region: of a finding, or missing. */
struct span {
	uint64_t start;
	uint64_t end;
	uint32_t finding;
	const char *missing;
};

struct spans {
	struct span *list;
	size_t n;
};

struct kernel_era {
	uint64_t from;
	uint64_t until;
	struct spans spans;
};

static const char changed[] = "the text here changed while it was recorded";
static const char loaded[] = "loaded while it was recorded; its text is known from a moment later";
static const char restless[] = "its text changed too often to be followed";
static const char absent[] = "this part of the text was not recorded, or is damaged";

void kernel_history_drop(struct kernel_region *region)
{
	for (uint32_t i = 0; i < region->n_eras; i++)
		free(region->eras[i].spans.list);
	free(region->eras);
	region->eras = NULL;
	region->n_eras = 0;
}

size_t kernel_history_size(const struct kernel_region *region)
{
	size_t size = 0;

	for (uint32_t i = 0; i < region->n_eras; i++)
		size += region->eras[i].spans.n;
	return size;
}

static bool joins(const struct span *before, const struct span *after)
{
	return before->end >= after->start && before->missing == after->missing &&
	       (before->missing || before->finding == after->finding);
}

/* In order of address. */
static int push(struct spans *spans, const struct span *span)
{
	if (spans->n && joins(&spans->list[spans->n - 1], span)) {
		if (spans->list[spans->n - 1].end < span->end)
			spans->list[spans->n - 1].end = span->end;
		return 0;
	}
	if (FLOWTAP_GROW(spans->list, spans->n))
		return -ENOMEM;
	spans->list[spans->n++] = *span;
	return 0;
}

static int push_part(struct spans *spans, const struct span *of, uint64_t start, uint64_t end)
{
	struct span part = *of;

	part.start = start;
	part.end = end;
	return push(spans, &part);
}

/* `base` covers all of the region; where `over` has something it is that instead. */
static int overlay(struct spans *base, const struct spans *over)
{
	struct spans result = { 0 };
	size_t next = 0;
	int err = 0;

	for (size_t i = 0; i < base->n && !err; i++) {
		const struct span *span = &base->list[i];

		for (uint64_t at = span->start; at < span->end && !err;) {
			const struct span *cover;
			uint64_t until = span->end;

			while (next < over->n && over->list[next].end <= at)
				next++;
			cover = next < over->n ? &over->list[next] : NULL;
			if (cover && cover->start <= at) {
				until = cover->end < until ? cover->end : until;
				err = push_part(&result, cover, at, until);
			} else {
				until = cover && cover->start < until ? cover->start : until;
				err = push_part(&result, span, at, until);
			}
			at = until;
		}
	}
	free(base->list);
	*base = result;
	return err;
}

static int copy(struct spans *to, const struct spans *from)
{
	int err = 0;

	for (size_t i = 0; i < from->n && !err; i++)
		err = push(to, &from->list[i]);
	return err;
}

/* Pages that the finding does not have. */
static int find_absent(const struct kernel_region *region, uint32_t finding, struct spans *spans)
{
	const uint8_t *stored = region->findings[finding].stored;
	uint64_t size = region->end - region->start;
	struct span span = { .missing = absent };
	int err = 0;

	for (uint64_t at = 0; at < size && !err; at += PAGE) {
		span.start = region->start + at;
		span.end = size - at < PAGE ? region->end : span.start + PAGE;
		if (!stored[at / PAGE])
			err = push(spans, &span);
	}
	return err;
}

/* What of one page is not as the finding before has it. */
static int compare_page(const struct kernel_region *region, uint32_t finding, uint64_t at,
			struct spans *changes)
{
	const struct kernel_finding *after = &region->findings[finding], *before = after - 1;
	uint64_t size = region->end - region->start, end = size - at < PAGE ? size : at + PAGE;
	struct span span = { .missing = changed };
	int err = 0;

	if (!after->stored[at / PAGE])
		return 0;
	if (!before->stored[at / PAGE])
		return push_part(changes, &span, region->start + at, region->start + end);
	if (!memcmp(before->bytes + at, after->bytes + at, end - at))
		return 0;
	for (; at < end && !err; at += PARCEL) {
		uint64_t n = end - at < PARCEL ? end - at : PARCEL;

		span.start = region->start + at;
		span.end = span.start + n;
		if (memcmp(before->bytes + at, after->bytes + at, n))
			err = push(changes, &span);
		if (changes->n > CHANGES_MAX) {
			changes->list[0].end = span.end;
			changes->n = 1;
		}
	}
	return err;
}

static int compare(const struct kernel_region *region, uint32_t finding, struct spans *changes)
{
	uint64_t size = region->end - region->start;
	int err = 0;

	for (uint64_t at = 0; at < size && !err; at += PAGE)
		err = compare_page(region, finding, at, changes);
	return err;
}

/*
 * Changes widened to whole functions: where one text meets the other no instruction may lie across.
 * All that is outside of them is the same text as before, and says so.
 */
static int widen(const struct kernel_region *region, struct flowtap_kernel_symbols *symbols,
		 uint32_t finding, const struct spans *changes, struct spans *functions)
{
	size_t size = strlen(region->path);
	struct span span = { .finding = finding };
	char *module = strndup(region->path + 1, size - 2);
	uint64_t none;
	int err = module ? 0 : -ENOMEM;

	for (size_t i = 0; i < changes->n && !err; i++) {
		const struct span *change = &changes->list[i];

		if (functions->n && functions->list[functions->n - 1].end >= change->end)
			continue;
		flowtap_kernel_symbols_find(symbols, module, change->start, &span.start, &none);
		flowtap_kernel_symbols_find(symbols, module, change->end - 1, &none, &span.end);
		if (span.start < region->start)
			span.start = region->start;
		if (span.end > region->end)
			span.end = region->end;
		err = push(functions, &span);
	}
	free(module);
	return err;
}

/* The text after finding number `i`: `base` is that before it. */
static int advance(const struct kernel_region *region, struct flowtap_kernel_symbols *symbols,
		   uint32_t i, struct spans *base, struct spans *changes)
{
	const struct span whole = { region->start, region->end, i, NULL };
	struct spans functions = { 0 }, missing = { 0 };
	int err = i ? compare(region, i, changes) : push(&functions, &whole);

	if (!err && i)
		err = widen(region, symbols, i, changes, &functions);
	if (!err && base->n + functions.n > SPANS_MAX) {
		functions.n = 0;
		err = push(&functions, &whole);
	}
	if (!err)
		err = i ? overlay(base, &functions) : copy(base, &functions);
	if (!err)
		err = find_absent(region, i, &missing);
	if (!err)
		err = overlay(base, &missing);
	free(functions.list);
	free(missing.list);
	return err;
}

/* All moments at which what is known becomes another, in order; returns how many. */
static size_t moments(const struct kernel_region *region, uint64_t *list)
{
	size_t n = 0, kept = 0;

	list[n++] = region->begin_time;
	for (uint32_t i = 0; i < region->n; i++) {
		if (i || region->fresh)
			list[n++] = region->findings[i].until;
		if (i + 1 < region->n || region->lost)
			list[n++] = region->findings[i].last_time;
	}
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && list[k] < list[k - 1]; k--) {
			uint64_t later = list[k - 1];

			list[k - 1] = list[k];
			list[k] = later;
		}
	for (size_t i = 0; i < n; i++)
		if (list[i] >= region->begin_time && list[i] < region->end_time &&
		    (!kept || list[kept - 1] != list[i]))
			list[kept++] = list[i];
	return kept;
}

/* What is known from the era's beginning on. bases and changes are by finding. */
static int fill_era(const struct kernel_region *region, struct kernel_era *era,
		    const struct spans *bases, const struct spans *changes)
{
	const struct kernel_finding *findings = region->findings;
	struct span whole = { .start = region->start, .end = region->end };
	uint32_t base = 0;
	int err;

	if (region->fresh && era->from < findings[0].until)
		whole.missing = loaded;
	else if (region->lost && era->from >= findings[region->n - 1].last_time)
		whole.missing = region->lost;
	if (whole.missing)
		return push(&era->spans, &whole);
	while (base + 1 < region->n && findings[base + 1].until <= era->from)
		base++;
	err = copy(&era->spans, &bases[base]);
	for (uint32_t i = 1; i < region->n && !err; i++)
		if (findings[i - 1].last_time <= era->from && era->from < findings[i].until)
			err = overlay(&era->spans, &changes[i]);
	return err;
}

static int fill_eras(struct kernel_region *region, const struct spans *bases,
		     const struct spans *changes)
{
	uint64_t *list = malloc((2 * (size_t)region->n + 1) * sizeof(list[0]));
	size_t n = list ? moments(region, list) : 0;
	int err = list ? 0 : -ENOMEM;

	region->eras = calloc(n ? n : 1, sizeof(region->eras[0]));
	if (!region->eras)
		err = -ENOMEM;
	for (size_t i = 0; i < n && !err; i++) {
		struct kernel_era *era = &region->eras[region->n_eras++];

		era->from = list[i];
		era->until = i + 1 < n ? list[i + 1] : region->end_time;
		err = fill_era(region, era, bases, changes);
	}
	free(list);
	if (err)
		kernel_history_drop(region);
	return err;
}

int kernel_history_build(struct kernel_region *region, struct flowtap_kernel_symbols *symbols)
{
	struct spans *bases = calloc(region->n, sizeof(bases[0]));
	struct spans *changes = calloc(region->n, sizeof(changes[0]));
	int err = bases && changes ? 0 : -ENOMEM;

	kernel_history_drop(region);
	for (uint32_t i = 0; i < region->n && !err; i++) {
		if (i)
			err = copy(&bases[i], &bases[i - 1]);
		if (!err)
			err = advance(region, symbols, i, &bases[i], &changes[i]);
	}
	if (!err)
		err = fill_eras(region, bases, changes);
	for (uint32_t i = 0; i < region->n; i++) {
		if (bases)
			free(bases[i].list);
		if (changes)
			free(changes[i].list);
	}
	free(bases);
	free(changes);
	return err;
}

int kernel_history_give_up(struct kernel_region *region)
{
	const struct span whole = {
		.start = region->start, .end = region->end, .missing = restless,
	};
	struct kernel_era *era = calloc(1, sizeof(*era));

	if (!era)
		return -ENOMEM;
	kernel_history_drop(region);
	era->from = region->begin_time;
	era->until = region->end_time;
	region->eras = era;
	region->n_eras = 1;
	if (!push(&era->spans, &whole))
		return 0;
	kernel_history_drop(region);
	return -ENOMEM;
}

static const struct kernel_era *era_at(const struct kernel_region *region, uint64_t time)
{
	uint32_t low = 0, high = region->n_eras;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (region->eras[middle].from <= time)
			low = middle;
		else
			high = middle;
	}
	return &region->eras[low];
}

void kernel_history_find(const struct kernel_region *region, uint64_t time, uint64_t address,
			  struct flowtap_code *code)
{
	const struct kernel_era *era = era_at(region, time);
	size_t low = 0, high = era->spans.n;
	const struct span *span;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (era->spans.list[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	span = &era->spans.list[low];
	*code = (struct flowtap_code) {
		.start = span->start,
		.end = span->end,
		.from = era->from,
		.until = era->until,
		.file_offset = span->start - region->start,
		.path = region->path,
		.missing = span->missing,
	};
	if (span->missing)
		return;
	code->bytes = region->findings[span->finding].bytes + code->file_offset;
	code->file = region->findings[span->finding].file;
}
