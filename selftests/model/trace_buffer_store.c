// SPDX-License-Identifier: GPL-2.0-or-later
/* The bytes' way: held, given an address in the buffer's mode, written. */
#include <string.h>

#include "trace_buffer_internal.h"

#define IGNORE_PACKET	0x70
#define TRFCR_DNVM	(1U << 11)
/* About one chance in so many writes. */
#define ABORT_RATE	8192
#define FAULT_RATE	8192

void trace_buffer_lose(struct trace_buffer *buffer, uint64_t n, enum log_loss reason)
{
	if (!n)
		return;
	/* The log has the stream in order. */
	trace_buffer_complete(buffer);
	LOG(&buffer->pe->log, LOG_LOST, n, buffer->stored + buffer->lost, reason);
	buffer->lost += n;
	pe_tell_time(buffer->pe);
}

void trace_buffer_drop(struct trace_buffer *buffer, enum log_loss reason)
{
	const size_t n = buffer->nheld;

	buffer->nheld = 0;
	trace_buffer_lose(buffer, n, reason);
}

void trace_buffer_abandon(struct trace_buffer *buffer)
{
	const uint64_t n = buffer->npending + buffer->nheld;

	buffer->nwrites = 0;
	buffer->npending = 0;
	buffer->nheld = 0;
	trace_buffer_lose(buffer, n, LOG_LOSS_DISABLED);
}

void trace_buffer_stop(struct trace_buffer *buffer, uint32_t bsc)
{
	trace_buffer_status(buffer, SR_EC | SR_MSS, SR_S | SR_IRQ | bsc);
}

bool trace_buffer_memory(struct trace_buffer *buffer, uint64_t physical, const void *bytes,
			 size_t n)
{
	const struct pe *pe = buffer->pe;

	return pe->machine->write(pe->machine->opaque, pe->config.index, physical, bytes, n);
}

/* An external abort on a write: TRBSR.EA, and collection stops; or nobody is told (TRBIDR.EA 1). */
static void external_abort(struct trace_buffer *buffer)
{
	if (buffer->options.external_abort == 0)
		trace_buffer_status(buffer, SR_EC | SR_MSS, SR_EA | SR_S | SR_IRQ);
}

static void complete(struct trace_buffer *buffer, struct trace_buffer_write *write)
{
	bool aborted = adversary_does(adversary_of(buffer), ADVERSARY_BIT_ABORT, ABORT_RATE);

	if (!aborted)
		aborted = !trace_buffer_memory(buffer, write->physical, write->bytes, write->n);
	if (!aborted && !write->wrong) {
		log_stored(&buffer->pe->log, write->bytes, write->n, write->address);
		buffer->stored += write->n;
		return;
	}
	LOG(&buffer->pe->log, LOG_LOST, write->n, buffer->stored + buffer->lost,
	    aborted ? LOG_LOSS_FAULT : LOG_LOSS_ERRATUM);
	buffer->lost += write->n;
	pe_tell_time(buffer->pe);
	if (aborted)
		external_abort(buffer);
}

void trace_buffer_complete(struct trace_buffer *buffer)
{
	const unsigned int n = buffer->nwrites;

	buffer->nwrites = 0;
	buffer->npending = 0;
	for (unsigned int i = 0; i < n; i++)
		complete(buffer, &buffer->writes[i]);
}

static void put(struct trace_buffer *buffer, uint64_t address, uint64_t physical,
		const uint8_t *bytes, uint32_t n)
{
	struct trace_buffer_write *write;

	if (buffer->nwrites == N_WRITES)
		trace_buffer_complete(buffer);
	write = &buffer->writes[buffer->nwrites++];
	buffer->npending += n;
	write->address = address;
	write->physical = physical;
	write->n = n;
	memcpy(write->bytes, bytes, n);
	write->wrong = trace_buffer_errata_corrupt(buffer, write->bytes, n);
	if (!adversary_has(adversary_of(buffer), ADVERSARY_BIT_WITHHOLD))
		trace_buffer_complete(buffer);
}

/* Faults by chance: translation, access flag, permission, address size; stage 1, stage 2. */
static uint64_t random_fault(struct trace_buffer *buffer)
{
	static const uint8_t kinds[] = { 0x00, 0x04, 0x08, 0x0c };
	struct rng *rng = &adversary_of(buffer)->rng;
	const uint64_t ec = 0x24 + rng_below(rng, 2);
	const unsigned int kind = kinds[rng_below(rng, 4)];
	/* Access flag and permission faults have no level 0. */
	const unsigned int level = kind < 0x08 ? rng_below(rng, 4) : 1 + rng_below(rng, 3);

	return ec << 26 | kind | level;
}

