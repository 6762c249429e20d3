// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the flow is not continuous: what was not decoded must have a reason in the log. */
#include <string.h>

#include "judge_internal.h"
#include "pe.h"

/* An address may come some P0 elements after an A-sync (K10.5, Trace Info): as many as these. */
#define SYNC_REACH 32
/* Atoms that one packet has at most: executed, and not in the stream yet. */
#define ATOMS 24

/* What is passed over without being decoded. */
struct skip {
	uint64_t tail;		/* instructions that were to be traced, since trace was on */
	bool executed;		/* such, since trace was on: an exception is to be told */
	uint64_t tails;		/* of all */
};

/* Over the event. False: it had to be in the trace. */
static bool skip_event(struct judge *judge, struct skip *skip)
{
	const struct history_event *event = history_event(judge->history, &judge->place);
	bool traced = history_traced(&judge->place.state);

	if (event->kind == LOG_EXCEPTION && traced && skip->executed)
		return judge_fail(judge, "an exception with return address 0x%llx is not in the trace",
				  LLU(event->fields[2]));
	if (event->kind == LOG_OVERFLOW)
		return judge_fail(judge, "an overflow is not in the trace");
	judge_pass(judge);
	if (event->kind == LOG_EXCEPTION || !history_traced(&judge->place.state) ||
	    event->kind == LOG_RESET) {
		skip->tails += skip->tail;
		skip->tail = 0;
		skip->executed = false;
		judge_run(judge);
	}
	return true;
}

/* Over the rest of the block. */
static bool skip_block(struct judge *judge, struct skip *skip)
{
	const struct log_block *block = history_block(judge->history, &judge->place);
	uint32_t n = block->n - judge->place.within;
	bool p0 = history_p0(&judge->config, block);

	if (history_traced(&judge->place.state)) {
		if (p0)
			return judge_fail(judge, "instructions at 0x%llx to 0x%llx are not in the "
					  "trace", LLU(block->address + 4 * judge->place.within),
					  LLU(block->address + 4 * (uint64_t)(block->n - 1)));
		skip->tail += n;
		skip->executed = true;
	}
	history_go(judge->history, &judge->place, n);
	if (p0)
		judge_run(judge);
	return true;
}

/* Whether the address is in the block at the place, as where trace goes on. */
static bool begins_here(struct judge *judge, uint64_t address, const struct skip *skip)
{
	const struct log_block *block = history_block(judge->history, &judge->place);
	uint64_t start = block->address + 4 * (uint64_t)judge->place.within;
	struct history_place at = judge->place;

	if (!judge->cause || !history_allowed(&judge->place.state) || address < start ||
	    address - start >= 4 * (uint64_t)(block->n - judge->place.within) || skip->tail)
		return false;
	if (history_traced(&judge->place.state))
		return address == start;
	if (address != start)
		history_go(judge->history, &at, (address - start) / 4);
	return judge_run_has(judge, &at);
}

bool judge_resume(struct judge *judge, uint64_t address, bool exception)
{
	const struct history *history = judge->history;
	const struct history_event *event;
	const struct log_block *block;
	struct skip skip = { .executed = history_traced(&judge->place.state) && !judge->broken };

	while (judge->place.item < history->n) {
		event = history_event(history, &judge->place);
		if (event) {
			if (exception && judge->cause && event->kind == LOG_EXCEPTION &&
			    event->fields[2] == address && history_allowed(&judge->place.state))
				break;
			if (!skip_event(judge, &skip))
				return false;
			continue;
		}
		if (!exception && begins_here(judge, address, &skip)) {
			block = history_block(history, &judge->place);
			judge->place.within = (address - block->address) / 4;
			break;
		}
		if (!skip_block(judge, &skip))
			return false;
	}
	if (judge->place.item == history->n)
		return judge_fail(judge, "0x%llx is decoded after a Trace On, and was not executed "
				  "from there on", LLU(address));
	judge->counts.tails += skip.tails + skip.tail;
	judge->broken = false;
	return true;
}

/* --- Decoding begins, somewhere. --- */

/* From the judge's place on to `to`, nothing had to be traced but tails. */
static bool skip_to(struct judge *judge, const struct history_place *to)
{
	struct skip skip = { .executed = history_traced(&judge->place.state) && !judge->broken };

	while (judge->place.item < to->item) {
		if (history_event(judge->history, &judge->place) ? !skip_event(judge, &skip) :
								   !skip_block(judge, &skip))
			return false;
	}
	judge->counts.tails += skip.tails + skip.tail;
	return true;
}

static void count_skipped(struct judge *judge, const struct history_place *to)
{
	struct history_place at = judge->place;
	const struct log_block *block;

	while (at.item < to->item) {
		block = history_block(judge->history, &at);
		if (!block) {
			history_pass(judge->history, &at);
			continue;
		}
		if (history_traced(&at.state))
			judge->counts.skipped += block->n - at.within;
		history_go(judge->history, &at, block->n - at.within);
	}
}

