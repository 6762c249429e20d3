// SPDX-License-Identifier: GPL-2.0-only
/*
 * What flowtap doctor says of the things that not every CPU, module or user can do. The module is
 * asked for a stream of each kind: what it answers is what record would get.
 */
#include "device.h"
#include "filter.h"
#include "patient.h"
#include "refusal.h"
#include "rights.h"
#include "trial.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* sctrctl (Smctr 2.1) */
#define RASEMU (1ULL << 7)
#define BPFRZ (1ULL << 11)

static const struct ability {
	const char *name;
	const char *can;
	struct flowtap_configure wish;
} abilities[] = {
	{ "mode", "kernel mode can be recorded (record --kernel)",
	  { .modes = FLOWTAP_MODE_KERNEL } },
	{ "wide", "all that runs on a CPU can be recorded (record -a)",
	  { .modes = FLOWTAP_MODE_USER, .flags = FLOWTAP_CPU_WIDE } },
	{ "timer", "a timer can trigger samples (record -F)",
	  { .modes = FLOWTAP_MODE_USER, .triggers = FLOWTAP_TRIGGER_TIMER,
	    .timer_ns = 1000000 } },
	{ "switch", "task switches can trigger samples (record --switch)",
	  { .modes = FLOWTAP_MODE_USER, .triggers = FLOWTAP_TRIGGER_SWITCH } },
	{ "ras", "call stacks can be recorded (record --ras)",
	  { .modes = FLOWTAP_MODE_USER, .ctr.control = RASEMU } },
	{ "freeze", "breakpoints can stop recording (record --freeze-on-breakpoint)",
	  { .modes = FLOWTAP_MODE_USER, .ctr.control = BPFRZ } },
	{ "overwrite", "rings can keep the newest (record --overwrite)",
	  { .modes = FLOWTAP_MODE_USER, .flags = FLOWTAP_OVERWRITE } },
};

static void deny(struct patient *patient, const struct ability *ability,
		 const struct flowtap_query *query, int error)
{
	char fix[256], name[64];
	const char *problem = NULL;

	if (error == -EACCES)
		problem = rights_problem(&ability->wish, fix, sizeof(fix));
	if (problem)
		report(patient, GRADE_NOTE, ability->name, fix, "%s", problem);
	else if (error == -EBUSY)
		report(patient, GRADE_NOTE, ability->name, "end that recording first",
		       "CPU %u is held by %s", query->cpu, trial_holder(query->cpu, name));
	else
		report(patient, GRADE_WARN, ability->name, NULL, "the module refuses it: %s",
		       strerror(-error));
}

static void check_ability(struct patient *patient, const struct ability *ability,
			  const struct flowtap_query *query)
{
	const char *unable = refusal_unable(query, &ability->wish);
	int error;

	if (unable) {
		report(patient, GRADE_NOTE, ability->name, NULL, "CPU %u: %s", query->cpu, unable);
		return;
	}
	error = trial_configure(query, &ability->wish);
	if (error)
		deny(patient, ability, query, error);
	else
		report(patient, GRADE_OK, ability->name, NULL, "%s", ability->can);
}

/* Which transfers record --filter can do without, or add. */
static void check_filter(struct patient *patient, const struct flowtap_query *query)
{
	uint32_t types = filter_types(query->ctr.settable);
	char text[512] = "";
	FILE *file = fmemopen(text, sizeof(text) - 1, "w");

	if (file) {
		filter_print(file, types);
		fclose(file);
	}
	if (types == (filter_default() | filter_types(~0ULL)))
		report(patient, GRADE_OK, "filter", NULL,
		       "every type of transfers can be chosen (record --filter)");
	else if (types)
		report(patient, GRADE_NOTE, "filter", NULL,
		       "record --filter can choose only of: %s", text);
	else
		report(patient, GRADE_NOTE, "filter", NULL,
		       "this CPU cannot choose types of transfers (record --filter)");
}

void abilities_check(struct patient *patient)
{
	const struct flowtap_query *query = NULL;

	for (size_t cpu = 0; cpu < patient->cpus && !query; cpu++)
		if (patient_source(&patient->queries[cpu]))
			query = &patient->queries[cpu];
	if (!query)
		return;
	for (size_t i = 0; i < sizeof(abilities) / sizeof(abilities[0]); i++)
		check_ability(patient, &abilities[i], query);
	if (query->source == FLOWTAP_SOURCE_CTR)
		check_filter(patient, query);
}
