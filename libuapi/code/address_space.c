// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Sorts the mappings by time and sweeps over them, which cuts them into pieces; a tree over the
 * pieces finds an address at a time.
 */
#include "code/address_space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/vector.h"

#define LOOKED_AT_MAX 4096	/* events, for one question */

int flowtap_address_space_add(struct flowtap_address_space *space,
			      const struct flowtap_address_map_event *event)
{
	if (FLOWTAP_GROW(space->events, space->n_events))
		return -ENOMEM;
	if (event->time < space->latest)
		space->unsorted = true;
	else
		space->latest = event->time;
	space->events[space->n_events++] = *event;
	flowtap_address_space_drop(space);
	return 0;
}

bool flowtap_address_space_changes(const struct flowtap_address_space *space, uint64_t from,
				   uint64_t to)
{
	if (space->latest <= from)
		return false;
	if (space->n_events > LOOKED_AT_MAX)
		return true;
	for (size_t i = 0; i < space->n_events; i++)
		if (space->events[i].time > from && space->events[i].time <= to)
			return true;
	return false;
}

int flowtap_address_space_split(struct flowtap_address_space *space,
				struct flowtap_address_space *to)
{
	size_t kept = 0;
	int err = 0;

	if (space->latest <= to->from)
		return 0;
	flowtap_address_space_drop(space);
	space->latest = 0;
	for (size_t i = 0; i < space->n_events; i++) {
		struct flowtap_address_map_event event = space->events[i];

		if (event.time > to->from && !err) {
			err = flowtap_address_space_add(to, &event);
			if (!err)
				continue;
		}
		if (event.time > space->latest)
			space->latest = event.time;
		space->events[kept++] = event;
	}
	space->n_events = kept;
	return err;
}

void flowtap_address_space_drop(struct flowtap_address_space *space)
{
	free(space->pieces);
	space->pieces = NULL;
	space->n_pieces = 0;
	space->built = false;
}

void flowtap_address_space_free(struct flowtap_address_space *space)
{
	if (!space)
		return;
	flowtap_address_space_drop(space);
	free(space->events);
	free(space);
}

/* Stable: of two with one time the one that came later wins. */
static int sort_events(struct flowtap_address_space *space)
{
	size_t n = space->n_events;
	struct flowtap_address_map_event *from = space->events, *to, *other;

	other = malloc(flowtap_vector_capacity(n) * sizeof(other[0]));
	if (!other)
		return -ENOMEM;
	to = other;
	for (size_t width = 1; width < n; width *= 2) {
		for (size_t begin = 0, k = 0; begin < n; begin += 2 * width) {
			size_t i = begin, middle = begin + width < n ? begin + width : n;
			size_t j = middle, end = middle + width < n ? middle + width : n;

			while (i < middle || j < end)
				to[k++] = j == end || (i < middle && from[i].time <= from[j].time) ?
					  from[i++] : from[j++];
		}
		other = from;
		from = to;
		to = other;
	}
	space->events = from;
	free(to);
	space->unsorted = false;
	return 0;
}

/* The sweep over time. live: the pieces that are mapped now, by address; indexes into pieces. */
struct sweep {
	struct flowtap_piece *pieces;
	size_t n;
	size_t *live;
	size_t n_live;
};

static size_t new_piece(struct sweep *sweep, uint64_t start, uint64_t end, uint64_t from,
			uint64_t offset, uint32_t file)
{
	sweep->pieces[sweep->n] = (struct flowtap_piece){
		.start = start,
		.end = end,
		.from = from,
		.until = UINT64_MAX,
		.offset = offset,
		.file = file,
	};
	return sweep->n++;
}

