// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Q elements (K10.5.5.15): so many instructions, on a path that the trace does not say.
 *
 * As long as no instruction can branch there is one path only, and if only the last one can, the
 * address that follows says whether it did: such a Q becomes blocks. All others are emitted as Q:
 * where they begin, how many instructions, where they lead.
 */
#include <errno.h>

#include "ete/internal.h"

static int emit_q(struct flowtap_ete *ete, uint64_t start, const struct ete_entry *entry,
		  const struct ete_follow *follow)
{
	const struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_Q,
		.q = {
			.start = start,
			.next = follow->kind == ETE_FOLLOW_ADDRESS ? follow->address : 0,
			.instructions = entry->value,
		},
	};

	ete->counts.inferred += entry->value;
	if (follow->kind == ETE_FOLLOW_ADDRESS)
		ete_set_address(&ete->position, follow->address, follow->sub_isa);
	else
		flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_MISSING,
						"a Q element has no address after it");
	return ete_emit(ete, &element);
}

/* The address after the first `n` instructions of the block; 0: it has no more than that. */
static uint64_t address_after(const struct flowtap_block *block, uint64_t n)
{
	struct flowtap_arm_insn insn = { 0 };
	uint64_t offset = 0;

	if (n >= block->instructions)
		return 0;
	if (block->isa != FLOWTAP_ISA_T32)
		return block->address + 4 * n;
	for (; n; n--) {
		if (flowtap_arm_classify(block->isa, block->address + offset, insn.it,
					 block->bytes + offset, block->size - offset, &insn))
			return 0;
		offset += insn.length;
	}
	return block->address + offset;
}

/*
 * Whether the branch at the end of the block can have led to what follows, and then whether it was
 * taken.
 */
static bool can_lead(const struct flowtap_block *block, const struct ete_follow *follow,
		     bool *taken)
{
	bool address = follow->kind == ETE_FOLLOW_ADDRESS;

	*taken = !block->conditional || (address && follow->address != ete_block_end(block));
	if (!address && (block->conditional || !block->direct))
		return false;
	return !*taken || !address || !block->direct || follow->address == block->target;
}

/*
 * Goes `n` instructions ahead and comes back; true: there is one path, *stop is where it ends if
 * not with a branch, which then was *taken.
 */
static bool has_single_path(struct flowtap_ete *ete, uint64_t n, const struct ete_follow *follow,
			    uint64_t *stop, bool *taken)
{
	struct flowtap_block *block;

	*stop = 0;
	for (;;) {
		block = ete->position.block;
		/* Nobody knows what the PE does after its BF. */
		if (block->branch_future)
			return false;
		*stop = address_after(block, n);
		if (*stop)
			break;
		n -= block->instructions;
		if (block->end)
			return !n && can_lead(block, follow, taken);
		if (flowtap_ete_ends_undefined(block))
			return false;
		*stop = ete_block_end(block);
		if (!n)
			break;
		ete_set_address(&ete->position, *stop, block->isa == FLOWTAP_ISA_T32);
		if (flowtap_ete_probe_block(ete, 0))
			return false;
	}
	return follow->kind != ETE_FOLLOW_ADDRESS || follow->address == *stop;
}

static int decode_q(struct flowtap_ete *ete, const struct ete_entry *entry,
		    const struct ete_follow *follow)
{
	uint64_t start = 0, stop = 0;
	bool taken = false, proven;
	uint8_t sub_isa;
	int status;

	/*
	 * Where an indirect branch went to is part of what is not known. The reference has the
	 * address after it here.
	 */
	if (ete->position.state == ETE_ADDRESS_NOWHERE ||
	    (ete_awaits_target(&ete->position) && ete_returns_empty(&ete->returns)))
		return emit_q(ete, ete->position.address, entry, follow);
	status = flowtap_ete_require_address(ete);
	if (status < 0)
		return status;
	if (status)
		return emit_q(ete, 0, entry, follow);
	ete_sync_address(&ete->position);
	start = ete->position.address;
	sub_isa = ete->position.sub_isa;
	if (!entry->value || entry->value > ETE_STRAIGHT_MAX || flowtap_ete_probe_block(ete, 0))
		return emit_q(ete, start, entry, follow);
	proven = has_single_path(ete, entry->value, follow, &stop, &taken);
	ete_set_address(&ete->position, start, sub_isa);
	if (!proven)
		return emit_q(ete, start, entry, follow);
	if (stop)
		status = flowtap_ete_walk_to(ete, stop);
	else
		/* What Q stands for the trace unit's return stack does not see. */
		status = flowtap_ete_walk(ete, taken, 0, 1, follow);
	return status == ETE_DROP ? 0 : status;
}

int flowtap_ete_q(struct flowtap_ete *ete, const struct ete_entry *entry,
		  const struct ete_follow *follow)
{
	int status = decode_q(ete, entry, follow);

	ete->after_q = follow->kind == ETE_FOLLOW_ADDRESS ? follow->address : 0;
	ete->blocks_at_q = ete->counts.blocks;
	return status;
}
