// SPDX-License-Identifier: GPL-2.0-only
/* Prints counts of gaps, and where it is known their time, as lines and as JSON. */
#include "common/gaps.h"

#include "common/names.h"
#include "common/tool.h"

static void print_time(FILE *file, uint64_t ns)
{
	if (ns)
		fprintf(file, " %12.6f s", (double)ns / 1e9);
	else
		fprintf(file, " %14s", "");
}

void gaps_print(FILE *file, const uint64_t gaps[FLOWTAP_GAP_REASONS], const uint64_t *ns)
{
	uint64_t all = 0;
	char number[32];

	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		all += gaps[reason];
	fprintf(file, "  gaps          %s\n", number_group(all, number));
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++) {
		if (!gaps[reason])
			continue;
		fprintf(file, "    %-12s %14s", flowtap_gap_name((enum flowtap_gap_reason)reason),
			number_group(gaps[reason], number));
		if (ns)
			print_time(file, ns[reason]);
		fprintf(file, "  %s\n", cause_meaning(reason));
	}
}

void gaps_json_of(struct json *json, const char *key, const uint64_t values[FLOWTAP_GAP_REASONS])
{
	json_open(json, key, '{');
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		if (values[reason])
			json_number(json, flowtap_gap_name((enum flowtap_gap_reason)reason),
				    values[reason]);
	json_close(json, '}');
}

void gaps_json(struct json *json, const uint64_t gaps[FLOWTAP_GAP_REASONS], const uint64_t *ns)
{
	gaps_json_of(json, "gaps", gaps);
	if (ns)
		gaps_json_of(json, "gap_ns", ns);
}
