// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The address of the analysis, and which code and block is there. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "ete/block_chain.h"

#define TRIM_EVERY 256		/* look-ups */

void flowtap_ete_set_unknown_address(struct ete_position *position, enum ete_address_state state,
				     const char *missing_reason)
{
	position->block = NULL;
	position->last = NULL;
	position->state = state;
	position->missing_reason = missing_reason;
}

struct ete_saved_position flowtap_ete_save_position(const struct ete_position *position)
{
	const struct flowtap_block *block = position->block;

	if (block)
		return (struct ete_saved_position){ETE_ADDRESS_KNOWN, block->isa == FLOWTAP_ISA_T32,
						   block->address, NULL};
	return (struct ete_saved_position){position->state, position->sub_isa, position->address,
					   position->missing_reason};
}

void flowtap_ete_restore_position(struct ete_position *position,
				  const struct ete_saved_position *saved)
{
	if (saved->state == ETE_ADDRESS_KNOWN)
		ete_set_address(position, saved->address, saved->sub_isa);
	else
		flowtap_ete_set_unknown_address(position, saved->state, saved->missing_reason);
}

void flowtap_ete_invalidate_code(struct flowtap_ete *ete)
{
	ete_sync_address(&ete->position);
	flowtap_ete_views_invalidate(&ete->views);
}

void flowtap_ete_set_context(struct flowtap_ete *ete, const struct flowtap_context *context)
{
	ete_sync_address(&ete->position);
	ete->position.context = ETE_CONTEXT_KNOWN;
	flowtap_ete_views_select(&ete->views, context);
}

int flowtap_ete_emit_gap(struct flowtap_ete *ete, enum flowtap_gap_reason reason, uint64_t address,
			 const char *format, ...)
{
	char detail[200];
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = reason, .address = address },
	};
	va_list arguments;

	if (format) {
		va_start(arguments, format);
		vsnprintf(detail, sizeof(detail), format, arguments);
		va_end(arguments);
		element.gap.detail = detail;
	}
	flowtap_ete_invalidate_code(ete);
	ete->after_q = 0;
	flowtap_ete_set_unknown_address(&ete->position, ETE_ADDRESS_LOST, NULL);
	/* Calls and returns are not seen from here on, but the trace unit's stack has them. */
	ete_clear_returns(&ete->returns);
	ete->counts.gaps[reason]++;
	return ete_emit(ete, &element);
}

static int drop(int status)
{
	return status ? status : ETE_DROP;
}

/*
 * Where a Q element is next it covers what cannot be analyzed as well: it says that the
 * instructions up to the address after it are not known.
 */
static bool before_q(const struct flowtap_ete *ete)
{
	const struct ete_entry *front = ete_queue_front(&ete->speculation);

	return front && front->kind == ETE_Q;
}

/* No address has come though one is needed. */
static int missing_address(struct flowtap_ete *ete)
{
	if (ete->position.state == ETE_ADDRESS_LOST)
		return ETE_DROP;
	if (ete_awaits_target(&ete->position) && before_q(ete))
		return ETE_DROP;
	if (ete_awaits_target(&ete->position))
		return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_ADDRESS, 0,
						 "an indirect branch has no address in the trace, "
						 "and the return stack is empty"));
	return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_ADDRESS, 0, "%s",
					 ete->position.missing_reason));
}

/*
 * K10.5.5.18.2 for a return whose address did not come. After a Trace Info the stack is emptied by
 * the next P0 element (K10.5.5.9), here before that one can push: the trace unit's has been empty
 * since the Trace Info.
 */
int flowtap_ete_require_address(struct flowtap_ete *ete)
{
	struct ete_return entry;

	if (ete_awaits_target(&ete->position) && ete_pop_return(&ete->returns, &entry))
		ete_set_return_address(ete, &entry);
	ete_returns_at_p0(&ete->returns);
	if (ete->position.state != ETE_ADDRESS_KNOWN)
		return missing_address(ete);
	if (!ete_has_context(&ete->position))
		return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_ADDRESS, ete->position.address,
						 "no context has come"));
	return 0;
}

/* What the reference decoder says of memory that it has not: the address alone. */
static int no_code(struct flowtap_ete *ete, const struct flowtap_code *code, uint64_t address)
{
	if (ete_covers(code, address) && !code->bytes)
		return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_CODE, address, "%s",
						 code->missing ? code->missing : "no bytes"));
	return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_NO_IMAGE, address, NULL));
}

/* Where a block has to end at the latest, or 0: AArch32 has 4 GiB. */
static uint64_t limit(const struct flowtap_code *code, enum flowtap_isa isa, uint64_t stop)
{
	if (isa == FLOWTAP_ISA_A64 || code->end <= 1ULL << 32)
		return stop;
	return stop ? stop : 1ULL << 32;
}

