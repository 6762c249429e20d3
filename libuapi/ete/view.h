/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The code that a context sees, as far as it was asked for. A PE changes to and fro between few
 * contexts. All of it ends with a timestamp, where the images go by time, and with a gap.
 *
 * Other files read the fields, and put jumps where ete_jump_at says; the rest is done here.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_VIEW_H
#define FLOWTAP_LIBUAPI_ETE_VIEW_H

#include <flowtap/block.h>
#include <flowtap/ete.h>
#include <stddef.h>

#define ETE_JUMPS 1024
#define ETE_RECENT 32
#define ETE_VIEWS 8

/* Where indirect branches went: a block found by its address. */
struct ete_jump {
	uint64_t address;
	struct flowtap_block *block;
	const struct flowtap_code *code;
	uint32_t epoch;		/* of the view in which it was found */
	uint8_t isa;
};

struct ete_view {
	struct flowtap_context context;
	const struct flowtap_code *recent[ETE_RECENT];	/* by address */
	uint32_t epoch;		/* of the jumps that were found in it; 0: not in use */
};

struct ete_views {
	struct flowtap_context context;		/* the one that the analysis is in */
	struct ete_view *current;		/* what it sees */
	struct ete_view list[ETE_VIEWS];
	unsigned int oldest;
	uint32_t epochs;
	struct ete_jump jumps[ETE_JUMPS];
};

static inline bool ete_covers(const struct flowtap_code *code, uint64_t address)
{
	return code && address >= code->start && address < code->end;
}

/*
 * The code at `address` that the context sees if `isa` is executed there: found recently, or what
 * `find` gives, which may be NULL, or without bytes.
 */
static inline const struct flowtap_code *ete_views_find(struct ete_views *views,
							const struct flowtap_ete_images *images,
							enum flowtap_isa isa, uint64_t address)
{
	const struct flowtap_code **recent, *code;

	recent = &views->current->recent[(address >> 12 ^ address >> 17) % ETE_RECENT];
	if (ete_covers(*recent, address))
		return *recent;
	views->context.isa = isa;
	code = images->find(images->argument, &views->context, address);
	if (ete_covers(code, address) && code->bytes)
		*recent = code;
	return code;
}

/* Where a jump to the address is, or is to be put; it may be one to another address. */
static inline struct ete_jump *ete_jump_at(struct ete_views *views, uint64_t address)
{
	return &views->jumps[(address >> 2 ^ address >> 12) % ETE_JUMPS];
}

/* Nothing is known, of any context. */
void flowtap_ete_views_invalidate(struct ete_views *views);
/* The analysis is in this context from now on; what is known of it is known again. */
void flowtap_ete_views_select(struct ete_views *views, const struct flowtap_context *context);
/* Blocks are freed: no jump leads to one any more. */
void flowtap_ete_views_invalidate_blocks(struct ete_views *views);

#endif /* FLOWTAP_LIBUAPI_ETE_VIEW_H */
