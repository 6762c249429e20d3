/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the architecture allows and software must live with, by chance and by seed; and what it
 * forbids software to do, found and reported.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_ADVERSARY_H
#define FLOWTAP_SELFTESTS_MODEL_ADVERSARY_H

#include <stdbool.h>
#include <stdint.h>

#include "ete/rng.h"
#include "model/violation.h"

struct pe;

/* Each is a bit of adversary_options.what, and a word of the plugin's option adversary=. */
#define ADVERSARY_TABLE(X) \
	X(DELAY, "delay", "register effects wait for the context synchronization event") \
	X(WITHHOLD, "withhold", "bytes reach memory at TSB CSYNC and DSB only, or never") \
	X(LATE, "late", "the interrupt comes late") \
	X(EARLY, "early", "the interrupt comes before the status can be read with an ISB missing") \
	X(SPURIOUS, "spurious", "interrupts without a cause") \
	X(ABORT, "abort", "external aborts on writes") \
	X(FAULT, "fault", "stage 1 and 2 data aborts, EC 0x24 and 0x25") \
	X(OVERFLOW, "overflow", "the trace unit's buffer overflows") \
	X(SPECULATE, "speculate", "wrong paths: Cancel and Mispredict packets") \
	X(PACKETS, "packets", "any legal packets, not the shortest; Ignore packets") \
	X(SLOW, "slow", "TRCSTATR.IDLE and PMSTABLE take several polls")

enum adversary_what {
#define X(name, word, text) ADVERSARY_BIT_##name,
	ADVERSARY_TABLE(X)
#undef X
	ADVERSARY_BITS
};

#define ADVERSARY(name) (1U << ADVERSARY_BIT_##name)

struct adversary_options {
	uint64_t seed;
	uint32_t what;		/* ADVERSARY() */
	uint32_t rate;		/* about one chance in so many is taken, 0: the default of each */
	uint32_t reseed;	/* after so many enablings of the trace unit the next seed, 0: never */
};

struct adversary {
	struct pe *pe;
	struct adversary_options options;
	uint64_t seed;		/* of now */
	uint64_t enables;	/* of the trace unit, with this seed */
	uint64_t done;		/* counts and violations before this seed */
	uint64_t violated;
	struct rng rng;
	uint64_t counts[ADVERSARY_BITS];	/* how often each was done */
	uint64_t violations[VIOLATIONS];
};

void adversary_init(struct adversary *adversary, struct pe *pe,
		    const struct adversary_options *options);
/*
 * The trace unit is enabled, which may be with another seed: options.reseed. A number that no other
 * enabling has, for whatever else goes by chance.
 */
uint64_t adversary_enabled(struct adversary *adversary);
/* The report's lines of the seed of now, with options.reseed; the PE's log is there. */
void adversary_report_seed(struct adversary *adversary);
/* Whether it shall happen now: the bit is chosen and one chance in `in` comes up. Counts. */
bool adversary_does(struct adversary *adversary, enum adversary_what what, uint32_t in);
bool adversary_has(const struct adversary *adversary, enum adversary_what what);
/* Software did it. Told on standard error (the first few of a kind) and in the log, with the pc. */
void violate(struct pe *pe, enum violation what, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
const char *adversary_word(enum adversary_what what);
const char *violation_word(enum violation what);
const char *violation_text(enum violation what);
/* "all", "none" or words with + between; false: one of them is not known. */
bool adversary_parse(const char *text, uint32_t *what);

#endif
