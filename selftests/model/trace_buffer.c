// SPDX-License-Identifier: GPL-2.0-or-later
/* The trace buffer's registers, when they take effect and what MRS sees, and its interrupt. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "trace_buffer_internal.h"

const struct trace_buffer_options trace_buffer_defaults = {
	.version = 1,
	.align = 6,
	.programmable = true,
	.errata = -1,
};

static const uint32_t names[TRB_REGISTERS] = {
	[TRB_LIMITR] = SYSREG_TRBLIMITR_EL1,
	[TRB_PTR] = SYSREG_TRBPTR_EL1,
	[TRB_BASER] = SYSREG_TRBBASER_EL1,
	[TRB_SR] = SYSREG_TRBSR_EL1,
	[TRB_MAR] = SYSREG_TRBMAR_EL1,
	[TRB_TRG] = SYSREG_TRBTRG_EL1,
};

/* Bits that are not RES0. */
static const uint64_t bits[TRB_REGISTERS] = {
	[TRB_LIMITR] = LIMITR_LIMIT | LIMITR_NVM | LIMITR_TM | LIMITR_FM | LIMITR_E,
	[TRB_PTR] = ~0ULL,
	[TRB_BASER] = ~0xfffULL,
	[TRB_SR] = 0xffffffULL << 32 | SR_EC | SR_IRQ | SR_TRG | SR_WRAP | SR_EA | SR_S | SR_MSS,
	[TRB_MAR] = 0x3ff,
	[TRB_TRG] = 0xffffffff,
};

int trace_buffer_init(struct trace_buffer *buffer, struct pe *pe,
		      const struct trace_buffer_options *options)
{
	memset(buffer, 0, sizeof(*buffer));
	buffer->pe = pe;
	buffer->options = options ? *options : trace_buffer_defaults;
	if (buffer->options.align > 11 || buffer->options.external_abort > 1 ||
	    buffer->options.version < 1 || buffer->options.version > 2)
		return -EINVAL;
	buffer->errata = buffer->options.errata;
	if (buffer->errata < 0)
		buffer->errata = trace_buffer_errata_of(pe->config.midr);
	buffer->held = malloc(HELD_MAX);
	buffer->writes = calloc(N_WRITES, sizeof(*buffer->writes));
	if (!buffer->held || !buffer->writes) {
		trace_buffer_free(buffer);
		return -ENOMEM;
	}
	return 0;
}

void trace_buffer_free(struct trace_buffer *buffer)
{
	if (buffer->held && buffer->writes)
		trace_buffer_abandon(buffer);
	free(buffer->held);
	free(buffer->writes);
	buffer->held = NULL;
	buffer->writes = NULL;
}

void trace_buffer_reset(struct trace_buffer *buffer)
{
	struct rng *rng = &adversary_of(buffer)->rng;

	trace_buffer_drop(buffer, LOG_LOSS_DISABLED);
	trace_buffer_complete(buffer);
	/* E resets to 0, all else to UNKNOWN values. */
	for (unsigned int i = 0; i < TRB_REGISTERS; i++) {
		uint64_t value = 0;

		if (adversary_has(adversary_of(buffer), ADVERSARY_BIT_DELAY))
			value = rng_next(rng) & bits[i];
		if (i == TRB_LIMITR)
			value &= ~(uint64_t)LIMITR_E;
		if (i == TRB_SR)
			value &= ~(uint64_t)SR_IRQ;
		buffer->registers[i] = (struct trace_buffer_register){ value, value, false };
	}
	memset(&buffer->protocol, 0, sizeof(buffer->protocol));
	buffer->drained = buffer->registers[TRB_PTR].read;
	buffer->stopping = false;
	buffer->wrapped = 0;
	buffer->triggered = 0;
	buffer->late = 0;
	buffer->tsbs = 0;
	buffer->deaf = false;
	buffer->settling = UINT_MAX;
	buffer->allowed = false;
	buffer->corrupt = 0;
	buffer->overrun = 0;
	buffer->past = 0;
	buffer->patience = HELD_MAX;
	trace_buffer_forget(buffer);
	trace_buffer_interrupt(buffer);
}

