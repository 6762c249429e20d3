// SPDX-License-Identifier: GPL-2.0-or-later
/* Takes a log into memory. */
#include "history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pe.h"
#include "sysreg.h"

/* Registers that a decoder has to know, by their offset in the memory map. */
static const struct {
	uint16_t offset;
	uint16_t field;
} registers[] = {
	{ 0x010, offsetof(struct flowtap_ete_config, configr) },
	{ 0x040, offsetof(struct flowtap_ete_config, traceidr) },
	{ 0x180, offsetof(struct flowtap_ete_config, idr8) },
	{ 0x1e0, offsetof(struct flowtap_ete_config, idr0) },
	{ 0x1e4, offsetof(struct flowtap_ete_config, idr1) },
	{ 0x1e8, offsetof(struct flowtap_ete_config, idr2) },
	{ 0xfbc, offsetof(struct flowtap_ete_config, devarch) },
};

/* Room for one more of an array of n, which doubles at each power of two. */
static bool grow(void *array, size_t n, size_t size)
{
	void **at = array, *more;

	if (n & (n - 1) || (n && n < 64))
		return true;
	more = realloc(*at, (n ? 2 * n : 64) * size);
	if (!more)
		return false;
	*at = more;
	return true;
}

bool history_p0(const struct flowtap_ete_config *config, const struct log_block *block)
{
	if (block->branch == PE_WFX)
		return flowtap_ete_wfx_is_p0(config);
	return block->branch != PE_NONE;
}

struct history_place history_begin(void)
{
	return (struct history_place){ .state = { .active = true } };
}

static void apply(struct history_state *state, const struct history_event *event)
{
	const uint64_t *fields = event->fields;

	switch (event->kind) {
	case LOG_EXCEPTION:
		state->el = fields[4] & 3;
		break;
	case LOG_RETURN:
		state->el = fields[0] & 3;
		break;
	case LOG_CONTEXT:
		state->contextidr_el1 = fields[0];
		state->contextidr_el2 = fields[1];
		break;
	case LOG_TRACING:
		if (state->tracing == LOG_DISABLED)
			state->active = true;
		state->tracing = fields[0];
		state->els = fields[1];
		state->el = fields[2] & 3;
		break;
	case LOG_FILTER:
		state->active = fields[0];
		break;
	default:
		break;
	}
}

void history_pass(const struct history *history, struct history_place *place)
{
	apply(&place->state, history_event(history, place));
	place->item++;
}

const struct flowtap_code *history_find(const struct history *history,
					const struct history_place *place, bool user,
					uint32_t configr, uint64_t address)
{
	struct history_place at = *place;
	const struct log_block *block;
	size_t end = place->item + 4096;

	/* Where execution comes next at that exception level: whose code it is. */
	for (; at.item < history->n && at.item < end; ) {
		block = history_block(history, &at);
		if (block && (at.state.el == 0) == user)
			return history_code_find(history->code, user, &at.state, configr,
						 at.item, address);
		if (block)
			history_go(history, &at, block->n - at.within);
		else
			history_pass(history, &at);
	}
	return history_code_find(history->code, user, &place->state, configr, place->item,
				 address);
}

struct loading {
	struct history *history;
	struct history_place place;	/* item is that of the next */
	struct history_place start;	/* after the last P0 */
	struct history_place before;	/* after the one before that */
	struct history_place last;	/* the last block */
	uint32_t *slots;		/* the block in each */
};

static int full(struct history *history)
{
	snprintf(history->error, sizeof(history->error), "no memory");
	return -ENOMEM;
}

size_t history_limit = 1U << 29;

static int add_item(struct history *history, uint32_t item)
{
	if (history->n >= history_limit) {
		snprintf(history->error, sizeof(history->error), "log: more than %zu blocks",
			 history_limit);
		return -EFBIG;
	}
	if (!grow(&history->items, history->n, sizeof(*history->items)))
		return full(history);
	history->items[history->n++] = item;
	return 0;
}

static void run_ends(struct loading *loading)
{
	loading->before = loading->start;
	loading->start = loading->place;
}

