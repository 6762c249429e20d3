// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace unit as a whole: what it is made of, when it is enabled, which exception levels may be
 * traced, in which context. What is traced becomes elements in trace_unit_elements.c.
 *
 * Not modelled: Secure, Realm and AArch32 state, transactions, instrumentation, stalling of the PE,
 * and the Q and Source Address elements that a trace unit may use. CNTVOFF_EL2 and CNTPOFF_EL2 are
 * taken as 0: all of TRFCR.TS's times are the physical one. A warm reset resets the unit too, so
 * that a PE Reset is never traced.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trace_unit_internal.h"

/* As the trace units of Neoverse cores are. */
const struct trace_unit_options trace_unit_defaults = {
	.address_pairs = 4,
	.context_comparators = 1,
	.vmid_comparators = 1,
	.resource_pairs = 8,
	.single_shots = 1,
	.counters = 2,
	.sequencer_states = 4,
	.events = 4,
	.maxspec = 0,
	.commopt = true,
	.broadcast = true,
	.cycles = true,
	.return_stack = 15,
	.wfx = true,
	.revision = 0,
	.stall = true,
};

static bool within(uint8_t value, unsigned int most)
{
	return value <= most;
}

static bool options_sound(const struct trace_unit_options *o)
{
	return within(o->address_pairs, 8) && within(o->context_comparators, 8) &&
	       within(o->vmid_comparators, 8) && within(o->pe_inputs, 8) && o->resource_pairs &&
	       within(o->resource_pairs, 16) && within(o->single_shots, 8) &&
	       within(o->counters, 4) && (!o->sequencer_states || o->sequencer_states == 4) &&
	       o->events && within(o->events, 4) && o->maxspec <= ENCODER_MAXSPEC &&
	       (o->commopt || o->maxspec) && within(o->return_stack, ENCODER_STACK) &&
	       within(o->revision, 3);
}

/* What a decoder needs to know; the log's reader has it from here. */
static void log_identity(struct trace_unit *unit)
{
	static const uint16_t slots[] = { TRCIDR0, TRCIDR0 + 1, TRCIDR0 + 2, TRCIDR8, TRCDEVARCH };

	for (unsigned int i = 0; i < sizeof(slots) / sizeof(slots[0]); i++)
		LOG(&unit->pe->log, LOG_REGISTER, trace_unit_sysreg(slots[i]),
		    trace_unit_identity(unit, slots[i]));
}

int trace_unit_init(struct trace_unit *unit, struct pe *pe,
		    const struct trace_unit_options *options)
{
	memset(unit, 0, sizeof(*unit));
	unit->pe = pe;
	unit->options = *options;
	if (!options_sound(options))
		return -EINVAL;
	unit->state = calloc(1, sizeof(*unit->state));
	if (!unit->state)
		return -ENOMEM;
	trace_unit_registers_reset(unit);
	return 0;
}

void trace_unit_free(struct trace_unit *unit)
{
	if (!unit->state)
		return;
	encoder_free(&unit->state->encoder);
	free(unit->state);
	unit->state = NULL;
}

static void seen(void *opaque, enum encoder_seen what, uint64_t value)
{
	struct trace_unit *unit = opaque;
	struct log *log = &unit->pe->log;

	switch (what) {
	case ENCODER_SEEN_SYNC:
		/* The buffer pads the stream: its count is the one that places are told by. */
		LOG(log, LOG_SYNC, unit->pe->buffer.accepted + unit->state->encoder.size);
		unit->state->timestamp_due = true;
		break;
	case ENCODER_SEEN_TIMESTAMP:
		LOG(log, LOG_TIMESTAMP, value);
		break;
	case ENCODER_SEEN_CYCLES:
		LOG(log, LOG_CYCLES, value + 1);
		break;
	case ENCODER_SEEN_EVENT:
		LOG(log, LOG_EVENT, value);
		break;
	case ENCODER_SEEN_OVERFLOW:
		log_event(log, LOG_OVERFLOW, 0, NULL);
		break;
	}
}

static uint64_t configr(const struct trace_unit *unit)
{
	return unit->state->effective[TRCCONFIGR];
}

/* TRCSYNCPR.PERIOD: 0, or so many bytes as a power of 2; others are reserved. */
static uint32_t sync_period(const struct trace_unit *unit)
{
	uint64_t period = unit->state->effective[TRCSYNCPR];

	return period >= 8 && period <= 20 ? 1U << period : 0;
}

