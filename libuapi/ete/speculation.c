// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Speculation (K10.5.3): elements wait in a queue until their P0 elements are committed, cancelled
 * or discarded. Atoms wait as runs of bits.
 *
 * What table K10-2 keeps or processes when P0 elements are cancelled keeps its place in the queue,
 * so that all comes out in the order of the trace. Cancel and Commit concern the P0 elements that
 * were there before the first Trace Info as well: those are the oldest, so the first to be
 * committed and the last to be cancelled.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "ete/internal.h"

#define FIRST_CAPACITY 64

static int grow(struct ete_queue *queue)
{
	size_t capacity = queue->capacity ? 2 * queue->capacity : FIRST_CAPACITY;
	struct ete_entry *list = malloc(capacity * sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < queue->n; i++)
		list[(queue->head + i) & (capacity - 1)] = *ete_at(queue, i);
	free(queue->list);
	queue->list = list;
	queue->capacity = capacity;
	return 0;
}

void flowtap_ete_speculation_init(struct ete_speculation *speculation, uint64_t max)
{
	*speculation = (struct ete_speculation){ .max = max };
}

void flowtap_ete_speculation_free(struct ete_speculation *speculation)
{
	free(speculation->queue.list);
}

static void pop(struct ete_queue *queue)
{
	queue->gone -= ete_at(queue, 0)->kind == ETE_NONE;
	queue->head++;
	queue->n--;
}

/* --- What is gone, and where nothing is. --- */

/* A search that came down to entry i goes on below this one. */
static size_t pass_over(const struct ete_queue *queue, const struct ete_quiet *quiet, size_t i)
{
	if (quiet->first >= quiet->end || queue->head + i != quiet->end)
		return i;
	return quiet->first > queue->head ? quiet->first - queue->head : 0;
}

/*
 * From entry i to the back nothing was found. Where something is between that and what is known
 * already, the longer one is kept: the other one took less to find.
 */
static void set_quiet(const struct ete_queue *queue, struct ete_quiet *quiet, size_t i)
{
	const size_t first = queue->head + i, end = queue->head + queue->n;
	size_t known = quiet->first > queue->head ? quiet->first : queue->head;

	if (first <= quiet->end && known < quiet->end)
		*quiet = (struct ete_quiet){ first < known ? first : known, end };
	else if (known >= quiet->end || end - first >= quiet->end - known)
		*quiet = (struct ete_quiet){ first, end };
}

static void remove_entry(struct ete_queue *queue, struct ete_entry *entry)
{
	queue->gone += entry->kind != ETE_NONE;
	entry->kind = ETE_NONE;
	entry->count = 0;
}

/* All numbers are others then. */
static void compact(struct ete_speculation *speculation)
{
	struct ete_queue *queue = &speculation->queue;
	size_t n = 0;

	for (size_t i = 0; i < queue->n; i++)
		if (ete_at(queue, i)->kind != ETE_NONE)
			*ete_at(queue, n++) = *ete_at(queue, i);
	queue->n = n;
	queue->gone = 0;
	speculation->uncancelled = speculation->plain = speculation->steady =
		(struct ete_quiet){ 0 };
}

static void clip(struct ete_quiet *quiet, size_t end)
{
	if (quiet->end > end)
		quiet->end = end;
}

/* After entries were removed. As much is moved as was removed, and a few. */
static void tidy(struct ete_speculation *speculation)
{
	struct ete_queue *queue = &speculation->queue;

	if (queue->gone && (queue->n <= FIRST_CAPACITY || 4 * queue->gone >= queue->n)) {
		compact(speculation);
		return;
	}
	while (queue->n && ete_at(queue, 0)->kind == ETE_NONE)
		pop(queue);
	for (; queue->n && ete_at(queue, queue->n - 1)->kind == ETE_NONE; queue->n--)
		queue->gone--;
	clip(&speculation->uncancelled, queue->head + queue->n);
	clip(&speculation->plain, queue->head + queue->n);
	clip(&speculation->steady, queue->head + queue->n);
}

/* The address that follows atoms of the fast path enters the queue first. */
static int queue_next_address(struct flowtap_ete *ete)
{
	const struct ete_entry address = {
		.kind = ETE_ADDRESS,
		.sub_isa = ete->held.next_sub_isa,
		.value = ete->held.next_address,
	};

	if (!ete->held.next_known)
		return 0;
	ete->held.next_known = false;
	return flowtap_ete_push(ete, &address);
}

