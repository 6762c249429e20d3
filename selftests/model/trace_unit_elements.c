// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the PE executes becomes trace elements, where the exception level may be traced and ViewInst
 * is active. What the elements' packets are is the encoder's business.
 */
#include <stdlib.h>

#include "trace_unit_internal.h"

#define DRAIN		64	/* bytes that the unit holds before it sends them */
#define TIMESTAMP_GAP	64	/* bytes between timestamps that the timestamp event asks for */

void trace_unit_send(struct trace_unit *unit)
{
	const uint8_t *bytes;
	size_t n;

	bytes = encoder_take(&unit->state->encoder, &n);
	if (n)
		trace_buffer_accept(&unit->pe->buffer, bytes, n);
}

/* Timestamps and events, at the earliest place where they may come: after a P0 element. */
static void beside(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	const struct machine *machine = unit->pe->machine;
	bool due = st->timestamp_due || (st->timestamp_wanted && trace_unit_offset(unit) >=
					 st->timestamp_at + TIMESTAMP_GAP);

	if (st->events_due) {
		encoder_event(&st->encoder, st->events_due);
		st->events_due = 0;
	}
	if (!due)
		return;
	st->timestamp_due = false;
	st->timestamp_wanted = false;
	st->timestamp_stale = false;
	if (!st->encoder.options.timestamps)
		return;
	encoder_timestamp(&st->encoder, machine->counter(machine->opaque, unit->pe->config.index));
	st->timestamp_at = trace_unit_offset(unit);
}

static void after_p0(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	st->midrun = false;
	st->timestamp_stale = true;
	if (st->context_due)
		trace_unit_update_context(unit);
	if (st->timestamp_due || st->timestamp_wanted || st->events_due)
		beside(unit);
}

static void begin(struct trace_unit *unit, uint64_t address)
{
	struct trace_unit_state *st = unit->state;

	encoder_on(&st->encoder, address, FLOWTAP_ISA_A64, &st->context);
}

/* An instruction takes a cycle, a taken branch more, and some where they are. Not constant. */
static uint32_t cycles_of(const struct pe_block *block)
{
	uint32_t cycles = block->n + (block->address >> 6 & 1);

	if (block->branch == PE_INDIRECT)
		return cycles + 3;
	return cycles + block->taken;
}

static bool is_p0(const struct trace_unit *unit, const struct pe_block *block)
{
	return block->branch != PE_NONE && (block->branch != PE_WFX || unit->options.wfx);
}

/* Elements of a wrong path: any, as long as they can be cancelled. */
static void wrong_path(struct trace_unit *unit, uint64_t address)
{
	struct encoder *encoder = &unit->state->encoder;
	struct rng *rng = &unit->pe->adversary.rng;
	unsigned int n = 1 + rng_below(rng, 8);
	uint64_t at = address;

	while (n-- && encoder_go_on(encoder)) {
		struct encoder_insn insn = {
			.address = at, .isa = FLOWTAP_ISA_A64, .target_isa = FLOWTAP_ISA_A64,
			.size = 4, .kind = rng_one_in(rng, 3) ? ENCODER_INDIRECT : ENCODER_DIRECT,
		};

		insn.taken = insn.kind == ENCODER_INDIRECT || rng_one_in(rng, 2);
		insn.target = address + 4 * rng_below(rng, 1000);
		insn.wrong = true;
		encoder_insn(encoder, &insn);
		at = insn.taken ? insn.target : at + 4;
	}
}

/* Whether the direct branch could have been the other way: a Mispredict element can follow it. */
static bool turns(const struct pe_block *block)
{
	return block->branch == PE_DIRECT && (block->conditional || !block->taken);
}

/* The PE predicted something else than what is true, went there and came back. */
static bool speculate(struct trace_unit *unit, const struct pe_block *block,
		      struct encoder_insn *insn)
{
	struct encoder *encoder = &unit->state->encoder;
	struct adversary *adversary = &unit->pe->adversary;
	const bool other_way = turns(block), taken = insn->taken;
	const uint64_t next = insn->address + 4, to = taken ? insn->target : next;

	if (unit->options.maxspec < 2 || !(other_way || insn->kind == ENCODER_INDIRECT) ||
	    !adversary_does(adversary, ADVERSARY_BIT_SPECULATE, 40))
		return false;
	insn->wrong = true;
	insn->taken = !other_way || !taken;
	insn->target = insn->taken ? next + 4 * rng_below(&adversary->rng, 4000) : next;
	encoder_insn(encoder, insn);
	/* The branch is the newest element and cannot be committed yet. */
	if (!encoder_mark(encoder))
		abort();
	wrong_path(unit, insn->target);
	encoder_cancel(encoder, other_way, to, FLOWTAP_ISA_A64,
		       taken && (!other_way || encoder->options.broadcast));
	return true;
}