static int take_block(struct loading *loading, const struct log_item *item)
{
	struct history *history = loading->history;
	uint32_t index;
	int err;

	if (item->fresh) {
		if (!grow(&history->blocks, history->nblocks, sizeof(*history->blocks)) ||
		    history->nblocks == HISTORY_EVENT)
			return full(history);
		loading->slots[item->slot] = history->nblocks;
		history->blocks[history->nblocks++] = item->block;
	}
	index = loading->slots[item->slot];
	loading->last = loading->place;
	err = history_code_add(history->code, index, &item->block, &loading->place.state,
			       history->config.configr, history->n);
	if (err)
		return full(history);
	err = add_item(history, index);
	if (err)
		return err;
	history->instructions += item->block.n;
	loading->place.item = history->n;
	if (history_p0(&history->config, &item->block))
		run_ends(loading);
	return 0;
}

static void set_register(struct history *history, uint64_t reg, uint64_t value)
{
	if (history->override)
		return;
	for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++)
		if (reg == (uint64_t)SYSREG_TRACE(registers[i].offset))
			*(uint32_t *)((char *)&history->config + registers[i].field) = value;
}

static int take_sync(struct loading *loading, const struct history_event *event)
{
	struct history *history = loading->history;
	uint64_t offset = event->fields[0];
	struct history_sync *sync;

	if (offset > UINT64_MAX / 2) {
		snprintf(history->error, sizeof(history->error), "log, offset %zu: sync at %llu",
			 event->offset, (unsigned long long)offset);
		return -EBADMSG;
	}
	if (!grow(&history->syncs, history->nsyncs, sizeof(*history->syncs)))
		return full(history);
	if (history->nsyncs && history->syncs[history->nsyncs - 1].offset >= offset) {
		snprintf(history->error, sizeof(history->error),
			 "log, offset %zu: sync at %llu, not after the one before", event->offset,
			 (unsigned long long)offset);
		return -EBADMSG;
	}
	sync = &history->syncs[history->nsyncs++];
	*sync = (struct history_sync){
		.offset = offset, .event = history->nevents - 1, .loss = history->nlost,
		.start = loading->before, .last = loading->last,
		.config = history->config,
	};
	return 0;
}

static int take_lost(struct loading *loading, const struct history_event *event)
{
	struct history *history = loading->history;
	uint64_t n = event->fields[0], offset = event->fields[1];

	if (!n)
		return 0;
	if (offset > UINT64_MAX / 4 || n > UINT64_MAX / 4) {
		snprintf(history->error, sizeof(history->error), "log, offset %zu: lost %llu at %llu",
			 event->offset, (unsigned long long)n, (unsigned long long)offset);
		return -EBADMSG;
	}
	if (!grow(&history->lost, history->nlost, sizeof(*history->lost)))
		return full(history);
	history->lost[history->nlost++] = (struct history_lost){
		.offset = offset, .n = n, .item = event->item, .reason = event->fields[2],
	};
	return 0;
}

static int take_stored(struct loading *loading, const struct log_item *item)
{
	struct history *history = loading->history;

	if (!item->fields[0])
		return 0;
	if (!grow(&history->stored, history->nstored, sizeof(*history->stored)))
		return full(history);
	history->stored[history->nstored++] = (struct history_stored){
		.at = history->stored_bytes, .address = item->fields[1], .n = item->fields[0],
		.bytes = item->bytes, .item = history->n,
	};
	history->stored_bytes += item->fields[0];
	return 0;
}

