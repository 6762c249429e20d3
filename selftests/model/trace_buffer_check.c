// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What software must not do to the trace buffer (DDI 0601 TRB*_EL1, K10.5.7.1, K10.5.10). What a
 * rule says of time is judged by the order of the program and its barriers, never by what the
 * adversary happened to delay: so that a fault in a sequence is found each time it runs.
 */
#include "trace_buffer_internal.h"

#define HCR_VM		(1ULL << 0)
#define HCR_TGE		(1ULL << 27)
#define HCR_E2H		(1ULL << 34)
#define SCTLR_M		(1ULL << 0)
#define SCTLR_EE	(1ULL << 25)
#define TTBR_BADDR	0xfffffffffffeULL	/* without CnP and the ASID */
#define MDCR_E2TB	(3ULL << 24)

static unsigned long long ull(uint64_t value)
{
	return value;
}

bool trace_buffer_in_use(const struct trace_buffer *buffer)
{
	return buffer->registers[TRB_LIMITR].read & LIMITR_E || buffer->protocol.closing;
}

static void check_enable(struct trace_buffer *buffer, uint64_t limitr)
{
	const uint64_t pointer = buffer->registers[TRB_PTR].read;
	const uint64_t base = buffer->registers[TRB_BASER].read;
	const uint64_t limit = limitr & LIMITR_LIMIT;
	const uint64_t status = buffer->registers[TRB_SR].read;
	struct pe *pe = buffer->pe;

	if (buffer->protocol.unsynchronized)
		violate(pe, VIOLATION_ENABLE_UNSYNCHRONIZED,
			"TRBPTR_EL1 0x%llx, TRBBASER_EL1 0x%llx", ull(pointer), ull(base));
	if (status & (SR_S | SR_IRQ))
		violate(pe, VIOLATION_ENABLE_STOPPED, "TRBSR_EL1 0x%llx", ull(status));
	if (pointer & ((1ULL << buffer->options.align) - 1))
		violate(pe, VIOLATION_PTR_MISALIGNED, "TRBPTR_EL1 0x%llx, alignment %u",
			ull(pointer), 1U << buffer->options.align);
	if (pointer < base || pointer >= limit)
		violate(pe, VIOLATION_PTR_OUTSIDE, "TRBPTR_EL1 0x%llx, base 0x%llx, limit 0x%llx",
			ull(pointer), ull(base), ull(limit));
	buffer->protocol.opening = true;
	buffer->protocol.collected = false;
	buffer->protocol.dirty = false;
	buffer->protocol.complete = true;
	for (unsigned int i = 0; i < MACHINE_REGISTERS; i++)
		buffer->protocol.regime[i] = pe->machine->sysreg(pe->machine->opaque,
								 pe->config.index, i);
}

static void check_disable(struct trace_buffer *buffer)
{
	struct pe *pe = buffer->pe;

	buffer->protocol.closing = true;
	if (trace_unit_enabled(&pe->unit) && pe->unit.traces[pe->el & 3])
		violate(pe, VIOLATION_BUFFER_BEFORE_UNIT, "at EL%u", pe->el);
	else if (buffer->protocol.dirty || trace_unit_holds(&pe->unit))
		violate(pe, VIOLATION_DISABLE_UNFLUSHED, "%s",
			buffer->protocol.dirty ? "since the last TSB CSYNC trace was collected" :
						 "the trace unit has trace");
}

static void check_limitr(struct trace_buffer *buffer, uint64_t value)
{
	const uint64_t old = buffer->registers[TRB_LIMITR].read;

	/* Those of an UNKNOWN value may be written back while the buffer is disabled. */
	if (value & LIMITR_E &&
	    ((value & LIMITR_TM) == 2U << 3 || (value & LIMITR_FM) == 2U << 1))
		violate(buffer->pe, VIOLATION_UNALLOCATED, "TRBLIMITR_EL1 0x%llx: reserved mode",
			ull(value));
	if (value & LIMITR_E && !(old & LIMITR_E))
		check_enable(buffer, value);
	else if (value & LIMITR_E && value != old)
		violate(buffer->pe, VIOLATION_LIMIT_WRITTEN, "0x%llx, was 0x%llx", ull(value),
			ull(old));
	else if (old & LIMITR_E && !(value & LIMITR_E))
		check_disable(buffer);
}

void trace_buffer_check_write(struct trace_buffer *buffer, unsigned int which, uint64_t value)
{
	static const enum violation written[TRB_REGISTERS] = {
		[TRB_PTR] = VIOLATION_PTR_WRITTEN,
		[TRB_BASER] = VIOLATION_BASE_WRITTEN,
		[TRB_SR] = VIOLATION_SR_WRITTEN,
		[TRB_TRG] = VIOLATION_TRG_WRITTEN,
	};

	if (which == TRB_LIMITR) {
		check_limitr(buffer, value);
		return;
	}
	if (which == TRB_MAR)
		return;
	/* A buffer that has stopped collects no trace: then the status is software's. */
	if (trace_buffer_in_use(buffer) &&
	    !(which == TRB_SR && effective(buffer, TRB_SR) & SR_S))
		violate(buffer->pe, written[which], "0x%llx, was 0x%llx", ull(value),
			ull(buffer->registers[which].read));
	if (which != TRB_TRG)
		buffer->protocol.unsynchronized = true;
}

