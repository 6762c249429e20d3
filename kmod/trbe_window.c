// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses base, write pointer and limit within the free part of the AUX area, and interprets
 * TRBSR_EL1 and the write pointer afterwards.
 */
#include "trbe_window.h"

/* TRBSR_EL1 (DDI 0601). */
#define SR_EC(status)	((status) >> 26 & 0x3f)
#define SR_IRQ		(1U << 22)
#define SR_TRG		(1U << 21)
#define SR_WRAP		(1U << 20)
#define SR_EA		(1U << 18)
#define SR_S		(1U << 17)
#define SR_BSC(status)	((status) & 0x3f)

#define BSC_FILLED	1

static u64 least(u64 a, u64 b)
{
	return a < b ? a : b;
}

static u64 most(u64 a, u64 b)
{
	return a > b ? a : b;
}

/* Less is not worth it. */
static u64 enough(const struct trbe_area *area)
{
	return most(area->align, TRBE_LEAST);
}

static u64 down(u64 value, u64 to)
{
	return value & ~(to - 1);
}

static u64 up(u64 value, u64 to)
{
	return down(value + to - 1, to);
}

/*
 * From `at`, with `space` bytes free from there on, to where it must end. stray: after them writes
 * hurt nobody.
 */
static void set_window(const struct trbe_area *area, u64 at, u64 space, bool stray,
		       struct trbe_window *window)
{
	u64 end = at + space;

	window->start = up(at, area->align);
	window->base = down(window->start, area->page);
	/* Full, it goes on at the base for up to 256 bytes: nothing may be there. */
	if (area->errata & TRBE_OVERWRITES_BASE) {
		window->base = up(at, area->page);
		window->start = window->base + up(TRBE_SKIP, area->align);
	}
	if (end >= area->size) {
		window->limit = area->size;
	} else {
		window->limit = down(end, area->page);
		/* The reader's bytes may be after the limit. */
		if (area->errata & TRBE_PASSES_LIMIT && !stray && end - window->limit < TRBE_PAST)
			window->limit -= least(window->limit, area->page);
	}
	if (area->by_limit && !area->overwrite)
		window->limit = least(window->limit,
				      up(window->start + most(area->watermark, enough(area)),
					 area->page));
}

static u64 length(const struct trbe_window *window)
{
	return window->limit > window->start ? window->limit - window->start : 0;
}

bool trbe_window(const struct trbe_area *area, struct trbe_window *window)
{
	const u64 at = area->head & (area->size - 1);
	const u64 used = area->overwrite ? 0 : area->head - area->tail;
	struct trbe_window again = { 0 };
	u64 little;

	*window = (struct trbe_window){ 0 };
	/* Where bytes get lost as it goes round, it stops at the end, and the loss has a record. */
	if (area->overwrite && !(area->errata & TRBE_PASSES_LIMIT)) {
		window->circular = true;
		window->limit = area->size;
		window->start = up(at, area->align) & (area->size - 1);
		window->pad = up(at, area->align) - at;
		return true;
	}
	if (used > area->size)
		return false;
	set_window(area, at, area->size - used, false, window);
	window->pad = window->start - at;
	/* Little is left at the area's end: from the beginning, if there is more. */
	little = least(area->page, area->watermark / 4);
	if (at > used && length(window) < most(little, enough(area))) {
		/* What is skipped is filled afterwards. */
		set_window(area, 0, area->overwrite ? area->size : at - used, !used, &again);
		if (length(&again) > length(window)) {
			*window = again;
			window->pad = area->size - at + again.start;
		}
	}
	window->overwrites = area->errata & TRBE_OVERWRITES_BASE;
	if (length(window) < enough(area))
		return false;
	/*
	 * As much again is left for what comes until the interrupt is served. Where the reader
	 * leaves less than a page the only interrupt is that it is full: his tail makes no storm.
	 */
	if (!area->by_limit && !area->overwrite &&
	    (length(window) >= area->page || window->limit == area->size))
		window->trigger =
			least(down(least(most(area->watermark, area->page), length(window) / 2),
				   area->align),
			      down(TRBE_TRIGGER_MAX, area->align));
	return true;
}

void trbe_spare(const struct trbe_area *area, struct trbe_window *window)
{
	*window = (struct trbe_window){
		.base = area->size,
		.start = area->size,
		.limit = area->size + area->page,
		.circular = true,
	};
}

static bool may_be_base(const struct trbe_window *window, u64 pointer)
{
	return pointer >= window->base &&
	       pointer - window->base <= (window->overwrites ? TRBE_SKIP : 0);
}

enum trbe_end trbe_outcome(const struct trbe_window *window, u64 status, u64 pointer, u64 *bytes,
			   bool *wrapped)
{
	const bool round = status & SR_WRAP;

	*bytes = 0;
	*wrapped = false;
	if (status & SR_EA)
		return TRBE_ABORT;
	if (round && !window->circular) {
		if (!may_be_base(window, pointer))
			return TRBE_WRONG;
		*bytes = window->limit - window->start;
	} else if (round) {
		if (pointer < window->base || pointer >= window->limit)
			return TRBE_WRONG;
		*bytes = window->limit - window->start + pointer - window->base;
		*wrapped = true;
	} else {
		if (pointer < window->start || pointer > window->limit)
			return TRBE_WRONG;
		*bytes = pointer - window->start;
	}
	if (SR_EC(status))
		return TRBE_FAULT;
	if (status & SR_S)
		return round && SR_BSC(status) == BSC_FILLED ? TRBE_FULL : TRBE_FAULT;
	if (round && !window->circular)
		return TRBE_FULL;
	if (status & SR_IRQ && status & SR_TRG && window->trigger)
		return TRBE_WATERMARK;
	return TRBE_GOING;
}
