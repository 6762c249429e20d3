/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The records of rings: what is in each, what they count up to, and how they follow each other. */
#ifndef FLOWTAP_LIBUAPI_CHECK_RING_RECORDS_H
#define FLOWTAP_LIBUAPI_CHECK_RING_RECORDS_H

#include <flowtap/archive.h>
#include <flowtap/check.h>
#include <stdbool.h>

#include "base/hash_table.h"
#include "formats/archive/aux_index.h"
#include "formats/archive/merge.h"

struct flowtap_check_cpu;
struct flowtap_check_task;

/* All zeros but for `check`. */
struct flowtap_check_records {
	struct flowtap_check *check;
	struct flowtap_check_cpu *cpus;
	uint32_t n_cpus;
	struct flowtap_hash_table by_cpu;
	struct flowtap_check_task *tasks;
	uint32_t n_tasks;
	struct flowtap_hash_table by_task;
	struct flowtap_aux_index aux;
	bool overwrite;			/* of one of the streams */
	bool damaged;			/* something was passed over: much may be missing */
	bool too_many;			/* CPUs, as was said */
};

/*
 * The next block of RING, AUX, CONFIGURE, BEGUN or STATS: what is wrong is said. Of more CPUs than
 * there can be nothing is kept. 0 or -ENOMEM.
 */
int flowtap_check_stream(struct flowtap_check_records *records,
			 const struct flowtap_archive_block *block);
/* When all blocks were there: whether the counts are those of the records. */
void flowtap_check_counts(struct flowtap_check_records *records);
/* The next record in order of time. 0 or -ENOMEM. */
int flowtap_check_sequence(struct flowtap_check_records *records,
			   const struct flowtap_merge_result *result);
void flowtap_check_records_free(struct flowtap_check_records *records);

#endif /* FLOWTAP_LIBUAPI_CHECK_RING_RECORDS_H */
