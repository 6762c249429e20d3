/* SPDX-License-Identifier: GPL-2.0-only */
/* The gaps of a flow by reason, in the summaries of all inputs. */
#ifndef FLOWTAP_TOOLS_COMMON_GAPS_H
#define FLOWTAP_TOOLS_COMMON_GAPS_H

#include "common/json.h"

#include <flowtap/flow.h>
#include <stdio.h>

/*
 * A line with their sum, and one for each reason that occurred with what it means. ns: how long
 * they took together, by reason; NULL: that is not known.
 */
void gaps_print(FILE *file, const uint64_t gaps[FLOWTAP_GAP_REASONS], const uint64_t *ns);
/* An object of the reasons whose value is not 0. */
void gaps_json_of(struct json *json, const char *key, const uint64_t values[FLOWTAP_GAP_REASONS]);
/* An object "gaps" of the reasons that occurred, with ns another one, "gap_ns". */
void gaps_json(struct json *json, const uint64_t gaps[FLOWTAP_GAP_REASONS], const uint64_t *ns);

#endif /* FLOWTAP_TOOLS_COMMON_GAPS_H */