/* Whether a transaction is on after all that waits. */
static bool ends_in_transaction(struct flowtap_ete *ete)
{
	struct ete_queue *queue = &ete->speculation.queue;
	bool on = ete_in_transaction(&ete->transaction), found = false;
	size_t i = queue->n;

	while (i && !found) {
		i = pass_over(queue, &ete->speculation.steady, i);
		if (!i)
			break;
		found = ete_at(queue, --i)->kind >= ETE_TRANSACTION_START;
		if (found)
			on = ete_at(queue, i)->kind == ETE_TRANSACTION_START;
	}
	set_quiet(queue, &ete->speculation.steady, i + found);
	return on;
}

/* What waited is gone: the transaction is on or not as the packets say. */
static int sync_transaction(struct flowtap_ete *ete)
{
	bool decoded = ete_decoded_in_transaction(&ete->transaction);

	/* A Mispredict element may concern what is gone. */
	ete_discard_committed(&ete->held);
	if (ends_in_transaction(ete) == decoded)
		return 0;
	return decoded ? flowtap_ete_transaction_begin(ete) : flowtap_ete_transaction_fail(ete);
}

/* Analyzes the held P0 element; the queue follows it. */
static int release(struct flowtap_ete *ete)
{
	struct ete_entry entry = ete->held.entry;

	if (ete->held.kind == ETE_NONE)
		return 0;
	if (ete->held.kind == ETE_ATOMS)
		entry = (struct ete_entry){
			.kind = ETE_ATOMS,
			.count = 1,
			.atoms = { ete->held.taken, ete->held.initial },
		};
	ete->held.kind = ETE_NONE;
	return flowtap_ete_process_committed(ete, &entry, ETE_FOLLOW_END);
}

int flowtap_ete_release_resolved(struct flowtap_ete *ete)
{
	struct ete_queue *queue = &ete->speculation.queue;
	struct ete_entry front;
	int status = queue_next_address(ete);

	if (!status)
		status = release(ete);
	while (!status && queue->n && !ete_is_p0(ete_at(queue, 0))) {
		front = *ete_at(queue, 0);
		pop(queue);
		status = flowtap_ete_process_committed(ete, &front, ETE_FOLLOW_END);
	}
	return status;
}

/* Space is made by what waits for no Commit. */
static int reduce_queue(struct flowtap_ete *ete)
{
	int status = flowtap_ete_release_resolved(ete);

	if (status || 2 * ete->speculation.queue.n < ETE_QUEUE_MORE)
		return status;
	status = flowtap_ete_cancel_all(ete);
	if (!status)
		status = sync_transaction(ete);
	if (status)
		return status;
	return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_BAD_PACKET, 0,
				    "more than %u elements wait for a Commit", ETE_QUEUE_MORE);
}

int flowtap_ete_push(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	struct ete_queue *queue = &ete->speculation.queue;
	int status = queue_next_address(ete);

	if (!status && queue->n - queue->gone >= ETE_QUEUE_MORE + ete->speculation.max)
		status = reduce_queue(ete);
	if (!status && queue->n == queue->capacity)
		status = grow(queue);
	if (status)
		return status;
	queue->n++;
	*ete_at(queue, queue->n - 1) = *entry;
	ete->speculation.waiting += entry->count;
	return 0;
}

int flowtap_ete_process_queue(struct flowtap_ete *ete)
{
	struct ete_follow follow = flowtap_ete_follow(ete, NULL, 0, ETE_FOLLOW_P0);
	struct ete_queue *queue = &ete->speculation.queue;
	struct ete_entry front;
	uint8_t held = ete->held.kind;
	int status = 0;

	ete->held.kind = ETE_NONE;
	if (held == ETE_ATOMS)
		status = flowtap_ete_atom(ete, ete->held.taken, ete->held.initial, &follow);
	else if (held != ETE_NONE)
		status = flowtap_ete_analyze(ete, &ete->held.entry, &follow);
	while (!status && queue->n) {
		front = *ete_at(queue, 0);
		pop(queue);
		status = flowtap_ete_process_committed(ete, &front, ETE_FOLLOW_END);
	}
	return status;
}

