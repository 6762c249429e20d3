// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * MRS and MSR of the trace unit's registers: when they may be, and when a write takes effect.
 */
#include <string.h>

#include "trace_unit_internal.h"

/* Registers that may be read at any time: of the others PMSTABLE says when they are stable. */
static bool may_read(unsigned int slot)
{
	return slot == TRCPRGCTLR || slot == TRCSTATR || slot >= TRCCLAIMSET || slot == TRCOSLSR ||
	       (slot >= TRCIDR8 && slot < TRCIDR0 + 8);
}

/* STTPKR: each read may be the last one that says what was. */
static uint64_t read_status(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	bool idle = !st->enabled, stable = !st->enabled;

	if (st->polled)
		violate(unit->pe, VIOLATION_POLL_UNSYNCHRONIZED, "TRCSTATR read again");
	st->polled = true;
	if (st->enabled_locked && unit->pe->oslock) {
		violate(unit->pe, VIOLATION_UNIT_LOCKED, "TRCSTATR read with the OS lock set");
		st->enabled_locked = false;
	}
	if (st->idle_polls) {
		if (st->idle_polls != POLLS_FOR_EVER)
			st->idle_polls--;
		idle = !idle;
	}
	if (st->stable_polls) {
		st->stable_polls--;
		stable = false;
	}
	st->idle_seen |= idle;
	st->stable_seen |= stable;
	return (idle ? STATR_IDLE : 0) | (stable ? STATR_PMSTABLE : 0);
}

static bool find(const struct trace_unit *unit, uint32_t reg, unsigned int *slot,
		 struct trace_unit_register *what)
{
	return trace_unit_slot(reg, slot) && trace_unit_has(unit, *slot, what);
}

/* As with writes it does not matter whether the adversary makes the unit slow. */
static bool is_stable(const struct trace_unit_state *st)
{
	return !st->enabled && !st->stable_polls && st->stable_seen;
}

bool trace_unit_read(struct trace_unit *unit, uint32_t reg, uint64_t *value)
{
	struct trace_unit_state *st = unit->state;
	struct trace_unit_register what;
	unsigned int slot;

	if (!find(unit, reg, &slot, &what))
		return false;
	if (!may_read(slot) && !is_stable(st))
		violate(unit->pe, VIOLATION_UNIT_READ, "offset 0x%x", slot << 2);
	if (slot == TRCSTATR)
		*value = read_status(unit);
	else if (what.read_only)
		*value = trace_unit_identity(unit, slot);
	else if (slot == TRCCLAIMSET)
		*value = CLAIM_TAGS;
	else
		*value = st->written[slot];
	if (slot == TRCCONFIGR)
		*value |= 1;
	if (slot >= TRCSSCSR0 && slot < TRCSSCSR0 + 8)
		*value |= 1;	/* INST: instruction addresses */
	return true;
}

static void claim(struct trace_unit *unit, unsigned int slot, uint64_t value)
{
	uint64_t *tags = &unit->state->written[TRCCLAIMCLR];

	if (slot == TRCCLAIMSET)
		*tags |= value;
	else
		*tags &= ~value;
	LOG(&unit->pe->log, LOG_REGISTER, trace_unit_sysreg(TRCCLAIMCLR), *tags);
}

static uint32_t state_of(unsigned int slot)
{
	if (slot == TRCVICTLR)
		return STATE_VICTLR;
	if (slot == TRCRSR)
		return STATE_RSR;
	if (slot == TRCSEQSTR)
		return STATE_SEQSTR;
	if (slot >= TRCCNTVR0 && slot < TRCCNTVR0 + 4)
		return STATE_CNTVR(slot - TRCCNTVR0);
	if (slot >= TRCSSCSR0 && slot < TRCSSCSR0 + 8)
		return STATE_SSCSR(slot - TRCSSCSR0);
	return 0;
}

static void written_enable(struct trace_unit *unit, uint64_t value)
{
	struct trace_unit_state *st = unit->state;
	const struct trace_unit_options *o = &unit->options;
	bool was = st->written[TRCPRGCTLR];

	if (value && !was) {
		if (!st->idle_seen) {
			violate(unit->pe, VIOLATION_UNIT_ENABLED_BUSY, "TRCSTATR.IDLE not seen 1");
			/* Whoever could not write its state yet is told of this first. */
			st->state_written = STATE_ALL;
		}
		st->enabled_locked = unit->pe->oslock;
	} else if (!value && was) {
		st->enabled_locked = false;
		st->idle_seen = false;
		/* Without a start/stop function SSSTATUS is RES1. */
		st->state_written &= o->address_pairs || o->pe_inputs ? 0 : STATE_VICTLR;
	}
}

