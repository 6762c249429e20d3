// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Slots: who has which of the renderings that are kept with a block. Each owner looks first where
 * he found his own last, so that in a cache where always the same ones write each keeps to one
 * place.
 */
#include <flowtap/block.h>
#include <stdlib.h>

/* Never twice, and not 0. */
static uint64_t new_owner(void)
{
	static uint64_t owners;

	return __atomic_add_fetch(&owners, 1, __ATOMIC_RELAXED);
}

/* The first sink of a kind brings its number. */
static uint64_t owner_of(uint64_t *kind)
{
	uint64_t known = __atomic_load_n(kind, __ATOMIC_RELAXED), new;

	if (known)
		return known;
	new = new_owner();
	if (__atomic_compare_exchange_n(kind, &known, new, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return new;
	return known;
}

static size_t offset_of(const struct flowtap_block *block, const struct flowtap_render *render)
{
	return (size_t)((const char *)render - (const char *)block);
}

struct flowtap_slot flowtap_blocks_slot(struct flowtap_blocks *blocks, uint64_t *kind)
{
	return (struct flowtap_slot){
		.owner = kind ? owner_of(kind) : new_owner(),
		.at = offsetof(struct flowtap_block, render),
		.blocks = blocks,
	};
}

const struct flowtap_render *flowtap_slot_find(struct flowtap_slot *slot,
					       const struct flowtap_block *block)
{
	const struct flowtap_render *render = flowtap_slot_guess(slot, block);

	if (render->owner == slot->owner)
		return render;
	for (render = block->render; render < block->render + FLOWTAP_RENDERINGS; render++) {
		if (render->owner != slot->owner)
			continue;
		slot->at = offset_of(block, render);
		return render;
	}
	return NULL;
}

/* Where there is none yet: as in the blocks before if that is free, else the oldest owner's. */
static size_t choose(const struct flowtap_slot *slot, const struct flowtap_block *block)
{
	const struct flowtap_render *oldest = flowtap_slot_guess(slot, block);

	for (int i = 0; i < FLOWTAP_RENDERINGS; i++)
		if (block->render[i].owner < oldest->owner)
			oldest = &block->render[i];
	return offset_of(block, oldest);
}

const struct flowtap_render *flowtap_slot_keep(struct flowtap_slot *slot,
					       const struct flowtap_block *block,
					       const struct flowtap_render *made, size_t capacity)
{
	struct flowtap_render *render;

	if (!flowtap_slot_find(slot, block))
		slot->at = choose(slot, block);
	/* What is kept with a block is no part of its value. */
	render = (struct flowtap_render *)flowtap_slot_guess(slot, block);
	if (slot->blocks && capacity > render->size)
		flowtap_blocks_charge(slot->blocks, capacity - render->size);
	free(render->bytes);
	*render = *made;
	render->owner = slot->owner;
	return render;
}
