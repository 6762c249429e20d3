// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Bounds the time of what is analyzed by timestamps, losses and breaks, and asks the map which
 * code it finds throughout that time.
 */
#include "ete/span.h"

#define REMAPS 16		/* of one address within a span; more are not looked into */

/* --- What was lost. --- */

static bool is_missing(unsigned int reason)
{
	return reason == FLOWTAP_GAP_NO_CODE || reason == FLOWTAP_GAP_NO_IMAGE;
}

static void count(const struct ete_span *span, uint64_t *losses, uint64_t *missing)
{
	const struct flowtap_ete_counts *counts = flowtap_ete_counts(span->ete);

	*losses = counts->bad_packets;
	*missing = 0;
	for (unsigned int i = 0; i < FLOWTAP_GAP_REASONS; i++)
		*(is_missing(i) ? missing : losses) += counts->gaps[i];
}

static void look(struct ete_span *span)
{
	count(span, &span->losses, &span->missing);
	span->looked = true;
}

/* What is lost before decoding begins is nothing to it. *bytes: more than code is missing. */
static bool lost(struct ete_span *span, bool *bytes)
{
	uint64_t losses, missing;

	if (!span->looked)
		look(span);
	count(span, &losses, &missing);
	*bytes = losses != span->losses;
	return *bytes || missing != span->missing;
}

void flowtap_ete_span_add_gap(struct ete_span *span)
{
	if (!span->looked)
		look(span);
}

/* --- Where it begins. --- */

void flowtap_ete_span_advance(struct ete_span *span, uint64_t time)
{
	span->time = time;
	if (span->reached)
		span->reached(span->argument, time);
}

void flowtap_ete_span_begin(struct ete_span *span, uint64_t from, uint64_t end, bool begins)
{
	span->floor = span->from = span->early = from;
	span->end = end;
	span->user_end = UINT64_MAX;
	span->exact = span->looked = false;
	span->base = begins ? ETE_SPAN_BEGIN : ETE_SPAN_NONE;
	if (begins)
		span->ticks = 0;
	span->breaks = (struct ete_breaks){ 0 };
}

static uint64_t plus(uint64_t time, uint64_t skew)
{
	return time < UINT64_MAX - skew ? time + skew : UINT64_MAX;
}

static uint64_t clip(const struct ete_span *span, uint64_t time)
{
	return time < span->floor ? span->floor : time > span->end ? span->end : time;
}

void flowtap_ete_span_stamp(struct ete_span *span, const struct flowtap_timestamp *timestamp)
{
	const struct ete_stamp *stamp;
	uint64_t time;

	if (!span->time_of(span->argument, timestamp->ticks, &time))
		return;
	span->from = clip(span, time > span->skew ? time - span->skew : 0);
	span->early = clip(span, plus(time, span->skew));
	flowtap_ete_span_advance(span, span->from);
	span->base = ETE_SPAN_NONE;
	span->exact = false;
	if (!span->ahead)
		return;
	flowtap_ete_ahead_advance(span->ahead, timestamp->ticks);
	stamp = flowtap_ete_ahead_at(span->ahead, timestamp->ticks);
	/* One with a marker is of an earlier moment: breaks may be between. */
	if (stamp && !stamp->marked) {
		span->base = ETE_SPAN_STAMP;
		span->exact = true;
	}
	span->ticks = timestamp->ticks;
	span->breaks.all = span->breaks.calls = 0;
	look(span);
}

void flowtap_ete_span_left(struct ete_span *span, const struct flowtap_exception *exception)
{
	if (exception)
		flowtap_ete_break_exception(&span->breaks, exception->number, exception->address,
					    exception->address);
	else
		flowtap_ete_break_trace_on(&span->breaks);
}

/* --- Where it ends. --- */

struct bound {
	uint64_t until;			/* not later */
	uint64_t late;			/* the timestamp there is not before */
	bool known;			/* so are the breaks up to it */
	struct ete_breaks breaks;
};

/* The first timestamp after what is analyzed now; *marked: one before it may be that as well. */
static const struct ete_stamp *next_stamp(const struct ete_span *span, bool stamped, bool *marked)
{
	const struct ete_stamp *next =
		flowtap_ete_ahead_next(span->ahead, stamped ? &span->ticks : NULL);

	*marked = next && next->marked;
	return *marked ? flowtap_ete_ahead_next(span->ahead, &next->ticks) : next;
}

static struct bound bound_of(struct ete_span *span)
{
	struct bound bound = { .until = span->end, .late = UINT64_MAX };
	const struct ete_stamp *next, *last = NULL;
	bool bytes, any, marked, stamped;
	uint64_t time;

	if (!span->ahead)
		return bound;
	any = lost(span, &bytes);
	if (bytes)
		return bound;
	stamped = span->base == ETE_SPAN_STAMP;
	next = next_stamp(span, stamped || span->ticks, &marked);
	if (!next || !span->time_of(span->argument, next->ticks, &time) || time < span->from ||
	    time > span->end)
		return bound;
	bound.until = clip(span, plus(time, span->skew));
	bound.late = time > span->skew ? time - span->skew : 0;
	if (stamped)
		last = flowtap_ete_ahead_at(span->ahead, span->ticks);
	bound.known = !any && !marked && next->sure &&
		      (last || span->base == ETE_SPAN_BEGIN);
	bound.breaks.all = next->all - (last ? last->all : 0);
	bound.breaks.calls = next->calls - (last ? last->calls : 0);
	return bound;
}

