/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * What the parts of the ETE decoder share.
 *
 *	decoder.c		the entrance: bytes to packets, where decoding begins and ends
 *	stream.c		pieces of bytes, synchronisation, loss
 *	elements.c		packets to elements (K10.5.2)
 *	speculation.c		speculation: elements wait until they are committed (K10.5.3)
 *	held.h			the last committed P0 element
 *	transaction.c		elements of a transaction wait until it is (K10.5.4)
 *	analysis.c		elements against the code (K10.5.5)
 *	fast_path.c		... atoms that can be analyzed at once
 *	atoms.c			from block to block: atoms
 *	source_address.c	... up to an address: exceptions, source addresses
 *	q.c			... Q
 *	block_chain.h		... where the next block is known already
 *	position.c		the address of the analysis, and its code and block
 *	view.c			the code that a context sees
 *	return_stack.h		where calls return to (K10.5.5.3)
 *
 * Where nothing is speculative (TRCIDR8.MAXSPEC 0, no transaction) atoms go from the byte to the
 * walk, and only what is no atom, no address and no cycle count or the like enters the queue.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_INTERNAL_H
#define FLOWTAP_LIBUAPI_ETE_INTERNAL_H

#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/ete_packet.h>
#include <stddef.h>

#include "ete/elements.h"
#include "ete/entry.h"
#include "ete/position.h"
#include "ete/return_stack.h"
#include "ete/speculation.h"
#include "ete/stream.h"
#include "ete/transaction.h"
#include "ete/view.h"

#define likely(x) __builtin_expect(!!(x), 1)

#define ETE_STRAIGHT_MAX (1U << 16)	/* instructions without a branch for one P0 element */

struct flowtap_ete {
	/* What each atom touches: 64 bytes, of `held` its first 8. */
	struct ete_position position;
	struct flowtap_sink *sink;
	struct ete_held held;

	struct flowtap_ete_counts counts;
	struct ete_entry after_held;	/* fast_path.c's: waits after held, or NONE */
	struct ete_return_stack returns;
	struct ete_speculation speculation;
	struct ete_transaction transaction;
	struct ete_stream stream;
	struct ete_elements elements;
	int error;		/* what decoding ended with, 0: nothing */

	struct flowtap_ete_config config;
	struct flowtap_ete_options options;
	struct flowtap_ete_images images;
	struct flowtap_blocks *blocks;
	unsigned int looked;	/* position.c's: look-ups since it saw to the memory of blocks */
	struct ete_views views;
	/*
	 * The address that followed the last Q element, and how many blocks there were: as long as
	 * there are no more, it is where that led. 0: none.
	 */
	uint64_t after_q;
	uint64_t blocks_at_q;
	uint64_t looked_at;	/* entries, for what follows another: tests bound it */
};

_Static_assert(offsetof(struct flowtap_ete, held.next_address) <= 64, "what each atom touches");
/* Else compilers make the offset part of the index, which costs an instruction at each look-up. */
_Static_assert(offsetof(struct flowtap_ete, views.jumps) % sizeof(struct ete_jump), "for look-ups");

static inline int ete_emit(struct flowtap_ete *ete, const struct flowtap_element *element)
{
	return ete->sink->element(ete->sink, element);
}

/* Functions return 0, what the sink returned below 0, -ENOMEM; some ETE_DROP. */

/* analysis.c */
int flowtap_ete_analyze(struct flowtap_ete *ete, const struct ete_entry *entry,
			const struct ete_follow *follow);
/* Whether an element stays when those around it are cancelled (table K10-2). */
bool flowtap_ete_survives_cancel(const struct ete_entry *entry);

/*
 * fast_path.c: atoms, addresses, cycle counts and the like where ete_is_direct: *used bytes.
 * *parsed: the next packet is in ete->stream.packet already, of so many bytes, or 0.
 */
int flowtap_ete_fast_path(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, size_t *used,
			  size_t *parsed);

/* atoms.c */
int flowtap_ete_walk(struct flowtap_ete *ete, uint32_t taken, uint32_t initial, unsigned int count,
		     const struct ete_follow *follow);
