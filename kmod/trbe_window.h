/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the trace buffer: which part of the AUX area the hardware may fill next, and
 * what its registers say when it has stopped. Nothing here touches hardware: the host's unit tests
 * compile it as well. Offsets are bytes from the area's start.
 */
#ifndef FLOWTAP_TRBE_WINDOW_H
#define FLOWTAP_TRBE_WINDOW_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define TRBE_LEAST		64	/* bytes that are worth an enabling of the buffer */
#define TRBE_SKIP		256	/* of TRBE_OVERWRITES_BASE */
#define TRBE_PAST		64	/* of TRBE_PASSES_LIMIT */
#define TRBE_TRIGGER_MAX	0xffffffffULL	/* TRBTRG_EL1.TRG */

/* Errata that change the arithmetic. */
#define TRBE_OVERWRITES_BASE	(1U << 0)	/* 2119858, 2139208: fill mode overwrites the base */
#define TRBE_PASSES_LIMIT	(1U << 1)	/* 2253138, 2224489: 64 bytes past the limit */
/* Those that change the sequences. */
#define TRBE_DRAINS_TWICE	(1U << 2)	/* 2064142: a second drain after disabling */
#define TRBE_ENABLES_LATE	(1U << 3)	/* 2038923: another ISB after enabling */
/* That leaves nothing to be done. */
#define TRBE_CORRUPTS		(1U << 4)	/* 1902691 */

struct trbe_area {
	u64 size;		/* a power of two, at least two pages */
	u64 head;		/* counts for ever */
	u64 tail;		/* the reader's: may be anything */
	u64 watermark;		/* bytes after which the reader is to have them */
	u32 page;		/* the granule's size */
	u32 align;		/* of the write pointer: 1 to 2048 */
	u32 errata;
	bool by_limit;		/* the watermark is the limit, not the trigger counter */
	bool overwrite;		/* the oldest bytes give way */
};

struct trbe_window {
	u64 pad;		/* from the head to start: to be filled with Ignore packets */
	u64 base;		/* page aligned, as limit is */
	u64 start;		/* of the write pointer */
	u64 limit;
	u64 trigger;		/* bytes until the interrupt, 0: none before it is full */
	bool circular;
	bool overwrites;	/* TRBE_OVERWRITES_BASE */
};

/*
 * The next window. False: no room, or a tail ahead of the head or more than the area behind it.
 * All of it is free: it never holds a byte between tail and head, nor do the errata's stray writes
 * hit one (past the area's end there are spare pages).
 */
bool trbe_window(const struct trbe_area *area, struct trbe_window *window);
/*
 * Where nothing is kept: the page behind the area, round and round, so that pointer and WRAP tell
 * whether anything came. TRBE_PASSES_LIMIT wants another page behind it.
 */
void trbe_spare(const struct trbe_area *area, struct trbe_window *window);

enum trbe_end {
	TRBE_GOING,		/* still collecting: whatever came came to the pointer */
	TRBE_WATERMARK,		/* the same, and the trigger counter has reached 0 */
	TRBE_FULL,		/* up to the limit; what came then is lost */
	TRBE_FAULT,		/* stopped by a fault: what came before is good */
	TRBE_ABORT,		/* writes were aborted: nobody knows which */
	TRBE_WRONG,		/* the pointer is not where it can be */
};

/*
 * What TRBSR_EL1 and TRBPTR_EL1 (as an offset) say after the drain. *bytes: how many were stored
 * from start on; in a circular buffer more than once round at most `limit - base` of them are
 * there, and *wrapped.
 */
enum trbe_end trbe_outcome(const struct trbe_window *window, u64 status, u64 pointer, u64 *bytes,
			   bool *wrapped);

#endif /* FLOWTAP_TRBE_WINDOW_H */
