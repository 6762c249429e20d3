/* SPDX-License-Identifier: GPL-2.0-only */
/* What a reader has seen of a ring of the soft source, to be compared with what the kernel says. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_LOSS_LOG_H
#define FLOWTAP_SELFTESTS_KERNEL_LOSS_LOG_H

#include "stream.h"

struct loss_log {
	uint64_t records, bytes, samples, entries;
	uint64_t lost_records, lost_bytes;
	uint64_t passed;		/* drains that were told since the last sample */
	uint64_t sequence;
};

static inline bool loss_log_add_lost(const struct flowtap_record_lost *lost,
				     struct pattern *pattern, struct loss_log *loss_log)
{
	uint64_t passed_bytes = 0, first, i;

	for (i = 0; i < lost->records; i++)
		passed_bytes += sizeof(struct flowtap_record_sample) +
				pattern_drain(pattern, &first) * sizeof(struct flowtap_entry);
	loss_log->passed += lost->records;
	loss_log->lost_records += lost->records;
	loss_log->lost_bytes += lost->bytes;
	return lost->header.size == sizeof(*lost) && passed_bytes == lost->bytes &&
	       lost->total_records == loss_log->lost_records &&
	       lost->total_bytes == loss_log->lost_bytes && lost->since <= lost->time;
}

/*
 * The record in stream->record is the next one: a sample of the pattern, or LOST, which passes over
 * as many as it tells. False: the ring does not say what happened.
 */
static inline bool loss_log_add(const struct stream *stream, struct pattern *pattern,
				struct loss_log *loss_log)
{
	const struct flowtap_record_sample *sample = &stream->record.sample;

	loss_log->records++;
	loss_log->bytes += sample->header.size;
	if (sample->header.type == FLOWTAP_RECORD_LOST)
		return loss_log_add_lost(&stream->record.lost, pattern, loss_log);
	if (sample->header.type != FLOWTAP_RECORD_SAMPLE || !pattern_equal(pattern, stream))
		return false;
	/* A loss is told by its bit, and only a loss breaks the sequence. */
	if (!!(sample->loss & 1 << FLOWTAP_CAUSE_RING_FULL) != !!loss_log->passed ||
	    (sample->nr == sample->depth) > !!(sample->loss & 1 << FLOWTAP_CAUSE_WRAPPED) ||
	    (sample->sequence == loss_log->sequence + 1) != !sample->loss ||
	    sample->sequence <= loss_log->sequence)
		return false;
	loss_log->passed = 0;
	loss_log->sequence = sample->sequence;
	loss_log->samples++;
	loss_log->entries += sample->nr;
	return true;
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_LOSS_LOG_H */
