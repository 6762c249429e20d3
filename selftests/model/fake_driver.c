// SPDX-License-Identifier: GPL-2.0-or-later
/* Software that does it right, and a machine for software that does not. */
#include <string.h>

#include "fake_driver.h"

static void csync(struct driver *d)
{
	tsb(d->fake);
	if (d->errata & ERRATUM_TSB_FLUSH_FAILS)
		tsb(d->fake);
}

static void drain(struct driver *d)
{
	csync(d);
	dsb(d->fake);
}

static void enable(struct driver *d)
{
	struct fake *fake = d->fake;
	const uint64_t page = 4096 * rng_below(&fake->rng, PAGES - 1);

	d->base = FAKE_BUFFER;
	d->pointer = FAKE_BUFFER + page + 64 * rng_below(&fake->rng, 64);
	d->limit = LIMIT;
	if (d->errata & ERRATUM_OVERWRITE_BASE) {
		d->base = FAKE_BUFFER + page;
		d->pointer = d->base + 256;
	}
	if (d->errata & ERRATUM_WRITE_PAST_LIMIT)
		d->limit -= 4096;
	if (d->pointer >= d->limit)
		d->pointer = d->base + 256;
	d->watermark = rng_one_in(&fake->rng, 3);
	d->began = fake->pe.buffer.accepted;
	d->stored = fake->pe.buffer.stored;
	d->lost = fake->pe.buffer.lost;
	msr(fake, SYSREG_TRBSR_EL1, d->watermark ? SR_TRG : 0);
	msr(fake, SYSREG_TRBTRG_EL1, (d->limit - d->pointer) / 2 & ~63ULL);
	msr(fake, SYSREG_TRBBASER_EL1, d->base);
	msr(fake, SYSREG_TRBPTR_EL1, d->pointer);
	isb(fake);
	msr(fake, SYSREG_TRBLIMITR_EL1, d->limit | (d->watermark ? 1 << 3 : 3 << 3) | 1);
	isb(fake);
	if (d->errata & ERRATUM_TRACE_PROHIBITED_INEXACT)
		isb(fake);
	d->running = true;
	d->sessions++;
}

static void fail(struct driver *d, const char *text)
{
	if (!d->wrong)
		d->wrong = text;
}

/* What memory has of the session, against what the unit had sent. */
static void collect(struct driver *d, uint64_t status)
{
	struct fake *fake = d->fake;
	const struct trace_buffer *buffer = &fake->pe.buffer;
	const uint64_t end = status & SR_WRAP ? d->limit : mrs(fake, SYSREG_TRBPTR_EL1);
	const uint64_t lost = buffer->lost - d->lost;

	d->full += !!(status & SR_WRAP);
	d->faults += !!(status & SR_EC);
	if (buffer->nheld || buffer->npending)
		fail(d, "not drained");
	if (lost && !(status & SR_S))
		fail(d, "lost, and TRBSR does not say so");
	if (status & SR_EA) {
		d->aborts++;
		return;
	}
	if (end < d->pointer || end > d->limit || end - d->pointer != buffer->stored - d->stored) {
		fail(d, "TRBPTR is not where the trace ends");
		return;
	}
	for (uint64_t i = 0; i < end - d->pointer; i++) {
		if (*fake_at(fake, d->pointer + i) != fake->stream[d->began + i]) {
			fail(d, "memory does not have what was sent");
			return;
		}
	}
}

static uint64_t disable(struct driver *d)
{
	struct fake *fake = d->fake;
	uint64_t status;

	drain(d);
	msr(fake, SYSREG_TRBLIMITR_EL1, mrs(fake, SYSREG_TRBLIMITR_EL1) & ~1ULL);
	if (d->errata & ERRATUM_REGISTER_WRITES_LOST)
		drain(d);
	isb(fake);
	d->running = false;
	status = mrs(fake, SYSREG_TRBSR_EL1);
	collect(d, status);
	msr(fake, SYSREG_TRBSR_EL1, 0);
	isb(fake);
	if (fake->level)
		fail(d, "the interrupt is still there");
	return status;
}

