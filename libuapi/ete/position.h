/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where the analysis is (K10.5.5): its address, and the code and the block there.
 *
 * Other files read the fields, and change them by these functions only.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_POSITION_H
#define FLOWTAP_LIBUAPI_ETE_POSITION_H

#include <flowtap/block.h>

#include "ete/entry.h"

struct flowtap_ete;

/* A P0 element that cannot be analyzed: its gap is emitted. */
#define ETE_DROP 1

/* What is known of the context that the view has (view.h). */
enum ete_context_state {
	ETE_CONTEXT_UNKNOWN,	/* none has come since one was lost */
	ETE_CONTEXT_AWAITED,	/* it was emitted, but is another one's: none has come since Trace On */
	ETE_CONTEXT_KNOWN,
};

/* All of it is touched by each step from block to block. */
struct ete_position {
	struct flowtap_block *block;	/* that of the address, or NULL: only `address` is set */
	const struct flowtap_code *code;	/* of block */
	uint64_t address;
	struct flowtap_block *last;	/* the block that led to address, for its chain; or NULL */
	const char *missing_reason;
	enum ete_address_state state;
	uint8_t sub_isa;		/* of address; 1: T32 where it is AArch32 */
	bool last_taken;		/* how `last` was left */
	uint8_t context;		/* enum ete_context_state */
	bool late;			/* the last Address came after the branch to it was analyzed */
};

/*
 * At `address`, where `last` led, or NULL: what did is not known. A block is looked for when
 * needed.
 */
static inline void ete_set_address_from(struct ete_position *position, uint64_t address,
					uint8_t sub_isa, struct flowtap_block *last, bool taken)
{
	position->block = NULL;
	position->last = last;
	position->last_taken = taken;
	position->state = ETE_ADDRESS_KNOWN;
	position->address = address;
	position->sub_isa = sub_isa;
}

static inline void ete_set_address(struct ete_position *position, uint64_t address,
				   uint8_t sub_isa)
{
	position->block = NULL;
	position->last = NULL;
	position->state = ETE_ADDRESS_KNOWN;
	position->address = address;
	position->sub_isa = sub_isa;
}

/* Whether an indirect branch was taken whose target is not known yet. */
static inline bool ete_awaits_target(const struct ete_position *position)
{
	return position->state == ETE_ADDRESS_RETURN || position->state == ETE_ADDRESS_ERET;
}

/*
 * An Address element comes. `late` is set by it alone: it is where an indirect branch led that may
 * have been on the trace unit's return stack, and that a flush did not let wait for it.
 */
static inline void ete_set_next(struct ete_position *position, uint64_t address, uint8_t sub_isa)
{
	position->late = position->state == ETE_ADDRESS_RETURN;
	ete_set_address(position, address, sub_isa);
}

/* The block at the address is known, and in the code that is there already. */
static inline void ete_set_block(struct ete_position *position, struct flowtap_block *block)
{
	position->block = block;
}

/* The block at the address is, or will be, in this code. */
static inline void ete_set_code(struct ete_position *position, const struct flowtap_code *code)
{
	position->code = code;
}

/* Sets the address that the analysis is at, without its block. */
static inline void ete_sync_address(struct ete_position *position)
{
	if (position->block)
		ete_set_address(position, position->block->address,
				position->block->isa == FLOWTAP_ISA_T32);
	position->last = NULL;
}

static inline bool ete_has_context(const struct ete_position *position)
{
	return position->context == ETE_CONTEXT_KNOWN;
}

/* From here on no instruction can be analyzed before a context has come. */
static inline void ete_invalidate_context(struct ete_position *position)
{
	position->context = ETE_CONTEXT_UNKNOWN;
}

/* So, but one that repeats the last is not emitted anew. */
static inline void ete_await_context(struct ete_position *position)
{
	if (position->context == ETE_CONTEXT_KNOWN)
		position->context = ETE_CONTEXT_AWAITED;
}

/*
 * The address is not known: state is not KNOWN. missing_reason: a line that outlives it, for the
 * gap of the P0 element that needs an address; NULL where it is neither MISSING nor NOWHERE.
 */
void flowtap_ete_set_unknown_address(struct ete_position *position, enum ete_address_state state,
				     const char *missing_reason);
/* The address, which may be that of the block, to come back to. */
struct ete_saved_position flowtap_ete_save_position(const struct ete_position *position);
/* Back at that address. */
void flowtap_ete_restore_position(struct ete_position *position,
				  const struct ete_saved_position *saved);

/*
 * --- Below, functions return 0; what the sink returned below 0; -ENOMEM; where it says so,
 * ETE_DROP.
 */

/* Emits a gap; the address is lost then, the code is asked for again, the return stack is empty. */
__attribute__((format(printf, 4, 5)))
int flowtap_ete_emit_gap(struct flowtap_ete *ete, enum flowtap_gap_reason reason, uint64_t address,
			 const char *format, ...);
/* Drops what was found of the code: it is asked for again. */
void flowtap_ete_invalidate_code(struct flowtap_ete *ete);
/* The code is that which this context sees from now on; it is copied. */
void flowtap_ete_set_context(struct flowtap_ete *ete, const struct flowtap_context *context);
/* A P0 element comes: makes sure that there is an address (K10.5.5.18.2). 0, ETE_DROP. */
int flowtap_ete_require_address(struct flowtap_ete *ete);
/* Then: ete->position.block is the block there, cut before stop if that is not 0. 0, ETE_DROP. */
int flowtap_ete_find_block(struct flowtap_ete *ete, uint64_t stop);
/*
 * As find_block, but without a gap where there is none: 0; -ENODATA: no code; -EILSEQ: none begins
 * there, or an instruction goes beyond stop; -ENOMEM.
 */
int flowtap_ete_probe_block(struct flowtap_ete *ete, uint64_t stop);
/* Sets the address where `block` ends and finds the block there. 0, ETE_DROP. */
int flowtap_ete_next_block(struct flowtap_ete *ete, struct flowtap_block *block, uint64_t stop);

#endif /* FLOWTAP_LIBUAPI_ETE_POSITION_H */
