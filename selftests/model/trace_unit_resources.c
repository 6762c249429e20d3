// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comparators, resource selectors, counters, the sequencer, single-shot controls, events, and what
 * they make of ViewInst (DDI 0487, "ETE resource operation", "Filtering trace generation").
 *
 * A resource changes from one instruction to the next: what an instruction makes of counters and
 * the sequencer can be seen at the next one.
 */
#include "trace_unit_internal.h"

/* PMU events that an external input can be, beside those told by trace_unit_external. */
enum { PMU_INST_RETIRED = 0x08, PMU_EXC_RETURN = 0x0a, PMU_CPU_CYCLES = 0x11,
       PMU_BR_RETIRED = 0x21 };

/* TRCACATR: the exception level, and the context comparators it asks for. */
static bool attributes_match(const struct trace_unit *unit, unsigned int n)
{
	uint64_t acatr = in_effect(unit, TRCACATR0 + 2 * n);
	unsigned int which = acatr >> 4 & 7;

	if (acatr >> (12 + unit->pe->el) & 1)
		return false;
	if (acatr >> 2 & 1 && !(unit->state->resources.contexts >> which & 1))
		return false;
	return !(acatr >> 3 & 1) || unit->state->resources.vmids >> which & 1;
}

static bool single_matches(const struct trace_unit *unit, unsigned int n, uint64_t address)
{
	return in_effect(unit, TRCACVR0 + 2 * n) == address && attributes_match(unit, n);
}

/* Both ends are of it. */
bool trace_unit_range(const struct trace_unit *unit, unsigned int n, uint64_t address)
{
	return address >= in_effect(unit, TRCACVR0 + 4 * n) &&
	       address <= in_effect(unit, TRCACVR0 + 4 * n + 2) &&
	       attributes_match(unit, 2 * n) && attributes_match(unit, 2 * n + 1);
}

bool trace_unit_broadcasts(const struct trace_unit *unit, uint64_t address)
{
	uint64_t bbctlr = in_effect(unit, TRCBBCTLR);

	for (unsigned int i = 0; i < unit->options.address_pairs; i++)
		if (bbctlr >> i & 1 && trace_unit_range(unit, i, address))
			return bbctlr & BBCTLR_MODE;
	return !(bbctlr & BBCTLR_MODE);
}

/* TRCCIDCCTLR, TRCVMIDCCTLR: a bit for each byte that does not matter. */
static uint32_t comparators(const struct trace_unit *unit, unsigned int n, unsigned int values,
			    unsigned int controls, uint32_t value)
{
	uint32_t matching = 0;

	for (unsigned int i = 0; i < n; i++) {
		uint32_t ignored = in_effect(unit, controls + i / 4) >> 8 * (i % 4);
		uint32_t differ = value ^ in_effect(unit, values + 2 * i);

		for (unsigned int byte = 0; byte < 4; byte++)
			if (ignored >> byte & 1)
				differ &= ~(0xffU << 8 * byte);
		if (!differ)
			matching |= 1U << i;
	}
	return matching;
}

void trace_unit_resources_context(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	st->resources.contexts = comparators(unit, unit->options.context_comparators, TRCCIDCVR0,
					     TRCCIDCCTLR0, st->context.contextid);
	st->resources.vmids = comparators(unit, unit->options.vmid_comparators, TRCVMIDCVR0,
					  TRCVMIDCCTLR0, st->context.vmid);
}

static uint32_t counters_and_states(const struct trace_unit *unit)
{
	const struct trace_unit_resources *r = &unit->state->resources;
	uint32_t active = 0;

	for (unsigned int i = 0; i < unit->options.counters; i++)
		active |= (uint32_t)r->counter_zero[i] << i;
	if (unit->options.sequencer_states)
		active |= 1U << (4 + r->sequencer);
	return active;
}

/* One resource selector, before TRCRSCTLR.INV. */
static bool selected(const struct trace_unit *unit, unsigned int n)
{
	const struct trace_unit_resources *r = &unit->state->resources;
	uint64_t rsctlr = in_effect(unit, TRCRSCTLR0 + n);
	uint32_t select = rsctlr & 0xffff;

	switch (rsctlr >> 16 & 15) {
	case GROUP_EXTERNAL:
		return r->externals & select;
	case GROUP_COUNTERS:
		return counters_and_states(unit) & select;
	case GROUP_SINGLE_SHOT:
		return r->fired & select;
	case GROUP_SINGLE:
		return r->singles & select;
	case GROUP_RANGE:
		return r->ranges & select;
	case GROUP_CONTEXT:
		return r->contexts & select;
	case GROUP_VMID:
		return r->vmids & select;
	default:	/* there are no PE comparator inputs */
		return false;
	}
}

