// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The hub: what the PE does comes in here and goes to the trace unit, the trace buffer and the log,
 * each in the order in which the architecture makes it happen.
 *
 * Not modelled: traps of trace registers to EL1, EL2 and EL3 (CPACR_EL1.TTA, CPTR_EL2.TTA,
 * MDCR_EL2.E2TB, HDFGRTR_EL2 ...). An access that the owner of the trace buffer would see as a trap
 * is UNDEFINED here.
 */
#include <errno.h>
#include <string.h>

#include "pe.h"
#include "sysreg.h"

#define HCR_TID3	(1U << 18)	/* traps ID registers of EL1 */
#define TRFCR_EXTRE	2U		/* TRFCR_EL1.E1TRE, TRFCR_EL2.E2TRE */
#define TRCPRGCTLR	SYSREG_TRACE(0x004)

/* The op1 of System registers of EL1 and EL2, and of EL1 as EL2 names them with HCR_EL2.E2H 1. */
enum { OP1_EL1 = 0, OP1_EL2 = 4, OP1_EL12 = 5 };

static unsigned int op1(uint32_t reg)
{
	return reg >> 11 & 7;
}

static uint32_t with_op1(uint32_t reg, unsigned int n)
{
	return (reg & ~(7U << 11)) | n << 11;
}

/* Registers that the machine has and the model watches: by their name without redirection. */
static const struct watched {
	uint32_t reg;
	enum machine_register machine;	/* MACHINE_REGISTERS: of no regime */
} watched[] = {
	{ SYSREG_CONTEXTIDR_EL1, MACHINE_REGISTERS },
	{ SYSREG_CONTEXTIDR_EL2, MACHINE_REGISTERS },
	{ SYSREG_OSLAR_EL1, MACHINE_REGISTERS },
	{ SYSREG_MDCR_EL2, MACHINE_REGISTERS },
	{ SYSREG_SCTLR_EL1, MACHINE_SCTLR_EL1 },
	{ SYSREG_TCR_EL1, MACHINE_TCR_EL1 },
	{ SYSREG_TTBR0_EL1, MACHINE_TTBR0_EL1 },
	{ SYSREG_TTBR1_EL1, MACHINE_TTBR1_EL1 },
	{ SYSREG_HCR_EL2, MACHINE_HCR_EL2 },
	{ SYSREG_SCTLR_EL2, MACHINE_SCTLR_EL2 },
	{ SYSREG_TCR_EL2, MACHINE_TCR_EL2 },
	{ SYSREG_TTBR0_EL2, MACHINE_TTBR0_EL2 },
	{ SYSREG_TTBR1_EL2, MACHINE_TTBR1_EL2 },
	{ SYSREG_VTCR_EL2, MACHINE_VTCR_EL2 },
	{ SYSREG_VTTBR_EL2, MACHINE_VTTBR_EL2 },
};

#define N_WATCHED (sizeof(watched) / sizeof(watched[0]))

static const struct watched *find_watched(uint32_t reg)
{
	for (size_t i = 0; i < N_WATCHED; i++) {
		if (watched[i].reg == reg)
			return &watched[i];
	}
	return NULL;
}

static bool is_trfcr(uint32_t reg)
{
	return reg == SYSREG_TRFCR_EL1 || reg == SYSREG_TRFCR_EL2 || reg == SYSREG_TRFCR_EL12;
}

/* Bits 15:14 are op0, 13:11 op1: the trace registers are op0 2, op1 1. */
static bool is_trace_unit(uint32_t reg)
{
	return reg >> 11 == (2 << 3 | 1) && trace_unit_owns(reg);
}

/* Registers that have an _EL12 name, and whose _EL1 name is the _EL2 register with E2H. */
static bool is_redirected(uint32_t reg)
{
	const uint32_t el1 = with_op1(reg, OP1_EL1);

	return el1 == SYSREG_TRFCR_EL1 || el1 == SYSREG_CONTEXTIDR_EL1 || el1 == SYSREG_SCTLR_EL1 ||
	       el1 == SYSREG_TCR_EL1 || el1 == SYSREG_TTBR0_EL1 || el1 == SYSREG_TTBR1_EL1;
}