/* Takes effect at once, or waits; writes of one register stay in their order. */
static void take(struct trace_unit *unit, unsigned int slot, uint64_t value)
{
	struct trace_unit_state *st = unit->state;
	bool wait = false;

	st->written[slot] = value;
	for (unsigned int i = 0; i < st->npending && !wait; i++)
		wait = st->pending[i].slot == slot;
	if (!wait)
		wait = adversary_does(&unit->pe->adversary, ADVERSARY_BIT_DELAY, 1);
	if (!wait) {
		trace_unit_effect(unit, slot, value);
		return;
	}
	if (st->npending == PENDING_WRITES)
		trace_unit_synchronize(unit);
	st->pending[st->npending++] = (struct trace_unit_write){ slot, value };
}

static void drop(struct trace_unit_state *st, unsigned int i)
{
	st->npending--;
	memmove(&st->pending[i], &st->pending[i + 1],
		(st->npending - i) * sizeof(st->pending[0]));
}

/* Any of those that wait: software must not rely on their order. Of one register, the oldest. */
void trace_unit_maybe(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	struct rng *rng = &unit->pe->adversary.rng;
	struct trace_unit_write write;
	unsigned int which, first = 0;

	if (!st->npending || rng_below(rng, 4))
		return;
	which = rng_below(rng, st->npending);
	while (st->pending[first].slot != st->pending[which].slot)
		first++;
	write = st->pending[first];
	drop(st, first);
	trace_unit_effect(unit, write.slot, write.value);
}

/* What the unit is made of goes before its enabling, if that is what software wrote of EN last. */
static bool goes_last(const struct trace_unit_state *st, unsigned int i)
{
	if (st->pending[i].slot != TRCPRGCTLR || !st->pending[i].value)
		return false;
	while (++i < st->npending)
		if (st->pending[i].slot == TRCPRGCTLR)
			return false;
	return true;
}

/* All that waits takes effect together; writes of one register do so in their order. */
void trace_unit_synchronize(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;

	st->polled = false;
	for (unsigned int last = 0; last < 2; last++) {
		for (unsigned int i = 0; i < st->npending;) {
			struct trace_unit_write write = st->pending[i];

			if (!last && goes_last(st, i)) {
				i++;
				continue;
			}
			drop(st, i);
			trace_unit_effect(unit, write.slot, write.value);
		}
	}
}

/*
 * The unit is idle, and software knows: whoever did not look is told each time, not only where the
 * adversary makes the unit slow. The OS lock disables it, too, and is there to write registers.
 */
static bool may_write(const struct trace_unit *unit)
{
	const struct trace_unit_state *st = unit->state;

	if (st->enabled || st->idle_polls)
		return false;
	return unit->pe->oslock || (!st->written[TRCPRGCTLR] && st->idle_seen);
}

bool trace_unit_write(struct trace_unit *unit, uint32_t reg, uint64_t value)
{
	struct trace_unit_state *st = unit->state;
	struct trace_unit_register what;
	unsigned int slot;

	if (!find(unit, reg, &slot, &what) || what.read_only)
		return false;
	value &= what.mask;
	if (slot == TRCCLAIMSET || slot == TRCCLAIMCLR) {
		claim(unit, slot, value);
		return true;
	}
	if (slot == TRCPRGCTLR)
		written_enable(unit, value);
	else if (slot < TRC_SLOTS && !may_write(unit))
		violate(unit->pe, VIOLATION_UNIT_WRITTEN, "offset 0x%x", slot << 2);
	if (!st->written[TRCPRGCTLR] || unit->pe->oslock)
		st->state_written |= state_of(slot);
	take(unit, slot, value);
	return true;
}

void trace_unit_context(struct trace_unit *unit, uint32_t contextidr_el1, uint32_t contextidr_el2)
{
	if (unit->state->written[SLOT_CONTEXTIDR_EL1] != contextidr_el1)
		take(unit, SLOT_CONTEXTIDR_EL1, contextidr_el1);
	if (unit->state->written[SLOT_CONTEXTIDR_EL2] != contextidr_el2)
		take(unit, SLOT_CONTEXTIDR_EL2, contextidr_el2);
}

void trace_unit_registers_reset(struct trace_unit *unit)
{
	struct trace_unit_state *st = unit->state;
	struct adversary *adversary = &unit->pe->adversary;
	struct trace_unit_register what;

	memset(st->written, 0, sizeof(st->written));
	st->npending = 0;
	for (unsigned int slot = 0; slot < TRC_SLOTS; slot++) {
		if (adversary->options.what && trace_unit_has(unit, slot, &what) && what.unknown)
			st->written[slot] = rng_next(&adversary->rng) & what.mask;
	}
	memcpy(st->effective, st->written, sizeof(st->effective));
	st->idle_polls = 0;
	st->stable_polls = 0;
	st->polled = false;
	st->idle_seen = true;
	st->stable_seen = true;
	st->enabled_locked = false;
	st->state_written = 0;
	st->disablings = 0;
}