bool trace_buffer_owns(uint32_t reg)
{
	for (unsigned int i = 0; i < TRB_REGISTERS; i++) {
		if (names[i] == reg)
			return true;
	}
	return reg == SYSREG_TRBIDR_EL1;
}

static unsigned int find(uint32_t reg)
{
	unsigned int i = 0;

	while (i < TRB_REGISTERS && names[i] != reg)
		i++;
	return i;
}

bool trace_buffer_enabled(const struct trace_buffer *buffer)
{
	return effective(buffer, TRB_LIMITR) & LIMITR_E;
}

bool trace_buffer_runs(const struct trace_buffer *buffer)
{
	return trace_buffer_enabled(buffer) && !(effective(buffer, TRB_SR) & SR_S);
}

unsigned int trace_buffer_owning_el(const struct trace_buffer *buffer)
{
	const struct pe *pe = buffer->pe;

	return pe->config.el2 && !(pe->mdcr_el2 >> 24 & 2) ? 2 : 1;	/* MDCR_EL2.E2TB */
}

bool trace_buffer_prohibits(const struct trace_buffer *buffer, unsigned int el)
{
	return trace_buffer_enabled(buffer) && trace_buffer_owning_el(buffer) == 1 &&
	       buffer->pe->config.el2 && (el > 1 || buffer->pe->tge);
}

/* Programming is allowed: TRBIDR.P is 0 as it reads at this exception level. */
static bool programmable(const struct trace_buffer *buffer)
{
	const struct pe *pe = buffer->pe;

	if (!buffer->options.programmable)
		return false;
	/* MDCR_EL2.E2TB 0b10: EL1 owns it, but its accesses are trapped. */
	return pe->el != 1 || !pe->config.el2 || (pe->mdcr_el2 >> 24 & 3) == 3;
}

static uint64_t trbidr(const struct trace_buffer *buffer)
{
	const struct trace_buffer_options *options = &buffer->options;
	const unsigned int p = !options->programmable ||
			       (buffer->pe->el == 1 && trace_buffer_owning_el(buffer) == 2);

	return options->align | p << 4 | (unsigned int)options->flag_update << 5 |
	       (unsigned int)options->external_abort << 8;
}

void trace_buffer_log(struct trace_buffer *buffer)
{
	LOG(&buffer->pe->log, LOG_BUFFER, effective(buffer, TRB_SR), effective(buffer, TRB_PTR),
	    effective(buffer, TRB_LIMITR));
}

static void set_level(struct trace_buffer *buffer, bool level)
{
	const struct pe *pe = buffer->pe;

	if (buffer->level == level)
		return;
	buffer->level = level;
	pe->machine->interrupt(pe->machine->opaque, pe->config.index, level);
}

static void end_spurious(struct trace_buffer *buffer)
{
	if (buffer->spurious)
		set_level(buffer, false);
	buffer->spurious = false;
}

void trace_buffer_interrupt(struct trace_buffer *buffer)
{
	const bool wanted = effective(buffer, TRB_SR) & SR_IRQ;

	if (!wanted) {
		buffer->late = 0;
		if (!buffer->spurious)
			set_level(buffer, false);
		return;
	}
	buffer->spurious = false;
	if (buffer->level || buffer->late)
		return;
	if (adversary_does(adversary_of(buffer), ADVERSARY_BIT_LATE, 2))
		buffer->late = 1 + rng_below(&adversary_of(buffer)->rng, 4);
	else
		set_level(buffer, true);
}

