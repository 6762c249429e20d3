/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Learned blocks for readers that know a whole block at once, by what it looks like in a file. */
#ifndef FLOWTAP_LEARNED_INTERNAL_H
#define FLOWTAP_LEARNED_INTERNAL_H

#include <flowtap/learned.h>

#define LEARNED_RECENT	(1U << 16)

/* What flowtap_learned_instruction gathers: a block in the making. */
struct learned_run {
	uint64_t address;
	uint32_t size;		/* 0: there is none */
	uint32_t last;
	uint32_t instructions;
	uint8_t isa;
	bool whole;		/* it ends here, whatever comes next */
	bool known;		/* it is the beginning of `guess` so far, and not in `bytes` */
	uint8_t it;		/* T32: ITSTATE after it */
	uint8_t end;		/* of the last instruction, as in a block: */
	bool direct;
	bool conditional;
	uint8_t target_isa;
	uint64_t target;
	bool said;		/* the last instruction was taken: */
	uint64_t to;
	struct flowtap_block *guess;	/* the block that was last at `address`, or NULL */
	uint8_t bytes[(20U << 10) + 8];	/* flowtap_block_max_size and an instruction */
};

struct learned_arena;

struct flowtap_learned {
	struct flowtap_blocks *blocks;
	struct flowtap_sink *sink;
	struct learned_arena *arenas;	/* the bytes of blocks */
	unsigned int added;		/* blocks since the last look at the limit */
	struct flowtap_block *last;	/* the one that was handed on last, or NULL; and how it was left */
	bool last_taken;
	struct learned_run run;
	struct flowtap_block *recent[LEARNED_RECENT];
};

/* The whole block that was last at this address, or NULL. */
static inline struct flowtap_block *learned_recent(const struct flowtap_learned *learned,
						   unsigned int isa, uint64_t address)
{
	struct flowtap_block *block;

	block = learned->recent[(address >> 1 ^ address >> 17) % LEARNED_RECENT];
	return block && block->address == address && block->isa == isa ? block : NULL;
}

/* Hands on a block that is known to be what is executed next; what was before was flushed. */
static inline int learned_add(struct flowtap_learned *learned, struct flowtap_block *block,
			      bool taken, uint64_t target)
{
	int status;

	block->executed++;
	learned->last = block;
	learned->last_taken = taken;
	status = learned->sink->block(learned->sink, block, taken, target);
	return status < 0 ? status : 0;
}

/* Whether an instruction that ends a block with this class can go anywhere but after itself. */
bool flowtap_learned_transfers(unsigned int isa, unsigned int end);
/*
 * Ends a run whose last instruction is known to have been left like this, if it is a whole block;
 * else nothing happens. As flowtap_learned_flush; *block: it, or NULL.
 */
int flowtap_learned_complete(struct flowtap_learned *learned, bool taken, uint64_t target,
			     struct flowtap_block **block);
/* Forgets all blocks if there are too many: true. Not while a run is held. */
bool flowtap_learned_trim(struct flowtap_learned *learned);

#endif /* FLOWTAP_LEARNED_INTERNAL_H */
