/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What each atom costs: from a block to the one that is known to come after it. */
#ifndef ETE_CHAIN_H
#define ETE_CHAIN_H

#include "ete_internal.h"

static inline struct ete_jump *ete_jump_at(struct flowtap_ete *ete, uint64_t address)
{
	return &ete->jumps[(address >> 2 ^ address >> 12) % ETE_JUMPS];
}

/* The block at an address that an indirect branch led to before, where nothing else is to be done. */
static inline void ete_land(struct flowtap_ete *ete)
{
	const struct ete_jump *jump = ete_jump_at(ete, ete->address);

	if (jump->address == ete->address && jump->epoch == ete->view->epoch && jump->block &&
	    jump->isa == ete_isa(ete) && !ete->last && ete->where == ETE_KNOWN &&
	    ete->has_context && !ete->clear_pending) {
		ete->block = jump->block;
		ete->code = jump->code;
	}
}

/* Whether the chain may be followed: the block lies in the code that is there now. */
static inline bool ete_inside(const struct flowtap_code *code, const struct flowtap_block *block)
{
	uint64_t offset = block->address - code->start, size = code->end - code->start;

	return (block->key == code->key) & (offset < size) && block->size <= size - offset;
}

static inline void ete_push_return(struct flowtap_ete *ete, struct flowtap_block *block)
{
	struct ete_return *entry;

	if (!ete->returns)
		return;
	ete->top = (ete->top + 1) % 16;
	entry = &ete->stack[ete->top];
	entry->address = ete_behind(block);
	entry->caller = block;
	entry->sub_isa = block->isa == FLOWTAP_ISA_T32;
	if (ete->depth < ETE_STACK)
		ete->depth++;
}

static inline void ete_drop_return(struct flowtap_ete *ete)
{
	ete->top = (ete->top + 15) % 16;
	ete->depth--;
}

static inline bool ete_pop_return(struct flowtap_ete *ete, struct ete_return *entry)
{
	if (!ete->depth)
		return false;
	*entry = ete->stack[ete->top];
	ete_drop_return(ete);
	return true;
}

/* Where a call returns to; the block there becomes the next one in its chain. */
static inline void ete_go_back(struct flowtap_ete *ete, const struct ete_return *entry)
{
	ete_go(ete, entry->address, entry->sub_isa);
	ete->last = entry->caller;
	ete->last_taken = false;
}

/*
 * The block at an address that `from` leads to, if it was found before. Within the same code it is
 * in the chain of `from`, or will be.
 */
static inline struct flowtap_block *ete_known(struct flowtap_ete *ete, uint64_t address,
					      enum flowtap_isa isa,
					      const struct flowtap_block *from)
{
	const struct ete_jump *jump = ete_jump_at(ete, address);

	if (jump->address != address || jump->epoch != ete->view->epoch || !jump->block ||
	    jump->isa != isa || jump->code->key == from->key)
		return NULL;
	ete->code = jump->code;
	return jump->block;
}

/* The block behind that of the call which an indirect branch returns from, if it is known. */
static inline struct flowtap_block *ete_return_to(struct flowtap_ete *ete,
						  const struct flowtap_block *block)
{
	struct ete_return *entry = &ete->stack[ete->top];
	struct flowtap_block *next;

	if (!ete->depth || !entry->caller || block->link ||
	    (block->end != FLOWTAP_ARM_RETURN && block->end != FLOWTAP_ARM_INDIRECT))
		return NULL;
	next = entry->caller->next;
	if (!next || !ete_inside(ete->code, next))
		next = ete_known(ete, entry->address, entry->caller->isa, block);
	if (next)
		ete_drop_return(ete);
	return next;
}

/*
 * As many of the atoms, behind each of which is another P0 element, as there are blocks known to
 * come one after the other from ete->block on, which is at the next one then. No atom goes the long
 * way that can go this one: this loop is what decoding costs. Returns how many; *status is the
 * sink's.
 */
static inline unsigned int ete_chain(struct flowtap_ete *ete, uint32_t taken, unsigned int count,
				     int *status)
{
	struct flowtap_block *block = ete->block, *next;
	struct flowtap_sink *sink = ete->sink;
	uint64_t instructions = 0;
	unsigned int done = 0;
	bool e;

	if (!block)
		return 0;
	while (done < count) {
		e = taken & 1;
		next = e ? block->taken : block->next;
		/* A block that does not end with a P0 instruction is neither. */
		if (e ? block->direct : block->conditional) {
			if (!next || !ete_inside(ete->code, next))
				next = ete_known(ete, e ? block->target : ete_behind(block),
						 e ? block->target_isa : block->isa, block);
			if (!next)
				break;
			if (block->link & e)
				ete_push_return(ete, block);
		} else {
			next = e ? ete_return_to(ete, block) : NULL;
			if (!next)
				break;
		}
		block->executed++;
		instructions += block->instructions;
		done++;
		*status = sink->block(sink, block, e, next->address);
		block = next;
		if (*status)
			break;
		taken >>= 1;
	}
	ete->block = block;
	ete->counts.blocks += done;
	ete->counts.instructions += instructions;
	return done;
}

#endif /* ETE_CHAIN_H */
