/* SPDX-License-Identifier: GPL-2.0-only */
/* What was decoded of an Arm trace, as people and programs read it. */
#ifndef FLOWTAP_TOOLS_DECODE_TRACE_SUMMARY_H
#define FLOWTAP_TOOLS_DECODE_TRACE_SUMMARY_H

#include "decode/trace.h"

#include <stdio.h>

void trace_summary_print(FILE *file, const struct trace_decoding *decoding);
void trace_summary_json(FILE *file, const struct trace_decoding *decoding);

#endif /* FLOWTAP_TOOLS_DECODE_TRACE_SUMMARY_H */
