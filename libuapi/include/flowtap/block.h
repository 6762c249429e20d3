/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The block cache: each distinct block of code is taken apart once, then looked up.
 *
 * A block is a run of instructions of one ISA that ends at the first one that can transfer control, taken or
 * not, or before the address where the decoder was told to stop (a trap, the end of a sample). A
 * run that goes on for long is ended in between as well (flowtap_block_max_size). The key is
 * (code->key, ISA, address, stop), so a file mapped at the same address in many processes has its
 * blocks once, and remapped memory gets other ones.
 */
#ifndef FLOWTAP_BLOCK_H
#define FLOWTAP_BLOCK_H

#include <flowtap/flow.h>
#include <flowtap/image.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One slot per sink that renders ahead: bytes that this block becomes in its format. */
enum flowtap_render_slot {
	FLOWTAP_RENDER_STF,
	FLOWTAP_RENDER_TARMAC,
	FLOWTAP_RENDER_QEMU4V,
	FLOWTAP_RENDER_FLOW,
	FLOWTAP_RENDER_SLOTS
};

struct flowtap_render {
	void *bytes;		/* malloc'ed by the sink, freed with the block */
	uint32_t size;
	uint32_t mark;		/* sink's own, e.g. where the last instruction begins */
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
		struct flowtap_block *way[2];	/* the same, by whether it was taken */
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
	uint64_t stop;		/* 0, or the address the block was cut before */
	const uint8_t *bytes;	/* the opcodes, size bytes, owned by the image */
	struct flowtap_render render[FLOWTAP_RENDER_SLOTS];
};

/*
 * What the architecture gives the cache: fills size, instructions, last, end, direct, conditional,
 * link, target and, where that is not isa, target_isa; address, stop, isa and target_isa (as isa)
 * are set, and no block goes beyond flowtap_block_max_size. 0; -ENODATA: `available`
 * bytes end before the block does; -EILSEQ: an instruction that is not known, or stop lies within
 * one.
 */
typedef int (*flowtap_block_decode)(struct flowtap_block *block, const uint8_t *bytes,
				    size_t available);

struct flowtap_blocks;

/*
 * Where a block from `address` ends at the latest, in bytes from there: at stop if that is not 0,
 * else at the first multiple of 16 KiB that is at least 4 KiB away (an instruction may overlap
 * it). So the work for one address is bounded, and long runs that begin at different places share
 * all blocks but the first.
 */
static inline uint64_t flowtap_block_max_size(uint64_t address, uint64_t stop)
{
	uint64_t room = ((address + 0x1000 + 0x3fff) & ~0x3fffULL) - address;

	return stop && stop - address < room ? stop - address : room;
}

/*
 * limit: bytes of memory the cache may take (blocks and renderings), 0 for 256 MiB. NULL: no
 * memory.
 */
struct flowtap_blocks *flowtap_blocks_new(flowtap_block_decode decode, size_t limit);
void flowtap_blocks_free(struct flowtap_blocks *blocks);

/*
 * Empties the cache if it has reached its limit, keeping the execution counts: then true. Nothing
 * else ends the life of a block pointer, so a decoder calls this where it holds none, often enough
 * that what is added in between is small.
 */
bool flowtap_blocks_trim(struct flowtap_blocks *blocks);

/*
 * The block of `isa` at `address` in `code`, cut before `stop` if that is not 0 and comes first; the cache
 * keeps it. address must be in the code's range and code->bytes there.
 * 0 and *block; -ENODATA: the code ends before the block does; -EILSEQ: an instruction that is not
 * known, or stop lies within one; -ENOMEM. stop <= address, or an address outside, is -EINVAL.
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

/* Accounts for a rendering of `size` bytes that a sink attached to a block. */
void flowtap_blocks_charge(struct flowtap_blocks *blocks, size_t size);

/*
 * Calls visit for each block with executed > 0, then for those that were evicted: added up by
 * address, of which only address, key, instructions and executed are meaningful. A block that was
 * evicted and came again is visited for each. At most half of the limit is spent on evicted
 * counts; instructions that find no room there are visited as one block of address 0 and key
 * UINT32_MAX, of one instruction.
 */
void flowtap_blocks_visit(struct flowtap_blocks *blocks,
			  void (*visit)(const struct flowtap_block *block, void *argument),
			  void *argument);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_BLOCK_H */
