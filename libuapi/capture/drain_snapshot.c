// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Copies of rings that overwrite. */
#include "capture/drain_internal.h"
#include "capture/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int write_aux(struct flowtap_drain *drain, const struct drain_stream *stream,
		     uint64_t begin, uint64_t end, uint64_t *moved)
{
	int err = 0;

	while (!err && begin != end) {
		const void *bytes;
		uint64_t size = drain_aux_piece(stream->reader, begin, end, &bytes);

		err = flowtap_archive_write(drain->writer, FLOWTAP_ARCHIVE_AUX, stream->cpu,
					    clock_now(), &begin, sizeof(begin), bytes, size);
		begin += size;
		*moved += size;
	}
	return err;
}

/* Those of the bytes that records name that are still there; part: up to these records. */
static int write_named(struct flowtap_drain *drain, struct drain_stream *stream,
		       struct flowtap_buffer part[2], uint64_t *moved)
{
	uint64_t size = stream->reader->aux_size, head = stream->aux_head;
	struct drain_named named;
	int err = drain_aux_named(stream->reader, part, stream->aux_sent, head, &named);

	if (err)
		return err;
	drain_shorten(part, named.records);
	stream->aux_sent = named.end;
	/* Whatever the counts say, no more is there than the area holds. */
	if (head - named.begin > size)
		named.begin = head - named.end < size ? head - size : named.end;
	return write_aux(drain, stream, named.begin, named.end, moved);
}

static int write_copy(struct flowtap_drain *drain, struct drain_stream *stream,
		      const struct flowtap_buffer *records, uint64_t *moved)
{
	size_t done = 0;
	int err = 0;

	while (done < records->size) {
		struct flowtap_buffer part[2] = {
			{ (const uint8_t *)records->bytes + done, records->size - done }, { NULL, 0 }
		};

		err = drain_cut(part, drain_block_size(stream));
		if (err >= 0 && stream->reader->aux)
			err = write_named(drain, stream, part, moved);
		if (err >= 0)
			err = flowtap_archive_write(drain->writer, FLOWTAP_ARCHIVE_RING,
						    stream->cpu, clock_now(), part[0].bytes,
						    part[0].size, NULL, 0);
		if (err < 0)
			break;
		done += part[0].size;
		*moved += part[0].size;
	}
	return err;
}

int flowtap_drain_limit(struct flowtap_drain *drain, int number, uint64_t since, uint64_t most)
{
	struct drain_stream *stream = drain_stream_of(drain, number);

	if (!stream)
		return -EINVAL;
	stream->since = since;
	stream->most = most;
	return 0;
}

/* Whole records with a header and a time each, or the last bytes, which nobody reads. */
static void drop_records(const struct drain_stream *stream, struct flowtap_buffer *records)
{
	const uint8_t *at = records->bytes;
	struct flowtap_record record;
	uint64_t time;

	while (records->size >= sizeof(record) + sizeof(time)) {
		memcpy(&record, at, sizeof(record));
		memcpy(&time, at + sizeof(record), sizeof(time));
		if (time >= stream->since && records->size <= stream->most)
			break;
		if (record.size < sizeof(record) || record.size > records->size)
			break;
		at += record.size;
		records->size -= record.size;
	}
	records->bytes = at;
}

int flowtap_drain_snapshot(struct flowtap_drain *drain, int number, uint64_t *moved,
			   uint64_t *dropped)
{
	struct drain_stream *stream = drain_stream_of(drain, number);
	uint64_t head, fresh, aux_sent;
	struct flowtap_buffer records;
	void *buffer;
	int err;

	if (!stream)
		return -EINVAL;
	buffer = malloc(stream->reader->size);
	if (!buffer)
		return -ENOMEM;
	*moved = 0;
	aux_sent = stream->aux_sent;
	err = flowtap_reader_copy(stream->reader, buffer, &records, &head, dropped);
	/* Of the tail that was there at first nothing is known. */
	if (!err && stream->sent % 8)
		err = -EPROTO;
	if (!err && stream->reader->aux)
		err = flowtap_reader_aux_head(stream->reader, &stream->aux_head);
	if (!err) {
		fresh = head - stream->sent;
		fresh = fresh < records.size ? fresh : records.size;
		records.bytes = (const uint8_t *)records.bytes + (records.size - fresh);
		records.size = fresh;
		drop_records(stream, &records);
		err = write_copy(drain, stream, &records, moved);
	}
	if (!err)
		stream->sent = head;
	else
		stream->aux_sent = aux_sent;
	free(buffer);
	return err;
}