int flowtap_ete_push_atoms(struct flowtap_ete *ete, uint32_t taken, unsigned int count)
{
	struct ete_queue *queue = &ete->speculation.queue;
	struct ete_entry *last = queue->n ? ete_at(queue, queue->n - 1) : NULL;
	const struct ete_entry entry = {
		.kind = ETE_ATOMS,
		.count = count,
		.atoms = { taken, taken },
	};

	if (!last || last->kind != ETE_ATOMS || last->count + count > ETE_ATOMS_MAX)
		return flowtap_ete_push(ete, &entry);
	last->atoms.taken |= taken << last->count;
	last->atoms.initial |= taken << last->count;
	last->count += count;
	ete->speculation.waiting += count;
	return 0;
}

/* Nothing after it can be the target of what was before: unless that is known, it is `kind`. */
static bool last_follower(struct ete_follow *follow, enum ete_follow_kind kind)
{
	if (follow->kind != ETE_FOLLOW_ADDRESS && follow->kind != ETE_FOLLOW_RETURN)
		follow->kind = kind;
	return true;
}

/* Whether nothing after the entry can be the target of what was before it. */
static bool is_last_follower(const struct flowtap_ete *ete, const struct ete_entry *entry,
			     struct ete_follow *follow)
{
	switch (entry->kind) {
	case ETE_ADDRESS:
		if (ete_is_return_value(ete, entry->value)) {
			follow->kind = ETE_FOLLOW_RETURN;
			return false;
		}
		/* Another may follow, if this one was of a way that was cancelled. */
		*follow = (struct ete_follow){
			.kind = ETE_FOLLOW_ADDRESS,
			.sub_isa = entry->sub_isa,
			.preceded = follow->kind == ETE_FOLLOW_ADDRESS ||
				follow->kind == ETE_FOLLOW_RETURN,
			.address = entry->value,
		};
		return false;
	case ETE_EXCEPTION_RETURN:
		/*
		 * Of an M profile it is none of the return stack's, and the next exception can come
		 * before it has led anywhere (OpenCSD's issue 88).
		 */
		if (ete->config.m_profile && follow->kind != ETE_FOLLOW_ADDRESS)
			follow->kind = ETE_FOLLOW_RETURN;
		return false;
	case ETE_TRANSACTION_FAIL:
		/* What comes after it is where the transaction began. */
		follow->unrelated = true;
		return last_follower(follow, ETE_FOLLOW_END);
	case ETE_TRACE_ON:
		return last_follower(follow, ETE_FOLLOW_END);
	case ETE_FUNCTION_RETURN:
	case ETE_TRANSACTION_START:
		return false;
	default:
		break;
	}
	if (!ete_is_p0(entry))
		return false;
	if (entry->kind == ETE_EXCEPTION) {
		follow->repeated = entry->repeated;
		follow->unrelated = !entry->known;
	}
	return last_follower(follow, ETE_FOLLOW_P0);
}

struct ete_follow flowtap_ete_follow(struct flowtap_ete *ete, const struct ete_entry *list,
				     size_t n, enum ete_follow_kind rest)
{
	struct ete_follow follow = { .kind = rest };

	for (size_t i = 0; i < n; i++) {
		ete->looked_at++;
		if (is_last_follower(ete, &list[i], &follow))
			return follow;
	}
	if (ete->held.next_known)
		follow = (struct ete_follow){
			.kind = ETE_FOLLOW_ADDRESS,
			.sub_isa = ete->held.next_sub_isa,
			.address = ete->held.next_address,
		};
	for (size_t i = 0; i < ete->speculation.queue.n; i++) {
		ete->looked_at++;
		if (is_last_follower(ete, ete_at(&ete->speculation.queue, i), &follow))
			break;
	}
	return follow;
}

/* Takes `n` P0 elements, or what it is, off the front. */
static void pop_some(struct ete_queue *queue, unsigned int n)
{
	struct ete_entry *front = ete_at(queue, 0);

	front->count -= n;
	if (!front->count) {
		pop(queue);
		return;
	}
	front->atoms.taken >>= n;
	front->atoms.initial >>= n;
}

/* Of the run at the front `n` at most, the last of which is held. How many: *done. */
static int commit_atoms(struct flowtap_ete *ete, uint64_t n, uint64_t *done)
{
	struct ete_entry run = *ete_at(&ete->speculation.queue, 0);
	unsigned int count = n < run.count ? n : run.count, last = count - 1;

	*done = count;
	pop_some(&ete->speculation.queue, count);
	ete_hold_atom(&ete->held, run.atoms.taken >> last & 1, run.atoms.initial >> last & 1);
	run.count = last;
	return last ? flowtap_ete_process_committed(ete, &run, ETE_FOLLOW_P0) : 0;
}

