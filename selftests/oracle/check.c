// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pairs the samples of each CPU with the drains of its hart's log in order, and counts what is in
 * neither.
 */
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "prove_blocks.h"

void tell(struct check *check, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	check->tell(check, line);
}

bool mismatch(struct run *run)
{
	struct check *check = run->check;
	uint64_t *before = run->sample ? &run->sample->archive->mismatches : &run->others;

	check->counts.mismatches++;
	if ((*before)++ >= check->tell_most)
		return false;
	if (run->sample)
		tell(check, "%s: sample %zu of CPU %u, tid %u, sequence %" PRIu64 ", loss %x, %u"
		     " entries:", run->sample->archive->path, run->sample->number,
		     run->sample->cpu, run->sample->record->tid,
		     (uint64_t)run->sample->record->sequence, run->sample->record->loss,
		     run->sample->record->nr);
	if (run->drain)
		tell(check, "  drain of hart %u at 0x%zx of its log, %zu steps, %u entries:",
		     run->drain->hart, run->drain->offset, run->drain->window->n, run->drain->nr);
	return true;
}

/*
 * What an overflow froze in a recorded mode must have become a sample. An empty buffer need not:
 * the driver may only have had a look at it, where the overflow was another's.
 */
static bool must_be_sample(const struct drain *drain)
{
	return drain->nr && drain->by_overflow &&
	       ctr_enabled(drain->control, drain->from_user ? PRIVILEGE_U : PRIVILEGE_S);
}

/* Samples that no drain fits are passed over for one near by that this drain fits. */
static const struct sample *resume(struct run *run, const struct sample *sample,
				   const struct sample *end)
{
	for (const struct sample *later = sample; later < end && later < sample + 4; later++) {
		run->sample = later;
		if (!prove_fits(run) || (later > sample && !later->record->nr))
			continue;
		for (; sample < later; sample++) {
			run->sample = sample;
			wrong(run, "there is no such drain in the log before this one");
		}
		break;
	}
	return sample;
}

/* The CPU's next sample, NULL: it has no more. *taken: it is of run->drain. */
static int pair(struct run *run, const struct sample *sample, bool *taken)
{
	struct check_counts *counts = &run->check->counts;
	bool must = must_be_sample(run->drain);

	run->sample = sample;
	*taken = sample && prove_fits(run);
	if (!*taken && must && counts->lost < run->samples->lost) {
		counts->lost++;
		machine_sampled(&run->machine);
		return 0;
	}
	if (sample && !*taken)
		*taken = must || prove_resembles(run);
	if (*taken) {
		int err = prove_sample(run);

		machine_sampled(&run->machine);
		return err;
	}
	if (must)
		wrong(run, "no sample of this drain, and none was reported as lost");
	counts->saved += run->drain->nr > 0;
	return machine_saved(&run->machine);
}

/* The end of the samples of the CPU of the first one. */
static const struct sample *end_of_cpu(const struct run *run, const struct sample *first)
{
	const struct sample *end = run->samples->list + run->samples->n;
	const struct sample *sample = first;

	while (sample < end && sample->cpu == first->cpu)
		sample++;
	return sample;
}

static const struct sample *first_of_cpu(const struct run *run, uint32_t cpu)
{
	const struct sample *end = run->samples->list + run->samples->n;
	const struct sample *sample = run->samples->list;

	while (sample < end && sample->cpu != cpu)
		sample++;
	return sample;
}

static int check_all(struct run *run, const char **why)
{
	const struct sample *next[MACHINE_HARTS], *end[MACHINE_HARTS];
	int more;

	for (unsigned int hart = 0; hart < run->machine.n; hart++) {
		next[hart] = first_of_cpu(run, run->check->cpu_of[hart]);
		end[hart] = end_of_cpu(run, next[hart]);
	}
	while ((more = machine_next(&run->machine, &run->drain)) > 0) {
		unsigned int hart = run->drain->hart;
		bool taken;
		int err;

		next[hart] = resume(run, next[hart], end[hart]);
		err = pair(run, next[hart] < end[hart] ? next[hart] : NULL, &taken);
		if (err)
			return err;
		next[hart] += taken;
	}
	*why = run->machine.why;
	run->drain = NULL;
	for (unsigned int hart = 0; hart < run->machine.n; hart++) {
		for (; next[hart] < end[hart]; next[hart]++) {
			run->sample = next[hart];
			wrong(run, "there is no such drain in the log");
		}
	}
	return more;
}

static void check_totals(struct run *run)
{
	const struct check_counts *counts = &run->check->counts;

	prove_end(run);
	if (counts->log.strays)
		wrong(run, "recording went on into another task %" PRIu64 " times",
		      counts->log.strays);
	if (counts->lost != run->samples->lost)
		wrong(run, "%" PRIu64 " samples were reported as lost, %" PRIu64 " are missing",
		      run->samples->lost, counts->lost);
}

int check_run(struct check *check, const struct samples *samples, const char **why)
{
	struct run run = { .check = check, .samples = samples };
	int err;

	memset(&check->counts, 0, sizeof(check->counts));
	*why = NULL;
	err = machine_open(&run.machine, check->prefix);
	if (err)
		return err;
	err = check_all(&run, why);
	check->counts.harts = run.machine.n;
	check->counts.log = run.machine.counts;
	if (!err)
		check_totals(&run);
	free(run.chains);
	machine_close(&run.machine);
	return err;
}
