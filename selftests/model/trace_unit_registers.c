// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace unit's System registers (DDI 0487, "ETE registers"): which there are, which bits of
 * them are implemented, and what they identify.
 */
#include "trace_unit_internal.h"

/* The masks' functions are of one shape; few need all of it. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

typedef const struct trace_unit_options options_t;

enum { READ_ONLY = 1, UNKNOWN = 2 };	/* ... after a reset */

static unsigned int address_comparators(options_t *o) { return 2 * o->address_pairs; }
static unsigned int have_pe_inputs(options_t *o) { return o->pe_inputs != 0; }
static unsigned int have_addresses(options_t *o) { return o->address_pairs != 0; }
static unsigned int have_selectors(options_t *o)
{
	return o->resource_pairs > 1 ? 2 * o->resource_pairs : 0;
}
static unsigned int have_broadcast(options_t *o) { return o->broadcast; }
static unsigned int have_cycles(options_t *o) { return o->cycles; }
static unsigned int have_stall(options_t *o) { return o->stall; }
static unsigned int have_sequencer(options_t *o) { return o->sequencer_states ? 3 : 0; }
static unsigned int have_one_sequencer(options_t *o) { return o->sequencer_states != 0; }
static unsigned int counters(options_t *o) { return o->counters; }
static unsigned int single_shots(options_t *o) { return o->single_shots; }
static unsigned int contexts(options_t *o) { return o->context_comparators; }
static unsigned int vmids(options_t *o) { return o->vmid_comparators; }
static unsigned int context_controls(options_t *o) { return (o->context_comparators + 3) / 4; }
static unsigned int vmid_controls(options_t *o) { return (o->vmid_comparators + 3) / 4; }

/* Bits 0 to n - 1. */
static uint64_t bits(unsigned int n)
{
	return n > 63 ? ~0ULL : (1ULL << n) - 1;
}

static uint64_t event_field(options_t *o)
{
	return o->resource_pairs > 1 ? EVENT_FIELD : 0;
}

static uint64_t configr_mask(options_t *o, unsigned int n)
{
	return 1 | CONFIGR_CID | CONFIGR_VMID | CONFIGR_TS | CONFIGR_VMIDOPT |
	       (o->broadcast ? CONFIGR_BB : 0) | (o->cycles ? CONFIGR_CCI : 0) |
	       (o->return_stack ? CONFIGR_RS : 0);
}

static uint64_t eventctl0r_mask(options_t *o, unsigned int n)
{
	return event_field(o) * 0x01010101U & bits(8 * o->events);
}

static uint64_t eventctl1r_mask(options_t *o, unsigned int n)
{
	return bits(o->events) | EVENTCTL1R_ATB | EVENTCTL1R_LPOVERRIDE;
}

static uint64_t rsr_mask(options_t *o, unsigned int n)
{
	return RSR_TA | bits(o->events) << 8 | bits(EXTERNAL_INPUTS);
}

static uint64_t event_mask(options_t *o, unsigned int n)
{
	return event_field(o);
}

static uint64_t two_events_mask(options_t *o, unsigned int n)
{
	return event_field(o) * 0x0101U;
}

static uint64_t bbctlr_mask(options_t *o, unsigned int n)
{
	return o->address_pairs ? BBCTLR_MODE | bits(o->address_pairs) : 0;
}

static uint64_t victlr_mask(options_t *o, unsigned int n)
{
	return event_field(o) | VICTLR_SSSTATUS | VICTLR_TRCRESET | VICTLR_TRCERR |
	       7U << VICTLR_NS_SHIFT;
}

static uint64_t viiectlr_mask(options_t *o, unsigned int n)
{
	return bits(o->address_pairs) * 0x10001U;
}

static uint64_t vissctlr_mask(options_t *o, unsigned int n)
{
	return bits(2 * o->address_pairs) * 0x10001U;
}

static uint64_t vipcssctlr_mask(options_t *o, unsigned int n)
{
	return bits(o->pe_inputs) * 0x10001U;
}

static uint64_t cntctlr_mask(options_t *o, unsigned int n)
{
	return two_events_mask(o, n) | CNTCTLR_RLDSELF | (n & 1 ? CNTCTLR_CNTCHAIN : 0);
}

static uint64_t rsctlr_mask(options_t *o, unsigned int n)
{
	return 0xfffff | RSCTLR_INV | (n & 1 ? 0 : RSCTLR_PAIRINV);
}

