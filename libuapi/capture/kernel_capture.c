// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Compares the pages of the kernel's text with the look before, and writes those that differ, and
 * the symbols of new modules.
 */
#include <flowtap/kernel.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"
#include "capture/clock.h"
#include "capture/kcore.h"
#include "capture/kernel_ranges.h"
#include "formats/archive/compression.h"

#define PAGE FLOWTAP_KERNEL_PAGE
#define AT_ONCE (1U << 20)		/* bytes that are read, and that become one block */
#define HELD_MAX (512ULL << 20)
#define REGIONS_MAX 4096U

struct region {
	struct flowtap_kernel_range range;
	uint8_t *bytes;
	uint8_t *pages;			/* PAGE_ */
	uint64_t since;			/* NEW: when it was not there yet; 0: it was at the start */
	bool fresh;			/* not written yet */
	bool present;			/* in this look */
	bool gone;
};

#define PAGE_HELD	1U		/* bytes are what the last look found */
#define PAGE_DIFFERENT	2U		/* and not what the one before did */

struct flowtap_kernel {
	struct flowtap_kernel_range text;
	struct region *regions;
	size_t n;
	uint64_t time;			/* of the last look */
	uint64_t until;
	uint64_t modules;		/* state of them, when it began */
	char *lines;			/* of kallsyms, not written yet */
	size_t lines_size;
	/* What is to be written next. */
	size_t next_line;		/* offset in lines */
	size_t next;			/* region */
	size_t next_page;
	size_t parts;			/* of the region that were written */
	uint8_t *buffer;		/* AT_ONCE */
	struct flowtap_payload_codec stored;
	struct flowtap_kernel_figures figures;
};

static uint64_t size_of(const struct flowtap_kernel_range *range)
{
	return range->end - range->start;
}

static size_t pages_of(const struct flowtap_kernel_range *range)
{
	return (size_of(range) + PAGE - 1) / PAGE;
}

int flowtap_kernel_open(struct flowtap_kernel **out)
{
	struct flowtap_kernel *kernel = calloc(1, sizeof(*kernel));
	struct flowtap_kcore *kcore = NULL;
	int err;

	if (!kernel)
		return -ENOMEM;
	kernel->buffer = malloc(AT_ONCE);
	err = kernel->buffer ? flowtap_kcore_open(&kcore) : -ENOMEM;
	flowtap_kcore_close(kcore);
	if (!err)
		err = flowtap_kernel_symbol_lines(NULL, NULL, &kernel->text, &kernel->lines,
						  &kernel->lines_size);
	if (!err && kernel->text.end <= kernel->text.start)
		err = -ENOENT;
	if (err) {
		flowtap_kernel_free(kernel);
		return err;
	}
	strcpy(kernel->text.name, "kernel");
	*out = kernel;
	return 0;
}

void flowtap_kernel_free(struct flowtap_kernel *kernel)
{
	if (!kernel)
		return;
	for (size_t i = 0; i < kernel->n; i++) {
		free(kernel->regions[i].bytes);
		free(kernel->regions[i].pages);
	}
	free(kernel->regions);
	free(kernel->lines);
	free(kernel->buffer);
	free(kernel->stored.buffer);
	free(kernel);
}

/* Looking. */

/*
 * Where a module's range ends is not only its own affair: it has the size of all of its memory, and
 * is cut at the next module, which comes and goes. Its text is in all of these ranges.
 */
static bool is_same(const struct flowtap_kernel_range *one,
		    const struct flowtap_kernel_range *other)
{
	return one->start == other->start && !strcmp(one->name, other->name);
}

static struct region *find(struct flowtap_kernel *kernel, const struct flowtap_kernel_range *range)
{
	for (size_t i = 0; i < kernel->n; i++) {
		struct region *region = &kernel->regions[i];

		if (!region->gone && is_same(&region->range, range))
			return region;
	}
	return NULL;
}

/* NULL with *err 0: there is no space for it. */
static struct region *take(struct flowtap_kernel *kernel, const struct flowtap_kernel_range *range,
			   int *err)
{
	struct region *region;

	*err = 0;
	if (kernel->n == REGIONS_MAX || size_of(range) > HELD_MAX - kernel->figures.bytes) {
		kernel->figures.skipped += size_of(range);
		return NULL;
	}
	*err = -ENOMEM;
	if (FLOWTAP_GROW(kernel->regions, kernel->n))
		return NULL;
	region = &kernel->regions[kernel->n];
	*region = (struct region) {
		.range = *range,
		.bytes = malloc(size_of(range)),
		.pages = calloc(1, pages_of(range)),
		.since = kernel->until ? kernel->time : 0,
		.fresh = true,
	};
	if (!region->bytes || !region->pages) {
		free(region->bytes);
		free(region->pages);
		return NULL;
	}
	*err = 0;
	kernel->n++;
	kernel->figures.regions++;
	kernel->figures.bytes += size_of(range);
	return region;
}