static int take_event(struct loading *loading, const struct log_item *item)
{
	struct history *history = loading->history;
	struct history_event *event;
	int err;

	if (item->kind == LOG_STORED)
		return take_stored(loading, item);
	if (item->kind == LOG_REGISTER)
		set_register(history, item->fields[0], item->fields[1]);
	if (!grow(&history->events, history->nevents, sizeof(*history->events)) ||
	    history->nevents == HISTORY_EVENT)
		return full(history);
	event = &history->events[history->nevents];
	*event = (struct history_event){ .kind = item->kind, .item = history->n,
					 .offset = item->offset };
	memcpy(event->fields, item->fields, item->nfields * sizeof(item->fields[0]));
	err = add_item(history, HISTORY_EVENT | history->nevents++);
	if (err)
		return err;
	history->violations += item->kind == LOG_VIOLATION;
	apply(&loading->place.state, event);
	loading->place.item = history->n;
	if (item->kind == LOG_EXCEPTION || item->kind == LOG_RESET)
		run_ends(loading);
	if (item->kind == LOG_EXCEPTION || item->kind == LOG_RESET || item->kind == LOG_RETURN ||
	    item->kind == LOG_TRACING)
		history_code_enter(history->code);
	/* Nothing of before is in a run that begins after it. */
	if (item->kind == LOG_OVERFLOW)
		loading->before = loading->start = loading->place;
	if (item->kind == LOG_SYNC)
		return take_sync(loading, event);
	return item->kind == LOG_LOST ? take_lost(loading, event) : 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct history_lost *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

/*
 * What was stored has no offset in the log: it is what comes next and is not lost. A piece that
 * goes on after a loss is split.
 */
static int place_stored(struct history *history)
{
	struct history_stored *whole = history->stored, *out = NULL;
	size_t nout = 0, next = 0;
	uint64_t offset = 0;

	if (history->nlost)
		qsort(history->lost, history->nlost, sizeof(*history->lost), by_offset);
	for (size_t i = 1; i < history->nlost; i++) {
		if (history->lost[i].offset >= history->lost[i - 1].offset + history->lost[i - 1].n)
			continue;
		snprintf(history->error, sizeof(history->error),
			 "log: bytes of the stream from %llu on are lost twice",
			 (unsigned long long)history->lost[i].offset);
		return -EBADMSG;
	}
	for (size_t i = 0; i < history->nstored; i++) {
		struct history_stored left = whole[i];

		while (left.n) {
			struct history_stored part;

			for (; next < history->nlost && history->lost[next].offset == offset; next++)
				offset += history->lost[next].n;
			part = left;
			part.offset = offset;
			if (next < history->nlost && history->lost[next].offset - offset < part.n)
				part.n = history->lost[next].offset - offset;
			if (!grow(&out, nout, sizeof(*out))) {
				free(out);
				return full(history);
			}
			out[nout++] = part;
			offset += part.n;
			left.bytes += part.n;
			left.at += part.n;
			left.address += part.n;
			left.n -= part.n;
		}
	}
	free(whole);
	history->stored = out;
	history->nstored = nout;
	return 0;
}

static int take_all(struct loading *loading)
{
	struct log_reader *reader = calloc(1, sizeof(*reader));
	struct history *history = loading->history;
	struct log_item item;
	int err;

	if (!reader)
		return full(history);
	err = log_reader_init(reader, history->pe_file, &history->pieces);
	while (!err && (err = log_read(reader, &item)) == 1)
		err = item.kind == LOG_BLOCK ? take_block(loading, &item) :
					       take_event(loading, &item);
	if (err && !history->error[0])
		snprintf(history->error, sizeof(history->error), "log, %s", reader->error);
	free(reader);
	return err;
}

static int load(struct history *history, const struct flowtap_ete_config *config)
{
	struct loading loading = { .history = history };
	char error[160];
	int err;

	err = log_pieces_read(&history->pieces, history->code_file, error);
	if (err) {
		snprintf(history->error, sizeof(history->error), "%s", error);
		return err;
	}
	history->code = history_code_new();
	loading.slots = calloc(LOG_SLOTS, sizeof(*loading.slots));
	loading.place = loading.start = loading.before = loading.last = history_begin();
	if (config) {
		history->config = *config;
		history->override = true;
	}
	err = history->code && loading.slots ? take_all(&loading) : full(history);
	free(loading.slots);
	if (!err && history_code_finish(history->code))
		err = full(history);
	return err ? err : place_stored(history);
}

int history_take(struct history *history, struct log_bytes code, struct log_bytes pe,
		 const struct flowtap_ete_config *config)
{
	memset(history, 0, sizeof(*history));
	history->code_file = code;
	history->pe_file = pe;
	return load(history, config);
}

int history_read(struct history *history, const char *prefix, unsigned int pe,
		 const struct flowtap_ete_config *config)
{
	char path[4096];
	int err;

	memset(history, 0, sizeof(*history));
	snprintf(path, sizeof(path), "%s.code", prefix);
	err = log_map(path, &history->code_file);
	if (!err) {
		snprintf(path, sizeof(path), "%s.%u", prefix, pe);
		err = log_map(path, &history->pe_file);
	}
	if (err) {
		snprintf(history->error, sizeof(history->error), "%.150s: %s", path, strerror(-err));
		return err;
	}
	return load(history, config);
}

void history_free(struct history *history)
{
	history_code_free(history->code);
	free(history->items);
	free(history->blocks);
	free(history->events);
	free(history->syncs);
	free(history->stored);
	free(history->lost);
	log_pieces_free(&history->pieces);
}
