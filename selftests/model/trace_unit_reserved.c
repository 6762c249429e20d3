// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Values of registers that are reserved, or make the unit unpredictable, when it is enabled, and
 * state that is still what the last session left. A register counts only if something that is used
 * looks at it ("must be programmed if ..." of each register): others are what the reset made of them.
 */
#include "trace_unit_internal.h"

/* What is used, as far as it was found; and the first that is wrong. */
struct walk {
	struct trace_unit *unit;
	uint32_t selectors;
	uint8_t counters;
	uint8_t single_shots;
	bool sequencer;
	const char *bad;
	uint64_t value;
};

static void wrong(struct walk *walk, const char *name, uint64_t value)
{
	if (walk->bad)
		return;
	walk->bad = name;
	walk->value = value;
}

static bool comparators_bad(const struct trace_unit *unit, uint32_t singles, uint32_t ranges)
{
	for (unsigned int i = 0; i < unit->options.address_pairs; i++) {
		unsigned int a = TRCACVR0 + 4 * i, attributes = TRCACATR0 + 4 * i;
		uint64_t low = in_effect(unit, a), high = in_effect(unit, a + 2);

		if (ranges >> i & 1 && (low > high || in_effect(unit, attributes) !=
					in_effect(unit, attributes + 2)))
			return true;
	}
	return singles >> 2 * unit->options.address_pairs || ranges >> unit->options.address_pairs;
}

static void use_selector(struct walk *walk, unsigned int n);

/* An event: TYPE, SEL. name, value: of the register that has it. */
static void use_event(struct walk *walk, uint64_t field, const char *name, uint64_t value)
{
	unsigned int n = field & 31, selectors = trace_unit_selectors(walk->unit), function;
	uint64_t a, b;

	if (!selectors || !(field & EVENT_FIELD))
		return;
	if (!(field & EVENT_TYPE)) {
		if (n >= selectors)
			wrong(walk, name, value);
		else
			use_selector(walk, n);
		return;
	}
	if (!n || 2 * n >= selectors) {
		wrong(walk, name, value);
		return;
	}
	a = in_effect(walk->unit, TRCRSCTLR0 + 2 * n);
	b = in_effect(walk->unit, TRCRSCTLR0 + 2 * n + 1);
	function = !!(a & RSCTLR_PAIRINV) << 2 | !!(a & RSCTLR_INV) << 1 | !!(b & RSCTLR_INV);
	if (function == 1 || function == 6)
		wrong(walk, "TRCRSCTLR pair", a);
	use_selector(walk, 2 * n);
	use_selector(walk, 2 * n + 1);
}

static void use_events(struct walk *walk, unsigned int slot, unsigned int events, const char *name)
{
	uint64_t value = in_effect(walk->unit, slot);

	for (unsigned int i = 0; i < events; i++)
		use_event(walk, value >> 8 * i & 0xff, name, value);
}

static void use_counter(struct walk *walk, unsigned int n)
{
	if (walk->counters >> n & 1)
		return;
	walk->counters |= 1U << n;
	use_events(walk, TRCCNTCTLR0 + n, 2, "TRCCNTCTLR");
	if (n && in_effect(walk->unit, TRCCNTCTLR0 + n) & CNTCTLR_CNTCHAIN)
		use_counter(walk, n - 1);
}

static void use_sequencer(struct walk *walk)
{
	if (walk->sequencer)
		return;
	walk->sequencer = true;
	use_events(walk, TRCSEQRSTEVR, 1, "TRCSEQRSTEVR");
	for (unsigned int i = 0; i < 3; i++)
		use_events(walk, TRCSEQEVR0 + i, 2, "TRCSEQEVR");
}

static void use_single_shot(struct walk *walk, unsigned int n)
{
	uint64_t control = in_effect(walk->unit, TRCSSCCR0 + n);

	walk->single_shots |= 1U << n;
	if (comparators_bad(walk->unit, control & 0xffff, control >> 16 & 0xff))
		wrong(walk, "TRCSSCCR", control);
}

/* TRCRSCTLR.SELECT as bits of what there is in the group. */
static uint32_t members(const struct trace_unit *unit, unsigned int group)
{
	const struct trace_unit_options *o = &unit->options;

	switch (group) {
	case GROUP_EXTERNAL:
		return (1U << EXTERNAL_INPUTS) - 1;
	case GROUP_COUNTERS:
		return ((1U << o->counters) - 1) | (o->sequencer_states ? 0xf0 : 0);
	case GROUP_SINGLE_SHOT:
		return (1U << o->single_shots) - 1;
	case GROUP_SINGLE:
		return (1U << 2 * o->address_pairs) - 1;
	case GROUP_RANGE:
		return (1U << o->address_pairs) - 1;
	case GROUP_CONTEXT:
		return (1U << o->context_comparators) - 1;
	case GROUP_VMID:
		return (1U << o->vmid_comparators) - 1;
	default:	/* reserved, or PE comparator inputs, of which there are none */
		return 0;
	}
}

