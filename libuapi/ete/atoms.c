// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Atoms against the code (K10.5.5.4). ete_follow_chain walks from block to block by the chain that
 * the block cache keeps in them. This file handles what that loop does not: a block that is met for
 * the first time, the target of an indirect branch, code that ends.
 */
#include <errno.h>
#include <inttypes.h>

#include "ete/block_chain.h"

#define IT_INSTRUCTIONS 4	/* that an IT instruction may make conditional */

/*
 * The block at an address that `from` leads to, if it was found before. Within the same code it is
 * in the chain of `from`, or will be.
 */
static struct flowtap_block *known_block(struct flowtap_ete *ete, uint64_t address,
					 enum flowtap_isa isa, const struct flowtap_block *from)
{
	const struct ete_jump *jump = ete_jump_at(&ete->views, address);

	if (jump->address != address || jump->epoch != ete->views.current->epoch || !jump->block ||
	    jump->isa != isa || jump->code->key == from->key)
		return NULL;
	ete_set_code(&ete->position, jump->code);
	return jump->block;
}

/* The block after the call that an indirect branch returns from, if it is known. */
static struct flowtap_block *block_after_return(struct flowtap_ete *ete,
						const struct flowtap_block *block)
{
	const struct ete_return *entry = ete_peek_return(&ete->returns);
	struct flowtap_block *next;

	if (!entry || !entry->caller || block->link || !ete_is_jump(block))
		return NULL;
	next = entry->caller->next;
	if (!next || !ete_inside(ete->position.code, next))
		next = known_block(ete, entry->address, entry->caller->isa, block);
	if (next)
		ete_drop_return(&ete->returns);
	return next;
}

/* A block that does not end with a P0 instruction leads nowhere: it is neither kind of branch. */
struct flowtap_block *flowtap_ete_find_successor(struct flowtap_ete *ete,
						 struct flowtap_block *block, bool taken)
{
	struct flowtap_block *next = taken ? block->taken : block->next;

	if (!(taken ? block->direct : block->conditional))
		return taken ? block_after_return(ete, block) : NULL;
	if (!next || !ete_inside(ete->position.code, next))
		next = known_block(ete, taken ? block->target : ete_block_end(block),
				   taken ? block->target_isa : block->isa, block);
	if (next && taken && block->link)
		ete_push_return(&ete->returns, block);
	return next;
}

/*
 * Whether the IT instruction at `at`, if that is one, makes the last instruction of the block
 * conditional. Bytes that only look like one count as well.
 */
static bool it_reaches(const struct flowtap_block *block, const struct flowtap_code *code,
		       uint64_t at)
{
	const uint64_t last = block->address + block->last;
	struct flowtap_arm_insn insn = { 0 };

	while (at < last) {
		if (flowtap_arm_classify(FLOWTAP_ISA_T32, at, insn.it,
					 code->bytes + (at - code->start), code->end - at, &insn) ||
		    !insn.it)
			return false;
		at += insn.length;
	}
	return at == last;
}

/*
 * A T32 block may begin within an IT block: where an exception returned to, or after an ISB there.
 * Its last instruction can then be conditional and not say so (arm.h). The IT instruction and what
 * is in between lie before the block.
 */
static bool may_be_in_it_block(const struct flowtap_block *block, const struct flowtap_code *code)
{
	uint64_t reach;

	if (block->isa != FLOWTAP_ISA_T32 || block->instructions > IT_INSTRUCTIONS)
		return false;
	reach = 2 + 4 * (IT_INSTRUCTIONS - block->instructions);
	/* What lies before the code is not known. */
	if (block->address - code->start < reach)
		return true;
	for (uint64_t at = block->address - reach; at < block->address; at += 2)
		if (it_reaches(block, code, at))
			return true;
	return false;
}

/* N for a branch that is always taken: the code there is not what was executed. */
bool flowtap_ete_cannot_fall_through(const struct flowtap_ete *ete,
				     const struct flowtap_block *block)
{
	return block->end && !block->conditional && block->end < FLOWTAP_ARM_ISB &&
	       block->target != ete_block_end(block) &&
	       !may_be_in_it_block(block, ete->position.code);
}

int flowtap_ete_fell_through(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	int status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, block->address + block->last,
					  "the %s at 0x%" PRIx64 " was not taken",
					  flowtap_arm_class_name(block->end),
					  block->address + block->last);

	return status ? status : ETE_DROP;
}

bool flowtap_ete_ends_undefined(const struct flowtap_block *block)
{
	const uint8_t *last = block->bytes + block->last;

	return block->isa == FLOWTAP_ISA_A64 && !block->end && !last[2] && !last[3];
}

