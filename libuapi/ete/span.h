/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The span of time in which what is analyzed now was executed, and which code was there in it: not
 * before the last timestamp, and not after the next one, which a look ahead finds. Where something
 * was mapped anew within the span, the breaks in the trace may say on which side of it an
 * instruction is; else there is none.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_SPAN_H
#define FLOWTAP_LIBUAPI_ETE_SPAN_H

#include <flowtap/ete.h>
#include <flowtap/address_map.h>

#include "ete/ahead.h"

/* Since when breaks are counted by the decoder as they are by the look ahead. */
enum ete_span_base {
	ETE_SPAN_NONE,		/* nobody knows what was before */
	ETE_SPAN_BEGIN,		/* the begin of the trace */
	ETE_SPAN_STAMP,		/* the last timestamp */
};

struct ete_span {
	/* Set once; the functions may be NULL but for time_of. */
	struct flowtap_address_map *map;
	const struct flowtap_ete *ete;
	uint64_t skew;			/* ns: how exactly time_of is */
	bool (*time_of)(void *argument, uint64_t ticks, uint64_t *time);
	void (*reached)(void *argument, uint64_t time);
	void *argument;
	/* Of the range of trace. */
	struct ete_ahead *ahead;	/* NULL: no look ahead, its timestamps bound nothing */
	uint64_t floor;			/* nothing of it is before */
	uint64_t end;			/* nor after */
	uint64_t user_end;		/* no user mode is later */
	/* What is analyzed now. */
	uint64_t time;			/* as far as the flow has come: a guess before a timestamp */
	uint64_t from;			/* not before */
	uint64_t early;			/* the timestamp was not later */
	uint64_t ticks;			/* of it */
	bool exact;			/* `from` is of that timestamp */
	enum ete_span_base base;
	struct ete_breaks breaks;	/* since then */
	bool looked;			/* the decoder's losses are as they were then */
	uint64_t losses, missing;
	struct flowtap_code unsure;
};

/* A range from `from` to `end` at the latest; begins: nothing of the trace was before. */
void flowtap_ete_span_begin(struct ete_span *span, uint64_t from, uint64_t end, bool begins);
/* As far as is known the flow has come to this time. */
void flowtap_ete_span_advance(struct ete_span *span, uint64_t time);
/* ete's `time` and `left`. */
void flowtap_ete_span_stamp(struct ete_span *span, const struct flowtap_timestamp *timestamp);
void flowtap_ete_span_left(struct ete_span *span, const struct flowtap_exception *exception);
/* Bytes are lost here; what was lost before the first are is nothing to it. */
void flowtap_ete_span_add_gap(struct ete_span *span);
/*
 * ete's `find` in the space of `pid`, or of the kernel. What was mapped anew in a way that nothing
 * decides is code without bytes.
 */
const struct flowtap_code *flowtap_ete_span_find(struct ete_span *span, uint32_t pid, bool user,
						 uint64_t address);

#endif /* FLOWTAP_LIBUAPI_ETE_SPAN_H */
