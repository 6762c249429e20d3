/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Code that a trace itself holds: readers of formats that hold opcodes hand on one instruction
 * after the other, a sink gets blocks as a decoder would make them (block.h). A block is kept by
 * address, ISA and opcodes, so that code that changes at an address becomes another block.
 *
 * What the decoders do not take for code is taken from a trace that says it was executed: an
 * encoding that RV64GC reserves or leaves to vendors ends a block as a conditional indirect jump
 * (FLOWTAP_TRANSFER_INDIRECT_JUMP), as it may do anything. WFE and WFI of Arm do not end a block.
 */
#ifndef FLOWTAP_LEARNED_H
#define FLOWTAP_LEARNED_H

#include <flowtap/block.h>
#include <flowtap/flow.h>

#ifdef __cplusplus
extern "C" {
#endif

struct flowtap_learned;

/* limit: bytes of memory for blocks and renderings, 0 for 256 MiB. NULL: no memory. */
struct flowtap_learned *flowtap_learned_new(size_t limit);
void flowtap_learned_free(struct flowtap_learned *learned);
/*
 * For sinks that charge their renderings, and for what was executed how often. Owned by learned.
 * A block lives until a later call of flowtap_learned_*, its `key` says nothing, and `next` and
 * `taken` are the readers' own.
 */
struct flowtap_blocks *flowtap_learned_blocks(struct flowtap_learned *learned);
/* Where blocks go; before the first instruction, and after a flush. */
void flowtap_learned_sink(struct flowtap_learned *learned, struct flowtap_sink *sink);

/*
 * The instruction at `address` was executed, after all that were added before it. If the one before
 * was not said to be taken and does not end there: it is a branch that was taken to here, if it can
 * be one (an ecall or ebreak goes to its handler); else the flow is not continuous, and a gap
 * (FLOWTAP_GAP_IMPOSSIBLE) comes between, as it does where `address` is not the target that was
 * given.
 * 0; -EILSEQ: `size` bytes are no instruction of isa; -EINVAL: the address is not aligned for it,
 * or wraps; -ENOMEM; what the sink returned. After -EILSEQ and -EINVAL nothing has changed.
 */
int flowtap_learned_instruction(struct flowtap_learned *learned, enum flowtap_isa isa,
				uint64_t address, const uint8_t *bytes, size_t size);
/*
 * The last instruction transferred control to `target` (a taken branch, an exception return, an
 * ecall; 0: not known). To be called at most once for one instruction.
 * 0; -EPROTO: there is none, or it cannot transfer there; it counts as not said then.
 */
int flowtap_learned_taken(struct flowtap_learned *learned, uint64_t target);
/*
 * Ends the run: what was held back goes to the sink. To be called before any element is handed to
 * the sink, and at the end; no gap comes between what is before and after. A last instruction of
 * which nothing was said: a direct jump was taken, so was an exception return and any other branch
 * of Arm's that always is, to nobody knows where (0); everything else was not.
 * 0; -ENOMEM; what the sink returned.
 */
int flowtap_learned_flush(struct flowtap_learned *learned);

#ifdef __cplusplus
}
#endif

#endif /* FLOWTAP_LEARNED_H */