/* TRFCR_EL2.DnVM (FEAT_TRBEv1p1): EL1's buffer has virtual addresses whatever it says. */
static bool nvm(const struct trace_buffer *buffer)
{
	if (buffer->options.version >= 2 && buffer->pe->config.el2 &&
	    trace_buffer_owning_el(buffer) == 1 && buffer->pe->trfcr[1] & TRFCR_DNVM)
		return false;
	return effective(buffer, TRB_LIMITR) & LIMITR_NVM;
}

bool trace_buffer_locate(struct trace_buffer *buffer, uint64_t address, uint64_t *physical,
			 uint64_t *contiguous)
{
	uint64_t fault = 0;

	if (address - buffer->page >= buffer->contiguous) {
		fault = translate(buffer->pe, address, nvm(buffer), &buffer->physical,
				  &buffer->contiguous);
		buffer->page = address;
		if (fault)
			buffer->contiguous = 0;
	}
	if (!fault && adversary_does(adversary_of(buffer), ADVERSARY_BIT_FAULT, FAULT_RATE))
		fault = random_fault(buffer);
	if (fault) {
		trace_buffer_status(buffer, SR_EC | SR_MSS, SR_S | SR_IRQ | fault);
		return false;
	}
	*physical = buffer->physical + (address - buffer->page);
	*contiguous = buffer->contiguous - (address - buffer->page);
	return true;
}

static void trigger_event(struct trace_buffer *buffer)
{
	const uint64_t mode = effective(buffer, TRB_LIMITR) & LIMITR_TM;

	buffer->triggered++;
	if (mode == LIMITR_TM_STOP)
		buffer->stopping = true;	/* after a flush: trace_buffer_update */
	else if (mode == LIMITR_TM_IRQ)
		trace_buffer_status(buffer, 0, SR_IRQ);
	else
		trace_buffer_log(buffer);
}

void trace_buffer_trigger(struct trace_buffer *buffer)
{
	if (!trace_buffer_runs(buffer))
		return;
	/* What was sent before the trigger does not count. */
	trace_buffer_drain(buffer);
	if (!trace_buffer_runs(buffer) || effective(buffer, TRB_SR) & SR_TRG)
		return;
	trace_buffer_status(buffer, 0, SR_TRG);
	if (!effective(buffer, TRB_TRG))
		trigger_event(buffer);
}

/* n bytes were written. The counter goes down by one for each, but not below 0: where it is no
 * multiple of TRBIDR.Align, its low bits count as if they rounded it up. */
static void count(struct trace_buffer *buffer, uint64_t n)
{
	struct trace_buffer_register *counter = &buffer->registers[TRB_TRG];

	if (!(effective(buffer, TRB_SR) & SR_TRG) || !counter->effective)
		return;
	counter->effective -= n < counter->effective ? n : counter->effective;
	if (!counter->effective)
		trigger_event(buffer);
}

/* The write pointer wraps. Reserved TRBLIMITR.FM 0b10 is Circular Buffer mode. */
static void wrap(struct trace_buffer *buffer)
{
	const uint64_t mode = effective(buffer, TRB_LIMITR) & LIMITR_FM;

	buffer->registers[TRB_PTR].effective = effective(buffer, TRB_BASER);
	if (mode == LIMITR_FM_FILL)
		trace_buffer_status(buffer, SR_EC | SR_MSS,
				    SR_WRAP | SR_S | SR_IRQ | SR_BSC_FILLED);
	else
		trace_buffer_status(buffer, 0, SR_WRAP | (mode == LIMITR_FM_WRAP ? SR_IRQ : 0));
	buffer->wrapped++;
	trace_buffer_errata_wrapped(buffer, mode == LIMITR_FM_FILL);
}

/*
 * One write of up to n bytes; how many, 0 if none can be stored.
 *
 * TRBPTR below the base or at or above the limit, and a limit at or below the base, are
 * CONSTRAINED UNPREDICTABLE. Here the pointer wraps before anything is written; and where there is
 * no room between base and limit, collection stops as if the buffer was full, in every mode.
 */