static bool selector(const struct trace_unit *unit, unsigned int n)
{
	if (n < 2)
		return n;
	if (n >= trace_unit_selectors(unit))
		return false;
	return selected(unit, n) ^ !!(in_effect(unit, TRCRSCTLR0 + n) & RSCTLR_INV);
}

/*
 * TRCRSCTLR: both of a pair, each perhaps inverted, then the result perhaps. (A.PAIRINV, A.INV,
 * B.INV) 0b000 is A and B, 0b111 A or B; 0b001 and 0b110 are reserved.
 */
static bool pair(const struct trace_unit *unit, unsigned int n)
{
	if (!n || 2 * n >= trace_unit_selectors(unit))
		return false;
	return (selector(unit, 2 * n) && selector(unit, 2 * n + 1)) ^
	       !!(in_effect(unit, TRCRSCTLR0 + 2 * n) & RSCTLR_PAIRINV);
}

/* A resource event: TYPE, bit 7, and SEL. */
static bool event(const struct trace_unit *unit, uint64_t field)
{
	if (field < 2)
		return field && trace_unit_selectors(unit);
	return field & EVENT_TYPE ? pair(unit, field & 15) : selector(unit, field & 31);
}

/* Events 0 to 3 of TRCEVENTCTL0R. */
static void step_events(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	uint64_t fields = in_effect(unit, TRCEVENTCTL0R), control = in_effect(unit, TRCEVENTCTL1R);
	uint8_t active = 0, began;

	for (unsigned int i = 0; fields >> 8 * i && i < unit->options.events; i++)
		active |= event(unit, fields >> 8 * i & 0xff) << i;
	began = active & ~st->resources.events;
	st->resources.events = active;
	st->events_due |= active & control & 15;
	if (began & 1 && control & EVENTCTL1R_ATB) {
		trace_unit_send(unit);
		trace_buffer_trigger(&unit->pe->buffer);
	}
	if (event(unit, in_effect(unit, TRCTSCTLR)))
		st->timestamp_wanted = true;
}

/*
 * A counter counts down while its event is active, and the one above it where this one reloads.
 * At zero: always while it is zero or, where it reloads itself, for the one instruction.
 */
static void step_counters(struct trace_unit *unit)
{
	struct trace_unit_resources *r = &unit->state->resources;
	unsigned int used = unit->state->counters_used;
	bool reloaded = false;

	for (unsigned int i = 0; used >> i; i++) {
		uint64_t control = in_effect(unit, TRCCNTCTLR0 + i);
		bool down = event(unit, control & 0xff) ||
			    (control & CNTCTLR_CNTCHAIN && reloaded);
		bool self = control & CNTCTLR_RLDSELF && down && !r->counter[i];

		reloaded = self || event(unit, control >> 8 & 0xff);
		if (reloaded)
			r->counter[i] = in_effect(unit, TRCCNTRLDVR0 + i);
		else if (down && r->counter[i])
			r->counter[i]--;
		r->counter_zero[i] = control & CNTCTLR_RLDSELF ? self : !r->counter[i];
	}
}

/* TRCSEQEVR<n>: F from state n to n + 1, B back. Both at once: it stays. */
static void step_sequencer(struct trace_unit *unit)
{
	struct trace_unit_resources *r = &unit->state->resources;
	bool forward, back;

	if (event(unit, in_effect(unit, TRCSEQRSTEVR))) {
		r->sequencer = 0;
		return;
	}
	forward = r->sequencer < 3 && event(unit, in_effect(unit, TRCSEQEVR0 + r->sequencer) & 0xff);
	back = r->sequencer > 0 &&
	       event(unit, in_effect(unit, TRCSEQEVR0 + r->sequencer - 1) >> 8 & 0xff);
	r->sequencer += forward - back;
}