static void compare_page(struct flowtap_kernel *kernel, struct region *region, uint64_t offset,
			 const uint8_t *bytes, size_t size)
{
	uint8_t *page = &region->pages[offset / PAGE];

	if (*page & PAGE_HELD && !memcmp(region->bytes + offset, bytes, size))
		return;
	memcpy(region->bytes + offset, bytes, size);
	kernel->figures.changed += *page & PAGE_HELD;
	*page = PAGE_HELD | PAGE_DIFFERENT;
}

/*
 * range: the region's now. What it does not have and what cannot be read stays as it was; what
 * never could is absent.
 */
static void look_at(struct flowtap_kernel *kernel, const struct flowtap_kcore *kcore,
		    struct region *region, const struct flowtap_kernel_range *range)
{
	uint64_t size = range->end < region->range.end ? size_of(range) : size_of(&region->range);

	for (uint64_t offset = 0; offset < size; offset += AT_ONCE) {
		size_t n = size - offset < AT_ONCE ? size - offset : AT_ONCE;

		if (flowtap_kcore_read(kcore, region->range.start + offset, kernel->buffer, n)) {
			kernel->figures.skipped += n;
			continue;
		}
		for (size_t at = 0; at < n; at += PAGE)
			compare_page(kernel, region, offset + at, kernel->buffer + at,
				     n - at < PAGE ? n - at : PAGE);
	}
}

static int look_at_all(struct flowtap_kernel *kernel, const struct flowtap_kcore *kcore,
		       const struct flowtap_kernel_range *modules, size_t n)
{
	for (size_t i = 0; i <= n; i++) {
		const struct flowtap_kernel_range *range = i ? &modules[i - 1] : &kernel->text;
		struct region *region = find(kernel, range);
		int err = 0;

		if (!region)
			region = take(kernel, range, &err);
		if (err)
			return err;
		if (!region)
			continue;
		region->present = true;
		look_at(kernel, kcore, region, range);
	}
	return 0;
}

/* One that went while we read may have given us anything; a new one is forgotten. */
static void mark_gone(struct flowtap_kernel *kernel, const struct flowtap_kernel_range *modules,
		      size_t n)
{
	size_t kept = 0;

	for (size_t i = 0; i < kernel->n; i++) {
		struct region *region = &kernel->regions[i];
		bool there = i == 0 && region->present;

		for (size_t m = 0; m < n && !there; m++)
			there = region->present && is_same(&region->range, &modules[m]);
		region->gone = !there;
		if (!there && region->fresh) {
			kernel->figures.bytes -= size_of(&region->range);
			free(region->bytes);
			free(region->pages);
			continue;
		}
		kernel->regions[kept++] = *region;
	}
	kernel->n = kept;
}

static bool is_fresh(const char *module, const void *argument)
{
	const struct flowtap_kernel *kernel = argument;

	for (size_t i = 0; i < kernel->n; i++)
		if (kernel->regions[i].fresh && !strcmp(kernel->regions[i].range.name, module))
			return true;
	return false;
}

/* Those of modules that came; at the first look all are there already. */
static int read_symbols(struct flowtap_kernel *kernel)
{
	bool any = false;

	for (size_t i = 0; i < kernel->n; i++)
		any |= kernel->regions[i].fresh;
	if (!any || kernel->lines)
		return 0;
	return flowtap_kernel_symbol_lines(is_fresh, kernel, NULL, &kernel->lines,
					   &kernel->lines_size);
}

int flowtap_kernel_look(struct flowtap_kernel *kernel)
{
	struct flowtap_kernel_range *before = NULL, *after = NULL;
	struct flowtap_kcore *kcore = NULL;
	uint64_t begin = clock_now();
	size_t n = 0;
	int err;

	for (size_t i = 0; i < kernel->n; i++)
		kernel->regions[i].present = false;
	flowtap_kernel_modules_state(&kernel->modules);
	err = flowtap_kcore_open(&kcore);
	if (!err)
		err = flowtap_kernel_modules(&before, &n);
	if (!err)
		err = look_at_all(kernel, kcore, before, n);
	flowtap_kcore_close(kcore);
	if (!err)
		err = flowtap_kernel_modules(&after, &n);
	if (!err) {
		mark_gone(kernel, after, n);
		err = read_symbols(kernel);
	}
	free(before);
	free(after);
	if (err)
		return err;
	kernel->time = begin;
	kernel->until = clock_now();
	kernel->figures.looks++;
	return 0;
}

bool flowtap_kernel_moved(struct flowtap_kernel *kernel)
{
	uint64_t state;

	return !flowtap_kernel_modules_state(&state) && state != kernel->modules;
}

/* Writing. */

