/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The block cache: each distinct block of code is taken apart once, then looked up.
 *
 * A block is a run of instructions that ends at the first one that can transfer control, taken or
 * not, or before the address where the decoder was told to stop (a trap, the end of a sample).
 * The key is (code->key, address, stop), so a file mapped at the same address in many processes
 * has its blocks once, and remapped memory gets other ones.
 */
#ifndef FLOWTAP_BLOCK_H
#define FLOWTAP_BLOCK_H

#include <flowtap/flow.h>
#include <flowtap/image.h>

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

struct flowtap_block {
	uint64_t address;
	uint64_t stop;		/* 0, or the address the block was cut before */
	const uint8_t *bytes;	/* the opcodes, size bytes, owned by the image */
	uint32_t key;		/* flowtap_code.key */
	uint32_t size;		/* bytes */
	uint32_t instructions;
	uint32_t last;		/* offset of the last instruction */
	uint8_t isa;		/* enum flowtap_isa */
	uint8_t end;		/* class of the last instruction: enum flowtap_transfer_class of the ISA */
	bool direct;		/* its target is in the opcode: `target` */
	bool conditional;	/* it may fall through */
	uint64_t target;
	uint64_t executed;	/* times sent to the sink; the decoder counts */
	struct flowtap_render render[FLOWTAP_RENDER_SLOTS];
};

/* What the ISA gives the cache: fills size, instructions, last, end, direct, conditional, target. */
typedef int (*flowtap_block_decode)(struct flowtap_block *block, const uint8_t *bytes,
				    size_t available);

struct flowtap_blocks;

/*
 * limit: bytes of memory the cache may take (blocks and renderings), 0 for 256 MiB. When it is
 * reached the cache is emptied: block pointers are valid until the next flowtap_blocks_get.
 * NULL: no memory.
 */
struct flowtap_blocks *flowtap_blocks_new(flowtap_block_decode decode, enum flowtap_isa isa,
					  size_t limit);
void flowtap_blocks_free(struct flowtap_blocks *blocks);

/*
 * The block at `address` in `code`, cut before `stop` if that is not 0 and comes first.
 * 0 and *block; -ENODATA: the code ends before the block does; -EILSEQ: no valid instruction;
 * -ENOMEM. stop <= address is -EINVAL.
 */
int flowtap_blocks_get(struct flowtap_blocks *blocks, const struct flowtap_code *code,
		       uint64_t address, uint64_t stop, struct flowtap_block **block);

/* Accounts for a rendering of `size` bytes that a sink attached to a block. */
void flowtap_blocks_charge(struct flowtap_blocks *blocks, size_t size);

/*
 * Calls visit for each block with executed > 0, among them those that were evicted (added up by
 * address: only address, key, instructions and executed are then meaningful).
 */
void flowtap_blocks_visit(struct flowtap_blocks *blocks,
			  void (*visit)(const struct flowtap_block *block, void *argument),
			  void *argument);

#endif /* FLOWTAP_BLOCK_H */