int flowtap_ete_passed_undefined(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	const uint64_t last = block->address + block->last;
	int status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, last,
					  "the undefined instruction at 0x%" PRIx64
					  " was passed", last);

	return status ? status : ETE_DROP;
}

/*
 * Nothing says whether the PE follows the BF: then the instruction at the branch point is not
 * executed, and what the trace has of that branch is not known.
 */
int flowtap_ete_passed_branch_future(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	int status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_ADDRESS, ete_block_end(block),
					  "a BF before it announced a branch");

	return status ? status : ETE_DROP;
}

/* N for an indirect branch to the instruction after it, whose address follows: erratum 2019409. */
static bool is_untold_jump(const struct flowtap_block *block, const struct ete_follow *follow)
{
	return !block->direct && follow->kind == ETE_FOLLOW_ADDRESS &&
	       follow->address == ete_block_end(block);
}

/* N for a branch that is always taken, at the end of what there is: its address may have been next. */
static int lacks_address(struct flowtap_ete *ete, const struct flowtap_block *block)
{
	const uint64_t last = block->address + block->last;
	int status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_ADDRESS, last,
					  "the %s at 0x%" PRIx64 " was not taken, or its address is "
					  "missing", flowtap_arm_class_name(block->end), last);

	return status ? status : ETE_DROP;
}

/*
 * Whether the trace can be of this code: a branch that is always taken was, and the address that
 * follows, if one does, is where the branch leads. 0, ETE_DROP.
 */
static int check_branch(struct flowtap_ete *ete, const struct flowtap_block *block, bool taken,
			const struct ete_follow *follow)
{
	const uint64_t target = taken ? block->target : ete_block_end(block);
	const uint8_t isa = taken ? block->target_isa : block->isa;
	int status;

	if (taken && !block->direct)
		return 0;
	if (!taken && !is_untold_jump(block, follow) && flowtap_ete_cannot_fall_through(ete, block))
		return !block->direct && follow->kind == ETE_FOLLOW_END ?
		       lacks_address(ete, block) : flowtap_ete_fell_through(ete, block);
	if (follow->kind != ETE_FOLLOW_ADDRESS || follow->unrelated ||
	    (follow->address == target &&
	     ete_isa_of(ete->views.context.width, follow->sub_isa) == isa))
		return 0;
	status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, block->address + block->last,
				      "from the %s at 0x%" PRIx64 " the trace continues at 0x%"
				      PRIx64 ", not at 0x%" PRIx64,
				      flowtap_arm_class_name(block->end),
				      block->address + block->last, follow->address, target);
	return status ? status : ETE_DROP;
}

/*
 * Goes ahead from a block that has no P0 instruction to the one that has, or to where there is no
 * code or the path is unknown: 0, and the position is anywhere. What cannot have been executed is
 * a gap.
 */
static int prove_straight_blocks(struct flowtap_ete *ete, bool taken,
				 const struct ete_follow *follow)
{
	struct flowtap_block *block = ete->position.block;
	uint64_t n = 0;
	int status;

	for (; !block->end; block = ete->position.block) {
		if (flowtap_ete_ends_undefined(block))
			return flowtap_ete_passed_undefined(ete, block);
		if (block->branch_future)
			return 0;
		n += block->instructions;
		if (n > ETE_STRAIGHT_MAX) {
			status = flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, block->address,
						      "more than %u instructions without a branch",
						      ETE_STRAIGHT_MAX);
			return status ? status : ETE_DROP;
		}
		ete_set_address_from(&ete->position, ete_block_end(block),
				     block->isa == FLOWTAP_ISA_T32, block, false);
		status = flowtap_ete_probe_block(ete, 0);
		if (status)
			return status == -ENOMEM ? status : 0;
	}
	return check_branch(ete, block, taken, follow);
}

/*
 * What has no P0 instruction was executed up to where the next block begins; then that one. Nothing
 * is emitted before it is known that the trace can be of this code.
 */
static int emit_straight_blocks(struct flowtap_ete *ete, bool taken,
				const struct ete_follow *follow)
{
	const struct ete_saved_position start = flowtap_ete_save_position(&ete->position);
	struct flowtap_block *block;
	int status = prove_straight_blocks(ete, taken, follow);

	if (status)
		return status;
	flowtap_ete_restore_position(&ete->position, &start);
	status = flowtap_ete_find_block(ete, 0);
	while (!status && !ete->position.block->end) {
		block = ete->position.block;
		status = ete_emit_block(ete, block, false, ete_block_end(block));
		if (!status)
			status = block->branch_future ? flowtap_ete_passed_branch_future(ete, block) :
							flowtap_ete_next_block(ete, block, 0);
	}
	return status;
}

