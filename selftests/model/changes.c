// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A table of changes, each a function that makes one at random and says whether there was
 * anything to change.
 */
#include "changes.h"

#include <flowtap/ete_packet.h>
#include <stdlib.h>
#include <string.h>

#include "judge_internal.h"
#include "sysreg.h"
#include "simulation.h"

static void *copy(const void *from, size_t n, size_t size)
{
	void *to = malloc((n + 2) * size);

	if (!to)
		abort();
	if (n)
		memcpy(to, from, n * size);
	return to;
}

struct subject subject_borrow(const struct subject *of)
{
	struct subject subject = *of;

	subject.history.items = copy(of->history.items, of->history.n, sizeof(uint32_t));
	subject.history.blocks = copy(of->history.blocks, of->history.nblocks,
				      sizeof(struct log_block));
	subject.history.events = copy(of->history.events, of->history.nevents,
				      sizeof(struct history_event));
	subject.history.lost = copy(of->history.lost, of->history.nlost,
				    sizeof(struct history_lost));
	subject.history.syncs = copy(of->history.syncs, of->history.nsyncs,
				     sizeof(struct history_sync));
	subject.pieces = copy(of->pieces, of->npieces, sizeof(struct align_piece));
	return subject;
}

void subject_give_back(struct subject *subject)
{
	free(subject->history.items);
	free(subject->history.blocks);
	free(subject->history.events);
	free(subject->history.lost);
	free(subject->history.syncs);
	free(subject->pieces);
}

struct history_stored *subject_take_stored(struct subject *subject)
{
	struct history_stored *stored = copy(subject->history.stored, subject->history.nstored,
					     sizeof(*stored));
	size_t i = 0, at = 0;

	for (size_t k = 0; k < subject->history.nstored; k++) {
		while (i < subject->npieces && at == subject->pieces[i].n) {
			at = 0;
			i++;
		}
		if (i == subject->npieces || subject->pieces[i].n - at < stored[k].n)
			continue;
		stored[k].bytes = subject->pieces[i].bytes + at;
		at += stored[k].n;
	}
	subject->history.stored = stored;
	return stored;
}

/* --- Places to change. --- */

static const struct log_block *block_at(const struct subject *subject, size_t item)
{
	uint32_t index = subject->history.items[item];

	return index & HISTORY_EVENT ? NULL : &subject->history.blocks[index];
}

static struct history_event *event_at(const struct subject *subject, size_t item)
{
	uint32_t index = subject->history.items[item];

	return index & HISTORY_EVENT ? &subject->history.events[index & ~HISTORY_EVENT] : NULL;
}

/* A block that was decoded and is fit; HISTORY_NONE: there is none. */
static size_t some_block(struct subject *subject, bool (*fit)(const struct log_block *block))
{
	size_t n = subject->history.n, from = rng_below(&subject->rng, n);

	for (size_t i = 0; i < n; i++) {
		size_t item = (from + i) % n;
		const struct log_block *block = block_at(subject, item);

		if (block && subject->covered[item] && (!fit || fit(block)))
			return item;
	}
	return HISTORY_NONE;
}

static struct history_event *some_event(struct subject *subject, uint8_t kind, bool covered)
{
	size_t n = subject->history.n, from = rng_below(&subject->rng, n);

	for (size_t i = 0; i < n; i++) {
		size_t item = (from + i) % n;
		struct history_event *event = event_at(subject, item);

		if (event && event->kind == kind && (!covered || subject->covered[item]))
			return event;
	}
	return NULL;
}

/* The item has a block of its own from now on. */
static struct log_block *own_block(struct subject *subject, size_t item)
{
	struct history *history = &subject->history;

	history->blocks[history->nblocks] = *block_at(subject, item);
	history->items[item] = history->nblocks;
	return &history->blocks[history->nblocks++];
}

/* Events keep their place by index only, so items may be moved. */
static void insert(struct subject *subject, size_t at, uint32_t item)
{
	struct history *history = &subject->history;

	memmove(history->items + at + 1, history->items + at,
		(history->n++ - at) * sizeof(*history->items));
	history->items[at] = item;
	for (size_t i = 0; i < history->nevents; i++)
		history->events[i].item += history->events[i].item >= at;
	for (size_t i = 0; i < history->nsyncs; i++)
		history->syncs[i].start.item += history->syncs[i].start.item > at;
}

