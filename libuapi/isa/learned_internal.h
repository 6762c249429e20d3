/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Learned blocks for readers that know a whole block at once, by what it looks like in a file. */
#ifndef FLOWTAP_LIBUAPI_ISA_LEARNED_INTERNAL_H
#define FLOWTAP_LIBUAPI_ISA_LEARNED_INTERNAL_H

#include <flowtap/learned.h>
#include <flowtap/read.h>

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
	bool skipped;		/* its condition failed */
	struct flowtap_block *guess;	/* the block that was last at `address`, or NULL */
	uint8_t bytes[(20U << 10) + 8];	/* flowtap_block_max_size and an instruction */
};

/* What of a trace is handed on, where that is not all (read.h: skip, count). */
struct learned_part {
	struct flowtap_sink sink;	/* where a reader's flow goes */
	struct flowtap_sink *to;	/* where the part goes */
	struct flowtap_element context;	/* the last one before it */
	bool has_context;
	bool before;			/* it has not begun */
	bool over;			/* all of it was handed on */
	uint64_t skip, count;
	uint64_t until;			/* the instruction before which it begins, or ends */
};

struct learned_arena;

struct flowtap_learned {
	struct flowtap_blocks *blocks;
	struct flowtap_sink *sink;
	struct learned_part part;	/* all: until is UINT64_MAX */
	bool cut;			/* it begins or ends before the next instruction */
	struct learned_arena *arenas;	/* the bytes of blocks */
	unsigned int added;		/* blocks, and renderings, since the last look at the limit */
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

	learned->last = block;
	learned->last_taken = taken;
	if (__builtin_expect(learned->part.before, 0))
		return 0;
	block->executed++;
	status = learned->sink->block(learned->sink, block, taken, target);
	return status < 0 ? status : 0;
}

/*
 * For a reader, before it reads: the part of the flow that read asks for goes to `sink`. Returns where
 * the reader's elements go, until flowtap_learned_part_end.
 */
struct flowtap_sink *flowtap_learned_part(struct flowtap_learned *learned,
					  const struct flowtap_read *read,
					  struct flowtap_sink *sink);
/* The instruction that comes next has this number in the file, from 0. */
static inline void learned_number(struct flowtap_learned *learned, uint64_t number)
{
	learned->cut = number >= learned->part.until;
}
/* How many there are from this number on before the part begins or ends. */
static inline uint64_t learned_until(const struct flowtap_learned *learned, uint64_t number)
{
	return learned->part.until > number ? learned->part.until - number : 0;
}
/* It begins or ends here. 0; -ECANCELED: ends; what the sink returned. */
int flowtap_learned_turn(struct flowtap_learned *learned);
/* What a reader that ended with `status` returns. */
int flowtap_learned_part_end(struct flowtap_learned *learned, int status);

/*
 * The last instruction failed its condition, which within an IT block its opcode does not say: it
 * goes on after itself.
 */
void flowtap_learned_skipped(struct flowtap_learned *learned);
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

#endif /* FLOWTAP_LIBUAPI_ISA_LEARNED_INTERNAL_H */
