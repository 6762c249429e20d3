/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Software for the fake machine that drives the trace buffer as the architecture asks for. */
#ifndef FLOWTAP_SELFTESTS_MODEL_FAKE_DRIVER_H
#define FLOWTAP_SELFTESTS_MODEL_FAKE_DRIVER_H

#include "fake.h"

#define PAGES	4U
#define SIZE	(PAGES * 4096U)
#define LIMIT	(FAKE_BUFFER + SIZE)
#define SR_EC	(0x3fULL << 26)
#define SR_IRQ	(1ULL << 22)
#define SR_TRG	(1ULL << 21)
#define SR_WRAP	(1ULL << 20)
#define SR_EA	(1ULL << 18)
#define SR_S	(1ULL << 17)
/* What the trace buffer and the PE do of their own accord. */
#define ALL	(ADVERSARY(DELAY) | ADVERSARY(WITHHOLD) | ADVERSARY(LATE) | ADVERSARY(EARLY) | \
		 ADVERSARY(SPURIOUS) | ADVERSARY(ABORT) | ADVERSARY(FAULT))

struct driver {
	struct fake *fake;
	uint64_t base;		/* of the session */
	uint64_t pointer;
	uint64_t limit;
	uint64_t began;		/* accepted, stored, lost when the session began */
	uint64_t stored;
	uint64_t lost;
	bool running;
	bool watermark;		/* K10.5.11, the second way */
	unsigned int errata;	/* that it works around */
	unsigned int sessions, full, faults, aborts, spurious;
	const char *wrong;
};

/* What all drivers met, over all seeds. */
extern uint64_t counts[ADVERSARY_BITS];
extern struct driver sums;

/* A machine with the buffer's pages and one more mapped; violations on it are not told. */
struct fake *adversary(uint64_t seed, uint32_t what, int errata);
/* How many of the seeds 1 to 100 have it. right: a parameter of `shows`. */
unsigned int of_100(bool (*shows)(struct fake *fake, bool right), bool right, uint32_t what,
		    int errata);
/* Three sessions, with interrupts as they come; errata: the machine's, workarounds: those software
 * knows. NULL or what was wrong: bytes lost without being told, memory, an accusation. */
const char *drive(uint64_t seed, uint32_t what, int errata, unsigned int workarounds);

#endif
