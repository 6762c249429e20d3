// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * perf.data: from AUX records (what was collected when) and AUXTRACE records (where the bytes are)
 * to ranges. A buffer is a CPU's or, with --per-thread, a thread's; its bytes have offsets that
 * count from when it was made, and both kinds of records name them.
 */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <stdlib.h>

#define PADDING 8
#define FRAME 16	/* of CoreSight */

/* The AUX records or extents of one buffer: [from, until) of a sorted list. */
struct index_range {
	size_t from;
	size_t until;
};

struct joining {
	struct flowtap_perfdata *perfdata;
	struct index_range aux;
	struct index_range extents;
	uint64_t cursor;	/* up to here the buffer's bytes are accounted for */
	uint64_t time;
	uint64_t missing;	/* since the last range */
	uint64_t unnamed;	/* so, in the file */
	uint32_t raw;		/* FLOWTAP_PERFDATA_RAW: its bytes are no frames */
	uint32_t cpu;
	uint32_t tid;
};

/* A buffer's number: NONE as cpu says that it is the thread's. */
static int compare_buffer(uint32_t cpu, uint32_t tid, uint32_t other_cpu, uint32_t other_tid)
{
	if (cpu != other_cpu)
		return cpu < other_cpu ? -1 : 1;
	if (cpu != FLOWTAP_PERFDATA_NONE || tid == other_tid)
		return 0;
	return tid < other_tid ? -1 : 1;
}

static int by_extent(const void *one, const void *other)
{
	const struct perfdata_extent *a = one, *b = other;
	int order = compare_buffer(a->cpu, a->tid, b->cpu, b->tid);

	if (order)
		return order;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->file < b->file ? -1 : a->file > b->file;
}