bool trace_buffer_read(struct trace_buffer *buffer, uint32_t reg, uint64_t *value)
{
	const unsigned int which = find(reg);

	buffer->tsbs = 0;
	if (reg == SYSREG_TRBIDR_EL1) {
		*value = trbidr(buffer);
		return true;
	}
	if (which == TRB_REGISTERS || !programmable(buffer))
		return false;
	trace_buffer_check_read(buffer, which);
	/* A handler has looked: once is enough. */
	if (which == TRB_SR)
		end_spurious(buffer);
	*value = buffer->registers[which].read;
	return true;
}

void trace_buffer_status(struct trace_buffer *buffer, uint64_t clear, uint64_t set)
{
	struct trace_buffer_register *status = &buffer->registers[TRB_SR];

	status->effective = (status->effective & ~clear) | set;
	/* An exception is a CSE, so that the interrupt's handler always sees the status. */
	if (!adversary_does(adversary_of(buffer), ADVERSARY_BIT_EARLY, 2))
		status->read = status->effective;
	trace_buffer_log(buffer);
	trace_buffer_interrupt(buffer);
}

void trace_buffer_tick(struct trace_buffer *buffer)
{
	struct adversary *adversary = adversary_of(buffer);

	if (buffer->late && !--buffer->late)
		set_level(buffer, true);
	if (buffer->spurious) {
		end_spurious(buffer);
	} else if (!buffer->level && !buffer->late && trace_buffer_enabled(buffer) &&
		   adversary_does(adversary, ADVERSARY_BIT_SPURIOUS, 64)) {
		buffer->spurious = true;
		set_level(buffer, true);
	}
	/* Writes complete in finite time, barrier or not. */
	if (buffer->nwrites && rng_one_in(&adversary->rng, 4))
		trace_buffer_complete(buffer);
}

static void enabled(struct trace_buffer *buffer)
{
	trace_buffer_forget(buffer);
	buffer->stopping = false;
	buffer->overrun = 0;
	buffer->past = 0;
}

static void disabled(struct trace_buffer *buffer)
{
	trace_buffer_drop(buffer, LOG_LOSS_WITHHELD);
	buffer->stopping = false;
	end_spurious(buffer);
}

/* What was written is in effect. */
static void take_effect(struct trace_buffer *buffer, unsigned int which)
{
	struct trace_buffer_register *reg = &buffer->registers[which];
	const uint64_t changed = reg->effective ^ reg->read;
	const uint64_t alignment = 1ULL << buffer->options.align;

	reg->pending = false;
	/* Bytes that are held were accepted under the old values. */
	if (which == TRB_LIMITR && changed & LIMITR_E && reg->effective & LIMITR_E)
		disabled(buffer);
	reg->effective = reg->read;
	LOG(&buffer->pe->log, LOG_REGISTER, names[which], reg->effective);
	if (which == TRB_LIMITR && changed & LIMITR_E && reg->effective & LIMITR_E)
		enabled(buffer);
	if (which == TRB_LIMITR || which == TRB_PTR)
		trace_buffer_forget(buffer);
	if (which == TRB_PTR) {
		/* PTR[M-1:0] reads as written, and is 0 for the hardware. */
		reg->effective &= -alignment;
		buffer->drained = reg->effective;
	}
	if (which == TRB_SR)
		trace_buffer_interrupt(buffer);
}

bool trace_buffer_write(struct trace_buffer *buffer, uint32_t reg, uint64_t value)
{
	struct adversary *adversary = adversary_of(buffer);
	const unsigned int which = find(reg);

	buffer->tsbs = 0;
	if (which == TRB_REGISTERS || !programmable(buffer))
		return false;
	if (buffer->deaf && which != TRB_MAR) {
		trace_buffer_errata_shows(buffer, ERRATUM_REGISTER_WRITES_LOST);
		return true;
	}
	if (value & ~bits[which])
		violate(buffer->pe, VIOLATION_UNALLOCATED, "0x%llx",
			(unsigned long long)(value & ~bits[which]));
	trace_buffer_check_write(buffer, which, value & bits[which]);
	/* "The PE might ignore a direct write" of these with E 1 (DDI 0601). */
	if (trace_buffer_enabled(buffer) && which != TRB_LIMITR && which != TRB_SR &&
	    rng_one_in(&adversary->rng, 2))
		return true;
	if (which == TRB_LIMITR && (value ^ buffer->registers[which].read) & LIMITR_E)
		trace_buffer_errata_enabled(buffer, value & LIMITR_E);
	buffer->registers[which].read = value & bits[which];
	buffer->registers[which].pending = true;
	if (!adversary_does(adversary, ADVERSARY_BIT_DELAY, 2))
		take_effect(buffer, which);
	return true;
}

