/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What each atom costs: from a block to the one that is known to come after it. */
#ifndef FLOWTAP_LIBUAPI_ETE_BLOCK_CHAIN_H
#define FLOWTAP_LIBUAPI_ETE_BLOCK_CHAIN_H

#include "ete/internal.h"

/*
 * The block at an address that an indirect branch led to before, where nothing else is to be done.
 */
static inline void ete_find_target(struct flowtap_ete *ete)
{
	struct ete_position *position = &ete->position;
	const struct ete_jump *jump = ete_jump_at(&ete->views, position->address);

	if (jump->address == position->address && jump->epoch == ete->views.current->epoch &&
	    jump->block && jump->isa == ete_isa(ete) && !position->last &&
	    position->state == ETE_ADDRESS_KNOWN && ete_has_context(position) &&
	    !ete_returns_pending(&ete->returns)) {
		ete_set_block(position, jump->block);
		ete_set_code(position, jump->code);
	}
}

/* Of what has the same key: the same bytes can be there to another extent. No block wraps. */
static inline bool ete_between(uint64_t start, uint64_t end, const struct flowtap_block *block)
{
	return likely(block->address >= start) && likely(block->address + block->size <= end);
}

/* Whether the chain may be followed: the block lies in the code that is there now. */
static inline bool ete_inside(const struct flowtap_code *code, const struct flowtap_block *block)
{
	return block->key == code->key && ete_between(code->start, code->end, block);
}

/* Where a call returns to; the block there becomes the next one in its chain. */
static inline void ete_set_return_address(struct flowtap_ete *ete, const struct ete_return *entry)
{
	ete_set_address_from(&ete->position, entry->address, entry->sub_isa, entry->caller, false);
}

/* An indirect branch was taken to an address that the trace has. */
static inline int ete_jump_to(struct flowtap_ete *ete, struct flowtap_block *block, bool initial,
			      uint64_t address, uint8_t sub_isa)
{
	if (block->link & initial)
		ete_push_return(&ete->returns, block);
	ete_set_address(&ete->position, address, sub_isa);
	return ete_emit_block(ete, block, true, address);
}

/* Whether an indirect branch ends the block that needs no further element. */
static inline bool ete_is_jump(const struct flowtap_block *block)
{
	return block->end >= FLOWTAP_ARM_INDIRECT && block->end <= FLOWTAP_ARM_RETURN;
}

/*
 * As many of the atoms, each followed by another P0 element, as there are blocks known to
 * come one after the other from the position's block on, which is the next one then. No atom goes
 * the long path that can go this one: this loop is what decoding costs. Returns how many; *status
 * is the sink's.
 */
static inline unsigned int ete_follow_chain(struct flowtap_ete *ete, uint64_t taken,
					    unsigned int count, int *status)
{
	const struct flowtap_code *code = ete->position.code;
	struct flowtap_block *block = ete->position.block, *next;
	struct flowtap_sink *sink = ete->sink;
	uint64_t instructions = 0, start, end;
	unsigned int left = count;
	uint64_t e;

	if (!block || !count)
		return 0;
	start = code->start;
	end = code->end;
	do {
		e = taken & 1;
		taken >>= 1;
		/*
		 * A target is that of a direct branch; the next block may be that after a call. The
		 * chain does not leave what has the same key. Nobody can guess the path, so that
		 * there is no branch for it.
		 */
		next = block->successor[e];
		if (likely(next && (e | block->conditional) && ete_between(start, end, next))) {
			if (block->link & e)
				ete_push_return(&ete->returns, block);
		} else {
			next = flowtap_ete_find_successor(ete, block, e);
			if (!next)
				break;
			code = ete->position.code;
			start = code->start;
			end = code->end;
		}
		block->executed++;
		instructions += block->instructions;
		*status = sink->block(sink, block, e, next->address);
		block = next;
		left--;
	} while (left && likely(!*status));
	ete_set_block(&ete->position, block);
	ete->counts.blocks += count - left;
	ete->counts.instructions += instructions;
	return count - left;
}

#endif /* FLOWTAP_LIBUAPI_ETE_BLOCK_CHAIN_H */
