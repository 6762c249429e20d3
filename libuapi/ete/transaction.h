/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Transactions (K10.5.4): the elements of one wait, committed or not, until the transaction is.
 *
 * The fields are for these functions and transaction.c only. Functions return 0; what the sink
 * returned below 0; -ENOMEM.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_TRANSACTION_H
#define FLOWTAP_LIBUAPI_ETE_TRANSACTION_H

#include "ete/entry.h"

struct flowtap_ete;

struct ete_transaction {
	bool on;		/* its start has been resolved, its end has not */
	bool decoded;		/* on as far as packets go, resolved or not */
	bool too_long;		/* it had more elements than wait; a gap said so */
	struct ete_entry *list;	/* what waits */
	size_t n;
	size_t capacity;
	struct ete_saved_position start; /* where it began */
	struct ete_return_stack returns; /* of then, without its blocks */
};

/* Whether the element that is resolved next is in a transaction. */
static inline bool ete_in_transaction(const struct ete_transaction *transaction)
{
	return transaction->on;
}

/* Whether elements wait for the transaction's end. */
static inline bool ete_transaction_waits(const struct ete_transaction *transaction)
{
	return transaction->on && transaction->n;
}

/* Whether the packet that comes next is in a transaction, by those before it. */
static inline bool ete_decoded_in_transaction(const struct ete_transaction *transaction)
{
	return transaction->decoded;
}

/* A packet has begun or ended a transaction; or what began or ended it is cancelled. */
static inline void ete_set_decoded_in_transaction(struct ete_transaction *transaction, bool on)
{
	transaction->decoded = on;
}

/*
 * A committed element on its way to the analysis: it waits where a transaction is on, and where it
 * begins or ends one, that is done (K10.5.4.2). rest: what comes after all that waits; P0: a P0
 * element follows this one at once.
 */
int flowtap_ete_process_committed(struct flowtap_ete *ete, const struct ete_entry *entry,
				  enum ete_follow_kind rest);
/* A transaction begins here, if none is on. */
int flowtap_ete_transaction_begin(struct flowtap_ete *ete);
/*
 * The transaction, if one is on, has failed: its P0 elements are counted and dropped (K10.5.4.4).
 */
int flowtap_ete_transaction_fail(struct flowtap_ete *ete);
/* Nobody knows how it ended: what waits is counted as failed, and nothing is emitted. */
void flowtap_ete_transaction_drop(struct flowtap_ete *ete);
/* Frees what waits. */
void flowtap_ete_transaction_free(struct ete_transaction *transaction);

#endif /* FLOWTAP_LIBUAPI_ETE_TRANSACTION_H */
