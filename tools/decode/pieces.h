/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long the pieces of a flow are that have no gap in them. The memory does not depend on how many
 * there are.
 */
#ifndef PIECES_H
#define PIECES_H

#include <stdint.h>

struct pieces {
	uint64_t n;			/* those with an instruction */
	uint64_t longest;		/* in instructions */
	uint64_t current;		/* of the current one; the caller adds to it */
	uint64_t *counts;		/* by length, in steps; NULL: none yet, or no memory */
};

/* A gap, or the end: the current one is whole. */
void pieces_end(struct pieces *pieces);
/*
 * Half of them are this long or shorter; from 1,024 on it may be up to 0.2 % too small. 0: there are
 * none, or there was no memory.
 */
uint64_t pieces_median(const struct pieces *pieces);
void pieces_free(struct pieces *pieces);

#endif /* PIECES_H */