/*
 * TRBSR may be read at any time to look for an interrupt. With the buffer disabled it is the last
 * look: what an External abort left there is visible after TSB CSYNC, DSB, CSE (K10.5.10, step 7).
 */
void trace_buffer_check_read(struct trace_buffer *buffer, unsigned int which)
{
	const struct trace_buffer_protocol *protocol = &buffer->protocol;
	const bool enabled = buffer->registers[TRB_LIMITR].read & LIMITR_E;
	/* Whether trace is in the unit yet or here is chance. */
	const bool coming = enabled && trace_unit_holds(&buffer->pe->unit);
	const bool dirty = protocol->dirty || coming;
	const bool status = which == TRB_SR;

	if (!(protocol->collected || coming) || (which != TRB_PTR && !status))
		return;
	if (status && enabled)
		return;
	if (dirty || (status && !protocol->complete))
		violate(buffer->pe, VIOLATION_READ_UNDRAINED,
			"%s read, no %s since trace was collected",
			status ? "TRBSR_EL1" : "TRBPTR_EL1", dirty ? "TSB CSYNC" : "DSB");
	else if (protocol->flushing || protocol->closing || (status && protocol->completing))
		violate(buffer->pe, VIOLATION_READ_UNSYNCHRONIZED, "%s read, no ISB since %s",
			status ? "TRBSR_EL1" : "TRBPTR_EL1",
			protocol->closing ? "TRBLIMITR_EL1.E was cleared" :
			protocol->flushing ? "TSB CSYNC" : "DSB");
}

/*
 * Which bits of a register bear upon the translation of the buffer's addresses.
 *
 * SYKCND has the buffer disabled before the registers of its regime are modified at a context
 * switch. Taken by the letter Linux breaks it each time it switches processes while a CPU is
 * traced: TTBR0_EL1 and the ASID in TTBR1_EL1 change. Neither changes the translation of an address
 * in the other half that is global, so they are not counted here.
 */
static uint64_t bearing(const struct trace_buffer *buffer, enum machine_register which)
{
	const struct pe *pe = buffer->pe;
	const uint64_t hcr = pe->config.el2 ? pe->machine->sysreg(pe->machine->opaque,
				pe->config.index, MACHINE_HCR_EL2) : 0;
	const bool nvm = effective(buffer, TRB_LIMITR) & LIMITR_NVM;
	const bool upper = effective(buffer, TRB_BASER) >> 55 & 1;
	const bool el2 = trace_buffer_owning_el(buffer) == 2;
	const bool halves = !el2 || hcr & HCR_E2H;

	switch (which) {
	case MACHINE_SCTLR_EL1:
	case MACHINE_SCTLR_EL2:
		return el2 == (which == MACHINE_SCTLR_EL2) && !nvm ? SCTLR_M | SCTLR_EE : 0;
	case MACHINE_TCR_EL1:
	case MACHINE_TCR_EL2:
		return el2 == (which == MACHINE_TCR_EL2) && !nvm ? ~0ULL : 0;
	case MACHINE_TTBR0_EL1:
	case MACHINE_TTBR0_EL2:
		return el2 == (which == MACHINE_TTBR0_EL2) && !nvm && !(halves && upper) ?
		       TTBR_BADDR : 0;
	case MACHINE_TTBR1_EL1:
	case MACHINE_TTBR1_EL2:
		return el2 == (which == MACHINE_TTBR1_EL2) && !nvm && halves && upper ?
		       TTBR_BADDR : 0;
	case MACHINE_HCR_EL2:
		return el2 ? HCR_E2H : HCR_VM | HCR_TGE | HCR_E2H;
	case MACHINE_VTCR_EL2:
	case MACHINE_VTTBR_EL2:
		return !el2 && hcr & HCR_VM ? ~1ULL : 0;
	default:
		return 0;
	}
}

void trace_buffer_regime(struct trace_buffer *buffer, enum machine_register which)
{
	struct pe *pe = buffer->pe;
	uint64_t value, changed;

	trace_buffer_forget(buffer);
	if (!trace_buffer_in_use(buffer))
		return;
	value = pe->machine->sysreg(pe->machine->opaque, pe->config.index, which);
	changed = (value ^ buffer->protocol.regime[which]) & bearing(buffer, which);
	buffer->protocol.regime[which] = value;
	if (changed)
		violate(pe, VIOLATION_REGIME_CHANGED,
			"a register of it became 0x%llx, changed 0x%llx", ull(value), ull(changed));
}

void trace_buffer_owner(struct trace_buffer *buffer, uint64_t old, uint64_t value)
{
	trace_buffer_forget(buffer);
	if (trace_buffer_in_use(buffer) && (old ^ value) & MDCR_E2TB)
		violate(buffer->pe, VIOLATION_REGIME_CHANGED, "MDCR_EL2 becomes 0x%llx, was 0x%llx",
			ull(value), ull(old));
}