/* Where the adversary does not want all that is legal, what OpenCSD 1.5.5 can read. */
static void start_encoder(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	bool any = adversary_has(&unit->pe->adversary, ADVERSARY_BIT_PACKETS);
	uint64_t config = configr(unit), taken = st->encoder.taken;
	const struct encoder_options options = {
		.maxspec = unit->options.maxspec,
		.commopt = unit->options.commopt,
		.return_stack = config & CONFIGR_RS ? unit->options.return_stack : 0,
		.cycles = config & CONFIGR_CCI,
		.threshold = st->effective[TRCCCCTLR],
		.vmid = config & CONFIGR_VMID,
		.contextid = config & CONFIGR_CID,
		.timestamps = config & CONFIGR_TS,
		.wfx = unit->options.wfx,
		.sync = sync_period(unit),
		.ignore = any ? 50 : 0,
		.shortest = !any,
		.sync_exact = !any,
		.classic = !any,
		.prompt = !any,
		.drained = true,
	};

	encoder_free(&st->encoder);
	encoder_init(&st->encoder, &options, adversary_enabled(&unit->pe->adversary), NULL);
	st->encoder.taken = taken;
	st->encoder.seen = seen;
	st->encoder.opaque = unit;
}

struct trace_context trace_unit_context_at(const struct trace_unit *unit, unsigned int el)
{
	const uint64_t *effective = unit->state->effective;
	bool cx = unit->pe->config.el2 && effective[SLOT_TRFCR_EL2] & TRFCR_CX;

	return (struct trace_context){
		.el = el,
		.security = FLOWTAP_NONSECURE,
		.sf = true,
		.vmid = cx ? effective[SLOT_CONTEXTIDR_EL2] : 0,
		.contextid = effective[SLOT_CONTEXTIDR_EL1],
	};
}

void trace_unit_update_context(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	struct trace_context context = trace_unit_context_at(unit, unit->pe->el);

	st->context_due = false;
	if (context.contextid != st->context.contextid || context.vmid != st->context.vmid)
		LOG(&unit->pe->log, LOG_CONTEXT, context.contextid, context.vmid);
	st->context = context;
	if (st->encoder.tracing)
		encoder_context(&st->encoder, &context);
	trace_unit_resources_context(unit);
}

void trace_unit_stop_tracing(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	if (st->encoder.tracing)
		encoder_off(&st->encoder);
	st->midrun = false;
	if (st->context_due)
		trace_unit_update_context(unit);
}

/* Says what is traced from here on, if that is something new. */
static void tell_tracing(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	enum log_tracing what = !st->enabled ? LOG_DISABLED : st->chosen ? LOG_TRACED :
				LOG_PROHIBITED;
	uint32_t told = what << 8 | (st->enabled ? st->chosen : 0);

	if (told == st->told)
		return;
	st->told = told;
	LOG(&unit->pe->log, LOG_TRACING, what, told & 0xff, unit->pe->el);
	pe_tell_time(unit->pe);
	if (what == LOG_TRACED && st->stepped && !st->active)
		LOG(&unit->pe->log, LOG_FILTER, 0);
}

/* TraceAllowed(): what TRFCR says, and who owns the trace buffer. */
static uint8_t allowed_levels(const struct trace_unit *unit)
{
	const uint64_t *effective = unit->state->effective;
	uint64_t el1 = effective[SLOT_TRFCR_EL1], el2 = effective[SLOT_TRFCR_EL2];
	bool host = unit->pe->config.el2 && unit->pe->tge;
	uint8_t allowed = 0;

	if ((host ? el2 : el1) & TRFCR_E0TRE)
		allowed |= 1 << 0;
	if (el1 & TRFCR_E1TRE)
		allowed |= 1 << 1;
	if (unit->pe->config.el2 && el2 & TRFCR_E1TRE)
		allowed |= 1 << 2;
	for (unsigned int el = 0; el < 3; el++)
		if (trace_buffer_prohibits(&unit->pe->buffer, el))
			allowed &= ~(1U << el);
	return allowed;
}

