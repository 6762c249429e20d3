/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Trace Buffer Extension (FEAT_TRBE): registers, the buffer's modes, the trigger counter,
 * translation of its addresses, faults, the interrupt, and what the errata make of them.
 *
 * A byte's way: the unit sends it (accepted); it is held until its address is translated and the
 * write pointer moves over it; its write is pending until memory has it (stored). Without an
 * adversary the three are one, but for the bytes short of a multiple of TRBIDR.Align: those wait
 * for TSB CSYNC, which fills up with Ignore packets. Those count as bytes of the stream.
 * At any time accepted = stored + lost + held + pending.
 *
 * FEAT_TRBE_EXT (XE), FEAT_TRBE_EXC and FEAT_TRBE_MPAM are not modelled: their bits are RES0.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_TRACE_BUFFER_H
#define FLOWTAP_SELFTESTS_MODEL_TRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "machine.h"

struct pe;

/* Errata, as bits (facts: arm-trbe-linux). Chosen by MIDR unless the user names them. */
enum trace_buffer_erratum {
	ERRATUM_OVERWRITE_BASE = 1 << 0,	/* 2119858, 2139208 */
	ERRATUM_WRITE_PAST_LIMIT = 1 << 1,	/* 2253138, 2224489 */
	ERRATUM_TSB_FLUSH_FAILS = 1 << 2,	/* 2054223, 2067961 */
	ERRATUM_REGISTER_WRITES_LOST = 1 << 3,	/* 2064142 */
	ERRATUM_TRACE_PROHIBITED_INEXACT = 1 << 4,	/* 2038923 */
	ERRATUM_CORRUPTION = 1 << 5,		/* 1902691 */
};

#define ERRATA	6

struct trace_buffer_options {
	uint8_t version;		/* ID_AA64DFR0_EL1.TraceBuffer: 1, or 2 (FEAT_TRBEv1p1) */
	uint8_t align;			/* TRBIDR.Align: log2 of bytes, 0 to 11 */
	bool programmable;		/* TRBIDR.P is 0; false: a higher exception level owns it */
	bool flag_update;		/* TRBIDR.F: hardware updates the access flag */
	uint8_t external_abort;		/* TRBIDR.EA: 0 (TRBSR.EA tells), 1 (ignored) */
	int errata;			/* enum trace_buffer_erratum; -1: those of the MIDR */
};

extern const struct trace_buffer_options trace_buffer_defaults;

struct trace_buffer_register {
	uint64_t read;			/* what MRS gives: as written, or published */
	uint64_t effective;		/* what the hardware goes by */
	bool pending;			/* written, and may not be in effect before the next CSE */
};

enum { TRB_LIMITR, TRB_PTR, TRB_BASER, TRB_SR, TRB_MAR, TRB_TRG, TRB_REGISTERS };

/* What was done to the registers, as far as later accesses are judged by it. */
struct trace_buffer_protocol {
	bool unsynchronized;		/* PTR, BASER or SR written since the last CSE */
	bool closing;			/* E was cleared since the last CSE */
	bool opening;			/* E was set since the last CSE */
	bool collected;			/* bytes came since the buffer was enabled */
	bool dirty;			/* ... and since the last TSB CSYNC */
	bool complete;			/* DSB since the last TSB CSYNC */
	bool flushing;			/* TSB CSYNC since the last CSE */
	bool completing;		/* DSB since the last CSE */
	uint64_t regime[MACHINE_REGISTERS];	/* when E was set, or since: as last judged */
};

struct trace_buffer_write;

struct trace_buffer {
	struct pe *pe;
	struct trace_buffer_options options;
	int errata;
	struct trace_buffer_register registers[TRB_REGISTERS];
	struct trace_buffer_protocol protocol;
	/* Bytes with no address yet. */
	uint8_t *held;
	size_t nheld;
	size_t patience;		/* how many may be held */
	/* Bytes with an address, not in memory yet. */
	struct trace_buffer_write *writes;
	unsigned int nwrites;
	uint64_t npending;		/* bytes */
	uint64_t drained;		/* PTR at the last TSB CSYNC: what a CSE lets MRS see */
	bool stopping;			/* a Trigger Event: flush, then stop */
	uint16_t wrapped;		/* events that the unit is to be told: TRB_WRAP */
	uint16_t triggered;		/* ... TRB_TRIG */
	/* The interrupt. */
	bool level;
	bool spurious;			/* the level is a lie */
	unsigned int late;		/* ticks until the level follows TRBSR.IRQ */
	/* Errata. */
	unsigned int tsbs;		/* TSB CSYNC in a row */
	bool deaf;			/* writes of registers are ignored */
	bool deaf_flushed;		/* ... until DSB, for TSB CSYNC was */
	unsigned int settling;		/* CSEs since E was set; UINT_MAX: it does not matter */
	bool allowed;			/* trace was allowed, when last looked at */
	uint64_t corrupt;		/* bytes to come that are stored wrongly */
	uint32_t overrun;		/* bytes to come that go to the base, though full */
	uint32_t past;			/* bytes to come that are written past the limit */
	uint64_t stray;			/* where the next of them goes */
	uint64_t errata_counts[ERRATA];	/* how often each showed: by the number of its bit */
	/* The last translation. */
	uint64_t page;			/* bytes from `page` on are at `physical` */
	uint64_t physical;
	uint64_t contiguous;		/* how many; 0: none */
	/* Totals, for the log's summary. */
	uint64_t accepted;
	uint64_t stored;
	uint64_t lost;
};