static void begin_at(struct judge *judge, const struct history_place *place, size_t sync)
{
	size_t event = judge->history->syncs[sync].event;

	judge->place = *place;
	judge->config = judge->history->syncs[sync].config;
	judge->lost = false;
	judge->on = judge->cause = judge->broken = judge->eret = false;
	for (int i = 0; i < JUDGE_SIDES; i++)
		if (judge->sides[i] < event)
			judge->sides[i] = event;
	judge_run(judge);
}

/* Whether the flow as it was said fits there; how much of it does. */
static unsigned int try_at(const struct judge *judge, const struct history_place *place,
			   size_t sync)
{
	struct judge attempt = *judge;
	unsigned int i = 0;

	attempt.attempt = true;
	attempt.covered = NULL;
	begin_at(&attempt, place, sync);
	/* The Trace On of a begin is after the A-sync, and place is where it went on. */
	attempt.cause = true;
	for (; i < judge->nsaid; i++) {
		judge_do(&attempt, &judge->said[i]);
		if (attempt.failed)
			break;
	}
	return i;
}

struct candidate {
	struct history_place place;
	size_t sync;
	unsigned int fits;
	unsigned int places;	/* at which so much fits */
};

static const struct judge_said *first_said(const struct judge *judge)
{
	for (unsigned int i = 0; i < judge->nsaid; i++)
		if (judge->said[i].kind == SAID_INSTRUCTIONS ||
		    judge->said[i].kind == SAID_EXCEPTION)
			return &judge->said[i];
	return NULL;
}

static void consider(const struct judge *judge, const struct history_place *place, size_t sync,
		     struct candidate *best)
{
	unsigned int fits;

	/* What was decoded or passed over before is not decoded again. */
	if (place->item < judge->place.item ||
	    (place->item == judge->place.item && place->within < judge->place.within))
		return;
	fits = try_at(judge, place, sync);
	if (best->sync == HISTORY_NONE || fits > best->fits)
		*best = (struct candidate){ *place, sync, fits, .places = 1 };
	else if (fits == best->fits)
		best->places++;
}

/* Each place after this A-sync where the first that was said fits. */
static void candidates(const struct judge *judge, size_t sync, const struct judge_said *first,
		       struct candidate *best)
{
	const struct history *history = judge->history;
	struct history_place at = history->syncs[sync].start;
	unsigned int reach = SYNC_REACH;

	while (reach && at.item < history->n) {
		const struct history_event *event = history_event(history, &at);
		const struct log_block *block = history_block(history, &at);

		if (event) {
			if (first->kind == SAID_EXCEPTION && event->kind == LOG_EXCEPTION &&
			    event->fields[2] == first->address)
				consider(judge, &at, sync, best);
			history_pass(history, &at);
			continue;
		}
		if (first->kind == SAID_INSTRUCTIONS && first->address >= block->address &&
		    first->address - block->address < 4 * (uint64_t)block->n) {
			struct history_place in = at;

			in.within = (first->address - block->address) / 4;
			if (in.within >= at.within)
				consider(judge, &in, sync, best);
		}
		if (history_traced(&at.state) && history_p0(&judge->config, block))
			reach--;
		history_go(history, &at, block->n - at.within);
	}
}

/* Of all places after the A-sync, or after any where it is not known, the one that fits best. */
static struct candidate search(const struct judge *judge, const struct judge_said *first)
{
	const struct history *history = judge->history;
	struct candidate best = { .sync = HISTORY_NONE };
	size_t sync = judge->hint;

	if (sync != HISTORY_NONE && sync < history->nsyncs) {
		candidates(judge, sync, first, &best);
		return best;
	}
	for (sync = 0; sync < history->nsyncs && best.fits < judge->nsaid; sync++)
		if (history->events[history->syncs[sync].event].item >= judge->place.item)
			candidates(judge, sync, first, &best);
	return best;
}

/* In a loop the same was executed at several places: what it ends with says which. */
bool judge_is_ambiguous(const struct judge *judge)
{
	const struct judge_said *first = first_said(judge);
	struct candidate best;

	if (!first)
		return false;
	best = search(judge, first);
	return best.places > 1 && best.fits == judge->nsaid;
}