static bool long_enough(const struct log_block *block)
{
	return block->n > 1;
}

static bool conditional(const struct log_block *block)
{
	return block->branch == PE_DIRECT && !block->link;
}

static bool goes_back(const struct log_block *block)
{
	return block->eret;
}

/* --- Changes. False: there is nothing to be changed so. --- */

static bool first_instruction_missing(struct subject *subject)
{
	size_t item = some_block(subject, long_enough);
	struct log_block *block;

	if (item == HISTORY_NONE)
		return false;
	block = own_block(subject, item);
	block->address += 4;
	block->n--;
	return true;
}

static bool last_instruction_missing(struct subject *subject)
{
	size_t item = some_block(subject, long_enough);

	if (item == HISTORY_NONE)
		return false;
	own_block(subject, item)->n--;
	return true;
}

static bool block_missing(struct subject *subject)
{
	size_t item = some_block(subject, NULL);

	if (item == HISTORY_NONE)
		return false;
	/* Instructions elsewhere, at a level that is not traced, would be as good as none. */
	own_block(subject, item)->address ^= 0x100000;
	return true;
}

static bool block_twice(struct subject *subject)
{
	size_t item = some_block(subject, NULL);

	if (item == HISTORY_NONE)
		return false;
	insert(subject, item, subject->history.items[item]);
	return true;
}

static bool branch_other_way(struct subject *subject)
{
	size_t item = some_block(subject, conditional);

	if (item == HISTORY_NONE)
		return false;
	own_block(subject, item)->taken ^= true;
	return true;
}

static bool no_exception_return(struct subject *subject)
{
	size_t item = some_block(subject, goes_back);

	if (item == HISTORY_NONE)
		return false;
	own_block(subject, item)->eret = false;
	return true;
}

static bool blocks_swapped(struct subject *subject)
{
	size_t item = some_block(subject, NULL), next = item + 1;
	uint32_t *items = subject->history.items, first;

	if (item == HISTORY_NONE || next >= subject->history.n || !block_at(subject, next) ||
	    !subject->covered[next] ||
	    block_at(subject, item)->address == block_at(subject, next)->address)
		return false;
	first = items[item];
	items[item] = items[next];
	items[next] = first;
	return true;
}

static bool change_field(struct subject *subject, uint8_t kind, unsigned int field, uint64_t xor)
{
	struct history_event *event = some_event(subject, kind, true);

	if (event)
		event->fields[field] ^= xor;
	return event;
}

static bool remove_event(struct subject *subject, uint8_t kind)
{
	struct history_event *event = some_event(subject, kind, true);

	/* A kind that says nothing. */
	if (event)
		event->kind = LOG_BUFFER;
	return event;
}

static bool exception_number(struct subject *subject)
{
	struct history_event *event = some_event(subject, LOG_EXCEPTION, true);

	if (event)
		event->fields[0] = event->fields[0] == PE_IRQ ? PE_FIQ : PE_IRQ;
	return event;
}

static bool exception_class(struct subject *subject)
{
	struct history_event *event = some_event(subject, LOG_EXCEPTION, true);

	if (!event || event->fields[0] != PE_SYNCHRONOUS)
		return false;
	event->fields[1] = (event->fields[1] >> 26 == 0x15 ? 0x24U : 0x15U) << 26;
	return true;
}

static bool exception_address(struct subject *subject)
{
	return change_field(subject, LOG_EXCEPTION, 2, 4);
}

static bool exception_missing(struct subject *subject)
{
	return remove_event(subject, LOG_EXCEPTION);
}

/* What is executed there has to be traced, for it to matter. */
static bool exception_level(struct subject *subject)
{
	struct history_event *event = some_event(subject, LOG_EXCEPTION, true);

	if (!event || event->item + 1 >= subject->history.n || !subject->covered[event->item + 1] ||
	    !block_at(subject, event->item + 1))
		return false;
	event->fields[4] ^= 3;
	return true;
}