/* No address follows: the target is the return stack's, or not known. */
static int decode_indirect(struct flowtap_ete *ete, struct flowtap_block *block, bool initial,
			   bool returns)
{
	struct ete_return entry;

	if (block->link && initial)
		ete_push_return(&ete->returns, block);
	if (returns && ete_pop_return(&ete->returns, &entry)) {
		ete_set_return_address(ete, &entry);
		return ete_emit_block(ete, block, true, entry.address);
	}
	ete_set_address(&ete->position, ete_block_end(block), block->isa == FLOWTAP_ISA_T32);
	flowtap_ete_set_unknown_address(&ete->position,
					block->end == FLOWTAP_ARM_EXCEPTION_RETURN ?
					ETE_ADDRESS_ERET : ETE_ADDRESS_RETURN, NULL);
	return ete_emit_block(ete, block, true, 0);
}

/* To the address that follows. */
static int jump_to(struct flowtap_ete *ete, struct flowtap_block *block, bool initial,
		   const struct ete_follow *follow)
{
	int status = ete_jump_to(ete, block, initial, follow->address, follow->sub_isa);

	if (follow->repeated && !follow->preceded && block->end != FLOWTAP_ARM_EXCEPTION_RETURN)
		ete_drop_repeated_return(&ete->returns, follow->address, follow->sub_isa);
	return status;
}

/* An indirect branch was taken. */
static int indirect(struct flowtap_ete *ete, struct flowtap_block *block, bool initial,
		    const struct ete_follow *follow)
{
	const struct flowtap_element eret = { .kind = FLOWTAP_ELEMENT_EXCEPTION_RETURN };
	int status;

	if (follow->kind == ETE_FOLLOW_ADDRESS)
		status = jump_to(ete, block, initial, follow);
	else
		status = decode_indirect(ete, block, initial, follow->kind == ETE_FOLLOW_P0);
	/* The reference knows A64's; an ETMv4 says it itself. */
	if (!status && block->end == FLOWTAP_ARM_EXCEPTION_RETURN &&
	    block->isa == FLOWTAP_ISA_A64 && !flowtap_ete_is_etm4(&ete->config))
		status = ete_emit(ete, &eret);
	return status;
}

static const struct ete_follow followed_by_p0 = { .kind = ETE_FOLLOW_P0 };

/* The block for an atom, when the chain did not lead to it. */
static int require_block(struct flowtap_ete *ete, bool taken, const struct ete_follow *follow)
{
	int status;

	if (!ete->position.block) {
		status = flowtap_ete_require_address(ete);
		if (!status)
			status = flowtap_ete_find_block(ete, 0);
		if (status)
			return status;
	}
	return ete->position.block->end ? 0 : emit_straight_blocks(ete, taken, follow);
}

/* The block is none of those that the chain leads from, or it is not known where it leads yet. */
static int follow_branch(struct flowtap_ete *ete, bool taken, bool initial,
			 const struct ete_follow *follow)
{
	struct flowtap_block *block = ete->position.block, *next;
	int status = check_branch(ete, block, taken, follow);
	uint64_t target;

	if (status)
		return status;
	/* It was taken, whatever the atom says: is_untold_jump. */
	if (!block->direct && (taken || flowtap_ete_cannot_fall_through(ete, block)))
		return indirect(ete, block, initial, follow);
	if (block->link && initial)
		ete_push_return(&ete->returns, block);
	target = taken ? block->target : ete_block_end(block);
	next = taken ? block->taken : block->next;
	if (next && ete_inside(ete->position.code, next)) {
		ete_set_block(&ete->position, next);
		return ete_emit_block(ete, block, taken, target);
	}
	ete_set_address_from(&ete->position, target,
			     (taken ? block->target_isa : block->isa) == FLOWTAP_ISA_T32, block,
			     taken);
	return ete_emit_block(ete, block, taken, target);
}

int flowtap_ete_atom(struct flowtap_ete *ete, bool taken, bool initial,
		     const struct ete_follow *follow)
{
	int status = require_block(ete, taken, follow);

	if (!status)
		status = follow_branch(ete, taken, initial, follow);
	return status == ETE_DROP ? 0 : status;
}

/* An address may follow the last atom: that one is decoded by itself. */
int flowtap_ete_walk(struct flowtap_ete *ete, uint32_t taken, uint32_t initial, unsigned int count,
		     const struct ete_follow *follow)
{
	unsigned int done;
	int status = 0;

	while (count && !status) {
		/* Mispredicted atoms are decoded one by one: they may push without being taken. */
		done = taken == initial ? ete_follow_chain(ete, taken, count - 1, &status) : 0;
		taken >>= done;
		initial >>= done;
		count -= done;
		if (status)
			break;
		status = flowtap_ete_atom(ete, taken & 1, initial & 1,
					  count > 1 ? &followed_by_p0 : follow);
		taken >>= 1;
		initial >>= 1;
		count--;
	}
	return status;
}