void judge_flush(struct judge *judge)
{
	const struct judge_said *first = first_said(judge);
	struct candidate best;

	if (!judge->lost || judge->failed || !judge->nsaid)
		return;
	/* Nothing that has a place, and something ends here: forgotten. */
	if (!first) {
		judge->nsaid = 0;
		return;
	}
	best = search(judge, first);
	if (best.sync == HISTORY_NONE) {
		judge_fail(judge, "%s0x%llx is decoded first, which was not executed after an A-sync",
			   first->kind == SAID_EXCEPTION ? "an exception with " : "",
			   LLU(first->address));
		return;
	}
	if (judge->explained)
		count_skipped(judge, &best.place);
	else if (best.place.item >= judge->place.item && !skip_to(judge, &best.place))
		return;
	begin_at(judge, &best.place, best.sync);
	judge->cause = true;
	judge->begun = best.sync;
	judge->since = 0;
	judge->counts.starts++;
	for (unsigned int i = 0; i < judge->nsaid && !judge->failed; i++)
		judge_do(judge, &judge->said[i]);
	judge->nsaid = 0;
}

/*
 * P0 elements that are surely in the stream after this A-sync: those before the A-sync that begins
 * at item `end`, or before the trace unit was disabled. What comes after that may be on its way.
 */
static uint64_t surely_traced(const struct history *history, size_t sync, size_t end)
{
	const size_t begin = history->events[history->syncs[sync].event].item;
	struct history_place at = history->syncs[sync].last;
	uint64_t n = 0, sure = 0;

	while (at.item < end) {
		const struct history_event *event = history_event(history, &at);
		const struct log_block *block = history_block(history, &at);

		if (block) {
			if (at.item > begin && history_traced(&at.state) &&
			    history_p0(&history->syncs[sync].config, block))
				n++;
			history_go(history, &at, block->n - at.within);
			continue;
		}
		if (at.item > begin && event->kind == LOG_OVERFLOW)
			break;
		history_pass(history, &at);
		if (at.state.tracing == LOG_DISABLED)
			sure = n;
	}
	return at.item == end && end < history->n ? n : sure;
}

/*
 * A loss is a reason for what is not decoded up to an A-sync, and for as much after it as a decoder
 * may need to find out where it is: not for all that follows. end: the item up to which all is
 * there.
 */
static void check_silence(struct judge *judge, size_t end)
{
	const struct history *history = judge->history;
	uint64_t n;

	if (judge->failed || !judge->lost || judge->hint >= history->nsyncs)
		return;
	n = surely_traced(history, judge->hint, end);
	if (n > SYNC_REACH + ATOMS + history->syncs[judge->hint].config.idr8)
		judge_fail(judge, "nothing is decoded after the A-sync at %llu, where %llu P0 "
			   "elements are in the trace",
			   LLU(history->syncs[judge->hint].offset), LLU(n));
}

static size_t item_of_reached(const struct judge *judge)
{
	const struct history *history = judge->history;

	if (judge->reached >= history->nsyncs)
		return 0;
	return history->events[history->syncs[judge->reached].event].item;
}

static void lose(struct judge *judge, bool explained)
{
	judge_flush(judge);
	if (!judge->lost)
		judge->explained = false;
	judge->lost = true;
	judge->explained |= explained;
	judge->hint = HISTORY_NONE;
	judge->nsaid = 0;
	judge->counts.gaps++;
}

void judge_break(struct judge *judge, bool explained)
{
	judge_flush(judge);
	check_silence(judge, item_of_reached(judge));
	lose(judge, explained);
	judge->overflowed = false;
}

void judge_hint(struct judge *judge, size_t sync)
{
	const struct history *history = judge->history;

	judge->reached = sync;
	if (!judge->lost || judge->hint != HISTORY_NONE)
		return;
	judge->hint = sync;
	if (sync >= history->nsyncs)
		return;
	/* The overflow that was decoded is one after this A-sync: there was none before it. */
	if (judge->overflowed && history->events[history->syncs[sync].event].item < judge->place.item)
		judge_fail(judge, "an overflow is decoded before the A-sync at %llu, and there was none",
			   LLU(history->syncs[sync].offset));
	judge->overflowed = false;
}

/* To the next event of this kind from item `from` on. */
static bool go_to(struct judge *judge, uint8_t kind, size_t from)
{
	const struct history *history = judge->history;
	const struct history_event *event;
	const struct log_block *block;

	while (judge->place.item < history->n) {
		event = history_event(history, &judge->place);
		block = history_block(history, &judge->place);
		if (event && event->kind == kind && judge->place.item >= from)
			return true;
		if (event) {
			history_pass(history, &judge->place);
			continue;
		}
		if (history_traced(&judge->place.state))
			judge->counts.skipped += block->n - judge->place.within;
		history_go(history, &judge->place, block->n - judge->place.within);
	}
	return false;
}

/*
 * Of what was said where no instruction said where that was nothing is held against the log: what
 * the log has of it up to the event at the place was said, or lost.
 */
static void forget_sides(struct judge *judge)
{
	const size_t event = history_event(judge->history, &judge->place) - judge->history->events;

	for (int i = 0; i < JUDGE_SIDES; i++)
		if (judge->sides[i] < event)
			judge->sides[i] = event;
}