static void use_selector(struct walk *walk, unsigned int n)
{
	uint64_t rsctlr = in_effect(walk->unit, TRCRSCTLR0 + n);
	unsigned int group = rsctlr >> 16 & 15;
	uint32_t select = rsctlr & 0xffff;

	if (n < 2 || walk->selectors >> n & 1)
		return;
	walk->selectors |= 1U << n;
	if (select & ~members(walk->unit, group) ||
	    (group == GROUP_RANGE && comparators_bad(walk->unit, 0, select))) {
		wrong(walk, "TRCRSCTLR", rsctlr);
		return;
	}
	for (unsigned int i = 0; i < 4 && group == GROUP_COUNTERS; i++)
		if (select >> i & 1)
			use_counter(walk, i);
	if (group == GROUP_COUNTERS && select >> 4)
		use_sequencer(walk);
	for (unsigned int i = 0; i < 8 && group == GROUP_SINGLE_SHOT; i++)
		if (select >> i & 1)
			use_single_shot(walk, i);
}

static void use_filters(struct walk *walk)
{
	const struct trace_unit *unit = walk->unit;
	uint64_t viiectlr = in_effect(unit, TRCVIIECTLR);

	use_events(walk, TRCVICTLR, 1, "TRCVICTLR");
	/* Nothing is said of when they fire: whoever starts or stops trace by them knows more. */
	if (unit->options.pe_inputs && in_effect(unit, TRCVIPCSSCTLR))
		wrong(walk, "TRCVIPCSSCTLR", in_effect(unit, TRCVIPCSSCTLR));
	if (comparators_bad(unit, 0, (viiectlr | viiectlr >> 16) & 0xff))
		wrong(walk, "TRCVIIECTLR", viiectlr);
	if (in_effect(unit, TRCCONFIGR) & CONFIGR_BB &&
	    comparators_bad(unit, 0, in_effect(unit, TRCBBCTLR) & 0xff))
		wrong(walk, "TRCBBCTLR.RANGE", in_effect(unit, TRCBBCTLR));
}

/*
 * When the unit becomes enabled it does not reset its resources (VNGFG): while it is disabled,
 * software gives each that is used a valid initial state (SLMPNV). TRCVICTLR.SSSTATUS must be written
 * before it is enabled, TRCRSR "must always be programmed".
 */
static void find_unwritten(const struct walk *walk)
{
	static const char *const names[] = { "TRCVICTLR", "TRCRSR", "TRCSEQSTR" };
	uint32_t wanted = STATE_VICTLR | STATE_RSR | (walk->sequencer ? STATE_SEQSTR : 0);
	unsigned int first;
	uint32_t missing;

	for (unsigned int i = 0; i < 4; i++)
		wanted |= walk->counters >> i & 1 ? STATE_CNTVR(i) : 0;
	for (unsigned int i = 0; i < 8; i++)
		wanted |= walk->single_shots >> i & 1 ? STATE_SSCSR(i) : 0;
	missing = wanted & ~walk->unit->state->state_written;
	if (!missing)
		return;
	first = __builtin_ctz(missing);
	violate(walk->unit->pe, VIOLATION_UNIT_UNPROGRAMMED, "%s%s",
		first < 3 ? names[first] : missing & (STATE_SSCSR(0) - 1) ? "TRCCNTVR" : "TRCSSCSR",
		missing & (missing - 1) ? " and more" : "");
}

void trace_unit_reserved(struct trace_unit *unit)
{
	uint64_t period = in_effect(unit, TRCSYNCPR), id = in_effect(unit, TRCTRACEIDR);
	uint64_t config = in_effect(unit, TRCCONFIGR);
	struct walk walk = { .unit = unit };

	if (period && (period < 8 || period > 20))
		wrong(&walk, "TRCSYNCPR.PERIOD", period);
	if (!id || id >= 0x70)
		wrong(&walk, "TRCTRACEIDR.TRACEID", id);
	if (config & CONFIGR_CCI && in_effect(unit, TRCCCCTLR) < CCIT_MIN)
		wrong(&walk, "TRCCCCTLR.THRESHOLD", in_effect(unit, TRCCCCTLR));
	use_filters(&walk);
	use_events(&walk, TRCEVENTCTL0R, unit->options.events, "TRCEVENTCTL0R");
	if (config & CONFIGR_TS)
		use_events(&walk, TRCTSCTLR, 1, "TRCTSCTLR");
	if (walk.bad)
		violate(unit->pe, VIOLATION_UNIT_RESERVED, "%s 0x%llx", walk.bad,
			(unsigned long long)walk.value);
	else
		find_unwritten(&walk);
}
