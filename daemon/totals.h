/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was recorded and lost on each CPU since the daemon began: streams count from 0 when they are
 * opened again, these do not.
 */
#ifndef FLOWTAP_DAEMON_TOTALS_H
#define FLOWTAP_DAEMON_TOTALS_H

#include <stddef.h>
#include <stdint.h>

#include "metrics.h"

/* All zeros: nothing so far. */
struct totals {
	struct metrics_cpu *cpus;	/* of all that was and is */
	size_t n;
	struct metrics_cpu *past;	/* of streams that are closed */
	size_t n_past;
	struct metrics_cpu *reported;	/* losses that an event reported */
	size_t n_reported;
	uint64_t reported_at;
};

/* Sums up: with `now`, what the n streams that are open counted. Without memory: as it was. */
void totals_add(struct totals *totals, const struct metrics_cpu *now, size_t n);
/* What the last totals_add summed up is past: those streams are closed now. */
void totals_keep(struct totals *totals);
/*
 * An event "loss" for each CPU and cause that is new, at once, and then once a minute at most.
 * now: ns of a clock that goes on.
 */
void totals_report_losses(struct totals *totals, uint64_t now);
void totals_free(struct totals *totals);

#endif /* FLOWTAP_DAEMON_TOTALS_H */
