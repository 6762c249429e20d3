// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * The CTR decoder's entry: which records are well formed, and what each type becomes. Samples go on
 * to sample.c.
 */
#include "ctr/internal.h"
#include <stdio.h>
#include <stdlib.h>

#define DEPTH_MAX 256		/* Smctr 2.4 */

struct flowtap_ctr *flowtap_ctr_new(struct flowtap_address_map *map, struct flowtap_blocks *blocks,
				    struct flowtap_sink *sink)
{
	struct flowtap_ctr *ctr = calloc(1, sizeof(*ctr));

	if (!ctr)
		return NULL;
	ctr->path.map = map;
	ctr->path.blocks = blocks;
	ctr->emit.sink = sink;
	return ctr;
}

void flowtap_ctr_free(struct flowtap_ctr *ctr)
{
	if (!ctr)
		return;
	flowtap_path_release(&ctr->path);
	free(ctr);
}

const struct flowtap_ctr_counts *flowtap_ctr_counts(const struct flowtap_ctr *ctr)
{
	return &ctr->emit.counts;
}

void flowtap_ctr_set_data_bits(struct flowtap_ctr *ctr, uint32_t cpu, uint64_t supported)
{
	ctr_set_data_bits(&ctr->bits, cpu, supported);
}

static int decode_sample(struct flowtap_ctr *ctr, const struct flowtap_record_sample *sample,
			 size_t size)
{
	size_t capacity = size - sizeof(*sample);

	if (size < sizeof(*sample))
		return flowtap_ctr_bad_record(&ctr->emit, 0, "a sample of %zu bytes", size);
	if (sample->nr > DEPTH_MAX || sample->nr > sample->depth)
		return flowtap_ctr_bad_record(&ctr->emit, sample->time,
					      "%u entries from a buffer of %u", sample->nr,
					      sample->depth);
	if (sample->nr * sizeof(struct flowtap_entry) != capacity)
		return flowtap_ctr_bad_record(&ctr->emit, sample->time, "%u entries in %zu bytes",
					      sample->nr, capacity);
	return flowtap_ctr_sample(ctr, sample);
}

static int decode_gap(struct flowtap_ctr *ctr, const struct flowtap_record_gap *record, size_t size)
{
	int status;

	if (size < sizeof(*record))
		return flowtap_ctr_bad_record(&ctr->emit, 0, "a gap record of %zu bytes", size);
	if (record->cause >= FLOWTAP_CAUSE_MAX)
		return flowtap_ctr_bad_record(&ctr->emit, record->time, "a gap of unknown cause %u",
					      record->cause);
	status = flowtap_ctr_enter(&ctr->emit, record->pid, record->tid, record->cpu,
				   ctr->emit.context.mode);
	if (status < 0)
		return status;
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_START + record->cause,
		.since = record->since,
		.until = record->time,
		.size = record->size,
		.detail = record->header.misc & FLOWTAP_MISC_ESTIMATE ? "an estimate" : NULL,
	});
}

static int decode_lost(struct flowtap_ctr *ctr, const struct flowtap_record_lost *record,
		       size_t size)
{
	char detail[64];

	if (size < sizeof(*record))
		return flowtap_ctr_bad_record(&ctr->emit, 0, "a lost record of %zu bytes", size);
	snprintf(detail, sizeof(detail), "%llu records did not fit into the ring",
		 (unsigned long long)record->records);
	return flowtap_ctr_gap(&ctr->emit, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_RING_FULL,
		.since = record->since,
		.until = record->time,
		.size = record->bytes,
		.detail = detail,
	});
}

int flowtap_ctr_decode(struct flowtap_ctr *ctr, const struct flowtap_record *record, size_t size)
{
	int status = 0;

	if (size < sizeof(*record))
		status = flowtap_ctr_bad_record(&ctr->emit, 0, "a record of %zu bytes", size);
	else if (record->size > size || record->size < sizeof(*record))
		status = flowtap_ctr_bad_record(&ctr->emit, 0, "a record of %u bytes in %zu",
						record->size, size);
	else if (record->type == FLOWTAP_RECORD_SAMPLE)
		status = decode_sample(ctr, (const struct flowtap_record_sample *)record,
				       record->size);
	else if (record->type == FLOWTAP_RECORD_GAP)
		status = decode_gap(ctr, (const struct flowtap_record_gap *)record, record->size);
	else if (record->type == FLOWTAP_RECORD_LOST)
		status = decode_lost(ctr, (const struct flowtap_record_lost *)record, record->size);
	return status < 0 ? status : 0;
}