/* The handler, as coresight-trbe's. */
static void handle(struct driver *d)
{
	struct fake *fake = d->fake;
	const uint64_t trfcr = mrs(fake, SYSREG_TRFCR_EL1);
	struct pe_exception interrupt = { .kind = PE_IRQ, .el = 1 };

	pe_exception(&fake->pe, &interrupt);
	if (!(mrs(fake, SYSREG_TRBSR_EL1) & SR_IRQ)) {
		d->spurious++;
	} else {
		prohibit(fake);
		disable(d);
		enable(d);
		msr(fake, SYSREG_TRFCR_EL1, trfcr);
		isb(fake);
	}
	pe_return(&fake->pe, 0);
}

static void session(struct driver *d, unsigned int steps)
{
	struct fake *fake = d->fake;
	struct pe_exception call = { .kind = PE_SYNCHRONOUS, .el = 1 };

	enable(d);
	unit_on(fake);
	pe_return(&fake->pe, 0);
	while (steps-- && fake->n < FAKE_STREAM - 0x10000) {
		work(fake, 1 + rng_below(&fake->rng, 400));
		if (rng_one_in(&fake->rng, 8))
			pe_tick(&fake->pe);
		/* Now and then they are masked for a while. */
		if (fake->level && !rng_one_in(&fake->rng, 4))
			handle(d);
		if (rng_one_in(&fake->rng, 50)) {
			pe_exception(&fake->pe, &call);
			csync(d);
			pe_return(&fake->pe, 0);
		}
	}
	pe_exception(&fake->pe, &call);
	prohibit(fake);
	csync(d);
	msr(fake, TRCPRGCTLR, 0);
	isb(fake);
	disable(d);
	/* As arm_trbe_disable does after it. */
	drain(d);
	isb(fake);
}

uint64_t counts[ADVERSARY_BITS];
struct driver sums;

const char *drive(uint64_t seed, uint32_t what, int errata, unsigned int workarounds)
{
	static const uint32_t rates[] = { 0, 3, 30, 200 };
	struct adversary_options adversary = {
		.seed = seed,
		.what = what,
		.rate = rates[seed % 4],
	};
	struct trace_buffer_options options = trace_buffer_defaults;
	struct driver d = { .errata = workarounds };
	struct fake *fake;

	options.errata = errata;
	options.align = seed % 5 ? 6 : 0;
	fake = d.fake = fake_new(&options, &adversary, NULL);
	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, PAGES + 1);
	isb(fake);
	for (unsigned int i = 0; i < 3; i++)
		session(&d, 60);
	if (!fake_consistent(fake))
		fail(&d, "the log is not the stream");
	if (fake->losses[LOG_LOSS_DISABLED] || fake->losses[LOG_LOSS_WITHHELD])
		fail(&d, "lost without a reason");
	if (fake_violations(fake))
		fail(&d, "accused");
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++)
		counts[i] += fake->pe.adversary.counts[i];
	sums.sessions += d.sessions;
	sums.full += d.full;
	sums.faults += d.faults;
	sums.aborts += d.aborts;
	sums.spurious += d.spurious;
	fake_free(fake);
	return d.wrong;
}

struct fake *adversary(uint64_t seed, uint32_t what, int errata)
{
	struct adversary_options options = { .seed = seed, .what = what };
	struct trace_buffer_options buffer = trace_buffer_defaults;
	struct fake *fake;

	buffer.errata = errata;
	fake = fake_new(&buffer, &options, NULL);
	fake_paging(fake);
	fake_map(fake, FAKE_BUFFER, PAGES + 1);
	isb(fake);
	/* These tests do wrong on purpose: not told. */
	for (unsigned int i = 0; i < VIOLATIONS; i++)
		fake->pe.adversary.violations[i] = 100;
	return fake;
}

unsigned int of_100(bool (*shows)(struct fake *fake, bool right), bool right, uint32_t what,
		    int errata)
{
	unsigned int n = 0;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct fake *fake = adversary(seed, what, errata);

		n += shows(fake, right);
		fake_free(fake);
	}
	return n;
}
