/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much of the time is recorded, so that what flowtapd costs, and what is lost, stays within its
 * budget. It only counts: whoever calls measures, and sets the duty that comes out.
 *
 * A share is in millionths of what was configured: what is recorded comes so much more rarely.
 * Above the budget the share falls at once, in proportion and to the half at most; below four
 * fifths of it for GOVERNOR_CALM steps, and when what was taken too much is paid off, it grows by a
 * tenth: so that the budget is held on average, also where load comes in bursts.
 */
#ifndef FLOWTAP_DAEMON_GOVERNOR_H
#define FLOWTAP_DAEMON_GOVERNOR_H

#include <stdint.h>

#define GOVERNOR_WHOLE 1000000U
#define GOVERNOR_CALM 5U
#define GOVERNOR_DEBT 10U	/* s whose budget is paid off at most: what is dearer is not made up for */

enum governor_cause {
	GOVERNOR_STAYS,
	GOVERNOR_CPU,		/* lower: flowtapd took more CPU time than it may */
	GOVERNOR_LOSS,		/* lower: more was lost than may be */
	GOVERNOR_CALMED,	/* higher: there is space again */
	GOVERNOR_CAUSES,
};

struct governor {
	/* Set by governor_init and governor_change. */
	uint32_t cpu_budget;	/* millionths of one CPU */
	uint32_t loss_budget;	/* millionths of all that was recorded */
	uint32_t least;		/* share that it does not go below */
	/* What is decided. */
	uint32_t share;
	/* What it saw. */
	uint32_t cpu;		/* of the last step, millionths of one CPU */
	uint32_t loss;		/* millionths */
	uint32_t calm;		/* steps since it was above four fifths */
	uint64_t debt;		/* ns of CPU time beyond the budget, not paid off yet */
};

/* What happened since the step before. */
struct governor_measure {
	uint64_t elapsed;	/* ns */
	uint64_t cpu;		/* ns of CPU time that flowtapd and its children took */
	uint64_t recorded;	/* bytes that came */
	uint64_t lost;		/* bytes that did not, as far as they are counted */
	uint64_t losses;	/* gaps of unknown size */
};

/* Budgets of 0: of it there may be none. least: at least 1. The share is whole. */
void governor_init(struct governor *governor, uint32_t cpu_budget, uint32_t loss_budget,
		   uint32_t least);
/* Other ones from now on. What it saw stays, and the share, unless that is below the least now. */
void governor_change(struct governor *governor, uint32_t cpu_budget, uint32_t loss_budget,
		     uint32_t least);
/* A step: why the share is another one now, or GOVERNOR_STAYS. No time elapsed: it stays. */
enum governor_cause governor_step(struct governor *governor,
				  const struct governor_measure *measure);
/* "cpu", "loss", "calm"; "" for GOVERNOR_STAYS. */
const char *governor_cause_name(enum governor_cause cause);
/* What has this period comes in that one, at this share; it saturates. */
uint64_t governor_period(const struct governor *governor, uint64_t period);
/* The part of the time, in millionths, in which so much (ns, up to 2^43) of such a period is recorded. */
uint32_t governor_duty(const struct governor *governor, uint64_t on, uint64_t period);

#endif /* FLOWTAP_DAEMON_GOVERNOR_H */
