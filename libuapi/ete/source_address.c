// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The path to an address, past branches that were not taken: of an exception (K10.5.5.6), of a
 * Source Address (K10.5.5.7).
 */
#include <errno.h>
#include <inttypes.h>

#include "ete/block_chain.h"

static bool far(uint64_t from, uint64_t to)
{
	return to - from > 4ULL * ETE_STRAIGHT_MAX;
}

/* What an ETMv4 has executed of these has an atom: the code there is another one. */
static int lacks_atom(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	const uint64_t last = block->address + block->last;
	int status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, last,
					  "the %s at 0x%" PRIx64 " has no atom",
					  flowtap_arm_class_name(block->end), last);

	return status ? status : ETE_DROP;
}

/*
 * A P0 instruction that ends the block was not taken, as there is no atom for it: none on the path
 * to a source address was (RYJHMV or K10.5.5.7), and K10.5.5.6.1 says the same of those before an
 * exception. 0; ETE_DROP: it cannot be passed, and a gap says so.
 */
static int check_passed(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	if (block->end && flowtap_ete_is_etm4(&ete->config))
		return lacks_atom(ete, block);
	if (flowtap_ete_cannot_fall_through(ete, block))
		return flowtap_ete_fell_through(ete, block);
	if (flowtap_ete_ends_undefined(block))
		return flowtap_ete_passed_undefined(ete, block);
	return 0;
}

/* To the end of the block at the position. The cut one is none to chain from. */
static void pass(struct flowtap_ete *ete, struct flowtap_block *block, uint64_t stop)
{
	ete_set_address_from(&ete->position, ete_block_end(block), block->isa == FLOWTAP_ISA_T32,
			     block->stop || stop ? NULL : block, false);
}

/* The block at the position was passed. 0; ETE_DROP: the path from there to `stop` is unknown. */
static int emit_passed(struct flowtap_ete *ete, uint64_t stop)
{
	struct flowtap_block *block = ete->position.block;
	const uint64_t end = ete_block_end(block);
	int status = ete_emit_block(ete, block, false, end);

	if (status)
		return status;
	if (block->branch_future && (!stop || end < stop))
		return flowtap_ete_passed_branch_future(ete, block);
	pass(ete, block, stop);
	return 0;
}

/*
 * Goes ahead until `stop`, or to the block with the instruction at `source` where stop is 0: 0 if
 * all on the path can be passed, or there is no code, or the path is unknown; the position is
 * anywhere.
 */
static int prove(struct flowtap_ete *ete, uint64_t stop, uint64_t source)
{
	struct flowtap_block *block;
	int status;

	while (!stop || ete->position.address < stop) {
		status = flowtap_ete_probe_block(ete, stop);
		if (status == -ENODATA)
			return 0;
		/* It has its gap. */
		if (status == -EILSEQ)
			return flowtap_ete_find_block(ete, stop);
		if (status)
			return status;
		block = ete->position.block;
		if (!stop && block->address + block->size > source)
			return 0;
		status = check_passed(ete, block);
		if (status || block->branch_future)
			return status;
		pass(ete, block, stop);
		/* The address has wrapped. */
		if (!ete->position.address)
			break;
	}
	return 0;
}

/* As prove, and comes back if it can be. */
static int prove_from_here(struct flowtap_ete *ete, uint64_t stop, uint64_t source)
{
	const struct ete_saved_position start = flowtap_ete_save_position(&ete->position);
	int status = prove(ete, stop, source);

	if (!status)
		flowtap_ete_restore_position(&ete->position, &start);
	return status;
}

/* Whether a Q element led to the position, and nothing was executed since. */
static bool is_after_q(const struct flowtap_ete *ete)
{
	return ete->position.address == ete->after_q && ete->counts.blocks == ete->blocks_at_q;
}

/*
 * Where the address space ends in between, `stop` is the lower one (K10.5.5.6), and what was
 * executed stays untold. After a Q element it may be an instruction that Q counts already.
 */
static bool is_past(const struct flowtap_ete *ete, uint64_t stop)
{
	uint64_t distance = stop - ete->position.address;

	if (ete->views.context.width == 32)
		distance = (uint32_t)distance;
	return ete->position.address > stop && distance > 4ULL * ETE_STRAIGHT_MAX &&
	       !is_after_q(ete);
}

int flowtap_ete_prove_path(struct flowtap_ete *ete, uint64_t stop)
{
	uint64_t from;
	int status;

	ete_sync_address(&ete->position);
	from = ete->position.address;
	if (is_past(ete, stop))
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, from,
					      "an exception at 0x%" PRIx64 ", which is before 0x%"
					      PRIx64, stop, from);
	else if (from >= stop)
		return 0;
	else if (far(from, stop))
		status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, from,
					      "no branch from 0x%" PRIx64 " to 0x%" PRIx64, from,
					      stop);
	else
		return prove_from_here(ete, stop, 0);
	return status ? status : ETE_DROP;
}

int flowtap_ete_walk_to(struct flowtap_ete *ete, uint64_t stop)
{
	int status;

	ete_sync_address(&ete->position);
	while (ete->position.address < stop) {
		status = flowtap_ete_find_block(ete, stop);
		if (!status)
			status = emit_passed(ete, stop);
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

/* Where the path to it is unknown, or cannot be. */
static int start_at_source(struct flowtap_ete *ete, const struct ete_entry *entry,
			   const struct ete_follow *follow)
{
	if (ete->views.context.width == 32 && entry->value >> 32)
		return ETE_DROP;
	ete_set_address(&ete->position, entry->value, entry->sub_isa);
	return walk_source(ete, entry, follow);
}

/* Whether the path from the position to the source address can have been executed. */
static int prove_source(struct flowtap_ete *ete, const struct ete_entry *entry)
{
	int status;

	if (ete->position.address <= entry->value && !far(ete->position.address, entry->value) &&
	    (ete->views.context.width != 32 || !(entry->value >> 32)))
		return prove_from_here(ete, 0, entry->value);
	status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, ete->position.address,
				      "the source address 0x%" PRIx64
				      " cannot be reached from 0x%" PRIx64, entry->value,
				      ete->position.address);
	return status ? status : ETE_DROP;
}

/* From the position to the source address. */
static int walk_to_source(struct flowtap_ete *ete, const struct ete_entry *entry,
			  const struct ete_follow *follow)
{
	const struct flowtap_element source = {
		.kind = FLOWTAP_ELEMENT_SOURCE,
		.source = entry->value,
	};
	struct flowtap_block *block;
	int status = prove_source(ete, entry);

	if (!status)
		status = ete_emit(ete, &source);
	while (!status) {
		status = flowtap_ete_find_block(ete, 0);
		if (status)
			break;
		block = ete->position.block;
		if (block->address + block->size > entry->value)
			return walk_source(ete, entry, follow);
		status = emit_passed(ete, 0);
	}
	return status;
}

/* Whether no other P0 instruction is before the source address; a block that is known says it. */
static bool is_next(struct flowtap_ete *ete, uint64_t source)
{
	const struct flowtap_block *block;

	if (!ete->position.block)
		ete_find_target(ete);
	if (!ete->position.block && flowtap_ete_probe_block(ete, 0))
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
	uint8_t sub_isa;
	uint64_t from;

	if (!status && is_next(ete, entry->value))
		return flowtap_ete_atom(ete, entry->taken, true, follow);
	if (status < 0 || !ete_has_context(&ete->position))
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
	status = walk_to_source(ete, entry, follow);
	return status == ETE_DROP && !ete->position.block && ete->position.state == ETE_ADDRESS_LOST ?
		       start_at_source(ete, entry, follow) : status;
}
