/* SPDX-License-Identifier: GPL-2.0-only */
/* What CTR must have recorded of a drain's steps (Smctr 6.1, 6.2), worked out from them alone. */
#ifndef TRUTH_TRANSFERS_H
#define TRUTH_TRANSFERS_H

#include "steps.h"

struct transfer {
	uint64_t source;
	uint64_t target;	/* 0: a trap out of the recorded mode */
	size_t step;		/* the instruction or the trap */
	uint8_t type;
};

struct transfers {
	struct transfer *list;
	size_t n;
	size_t room;
};

/*
 * Fills transfers (zero at first, reused from call to call) with all of the drain's, the oldest
 * first. 0; -ENOMEM; -EBADMSG: the steps contradict themselves at *bad, so the log is wrong.
 */
int transfers_make(struct transfers *transfers, const struct drain *drain, size_t *bad);
void transfers_free(struct transfers *transfers);

#endif /* TRUTH_TRANSFERS_H */
