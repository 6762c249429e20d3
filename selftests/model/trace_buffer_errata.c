// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Errata of TRBE, as Arm published them and Linux describes them (arch/arm64/Kconfig). Each happens
 * by chance, as on the CPUs that have it, whether there is an adversary or not.
 */
#include <limits.h>
#include <string.h>

#include "trace_buffer_internal.h"

#define ARM		0x41
#define MICROSOFT	0x6d

/* Versions are variant << 4 | revision, both inclusive. */
static const struct affected {
	uint8_t implementer;
	uint16_t part;
	uint8_t first;
	uint8_t last;
	int errata;
} affected[] = {
	/* Cortex-A510: 2064142, 2038923; 1902691 */
	{ ARM, 0xd46, 0x00, 0x02, ERRATUM_REGISTER_WRITES_LOST | ERRATUM_TRACE_PROHIBITED_INEXACT },
	{ ARM, 0xd46, 0x00, 0x01, ERRATUM_CORRUPTION },
	/* Cortex-A710: 2119858, 2224489, 2054223 */
	{ ARM, 0xd47, 0x00, 0xff, ERRATUM_OVERWRITE_BASE | ERRATUM_WRITE_PAST_LIMIT |
				  ERRATUM_TSB_FLUSH_FAILS },
	/* Cortex-X2: 2119858, 2224489 */
	{ ARM, 0xd48, 0x00, 0x20, ERRATUM_OVERWRITE_BASE | ERRATUM_WRITE_PAST_LIMIT },
	/* Neoverse N2, and Azure Cobalt 100, which is made of it: 2139208, 2253138, 2067961 */
	{ ARM, 0xd49, 0x00, 0xff, ERRATUM_OVERWRITE_BASE | ERRATUM_WRITE_PAST_LIMIT |
				  ERRATUM_TSB_FLUSH_FAILS },
	{ MICROSOFT, 0xd49, 0x00, 0xff, ERRATUM_OVERWRITE_BASE | ERRATUM_WRITE_PAST_LIMIT |
					ERRATUM_TSB_FLUSH_FAILS },
};

static const char *const words[ERRATA] = {
	"overwrite-base", "write-past-limit", "tsb-flush-fails", "register-writes-lost",
	"prohibited-inexact", "corruption",
};

const char *trace_buffer_erratum_word(unsigned int bit)
{
	return bit < ERRATA ? words[bit] : "?";
}

void trace_buffer_errata_shows(struct trace_buffer *buffer, enum trace_buffer_erratum erratum)
{
	buffer->errata_counts[__builtin_ctz(erratum)]++;
}

int trace_buffer_errata_of(uint64_t midr)
{
	const unsigned int version = (midr >> 20 & 15) << 4 | (midr & 15);
	int errata = 0;

	for (size_t i = 0; i < sizeof(affected) / sizeof(affected[0]); i++) {
		if (affected[i].implementer == midr >> 24 &&
		    affected[i].part == (midr >> 4 & 0xfff) &&
		    version >= affected[i].first && version <= affected[i].last)
			errata |= affected[i].errata;
	}
	return errata;
}

static bool maybe(struct trace_buffer *buffer)
{
	return rng_one_in(&adversary_of(buffer)->rng, 2);
}

/*
 * 2119858, 2139208: in Fill mode up to 3 cache lines at the base are overwritten after the wrap.
 * 2253138, 2224489: instead of wrapping, up to a cache line is written to the page at the limit.
 */
void trace_buffer_errata_wrapped(struct trace_buffer *buffer, bool fill)
{
	struct rng *rng = &adversary_of(buffer)->rng;

	if (buffer->errata & ERRATUM_WRITE_PAST_LIMIT && maybe(buffer)) {
		buffer->past = CACHE_LINE;
		buffer->stray = effective(buffer, TRB_LIMITR) & LIMITR_LIMIT;
	}
	if (buffer->errata & ERRATUM_OVERWRITE_BASE && fill)
		buffer->overrun = CACHE_LINE * rng_below(rng, 4);
}

size_t trace_buffer_errata_stray(struct trace_buffer *buffer, const uint8_t *bytes, size_t n)
{
	uint64_t *pointer = &buffer->registers[TRB_PTR].effective;
	uint64_t physical, contiguous;
	uint64_t *address = pointer;
	uint32_t *left = &buffer->overrun;

	if (buffer->past) {
		address = &buffer->stray;
		left = &buffer->past;
	}
	if (!*left)
		return 0;
	/* Nobody has mapped it: a fault, and nothing more goes astray. */
	if (!trace_buffer_locate(buffer, *address, &physical, &contiguous)) {
		buffer->past = 0;
		buffer->overrun = 0;
		return 0;
	}
	if (n > *left)
		n = *left;
	if (n > contiguous)
		n = contiguous;
	trace_buffer_complete(buffer);
	trace_buffer_memory(buffer, physical, bytes, n);
	trace_buffer_lose(buffer, n, LOG_LOSS_ERRATUM);
	trace_buffer_errata_shows(buffer, buffer->past ? ERRATUM_WRITE_PAST_LIMIT :
							 ERRATUM_OVERWRITE_BASE);
	*left -= n;
	*address += n;
	return n;
}

/* 2064142: after E was cleared, writes of registers may be ignored until TSB CSYNC and DSB. */
void trace_buffer_errata_enabled(struct trace_buffer *buffer, bool enabled)
{
	if (buffer->errata & ERRATUM_TRACE_PROHIBITED_INEXACT)
		buffer->settling = 0;
	if (buffer->errata & ERRATUM_REGISTER_WRITES_LOST && !enabled && maybe(buffer)) {
		buffer->deaf = true;
		buffer->deaf_flushed = false;
	}
}

/*
 * 2038923: where E was changed and trace becomes allowed or prohibited with no ISB before an ERET,
 * or with fewer than two ISBs before anything else that does so, the buffer may be corrupted.
 */
void trace_buffer_errata_allowed(struct trace_buffer *buffer, bool allowed, bool exception)
{
	const bool changed = buffer->allowed != allowed;

	buffer->allowed = allowed;
	/* The event that changed it is counted, too. */
	if (changed && buffer->settling < (exception ? 2U : 3U) && trace_buffer_enabled(buffer))
		buffer->corrupt = CACHE_LINE;
}

/* The above, and 1902691: trace may be corrupted on its way to memory. */
bool trace_buffer_errata_corrupt(struct trace_buffer *buffer, uint8_t *bytes, size_t n)
{
	struct rng *rng = &adversary_of(buffer)->rng;

	if (!buffer->corrupt && !(buffer->errata & ERRATUM_CORRUPTION && rng_one_in(rng, 16)))
		return false;
	trace_buffer_errata_shows(buffer, buffer->corrupt ? ERRATUM_TRACE_PROHIBITED_INEXACT :
							    ERRATUM_CORRUPTION);
	buffer->corrupt -= n < buffer->corrupt ? n : buffer->corrupt;
	bytes[rng_below(rng, n)] ^= 1 + rng_below(rng, 255);
	return true;
}

/*
 * 2054223, 2067961: in a Trace Prohibited region TSB CSYNC may not flush; a second one that follows
 * it does.
 */
bool trace_buffer_flush_fails(struct trace_buffer *buffer)
{
	const struct pe *pe = buffer->pe;

	if (!(buffer->errata & ERRATUM_TSB_FLUSH_FAILS) || pe->unit.traces[pe->el & 3])
		return false;
	if (buffer->tsbs++ || !maybe(buffer))
		return false;
	trace_buffer_errata_shows(buffer, ERRATUM_TSB_FLUSH_FAILS);
	return true;
}
