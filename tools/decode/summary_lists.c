// SPDX-License-Identifier: GPL-2.0-only
/* Prints lists out of a profile, as lines and as JSON. */
#include "decode/summary_lists.h"

#include "common/tool.h"

#include <flowtap/address_map.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROCESSES_SHOWN 10

void summary_print_processes(FILE *file, const struct flowtap_profile *profile)
{
	size_t n;
	const struct flowtap_profile_process **list = flowtap_profile_processes(profile, &n);
	char number[32];

	if (n)
		fprintf(file, "  processes     %zu\n", n);
	for (size_t i = 0; i < n && i < PROCESSES_SHOWN; i++) {
		fprintf(file, "    %7" PRIu32 " ", list[i]->pid);
		print_plain(file, list[i]->comm, strlen(list[i]->comm));
		fprintf(file, "%*s %14s instruction%s\n", (int)(16 - strlen(list[i]->comm)), "",
			number_group(list[i]->instructions, number), plural(list[i]->instructions));
	}
	free(list);
}

void summary_print_unverified(FILE *file, const struct flowtap_profile *profile)
{
	uint64_t files = flowtap_address_map_unverified(profile->map);
	char number[32];

	if (files)
		fprintf(file, "  not verified  %s file%s: without a recorded build-id nobody knows "
			"whether that is the code of then\n", number_group(files, number),
			plural(files));
}

void summary_json_processes(struct json *json, const struct flowtap_profile *profile)
{
	size_t n;
	const struct flowtap_profile_process **processes = flowtap_profile_processes(profile, &n);

	json_open(json, "processes", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_number(json, "pid", processes[i]->pid);
		json_string(json, "comm", processes[i]->comm);
		json_number(json, "instructions", processes[i]->instructions);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(processes);
}

void summary_json_missing(struct json *json, const struct flowtap_profile *profile)
{
	json_open(json, "missing", '[');
	for (size_t i = 0; i < profile->n_missing; i++) {
		json_open(json, NULL, '{');
		json_string(json, "file", profile->missing[i].path);
		json_string(json, "reason", profile->missing[i].reason);
		json_number(json, "gaps", profile->missing[i].gaps);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_number(json, "unverified_files", flowtap_address_map_unverified(profile->map));
}
