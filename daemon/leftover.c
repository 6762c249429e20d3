// SPDX-License-Identifier: GPL-2.0-only
/* Subtracts the records that still wait in a ring from the kernel's statistics. */
#include "leftover.h"

#include <errno.h>
#include <string.h>

/* As the kernel counted it. */
static void subtract(struct flowtap_stats *stats, const struct flowtap_record *record)
{
	const struct flowtap_record_sample *sample = (const void *)record;
	const struct flowtap_record_lost *lost = (const void *)record;
	const struct flowtap_record_aux *aux = (const void *)record;

	stats->records--;
	stats->bytes -= record->size;
	if (record->type == FLOWTAP_RECORD_SAMPLE && record->size >= sizeof(*sample)) {
		stats->samples--;
		stats->entries -= sample->nr;
	} else if (record->type == FLOWTAP_RECORD_AUX && record->size >= sizeof(*aux)) {
		stats->samples--;
		stats->aux_bytes -= aux->size;
	} else if (record->type == FLOWTAP_RECORD_LOST && record->size >= sizeof(*lost)) {
		stats->lost_records -= lost->records;
		stats->lost_bytes -= lost->bytes;
	}
}

int leftover_stats(const struct flowtap_session_stream *stream, struct flowtap_stats *stats)
{
	static uint64_t copy[FLOWTAP_RECORD_MAX / 8];
	const struct flowtap_record *record;
	struct flowtap_buffer part[2];
	struct flowtap_stats less;
	uint64_t head;
	size_t at = 0;
	int error;

	error = flowtap_session_stats(stream, stats);
	if (error)
		return error;
	if (stream->reader.overwrite)
		return 0;
	error = flowtap_reader_peek(&stream->reader, part, &head);
	if (error)
		return error;
	less = *stats;
	while (!(error = flowtap_record_in(part, at, copy, &record))) {
		subtract(&less, record);
		at += record->size;
	}
	if (error != -ENODATA)
		return -EPROTO;
	*stats = less;
	return 0;
}