static void step_single_shots(struct trace_unit *unit)
{
	struct trace_unit_resources *r = &unit->state->resources;

	r->fired = 0;
	for (unsigned int i = 0; i < unit->options.single_shots; i++) {
		uint64_t control = in_effect(unit, TRCSSCCR0 + i);

		if (r->status >> i & 1 && !(control & SSCCR_RST))
			continue;
		if (r->singles & control || r->ranges & control >> 16) {
			r->status |= 1U << i;
			r->fired |= 1U << i;
		}
	}
}

static void step_externals(struct trace_unit *unit, const struct pe_block *last)
{
	struct trace_unit_resources *r = &unit->state->resources;

	r->externals = r->externals_next;
	r->externals_next = 0;
	for (unsigned int i = 0; i < EXTERNAL_INPUTS; i++) {
		uint64_t which = in_effect(unit, TRCEXTINSELR0 + i);

		if (which == PMU_INST_RETIRED || which == PMU_CPU_CYCLES ||
		    (which == PMU_BR_RETIRED && last &&
		     (last->branch == PE_DIRECT || last->branch == PE_INDIRECT)) ||
		    (which == PMU_EXC_RETURN && last && last->eret))
			r->externals |= 1U << i;
	}
}

static void step_addresses(struct trace_unit *unit, uint64_t address)
{
	struct trace_unit_state *st = unit->state;
	struct trace_unit_resources *r = &st->resources;

	r->singles = 0;
	for (uint32_t left = st->singles_used; left; left &= left - 1) {
		unsigned int i = __builtin_ctz(left);

		r->singles |= (uint32_t)single_matches(unit, i, address) << i;
	}
	r->ranges = 0;
	for (uint32_t left = st->ranges_used; left; left &= left - 1) {
		unsigned int i = __builtin_ctz(left);

		r->ranges |= (uint32_t)trace_unit_range(unit, i, address) << i;
	}
}

/* Include, exclude, start and stop; a start point is of what it starts, a stop point too. */
static bool view(struct trace_unit *unit)
{
	struct trace_unit_resources *r = &unit->state->resources;
	uint64_t viiectlr = in_effect(unit, TRCVIIECTLR), vissctlr = in_effect(unit, TRCVISSCTLR);
	uint32_t include = viiectlr & 0xff, exclude = viiectlr >> 16 & 0xff;
	bool started;

	if (r->singles & (vissctlr & 0xffff))
		r->started = true;
	started = r->started;
	if (r->singles & vissctlr >> 16)
		r->started = false;
	return started && (!include || r->ranges & include) && !(r->ranges & exclude);
}

static bool view_event(const struct trace_unit *unit)
{
	return !trace_unit_selectors(unit) || event(unit, in_effect(unit, TRCVICTLR) & EVENT_FIELD);
}

bool trace_unit_step(struct trace_unit *unit, uint64_t address, const struct pe_block *last)
{
	struct trace_unit_state *st = unit->state;
	bool viewed;

	if (st->externals_used)
		step_externals(unit, last);
	step_addresses(unit, address);
	if (st->single_shots_used)
		step_single_shots(unit);
	viewed = view(unit);
	viewed = view_event(unit) && viewed && st->chosen >> unit->pe->el & 1;
	if (st->events_used)
		step_events(unit);
	if (st->counters_used)
		step_counters(unit);
	if (st->sequencer_used)
		step_sequencer(unit);
	return viewed;
}

/* All that a resource selector or a filter could look at: comparators beside do not matter. */
static void find_used(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	uint64_t viiectlr = in_effect(unit, TRCVIIECTLR), vissctlr = in_effect(unit, TRCVISSCTLR);

	st->externals_used = false;
	st->single_shots_used = false;
	st->singles_used = (vissctlr & 0xffff) | vissctlr >> 16;
	st->ranges_used = (viiectlr & 0xff) | (viiectlr >> 16 & 0xff);
	for (unsigned int i = 0; i < unit->options.single_shots; i++) {
		st->single_shots_used |= in_effect(unit, TRCSSCCR0 + i) & ~(uint64_t)SSCCR_RST;
		st->singles_used |= in_effect(unit, TRCSSCCR0 + i) & 0xffff;
		st->ranges_used |= in_effect(unit, TRCSSCCR0 + i) >> 16 & 0xff;
	}
	for (unsigned int i = 2; i < trace_unit_selectors(unit); i++) {
		uint64_t rsctlr = in_effect(unit, TRCRSCTLR0 + i);

		if ((rsctlr >> 16 & 15) == GROUP_EXTERNAL && rsctlr & 15)
			st->externals_used = true;
		else if ((rsctlr >> 16 & 15) == GROUP_SINGLE)
			st->singles_used |= rsctlr & 0xffff;
		else if ((rsctlr >> 16 & 15) == GROUP_RANGE)
			st->ranges_used |= rsctlr & 0xff;
	}
	st->singles_used &= (1U << 2 * unit->options.address_pairs) - 1;
	st->ranges_used &= (1U << unit->options.address_pairs) - 1;
}