static size_t store(struct trace_buffer *buffer, const uint8_t *bytes, size_t n)
{
	const uint64_t base = effective(buffer, TRB_BASER);
	const uint64_t limit = effective(buffer, TRB_LIMITR) & LIMITR_LIMIT;
	const uint64_t alignment = 1ULL << buffer->options.align;
	const uint64_t trigger = (effective(buffer, TRB_TRG) + alignment - 1) & -alignment;
	uint64_t *pointer = &buffer->registers[TRB_PTR].effective;
	uint64_t physical, contiguous;

	if (*pointer < base || *pointer >= limit) {
		wrap(buffer);
		if (base >= limit && trace_buffer_runs(buffer))
			trace_buffer_stop(buffer, SR_BSC_FILLED);
		return 0;
	}
	if (n > limit - *pointer)
		n = limit - *pointer;
	if (effective(buffer, TRB_SR) & SR_TRG && trigger && n > trigger)
		n = trigger;
	if (n > WRITE_MAX)
		n = WRITE_MAX;
	if (!trace_buffer_locate(buffer, *pointer, &physical, &contiguous))
		return 0;
	if (n > contiguous)
		n = contiguous;
	put(buffer, *pointer, physical, bytes, n);
	*pointer += n;
	count(buffer, n);
	if (*pointer == limit)
		wrap(buffer);
	return n;
}

static enum log_loss why(const struct trace_buffer *buffer)
{
	const uint64_t status = effective(buffer, TRB_SR);

	if (!trace_buffer_enabled(buffer))
		return LOG_LOSS_DISABLED;
	/* An EA of long ago may be there, too: software clears it, or does not. */
	if (status & SR_EC)
		return LOG_LOSS_FAULT;
	return status & SR_EA && !(status & SR_MSS) ? LOG_LOSS_FAULT : LOG_LOSS_STOPPED;
}

/* The first n bytes held, a multiple of the alignment, get addresses or are lost. */
static void drain(struct trace_buffer *buffer, size_t n)
{
	size_t done = 0;

	while (done < n) {
		const uint8_t *bytes = buffer->held + done;
		size_t taken = trace_buffer_errata_stray(buffer, bytes, n - done);

		if (!taken && trace_buffer_runs(buffer)) {
			taken = store(buffer, bytes, n - done);
		} else if (!taken) {
			taken = n - done;
			trace_buffer_lose(buffer, taken, why(buffer));
		}
		done += taken;
	}
	buffer->nheld -= n;
	memmove(buffer->held, buffer->held + n, buffer->nheld);
}

void trace_buffer_drain(struct trace_buffer *buffer)
{
	const size_t alignment = (size_t)1 << buffer->options.align;

	drain(buffer, buffer->nheld & ~(alignment - 1));
	/* What is short of a multiple has no use in a buffer that has stopped. */
	if (!trace_buffer_runs(buffer) && !buffer->overrun && !buffer->past)
		trace_buffer_drop(buffer, why(buffer));
}

void trace_buffer_drain_all(struct trace_buffer *buffer)
{
	const size_t alignment = (size_t)1 << buffer->options.align;
	const size_t pad = -buffer->nheld & (alignment - 1);

	/* HELD_MAX is a multiple of every alignment. */
	if (trace_buffer_runs(buffer)) {
		memset(buffer->held + buffer->nheld, IGNORE_PACKET, pad);
		buffer->nheld += pad;
		buffer->accepted += pad;
	}
	trace_buffer_drain(buffer);
	/* All that was to go astray has. */
	if (!trace_buffer_runs(buffer)) {
		buffer->overrun = 0;
		buffer->past = 0;
		trace_buffer_drop(buffer, why(buffer));
	}
}

void trace_buffer_accept(struct trace_buffer *buffer, const void *bytes, size_t n)
{
	const bool withheld = adversary_has(adversary_of(buffer), ADVERSARY_BIT_WITHHOLD);
	const uint8_t *from = bytes;

	buffer->accepted += n;
	if (trace_buffer_runs(buffer) && n) {
		buffer->protocol.collected = true;
		buffer->protocol.dirty = true;
		buffer->protocol.complete = false;
	}
	while (n) {
		size_t piece = HELD_MAX - buffer->nheld;

		if (piece > n)
			piece = n;
		if (!trace_buffer_runs(buffer) && !buffer->overrun && !buffer->past) {
			trace_buffer_lose(buffer, n, why(buffer));
			break;
		}
		memcpy(buffer->held + buffer->nheld, from, piece);
		buffer->nheld += piece;
		from += piece;
		n -= piece;
		if (withheld && buffer->nheld < buffer->patience && trace_buffer_runs(buffer)) {
			adversary_of(buffer)->counts[ADVERSARY_BIT_WITHHOLD]++;
			continue;
		}
		trace_buffer_drain(buffer);
		if (withheld)
			buffer->patience = 1 + rng_below(&adversary_of(buffer)->rng, HELD_MAX);
	}
}

void trace_buffer_discard(struct trace_buffer *buffer, size_t n)
{
	/* The log has the stream in order. */
	trace_buffer_drain_all(buffer);
	buffer->accepted += n;
	trace_buffer_lose(buffer, n, LOG_LOSS_WITHHELD);
}
