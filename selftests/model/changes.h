/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Small changes to a log, to a trace or to what was collected of it, each of which is a difference.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_CHANGES_H
#define FLOWTAP_SELFTESTS_MODEL_CHANGES_H

#include "align.h"
#include "ete/rng.h"
#include "history.h"

#define CHANGES	29

struct simulation;

/* What is changed: a log in memory, and what was collected. */
struct subject {
	struct simulation *sim;
	struct history history;
	uint8_t *covered;
	struct align_piece *pieces;
	size_t npieces;
	struct rng rng;
	bool lossy;		/* something is lost in it, and decoding begins again after it */
	uint64_t skipped;	/* instructions that were lost */
};

/* One that a change may be made to: the code and what was collected are `of`'s. */
struct subject subject_borrow(const struct subject *of);
void subject_give_back(struct subject *subject);

struct change {
	const char *name;
	/* False: there is nothing in the subject to change so. */
	bool (*make)(struct subject *subject);
	bool whole;	/* before a loss nobody could say: not for lossy simulations */
	bool stored;	/* it is in what was stored as well: subject_take_stored */
};

extern const struct change changes[CHANGES];

/* What was stored becomes what was collected, byte for byte: there are no losses. To be freed. */
struct history_stored *subject_take_stored(struct subject *subject);
/* Puts back the byte that the last change made other, if it made one. */
void change_undo(void);

#endif