static void tell_p0(struct trace_unit *unit, const struct pe_block *block)
{
	struct trace_unit_state *st = unit->state;
	struct adversary *adversary = &unit->pe->adversary;
	struct encoder_insn insn = {
		.address = block->address + 4 * (uint64_t)(block->n - 1),
		.target = block->next,
		.isa = FLOWTAP_ISA_A64,
		.target_isa = FLOWTAP_ISA_A64,
		.size = 4,
		.kind = block->branch == PE_DIRECT ? ENCODER_DIRECT :
			block->branch == PE_INDIRECT ? ENCODER_INDIRECT : ENCODER_BARRIER,
		.taken = block->taken,
		.link = block->link,
		.eret = block->eret,
	};

	if (unit->state->effective[TRCCONFIGR] & CONFIGR_BB)
		encoder_broadcast(&st->encoder, trace_unit_broadcasts(unit, insn.address));
	/* Found out before anything of the wrong path was told, once or several times. */
	if (unit->options.maxspec && turns(block) &&
	    adversary_does(adversary, ADVERSARY_BIT_SPECULATE, 100))
		insn.flips = 1 + rng_below(&adversary->rng, 3);
	if (insn.flips || !speculate(unit, block, &insn))
		encoder_insn(&st->encoder, &insn);
	after_p0(unit);
}

/* n instructions at the block's end are traced. */
static void trace_part(struct trace_unit *unit, const struct pe_block *part)
{
	struct trace_unit_state *st = unit->state;

	if (!st->encoder.tracing)
		begin(unit, part->address);
	encoder_cycles(&st->encoder, st->encoder.options.cycles ? cycles_of(part) : 0);
	st->midrun = true;
	if (is_p0(unit, part))
		tell_p0(unit, part);
	if (st->encoder.size >= DRAIN)
		trace_unit_send(unit);
}

/* Instructions `from` to `to` - 1 of the block. */
static struct pe_block part_of(const struct pe_block *block, uint32_t from, uint32_t to)
{
	struct pe_block part = *block;

	part.address += 4 * (uint64_t)from;
	part.first += from;
	part.n = to - from;
	if (to != block->n) {
		part.branch = PE_NONE;
		part.taken = false;
		part.link = false;
		part.eret = false;
		part.next = 0;
	}
	return part;
}

/* ViewInst changed: what the block has before it is told first. */
static void finish_part(struct trace_unit *unit, const struct pe_block *block, uint32_t *from,
			uint32_t to)
{
	struct trace_unit_state *st = unit->state;
	struct pe_block part;

	if (*from == to)
		return;
	part = part_of(block, *from, to);
	*from = to;
	log_block(&unit->pe->log, &part);
	if (st->active)
		trace_part(unit, &part);
	else
		st->midrun = !is_p0(unit, &part);
}

/*
 * ViewInst makes whole P0 blocks traced from the first instruction on for which it is active: the
 * P0 element at their end is told, whatever it is by then.
 */
static void stepped_block(struct trace_unit *unit, const struct pe_block *block)
{
	struct trace_unit_state *st = unit->state;
	uint32_t from = 0;

	for (uint32_t i = 0; i < block->n; i++) {
		bool view = trace_unit_step(unit, block->address + 4 * (uint64_t)i,
					    i == block->n - 1 ? block : NULL);

		if (view == st->active || (st->active && (st->midrun || i != from)))
			continue;
		finish_part(unit, block, &from, i);
		st->active = view;
		LOG(&unit->pe->log, LOG_FILTER, view);
		if (!view)
			trace_unit_stop_tracing(unit);
	}
	finish_part(unit, block, &from, block->n);
	if (!st->encoder.tracing && st->events_due) {
		encoder_begin(&st->encoder);
		beside(unit);
		trace_unit_send(unit);
	}
}

void trace_unit_block(struct trace_unit *unit, const struct pe_block *block)
{
	struct trace_unit_state *st = unit->state;

	trace_unit_maybe(unit);
	if (!unit->traces[unit->pe->el])
		return;
	if (adversary_does(&unit->pe->adversary, ADVERSARY_BIT_OVERFLOW, 5000))
		trace_unit_overflow(unit);
	if (st->stepped) {
		stepped_block(unit, block);
		return;
	}
	log_block(&unit->pe->log, block);
	trace_part(unit, block);
}

