/* SPDX-License-Identifier: GPL-2.0-only */
/* The gaps of a flow by reason, in the summaries of all inputs. */
#ifndef GAPS_H
#define GAPS_H

#include "json.h"

#include <flowtap/flow.h>
#include <stdio.h>

/* A line with their sum, and one for each reason that occurred with what it means. */
void gaps_print(FILE *file, const uint64_t gaps[FLOWTAP_GAP_REASONS]);
/* An object "gaps" of the reasons that occurred. */
void gaps_json(struct json *json, const uint64_t gaps[FLOWTAP_GAP_REASONS]);

#endif /* GAPS_H */