static bool timestamp_other(struct subject *subject)
{
	return change_field(subject, LOG_TIMESTAMP, 0, 1);
}

static bool timestamp_missing(struct subject *subject)
{
	return remove_event(subject, LOG_TIMESTAMP);
}

static bool cycles_other(struct subject *subject)
{
	return change_field(subject, LOG_CYCLES, 0, 2);
}

static bool cycles_missing(struct subject *subject)
{
	return remove_event(subject, LOG_CYCLES);
}

/* An event of this kind that the log does not have, in the middle of what was decoded. */
static bool add_event(struct subject *subject, uint8_t kind, uint64_t first)
{
	struct history *history = &subject->history;
	size_t item = some_block(subject, NULL);
	struct history_event event = { .kind = kind, .fields = { first }, .item = item };
	size_t index = 0;

	if (item == HISTORY_NONE)
		return false;
	while (index < history->nevents && history->events[index].item < item)
		index++;
	/* Decoding begins at the first A-sync. */
	if (!history->nsyncs || index <= history->syncs[0].event)
		return false;
	memmove(history->events + index + 1, history->events + index,
		(history->nevents++ - index) * sizeof(*history->events));
	for (size_t i = 0; i < history->n; i++)
		if (history->items[i] & HISTORY_EVENT &&
		    (history->items[i] & ~HISTORY_EVENT) >= index)
			history->items[i]++;
	for (size_t i = 0; i < history->nsyncs; i++)
		history->syncs[i].event += history->syncs[i].event >= index;
	insert(subject, item, HISTORY_EVENT | index);
	history->events[index] = event;
	return true;
}

static bool timestamp_extra(struct subject *subject)
{
	return add_event(subject, LOG_TIMESTAMP, 0x123456);
}

static bool overflow_extra(struct subject *subject)
{
	return add_event(subject, LOG_OVERFLOW, 0);
}

static bool context_other(struct subject *subject)
{
	return add_event(subject, LOG_CONTEXT, 0x5a5a);
}

static bool level_other(struct subject *subject)
{
	return add_event(subject, LOG_RETURN, 3);
}

static bool tracing_stops(struct subject *subject)
{
	return add_event(subject, LOG_TRACING, LOG_PROHIBITED);
}

static bool exception_extra(struct subject *subject)
{
	return add_event(subject, LOG_EXCEPTION, PE_IRQ);
}

/* Everything was to be traced from the first session on: what came between them is missing. */
static bool tracing_goes_on(struct subject *subject)
{
	struct history *history = &subject->history;
	bool found = false, after = false;

	for (size_t i = 0; i < history->nevents; i++) {
		struct history_event *event = &history->events[i];

		if (event->kind != LOG_TRACING && event->kind != LOG_FILTER)
			continue;
		/* It has to be seen by instructions that are not traced. */
		found |= after && event->kind == LOG_FILTER && !event->fields[0];
		if (event->kind == LOG_FILTER)
			event->fields[0] = 1;
		after = true;
	}
	return found;
}

static bool overflow_missing(struct subject *subject)
{
	struct history_event *event = some_event(subject, LOG_OVERFLOW, true);

	if (event)
		event->kind = LOG_BUFFER;
	return event;
}

/* The stored bytes keep their places, so that there is a hole that the log does not tell of. */
static bool loss_missing(struct subject *subject)
{
	if (!subject->history.nlost || !subject->skipped)
		return false;
	subject->history.nlost = 0;
	return true;
}

static bool piece_missing(struct subject *subject)
{
	size_t which = rng_below(&subject->rng, subject->npieces);

	memmove(subject->pieces + which, subject->pieces + which + 1,
		(--subject->npieces - which) * sizeof(*subject->pieces));
	return true;
}

static bool piece_twice(struct subject *subject)
{
	size_t which = rng_below(&subject->rng, subject->npieces);

	memmove(subject->pieces + which + 1, subject->pieces + which,
		(subject->npieces++ - which) * sizeof(*subject->pieces));
	return true;
}

