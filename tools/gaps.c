// SPDX-License-Identifier: GPL-2.0-only
#include "gaps.h"

#include "names.h"
#include "tool.h"

void gaps_print(FILE *file, const uint64_t gaps[FLOWTAP_GAP_REASONS])
{
	uint64_t all = 0;
	char number[32];

	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		all += gaps[reason];
	fprintf(file, "  gaps          %s\n", number_group(all, number));
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		if (gaps[reason])
			fprintf(file, "    %-12s %14s  %s\n",
				flowtap_gap_name((enum flowtap_gap_reason)reason),
				number_group(gaps[reason], number), cause_meaning(reason));
}

void gaps_json(struct json *json, const uint64_t gaps[FLOWTAP_GAP_REASONS])
{
	json_open(json, "gaps", '{');
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		if (gaps[reason])
			json_number(json, flowtap_gap_name((enum flowtap_gap_reason)reason),
				    gaps[reason]);
	json_close(json, '}');
}