/* As it was written, with PTR[M-1:0], until the hardware has moved it. */
static void publish_pointer(struct trace_buffer *buffer, uint64_t pointer)
{
	struct trace_buffer_register *reg = &buffer->registers[TRB_PTR];

	if (pointer != (reg->read & -(1ULL << buffer->options.align)))
		reg->read = pointer;
}

void trace_buffer_synchronize(struct trace_buffer *buffer)
{
	struct trace_buffer_register *registers = buffer->registers;
	struct trace_buffer_protocol *protocol = &buffer->protocol;
	static const uint8_t order[] = { TRB_BASER, TRB_PTR, TRB_MAR, TRB_TRG, TRB_SR, TRB_LIMITR };

	buffer->tsbs = 0;
	if (buffer->settling < UINT_MAX)
		buffer->settling++;
	for (unsigned int i = 0; i < sizeof(order); i++) {
		if (registers[order[i]].pending)
			take_effect(buffer, order[i]);
	}
	registers[TRB_SR].read = registers[TRB_SR].effective;
	registers[TRB_TRG].read = registers[TRB_TRG].effective;
	if (adversary_has(adversary_of(buffer), ADVERSARY_BIT_WITHHOLD))
		publish_pointer(buffer, buffer->drained);
	else
		publish_pointer(buffer, registers[TRB_PTR].effective);
	protocol->unsynchronized = false;
	protocol->closing = false;
	protocol->opening = false;
	protocol->flushing = false;
	protocol->completing = false;
}

void trace_buffer_dsb(struct trace_buffer *buffer)
{
	struct trace_buffer_protocol *protocol = &buffer->protocol;

	buffer->tsbs = 0;
	trace_buffer_complete(buffer);
	if (!protocol->dirty && !protocol->complete) {
		protocol->complete = true;
		protocol->completing = true;
	}
	if (buffer->deaf && buffer->deaf_flushed)
		buffer->deaf = false;
}

void trace_buffer_flush(struct trace_buffer *buffer)
{
	struct trace_buffer_protocol *protocol = &buffer->protocol;

	trace_buffer_drain_all(buffer);
	buffer->drained = effective(buffer, TRB_PTR);
	if (protocol->dirty) {
		protocol->dirty = false;
		protocol->flushing = true;
	}
	if (buffer->deaf)
		buffer->deaf_flushed = true;
}

void trace_buffer_update(struct trace_buffer *buffer, bool exception)
{
	struct pe *pe = buffer->pe;
	unsigned int n;

	if (buffer->stopping) {
		buffer->stopping = false;
		trace_unit_flush(&pe->unit);
		trace_buffer_drain_all(buffer);
		if (trace_buffer_runs(buffer))
			trace_buffer_stop(buffer, SR_BSC_TRIGGER);
	}
	/* What the unit makes of the events may cause more of them, for the next time. */
	for (n = buffer->wrapped, buffer->wrapped = 0; n; n--)
		trace_unit_external(&pe->unit, PMU_TRB_WRAP);
	for (n = buffer->triggered, buffer->triggered = 0; n; n--)
		trace_unit_external(&pe->unit, PMU_TRB_TRIG);
	trace_buffer_errata_allowed(buffer, pe->unit.traces[pe->el & 3], exception);
}

void trace_buffer_forget(struct trace_buffer *buffer)
{
	buffer->contiguous = 0;
}