/* K10.5's exception types (DDI 0487, "Exception packet") by the exception class of ESR_ELx. */
enum { TYPE_CALL = 2, TYPE_TRAP, TYPE_SERROR, TYPE_INST_DEBUG = 6, TYPE_DATA_DEBUG,
       TYPE_ALIGNMENT = 10, TYPE_INST_FAULT, TYPE_DATA_FAULT, TYPE_IRQ = 14, TYPE_FIQ };

static const uint8_t types[64] = {
	[0x11] = TYPE_CALL, [0x12] = TYPE_CALL, [0x13] = TYPE_CALL,	/* AArch32 SVC, HVC, SMC */
	[0x15] = TYPE_CALL, [0x16] = TYPE_CALL, [0x17] = TYPE_CALL,
	[0x20] = TYPE_INST_FAULT, [0x21] = TYPE_INST_FAULT,
	[0x22] = TYPE_ALIGNMENT,	/* PC */
	[0x24] = TYPE_DATA_FAULT, [0x25] = TYPE_DATA_FAULT,
	[0x26] = TYPE_ALIGNMENT,	/* SP */
	[0x2f] = TYPE_SERROR,
	[0x30] = TYPE_INST_DEBUG, [0x31] = TYPE_INST_DEBUG,	/* breakpoint */
	[0x32] = TYPE_INST_DEBUG, [0x33] = TYPE_INST_DEBUG,	/* software step */
	[0x34] = TYPE_DATA_DEBUG, [0x35] = TYPE_DATA_DEBUG,	/* watchpoint */
	[0x38] = TYPE_INST_DEBUG, [0x3a] = TYPE_INST_DEBUG, [0x3c] = TYPE_INST_DEBUG,	/* BRK */
};

static unsigned int type_of(const struct pe_exception *exception)
{
	switch (exception->kind) {
	case PE_IRQ:
		return TYPE_IRQ;
	case PE_FIQ:
		return TYPE_FIQ;
	case PE_SERROR:
		return TYPE_SERROR;
	case PE_FIRMWARE:
		return TYPE_CALL;
	default:
		/* Undefined instructions and all that is trapped. */
		return types[exception->syndrome >> 26] ? types[exception->syndrome >> 26] :
							  TYPE_TRAP;
	}
}

#define EVENT_EXC_TAKEN	0x0009

/* Traced where what came before it was; system errors also if ViewInst was inactive for that. */
void trace_unit_exception(struct trace_unit *unit, const struct pe_exception *exception)
{
	struct trace_unit_state *st = unit->state;
	struct trace_context context;

	if (!st->enabled)
		return;
	trace_unit_external(unit, EVENT_EXC_TAKEN);
	if (!st->encoder.tracing && exception->kind == PE_SERROR &&
	    st->effective[TRCVICTLR] & VICTLR_TRCERR && st->allowed >> unit->pe->el & 1)
		begin(unit, exception->return_address);
	if (st->encoder.tracing) {
		context = trace_unit_context_at(unit, exception->el);
		encoder_exception(&st->encoder, type_of(exception), exception->return_address,
				  exception->handler, FLOWTAP_ISA_A64, &context);
		if (exception->kind == PE_FIRMWARE)
			encoder_off(&st->encoder);
		after_p0(unit);
		if (!st->active)
			trace_unit_stop_tracing(unit);
	}
	st->midrun = false;
	if (st->encoder.size >= DRAIN)
		trace_unit_send(unit);
}

void trace_unit_flush(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	if (!st->enabled)
		return;
	encoder_flush(&st->encoder);
	/* Its execution asks for a timestamp (K10.5.9): of what was traced since the last one. */
	if (st->timestamp_stale) {
		st->timestamp_due = true;
		beside(unit);
		encoder_flush(&st->encoder);
	}
	trace_unit_send(unit);
}

bool trace_unit_holds(const struct trace_unit *unit)
{
	const struct encoder *encoder = &unit->state->encoder;

	return encoder->size || encoder->natoms || encoder->emitted != encoder->resolved;
}

void trace_unit_external(struct trace_unit *unit, uint16_t event)
{
	struct trace_unit_state *st = unit->state;

	for (unsigned int i = 0; st->enabled && i < EXTERNAL_INPUTS; i++)
		if (st->effective[TRCEXTINSELR0 + i] == event)
			st->resources.externals_next |= 1U << i;
}

void trace_unit_overflow(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	if (!st->enabled || !st->encoder.tracing)
		return;
	encoder_overflow(&st->encoder);
	st->timestamp_stale = false;
	trace_unit_send(unit);
}
