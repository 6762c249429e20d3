/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The trace unit's state, and what its files share. */
#ifndef FLOWTAP_SELFTESTS_MODEL_TRACE_UNIT_INTERNAL_H
#define FLOWTAP_SELFTESTS_MODEL_TRACE_UNIT_INTERNAL_H

#include <limits.h>

#include "ete/encoder.h"
#include "pe.h"
#include "sysreg.h"
#include "trace_unit.h"

/* A register's place: by its offset in the memory map, then those that are no TRC registers. */
#define TRC(offset)	((offset) >> 2)

enum {
	TRCPRGCTLR = TRC(0x004),
	TRCSTATR = TRC(0x00c),
	TRCCONFIGR = TRC(0x010),
	TRCAUXCTLR = TRC(0x018),
	TRCEVENTCTL0R = TRC(0x020),
	TRCEVENTCTL1R = TRC(0x024),
	TRCRSR = TRC(0x028),
	TRCSTALLCTLR = TRC(0x02c),
	TRCTSCTLR = TRC(0x030),
	TRCSYNCPR = TRC(0x034),
	TRCCCCTLR = TRC(0x038),
	TRCBBCTLR = TRC(0x03c),
	TRCTRACEIDR = TRC(0x040),
	TRCVICTLR = TRC(0x080),
	TRCVIIECTLR = TRC(0x084),
	TRCVISSCTLR = TRC(0x088),
	TRCVIPCSSCTLR = TRC(0x08c),
	TRCSEQEVR0 = TRC(0x100),
	TRCSEQRSTEVR = TRC(0x118),
	TRCSEQSTR = TRC(0x11c),
	TRCEXTINSELR0 = TRC(0x120),
	TRCCNTRLDVR0 = TRC(0x140),
	TRCCNTCTLR0 = TRC(0x150),
	TRCCNTVR0 = TRC(0x160),
	TRCIDR8 = TRC(0x180),
	TRCIMSPEC0 = TRC(0x1c0),
	TRCIDR0 = TRC(0x1e0),
	TRCRSCTLR0 = TRC(0x200),	/* of which 0 and 1 are no registers */
	TRCSSCCR0 = TRC(0x280),
	TRCSSCSR0 = TRC(0x2a0),
	TRCOSLSR = TRC(0x304),
	TRCACVR0 = TRC(0x400),		/* 8 bytes each, as all comparators' */
	TRCACATR0 = TRC(0x480),
	TRCCIDCVR0 = TRC(0x600),
	TRCVMIDCVR0 = TRC(0x640),
	TRCCIDCCTLR0 = TRC(0x680),
	TRCVMIDCCTLR0 = TRC(0x688),
	TRCCLAIMSET = TRC(0xfa0),
	TRCCLAIMCLR = TRC(0xfa4),
	TRCAUTHSTATUS = TRC(0xfb8),
	TRCDEVARCH = TRC(0xfbc),
	TRCDEVID = TRC(0xfc8),
	TRC_SLOTS = 1024,
	SLOT_TRFCR_EL1 = TRC_SLOTS,
	SLOT_TRFCR_EL2,
	SLOT_CONTEXTIDR_EL1,
	SLOT_CONTEXTIDR_EL2,
	SLOTS
};