/* The first live piece that ends after address. */
static size_t first_live(const struct sweep *sweep, uint64_t address)
{
	size_t low = 0, high = sweep->n_live;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (sweep->pieces[sweep->live[middle]].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The same mapping reported again (mprotect, a start-up scan beside events) changes nothing. */
static bool is_there(const struct flowtap_piece *piece,
		     const struct flowtap_address_map_event *event)
{
	return event->executable && piece->file == event->file && piece->start <= event->start &&
	       piece->end >= event->end &&
	       piece->offset + (event->start - piece->start) == event->offset;
}

/* One mapping: ends what is in its range, keeps what is out of it left and right. */
static void apply_event(struct sweep *sweep, const struct flowtap_address_map_event *event)
{
	size_t first = first_live(sweep, event->start), last = first, n = 0, fresh[3];

	if (first < sweep->n_live && is_there(&sweep->pieces[sweep->live[first]], event))
		return;
	while (last < sweep->n_live && sweep->pieces[sweep->live[last]].start < event->end)
		last++;
	if (last > first) {
		struct flowtap_piece left = sweep->pieces[sweep->live[first]];

		if (left.start < event->start)
			fresh[n++] = new_piece(sweep, left.start, event->start, event->time,
					       left.offset, left.file);
	}
	if (event->executable)
		fresh[n++] = new_piece(sweep, event->start, event->end, event->time, event->offset,
				       event->file);
	if (last > first) {
		struct flowtap_piece right = sweep->pieces[sweep->live[last - 1]];

		if (right.end > event->end)
			fresh[n++] =
				new_piece(sweep, event->end, right.end, event->time,
					  right.offset + (event->end - right.start), right.file);
	}
	/* What there is no space for is as if nothing were mapped there. */
	while (sweep->n_live - (last - first) + n > FLOWTAP_ADDRESS_SPACE_LIVE)
		sweep->pieces[fresh[--n]].until = event->time;
	for (size_t i = first; i < last; i++)
		sweep->pieces[sweep->live[i]].until = event->time;
	memmove(sweep->live + first + n, sweep->live + last,
		(sweep->n_live - last) * sizeof(sweep->live[0]));
	memcpy(sweep->live + first, fresh, n * sizeof(fresh[0]));
	sweep->n_live += n - (last - first);
}

static int by_start(const void *a, const void *b)
{
	const struct flowtap_piece *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

/* Pieces [low, high) are a tree: the one in the middle is its root. */
static void grow_tree(struct flowtap_piece *pieces, size_t low, size_t high)
{
	size_t middle = low + (high - low) / 2;
	struct flowtap_piece *root = &pieces[middle];
	const struct flowtap_piece *below[2];
	size_t n = 0;

	root->max_end = root->end;
	root->min_from = root->from;
	root->max_until = root->until;
	if (low < middle) {
		grow_tree(pieces, low, middle);
		below[n++] = &pieces[low + (middle - low) / 2];
	}
	if (middle + 1 < high) {
		grow_tree(pieces, middle + 1, high);
		below[n++] = &pieces[middle + 1 + (high - middle - 1) / 2];
	}
	while (n--) {
		if (below[n]->max_end > root->max_end)
			root->max_end = below[n]->max_end;
		if (below[n]->min_from < root->min_from)
			root->min_from = below[n]->min_from;
		if (below[n]->max_until > root->max_until)
			root->max_until = below[n]->max_until;
	}
}

/* What the parent had when the child was forked, in order of address. */
static void inherit(struct sweep *sweep, const struct flowtap_address_space *parent, uint64_t time)
{
	for (size_t i = 0; parent && i < parent->n_pieces; i++) {
		const struct flowtap_piece *piece = &parent->pieces[i];

		if (piece->from <= time && time < piece->until)
			sweep->live[sweep->n_live++] = new_piece(sweep, piece->start, piece->end,
								 time, piece->offset, piece->file);
	}
}

int flowtap_address_space_build(struct flowtap_address_space *space,
				const struct flowtap_address_space *parent)
{
	size_t most = (parent ? parent->n_pieces : 0) + 3 * space->n_events + 1, kept = 0;
	struct sweep sweep = { 0 };

	flowtap_address_space_drop(space);
	if (space->unsorted && sort_events(space))
		return -ENOMEM;
	sweep.pieces = malloc(most * sizeof(sweep.pieces[0]));
	sweep.live = malloc(most * sizeof(sweep.live[0]));
	if (!sweep.pieces || !sweep.live) {
		free(sweep.pieces);
		free(sweep.live);
		return -ENOMEM;
	}
	inherit(&sweep, parent, space->from);
	for (size_t i = 0; i < space->n_events; i++)
		apply_event(&sweep, &space->events[i]);
	free(sweep.live);
	for (size_t i = 0; i < sweep.n; i++)
		if (sweep.pieces[i].from < sweep.pieces[i].until)
			sweep.pieces[kept++] = sweep.pieces[i];
	qsort(sweep.pieces, kept, sizeof(sweep.pieces[0]), by_start);
	if (kept)
		grow_tree(sweep.pieces, 0, kept);
	space->pieces = sweep.pieces;
	space->n_pieces = kept;
	space->built = true;
	return 0;
}

static struct flowtap_piece *find_in(struct flowtap_piece *pieces, size_t low, size_t high,
				     uint64_t time, uint64_t address)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		struct flowtap_piece *root = &pieces[middle], *found;

		if (address >= root->max_end || time < root->min_from || time >= root->max_until)
			return NULL;
		found = find_in(pieces, low, middle, time, address);
		if (found || address < root->start)
			return found;
		if (address < root->end && time >= root->from && time < root->until)
			return root;
		low = middle + 1;
	}
	return NULL;
}

struct flowtap_piece *flowtap_address_space_find(const struct flowtap_address_space *space,
						 uint64_t time, uint64_t address)
{
	return find_in(space->pieces, 0, space->n_pieces, time, address);
}

static uint64_t next_in(const struct flowtap_piece *pieces, size_t low, size_t high, uint64_t time,
			uint64_t address)
{
	uint64_t next = UINT64_MAX;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct flowtap_piece *root = &pieces[middle];
		uint64_t left;

		if (address >= root->max_end || time >= root->max_until)
			break;
		left = next_in(pieces, low, middle, time, address);
		next = left < next ? left : next;
		if (address < root->start)
			break;
		if (address < root->end && root->from > time && root->from < next)
			next = root->from;
		low = middle + 1;
	}
	return next;
}

uint64_t flowtap_address_space_next(const struct flowtap_address_space *space, uint64_t time,
				    uint64_t address)
{
	return next_in(space->pieces, 0, space->n_pieces, time, address);
}
