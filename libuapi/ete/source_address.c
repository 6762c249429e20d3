// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The way up to an address, past branches that were not taken: of an exception (K10.5.5.6), of a
 * Source Address (K10.5.5.7).
 */
#include <errno.h>
#include <inttypes.h>

#include "ete/block_chain.h"

static bool far(uint64_t from, uint64_t to)
{
	return to - from > 4ULL * ETE_STRAIGHT_MAX;
}

/*
 * Passes what ends with a P0 instruction that was not taken, as there is no atom for it: none on
 * the way to a source address was (RYJHMV or K10.5.5.7), and K10.5.5.6.1 says the same of those
 * before an exception.
 */
static int pass_not_taken(struct flowtap_ete *ete, uint64_t stop)
{
	struct flowtap_block *block = ete->position.block;
	int status;

	if (block->end && flowtap_ete_cannot_fall_through(block))
		return flowtap_ete_fell_through(ete, block);
	status = ete_emit_block(ete, block, false, ete_block_end(block));
	if (status)
		return status;
	/* The cut block is none to chain from. */
	ete_set_address_from(&ete->position, ete_block_end(block), block->isa == FLOWTAP_ISA_T32,
			     block->stop || stop ? NULL : block, false);
	return 0;
}

int flowtap_ete_walk_to(struct flowtap_ete *ete, uint64_t stop)
{
	int status;

	ete_sync_address(&ete->position);
	if (ete->position.address < stop && far(ete->position.address, stop)) {
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, ete->position.address,
					      "no branch from 0x%" PRIx64 " to 0x%" PRIx64,
					      ete->position.address, stop);
		return status ? status : ETE_DROP;
	}
	while (ete->position.address < stop) {
		status = flowtap_ete_find_block(ete, stop);
		if (!status)
			status = pass_not_taken(ete, stop);
		if (status)
			return status;
		/* The address has wrapped. */
		if (!ete->position.address)
			break;
	}
	return 0;
}

/* The one instruction at the source address; it ends a block as it is a P0 instruction. */
static int walk_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow)
{
	struct flowtap_block *block;
	int status = 0;

	if (!ete->position.block)
		status = flowtap_ete_find_block(ete, 0);
	if (status)
		return status;
	block = ete->position.block;
	if (block->address + block->last == entry->value && block->end)
		return flowtap_ete_walk(ete, entry->taken, 1, 1, follow);
	status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, entry->value,
				      "a source address where no branch is");
	return status ? status : ETE_DROP;
}

/* Where the way to it is not known, or cannot be. */
static int start_at_source(struct flowtap_ete *ete, const struct ete_entry *entry,
			   const struct ete_follow *follow)
{
	if (ete->views.context.width == 32 && entry->value >> 32)
		return ETE_DROP;
	ete_set_address(&ete->position, entry->value, entry->sub_isa);
	return walk_source(ete, entry, follow);
}

/* From the current address to the source address. */
static int walk_to_source(struct flowtap_ete *ete, const struct ete_entry *entry,
			  const struct ete_follow *follow)
{
	struct flowtap_block *block;
	int status;

	if (ete->position.address > entry->value || far(ete->position.address, entry->value) ||
	    (ete->views.context.width == 32 && entry->value >> 32)) {
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, ete->position.address,
					      "the source address 0x%" PRIx64
					      " cannot be reached from 0x%" PRIx64, entry->value,
					      ete->position.address);
		return status ? status : ETE_DROP;
	}
	for (;;) {
		status = flowtap_ete_find_block(ete, 0);
		if (status)
			return status;
		block = ete->position.block;
		if (block->address + block->size > entry->value)
			return walk_source(ete, entry, follow);
		status = pass_not_taken(ete, 0);
		if (status)
			return status;
	}
}

/* Whether no other P0 instruction is before the source address; a block that is known says it. */
static bool is_next(struct flowtap_ete *ete, uint64_t source)
{
	const struct flowtap_block *block;

	if (!ete->position.block)
		ete_find_target(ete);
	if (!ete->position.block && !flowtap_ete_probe_block(ete))
		return false;
	block = ete->position.block;
	return block->end && block->address + block->last == source;
}

/*
 * K10.5.5.7. A source address is also an address: where the one before it is not known, or the code
 * does not lead from there to here, the flow continues with the instruction at it.
 */
int flowtap_ete_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow)
{
	int status = flowtap_ete_require_address(ete);
	const struct flowtap_element source = {
		.kind = FLOWTAP_ELEMENT_SOURCE,
		.source = entry->value,
	};
	uint8_t sub_isa;
	uint64_t from;

	if (!status && is_next(ete, entry->value))
		return flowtap_ete_atom(ete, entry->taken, true, follow);
	if (status < 0 || !ete->position.has_context)
		return status;
	if (status == ETE_DROP)
		return start_at_source(ete, entry, follow);
	ete_sync_address(&ete->position);
	from = ete->position.address;
	sub_isa = ete->position.sub_isa;
	ete_set_address(&ete->position, entry->value, entry->sub_isa);
	status = flowtap_ete_find_block(ete, 0);
	if (status)
		return status;
	ete_set_address(&ete->position, from, sub_isa);
	status = ete_emit(ete, &source);
	if (!status)
		status = walk_to_source(ete, entry, follow);
	return status == ETE_DROP && !ete->position.block && ete->position.state == ETE_ADDRESS_LOST ?
		       start_at_source(ete, entry, follow) : status;
}
