/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Speculation (K10.5.3): elements wait in a queue until their P0 elements are committed, cancelled
 * or discarded.
 *
 * The fields are for these functions and speculation.c only. Functions return 0; what the sink
 * returned below 0; -ENOMEM.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_SPECULATION_H
#define FLOWTAP_LIBUAPI_ETE_SPECULATION_H

#include "ete/held.h"

struct flowtap_ete;

/* What may wait besides P0 elements. */
#define ETE_QUEUE_MORE 8192

/* Entries are numbered as they come: the front one's number is `head`. */
struct ete_queue {
	struct ete_entry *list;
	size_t head;
	size_t n;		/* with those that are gone: of kind ETE_NONE, at neither end */
	size_t gone;
	size_t capacity;	/* a power of two, or 0 */
};

/*
 * Numbers [first, end) of entries among which nothing of a kind is: who looks for such a one, from the
 * back on, passes over them, as often as that is.
 */
struct ete_quiet {
	size_t first;
	size_t end;
};

struct ete_speculation {
	struct ete_queue queue;
	struct ete_quiet uncancelled;	/* nothing that a Cancel would remove */
	struct ete_quiet plain;		/* no atoms, source or address */
	struct ete_quiet steady;	/* nothing of a transaction */
	/* TRCIDR8.MAXSPEC. Here, as the counters around it cost more where compilers pair them. */
	uint64_t max;
	uint64_t waiting;	/* P0 elements in the queue */
	uint64_t unseen;	/* ... that came before the first Trace Info: before all of these */
};

/*
 * Entry i of the queue, from the oldest on; i < n. Owned by the queue, until something is pushed.
 */
static inline struct ete_entry *ete_at(const struct ete_queue *queue, size_t i)
{
	return &queue->list[(queue->head + i) & (queue->capacity - 1)];
}

/* Whether any element waits. */
static inline bool ete_queue_waits(const struct ete_speculation *speculation)
{
	return speculation->queue.n;
}

/* The oldest element that waits, as ete_at; NULL: none. */
static inline const struct ete_entry *ete_queue_front(const struct ete_speculation *speculation)
{
	return speculation->queue.n ? ete_at(&speculation->queue, 0) : NULL;
}

/* Whether P0 elements need a Commit before they are resolved. */
static inline bool ete_speculates(const struct ete_speculation *speculation)
{
	return speculation->max || speculation->unseen;
}

/* P0 elements that wait, without those before the first Trace Info. */
static inline uint64_t ete_speculation_waiting(const struct ete_speculation *speculation)
{
	return speculation->waiting;
}

/*
 * P0 elements above the trace unit's depth: the oldest are committed by themselves (K10.5.2.18.3).
 */
static inline uint64_t ete_speculation_above(const struct ete_speculation *speculation)
{
	uint64_t depth = speculation->unseen + speculation->waiting;

	return depth > speculation->max ? depth - speculation->max : 0;
}

/* A Trace Info says how many P0 elements before it wait that nobody has seen (K10.5.3.2.1). */
static inline void ete_set_unseen(struct ete_speculation *speculation, uint64_t unseen)
{
	speculation->unseen = unseen;
}

/* Nothing waits. max: TRCIDR8.MAXSPEC. */
void flowtap_ete_speculation_init(struct ete_speculation *speculation, uint64_t max);
void flowtap_ete_speculation_free(struct ete_speculation *speculation);

/* An element has come, it is copied. One that waits with more than may wait is a gap BAD_PACKET. */
int flowtap_ete_push(struct flowtap_ete *ete, const struct ete_entry *entry);
/* So many atoms have come, 1 to ETE_ATOMS_MAX; taken: bit i: atom i, the oldest is 0, is E. */
int flowtap_ete_push_atoms(struct flowtap_ete *ete, uint32_t taken, unsigned int count);
/* Nothing is speculative, and a P0 element comes: analyzes the whole queue. */
int flowtap_ete_process_queue(struct flowtap_ete *ete);
/* A Commit element of the n oldest P0 elements; of more than there are: a gap IMPOSSIBLE. */
int flowtap_ete_commit(struct flowtap_ete *ete, uint64_t n);
/* A Cancel element of the n youngest P0 elements; of more than there are: a gap IMPOSSIBLE. */
int flowtap_ete_cancel(struct flowtap_ete *ete, uint64_t n);
/*
 * A Mispredict element: turns round the youngest atom, or source address, that there is
 * (K10.5.5.11.1), be it still speculative or not. Target addresses after it were of the path that
 * was not taken.
 */
int flowtap_ete_mispredict(struct flowtap_ete *ete);
/*
 * As many P0 elements wait as a Trace Info says, the youngest; if there were others, a gap
 * UNRESOLVED. Nothing where MAXSPEC is 0.
 */
int flowtap_ete_set_depth(struct flowtap_ete *ete, uint64_t depth);
/* Emits what is resolved and cancels what is speculative: the queue is empty then. */
int flowtap_ete_cancel_all(struct flowtap_ete *ete);
/* Analyzes the held P0 element, then what waits for no Commit. */
int flowtap_ete_release_resolved(struct flowtap_ete *ete);
/*
 * What follows: n entries of the list, then what waits in the queue, then `rest`. It looks at all up
 * to the next P0 element that can be no return: for ete_asks_follower only, between any two of which
 * one such is, or the time were quadratic.
 */
struct ete_follow flowtap_ete_follow(struct flowtap_ete *ete, const struct ete_entry *list,
				     size_t n, enum ete_follow_kind rest);

#endif /* FLOWTAP_LIBUAPI_ETE_SPECULATION_H */