/* The element at the front, which is no run of atoms. */
static int commit_one(struct flowtap_ete *ete)
{
	struct ete_entry front = *ete_at(&ete->speculation.queue, 0);

	pop(&ete->speculation.queue);
	if (front.kind != ETE_SOURCE && front.kind != ETE_Q)
		return flowtap_ete_process_committed(ete, &front, ETE_FOLLOW_END);
	ete_hold(&ete->held, &front);
	return 0;
}

static int overcommitted(struct flowtap_ete *ete)
{
	int status;

	/* The last of those that there were was executed. */
	status = release(ete);
	if (status)
		return status;
	return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, 0,
				    "a Commit element of more P0 elements than there are");
}

/* The first P0 element of the queue, if it is the M profile's return: of the branch held. */
static struct ete_entry *next_return(const struct flowtap_ete *ete)
{
	struct ete_entry *entry;

	if (!ete->config.m_profile)
		return NULL;
	for (size_t i = 0; i < ete->speculation.queue.n; i++) {
		entry = ete_at(&ete->speculation.queue, i);
		if (entry->kind == ETE_EXCEPTION_RETURN || entry->kind == ETE_FUNCTION_RETURN)
			return ete_is_p0(entry) ? entry : NULL;
		if (ete_is_p0(entry))
			return NULL;
	}
	return NULL;
}

/* It is committed, and waits for the address as the branch does. */
static void commit_return(struct flowtap_ete *ete, struct ete_entry *entry)
{
	entry->count = 0;
	ete->speculation.waiting--;
}

int flowtap_ete_commit(struct flowtap_ete *ete, uint64_t n)
{
	uint64_t done = n < ete->speculation.unseen ? n : ete->speculation.unseen;
	int status = queue_next_address(ete);
	struct ete_entry *entry;

	ete->speculation.unseen -= done;
	n -= done;
	/*
	 * Where there is no speculation all are committed as they come (K10.5.2.18.3): the last one
	 * is held on, as another address may follow.
	 */
	if (!ete->speculation.max && n > ete->speculation.waiting)
		n = ete->speculation.waiting;
	while (!status && n && ete->speculation.queue.n) {
		entry = ete->held.kind != ETE_NONE ? next_return(ete) : NULL;
		if (entry) {
			commit_return(ete, entry);
			n--;
			continue;
		}
		if (ete->held.kind != ETE_NONE) {
			status = release(ete);
			continue;
		}
		done = ete_at(&ete->speculation.queue, 0)->count;
		if (ete_at(&ete->speculation.queue, 0)->kind == ETE_ATOMS)
			status = commit_atoms(ete, n, &done);
		else
			status = commit_one(ete);
		ete->speculation.waiting -= done;
		ete->held.any |= done > 0;
		n -= done;
	}
	return status || !n ? status : overcommitted(ete);
}

/* Removes `n` P0 elements from the entry, which has so many at least. */
static void shorten(struct ete_queue *queue, struct ete_entry *entry, unsigned int n)
{
	entry->count -= n;
	if (!entry->count) {
		remove_entry(queue, entry);
		return;
	}
	entry->atoms.taken &= (1U << entry->count) - 1;
	entry->atoms.initial &= (1U << entry->count) - 1;
}

static int overcancelled(struct flowtap_ete *ete)
{
	int status = flowtap_ete_cancel_all(ete);

	if (!status)
		status = sync_transaction(ete);
	if (status)
		return status;
	return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, 0,
				    "a Cancel element of more P0 elements than there are");
}

int flowtap_ete_cancel(struct flowtap_ete *ete, uint64_t n)
{
	struct ete_queue *queue = &ete->speculation.queue;
	int status = queue_next_address(ete);
	size_t i = queue->n;
	struct ete_entry *entry;
	bool cancels = false;
	unsigned int k;

	if (!status && n > ete->speculation.waiting + ete->speculation.unseen)
		return overcancelled(ete);
	if (status)
		return status;
	while (n && i) {
		i = pass_over(queue, &ete->speculation.uncancelled, i);
		if (!i)
			break;
		entry = ete_at(queue, --i);
		k = n < entry->count ? n : entry->count;
		n -= k;
		ete->speculation.waiting -= k;
		ete->counts.cancelled += k;
		cancels = cancels || entry->kind >= ETE_TRANSACTION_START;
		if (k)
			shorten(queue, entry, k);
		else if (!flowtap_ete_survives_cancel(entry))
			remove_entry(queue, entry);
	}
	/* Of the last run of atoms some may be left. */
	set_quiet(queue, &ete->speculation.uncancelled,
		  i + (i < queue->n && ete_is_p0(ete_at(queue, i))));
	tidy(&ete->speculation);
	ete->speculation.unseen -= n;
	if (cancels)
		ete_set_decoded_in_transaction(&ete->transaction, ends_in_transaction(ete));
	return 0;
}