/* 0 or -ENOMEM, -EINVAL: options that TRBIDR cannot say. */
int trace_buffer_init(struct trace_buffer *buffer, struct pe *pe,
		      const struct trace_buffer_options *options);
/* What is not in memory yet is lost: the machine may be gone, and is not asked for anything. */
void trace_buffer_free(struct trace_buffer *buffer);
/* Cold and warm: what is not in memory yet is lost. */
void trace_buffer_reset(struct trace_buffer *buffer);

/* False: UNDEFINED at this exception level, or trapped to the one that owns the buffer. */
bool trace_buffer_read(struct trace_buffer *buffer, uint32_t reg, uint64_t *value);
bool trace_buffer_write(struct trace_buffer *buffer, uint32_t reg, uint64_t value);
bool trace_buffer_owns(uint32_t reg);
/* A context synchronization event. */
void trace_buffer_synchronize(struct trace_buffer *buffer);
void trace_buffer_dsb(struct trace_buffer *buffer);
/* TSB CSYNC, after trace_unit_flush. */
void trace_buffer_flush(struct trace_buffer *buffer);
/* TSB CSYNC is about to do nothing, for the CPU has the erratum and needs another. */
bool trace_buffer_flush_fails(struct trace_buffer *buffer);

/* Takes n bytes of trace. What it cannot store is lost, and the log says so. Calls nothing of the
 * unit's: that waits for trace_buffer_update. */
void trace_buffer_accept(struct trace_buffer *buffer, const void *bytes, size_t n);
/* n bytes of trace that the unit has made and does not send: they are lost, after what it sent. */
void trace_buffer_discard(struct trace_buffer *buffer, size_t n);
/* A Detected Trigger from the trace unit. Calls nothing of the unit's. */
void trace_buffer_trigger(struct trace_buffer *buffer);
/* The word that people use for erratum 1 << bit, "?" where there is none. */
const char *trace_buffer_erratum_word(unsigned int bit);

/* After the unit has been told something: its external inputs, the flush before a stop; whether
 * trace is allowed now, and whether the exception level changed with it. */
void trace_buffer_update(struct trace_buffer *buffer, bool exception);
/* Enabled and not stopped. */
bool trace_buffer_runs(const struct trace_buffer *buffer);
/* TRBLIMITR.E, in effect. */
bool trace_buffer_enabled(const struct trace_buffer *buffer);
/* Late and spurious interrupts. */
void trace_buffer_tick(struct trace_buffer *buffer);

/* A change of translation tables or their registers: what was translated is forgotten. */
void trace_buffer_forget(struct trace_buffer *buffer);
/* A register of a translation regime was written, the machine has the new value. Judges it (SYKCND)
 * and forgets. */
void trace_buffer_regime(struct trace_buffer *buffer, enum machine_register which);
/* MDCR_EL2 is about to be written: E2TB chooses the owning exception level. */
void trace_buffer_owner(struct trace_buffer *buffer, uint64_t old, uint64_t value);
/* 1 or 2: the exception level whose translation regime the buffer's addresses are of. */
unsigned int trace_buffer_owning_el(const struct trace_buffer *buffer);

/* Trace at this exception level is prohibited, for the buffer is enabled and owned by a lower one;
 * or by EL1 where HCR_EL2.TGE is 1 (DDI 0487, TraceAllowed()). */
bool trace_buffer_prohibits(const struct trace_buffer *buffer, unsigned int el);

/*
 * Stage 1 (and stage 2 where HCR_EL2.VM) of the owning translation regime, for a write by the trace
 * buffer, by walking the guest's tables. 0, or TRBSR's EC << 26 | FSC of the fault. *contiguous:
 * how many bytes from `address` on are in the same page. nvm: the address is physical or
 * intermediate physical (TRBLIMITR.nVM, unless TRFCR_EL2.DnVM). translate.c
 */
uint64_t translate(struct pe *pe, uint64_t address, bool nvm, uint64_t *physical,
		   uint64_t *contiguous);

#endif
