/* SPDX-License-Identifier: GPL-2.0-only */
/* What the summaries of archives and perf.data have in common: who ran, and which code is missing. */
#ifndef FLOWTAP_TOOLS_DECODE_SUMMARY_LISTS_H
#define FLOWTAP_TOOLS_DECODE_SUMMARY_LISTS_H

#include "common/json.h"

#include <flowtap/profile.h>
#include <stdio.h>

/* The busiest first, the first few of them. */
void summary_print_processes(FILE *file, const struct flowtap_profile *profile);
/* That code is used of which nobody knows whether it is the recorded one; else nothing. */
void summary_print_unverified(FILE *file, const struct flowtap_profile *profile);

/* All of them: "processes". */
void summary_json_processes(struct json *json, const struct flowtap_profile *profile);
/* Files without which there are gaps: "missing", and "unverified_files". */
void summary_json_missing(struct json *json, const struct flowtap_profile *profile);

#endif /* FLOWTAP_TOOLS_DECODE_SUMMARY_LISTS_H */
