// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds up what each CPU's streams counted, over streams that are closed and opened again, and
 * reports new losses.
 */
#include "totals.h"

#include <flowtap/flow.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/common/grow.h"
#include "log.h"

/* A first loss has its event at once, the next ones together at this interval. */
#define REPORT_EVERY 60000000000ULL

/* --- CPUs: what streams counted that are closed counts on. --- */

static struct metrics_cpu *find_cpu(struct metrics_cpu *cpus, size_t n, uint32_t cpu)
{
	for (size_t i = 0; i < n; i++)
		if (cpus[i].cpu == cpu)
			return &cpus[i];
	return NULL;
}

static void add_cpu(struct metrics_cpu *sum, const struct metrics_cpu *cpu)
{
	sum->bytes += cpu->bytes;
	sum->records += cpu->records;
	for (size_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		sum->lost_bytes[cause] += cpu->lost_bytes[cause];
		sum->losses[cause] += cpu->losses[cause];
	}
	sum->ring_size = cpu->ring_size;
	if (cpu->ring_high > sum->ring_high)
		sum->ring_high = cpu->ring_high;
}

void totals_add(struct totals *totals, const struct metrics_cpu *now, size_t n)
{
	struct metrics_cpu *sum;

	if (GROW_TO(totals->cpus, totals->n_past + n))
		return;
	/* Those of before. */
	totals->n = totals->n_past;
	if (totals->n)
		memcpy(totals->cpus, totals->past, totals->n * sizeof(*totals->cpus));
	for (size_t i = 0; i < n; i++) {
		sum = find_cpu(totals->cpus, totals->n, now[i].cpu);
		if (sum)
			add_cpu(sum, &now[i]);
		else
			totals->cpus[totals->n++] = now[i];
	}
}

void totals_keep(struct totals *totals)
{
	if (GROW_TO(totals->past, totals->n))
		return;
	if (totals->n)
		memcpy(totals->past, totals->cpus, totals->n * sizeof(*totals->past));
	totals->n_past = totals->n;
}

void totals_free(struct totals *totals)
{
	free(totals->cpus);
	free(totals->past);
	free(totals->reported);
	*totals = (struct totals){ .cpus = NULL };
}

/* --- Losses, by CPU and cause. --- */

/* What else is counted is as it was asked for, or comes with every sample. */
static const enum flowtap_gap_reason reported_causes[] = {
	FLOWTAP_CAUSE_DISPLACED, FLOWTAP_CAUSE_RING_FULL, FLOWTAP_CAUSE_THROTTLED,
	FLOWTAP_CAUSE_OFFLINE, FLOWTAP_CAUSE_HARDWARE, FLOWTAP_CAUSE_MEMORY,
};

static bool report_cpu(const struct metrics_cpu *cpu, const struct metrics_cpu *reported)
{
	struct log_line line;
	bool any = false;

	for (size_t i = 0; i < sizeof(reported_causes) / sizeof(reported_causes[0]); i++) {
		const size_t cause = reported_causes[i];
		const uint64_t times = cpu->losses[cause] -
				       (reported ? reported->losses[cause] : 0);
		const uint64_t bytes = cpu->lost_bytes[cause] -
				       (reported ? reported->lost_bytes[cause] : 0);

		if (!times && !bytes)
			continue;
		any = true;
		log_begin(&line, LEVEL_WARNING, "loss");
		log_number(&line, "cpu", cpu->cpu);
		log_text(&line, "cause", flowtap_gap_name(reported_causes[i]));
		log_number(&line, "times", times);
		/* Of the others it is not known. */
		if (cause == FLOWTAP_CAUSE_RING_FULL)
			log_number(&line, "bytes", bytes);
		log_end(&line);
	}
	return any;
}

void totals_report_losses(struct totals *totals, uint64_t now)
{
	bool any = false;

	if (totals->reported_at && now - totals->reported_at < REPORT_EVERY)
		return;
	for (size_t i = 0; i < totals->n; i++)
		any |= report_cpu(&totals->cpus[i], find_cpu(totals->reported, totals->n_reported,
							      totals->cpus[i].cpu));
	if (!any)
		return;
	totals->reported_at = now;
	if (GROW_TO(totals->reported, totals->n))
		return;
	memcpy(totals->reported, totals->cpus, totals->n * sizeof(*totals->reported));
	totals->n_reported = totals->n;
}
