// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the pieces of a dump among the bytes that the log says were stored, going forward. */
#include "align.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IGNORE		0x70
#define ANCHOR		64	/* bytes that are looked for at first */
#define SURE		16	/* equal ones after padding, to go on there */
#define TRIES		256

struct search {
	struct alignment *alignment;
	const struct history *history;
	uint8_t *stored;	/* all of it */
	size_t size;
	size_t at;		/* what comes next */
	size_t part;		/* of history->stored, that `at` is in */
	bool missing;		/* stored ones before that are not in the dump */
	bool excused;		/* ... and a piece beside them is lossy */
	bool lossy;		/* the piece is that ended there, or one since that has no bytes */
	size_t capacity;
};

static size_t equal(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	size_t n = na < nb ? na : nb, i = 0;

	while (i + 64 <= n && !memcmp(a + i, b + i, 64))
		i += 64;
	while (i < n && a[i] == b[i])
		i++;
	return i;
}

static int add_run(struct search *search, const uint8_t *bytes, size_t n, uint64_t offset)
{
	struct alignment *alignment = search->alignment;
	struct align_run run = { .bytes = bytes, .n = n, .offset = offset };
	uint64_t end = 0;

	if (alignment->n) {
		const struct align_run *last = &alignment->runs[alignment->n - 1];

		end = last->offset + last->n;
	}
	run.joined = offset == end;
	run.missing = search->missing;
	run.excused = search->excused;
	search->missing = search->excused = false;
	for (size_t i = 0; i < search->history->nlost && !run.lost; i++)
		run.lost = search->history->lost[i].offset >= end &&
			   search->history->lost[i].offset < offset;
	if (alignment->n == search->capacity) {
		size_t capacity = search->capacity ? 2 * search->capacity : 64;
		struct align_run *more = realloc(alignment->runs, capacity * sizeof(*more));

		if (!more)
			return -ENOMEM;
		alignment->runs = more;
		search->capacity = capacity;
	}
	alignment->runs[alignment->n++] = run;
	alignment->bytes += n;
	return 0;
}

/* n bytes of the dump are those that come next. */
static int take(struct search *search, const uint8_t *bytes, size_t n)
{
	const struct history *history = search->history;

	while (n) {
		const struct history_stored *stored = &history->stored[search->part];
		size_t within, part;
		int err;

		if (search->at >= stored->at + stored->n) {
			search->part++;
			continue;
		}
		within = search->at - stored->at;
		part = stored->n - within < n ? stored->n - within : n;
		err = add_run(search, bytes, part, stored->offset + within);
		if (err)
			return err;
		search->at += part;
		bytes += part;
		n -= part;
	}
	return 0;
}

/* Where the dump goes on among what was stored, after some that is missing; SIZE_MAX: nowhere. */
static size_t find(const struct search *search, const uint8_t *bytes, size_t n)
{
	size_t anchor = n < ANCHOR ? n : ANCHOR, best = SIZE_MAX, longest = 0;
	const uint8_t *from = search->stored + search->at, *end = search->stored + search->size;

	for (unsigned int i = 0; i < TRIES && longest < n; i++) {
		const uint8_t *hit = memmem(from, end - from, bytes, anchor);
		size_t length;

		if (!hit)
			break;
		length = equal(bytes, n, hit, end - hit);
		if (length > longest) {
			longest = length;
			best = hit - search->stored;
		}
		from = hit + 1;
	}
	return best;
}

/* Ignore bytes that software put into the dump: how many until it goes on as it was stored. */
static size_t padding(const struct search *search, const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n && bytes[i] == IGNORE; i++) {
		size_t left = n - i - 1, want = left < SURE ? left : SURE;

		if (equal(bytes + i + 1, left, search->stored + search->at,
			  search->size - search->at) >= want)
			return i + 1;
	}
	return 0;
}

/*
 * The same where what follows does not come next either: all Ignore bytes at the begin, or that
 * are left, if more of them than an alignment asks for are there.
 */
static size_t leading(const struct search *search, const uint8_t *bytes, size_t n, bool begin)
{
	size_t pad = 0;

	while (pad < n && bytes[pad] == IGNORE)
		pad++;
	if (pad == n)
		return find(search, bytes, n) == SIZE_MAX ? n : 0;
	return begin && pad >= ANCHOR && find(search, bytes, n) == SIZE_MAX ? pad : 0;
}

/* Stored bytes up to `to` are not in the dump. */
static void pass_over(struct search *search, size_t to, bool excused)
{
	struct alignment *alignment = search->alignment;

	alignment->missing += to - search->at;
	if (!excused)
		alignment->unexcused += to - search->at;
	search->excused = excused;
	search->missing = true;
	search->at = to;
}

static int align_piece(struct search *search, const struct align_piece *piece, size_t number)
{
	struct alignment *alignment = search->alignment;
	const uint8_t *bytes = piece->bytes;
	size_t left = piece->n, n, pad, to;
	bool lossy = piece->lossy || search->lossy;
	int err;

	while (left) {
		n = equal(bytes, left, search->stored + search->at, search->size - search->at);
		if (n >= SURE || n == left) {
			err = take(search, bytes, n);
			if (err)
				return err;
			lossy = piece->lossy;
			bytes += n;
			left -= n;
			continue;
		}
		pad = padding(search, bytes, left);
		if (!pad)
			pad = leading(search, bytes, left, bytes == piece->bytes);
		if (pad) {
			alignment->padding += pad;
			bytes += pad;
			left -= pad;
			continue;
		}
		to = find(search, bytes, left);
		if (to == SIZE_MAX) {
			snprintf(alignment->error, sizeof(alignment->error),
				 "piece %zu of the dump, offset %zu: bytes that were not stored "
				 "there (after %zu of %zu stored)", number, piece->n - left,
				 search->at, search->size);
			return -EBADMSG;
		}
		pass_over(search, to, lossy);
	}
	search->lossy = lossy;
	return 0;
}

static void find_end(struct search *search)
{
	struct alignment *alignment = search->alignment;
	const struct history *history = search->history;
	const struct align_run *last;
	uint64_t end = 0;

	alignment->whole = search->at == search->size;
	pass_over(search, search->size, search->lossy);
	if (alignment->n) {
		last = &alignment->runs[alignment->n - 1];
		end = last->offset + last->n;
	}
	for (size_t i = 0; i < history->nlost; i++)
		if (history->lost[i].offset >= end)
			alignment->whole = false;
}

int align(struct alignment *alignment, const struct history *history,
	  const struct align_piece *pieces, size_t n)
{
	struct search search = { .alignment = alignment, .history = history };
	int err = 0;

	memset(alignment, 0, sizeof(*alignment));
	search.size = history->stored_bytes;
	search.stored = malloc(search.size + 1);
	if (!search.stored)
		return -ENOMEM;
	for (size_t i = 0; i < history->nstored; i++)
		memcpy(search.stored + history->stored[i].at, history->stored[i].bytes,
		       history->stored[i].n);
	for (size_t i = 0; i < n && !err; i++)
		err = align_piece(&search, &pieces[i], i);
	if (!err)
		find_end(&search);
	free(search.stored);
	return err;
}

void align_free(struct alignment *alignment)
{
	free(alignment->runs);
	alignment->runs = NULL;
	alignment->n = 0;
}