void judge_overflow(struct judge *judge)
{
	const struct history *history = judge->history;
	size_t from = 0;

	judge_flush(judge);
	if (judge->failed)
		return;
	if (judge->lost) {
		/* Nothing since the A-sync; or it was before decoding began, and is nobody's. */
		if (judge->hint >= history->nsyncs && !judge->overflowed)
			return;
		/* One after another, nothing between them: the next one of the log. */
		if (judge->hint < history->nsyncs)
			from = history->events[history->syncs[judge->hint].event].item;
	}
	if (!go_to(judge, LOG_OVERFLOW, from)) {
		judge_fail(judge, "an overflow is decoded, and there was none from there on");
		return;
	}
	if (judge->lost)
		forget_sides(judge);
	if (judge->covered)
		judge->covered[judge->place.item] = judge->mark;
	history_pass(history, &judge->place);
	lose(judge, false);
	judge->overflowed = true;
}

void judge_no_address(struct judge *judge, const char *what)
{
	judge_flush(judge);
	memset(judge->slack, true, sizeof(judge->slack));
	if (judge->lost || judge->closing || judge->failed)
		return;
	if (judge->since > SYNC_REACH) {
		judge_gap(judge, what);
		return;
	}
	lose(judge, true);
	judge->hint = judge->begun;
}

void judge_gap(struct judge *judge, const char *what)
{
	if (judge->closing)
		return;
	judge_flush(judge);
	if (!judge->lost)
		judge_fail(judge, "the decoder cannot go on, with no reason in the log: %s", what);
}

void judge_end(struct judge *judge, bool whole)
{
	const struct history *history = judge->history;
	struct history_place end = { .item = history->n };

	judge_flush(judge);
	check_silence(judge, whole ? history->n : item_of_reached(judge));
	if (judge->failed || !whole || (judge->lost && judge->explained))
		return;
	if (judge->eret)
		judge_fail(judge, "an exception return was executed and is not decoded as one");
	if (!skip_to(judge, &end))
		return;
	for (int i = 0; i < JUDGE_SIDES; i++) {
		static const uint8_t kinds[] = { LOG_TIMESTAMP, LOG_CYCLES, LOG_EVENT };
		uint64_t at = judge->sides[i];

		while (at < history->nevents && history->events[at].kind != kinds[i])
			at++;
		if (at < history->nevents)
			judge_fail(judge, "%s 0x%llx of the log (offset %zu) is not in the trace",
				   log_kind_name(kinds[i]), LLU(history->events[at].fields[0]),
				   history->events[at].offset);
	}
}

/* --- For the decoders and for people. --- */

const struct flowtap_code *judge_find(const struct judge *judge, bool user, uint64_t address)
{
	const struct history_place *place = &judge->place;
	const struct history *history = judge->history;
	const struct flowtap_code *code;
	const struct history_sync *sync;
	struct history_place at;

	if (!judge->lost || judge->hint >= history->nsyncs)
		return history_find(history, place, user, judge->config.configr, address);
	sync = &history->syncs[judge->hint];
	code = history_find(history, &sync->last, user, sync->config.configr, address);
	if (code)
		return code;
	/* Or it is what was executed next, if nothing was traced where the A-sync was made. */
	at = sync->last;
	while (at.item < history->events[sync->event].item) {
		if (history_event(history, &at))
			history_pass(history, &at);
		else
			history_go(history, &at, history_block(history, &at)->n - at.within);
	}
	return history_find(history, &at, user, sync->config.configr, address);
}

void judge_print(const struct judge *judge, FILE *file)
{
	struct history_place at = judge->where;
	const struct history *history = judge->history;
	size_t before = at.item < 6 ? at.item : 6;

	fprintf(file, "%s: %s\n", judge->decoder, judge->message);
	fprintf(file, "  after %llu instructions; the log there (item %zu, > is next):\n",
		LLU(judge->counts.instructions), at.item);
	for (size_t i = at.item - before; i < history->n && i < at.item + 6; i++) {
		struct history_place place = { .item = i };
		const struct history_event *event = history_event(history, &place);
		const struct log_block *block = history_block(history, &place);

		fprintf(file, "  %c ", i == at.item ? '>' : ' ');
		if (block) {
			fprintf(file, "block 0x%llx n=%u -> 0x%llx", LLU(block->address), block->n,
				LLU(block->next));
			if (i == at.item && at.within)
				fprintf(file, " (%u of them are after)", at.within);
			fputc('\n', file);
			continue;
		}
		fprintf(file, "%s", log_kind_name(event->kind));
		for (unsigned int f = 0; f < log_kind_nfields(event->kind); f++)
			fprintf(file, " 0x%llx", LLU(event->fields[f]));
		fprintf(file, " (offset %zu)\n", event->offset);
	}
}
