// SPDX-License-Identifier: GPL-2.0-only
/* What a daemon counts and measures, and how much it records after that. */
#include <malloc.h>
#include <stdio.h>
#include <sys/resource.h>

#include "../tools/common/names.h"
#include "../tools/common/tool.h"
#include "events.h"
#include "log.h"
#include "run.h"

#define SECOND 1000000000ULL

static uint64_t own_cpu(void)
{
	static const int whose[] = { RUSAGE_SELF, RUSAGE_CHILDREN };
	uint64_t sum = 0;

	for (size_t i = 0; i < sizeof(whose) / sizeof(whose[0]); i++) {
		struct rusage usage;

		getrusage(whose[i], &usage);
		sum += (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND +
		       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	}
	return sum;
}

/*
 * The kernel counts a thread and its process in different ways: what one has more than the other
 * does not come off what was counted before.
 */
static uint64_t without(uint64_t all, uint64_t part, uint64_t before)
{
	const uint64_t rest = all > part ? all - part : 0;

	return rest > before ? rest : before;
}

/* Anonymous memory: what is mapped of rings and files is not ours. */
static uint64_t own_memory(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	unsigned long long kib = 0;
	char line[128];

	while (file && fgets(line, sizeof(line), file))
		if (sscanf(line, "RssAnon: %llu", &kib) == 1)
			break;
	if (file)
		fclose(file);
	return kib * 1024;
}

void run_measure(struct run *run)
{
	struct metrics *figures = &run->figures;
	struct totals *totals = &run->totals;
	struct images_figures images = { 0 };

	figures->version = FLOWTAP_VERSION;
	totals_add(totals, run->collect.cpus, collect_measure(&run->collect));
	if (run->collect.conf)
		figures->source = name_of(source_names, run->collect.streams.session.source);
	figures->n_cpus = totals->n;
	figures->cpus = totals->cpus;
	figures->share = run->governor.share;
	figures->duty = run->state == RUN_RECORDING && !run->collect.paused ?
		governor_duty(&run->governor, run->conf.on_time, run->conf.on_period) : 0;
	figures->full = run->full + run_full_time(run);
	figures->disk_slow = run->disk.waited;
	figures->segments_unfinished = store_unfinished(run->store, false);
	if (run->images)
		images_measure(run->images, &images);
	figures->after_cpu = run->after.cpu + images.cpu;
	figures->own_cpu = without(own_cpu(), figures->after_cpu, figures->own_cpu);
	figures->images_saved = images.saved;
	figures->images_missing = images.missing;
	figures->images_waiting = images.waiting;
	figures->images_bytes = images.bytes;
	figures->packed = run->after.packed;
	figures->decoded = run->after.decoded;
	figures->decode_failed = run->after.failed;
	figures->decode_skipped = run->after.skipped;
	figures->decode_waiting = run->after.waiting;
	figures->decode_lag = run->after.lag;
	figures->resident = own_memory();
	figures->segments_bytes = store_bytes(run->store);
	figures->sideband_lost = run->sideband_past;
	if (run->collect.sideband)
		figures->sideband_lost += flowtap_sideband_lost(run->collect.sideband);
}

void run_keep_figures(struct run *run)
{
	run_measure(run);
	totals_keep(&run->totals);
	run->sideband_past = run->figures.sideband_lost;
}

static void report_sideband(struct run *run)
{
	const uint64_t lost = run->figures.sideband_lost;
	struct log_line line;

	if (lost == run->sideband_reported)
		return;
	log_begin(&line, LEVEL_WARNING, "sideband-loss");
	log_number(&line, "times", lost - run->sideband_reported);
	log_end(&line);
	run->sideband_reported = lost;
}

/* --- How much. --- */

/* It is below the budget again where an eighth of it is free. */
static bool is_over(const struct run *run)
{
	const uint64_t budget = run->conf.memory;

	return run->figures.resident > (run->over_memory ? budget / 8 * 7 : budget);
}

void run_watch_memory(struct run *run)
{
	bool over = is_over(run);

	if (over && !run->over_memory) {
		/* What was freed, libc may still have. */
		malloc_trim(0);
		run->figures.resident = own_memory();
		over = is_over(run);
	}
	if (over == run->over_memory)
		return;
	run->over_memory = over;
	event_memory(run);
}

void run_govern(struct run *run, uint64_t now)
{
	struct governor_measure measure = { .elapsed = now - run->second };
	const uint32_t from = run->governor.share;
	uint64_t bytes = 0, lost = 0, losses = 0;
	enum governor_cause cause;

	run_measure(run);
	for (size_t i = 0; i < run->figures.n_cpus; i++) {
		const struct metrics_cpu *cpu = &run->figures.cpus[i];

		bytes += cpu->bytes;
		lost += cpu->lost_bytes[FLOWTAP_CAUSE_RING_FULL];
		losses += cpu->losses[FLOWTAP_CAUSE_RING_FULL] +
			  cpu->losses[FLOWTAP_CAUSE_HARDWARE];
	}
	measure.cpu = run->figures.own_cpu - run->cpu;
	measure.recorded = bytes - run->bytes;
	measure.lost = lost - run->lost;
	measure.losses = measure.lost ? 0 : losses - run->losses;
	cause = governor_step(&run->governor, &measure);
	run->figures.moves[cause]++;
	if (cause)
		event_share(&run->governor, from, cause);
	run->second = now;
	run->cpu = run->figures.own_cpu;
	run->bytes = bytes;
	run->lost = lost;
	run->losses = losses;
	totals_report_losses(&run->totals, now);
	report_sideband(run);
	run_watch_memory(run);
}
