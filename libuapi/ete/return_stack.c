// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The return stack (K10.5.5.3): what is done with it as a whole. */
#include "ete/return_stack.h"

void flowtap_ete_returns_init(struct ete_return_stack *stack, bool used)
{
	*stack = (struct ete_return_stack){ .used = used };
}

void flowtap_ete_returns_invalidate_blocks(struct ete_return_stack *stack)
{
	for (int i = 0; i < ETE_RETURN_SLOTS; i++)
		stack->slots[i].caller = NULL;
}
