// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The way through the code: atoms, source addresses, exceptions, Q (K10.5.5.4, 6, 7, 15).
 *
 * Atoms walk from block to block by the chain that the block cache keeps in them. All else, a block
 * that is met for the first time, the target of an indirect branch, code that ends, leaves the loop.
 */
#include <errno.h>
#include <inttypes.h>

#include "ete_internal.h"

static inline int put(struct flowtap_ete *ete, struct flowtap_block *block, bool taken,
		      uint64_t target)
{
	block->executed++;
	ete->counts.blocks++;
	ete->counts.instructions += block->instructions;
	return ete->sink->block(ete->sink, block, taken, target);
}

/* Whether the chain may be followed: the block lies in the code that is there now. */
static inline bool inside(const struct flowtap_code *code, const struct flowtap_block *block)
{
	uint64_t offset = block->address - code->start, size = code->end - code->start;

	return block->key == code->key && offset < size && block->size <= size - offset;
}

/*
 * N for a branch that is always taken: the code there is not what was executed. T32 has IT blocks,
 * into which an exception can return.
 */
static inline bool cannot_fall_through(const struct flowtap_block *block)
{
	return !block->conditional && block->end < FLOWTAP_ARM_ISB &&
	       block->isa != FLOWTAP_ISA_T32 && block->target != ete_behind(block);
}

static int fell_through(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	int status = flowtap_ete_tell(ete, FLOWTAP_GAP_IMPOSSIBLE, block->address + block->last,
				      "the %s at 0x%" PRIx64 " was not taken",
				      flowtap_arm_class_name(block->end),
				      block->address + block->last);

	return status ? status : ETE_DROP;
}

/* What has no P0 instruction was executed up to where the next block begins; then that one. */
static int straight(struct flowtap_ete *ete)
{
	struct flowtap_block *block = ete->block;
	uint64_t n = 0;
	int status;

	while (!block->end) {
		n += block->instructions;
		if (n > ETE_STRAIGHT_MAX) {
			status = flowtap_ete_tell(ete, FLOWTAP_GAP_IMPOSSIBLE, block->address,
						  "more than %u instructions without a branch",
						  ETE_STRAIGHT_MAX);
			return status ? status : ETE_DROP;
		}
		status = put(ete, block, false, ete_behind(block));
		if (!status)
			status = flowtap_ete_step(ete, block, 0);
		if (status)
			return status;
		block = ete->block;
	}
	return 0;
}

/* An indirect branch was taken: its target is an address that follows, or the return stack's. */
static int indirect(struct flowtap_ete *ete, struct flowtap_block *block, bool initial,
		    const struct ete_follow *follow)
{
	const struct flowtap_element eret = { .kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN };
	struct ete_return entry;
	uint64_t target = 0;
	int status;

	if (block->link && initial)
		flowtap_ete_push_return(ete, block);
	flowtap_ete_go(ete, ete_behind(block), block->isa == FLOWTAP_ISA_T32);
	flowtap_ete_lose(ete, ETE_RETURN, NULL);
	if (follow->kind == ETE_FOLLOW_ADDRESS) {
		flowtap_ete_go(ete, follow->address, follow->sub_isa);
		target = follow->address;
	} else if (follow->kind == ETE_FOLLOW_P0 && flowtap_ete_pop_return(ete, &entry)) {
		flowtap_ete_go(ete, entry.address, entry.sub_isa);
		target = entry.address;
	}
	status = put(ete, block, true, target);
	if (!status && block->end == FLOWTAP_ARM_EXCEPTION_RETURN)
		status = ete_put(ete, &eret);
	return status;
}

static const struct ete_follow another = { .kind = ETE_FOLLOW_P0 };

/* The block for an atom, when the chain did not lead to it. */
static int find(struct flowtap_ete *ete)
{
	int status;

	if (!ete->block) {
		status = flowtap_ete_arrive(ete);
		if (!status)
			status = flowtap_ete_stand(ete, 0);
		if (status)
			return status;
	}
	return ete->block->end ? 0 : straight(ete);
}

int flowtap_ete_walk(struct flowtap_ete *ete, uint32_t taken, uint32_t initial, unsigned int count,
		     const struct ete_follow *follow)
{
	struct flowtap_block *block = ete->block, *next;
	uint64_t target;
	bool e;
	int status;

	for (; count; count--, taken >>= 1, initial >>= 1) {
		if (!block || !block->end) {
			ete->block = block;
			status = find(ete);
			block = ete->block;
			if (status == ETE_DROP)
				continue;
			if (status)
				return status;
		}
		e = taken & 1;
		if (e && !block->direct) {
			status = indirect(ete, block, initial & 1, count > 1 ? &another : follow);
			block = NULL;
			if (status)
				return status;
			continue;
		}
		if (block->link && initial & 1)
			flowtap_ete_push_return(ete, block);
		if (!e && cannot_fall_through(block)) {
			status = fell_through(ete, block);
			block = NULL;
			if (status < 0)
				return status;
			continue;
		}
		next = e ? block->taken : block->next;
		target = e ? block->target : ete_behind(block);
		status = put(ete, block, e, target);
		if (status)
			return status;
		if (next && inside(ete->code, next)) {
			block = next;
			continue;
		}
		flowtap_ete_go(ete, target,
			       (e ? block->target_isa : block->isa) == FLOWTAP_ISA_T32);
		ete->last = block;
		ete->last_taken = e;
		block = NULL;
	}
	ete->block = block;
	return 0;
}