/* What one byte of the collected became is put back by change_undo. */
static uint8_t *undo_at, undo_byte;

static void set_byte(uint8_t *at, uint8_t byte)
{
	undo_at = at;
	undo_byte = *at;
	*at = byte;
}

void change_undo(void)
{
	if (undo_at)
		*undo_at = undo_byte;
	undo_at = NULL;
}

static bool byte_other(struct subject *subject)
{
	size_t which = rng_below(&subject->rng, subject->npieces);
	uint8_t *bytes = (uint8_t *)subject->pieces[which].bytes;
	size_t at = rng_below(&subject->rng, subject->pieces[which].n);

	set_byte(bytes + at, bytes[at] ^ 1 << rng_below(&subject->rng, 8));
	return true;
}

/* The same in the trace itself, in what was stored and in what was collected: E for N. */
static bool atom_other(struct subject *subject)
{
	struct history *history = &subject->history;
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	uint8_t *bytes = malloc(history->stored_bytes + 1);
	size_t from, at = 0, used, found = SIZE_MAX;

	if (!bytes)
		abort();
	for (size_t i = 0; i < history->nstored; i++)
		memcpy(bytes + history->stored[i].at, history->stored[i].bytes, history->stored[i].n);
	from = rng_below(&subject->rng, history->stored_bytes);
	flowtap_ete_parser_init(&parser, &history->config);
	while (at < history->stored_bytes) {
		used = flowtap_ete_parse(&parser, bytes + at, history->stored_bytes - at, &packet);
		if (!used)
			break;
		/* Atom format 1, N: a conditional branch. E may be of ISB, which goes on anyway. */
		if (used == 1 && bytes[at] == 0xf6 && (found == SIZE_MAX || at <= from))
			found = at;
		at += used;
	}
	free(bytes);
	if (found == SIZE_MAX || history->nlost)
		return false;
	for (size_t i = 0, piece = 0; i < subject->npieces; piece += subject->pieces[i++].n) {
		if (found - piece >= subject->pieces[i].n)
			continue;
		set_byte((uint8_t *)subject->pieces[i].bytes + (found - piece),
			 subject->pieces[i].bytes[found - piece] ^ 1);
	}
	return undo_at;
}

#define ALWAYS(name, make)	{ name, make, false, false }
#define WHOLE(name, make)	{ name, make, true, false }

const struct change changes[CHANGES] = {
	ALWAYS("the first instruction of a block missing", first_instruction_missing),
	ALWAYS("the last instruction of a block missing", last_instruction_missing),
	ALWAYS("a block executed elsewhere", block_missing),
	WHOLE("a block executed twice", block_twice),
	WHOLE("two blocks swapped", blocks_swapped),
	ALWAYS("a conditional branch that went the other way", branch_other_way),
	ALWAYS("an exception return that was none", no_exception_return),
	ALWAYS("an interrupt of another kind", exception_number),
	ALWAYS("an exception of another class", exception_class),
	ALWAYS("an exception's other return address", exception_address),
	ALWAYS("an exception missing", exception_missing),
	ALWAYS("an exception taken to another level", exception_level),
	WHOLE("an exception that was not", exception_extra),
	WHOLE("another exception level", level_other),
	WHOLE("another context ID", context_other),
	ALWAYS("another timestamp", timestamp_other),
	ALWAYS("a timestamp missing", timestamp_missing),
	WHOLE("a timestamp too many", timestamp_extra),
	ALWAYS("another cycle count", cycles_other),
	ALWAYS("a cycle count missing", cycles_missing),
	WHOLE("tracing that stops", tracing_stops),
	WHOLE("a filter that does not", tracing_goes_on),
	ALWAYS("an overflow missing", overflow_missing),
	WHOLE("an overflow that was not", overflow_extra),
	ALWAYS("a loss missing", loss_missing),
	ALWAYS("a piece of the dump missing", piece_missing),
	ALWAYS("a piece of the dump twice", piece_twice),
	ALWAYS("a bit of the dump other", byte_other),
	{ "an atom of the trace other", atom_other, true, true },
};