#define CONFIGR_BB		(1U << 3)
#define CONFIGR_CCI		(1U << 4)
#define CONFIGR_CID		(1U << 6)
#define CONFIGR_VMID		(1U << 7)
#define CONFIGR_TS		(1U << 11)
#define CONFIGR_RS		(1U << 12)
#define CONFIGR_VMIDOPT		(1U << 15)
#define EVENTCTL1R_ATB		(1U << 11)
#define EVENTCTL1R_LPOVERRIDE	(1U << 12)
#define RSR_TA			(1U << 12)
#define VICTLR_SSSTATUS		(1U << 9)
#define VICTLR_TRCRESET		(1U << 10)
#define VICTLR_TRCERR		(1U << 11)
#define VICTLR_NS_SHIFT		20
#define BBCTLR_MODE		(1U << 8)
#define CNTCTLR_RLDSELF		(1U << 16)
#define CNTCTLR_CNTCHAIN	(1U << 17)
#define RSCTLR_INV		(1U << 20)
#define RSCTLR_PAIRINV		(1U << 21)
#define SSCCR_RST		(1U << 24)
#define SSCSR_STATUS		(1U << 31)
#define SSCSR_PENDING		(1U << 30)
#define EVENT_FIELD		0x9fU	/* TYPE, SEL */
#define EVENT_TYPE		0x80U
#define STATR_IDLE		1U
#define STATR_PMSTABLE		2U
#define TRFCR_E0TRE		1U	/* TRFCR_EL2.E0HTRE */
#define TRFCR_E1TRE		2U	/* TRFCR_EL2.E2TRE */
#define TRFCR_CX		8U	/* TRFCR_EL2 */
#define TRFCR_TS		0x60U
#define TRFCR_DNVM		0x800U	/* TRFCR_EL2, with FEAT_TRBEv1p1: for the trace buffer */

#define EXTERNAL_INPUTS		4	/* TRCIDR5.NUMEXTINSEL */
#define CCIT_MIN		4	/* TRCIDR3.CCITMIN */
#define CLAIM_TAGS		0xfU
#define PENDING_WRITES		128
#define POLLS_FOR_EVER		UINT_MAX

/*
 * Registers with state that the unit changes while it is enabled: what software has written of them
 * since it was disabled, as bits.
 */
#define STATE_VICTLR		(1U << 0)	/* SSSTATUS */
#define STATE_RSR		(1U << 1)
#define STATE_SEQSTR		(1U << 2)
#define STATE_CNTVR(n)		(1U << (3 + (n)))	/* 0 to 3 */
#define STATE_SSCSR(n)		(1U << (7 + (n)))	/* 0 to 7 */
#define STATE_ALL		((1U << 15) - 1)

/* What the resources are just now: the registers have it only while the unit is disabled. */
struct trace_unit_resources {
	uint32_t counter[4];
	bool counter_zero[4];		/* the resource, for the next instruction */
	uint8_t sequencer;
	bool started;			/* TRCVICTLR.SSSTATUS */
	uint32_t status;		/* TRCSSCSR.STATUS of all single-shot controls */
	uint32_t fired;			/* ... in this instruction */
	uint32_t singles;		/* address comparators that match this instruction */
	uint32_t ranges;
	uint32_t contexts;		/* context ID comparators that match */
	uint32_t vmids;
	uint32_t externals;		/* external input selectors that are active */
	uint32_t externals_next;
	uint8_t events;			/* ETEEvents that were active */
};

struct trace_unit_state {
	struct encoder encoder;
	uint64_t written[SLOTS];	/* what a read gives back */
	uint64_t effective[SLOTS];
	struct trace_unit_write {
		uint16_t slot;
		uint64_t value;
	} pending[PENDING_WRITES];	/* not yet effective, oldest first */
	unsigned int npending;
	bool enabled;			/* EN in effect, OS lock clear */
	bool stepped;			/* resources or comparators matter: instruction by instruction */
	bool active;			/* ViewInst, as LOG_FILTER says it */
	uint8_t allowed;		/* exception levels that TRFCR allows, as bits */
	uint8_t chosen;			/* ... and TRCVICTLR does not exclude */
	uint32_t told;			/* what LOG_TRACING said last */
	bool midrun;			/* instructions since the last P0 element */
	bool context_due;
	struct trace_context context;
	bool timestamp_due;
	bool timestamp_wanted;		/* by the timestamp event: not too often */
	bool timestamp_stale;		/* P0 elements since the last one */
	uint64_t timestamp_at;		/* offset in the stream */
	uint8_t events_due;
	struct trace_unit_resources resources;
	/* What anything looks at: the rest is left out. */
	uint32_t singles_used;		/* address comparators */
	uint32_t ranges_used;
	uint8_t counters_used;
	bool externals_used;
	bool single_shots_used;
	bool events_used;
	bool sequencer_used;
	/* What software has to see before it goes on. */
	/* Reads of TRCSTATR until IDLE is as it ought to be, or POLLS_FOR_EVER. */
	unsigned int idle_polls;
	unsigned int stable_polls;
	bool polled;			/* TRCSTATR was read since the last synchronization */
	bool idle_seen;
	bool stable_seen;		/* PMSTABLE, since the unit was disabled */
	bool enabled_locked;		/* TRCPRGCTLR.EN was set with the OS lock set */
	uint32_t state_written;		/* STATE_: since EN was cleared */
	uint32_t disablings;		/* since the reset */
};

