/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The tails of a block's lines, made once and kept with it. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_LINES_RENDER_H
#define FLOWTAP_LIBUAPI_FORMATS_LINES_RENDER_H

#include "formats/lines/internal.h"

/* Blocks of more bytes are written piece by piece and nothing is kept of them. */
#define LINES_RENDER_MAX	(32U << 10)

/*
 * flowtap_render.mark beside lines.print: what the last instruction does is not all known with it.
 */
#define LINES_MARK_APART	(1U << 31)

struct lines_render {
	uint64_t limit;		/* targets are below this; 0: any */
	uint32_t size;		/* of all this */
	uint32_t capacity;	/* that all lines of the block may take, heads and suffix too */
	uint32_t suffix;	/* offset in text of what follows a taken last line: */
	uint16_t link;		/* size of the line of the link register, */
	uint16_t branch;	/* and of that of the branch after it (columns) */
	uint16_t failed;	/* where CCFAIL is in the last tail; 0: nowhere */
	bool fails;		/* if it is not taken, its condition failed */
	uint8_t text[];		/* for each instruction the size of its tail, 2 bytes, and the tail */
};

/*
 * The block's rendering for these lines, made if it is not there or is of another context. 0 and
 * *render; -EINVAL: the block is not what it claims to be; -ENOMEM.
 */
int flowtap_lines_render(struct lines *lines, const struct flowtap_block *block,
			 const struct lines_render **render);
/*
 * The same of a part of a block that was checked, for the caller to free. it: ITSTATE before it,
 * and then after it.
 */
int flowtap_lines_render_part(const struct lines *lines, const struct flowtap_block *part,
			      uint8_t *it, struct lines_render **render);

/* Copies one tail with its size before it. */
static inline uint8_t *lines_tail(uint8_t *to, const uint8_t **from)
{
	const uint8_t *tail = *from + 2;
	uint16_t size;

	memcpy(&size, *from, sizeof(size));
	memcpy(to, tail, 64);
	for (uint32_t at = 64; __builtin_expect(at < size, 1); at += 64)
		memcpy(to + at, tail + at, 64);
	*from = tail + size;
	return to + size;
}

#endif /* FLOWTAP_LIBUAPI_FORMATS_LINES_RENDER_H */
