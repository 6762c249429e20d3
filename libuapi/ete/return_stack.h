/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The return stack (K10.5.5.3): where calls return to. The trace unit keeps one as well, and leaves
 * out the address of an indirect branch that goes to the top of it.
 *
 * What each atom may need is inline. The fields are for these functions and return_stack.c only.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_RETURN_STACK_H
#define FLOWTAP_LIBUAPI_ETE_RETURN_STACK_H

#include <stdbool.h>

#include "ete/next_address.h"

#define ETE_RETURNS 15		/* RXSVZC */
#define ETE_RETURN_SLOTS 16	/* a power of two above that */

struct ete_return {
	uint64_t address;
	struct flowtap_block *caller;	/* the block whose end it is; NULL: dropped */
	uint8_t sub_isa;		/* 1: T32 */
};

struct ete_return_stack {
	bool used;		/* TRCCONFIGR.RS; else it stays empty */
	bool clear_pending;	/* it is emptied at the next P0 element */
	unsigned int top;
	unsigned int depth;	/* ETE_RETURNS at most */
	struct ete_return slots[ETE_RETURN_SLOTS];	/* a ring */
};

/* Empty, with nothing pending. used: whether it is to be used, TRCCONFIGR.RS. */
void flowtap_ete_returns_init(struct ete_return_stack *stack, bool used);
/*
 * Blocks are freed, or may be from here on: what is in the stack leads to no block any more, but
 * still to its address.
 */
void flowtap_ete_returns_invalidate_blocks(struct ete_return_stack *stack);

/* Whether there is nothing to return to. */
static inline bool ete_returns_empty(const struct ete_return_stack *stack)
{
	return !stack->depth;
}

static inline void ete_clear_returns(struct ete_return_stack *stack)
{
	stack->depth = 0;
}

/* A Trace Info (K10.5.5.9): the stack is emptied when the next P0 element comes. */
static inline void ete_clear_returns_at_p0(struct ete_return_stack *stack)
{
	stack->clear_pending = true;
}

/* Whether the next P0 element has to be applied to the stack before anything else is done with it. */
static inline bool ete_returns_pending(const struct ete_return_stack *stack)
{
	return stack->clear_pending;
}

/*
 * A P0 element comes: what was pending is done. A return whose address is still to be had from the
 * stack (K10.5.5.18.2) takes it before; a call that this element is pushes after.
 */
static inline void ete_returns_at_p0(struct ete_return_stack *stack)
{
	if (!stack->clear_pending)
		return;
	stack->clear_pending = false;
	stack->depth = 0;
}

/*
 * The branch with link that ends `block` was traced as E: it returns to the block's end. Where the
 * stack is full the oldest entry goes. `block` is borrowed up to
 * flowtap_ete_returns_invalidate_blocks.
 */
static inline void ete_push_return(struct ete_return_stack *stack, struct flowtap_block *block)
{
	struct ete_return *entry;

	if (!stack->used)
		return;
	stack->top = (stack->top + 1) % ETE_RETURN_SLOTS;
	entry = &stack->slots[stack->top];
	entry->address = ete_block_end(block);
	entry->caller = block;
	entry->sub_isa = block->isa == FLOWTAP_ISA_T32;
	if (stack->depth < ETE_RETURNS)
		stack->depth++;
}

/* The entry that pop would give, owned by the stack; NULL: it is empty. */
static inline const struct ete_return *ete_peek_return(const struct ete_return_stack *stack)
{
	return stack->depth ? &stack->slots[stack->top] : NULL;
}

/* Takes the entry off that peek has given. */
static inline void ete_drop_return(struct ete_return_stack *stack)
{
	stack->top = (stack->top + ETE_RETURN_SLOTS - 1) % ETE_RETURN_SLOTS;
	stack->depth--;
}

/* Takes the top off, into *entry. False: the stack is empty, *entry is as it was. */
static inline bool ete_pop_return(struct ete_return_stack *stack, struct ete_return *entry)
{
	if (!stack->depth)
		return false;
	*entry = stack->slots[stack->top];
	ete_drop_return(stack);
	return true;
}

/*
 * An indirect branch led to this address, which an exception there has (E 0b10). Trace units with
 * erratum 1185472 emit that though they have found the address on their return stack and removed
 * it. One without has not found it: where ours has it nevertheless, theirs is empty.
 */
static inline void ete_drop_repeated_return(struct ete_return_stack *stack, uint64_t address,
					uint8_t sub_isa)
{
	const struct ete_return *top = ete_peek_return(stack);

	if (top && top->address == address && top->sub_isa == sub_isa)
		ete_drop_return(stack);
}

#endif /* FLOWTAP_LIBUAPI_ETE_RETURN_STACK_H */