/* The register that is meant where the PE is; false: at this exception level there is none. */
static bool resolve(const struct pe *pe, uint32_t *reg)
{
	const bool host = pe->el == 2 && pe->e2h;

	if (pe->el == 0)
		return false;
	if (is_redirected(*reg)) {
		if (op1(*reg) == OP1_EL12) {
			if (!host)
				return false;
			*reg = with_op1(*reg, OP1_EL1);
		} else if (op1(*reg) == OP1_EL1 && host) {
			*reg = with_op1(*reg, OP1_EL2);
		}
	}
	return op1(*reg) != OP1_EL2 || (pe->el >= 2 && pe->config.el2);
}

bool pe_replaces(uint32_t reg)
{
	return is_trfcr(reg) || is_trace_unit(reg) || trace_buffer_owns(reg) ||
	       reg == SYSREG_ID_AA64DFR0_EL1 || reg == SYSREG_MIDR_EL1;
}

bool pe_owns(uint32_t reg)
{
	if (pe_replaces(reg) || find_watched(reg))
		return true;
	return op1(reg) == OP1_EL12 && is_redirected(reg);
}

int pe_init(struct pe *pe, const struct pe_config *config, const struct machine *machine,
	    struct log_set *log)
{
	int error;

	memset(pe, 0, sizeof(*pe));
	pe->config = *config;
	pe->machine = machine;
	adversary_init(&pe->adversary, pe, config->adversary);
	error = log_init(&pe->log, log, config->index);
	if (error)
		return error;
	error = trace_unit_init(&pe->unit, pe, config->unit);
	if (error)
		goto err_log;
	error = trace_buffer_init(&pe->buffer, pe, config->buffer);
	if (error)
		goto err_unit;
	pe_reset(pe);
	return 0;

err_unit:
	trace_unit_free(&pe->unit);
err_log:
	log_finish(&pe->log);
	return error;
}

/* Words of the report: what the adversary, software and errata did, where bytes went. */
static void report(struct pe *pe)
{
	struct log_set *set = pe->log.set;
	const unsigned int n = pe->config.index;

	for (unsigned int i = 0; i < ADVERSARY_BITS; i++) {
		if (pe->adversary.counts[i])
			log_report(set, "cpu%u.adversary.%s %llu", n, adversary_word(i),
				   (unsigned long long)pe->adversary.counts[i]);
	}
	for (unsigned int i = 0; i < VIOLATIONS; i++) {
		if (pe->adversary.violations[i])
			log_report(set, "cpu%u.violation.%s %llu", n, violation_word(i),
				   (unsigned long long)pe->adversary.violations[i]);
	}
	for (unsigned int i = 0; i < ERRATA; i++) {
		if (pe->buffer.errata_counts[i])
			log_report(set, "cpu%u.erratum.%s %llu", n, trace_buffer_erratum_word(i),
				   (unsigned long long)pe->buffer.errata_counts[i]);
	}
	adversary_report_seed(&pe->adversary);
	log_report(set, "cpu%u.accepted %llu", n, (unsigned long long)pe->buffer.accepted);
	log_report(set, "cpu%u.stored %llu", n, (unsigned long long)pe->buffer.stored);
	log_report(set, "cpu%u.lost %llu", n, (unsigned long long)pe->buffer.lost);
}

void pe_free(struct pe *pe)
{
	trace_buffer_free(&pe->buffer);
	if (pe->log.set)
		report(pe);
	trace_unit_free(&pe->unit);
	log_finish(&pe->log);
}

void pe_reset(struct pe *pe)
{
	pe->el = pe->config.el2 ? 2 : 1;
	pe->e2h = false;
	pe->tge = false;
	pe->oslock = true;	/* OSLSR_EL1.OSLK resets to 1 */
	pe->contextidr[0] = 0;
	pe->contextidr[1] = 0;
	pe->mdcr_el2 = 0;
	pe->trfcr[0] = 0;
	pe->trfcr[1] = 0;
	pe->ending = false;
	log_event(&pe->log, LOG_RESET, 0, NULL);
	/* In this order what the unit holds comes to no memory: there is no buffer any more. */
	trace_buffer_reset(&pe->buffer);
	trace_unit_reset(&pe->unit);
	trace_unit_context(&pe->unit, 0, 0);
	trace_unit_refresh(&pe->unit);
}