/* --- The code. --- */

static const struct flowtap_code *unsure(struct ete_span *span, uint64_t address)
{
	span->unsure = (struct flowtap_code){
		.start = address,
		.end = address + 1,
		.missing = "it was mapped anew meanwhile, and no timestamp says when",
		.file = UINT32_MAX,
	};
	return &span->unsure;
}

/* The same bytes at the same addresses, as far as both go. */
static bool same(const struct flowtap_code *a, const struct flowtap_code *b)
{
	if (!a->bytes || !b->bytes)
		return false;
	return a->key == b->key ||
	       (a->file != UINT32_MAX && a->file == b->file &&
		a->start - a->file_offset == b->start - b->file_offset);
}

static bool within(const struct flowtap_code *inner, const struct flowtap_code *outer)
{
	return inner->start >= outer->start && inner->end <= outer->end;
}

/* Executed where nothing was mapped before: the trace has come to that, then. */
static void resume(struct ete_span *span, uint64_t time)
{
	if (time > span->time)
		flowtap_ete_span_advance(span, time);
	if (time > span->from) {
		span->from = time;
		span->exact = false;
	}
}

/* *code: what is there all the time from `time` to `until`, or NULL. False: it changes. */
static bool find_all(struct ete_span *span, uint32_t pid, uint64_t time, uint64_t until,
		     uint64_t address, const struct flowtap_code **code)
{
	const struct flowtap_code *found;

	*code = NULL;
	for (int i = 0; i < REMAPS; i++) {
		found = flowtap_address_map_find(span->map, pid, time, address);
		if (!found) {
			time = address >> 63
				       ? UINT64_MAX
				       : flowtap_address_map_next(span->map, pid, time, address);
			if (time > until)
				return true;
			if (!*code)
				resume(span, time);
			continue;
		}
		if (!*code || (same(*code, found) && within(found, *code)))
			*code = found;
		else if (!same(*code, found) || !within(*code, found))
			return false;
		if (found->until > until || (!found->bytes && *code == found))
			return true;
		time = found->until;
	}
	return false;
}

/*
 * On which side of a change it is. Up to the first break after a timestamp a process's code is as
 * it was then, and after the last one before the next timestamp as it will be then; a change with
 * no break at all is a contradiction. Where it has one thread only that one's own calls change its
 * code; else others change it at any time, but an exec is a break in each of them.
 */
static const struct flowtap_code *decide(struct ete_span *span, uint32_t pid, uint64_t address,
					 const struct bound *bound)
{
	bool single = flowtap_address_map_single(span->map, pid, bound->until), stamped, bytes;
	uint64_t total = single ? bound->breaks.calls : bound->breaks.all;
	uint64_t seen = single ? span->breaks.calls : span->breaks.all;
	uint64_t early = span->early, late = bound->late, exec;
	const struct flowtap_code *code;

	if (flowtap_address_map_is_lossy(span->map) || lost(span, &bytes))
		return unsure(span, address);
	if (!single) {
		exec = flowtap_address_map_next_exec(span->map, pid, span->from);
		if (exec > bound->until || exec <= early ||
		    flowtap_address_map_next_exec(span->map, pid, exec) <= bound->until)
			return unsure(span, address);
		early = exec - 1;
		late = exec <= late ? exec : UINT64_MAX;
	}
	stamped = span->base == ETE_SPAN_STAMP && span->exact;
	if (bound->known && seen == total && (total || span->base == ETE_SPAN_BEGIN) &&
	    late <= bound->until && find_all(span, pid, late, bound->until, address, &code))
		return code;
	if (!seen && stamped && (total || !bound->known) &&
	    find_all(span, pid, span->from, early, address, &code))
		return code;
	return unsure(span, address);
}

static const struct flowtap_code *find_user(struct ete_span *span, uint32_t pid, uint64_t address)
{
	struct bound bound = bound_of(span);
	const struct flowtap_code *code;

	if (span->user_end < bound.until) {
		bound.until = span->user_end > span->from ? span->user_end : span->from;
		bound.known = false;
	}
	if (find_all(span, pid, span->from, bound.until, address, &code))
		return code;
	return decide(span, pid, address, &bound);
}

const struct flowtap_code *flowtap_ete_span_find(struct ete_span *span, uint32_t pid, bool user,
						 uint64_t address)
{
	const struct flowtap_code *code;
	uint64_t until;

	flowtap_ete_break_end(&span->breaks, address);
	if (user)
		return find_user(span, pid, address);
	until = bound_of(span).until;
	if (!find_all(span, pid, span->time, until > span->time ? until : span->time, address,
		      &code))
		return unsure(span, address);
	return code;
}
