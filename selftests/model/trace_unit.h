/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trace unit (FEAT_ETE): its registers, resources and filters, and the byte stream. What the PE
 * executes becomes elements; how elements become packets, selftests/ete/encoder.h knows, which
 * shares nothing with flowtap's decoder.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_TRACE_UNIT_H
#define FLOWTAP_SELFTESTS_MODEL_TRACE_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pe;
struct pe_block;
struct pe_exception;
struct trace_unit_state;	/* trace_unit.c */

/* What the unit implements (TRCIDR), as the user chose. */
struct trace_unit_options {
	uint8_t address_pairs;		/* TRCIDR4.NUMACPAIRS, 0 to 8 */
	uint8_t context_comparators;	/* TRCIDR4.NUMCIDC, 0 to 8 */
	uint8_t vmid_comparators;	/* TRCIDR4.NUMVMIDC, 0 to 8 */
	uint8_t pe_inputs;		/* TRCIDR4.NUMPC, 0 to 8; none ever fires */
	uint8_t resource_pairs;		/* TRCIDR4.NUMRSPAIR + 1, 1 to 16 */
	uint8_t single_shots;		/* TRCIDR4.NUMSSCC, 0 to 8 */
	uint8_t counters;		/* TRCIDR5.NUMCNTR, 0 to 4 */
	uint8_t sequencer_states;	/* 0 or 4 */
	uint8_t events;			/* TRCIDR0.NUMEVENT + 1, 1 to 4 */
	uint16_t maxspec;		/* TRCIDR8.MAXSPEC */
	bool commopt;			/* TRCIDR0.COMMOPT */
	bool broadcast;			/* TRCIDR0.TRCBB: branch broadcast */
	bool cycles;			/* TRCIDR0.TRCCCI: cycle counting */
	uint8_t return_stack;		/* its depth; TRCIDR0.RETSTACK */
	bool wfx;			/* TRCIDR2.WFXMODE: WFI and WFE are P0 */
	uint8_t revision;		/* TRCDEVARCH.REVISION: ETE 1.0 to 1.3 */
	bool stall;			/* TRCIDR3.STALLCTL: TRCSTALLCTLR is there, it has no effect */
	uint32_t stuck;			/* from so many disablings on IDLE stays 0, 0: never */
};

extern const struct trace_unit_options trace_unit_defaults;

struct trace_unit {
	struct pe *pe;
	struct trace_unit_options options;
	/*
	 * Blocks at this exception level are traced (enabled, allowed) as far as filters let them.
	 */
	bool traces[4];
	struct trace_unit_state *state;
};

int trace_unit_init(struct trace_unit *unit, struct pe *pe, const struct trace_unit_options *options);
void trace_unit_free(struct trace_unit *unit);
/*
 * Trace unit reset: everything. What it holds goes to the trace buffer, which is to be reset by
 * then and loses it.
 */
void trace_unit_reset(struct trace_unit *unit);

/* As pe_read and pe_write, of TRC* and TRFCR registers. e2h redirection is done by the caller. */
bool trace_unit_read(struct trace_unit *unit, uint32_t reg, uint64_t *value);
bool trace_unit_write(struct trace_unit *unit, uint32_t reg, uint64_t value);
bool trace_unit_owns(uint32_t reg);
/* CONTEXTIDR_EL1 or _EL2 was written; takes effect as other registers do. */
void trace_unit_context(struct trace_unit *unit, uint32_t contextidr_el1, uint32_t contextidr_el2);
/* A context synchronization event: what was written before takes effect now at the latest. */
void trace_unit_synchronize(struct trace_unit *unit);
/* The exception level, E2H, TGE or the OS lock changed: what may be traced is to be found anew. */
void trace_unit_refresh(struct trace_unit *unit);

void trace_unit_block(struct trace_unit *unit, const struct pe_block *block);
void trace_unit_exception(struct trace_unit *unit, const struct pe_exception *exception);
/* All that was generated so far goes to the trace buffer (TSB CSYNC). */
void trace_unit_flush(struct trace_unit *unit);
/* Whether anything that was generated has not gone to the trace buffer yet. */
bool trace_unit_holds(const struct trace_unit *unit);
/* The unit is enabled (TRCPRGCTLR.EN in effect, OS lock clear). */
bool trace_unit_enabled(const struct trace_unit *unit);
/*
 * Events from the trace buffer, as external inputs (PMU events TRB_WRAP 0x400C, TRB_TRIG 0x400E).
 */
void trace_unit_external(struct trace_unit *unit, uint16_t event);
/* The unit's own buffer overflows (adversary): what it holds is lost, tracing goes on. */
void trace_unit_overflow(struct trace_unit *unit);

#endif
