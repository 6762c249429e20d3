/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording of ourselves for a moment: the one proof that recording works. */
#ifndef TRIAL_H
#define TRIAL_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

struct trial {
	const char *step;	/* what failed, NULL: nothing */
	uint32_t cpu;
	uint64_t samples;
	uint64_t entries;
};

/* On the first CPU with a source that we may run on. 0 or -errno; -ENODATA: no sample came. */
int trial_run(const struct flowtap_query *queries, size_t n, struct trial *trial);

#endif /* TRIAL_H */