static bool far(uint64_t from, uint64_t to)
{
	return to - from > 4ULL * ETE_STRAIGHT_MAX;
}

/*
 * Passes what ends with a P0 instruction that was not taken, as there is no atom for it: none on
 * the way to a source address was (RYJHMV or K10.5.5.7), and K10.5.5.6.1 says the same of those
 * before an exception.
 */
static int pass(struct flowtap_ete *ete, uint64_t stop)
{
	struct flowtap_block *block = ete->block;
	int status;

	if (block->end && cannot_fall_through(block))
		return fell_through(ete, block);
	status = put(ete, block, false, ete_behind(block));
	if (status)
		return status;
	flowtap_ete_go(ete, ete_behind(block), block->isa == FLOWTAP_ISA_T32);
	/* The cut block is none to chain from. */
	ete->last = block->stop || stop ? NULL : block;
	ete->last_taken = false;
	return 0;
}

int flowtap_ete_walk_to(struct flowtap_ete *ete, uint64_t stop)
{
	int status;

	flowtap_ete_leave(ete);
	if (ete->address < stop && far(ete->address, stop)) {
		status = flowtap_ete_tell(ete, FLOWTAP_GAP_IMPOSSIBLE, ete->address,
					  "no branch from 0x%" PRIx64 " to 0x%" PRIx64,
					  ete->address, stop);
		return status ? status : ETE_DROP;
	}
	while (ete->address < stop) {
		status = flowtap_ete_stand(ete, stop);
		if (!status)
			status = pass(ete, stop);
		if (status)
			return status;
		/* Behind the last address there is. */
		if (!ete->address)
			break;
	}
	return 0;
}

/* The one instruction at the source address; it ends a block as it is a P0 instruction. */
static int take_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow)
{
	struct flowtap_block *block;
	int status = 0;

	if (!ete->block)
		status = flowtap_ete_stand(ete, 0);
	if (status)
		return status;
	block = ete->block;
	if (block->address + block->last == entry->value && block->end)
		return flowtap_ete_walk(ete, entry->taken, 1, 1, follow);
	status = flowtap_ete_tell(ete, FLOWTAP_GAP_IMPOSSIBLE, entry->value,
				  "a source address where no branch is");
	return status ? status : ETE_DROP;
}

/* Where the way to it is not known, or cannot be. */
static int only_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow)
{
	flowtap_ete_go(ete, entry->value, entry->sub_isa);
	return take_source(ete, entry, follow);
}

/* From where the analysis stands to the source address. */
static int reach_source(struct flowtap_ete *ete, const struct ete_entry *entry,
			const struct ete_follow *follow)
{
	struct flowtap_block *block;
	int status;

	if (ete->address > entry->value || far(ete->address, entry->value)) {
		status = flowtap_ete_tell(ete, FLOWTAP_GAP_IMPOSSIBLE, ete->address,
					  "the source address 0x%" PRIx64
					  " cannot be reached from 0x%" PRIx64, entry->value,
					  ete->address);
		return status ? status : ETE_DROP;
	}
	for (;;) {
		status = flowtap_ete_stand(ete, 0);
		if (status)
			return status;
		block = ete->block;
		if (block->address + block->size > entry->value)
			return take_source(ete, entry, follow);
		status = pass(ete, 0);
		if (status)
			return status;
	}
}

/*
 * K10.5.5.7. A source address is also an address: where the one before it is not known, or the code
 * does not lead from there to here, the flow goes on with the instruction at it.
 */
int flowtap_ete_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow)
{
	int status = flowtap_ete_arrive(ete);
	const struct flowtap_element source = {
		.kind = FLOWTAP_ELEMENT_SOURCE,
		.source = entry->value,
	};
	uint8_t sub_isa;
	uint64_t from;

	if (status < 0 || !ete->has_context)
		return status;
	if (status == ETE_DROP)
		return only_source(ete, entry, follow);
	flowtap_ete_leave(ete);
	from = ete->address;
	sub_isa = ete->sub_isa;
	flowtap_ete_go(ete, entry->value, entry->sub_isa);
	status = flowtap_ete_stand(ete, 0);
	if (status)
		return status;
	flowtap_ete_go(ete, from, sub_isa);
	status = ete_put(ete, &source);
	if (!status)
		status = reach_source(ete, entry, follow);
	return status == ETE_DROP && !ete->block && ete->where == ETE_LOST ?
		       only_source(ete, entry, follow) : status;
}