static void update_levels(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	unsigned int el = unit->pe->el;
	uint8_t wanted;

	st->allowed = allowed_levels(unit);
	st->chosen = st->allowed & ~(st->effective[TRCVICTLR] >> VICTLR_NS_SHIFT & 7);
	wanted = !st->enabled ? 0 : st->stepped ? st->allowed : st->chosen;
	for (unsigned int i = 0; i < 4; i++)
		unit->traces[i] = wanted >> i & 1;
	if (!(st->enabled && st->chosen >> el & 1))
		trace_unit_stop_tracing(unit);
	tell_tracing(unit);
}

static void enable(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	trace_unit_reserved(unit);
	start_encoder(unit);
	st->enabled = true;
	st->stepped = trace_unit_needs_steps(unit);
	st->active = !st->stepped;
	st->midrun = false;
	st->timestamp_due = false;
	st->timestamp_wanted = false;
	st->timestamp_stale = false;
	st->timestamp_at = st->encoder.taken;
	st->events_due = 0;
	trace_unit_resources_load(unit);
	trace_unit_update_context(unit);
}

/* The log has its A-syncs and timestamps, so that its bytes are told as lost. */
static void discard(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	size_t n;

	encoder_flush(&st->encoder);
	encoder_take(&st->encoder, &n);
	trace_buffer_discard(&unit->pe->buffer, n);
}

/* "The ETE might discard trace for preceding instructions when it is disabled" (K10.5.10). */
static void disable(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	if (trace_unit_holds(unit) &&
	    adversary_does(&unit->pe->adversary, ADVERSARY_BIT_WITHHOLD, 2))
		discard(unit);
	else
		trace_unit_flush(unit);
	trace_unit_resources_save(unit);
	st->enabled = false;
}

static void update_enabled(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	bool on = st->effective[TRCPRGCTLR] && !unit->pe->oslock;
	struct adversary *adversary = &unit->pe->adversary;

	if (on == st->enabled)
		return;
	if (on)
		enable(unit);
	else
		disable(unit);
	if (!on && st->disablings < unit->options.stuck)
		st->disablings++;
	st->stable_seen = false;
	st->idle_polls = 0;
	st->stable_polls = 0;
	if (adversary_does(adversary, ADVERSARY_BIT_SLOW, 2)) {
		st->idle_polls = rng_below(&adversary->rng, 5);
		st->stable_polls = on ? 0 : rng_below(&adversary->rng, 5);
	}
	if (!on && unit->options.stuck && st->disablings == unit->options.stuck)
		st->idle_polls = POLLS_FOR_EVER;
}

void trace_unit_refresh(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	update_enabled(unit);
	update_levels(unit);
	if (st->context.el != unit->pe->el && !st->midrun)
		trace_unit_update_context(unit);
}

void trace_unit_effect(struct trace_unit *unit, unsigned int slot, uint64_t value)
{
	struct trace_unit_state *st = unit->state;

	st->effective[slot] = value;
	if (slot < SLOT_CONTEXTIDR_EL1)
		LOG(&unit->pe->log, LOG_REGISTER, trace_unit_sysreg(slot), value);
	if (slot == SLOT_CONTEXTIDR_EL1 || slot == SLOT_CONTEXTIDR_EL2 || slot == SLOT_TRFCR_EL2) {
		st->context_due = true;
		if (!st->midrun || !st->encoder.tracing)
			trace_unit_update_context(unit);
	}
	if (slot == TRCPRGCTLR || slot == TRCVICTLR || slot == SLOT_TRFCR_EL1 ||
	    slot == SLOT_TRFCR_EL2)
		trace_unit_refresh(unit);
}

void trace_unit_reset(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	/* The log has its A-syncs and timestamps: the buffer, reset before, tells of their loss. */
	if (st->enabled) {
		encoder_flush(&st->encoder);
		trace_unit_send(unit);
	}
	trace_unit_registers_reset(unit);
	encoder_free(&st->encoder);
	memset(&st->encoder, 0, sizeof(st->encoder));
	memset(&st->resources, 0, sizeof(st->resources));
	st->enabled = false;
	st->midrun = false;
	st->context_due = false;
	st->context = trace_unit_context_at(unit, unit->pe->el);
	st->told = UINT32_MAX;
	log_identity(unit);
	trace_unit_refresh(unit);
}

bool trace_unit_enabled(const struct trace_unit *unit)
{
	return unit->state->enabled;
}