/* What counts, is counted or changes state by events: without selectors nothing does. */
static void find_events(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	bool any = trace_unit_selectors(unit);

	st->events_used = any && in_effect(unit, TRCEVENTCTL0R) | in_effect(unit, TRCTSCTLR);
	st->counters_used = 0;
	for (unsigned int i = 0; any && i < unit->options.counters; i++)
		if (in_effect(unit, TRCCNTCTLR0 + i) & (0xffff | CNTCTLR_CNTCHAIN))
			st->counters_used |= 1U << i;
	st->sequencer_used = any && unit->options.sequencer_states &&
			     in_effect(unit, TRCSEQRSTEVR) | in_effect(unit, TRCSEQEVR0) |
			     in_effect(unit, TRCSEQEVR0 + 1) | in_effect(unit, TRCSEQEVR0 + 2);
}

bool trace_unit_needs_steps(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	uint64_t filters = 0;

	find_used(unit);
	find_events(unit);
	if (unit->options.address_pairs)
		filters = in_effect(unit, TRCVIIECTLR) | in_effect(unit, TRCVISSCTLR);
	if (trace_unit_selectors(unit))
		filters |= (in_effect(unit, TRCVICTLR) & EVENT_FIELD) ^ 1;
	return filters || st->single_shots_used || st->events_used || st->counters_used ||
	       st->sequencer_used || !(in_effect(unit, TRCVICTLR) & VICTLR_SSSTATUS);
}

void trace_unit_resources_load(struct trace_unit *unit)
{
	struct trace_unit_resources *r = &unit->state->resources;

	*r = (struct trace_unit_resources){
		.started = in_effect(unit, TRCVICTLR) & VICTLR_SSSTATUS,
		.sequencer = in_effect(unit, TRCSEQSTR) & 3,
		.externals_next = in_effect(unit, TRCRSR) & 15,
	};
	for (unsigned int i = 0; i < unit->options.counters; i++) {
		r->counter[i] = in_effect(unit, TRCCNTVR0 + i);
		r->counter_zero[i] = !r->counter[i] &&
				     !(in_effect(unit, TRCCNTCTLR0 + i) & CNTCTLR_RLDSELF);
	}
	for (unsigned int i = 0; i < unit->options.single_shots; i++)
		if (in_effect(unit, TRCSSCSR0 + i) & SSCSR_STATUS)
			r->status |= 1U << i;
	unit->state->events_due = in_effect(unit, TRCRSR) >> 8 & in_effect(unit, TRCEVENTCTL1R) & 15;
}

static void save(struct trace_unit *unit, unsigned int slot, uint64_t value)
{
	struct trace_unit_state *st = unit->state;

	/* A write that waits is newer. */
	for (unsigned int i = 0; i < st->npending; i++)
		if (st->pending[i].slot == slot)
			return;
	st->written[slot] = value;
	st->effective[slot] = value;
}

void trace_unit_resources_save(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	const struct trace_unit_resources *r = &st->resources;

	save(unit, TRCVICTLR, (in_effect(unit, TRCVICTLR) & ~(uint64_t)VICTLR_SSSTATUS) |
	     (r->started ? VICTLR_SSSTATUS : 0));
	save(unit, TRCRSR, (st->encoder.tracing ? RSR_TA : 0) | st->events_due << 8 |
	     r->externals_next);
	if (unit->options.sequencer_states)
		save(unit, TRCSEQSTR, r->sequencer);
	for (unsigned int i = 0; i < unit->options.counters; i++)
		save(unit, TRCCNTVR0 + i, r->counter[i]);
	for (unsigned int i = 0; i < unit->options.single_shots; i++)
		save(unit, TRCSSCSR0 + i, r->status >> i & 1 ? SSCSR_STATUS : 0);
}