static int by_buffer(const void *one, const void *other)
{
	const struct perfdata_aux *a = one, *b = other;
	int order = compare_buffer(a->cpu, a->tid, b->cpu, b->tid);

	if (order)
		return order;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static int add_piece(struct joining *joining, const struct perfdata_aux *aux, uint64_t file,
		     uint64_t size, uint32_t flags, bool continues)
{
	struct flowtap_perfdata_range range = {
		.time = joining->time,
		.offset = file,
		.size = size,
		.missing = joining->missing,
		.unnamed = joining->unnamed,
		/* The kernel's drivers do not say it where there are no bytes. */
		.flags = flags | (size ? 0 : joining->raw),
		.cpu = aux->on,
		.tid = joining->tid,
		.ran = aux->tid,
		.continues = continues,
	};

	joining->perfdata->info.aux_missing += joining->missing;
	joining->perfdata->info.aux_unnamed += joining->unnamed;
	joining->missing = 0;
	joining->unnamed = 0;
	return PERFDATA_ADD(&joining->perfdata->ranges, range);
}

/* The first extent of the buffer that ends after offset. */
static size_t extent_at(const struct joining *joining, uint64_t offset)
{
	const struct perfdata_extent *list = joining->perfdata->extents.list;
	size_t low = joining->extents.from, high = joining->extents.until;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].offset + list[middle].size <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Bytes up to there are of no AUX record: nobody knows what those are that are in the file. */
static void skip(struct joining *joining, uint64_t until)
{
	const struct perfdata_extent *list = joining->perfdata->extents.list;
	uint64_t from = joining->cursor, there = 0;

	if (until <= from)
		return;
	for (size_t i = extent_at(joining, from);
	     i < joining->extents.until && list[i].offset < until; i++) {
		uint64_t start = list[i].offset > from ? list[i].offset : from;
		uint64_t stop = list[i].offset + list[i].size;

		there += (stop < until ? stop : until) - start;
	}
	joining->missing += until - from - there;
	joining->unnamed += there;
	joining->cursor = until;
}

/* What the file has of [start, end) can begin within a frame (perf record -SSIZE): the next one. */
static uint64_t next_frame(struct joining *joining, const struct perfdata_aux *aux, uint64_t start,
			   uint64_t at, uint64_t end)
{
	uint64_t within = (at - start) % FRAME, rest = FRAME - within;

	if (at >= end || !within || aux->flags & FLOWTAP_PERFDATA_RAW)
		return at;
	rest = rest < end - at ? rest : end - at;
	joining->missing += rest;
	return at + rest;
}

/*
 * The bytes [start, end) of an AUX record: the parts of them that are in the file. Only the last
 * one has the flags that describe its end. What was there before is not taken twice.
 */
static int join_one(struct joining *joining, const struct perfdata_aux *aux, uint64_t start,
		    uint64_t end)
{
	const struct perfdata_extent *list = joining->perfdata->extents.list;
	uint32_t inner = aux->flags & ~(FLOWTAP_PERFDATA_TRUNCATED | FLOWTAP_PERFDATA_COLLISION);
	bool continues = false;
	uint64_t at;
	int err = 0;

	skip(joining, start);
	at = next_frame(joining, aux, start, joining->cursor, end);
	for (size_t i = extent_at(joining, at); at < end && i < joining->extents.until; i++) {
		uint64_t stop = list[i].offset + list[i].size;

		if (list[i].offset >= end)
			break;
		if (list[i].offset > at) {
			joining->missing += list[i].offset - at;
			at = next_frame(joining, aux, start, list[i].offset, end);
			continues = false;
		}
		stop = stop < end ? stop : end;
		if (stop <= at)
			continue;
		err = add_piece(joining, aux, list[i].file + (at - list[i].offset), stop - at,
				stop == end ? aux->flags : inner, continues);
		if (err)
			return err;
		continues = true;
		at = stop;
	}
	if (at < end || !aux->size) {
		joining->missing += at < end ? end - at : 0;
		err = add_piece(joining, aux, 0, 0, aux->flags, false);
	}
	joining->cursor = end > joining->cursor ? end : joining->cursor;
	return err;
}

/*
 * A snapshot: the head counts on while old bytes are written over. The AUX record's offset is where
 * the bytes end; its size may be more than the buffer held.
 */
static int join_snapshot(struct joining *joining, const struct perfdata_aux *aux)
{
	uint64_t size = aux->size < aux->offset ? aux->size : aux->offset;

	return join_one(joining, aux, aux->offset - size, aux->offset);
}

/* Where the buffer's bytes begin: the first that any record covers. */
static uint64_t first_byte(const struct joining *joining)
{
	const struct flowtap_perfdata *perfdata = joining->perfdata;
	uint64_t first = UINT64_MAX;

	if (joining->extents.from < joining->extents.until)
		first = perfdata->extents.list[joining->extents.from].offset;
	if (joining->aux.from < joining->aux.until) {
		const struct perfdata_aux *aux = &perfdata->aux.list[joining->aux.from];
		bool snapshot = aux->flags & FLOWTAP_PERFDATA_OVERWRITE;

		if (aux->offset < first && (!snapshot || first == UINT64_MAX))
			first = aux->offset;
	}
	return first;
}

static const struct perfdata_extent *last_extent(const struct joining *joining)
{
	return joining->extents.from < joining->extents.until ?
	       &joining->perfdata->extents.list[joining->extents.until - 1] : NULL;
}

/* perf before 5.3 put a snapshot where the head was, at which it ends. */
static bool is_early_snapshot(const struct joining *joining)
{
	const struct perfdata_extent *last = last_extent(joining);
	bool begins = false;

	for (size_t i = joining->aux.from; last && i < joining->aux.until; i++) {
		const struct perfdata_aux *aux = &joining->perfdata->aux.list[i];

		if (!(aux->flags & FLOWTAP_PERFDATA_OVERWRITE))
			return false;
		begins |= aux->offset == last->offset;
		if (last->offset + last->size - aux->offset < PADDING)
			return false;
	}
	return begins;
}

/* All that the buffer held, as of its AUX record. What two of them have is in the later one. */
static int join_early(struct joining *joining)
{
	const struct perfdata_extent *extents = joining->perfdata->extents.list;
	const struct perfdata_aux *aux = joining->perfdata->aux.list;
	size_t at = joining->aux.from;
	int err = 0;

	for (size_t i = joining->extents.from; !err && i < joining->extents.until; i++) {
		while (at + 1 < joining->aux.until && aux[at + 1].offset <= extents[i].offset)
			at++;
		joining->time = aux[at].time > joining->time ? aux[at].time : joining->time;
		err = add_piece(joining, &aux[at], extents[i].file, extents[i].size,
				aux[at].flags & (FLOWTAP_PERFDATA_OVERWRITE | FLOWTAP_PERFDATA_RAW),
				false);
	}
	return err;
}

static int join_aux(struct joining *joining, const struct perfdata_aux *aux)
{
	if (aux->flags & FLOWTAP_PERFDATA_OVERWRITE)
		return join_snapshot(joining, aux);
	if (aux->size <= UINT64_MAX - aux->offset)
		return join_one(joining, aux, aux->offset, aux->offset + aux->size);
	flowtap_perfdata_damaged(joining->perfdata, aux->record,
				 "an AUX record that contradicts itself");
	return 0;
}

/* What those say that have bytes; where there are none of the buffer, those of others. */
static uint32_t raw_of(const struct flowtap_perfdata *perfdata, struct index_range range)
{
	uint32_t flags = 0;

	if (range.from == range.until)
		range = (struct index_range){ 0, perfdata->aux.n };
	for (size_t i = range.from; i < range.until; i++)
		flags |= perfdata->aux.list[i].flags;
	return flags & FLOWTAP_PERFDATA_RAW;
}

static int join_buffer(struct joining *joining)
{
	const struct perfdata_extent *last = last_extent(joining);
	struct perfdata_aux rest = { .on = joining->cpu, .tid = FLOWTAP_PERFDATA_NONE };
	uint64_t end = last ? last->offset + last->size : 0;
	int err = 0;

	if (is_early_snapshot(joining))
		return join_early(joining);
	joining->raw = raw_of(joining->perfdata, joining->aux);
	joining->cursor = first_byte(joining);
	for (size_t i = joining->aux.from; !err && i < joining->aux.until; i++) {
		const struct perfdata_aux *aux = &joining->perfdata->aux.list[i];

		joining->time = aux->time > joining->time ? aux->time : joining->time;
		rest.flags = aux->flags & (FLOWTAP_PERFDATA_OVERWRITE | FLOWTAP_PERFDATA_RAW);
		err = join_aux(joining, aux);
	}
	/* What is not a multiple of 8 is padded. */
	if (!err && end >= PADDING && end - PADDING >= joining->cursor)
		skip(joining, end);
	if (err || (!joining->missing && !joining->unnamed))
		return err;
	return add_piece(joining, &rest, 0, 0, rest.flags, false);
}

/*
 * Whose buffer an AUX record describes. With --per-thread it names the CPU it was collected on, and
 * buffers are threads'; with one buffer in the file there is no question.
 */
static void name_buffers(struct flowtap_perfdata *perfdata)
{
	const struct perfdata_extent *extents = perfdata->extents.list;
	bool threads = false, single = perfdata->extents.n;

	for (size_t i = 0; i < perfdata->extents.n; i++) {
		threads |= extents[i].cpu == FLOWTAP_PERFDATA_NONE;
		single &= extents[i].cpu == extents[0].cpu;
	}
	for (size_t i = 0; i < perfdata->aux.n; i++) {
		struct perfdata_aux *aux = &perfdata->aux.list[i];

		if (threads) {
			aux->cpu = FLOWTAP_PERFDATA_NONE;
		} else if (aux->cpu == FLOWTAP_PERFDATA_NONE && single) {
			aux->cpu = extents[0].cpu;
			aux->on = aux->cpu;
		}
	}
}

/* More than its padding: perf writes no bytes in the midst of others. */
static bool is_within(const struct perfdata_extent *extent, const struct perfdata_extent *last)
{
	return extent->size && last->offset + last->size >= PADDING &&
	       extent->offset + extent->size <= last->offset + last->size - PADDING;
}

/*
 * What is there twice is taken from the one that begins last: perf pads a record's bytes to a
 * multiple of 8, and snapshots overlap.
 */
static void separate(struct flowtap_perfdata *perfdata)
{
	struct perfdata_extent *list = perfdata->extents.list;
	size_t kept = 0;

	for (size_t i = 0; i < perfdata->extents.n; i++) {
		struct perfdata_extent *last = kept ? &list[kept - 1] : NULL;

		if (last && !compare_buffer(last->cpu, last->tid, list[i].cpu, list[i].tid) &&
		    last->offset + last->size > list[i].offset) {
			if (is_within(&list[i], last)) {
				flowtap_perfdata_damaged(perfdata, list[i].file,
							 "trace bytes within those of another "
							 "AUXTRACE record");
				continue;
			}
			last->size = list[i].offset - last->offset;
			kept -= !last->size;
		}
		if (list[i].size)
			list[kept++] = list[i];
	}
	perfdata->extents.n = kept;
}

static int by_time(const void *one, const void *other)
{
	const struct flowtap_perfdata_range *const *a = one, *const *b = other;

	if ((*a)->time != (*b)->time)
		return (*a)->time < (*b)->time ? -1 : 1;
	return *a < *b ? -1 : *a > *b;
}

/* In the order of time; of one time, buffer after buffer, as they were made. */
static int sort_ranges(struct flowtap_perfdata *perfdata)
{
	size_t n = perfdata->ranges.n;
	struct flowtap_perfdata_range **order, *sorted;

	if (!n)
		return 0;
	order = malloc(n * sizeof(order[0]));
	sorted = malloc(flowtap_vector_capacity(n) * sizeof(sorted[0]));
	if (!order || !sorted) {
		free(order);
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		order[i] = &perfdata->ranges.list[i];
	qsort(order, n, sizeof(order[0]), by_time);
	for (size_t i = 0; i < n; i++)
		sorted[i] = *order[i];
	free(order);
	free(perfdata->ranges.list);
	perfdata->ranges.list = sorted;
	return 0;
}

static int join_all(struct flowtap_perfdata *perfdata)
{
	struct joining joining = { .perfdata = perfdata };
	const struct perfdata_extent *extents = perfdata->extents.list;
	const struct perfdata_aux *aux = perfdata->aux.list;
	int err = 0;

	while (!err && (joining.aux.until < perfdata->aux.n ||
			joining.extents.until < perfdata->extents.n)) {
		size_t a = joining.aux.until, e = joining.extents.until;
		bool first = e == perfdata->extents.n ||
			     (a < perfdata->aux.n &&
			      compare_buffer(aux[a].cpu, aux[a].tid, extents[e].cpu,
					     extents[e].tid) < 0);

		joining.cpu = first ? aux[a].cpu : extents[e].cpu;
		joining.tid = first ? aux[a].tid : extents[e].tid;
		while (a < perfdata->aux.n &&
		       !compare_buffer(aux[a].cpu, aux[a].tid, joining.cpu, joining.tid))
			a++;
		while (e < perfdata->extents.n &&
		       !compare_buffer(extents[e].cpu, extents[e].tid, joining.cpu, joining.tid))
			e++;
		joining.aux = (struct index_range) { joining.aux.until, a };
		joining.extents = (struct index_range) { joining.extents.until, e };
		joining.tid = joining.cpu == FLOWTAP_PERFDATA_NONE ? joining.tid :
								     FLOWTAP_PERFDATA_NONE;
		joining.time = 0;
		joining.missing = 0;
		err = join_buffer(&joining);
	}
	return err;
}

int flowtap_perfdata_join(struct flowtap_perfdata *perfdata)
{
	int err;

	name_buffers(perfdata);
	if (perfdata->extents.n)
		qsort(perfdata->extents.list, perfdata->extents.n,
		      sizeof(perfdata->extents.list[0]), by_extent);
	separate(perfdata);
	if (perfdata->aux.n)
		qsort(perfdata->aux.list, perfdata->aux.n, sizeof(perfdata->aux.list[0]),
		      by_buffer);
	err = join_all(perfdata);
	return err ? err : sort_ranges(perfdata);
}
