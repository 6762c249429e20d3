/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The block cache: each distinct block of code is taken apart once, then looked up.
 *
 * A block is a run of instructions of one ISA that ends at the first one that can transfer control,
 * taken or not, or before the address where the decoder was to stop (a trap, the end of a
 * sample). A run that goes on for long is ended in between as well (flowtap_block_max_size). The
 * key is (code->key, ISA, address, stop), so a file mapped at the same address in many processes
 * has its blocks once, and remapped memory gets other ones.
 */
#ifndef FLOWTAP_BLOCK_H
#define FLOWTAP_BLOCK_H

#include <flowtap/flow.h>
#include <flowtap/address_map.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a sink makes of a block ahead, its rendering, is kept with the block: bytes that it only has
 * to copy when the block is executed. For that the cache hands out a slot to each sink
 * (flowtap_blocks_slot), and which sinks there are nothing here knows. A rendering says whose it is
 * by a number that is never given twice: so no sink takes another's for its own, nor what one
 * that is gone has left, and a slot is not given back.
 *
 * The number is the process's, as a sink may be made before the cache its blocks come from, or take
 * blocks of several. Blocks that a program makes itself have space for renderings, too: all zeros.
 */
struct flowtap_blocks;

/*
 * So many renderings are kept with a block. Where more sinks than that are in turn on one cache
 * they displace each other's: each writes what it would alone, but renders blocks again and again.
 */
#define FLOWTAP_RENDERINGS 4

struct flowtap_render {
	uint64_t owner;		/* of the slot whose it is; 0: there is none here */
	void *bytes;		/* malloc'ed by the sink, freed with the block */
	uint32_t size;
	uint32_t mark;		/* sink's own, e.g. where the last instruction begins */
};

struct flowtap_slot {
	uint64_t owner;
	size_t at;		/* bytes from the begin of a block to where its own was last */
	struct flowtap_blocks *blocks;	/* charged for what is kept; may be NULL */
};

/* What each step of a decoder touches comes first: 64 bytes. */
struct flowtap_block {
	uint64_t address;
	uint64_t target;
	union {
		struct {
			struct flowtap_block *next;	/* the one after it in this code if */
							/* known; the cache's */
			struct flowtap_block *taken;	/* the one at `target`, likewise */
		};
		struct flowtap_block *successor[2];	/* the same, by whether it was taken */
	};
	uint64_t executed;	/* times sent to the sink; the decoder counts, and a sink that leaves */
				/* one out may take it back */
	uint32_t key;		/* flowtap_code.key */
	uint32_t size;		/* bytes */
	uint32_t instructions;
	uint32_t last;		/* offset of the last instruction */
	uint8_t isa;		/* enum flowtap_isa */
	uint8_t target_isa;	/* where it is direct: the one at `target` */
	uint8_t end;		/* class of the last instruction: RISC-V flowtap_transfer_type, Arm */
				/* flowtap_arm_class (arm.h); 0 is no transfer */
	bool direct;		/* its target is in the opcode: `target` */
	bool conditional;	/* it may fall through */
	bool link;		/* Arm: taken, it leaves the address after it as a return address */
	bool branch_future;	/* Arm: it announces a branch (arm.h, branch_point): whether what */
				/* comes after it is executed is not known, and `end` is 0 */
	uint64_t stop;		/* 0, or the address the block was cut before */
	const uint8_t *bytes;	/* the opcodes, size bytes, owned by the image */
	struct flowtap_render render[FLOWTAP_RENDERINGS];
};

/*
 * What the architecture gives the cache: fills size, instructions, last, end, direct, conditional,
 * link, branch_future, target and, where that is not isa, target_isa; address, stop, isa and
 * target_isa (as isa) are set, and no block goes beyond flowtap_block_max_size. 0; -ENODATA:
 * `available` bytes end before the block does; -EILSEQ: an instruction that is not known, or stop
 * lies within one.
 */
typedef int (*flowtap_block_decode)(struct flowtap_block *block, const uint8_t *bytes,
				    size_t available);

/*
 * Where a block from `address` ends at the latest, in bytes from there: at stop if that is not 0,
 * else at the first multiple of 16 KiB that is at least 4 KiB away (an instruction may overlap
 * it). So the work for one address is bounded, and long runs that begin at different addresses
 * share all blocks but the first.
 */
static inline uint64_t flowtap_block_max_size(uint64_t address, uint64_t stop)
{
	uint64_t capacity = ((address + 0x1000 + 0x3fff) & ~0x3fffULL) - address;

	return stop && stop - address < capacity ? stop - address : capacity;
}

