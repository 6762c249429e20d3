/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The clock of all that is recorded. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_CLOCK_H
#define FLOWTAP_LIBUAPI_CAPTURE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC_RAW in ns. */
static inline uint64_t clock_now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC_RAW, &time);
	return (uint64_t)time.tv_sec * 1000000000U + (uint64_t)time.tv_nsec;
}

#endif /* FLOWTAP_LIBUAPI_CAPTURE_CLOCK_H */
