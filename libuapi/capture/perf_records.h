/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* perf's records of mappings and tasks, and what they become in an archive. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_PERF_RECORDS_H
#define FLOWTAP_LIBUAPI_CAPTURE_PERF_RECORDS_H

#include <stddef.h>
#include <stdint.h>

#include "capture/sideband_write.h"

/* What the events that give these records must have as sample_type, with sample_id_all. */
#define FLOWTAP_PERF_SAMPLE_TYPE (PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* What perf lost, as far as it is in the archive. */
struct flowtap_perf_losses {
	uint64_t count;
	uint64_t ahead;		/* of them, those whose LOST record is still to come */
};

/*
 * One record of `size` bytes, header included. Types that are not wanted, and records too short for
 * their type, are passed over, and events of tasks that our PID namespace does not show. What perf
 * lost is added to *losses. 0 or -errno of the archive.
 */
int flowtap_perf_record(const void *record, size_t size, uint32_t cpu,
			const struct flowtap_sideband_sink *out,
			struct flowtap_perf_losses *losses);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_PERF_RECORDS_H */