void pe_power_off(struct pe *pe)
{
	const bool unit = trace_unit_enabled(&pe->unit);
	const bool buffer = trace_buffer_enabled(&pe->buffer);

	if (unit || buffer)
		violate(pe, VIOLATION_POWERED_OFF, "%s%s%s enabled", unit ? "trace unit" : "",
			unit && buffer ? " and " : "", buffer ? "trace buffer" : "");
	pe_reset(pe);
}

bool pe_wants(const struct pe *pe, unsigned int el)
{
	return el < 4 && (pe->unit.traces[el] || (!el && pe->config.times));
}

static uint64_t counter(const struct pe *pe)
{
	return pe->machine->counter(pe->machine->opaque, pe->config.index);
}

void pe_tell_time(struct pe *pe)
{
	if (pe->config.times && pe->log.state)
		LOG(&pe->log, LOG_TIME, counter(pe));
}

static void tell_stay(struct pe *pe)
{
	if (pe->config.times && pe->log.state && !pe->el)
		LOG(&pe->log, LOG_STAY, pe->contextidr[pe->tge], pe->entered, counter(pe),
		    pe->untraced);
}

/*
 * The enabling of the trace buffer takes effect before the unit's, its disabling after: one context
 * synchronization event may end a sequence that begins with both (K10.5.10, PKLXF). level: the
 * exception level changed with it.
 */
static void synchronize(struct pe *pe, bool level)
{
	if (trace_buffer_runs(&pe->buffer)) {
		trace_unit_synchronize(&pe->unit);
		trace_buffer_synchronize(&pe->buffer);
	} else {
		trace_buffer_synchronize(&pe->buffer);
		trace_unit_synchronize(&pe->unit);
	}
	/* With EL2 what may be traced depends on who owns the buffer, if it is enabled. */
	if (level || pe->config.el2)
		trace_unit_refresh(&pe->unit);
	pe->ending = false;
	trace_buffer_update(&pe->buffer, level);
}

void pe_block(struct pe *pe, const struct pe_block *block)
{
	pe->pc = block->address + 4 * (uint64_t)(block->n - 1);
	if (!pe_wants(pe, pe->el))
		return;
	if (!pe->unit.traces[pe->el]) {
		pe->untraced += block->n;
		return;
	}
	/* The unit tells the log, in pieces where ViewInst changes within the block. */
	trace_unit_block(&pe->unit, block);
	trace_buffer_update(&pe->buffer, false);
}

void pe_exception(struct pe *pe, const struct pe_exception *exception)
{
	pe->pc = exception->return_address;
	tell_stay(pe);
	log_exception(&pe->log, exception);
	if (trace_unit_enabled(&pe->unit))
		trace_unit_exception(&pe->unit, exception);
	pe->el = exception->el;
	synchronize(pe, true);
}

void pe_return(struct pe *pe, unsigned int el)
{
	LOG(&pe->log, LOG_RETURN, el);
	pe->el = el;
	if (pe->config.times && !el) {
		pe->entered = counter(pe);
		pe->untraced = 0;
	}
	synchronize(pe, true);
}

static uint64_t machine_sysreg(const struct pe *pe, enum machine_register which)
{
	return pe->machine->sysreg(pe->machine->opaque, pe->config.index, which);
}

static uint64_t id_aa64dfr0(const struct pe *pe, uint64_t value)
{
	const uint64_t buffer = pe->buffer.options.version;

	value &= ~(0xfULL << 4 | 0xfULL << 40 | 0xfULL << 44);
	/* TraceVer, TraceFilt, TraceBuffer */
	return value | 1 << 4 | 1ULL << 40 | buffer << 44;
}

bool pe_read(struct pe *pe, uint32_t reg, uint64_t pc, uint64_t *value)
{
	pe->pc = pc;
	if (!resolve(pe, &reg))
		return false;
	if (reg == SYSREG_ID_AA64DFR0_EL1) {
		if (pe->el == 1 && pe->config.el2 && machine_sysreg(pe, MACHINE_HCR_EL2) & HCR_TID3)
			return false;
		*value = id_aa64dfr0(pe, *value);
		return true;
	}
	if (reg == SYSREG_MIDR_EL1) {
		/* VPIDR_EL2, if it says something else, stays. */
		if (pe->config.midr && *value == machine_sysreg(pe, MACHINE_MIDR_EL1))
			*value = pe->config.midr;
		return true;
	}
	if (is_trfcr(reg) || is_trace_unit(reg))
		return trace_unit_read(&pe->unit, reg, value);
	if (trace_buffer_owns(reg))
		return trace_buffer_read(&pe->buffer, reg, value);
	return false;
}

