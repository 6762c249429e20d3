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
 *	return_stack.h		where calls return to (K10.5.5.3)
 *
 * Where nothing is speculative (TRCIDR8.MAXSPEC 0, no transaction) atoms go from the byte to the
 * walk, and only what is no atom, no address and no cycle count or the like enters the queue.
 */
#ifndef ETE_INTERNAL_H
#define ETE_INTERNAL_H

#include <flowtap/arm.h>
#include <flowtap/ete.h>
#include <flowtap/ete_packet.h>
#include <stddef.h>

#include "ete/elements.h"
#include "ete/entry.h"
#include "ete/return_stack.h"
#include "ete/speculation.h"
#include "ete/stream.h"
#include "ete/transaction.h"

#define likely(x) __builtin_expect(!!(x), 1)

/* A P0 element that cannot be analyzed: its gap is emitted. */
#define ETE_DROP 1

#define ETE_STRAIGHT_MAX (1U << 16)	/* instructions without a branch for one P0 element */
#define ETE_JUMPS 1024
#define ETE_RECENT 32
#define ETE_VIEWS 8
/* Where indirect branches went: a block found by its address. */
struct ete_jump {
	uint64_t address;
	struct flowtap_block *block;
	const struct flowtap_code *code;
	uint32_t epoch;
	uint8_t isa;
};

/*
 * What is known of the code that a context sees; a PE changes to and fro between few of them. All
 * of it ends with a timestamp, where the images go by time, and with a gap.
 */
struct ete_view {
	struct flowtap_context context;
	const struct flowtap_code *recent[ETE_RECENT];	/* by address */
	uint32_t epoch;		/* of the jumps that were found in it; 0: not in use */
};

struct flowtap_ete {
	/* What each atom touches. */
	struct flowtap_block *block;	/* that of the address, or NULL: only `address` is set */
	const struct flowtap_code *code;	/* of block */
	struct flowtap_sink *sink;
	struct ete_held held;
	struct flowtap_ete_counts counts;
	struct ete_entry after_held;	/* within the fast path: waits after held, or NONE */

	/* The address of the analysis. */
	enum ete_address_state address_state;
	const char *missing_reason;
	uint64_t address;
	uint8_t sub_isa;
	bool has_context;
	struct flowtap_block *last;	/* the block that led to address, for its chain */
	bool last_taken;
	struct flowtap_context context;
	struct ete_return_stack returns;
	struct ete_view *view;
	struct ete_view views[ETE_VIEWS];
	unsigned int oldest_view;
	uint32_t epochs;
	unsigned int looked;

	struct ete_speculation speculation;
	struct ete_transaction transaction;
	struct ete_stream stream;
	struct ete_elements elements;
	int error;		/* what decoding ended with, 0: nothing */

	struct flowtap_ete_config config;
	struct flowtap_ete_options options;
	struct ete_jump jumps[ETE_JUMPS];
	struct flowtap_ete_images images;
	struct flowtap_blocks *blocks;
};

/* Else compilers make the offset part of the index, which costs an instruction at each look-up. */
_Static_assert(offsetof(struct flowtap_ete, jumps) % sizeof(struct ete_jump), "for look-ups");

static inline int ete_emit(struct flowtap_ete *ete, const struct flowtap_element *element)
{
	return ete->sink->element(ete->sink, element);
}

/* At `address` from now on, a block is looked for when it is needed. */
static inline void ete_set_address(struct flowtap_ete *ete, uint64_t address, uint8_t sub_isa)
{
	ete->block = NULL;
	ete->last = NULL;
	ete->address_state = ETE_ADDRESS_KNOWN;
	ete->address = address;
	ete->sub_isa = sub_isa;
}

/* Functions return 0, what the sink returned below 0, -ENOMEM; some ETE_DROP. */

/* analysis.c */
int flowtap_ete_analyze(struct flowtap_ete *ete, const struct ete_entry *entry,
			const struct ete_follow *follow);
/* Whether an element stays when those around it are cancelled (table K10-2). */
bool flowtap_ete_survives_cancel(const struct ete_entry *entry);

/*
 * fast_path.c: atoms, addresses, cycle counts and the like where ete_is_direct: *used bytes. *parsed:
 * the next packet is in ete->stream.packet already, of so many bytes, or 0.
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
 * which may be in other code, ete->code then; or the one where a call returns to. NULL: none.
 */
struct flowtap_block *flowtap_ete_find_successor(struct flowtap_ete *ete,
						 struct flowtap_block *block, bool taken);
/* A direct branch was not taken though nothing can keep it from being taken. */
bool flowtap_ete_cannot_fall_through(const struct flowtap_block *block);
int flowtap_ete_fell_through(struct flowtap_ete *ete, const struct flowtap_block *block);

/* source_address.c */
int flowtap_ete_source(struct flowtap_ete *ete, const struct ete_entry *entry,
		       const struct ete_follow *follow);
/* Up to `stop`, exclusive, or the first instruction after it. */
int flowtap_ete_walk_to(struct flowtap_ete *ete, uint64_t stop);

/* q.c */
int flowtap_ete_q(struct flowtap_ete *ete, const struct ete_entry *entry,
		  const struct ete_follow *follow);

/* position.c */
static inline enum flowtap_isa ete_isa(const struct flowtap_ete *ete)
{
	if (ete->context.width == 64)
		return FLOWTAP_ISA_A64;
	return ete->sub_isa ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A32;
}
/* Sets the address that the analysis is at, without its block. */
void flowtap_ete_sync_address(struct flowtap_ete *ete);
void flowtap_ete_set_unknown_address(struct flowtap_ete *ete, enum ete_address_state address_state,
				     const char *missing_reason);
/* Drops what was found of the code: it is asked for again. */
void flowtap_ete_invalidate_code(struct flowtap_ete *ete);
/* ete->context has changed. */
void flowtap_ete_select_view(struct flowtap_ete *ete);
/* A P0 element comes: makes sure that there is an address. 0, ETE_DROP. */
int flowtap_ete_require_address(struct flowtap_ete *ete);
/* Then: ete->block is the block there, cut before stop if that is not 0. 0, ETE_DROP. */
int flowtap_ete_find_block(struct flowtap_ete *ete, uint64_t stop);
/* As find_block, but without a gap where there is none. */
bool flowtap_ete_probe_block(struct flowtap_ete *ete);
/* Sets the address where `block` ends and finds the block there. */
int flowtap_ete_next_block(struct flowtap_ete *ete, struct flowtap_block *block, uint64_t stop);
/* Emits a gap; the address is lost then. */
__attribute__((format(printf, 4, 5)))
int flowtap_ete_emit_gap(struct flowtap_ete *ete, enum flowtap_gap_reason reason, uint64_t address,
			 const char *format, ...);

static inline int ete_emit_block(struct flowtap_ete *ete, struct flowtap_block *block, bool taken,
				 uint64_t target)
{
	block->executed++;
	ete->counts.blocks++;
	ete->counts.instructions += block->instructions;
	return ete->sink->block(ete->sink, block, taken, target);
}

#endif /* ETE_INTERNAL_H */