/*
 * The block at the address. One that reaches the end of its code is cut there, an instruction that
 * lies across it is missing.
 */
static int get_block(struct flowtap_ete *ete, const struct flowtap_code *code, enum flowtap_isa isa,
		     uint64_t stop)
{
	struct flowtap_block *last = ete->position.last, **block = &ete->position.block;
	uint64_t address = ete->position.address, end;
	int status = -ENODATA;

	if (stop)
		status = flowtap_blocks_get(ete->blocks, code, isa, address, stop, block);
	else if (last && ete->position.last_taken)
		status = flowtap_blocks_taken(ete->blocks, code, last, block);
	else if (last && last->address + last->size == address)
		status = flowtap_blocks_next(ete->blocks, code, last, 0, block);
	else
		status = flowtap_blocks_get(ete->blocks, code, isa, address, 0, block);
	/* The walk continues up to >= the address (K10.5.5.6.1). */
	if (status == -EILSEQ && isa == FLOWTAP_ISA_T32)
		status = flowtap_blocks_get(ete->blocks, code, isa, address, stop + 2, block);
	end = isa == FLOWTAP_ISA_T32 ? code->end & ~1ULL : code->end & ~3ULL;
	for (int i = 0; i < 2 && status == -ENODATA && end > address; i++, end -= 2)
		status = flowtap_blocks_get(ete->blocks, code, isa, address, end, block);
	return status;
}

static void trim(struct flowtap_ete *ete)
{
	if (++ete->looked < TRIM_EVERY)
		return;
	ete->looked = 0;
	if (!flowtap_blocks_trim(ete->blocks))
		return;
	ete->position.last = NULL;
	flowtap_ete_views_invalidate_blocks(&ete->views);
	flowtap_ete_returns_invalidate_blocks(&ete->returns);
}

/* 0 and ete->position.block, ete->position.code; -errno, and what code there is. */
static int find(struct flowtap_ete *ete, enum flowtap_isa isa, uint64_t stop,
		const struct flowtap_code **code)
{
	int status;

	trim(ete);
	*code = ete_views_find(&ete->views, &ete->images, isa, ete->position.address);
	if (!ete_covers(*code, ete->position.address) || !(*code)->bytes)
		return -ENODATA;
	status = get_block(ete, *code, isa, limit(*code, isa, stop));
	ete->position.last = NULL;
	if (status)
		ete->position.block = NULL;
	else
		ete->position.code = *code;
	return status;
}

static int look_up(struct flowtap_ete *ete, enum flowtap_isa isa, uint64_t stop)
{
	uint64_t address = ete->position.address;
	const struct flowtap_code *code;
	int status;

	if (isa != FLOWTAP_ISA_T32 && address & 3)
		return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, address,
						 "instructions do not begin here in this state"));
	status = find(ete, isa, stop, &code);
	if (!status || status == -ENOMEM)
		return status;
	if (status == -ENODATA)
		return no_code(ete, code, address);
	return drop(flowtap_ete_emit_gap(ete, FLOWTAP_GAP_IMPOSSIBLE, address,
					 "no instruction at 0x%" PRIx64 " ends before 0x%" PRIx64,
					 address, stop));
}

int flowtap_ete_probe_block(struct flowtap_ete *ete, uint64_t stop)
{
	enum flowtap_isa isa = ete_isa(ete);
	const struct flowtap_code *code;

	if (isa != FLOWTAP_ISA_T32 && ete->position.address & 3)
		return -EILSEQ;
	return find(ete, isa, stop, &code);
}

int flowtap_ete_find_block(struct flowtap_ete *ete, uint64_t stop)
{
	struct ete_position *position = &ete->position;
	enum flowtap_isa isa = ete_isa(ete);
	struct ete_jump *jump = ete_jump_at(&ete->views, position->address);
	int status;

	if (stop)
		return look_up(ete, isa, stop);
	/* Blocks of the same code are chained by a look-up, and then come no more here. */
	if (jump->block && jump->address == position->address &&
	    jump->epoch == ete->views.current->epoch && jump->isa == isa &&
	    (!position->last || position->last->key != jump->code->key)) {
		ete_set_block(position, jump->block);
		ete_set_code(position, jump->code);
		return 0;
	}
	status = look_up(ete, isa, 0);
	if (!status)
		*jump = (struct ete_jump){ position->address, position->block, position->code,
					   ete->views.current->epoch, isa };
	return status;
}

int flowtap_ete_next_block(struct flowtap_ete *ete, struct flowtap_block *block, uint64_t stop)
{
	ete_set_address_from(&ete->position, ete_block_end(block), block->isa == FLOWTAP_ISA_T32,
			     block, false);
	return flowtap_ete_find_block(ete, stop);
}
