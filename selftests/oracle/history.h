/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All transfers that a task, or a hart, made, in order: what kind each was, not where, so that it
 * can be said whether one that should have been recorded lies between two others.
 */
#ifndef FLOWTAP_SELFTESTS_ORACLE_HISTORY_H
#define FLOWTAP_SELFTESTS_ORACLE_HISTORY_H

#include <stddef.h>

#include "hardware.h"

/* A place where recording was begun anew: nothing is known of what lies before and after. */
#define HISTORY_MARK 0

struct history {
	uint8_t *list;
	uint64_t n;
	size_t capacity;
};

/* optional: it may be recorded or not (a trap that froze recording). 0; -ENOMEM. */
int history_add(struct history *history, const struct transfer *transfer, bool optional);
/* Unless a mark is the last thing there. */
int history_mark(struct history *history);
void history_free(struct history *history);

/*
 * The first one of [from, to) that control would have had recorded, `to` if there is none; user:
 * kernel transfers do not count. With marks it ends at the first one.
 */
uint64_t history_find(const struct history *history, uint64_t from, uint64_t to, uint64_t control,
		      bool user, bool marks);
/* The last mark before `at`; 0 if there is none. */
uint64_t history_marked(const struct history *history, uint64_t at);

#endif /* FLOWTAP_SELFTESTS_ORACLE_HISTORY_H */