static uint64_t ssccr_mask(options_t *o, unsigned int n)
{
	return bits(2 * o->address_pairs) | bits(o->address_pairs) << 16 | SSCCR_RST;
}

static uint64_t acatr_mask(options_t *o, unsigned int n)
{
	uint64_t context = o->context_comparators > 1 || o->vmid_comparators > 1 ? 7 << 4 : 0;

	return 7U << 12 | context | (o->context_comparators ? 1 << 2 : 0) |
	       (o->vmid_comparators ? 1 << 3 : 0);
}

/* Four bits in a byte for each comparator: which bytes of it do not matter. */
static uint64_t byte_masks(unsigned int comparators)
{
	return 0x0f0f0f0fU & bits(8 * (comparators > 4 ? 4 : comparators));
}

static uint64_t cidcctlr_mask(options_t *o, unsigned int n)
{
	return byte_masks(o->context_comparators - 4 * n);
}

static uint64_t vmidcctlr_mask(options_t *o, unsigned int n)
{
	return byte_masks(o->vmid_comparators - 4 * n);
}

/*
 * Registers that are alike are a row. Of those that are not here the trace unit has none:
 * TRCQCTLR, TRCSSPCICR, TRCITEEDCR, and all that the external debugger alone sees.
 */
static const struct row {
	uint16_t offset;
	uint8_t first;			/* number of the first */
	uint8_t most;			/* the number after the last */
	uint8_t stride;			/* bytes */
	uint8_t flags;
	unsigned int (*implemented)(options_t *options);	/* numbers below it; NULL: all */
	uint64_t (*mask_of)(options_t *options, unsigned int n);
	uint64_t mask;			/* where there is no mask_of */
} rows[] = {
	{ 0x004, 0, 1, 4, 0, NULL, NULL, 1 },
	{ 0x00c, 0, 1, 4, READ_ONLY, NULL, NULL, 0 },
	{ 0x010, 0, 1, 4, UNKNOWN, NULL, configr_mask, 0 },
	{ 0x018, 0, 1, 4, 0, NULL, NULL, 0 },
	{ 0x020, 0, 1, 4, UNKNOWN, NULL, eventctl0r_mask, 0 },
	{ 0x024, 0, 1, 4, UNKNOWN, NULL, eventctl1r_mask, 0 },
	{ 0x028, 0, 1, 4, UNKNOWN, NULL, rsr_mask, 0 },
	{ 0x02c, 0, 1, 4, UNKNOWN, have_stall, NULL, 0x10c },
	{ 0x030, 0, 1, 4, UNKNOWN, NULL, event_mask, 0 },
	{ 0x034, 0, 1, 4, UNKNOWN, NULL, NULL, 0x1f },
	{ 0x038, 0, 1, 4, UNKNOWN, have_cycles, NULL, 0xfff },
	{ 0x03c, 0, 1, 4, UNKNOWN, have_broadcast, bbctlr_mask, 0 },
	{ 0x040, 0, 1, 4, UNKNOWN, NULL, NULL, 0x7f },
	{ 0x080, 0, 1, 4, UNKNOWN, NULL, victlr_mask, 0 },
	{ 0x084, 0, 1, 4, UNKNOWN, have_addresses, viiectlr_mask, 0 },
	{ 0x088, 0, 1, 4, UNKNOWN, have_addresses, vissctlr_mask, 0 },
	{ 0x08c, 0, 1, 4, UNKNOWN, have_pe_inputs, vipcssctlr_mask, 0 },
	{ 0x100, 0, 3, 4, UNKNOWN, have_sequencer, two_events_mask, 0 },
	{ 0x118, 0, 1, 4, UNKNOWN, have_one_sequencer, event_mask, 0 },
	{ 0x11c, 0, 1, 4, UNKNOWN, have_one_sequencer, NULL, 3 },
	{ 0x120, 0, EXTERNAL_INPUTS, 4, UNKNOWN, NULL, NULL, 0xffff },
	{ 0x140, 0, 4, 4, UNKNOWN, counters, NULL, 0xffff },
	{ 0x150, 0, 4, 4, UNKNOWN, counters, cntctlr_mask, 0 },
	{ 0x160, 0, 4, 4, UNKNOWN, counters, NULL, 0xffff },
	{ 0x180, 0, 6, 4, READ_ONLY, NULL, NULL, 0 },		/* TRCIDR8 to 13 */
	{ 0x1c0, 0, 1, 4, 0, NULL, NULL, 0 },			/* TRCIMSPEC0: SUPPORT 0 */
	{ 0x1e0, 0, 8, 4, READ_ONLY, NULL, NULL, 0 },		/* TRCIDR0 to 7 */
	{ 0x200, 2, 32, 4, UNKNOWN, have_selectors, rsctlr_mask, 0 },
	{ 0x280, 0, 8, 4, UNKNOWN, single_shots, ssccr_mask, 0 },
	{ 0x2a0, 0, 8, 4, UNKNOWN, single_shots, NULL, SSCSR_STATUS | SSCSR_PENDING },
	{ 0x304, 0, 1, 4, READ_ONLY, NULL, NULL, 0 },
	{ 0x400, 0, 16, 8, UNKNOWN, address_comparators, NULL, ~0ULL },
	{ 0x480, 0, 16, 8, UNKNOWN, address_comparators, acatr_mask, 0 },
	{ 0x600, 0, 8, 8, UNKNOWN, contexts, NULL, UINT32_MAX },
	{ 0x640, 0, 8, 8, UNKNOWN, vmids, NULL, UINT32_MAX },
	{ 0x680, 0, 2, 4, UNKNOWN, context_controls, cidcctlr_mask, 0 },
	{ 0x688, 0, 2, 4, UNKNOWN, vmid_controls, vmidcctlr_mask, 0 },
	{ 0xfa0, 0, 1, 4, 0, NULL, NULL, CLAIM_TAGS },
	{ 0xfa4, 0, 1, 4, 0, NULL, NULL, CLAIM_TAGS },
	{ 0xfb8, 0, 1, 4, READ_ONLY, NULL, NULL, 0 },
	{ 0xfbc, 0, 1, 4, READ_ONLY, NULL, NULL, 0 },
	{ 0xfc8, 0, 1, 4, READ_ONLY, NULL, NULL, 0 },
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* The row of a register and its number there; NULL: there never is such a register. */
static const struct row *find(unsigned int slot, unsigned int *n)
{
	unsigned int offset = slot << 2;

	for (size_t i = 0; i < ROWS; i++) {
		unsigned int number = (offset - rows[i].offset) / rows[i].stride;

		if (offset >= rows[i].offset && number >= rows[i].first && number < rows[i].most &&
		    (offset - rows[i].offset) % rows[i].stride == 0) {
			*n = number;
			return &rows[i];
		}
	}
	return NULL;
}

static uint64_t mask_of(const struct trace_unit *unit, const struct row *row, unsigned int n)
{
	uint64_t mask = row->mask_of ? row->mask_of(&unit->options, n) : row->mask;

	/* What is for EL2 and its CONTEXTIDR_EL2 alone. */
	if (!unit->pe->config.el2 && row->offset == 0x010)
		mask &= ~(uint64_t)(CONFIGR_VMID | CONFIGR_VMIDOPT);
	if (!unit->pe->config.el2 && row->offset == 0x080)
		mask &= ~(4ULL << VICTLR_NS_SHIFT);
	if (!unit->pe->config.el2 && row->offset == 0x480)
		mask &= ~(4ULL << 12);
	return mask;
}

bool trace_unit_has(const struct trace_unit *unit, unsigned int slot,
		    struct trace_unit_register *what)
{
	unsigned int n;
	const struct row *row;

	if (slot >= TRC_SLOTS) {
		what->mask = TRFCR_E0TRE | TRFCR_E1TRE | TRFCR_TS;
		if (slot == SLOT_TRFCR_EL2)
			what->mask |= TRFCR_CX |
				      (unit->pe->buffer.options.version > 1 ? TRFCR_DNVM : 0);
		what->read_only = false;
		what->unknown = false;
		return true;
	}
	row = find(slot, &n);
	if (!row || (row->implemented && n >= row->implemented(&unit->options)))
		return false;
	*what = (struct trace_unit_register){
		.mask = mask_of(unit, row, n),
		.read_only = row->flags & READ_ONLY,
		.unknown = row->flags & UNKNOWN,
	};
	return true;
}

/* SYSREG_TRACE read backwards. */
bool trace_unit_slot(uint32_t reg, unsigned int *slot)
{
	switch (reg) {
	case SYSREG_TRFCR_EL1:
		*slot = SLOT_TRFCR_EL1;
		return true;
	case SYSREG_TRFCR_EL2:
		*slot = SLOT_TRFCR_EL2;
		return true;
	}
	if ((reg & ~0x7ffU) != SYSREG_TRACE(0) || reg >> 10 & 1)
		return false;
	*slot = (reg >> 7 & 7) << 7 | (reg & 7) << 4 | (reg >> 3 & 15);
	return true;
}

uint32_t trace_unit_sysreg(unsigned int slot)
{
	switch (slot) {
	case SLOT_TRFCR_EL1:
		return SYSREG_TRFCR_EL1;
	case SLOT_TRFCR_EL2:
		return SYSREG_TRFCR_EL2;
	case SLOT_CONTEXTIDR_EL1:
		return SYSREG_CONTEXTIDR_EL1;
	case SLOT_CONTEXTIDR_EL2:
		return SYSREG_CONTEXTIDR_EL2;
	}
	return SYSREG_TRACE(slot << 2);
}

bool trace_unit_owns(uint32_t reg)
{
	unsigned int slot, n;

	return trace_unit_slot(reg, &slot) && (slot >= TRC_SLOTS || find(slot, &n));
}

static uint32_t idr0(const struct trace_unit *unit)
{
	options_t *o = &unit->options;

	/* RES1, TRCBB, TRCCCI, RETSTACK, NUMEVENT, TSSIZE 64 bits, COMMOPT */
	return 1 | o->broadcast << 5 | o->cycles << 7 | (o->return_stack != 0) << 9 |
	       (o->events ? o->events - 1U : 0) << 10 | 8U << 24 | (uint32_t)o->commopt << 29;
}

static uint32_t idr2(const struct trace_unit *unit)
{
	uint32_t el2 = unit->pe->config.el2;

	/* IASIZE 64 bits, CIDSIZE, VMIDSIZE 32, CCSIZE 20, VMIDOPT, WFXMODE */
	return 8 | 4 << 5 | (el2 ? 4 << 10 : 0) | 8U << 25 | (el2 ? 2U << 29 : 0) |
	       (uint32_t)unit->options.wfx << 31;
}

/*
 * NUMVMIDC is what the options say without EL2 as well: Linux' coresight-etm4x writes TRCVMIDCCTLR0
 * whatever it is. (And TRCVIIECTLR and TRCVISSCTLR, whatever NUMACPAIRS is, and TRCCIDCCTLR0.)
 */
static uint32_t idr4(const struct trace_unit *unit)
{
	options_t *o = &unit->options;

	return o->address_pairs | (uint32_t)o->pe_inputs << 12 |
	       (o->resource_pairs ? o->resource_pairs - 1U : 0) << 16 |
	       (uint32_t)o->single_shots << 20 | (uint32_t)o->context_comparators << 24 |
	       (uint32_t)o->vmid_comparators << 28;
}

uint64_t trace_unit_identity(const struct trace_unit *unit, unsigned int slot)
{
	options_t *o = &unit->options;

	switch (slot) {
	case TRCIDR0:
		return idr0(unit);
	case TRCIDR0 + 1:	/* DESIGNER, RES1, TRCARCHMAJ, TRCARCHMIN */
		return (unit->pe->config.midr >> 24 & 0xff) << 24 | 0xfff0;
	case TRCIDR0 + 2:
		return idr2(unit);
	case TRCIDR0 + 3:	/* CCITMIN, EXLEVEL_NS, TRCERR, STALLCTL; no Secure state */
		return (o->cycles ? CCIT_MIN : 0) | 3 << 20 | unit->pe->config.el2 << 22 | 1 << 24 |
		       o->stall << 26;
	case TRCIDR0 + 4:
		return idr4(unit);
	case TRCIDR0 + 5:	/* NUMEXTIN, NUMEXTINSEL, TRACEIDSIZE, ATBTRIG, LPOVERRIDE ... */
		return 0x1ff | EXTERNAL_INPUTS << 9 | 7 << 16 | 1 << 22 | 1 << 23 |
		       (uint32_t)o->sequencer_states << 25 | (uint32_t)o->counters << 28;
	case TRCIDR8:
		return o->maxspec;
	case TRCOSLSR:		/* OSLM 0b100: the PE's OS lock */
		return 1 << 4 | unit->pe->oslock << 1;
	case TRCAUTHSTATUS:	/* NSNID 0b11 */
		return 3 << 2;
	case TRCDEVARCH:
		return 0x47705a13 | (uint32_t)o->revision << 16;
	default:
		return 0;
	}
}
