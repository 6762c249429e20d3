/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data: what perf recorded of Arm's trace units (cs_etm). */
#ifndef FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H
#define FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H

#include "decode/decode.h"

/* Returns an exit status. */
int perf_decode(const struct decode_options *options, int input);

#endif /* FLOWTAP_TOOLS_DECODE_DECODE_PERFDATA_H */
