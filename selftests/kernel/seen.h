/* SPDX-License-Identifier: GPL-2.0-only */
/* What a reader has seen of a ring of the soft source, to be compared with what the kernel says. */
#ifndef FLOWTAP_TEST_SEEN_H
#define FLOWTAP_TEST_SEEN_H

#include "stream.h"

struct seen {
	uint64_t records, bytes, samples, entries;
	uint64_t lost_records, lost_bytes;
	uint64_t passed;		/* drains that were told since the last sample */
	uint64_t sequence;
};

static inline bool see_lost(const struct flowtap_record_lost *lost, struct pattern *pattern,
			    struct seen *seen)
{
	uint64_t passed_bytes = 0, first, i;

	for (i = 0; i < lost->records; i++)
		passed_bytes += sizeof(struct flowtap_record_sample) +
				pattern_drain(pattern, &first) * sizeof(struct flowtap_entry);
	seen->passed += lost->records;
	seen->lost_records += lost->records;
	seen->lost_bytes += lost->bytes;
	return lost->header.size == sizeof(*lost) && passed_bytes == lost->bytes &&
	       lost->total_records == seen->lost_records &&
	       lost->total_bytes == seen->lost_bytes && lost->since <= lost->time;
}

/*
 * The record in stream->record is the next one: a sample of the pattern, or LOST, which passes over
 * as many as it tells. False: the ring does not say what happened.
 */
static inline bool see(const struct stream *stream, struct pattern *pattern, struct seen *seen)
{
	const struct flowtap_record_sample *sample = &stream->record.sample;

	seen->records++;
	seen->bytes += sample->header.size;
	if (sample->header.type == FLOWTAP_RECORD_LOST)
		return see_lost(&stream->record.lost, pattern, seen);
	if (sample->header.type != FLOWTAP_RECORD_SAMPLE || !pattern_equal(pattern, stream))
		return false;
	/* A loss is told by its bit, and only a loss breaks the sequence. */
	if (!!(sample->loss & 1 << FLOWTAP_CAUSE_RING_FULL) != !!seen->passed ||
	    (sample->nr == sample->depth) > !!(sample->loss & 1 << FLOWTAP_CAUSE_WRAPPED) ||
	    (sample->sequence == seen->sequence + 1) != !sample->loss ||
	    sample->sequence <= seen->sequence)
		return false;
	seen->passed = 0;
	seen->sequence = sample->sequence;
	seen->samples++;
	seen->entries += sample->nr;
	return true;
}

#endif /* FLOWTAP_TEST_SEEN_H */
