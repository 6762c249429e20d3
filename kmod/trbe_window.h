/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of the trace buffer: which part of the AUX area the hardware may fill next, and
 * what its registers say when it has stopped. Nothing here touches hardware: the host's unit tests
 * compile it as well. Offsets are bytes from the area's start.
 */
#ifndef FLOWTAP_KMOD_TRBE_WINDOW_H
#define FLOWTAP_KMOD_TRBE_WINDOW_H

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
#define TRBE_OVERWRITES_BASE	(1U << 0)	/* 2119858, 2139208: full, it goes on at the base */
#define TRBE_PASSES_LIMIT	(1U << 1)	/* 2253138, 2224489: 64 bytes past the limit */
/* Those that change the sequences. */
#define TRBE_DRAINS_TWICE	(1U << 2)	/* 2064142: a second drain after disabling */
#define TRBE_ENABLES_LATE	(1U << 3)	/* 2038923: another ISB after enabling */
/* That leaves nothing to be done. */
#define TRBE_CORRUPTS		(1U << 4)	/* 1902691 */

/**
 * struct trbe_area - the AUX area, and how this CPU's buffer may store in it
 */
struct trbe_area {
	/** @size: a power of two, at least two pages. */
	u64 size;
	/** @head: counts for ever. */
	u64 head;
	/** @tail: the reader's: may be anything. */
	u64 tail;
	/** @watermark: bytes after which the reader is to have them. */
	u64 watermark;
	/** @page: the granule's size. */
	u32 page;
	/** @align: of the write pointer: 1 to 2048. */
	u32 align;
	/** @errata: TRBE_. */
	u32 errata;
	/** @by_limit: the watermark is the limit, not the trigger counter. */
	bool by_limit;
	/** @overwrite: the oldest bytes give way. */
	bool overwrite;
};

/**
 * struct trbe_window - the part of the area that the hardware may fill
 */
struct trbe_window {
	/** @pad: from the head to @start: to be filled with Ignore packets. */
	u64 pad;
	/** @base: page aligned, as @limit is. */
	u64 base;
	/** @start: of the write pointer. */
	u64 start;
	/** @limit: where the hardware stops, or goes round. */
	u64 limit;
	/** @trigger: bytes until the interrupt, 0: none before it is full. */
	u64 trigger;
	/** @circular: at the limit it goes on at the base. */
	bool circular;
	/** @overwrites: TRBE_OVERWRITES_BASE. */
	bool overwrites;
};

/**
 * trbe_window() - choose the next window
 * @area: the area.
 * @window: set in any case.
 *
 * All of the window is free: it never holds a byte between tail and head, nor do the errata's stray
 * writes hit one (past the area's end there are spare pages).
 *
 * Context: any.
 * Return: false: no space, or a tail ahead of the head or by more than the area behind it.
 */
bool trbe_window(const struct trbe_area *area, struct trbe_window *window);

/**
 * trbe_spare() - choose the window where nothing is kept
 * @area: the area.
 * @window: set to the page after the area, round and round, so that pointer and WRAP show whether
 *	anything came. TRBE_PASSES_LIMIT wants another page after it.
 *
 * Context: any.
 */
void trbe_spare(const struct trbe_area *area, struct trbe_window *window);

/**
 * enum trbe_end - what a window has come to
 * @TRBE_GOING: still collecting: whatever came came to the pointer.
 * @TRBE_WATERMARK: the same, and the trigger counter has reached 0.
 * @TRBE_FULL: up to the limit; what came then is lost.
 * @TRBE_FAULT: stopped by a fault: what came before is good.
 * @TRBE_ABORT: writes were aborted: nobody knows which.
 * @TRBE_WRONG: the pointer is not where it can be.
 */
enum trbe_end {
	TRBE_GOING,
	TRBE_WATERMARK,
	TRBE_FULL,
	TRBE_FAULT,
	TRBE_ABORT,
	TRBE_WRONG,
};

/**
 * trbe_outcome() - what the registers say after the drain
 * @window: as it was given to the hardware.
 * @status: TRBSR_EL1.
 * @pointer: TRBPTR_EL1, as an offset.
 * @bytes: set to how many were stored from start on.
 * @wrapped: set: a circular buffer went round: at most `limit - base` of @bytes are there.
 *
 * Context: any.
 * Return: what the window has come to.
 */
enum trbe_end trbe_outcome(const struct trbe_window *window, u64 status, u64 pointer, u64 *bytes,
			   bool *wrapped);

#endif /* FLOWTAP_KMOD_TRBE_WINDOW_H */
