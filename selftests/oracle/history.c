// SPDX-License-Identifier: GPL-2.0-only
/*
 * A growing array of one byte for each transfer, searched for a transfer that should have been
 * recorded.
 */
#include "history.h"

#include <errno.h>
#include <stdlib.h>

/* Type in bits 3:0; types begin with 1, so that no transfer is a mark. */
#define FROM_S 0x10
#define TO_S 0x20
#define TO_M 0x40
#define OPTIONAL 0x80

static int add(struct history *history, uint8_t what)
{
	if (history->n == history->capacity) {
		size_t capacity = history->capacity ? 2 * history->capacity : 4096;
		uint8_t *more = realloc(history->list, capacity);

		if (!more)
			return -ENOMEM;
		history->list = more;
		history->capacity = capacity;
	}
	history->list[history->n++] = what;
	return 0;
}

int history_add(struct history *history, const struct transfer *transfer, bool optional)
{
	return add(history, transfer->type | (transfer->from == PRIVILEGE_S ? FROM_S : 0) |
		   (transfer->to == PRIVILEGE_S ? TO_S : 0) |
		   (transfer->to == PRIVILEGE_M ? TO_M : 0) | (optional ? OPTIONAL : 0));
}

int history_mark(struct history *history)
{
	if (history->n && history->list[history->n - 1] == HISTORY_MARK)
		return 0;
	return add(history, HISTORY_MARK);
}

void history_free(struct history *history)
{
	free(history->list);
}

static bool recorded(uint8_t what, uint64_t control)
{
	struct transfer transfer = {
		.type = what & 15,
		.from = what & FROM_S ? PRIVILEGE_S : PRIVILEGE_U,
		.to = what & TO_S ? PRIVILEGE_S : what & TO_M ? PRIVILEGE_M : PRIVILEGE_U,
	};

	return ctr_qualifies(control, &transfer);
}

uint64_t history_find(const struct history *history, uint64_t from, uint64_t to, uint64_t control,
		      bool user, bool marks)
{
	for (; from < to; from++) {
		uint8_t what = history->list[from];

		if (what == HISTORY_MARK) {
			if (marks)
				return to;
			continue;
		}
		if (what & OPTIONAL || (user && what & (FROM_S)))
			continue;
		if (recorded(what, control))
			return from;
	}
	return to;
}

uint64_t history_marked(const struct history *history, uint64_t at)
{
	while (at && history->list[at - 1] != HISTORY_MARK)
		at--;
	return at;
}