static bool write_trfcr(struct pe *pe, uint32_t reg, uint64_t value)
{
	const unsigned int el = reg == SYSREG_TRFCR_EL2 ? 2 : 1;
	uint64_t *last = &pe->trfcr[el - 1];

	/* Where the PE is: EL0 is not entered before a context synchronization event anyway. */
	if (*last & ~value & TRFCR_EXTRE && el == pe->el && pe->unit.traces[el])
		pe->ending = true;
	/* What is generated may come before the buffer is there: the order of the two is open. */
	if (~*last & value & TRFCR_EXTRE && el == pe->el && pe->buffer.protocol.opening &&
	    trace_unit_enabled(&pe->unit))
		violate(pe, VIOLATION_ALLOWED_EARLY, "TRFCR_EL%u becomes 0x%llx", el,
			(unsigned long long)value);
	*last = value;
	return trace_unit_write(&pe->unit, reg, value);
}

static bool write_trace_unit(struct pe *pe, uint32_t reg, uint64_t value)
{
	/*
	 * Trace that is allowed is generated until a CSE (K10.5.10, "tracing is not prohibited when
	 * software wants to save the trace context"). What was allowed is known: a CSE was before.
	 */
	if (reg == TRCPRGCTLR && !(value & 1) && pe->unit.traces[pe->el])
		pe->ending = true;
	return trace_unit_write(&pe->unit, reg, value);
}

static void write_watched(struct pe *pe, const struct watched *which, uint64_t value)
{
	if (which->reg == SYSREG_CONTEXTIDR_EL1 || which->reg == SYSREG_CONTEXTIDR_EL2) {
		pe->contextidr[which->reg == SYSREG_CONTEXTIDR_EL2] = value;
		trace_unit_context(&pe->unit, pe->contextidr[0], pe->contextidr[1]);
	} else if (which->reg == SYSREG_MDCR_EL2) {
		trace_buffer_owner(&pe->buffer, pe->mdcr_el2, value);
		pe->mdcr_el2 = value;
		trace_unit_refresh(&pe->unit);
	} else if (which->machine != MACHINE_REGISTERS) {
		trace_buffer_regime(&pe->buffer, which->machine);
	}
}

bool pe_write(struct pe *pe, uint32_t reg, uint64_t pc, uint64_t value)
{
	const struct watched *which;

	pe->pc = pc;
	if (!resolve(pe, &reg))
		return false;
	which = find_watched(reg);
	if (which) {
		write_watched(pe, which, value);
		return false;
	}
	if (is_trfcr(reg))
		return write_trfcr(pe, reg, value);
	if (is_trace_unit(reg))
		return write_trace_unit(pe, reg, value);
	if (trace_buffer_owns(reg))
		return trace_buffer_write(&pe->buffer, reg, value);
	return false;
}

void pe_isb(struct pe *pe, uint64_t pc)
{
	pe->pc = pc;
	synchronize(pe, false);
}

void pe_dsb(struct pe *pe, uint64_t pc)
{
	pe->pc = pc;
	trace_buffer_dsb(&pe->buffer);
}

void pe_tsb_csync(struct pe *pe, uint64_t pc)
{
	pe->pc = pc;
	if (pe->ending)
		violate(pe, VIOLATION_TSB_UNSYNCHRONIZED, "TRFCR_EL1 is 0x%llx, TRFCR_EL2 0x%llx",
			(unsigned long long)pe->trfcr[0], (unsigned long long)pe->trfcr[1]);
	if (trace_buffer_flush_fails(&pe->buffer))
		return;
	trace_unit_flush(&pe->unit);
	trace_buffer_flush(&pe->buffer);
	trace_buffer_update(&pe->buffer, false);
}

void pe_state(struct pe *pe, bool e2h, bool tge, bool oslock)
{
	if (pe->e2h == e2h && pe->tge == tge && pe->oslock == oslock)
		return;
	if (pe->e2h != e2h || pe->tge != tge)
		trace_buffer_forget(&pe->buffer);
	pe->e2h = e2h;
	pe->tge = tge;
	pe->oslock = oslock;
	trace_unit_refresh(&pe->unit);
}

void pe_tick(struct pe *pe)
{
	trace_buffer_tick(&pe->buffer);
}