struct trace_unit_register {
	uint64_t mask;
	bool read_only;
	bool unknown;			/* what it is after a reset */
};

/* trace_unit_registers.c */
/* The read-only ones, by what is implemented. */
uint64_t trace_unit_identity(const struct trace_unit *unit, unsigned int slot);
/* Whether the unit has the register; which bits of it can be written, what it is. */
bool trace_unit_has(const struct trace_unit *unit, unsigned int slot,
		    struct trace_unit_register *what);
/* The place of a register; false: it is none of the trace unit's. */
bool trace_unit_slot(uint32_t reg, unsigned int *slot);
uint32_t trace_unit_sysreg(unsigned int slot);

/* trace_unit.c */
/* The write's effect, now. */
void trace_unit_effect(struct trace_unit *unit, unsigned int slot, uint64_t value);
/* What a trace analyzer is told: with TRFCR_EL2.CX 0 the virtual context identifier is 0. */
struct trace_context trace_unit_context_at(const struct trace_unit *unit, unsigned int el);
/* After a P0 element, or while nothing is traced. */
void trace_unit_update_context(struct trace_unit *unit);
/* What no P0 element covers is not told. */
void trace_unit_stop_tracing(struct trace_unit *unit);

/* trace_unit_access.c */
/* With the adversary, what is pending may take effect now. */
void trace_unit_maybe(struct trace_unit *unit);
/* Registers to what a reset makes of them. */
void trace_unit_registers_reset(struct trace_unit *unit);

/* trace_unit_reserved.c */
/* Values that the architecture reserves, and state not written, where they matter: reported. */
void trace_unit_reserved(struct trace_unit *unit);

/* trace_unit_elements.c */
/* The packets that there are go to the trace buffer; atoms that are not yet in one stay. */
void trace_unit_send(struct trace_unit *unit);

/* trace_unit_resources.c */
/* Whether anything needs to look at each instruction. */
bool trace_unit_needs_steps(struct trace_unit *unit);
void trace_unit_resources_load(struct trace_unit *unit);
void trace_unit_resources_save(struct trace_unit *unit);
/* Which context ID and VMID comparators match now. */
void trace_unit_resources_context(struct trace_unit *unit);
/* One instruction is executed; whether ViewInst is active for it. last: what ends the block. */
bool trace_unit_step(struct trace_unit *unit, uint64_t address, const struct pe_block *last);
bool trace_unit_range(const struct trace_unit *unit, unsigned int n, uint64_t address);
/* Branch broadcasting is on for a branch at this address. */
bool trace_unit_broadcasts(const struct trace_unit *unit, uint64_t address);

/* TRCRSCTLR.GROUP. */
enum group { GROUP_EXTERNAL, GROUP_PE, GROUP_COUNTERS, GROUP_SINGLE_SHOT, GROUP_SINGLE,
	     GROUP_RANGE, GROUP_CONTEXT, GROUP_VMID };

/* As it is in effect. */
static inline uint64_t in_effect(const struct trace_unit *unit, unsigned int slot)
{
	return unit->state->effective[slot];
}

static inline unsigned int trace_unit_selectors(const struct trace_unit *unit)
{
	unsigned int pairs = unit->options.resource_pairs;

	return pairs > 1 ? 2 * pairs : 0;
}

/* Bytes of the stream so far. */
static inline uint64_t trace_unit_offset(const struct trace_unit *unit)
{
	return unit->state->encoder.taken + unit->state->encoder.size;
}

#endif