int flowtap_ete_mispredict(struct flowtap_ete *ete)
{
	struct ete_queue *queue = &ete->speculation.queue;
	int status = queue_next_address(ete);
	bool found = false;
	size_t i = queue->n;

	if (status)
		return status;
	while (i && !found) {
		struct ete_entry *entry;

		i = pass_over(queue, &ete->speculation.plain, i);
		if (!i)
			break;
		entry = ete_at(queue, --i);
		found = entry->kind == ETE_ATOMS || entry->kind == ETE_SOURCE;
		if (entry->kind == ETE_ATOMS) {
			entry->atoms.taken ^= 1U << (entry->count - 1);
		} else if (entry->kind == ETE_SOURCE) {
			entry->taken = !entry->taken;
		} else if (entry->kind == ETE_ADDRESS) {
			remove_entry(queue, entry);
		}
	}
	set_quiet(queue, &ete->speculation.plain, i + found);
	tidy(&ete->speculation);
	if (found)
		return 0;
	if (ete->held.kind == ETE_ATOMS)
		ete->held.taken = !ete->held.taken;
	else if (ete->held.kind == ETE_SOURCE)
		ete->held.entry.taken = !ete->held.entry.taken;
	/* It may concern one that was there before the Trace Info. */
	else if (ete->held.any && !ete->speculation.unseen)
		return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, 0,
					    "a Mispredict element without an atom before it");
	return 0;
}

/* Of what is dropped though nobody cancelled it: the context may be another one from there on. */
static void lose_context(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	if (entry->kind == ETE_CONTEXT)
		ete_invalidate_context(&ete->position);
}

int flowtap_ete_set_depth(struct flowtap_ete *ete, uint64_t depth)
{
	struct ete_queue *queue = &ete->speculation.queue;
	struct ete_entry front;
	unsigned int n;
	int status;

	if (!ete->speculation.max ||
	    ete->speculation.unseen + ete->speculation.waiting == depth)
		return 0;
	status = release(ete);
	ete->speculation.unseen = depth > ete->speculation.waiting ?
					  depth - ete->speculation.waiting : 0;
	while (!status && ete->speculation.waiting > depth) {
		front = *ete_at(queue, 0);
		n = front.count;
		if (n > ete->speculation.waiting - depth)
			n = ete->speculation.waiting - depth;
		pop_some(queue, n);
		ete->speculation.waiting -= n;
		ete->counts.cancelled += n;
		/* What is lost of a transaction is lost to its commit as well. */
		if (front.kind == ETE_TRANSACTION_COMMIT)
			front.kind = ETE_TRANSACTION_FAIL;
		lose_context(ete, &front);
		if (flowtap_ete_survives_cancel(&front) || front.kind == ETE_TRANSACTION_FAIL)
			status = flowtap_ete_process_committed(ete, &front, ETE_FOLLOW_END);
	}
	if (!status)
		status = sync_transaction(ete);
	if (status)
		return status;
	return flowtap_ete_emit_gap(ete, FLOWTAP_GAP_UNRESOLVED, 0,
				    "what became of P0 elements before a Trace Info was lost");
}

int flowtap_ete_cancel_all(struct flowtap_ete *ete)
{
	struct ete_queue *queue = &ete->speculation.queue;
	int status = release(ete);
	bool resolved = true;

	ete->held.next_known = false;
	while (!status && queue->n) {
		struct ete_entry front = *ete_at(queue, 0);

		pop(queue);
		resolved &= !ete_is_p0(&front);
		ete->counts.cancelled += front.count;
		ete->speculation.waiting -= front.count;
		lose_context(ete, &front);
		if (flowtap_ete_survives_cancel(&front) ||
		    (resolved && (front.kind >= ETE_TRANSACTION_START ||
				  front.kind == ETE_EXCEPTION_RETURN)))
			status = flowtap_ete_process_committed(ete, &front, ETE_FOLLOW_END);
	}
	ete->speculation.unseen = 0;
	return status;
}
