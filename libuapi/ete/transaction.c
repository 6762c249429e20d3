// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Transactions (K10.5.4): what was committed of one waits until the transaction is.
 *
 * K10.5.4.2.1 begins one when its element is decoded, though P0 elements before it may still be
 * speculative and belong to no transaction; here it begins when the element's turn comes, as the
 * examples of K10.5.8.4 mean it.
 */
#include <errno.h>
#include <stdlib.h>

#include "ete/internal.h"

#define FIRST_CAPACITY 256

static int emit_transaction(struct flowtap_ete *ete, enum flowtap_transaction what)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_TRANSACTION,
		.transaction = what,
	};

	return ete_emit(ete, &element);
}

int flowtap_ete_transaction_begin(struct flowtap_ete *ete)
{
	if (ete->transaction.on)
		return 0;
	ete->transaction.on = true;
	ete->transaction.too_long = false;
	ete->transaction.n = 0;
	ete->transaction.start = flowtap_ete_save_position(&ete->position);
	ete->transaction.returns = ete->returns;
	/* They may be freed meanwhile. */
	flowtap_ete_returns_invalidate_blocks(&ete->transaction.returns);
	return emit_transaction(ete, FLOWTAP_TRANSACTION_START);
}

/* What follows is after it here, and then in the queue. */
static int analyze_at(struct flowtap_ete *ete, size_t i, size_t n)
{
	struct ete_follow follow = { 0 };

	if (ete_asks_follower(&ete->transaction.list[i]))
		follow = flowtap_ete_follow(ete, &ete->transaction.list[i + 1], n - i - 1,
					    ETE_FOLLOW_END);
	return flowtap_ete_analyze(ete, &ete->transaction.list[i], &follow);
}

static int commit_transaction(struct flowtap_ete *ete)
{
	size_t n = ete->transaction.n;
	int status = 0;

	if (!ete->transaction.on)
		return 0;
	for (size_t i = 0; !status && i < n; i++)
		status = analyze_at(ete, i, n);
	if (status)
		return status;
	ete->transaction.on = false;
	ete->transaction.n = 0;
	return emit_transaction(ete, FLOWTAP_TRANSACTION_COMMIT);
}

/*
 * RXZBFV, RKPKFL: cycle counts and events stay, as what table K10-2 keeps does. The PE is where the
 * transaction began.
 */
int flowtap_ete_transaction_fail(struct flowtap_ete *ete)
{
	const struct ete_follow follow = { 0 };
	size_t n = ete->transaction.n;
	int status = 0;

	if (!ete->transaction.on)
		return 0;
	for (size_t i = 0; !status && i < n; i++) {
		ete->counts.failed += ete->transaction.list[i].count;
		if (flowtap_ete_survives_cancel(&ete->transaction.list[i]))
			status = flowtap_ete_analyze(ete, &ete->transaction.list[i], &follow);
	}
	if (status)
		return status;
	flowtap_ete_restore_position(&ete->position, &ete->transaction.start);
	/* Calls and returns of what was analyzed and failed are undone as well. */
	if (ete->options.keep_failed_transactions)
		ete->returns = ete->transaction.returns;
	ete->transaction.on = false;
	ete->transaction.n = 0;
	return emit_transaction(ete, FLOWTAP_TRANSACTION_FAIL);
}

void flowtap_ete_transaction_drop(struct flowtap_ete *ete)
{
	for (size_t i = 0; i < ete->transaction.n; i++)
		ete->counts.failed += ete->transaction.list[i].count;
	ete->transaction.on = false;
	ete->transaction.decoded = false;
	ete->transaction.n = 0;
}

void flowtap_ete_transaction_free(struct ete_transaction *transaction)
{
	free(transaction->list);
}

static int grow(struct flowtap_ete *ete)
{
	size_t capacity = ete->transaction.capacity ? 2 * ete->transaction.capacity :
						      FIRST_CAPACITY;
	struct ete_entry *list;

	if (capacity > ete->options.transaction_capacity)
		capacity = ete->options.transaction_capacity;
	list = realloc(ete->transaction.list, capacity * sizeof(*list));
	if (!list)
		return -ENOMEM;
	ete->transaction.list = list;
	ete->transaction.capacity = capacity;
	return 0;
}

static int add_to_transaction(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	int status = 0;

	if (ete->transaction.too_long)
		return flowtap_ete_survives_cancel(entry) ?
			       flowtap_ete_analyze(ete, entry, NULL) : 0;
	if (ete->transaction.n == ete->options.transaction_capacity) {
		ete->transaction.too_long = true;
		ete->transaction.n = 0;
		return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_UNRESOLVED, 0,
					    "a transaction of more than %u elements",
					    ete->options.transaction_capacity);
	}
	if (ete->transaction.n == ete->transaction.capacity)
		status = grow(ete);
	if (!status)
		ete->transaction.list[ete->transaction.n++] = *entry;
	return status;
}

int flowtap_ete_process_committed(struct flowtap_ete *ete, const struct ete_entry *entry,
				  enum ete_follow_kind rest)
{
	struct ete_follow follow = { 0 };

	switch (entry->kind) {
	case ETE_NONE:		/* gone */
		return 0;
	case ETE_TRANSACTION_START:
		return flowtap_ete_transaction_begin(ete);
	case ETE_TRANSACTION_COMMIT:
		return commit_transaction(ete);
	case ETE_TRANSACTION_FAIL:
		return flowtap_ete_transaction_fail(ete);
	default:
		break;
	}
	if (ete->transaction.on && !ete->options.keep_failed_transactions)
		return add_to_transaction(ete, entry);
	if (rest == ETE_FOLLOW_P0)
		follow.kind = ETE_FOLLOW_P0;
	else if (ete_asks_follower(entry))
		follow = flowtap_ete_follow(ete, NULL, 0, rest);
	return flowtap_ete_analyze(ete, entry, &follow);
}
