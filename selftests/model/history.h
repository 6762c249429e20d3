/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The log of one PE in memory: what it executed in order, with what bears upon its trace, the bytes
 * that were stored, and the code at each time. Places in it can be gone to and on from.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_HISTORY_H
#define FLOWTAP_SELFTESTS_MODEL_HISTORY_H

#include <flowtap/ete.h>
#include <flowtap/address_map.h>

#include "log_read.h"

#define HISTORY_EVENT	(1U << 31)	/* in an item: it is an event's index, else a block's */
#define HISTORY_NONE	SIZE_MAX

/* What holds at a place. */
struct history_state {
	uint8_t el;
	uint8_t els;		/* allowed, bits */
	uint8_t tracing;	/* enum log_tracing */
	bool active;		/* LOG_FILTER */
	uint32_t contextidr_el1;
	uint32_t contextidr_el2;
};

struct history_place {
	size_t item;
	uint32_t within;	/* instructions of the block before it */
	struct history_state state;
};

struct history_event {
	uint64_t fields[LOG_FIELDS];
	size_t item;
	size_t offset;		/* in the file */
	uint8_t kind;
};

/* An A-sync. */
struct history_sync {
	uint64_t offset;	/* in the unit's stream */
	size_t event;
	size_t loss;		/* LOG_LOST events before it */
	/* Decoding begins with a run from here or the next P0 instruction on: what is executed is
	 * told to the log first, and the A-sync comes before the last element of that. */
	struct history_place start;
	struct history_place last;	/* the block that was executed when it was made */
	struct flowtap_ete_config config;
};

/* Bytes that came to memory. */
struct history_stored {
	uint64_t offset;	/* of the unit's stream */
	uint64_t at;		/* in the file that all of them would make */
	uint64_t address;
	uint64_t n;
	const uint8_t *bytes;
	size_t item;
};

/* Bytes that did not. */
struct history_lost {
	uint64_t offset;
	uint64_t n;
	size_t item;
	uint8_t reason;
};

struct history {
	struct log_bytes code_file;
	struct log_bytes pe_file;
	struct log_pieces pieces;
	uint32_t *items;
	size_t n;
	struct log_block *blocks;
	size_t nblocks;
	struct history_event *events;
	size_t nevents;
	struct history_sync *syncs;
	size_t nsyncs;
	struct history_stored *stored;
	size_t nstored;
	uint64_t stored_bytes;
	struct history_lost *lost;	/* by offset */
	size_t nlost;
	struct flowtap_ete_config config;	/* the last */
	bool override;			/* config came from elsewhere: registers do not change it */
	struct history_code *code;
	uint64_t instructions;
	uint64_t violations;
	char error[200];
};

/*
 * config: NULL, the log's registers say it. 0; a negative errno with a line in history->error. Must
 * be freed in both cases.
 */
int history_read(struct history *history, const char *prefix, unsigned int pe,
		 const struct flowtap_ete_config *config);
/* The same of files that the caller lends. */
int history_take(struct history *history, struct log_bytes code, struct log_bytes pe,
		 const struct flowtap_ete_config *config);
void history_free(struct history *history);

/*
 * So many blocks and events a log may have at most: a few bytes can say that a loop ran for ever.
 */
extern size_t history_limit;

/* The first place. */
struct history_place history_begin(void);
/* The event at the place, NULL: an instruction or the end. */
static inline const struct history_event *history_event(const struct history *history,
							const struct history_place *place)
{
	uint32_t item;

	if (place->item >= history->n)
		return NULL;
	item = history->items[place->item];
	return item & HISTORY_EVENT ? &history->events[item & ~HISTORY_EVENT] : NULL;
}

/* The block at the place, of which `within` instructions are after it; NULL: event or end. */
static inline const struct log_block *history_block(const struct history *history,
						    const struct history_place *place)
{
	uint32_t item;

	if (place->item >= history->n)
		return NULL;
	item = history->items[place->item];
	return item & HISTORY_EVENT ? NULL : &history->blocks[item];
}

/* Over the event at the place: the state is as it says. */
void history_pass(const struct history *history, struct history_place *place);
/* Over n instructions of the block at the place, no more than it has. */
static inline void history_go(const struct history *history, struct history_place *place,
			      uint32_t n)
{
	place->within += n;
	if (place->within == history->blocks[history->items[place->item]].n) {
		place->within = 0;
		place->item++;
	}
}

/* Whether instructions here may be traced, and whether they must be. */
static inline bool history_allowed(const struct history_state *state)
{
	return state->tracing == LOG_TRACED && state->els >> state->el & 1;
}

static inline bool history_traced(const struct history_state *state)
{
	return history_allowed(state) && state->active;
}

/* Whether a block ends with a P0 instruction by this configuration (K10.5.5.2). */
bool history_p0(const struct flowtap_ete_config *config, const struct log_block *block);

/*
 * The page of code that stands at the address where execution is at the place or comes next: 4 KiB,
 * zeros where nothing was executed. `user`: at EL0. configr: TRCCONFIGR, which says what a decoder
 * can tell address spaces by. NULL: nothing was executed in the page.
 */
const struct flowtap_code *history_find(const struct history *history,
					const struct history_place *place, bool user,
					uint32_t configr, uint64_t address);

/* history_code.c; used by history.c. */
struct history_code *history_code_new(void);
void history_code_free(struct history_code *code);
/* Another process may be executed from here on, whether or not the trace names it. */
void history_code_enter(struct history_code *code);
/* The block was executed as item `item`. 0 or -ENOMEM. */
int history_code_add(struct history_code *code, uint32_t index, const struct log_block *block,
		     const struct history_state *state, uint32_t configr, size_t item);
/* All was added: what was not executed in a page is as it was executed in others of its address. */
int history_code_finish(struct history_code *code);
const struct flowtap_code *history_code_find(const struct history_code *code, bool user,
					     const struct history_state *state, uint32_t configr,
					     size_t item, uint64_t address);

#endif
