/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs, executions and trace units that go together. */
#ifndef FLOWTAP_SELFTESTS_ETE_SCENARIO_H
#define FLOWTAP_SELFTESTS_ETE_SCENARIO_H

#include "execute.h"

struct scenario {
	struct program_options program;
	struct execute_options execute;
	struct encoder_options encoder;
};

/* What a random scenario may have. */
enum scenario_has {
	SCENARIO_SPECULATION = 1 << 0,
	SCENARIO_TRANSACTIONS = 1 << 1,
	SCENARIO_SOURCE = 1 << 2,
	SCENARIO_Q = 1 << 3,
	SCENARIO_AARCH32 = 1 << 4,
	SCENARIO_LOSSES = 1 << 5,
	SCENARIO_SYNCS = 1 << 6,	/* in the middle */
	SCENARIO_EXCEPTIONS = 1 << 7,
	SCENARIO_TIMES = 1 << 8,	/* timestamps, markers, cycles, events */
	SCENARIO_ITE = 1 << 9,
	SCENARIO_SPACES = 1 << 10,	/* code that differs by context, and changes */
	SCENARIO_STACK = 1 << 11,	/* the return stack */
	SCENARIO_RESET = 1 << 12,
	SCENARIO_FILTER = 1 << 13,
	SCENARIO_ALL = (1 << 14) - 1,
	SCENARIO_ETM4 = 1 << 14,	/* an ETMv4's: without what that has not */
	SCENARIO_M = 1 << 15,		/* ... of the M profile */
};

/* Like a compiler's code traced in one process: the return stack, no exceptions. */
void scenario_plain(struct scenario *scenario);
/*
 * Makes it an ETMv4.minor's, 0 to 6: without source addresses, transactions, instrumentation, Realm
 * and Root, and what a later version has. The seed says how large its VMID is.
 */
void scenario_etm4(struct scenario *scenario, uint64_t seed, unsigned int minor);
/* Makes an ETMv4's one of the M profile: T32, its exceptions and returns; no VMID, no Q. */
void scenario_m(struct scenario *scenario);
void scenario_random(struct scenario *scenario, uint64_t seed, unsigned int has);

#endif