/*
 * limit: bytes of memory the cache may take (blocks and renderings), 0 for 256 MiB. NULL: no
 * memory.
 */
struct flowtap_blocks *flowtap_blocks_new(flowtap_block_decode decode, size_t limit);
void flowtap_blocks_free(struct flowtap_blocks *blocks);

/*
 * The cache for what `decode` cuts into blocks: `blocks` where that is its own one, else another,
 * which flowtap_blocks_visit of `blocks` visits too and flowtap_blocks_free frees. limit: of one
 * that is made. NULL: no memory.
 */
struct flowtap_blocks *flowtap_blocks_of(struct flowtap_blocks *blocks, flowtap_block_decode decode,
					 size_t limit);

/*
 * Empties the cache if it has reached its limit, keeping the execution counts: then true. Nothing
 * else ends the life of a block pointer, so a decoder calls this where it holds none, often enough
 * that what is added in between is small.
 */
bool flowtap_blocks_trim(struct flowtap_blocks *blocks);

/*
 * The block of `isa` at `address` in `code`, cut before `stop` if that is not 0 and comes first;
 * the cache keeps it. address must be in the code's range and code->bytes there. 0 and *block;
 * -ENODATA: the code ends before the block does; -EILSEQ: an instruction that is not known, or stop
 * lies within one; -ENOMEM. stop <= address, or an address outside, is -EINVAL.
 */
int flowtap_blocks_get(struct flowtap_blocks *blocks, const struct flowtap_code *code,
		       enum flowtap_isa isa, uint64_t address, uint64_t stop,
		       struct flowtap_block **block);

/*
 * As flowtap_blocks_get for the address at which `block` ends, remembered in `block`: `code` is
 * the code there.
 */
int flowtap_blocks_next(struct flowtap_blocks *blocks, const struct flowtap_code *code,
			struct flowtap_block *block, uint64_t stop, struct flowtap_block **next);

/*
 * As flowtap_blocks_get for `target` of a block that is direct, whole (stop 0), remembered in
 * `block` as well.
 */
int flowtap_blocks_taken(struct flowtap_blocks *blocks, const struct flowtap_code *code,
			 struct flowtap_block *block, struct flowtap_block **taken);

/* Accounts for `size` bytes that live as long as the blocks. */
void flowtap_blocks_charge(struct flowtap_blocks *blocks, size_t size);

/*
 * A slot for a sink whose blocks come from `blocks`, or are not known yet (NULL: no cache is
 * charged for renderings). It may be used with blocks of other caches as well, by one thread at a
 * time. kind: NULL, or a static variable, 0 at first, of all sinks whose rendering of a block is
 * the same whatever their options are: they have one owner, and use each other's renderings.
 */
struct flowtap_slot flowtap_blocks_slot(struct flowtap_blocks *blocks, uint64_t *kind);

/*
 * For who is in a hurry: what nearly always is the slot's rendering of the block. It is if its
 * owner is the slot's; else flowtap_slot_find knows.
 */
static inline const struct flowtap_render *flowtap_slot_guess(const struct flowtap_slot *slot,
							      const struct flowtap_block *block)
{
	return (const struct flowtap_render *)((const char *)block + slot->at);
}

/*
 * The slot's rendering of the block, or NULL; valid up to the next flowtap_slot_keep for this
 * block, whosever.
 */
const struct flowtap_render *flowtap_slot_find(struct flowtap_slot *slot,
					       const struct flowtap_block *block);

/*
 * Keeps bytes, size and mark of `made` with the block, which has the bytes from now on, for
 * flowtap_slot_find, in place of what the slot has kept there before; where FLOWTAP_RENDERINGS
 * others have theirs the oldest owner loses his. Whoever's it was, it is freed. capacity: what the
 * bytes take of memory, at least size. Cannot fail; returns it.
 */
const struct flowtap_render *flowtap_slot_keep(struct flowtap_slot *slot,
					       const struct flowtap_block *block,
					       const struct flowtap_render *made, size_t capacity);

/*
 * Calls visit for each block with executed > 0, also of flowtap_blocks_of, then for those that were
 * evicted: added up by address, of which only address, key, instructions and executed are
 * meaningful, and bytes is NULL. A block that was evicted and came again is visited for each. At
 * most half of the limit is spent on evicted counts; instructions that find no space there are
 * visited as one block of address 0 and key UINT32_MAX, of one instruction.
 */
void flowtap_blocks_visit(struct flowtap_blocks *blocks,
			  void (*visit)(const struct flowtap_block *block, void *argument),
			  void *argument);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_BLOCK_H */