static int put(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer,
	       const struct region *region, uint64_t offset, uint32_t size)
{
	struct {
		struct flowtap_archive_kernel block;
		char name[FLOWTAP_MODULE_NAME + 8];
	} head = {
		.block = {
			.time = kernel->time,
			.until = kernel->until,
			.start = region->range.start,
			.size = size_of(&region->range),
			.offset = offset,
			.part_size = size,
			.name_size = (uint32_t)strlen(region->range.name),
		},
	};
	size_t head_size = (sizeof(head.block) + head.block.name_size + 8) & ~(size_t)7;

	if (region->gone)
		head.block.flags |= FLOWTAP_KERNEL_GONE;
	if (region->fresh && region->since) {
		head.block.flags |= FLOWTAP_KERNEL_NEW;
		head.block.time = region->since;
	}
	kernel->stored.size = 0;
	kernel->stored.compression = FLOWTAP_COMPRESSION_NONE;
	if (size) {
		int err = flowtap_payload_pack(&kernel->stored, region->bytes + offset, size);

		if (err)
			return err;
	}
	head.block.compression = kernel->stored.compression;
	head.block.stored_size = kernel->stored.size;
	memcpy(head.name, region->range.name, head.block.name_size);
	return flowtap_archive_write(writer, FLOWTAP_ARCHIVE_KERNEL, 0, kernel->time, &head,
				     head_size, kernel->stored.bytes, kernel->stored.size);
}

/* The next pages of the region that are different, as one part: 1; there are none: 0; -errno. */
static int write_pages(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer,
		       struct region *region)
{
	uint64_t size = size_of(&region->range), end;
	size_t pages = pages_of(&region->range), first = kernel->next_page, last;
	int err;

	while (first < pages && !(region->pages[first] & PAGE_DIFFERENT))
		first++;
	if (region->gone || first == pages)
		return 0;
	for (last = first; last < pages && last - first < AT_ONCE / PAGE; last++)
		if (!(region->pages[last] & PAGE_DIFFERENT))
			break;
	end = last * PAGE < size ? last * PAGE : size;
	err = put(kernel, writer, region, first * PAGE, (uint32_t)(end - first * PAGE));
	kernel->next_page = last;
	kernel->parts++;
	return err ? err : 1;
}

/* One that was looked at without a difference says so. */
static int end_region(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer,
		      struct region *region)
{
	int err = kernel->parts ? 0 : put(kernel, writer, region, 0, 0);

	for (size_t i = 0; i < pages_of(&region->range); i++)
		region->pages[i] &= PAGE_HELD;
	region->fresh = false;
	kernel->next++;
	kernel->next_page = 0;
	kernel->parts = 0;
	return err;
}

/* Some whole lines. */
static int write_symbols(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer)
{
	struct flowtap_archive_symbols head = { .time = kernel->time };
	const char *from = kernel->lines + kernel->next_line, *last;
	size_t size = kernel->lines_size - kernel->next_line;
	int err;

	if (size > AT_ONCE) {
		last = memrchr(from, '\n', AT_ONCE);
		size = last ? (size_t)(last + 1 - from) : AT_ONCE;
	}
	head.size = (uint32_t)size;
	err = flowtap_payload_pack(&kernel->stored, from, head.size);
	head.compression = kernel->stored.compression;
	kernel->next_line += size;
	return err ? err : flowtap_archive_write(writer, FLOWTAP_ARCHIVE_SYMBOLS, 0, kernel->time,
						 &head, sizeof(head), kernel->stored.bytes,
						 kernel->stored.size);
}

static void end_look(struct flowtap_kernel *kernel)
{
	size_t kept = 0;

	for (size_t i = 0; i < kernel->n; i++) {
		struct region *region = &kernel->regions[i];

		if (!region->gone) {
			kernel->regions[kept++] = *region;
			continue;
		}
		kernel->figures.bytes -= size_of(&region->range);
		free(region->bytes);
		free(region->pages);
	}
	kernel->n = kept;
	kernel->next = 0;
	free(kernel->lines);
	kernel->lines = NULL;
	kernel->lines_size = 0;
	kernel->next_line = 0;
}

int flowtap_kernel_write(struct flowtap_kernel *kernel, struct flowtap_archive_writer *writer)
{
	int result = 0;

	if (kernel->next_line < kernel->lines_size) {
		result = write_symbols(kernel, writer);
		return result ? result : 1;
	}
	while (kernel->next < kernel->n && !result) {
		struct region *region = &kernel->regions[kernel->next];

		result = write_pages(kernel, writer, region);
		if (!result)
			result = end_region(kernel, writer, region);
	}
	if (!result)
		end_look(kernel);
	return result;
}

void flowtap_kernel_figures(const struct flowtap_kernel *kernel,
			    struct flowtap_kernel_figures *figures)
{
	*figures = kernel->figures;
}
