/* SPDX-License-Identifier: GPL-2.0-only */
/* perf.data: what perf recorded of Arm's trace units (cs_etm). */
#ifndef PERF_H
#define PERF_H

#include "decode.h"

/* Returns an exit status. */
int perf_decode(const struct decode_options *options, int input);
/* `flowtap dump`: the records; of which trace bytes are only counted. Returns an exit status. */
int perf_dump(int input, const char *path);

#endif /* PERF_H */
