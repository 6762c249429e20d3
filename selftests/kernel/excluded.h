/* SPDX-License-Identifier: GPL-2.0-only */
/* A CPU-wide stream that leaves out the tasks of its set. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_EXCLUDED_H
#define FLOWTAP_SELFTESTS_KERNEL_EXCLUDED_H

#include "stream.h"

static inline int open_wide(struct stream *stream, struct flowtap_configure *configure, uint32_t flags)
{
	configure->flags = FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE | flags;
	return stream_open(stream, configure);
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_EXCLUDED_H */