/* One atom, wherever the address is. */
int flowtap_ete_atom(struct flowtap_ete *ete, bool taken, bool initial,
		     const struct ete_follow *follow);
/*
 * Where the chain of `block` does not lead: the block that is known to follow it all the same,
 * which may be in other code, that of the position then; or the one where a call returns to. NULL:
 * none.
 */
struct flowtap_block *flowtap_ete_find_successor(struct flowtap_ete *ete,
						 struct flowtap_block *block, bool taken);
/*
 * Whether nothing can keep the branch that ends the block, in the code of the position, from being
 * taken. fell_through: the gap where the trace says that it was not; ETE_DROP.
 */
bool flowtap_ete_cannot_fall_through(const struct flowtap_ete *ete,
				     const struct flowtap_block *block);
int flowtap_ete_fell_through(struct flowtap_ete *ete, const struct flowtap_block *block);
/*
 * Whether the block ends with an instruction that always takes an exception (A64's UDF): nothing
 * after it is executed. passed_undefined: the gap where the trace says that it was; ETE_DROP.
 */
bool flowtap_ete_ends_undefined(const struct flowtap_block *block);
int flowtap_ete_passed_undefined(struct flowtap_ete *ete, const struct flowtap_block *block);
/*
 * The trace goes on after a block with branch_future, which is emitted: the gap there, as what comes
 * next was executed or not; ETE_DROP.
 */
int flowtap_ete_passed_branch_future(struct flowtap_ete *ete, const struct flowtap_block *block);

/* source_address.c */
int flowtap_ete_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow);
/*
 * Whether instructions can have been executed from the position up to `stop`, as far as there is
 * code: 0, and the position is as it was. Else a gap and ETE_DROP.
 */
int flowtap_ete_prove_path(struct flowtap_ete *ete, uint64_t stop);
/* Up to `stop`, exclusive, or the first instruction after it; the path is proven. */
int flowtap_ete_walk_to(struct flowtap_ete *ete, uint64_t stop);

/* q.c */
int flowtap_ete_q(struct flowtap_ete *ete, const struct ete_entry *entry,
		  const struct ete_follow *follow);

/* width: 32 or 64 bits, of a context; sub_isa: of an address in it. */
static inline enum flowtap_isa ete_isa_of(unsigned int width, uint8_t sub_isa)
{
	if (width == 64)
		return FLOWTAP_ISA_A64;
	return sub_isa ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A32;
}

/*
 * What the M profile puts in the PC to return: EXC_RETURN, FNC_RETURN (DDI 0553). It is no address
 * of code. A tail-chained exception has 0xfffffffe: it has no return address (OpenCSD's
 * trc_gen_elem_types.h, excep_M_tail_chain).
 */
static inline bool ete_is_return_value(const struct flowtap_ete *ete, uint64_t address)
{
	const uint64_t first = 0xfefffffe;

	/* Of each address that is a target: few are there. */
	return address - first <= UINT32_MAX - first && ete->config.m_profile;
}

/* What was executed before a reset of the PE is not known, whatever address there is. */
static inline bool ete_is_reset(const struct flowtap_ete *ete, unsigned int exception)
{
	if (ete->config.m_profile && flowtap_ete_is_etm4(&ete->config))
		return exception == FLOWTAP_ETM4_M_RESET;
	if (exception == FLOWTAP_ETE_PE_RESET_UNKNOWN)
		return !flowtap_ete_is_etm4(&ete->config);
	return exception == FLOWTAP_ETE_PE_RESET;
}

/* Of the instruction at the address of the analysis. */
static inline enum flowtap_isa ete_isa(const struct flowtap_ete *ete)
{
	return ete_isa_of(ete->views.context.width, ete->position.sub_isa);
}

static inline int ete_emit_block(struct flowtap_ete *ete, struct flowtap_block *block, bool taken,
				 uint64_t target)
{
	block->executed++;
	ete->counts.blocks++;
	ete->counts.instructions += block->instructions;
	return ete->sink->block(ete->sink, block, taken, target);
}

#endif /* FLOWTAP_LIBUAPI_ETE_INTERNAL_H */
