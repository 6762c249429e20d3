/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data: what perf recorded of Arm's trace units (cs_etm). */
#ifndef FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H
#define FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H

#include "decode/decode.h"

#include <stdbool.h>

/* Returns an exit status. */
int perf_decode(const struct decode_options *options, int input);
/*
 * `flowtap dump`: with contents the records too; of trace bytes only where they are. Returns an
 * exit status.
 */
int perf_dump(int input, const char *path, bool contents);

#endif /* FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H */
