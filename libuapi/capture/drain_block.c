// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The blocks that are made of what waits in a stream. */
#include "capture/drain_internal.h"

#include <errno.h>
#include <string.h>

#include "capture/clock.h"
#include "formats/archive/reserve.h"

#define COPIED (8U << 10)	/* up to here a copy costs less than writes of its own */

void drain_shorten(struct flowtap_buffer part[2], size_t size)
{
	part[1].size = size > part[0].size ? size - part[0].size : 0;
	part[0].size -= size < part[0].size ? part[0].size - size : 0;
}

int drain_cut(struct flowtap_buffer part[2], size_t most)
{
	size_t at = 0;

	if (part[0].size + part[1].size <= most)
		return 0;
	for (;;) {
		const struct flowtap_buffer *in = at < part[0].size ? &part[0] : &part[1];
		size_t offset = at < part[0].size ? at : at - part[0].size;
		const struct flowtap_record *record =
			(const void *)((const uint8_t *)in->bytes + offset);
		size_t size = record->size;

		/* Its header never wraps: all is aligned to 8. */
		if (size < sizeof(*record) || size % 8)
			return -EPROTO;
		if (at + size > most)
			break;
		at += size;
	}
	drain_shorten(part, at);
	return 1;
}

/* What waits beyond what has been taken. 0 or -EPROTO, then and for ever. */
static int waiting(struct drain_stream *stream, struct flowtap_buffer part[2])
{
	uint64_t tail = __atomic_load_n(&stream->reader->ring->data_tail, __ATOMIC_RELAXED), head;

	if (!stream->error)
		stream->error = flowtap_reader_peek_from(stream->reader, stream->sent, part, &head);
	if (!stream->error && head - tail > stream->reader->size)
		stream->error = -EPROTO;
	if (!stream->error && stream->reader->aux)
		stream->error = flowtap_reader_aux_head(stream->reader, &stream->aux_head);
	return stream->error;
}

/* Of the AUX area. Where it makes no sense: the records will show it. */
static uint64_t aux_waiting(const struct drain_stream *stream)
{
	return stream->reader->aux ? stream->aux_head - stream->aux_sent : 0;
}

/* A block to be made: payload as the archive has it, and from what buffers. */
struct block {
	uint32_t type;
	struct flowtap_buffer part[2];
	int buffers[2];
	uint64_t end;
	uint64_t aux_end;
};

/* Into the archive's buffer, or by it into the file. */
static int copy_block(struct flowtap_drain *drain, struct drain_stream *stream,
		      struct drain_flight *flight, const struct block *block)
{
	const struct flowtap_buffer *part = block->part;
	uint64_t begin = flowtap_archive_size(drain->writer);
	int err = flowtap_archive_write(drain->writer, block->type, stream->cpu, clock_now(),
					part[0].bytes, part[0].size, part[1].bytes, part[1].size);

	*flight = (struct drain_flight){
		.end = block->end,
		.aux_end = block->aux_end,
		.pending = true,
		.begin = begin,
		.copied = flowtap_archive_size(drain->writer),
	};
	return err;
}

static void add_piece(struct drain_flight *flight, const void *bytes, size_t size, int buffer)
{
	if (!size)
		return;
	flight->pieces[flight->n] = (struct iovec){ (void *)bytes, size };
	flight->buffers[flight->n] = buffer;
	flight->n++;
}

static int reserve_block(struct flowtap_drain *drain, struct drain_stream *stream,
			 struct drain_flight *flight, const struct block *block)
{
	const struct flowtap_buffer *part = block->part;
	unsigned int index = (unsigned int)(stream - drain->stream);
	unsigned int number = (unsigned int)(flight - stream->flights);
	struct drain_head *head = &drain->heads[index * DRAIN_FLIGHTS + number];
	const struct iovec payload[2] = {
		{ (void *)part[0].bytes, part[0].size },
		{ (void *)part[1].bytes, part[1].size },
	};
	bool aux = block->type == FLOWTAP_ARCHIVE_AUX;
	int err;

	*flight = (struct drain_flight){
		.end = block->end,
		.aux_end = block->aux_end,
		.pending = true,
		.begin = flowtap_archive_size(drain->writer),
	};
	/* The offset lies after the header and stays while it is on its way. */
	if (aux)
		memcpy(&head->offset, part[0].bytes, sizeof(head->offset));
	add_piece(flight, head, sizeof(head->header) + (aux ? sizeof(head->offset) : 0),
		  drain->heads_buffer);
	if (!aux)
		add_piece(flight, part[0].bytes, part[0].size, block->buffers[0]);
	add_piece(flight, part[1].bytes, part[1].size, block->buffers[1]);
	add_piece(flight, head->zeros, -(part[0].size + part[1].size) & 7, drain->heads_buffer);
	head->header.type = (uint16_t)block->type;
	head->header.cpu = stream->cpu;
	head->header.time = clock_now();
	err = flowtap_archive_reserve(drain->writer, &head->header, payload, &flight->offset);
	return err ? err : drain_uring_write(drain, index, number);
}

/* Of a full ring a quarter at a time, so that the writer has space again early. */
size_t drain_block_size(const struct drain_stream *stream)
{
	uint64_t size = stream->reader->size / 4;

	if (size < FLOWTAP_RECORD_MAX)
		return FLOWTAP_RECORD_MAX;
	return size < FLOWTAP_ARCHIVE_BLOCK_MAX ? size : FLOWTAP_ARCHIVE_BLOCK_MAX;
}

/* A block goes on its way. */
static bool send_block(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		       const struct block *block)
{
	struct drain_flight *flight =
		&stream->flights[(stream->first + stream->n) % DRAIN_FLIGHTS];
	int err = little ? copy_block(drain, stream, flight, block)
			 : reserve_block(drain, stream, flight, block);

	if (err) {
		drain_fail(drain, err);
		return false;
	}
	stream->n++;
	return true;
}

/* Its bytes come before the block with the records that name them. */
static bool send_aux(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		     uint64_t begin, uint64_t end, uint64_t *moved)
{
	struct block block = {
		.type = FLOWTAP_ARCHIVE_AUX,
		.part[0] = { &begin, sizeof(begin) },
		.buffers = { -1, stream->aux_buffer },
		.end = stream->sent,
		.aux_end = stream->aux_end,
	};
	uint64_t size = drain_aux_piece(stream->reader, begin, end, &block.part[1].bytes);

	block.part[1].size = size;
	if (!send_block(drain, stream, little, &block))
		return false;
	stream->aux_sent = begin + size;
	*moved += size;
	return true;
}

static bool send_records(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
			 const struct flowtap_buffer part[2], uint64_t aux_end, uint64_t *moved)
{
	size_t size = part[0].size + part[1].size;
	struct block block = {
		.type = FLOWTAP_ARCHIVE_RING,
		.part = { part[0], part[1] },
		.buffers = { stream->buffer, stream->buffer },
		.end = stream->sent + size,
		.aux_end = aux_end,
	};

	if (!send_block(drain, stream, little, &block))
		return false;
	stream->sent += size;
	stream->aux_end = aux_end;
	*moved += size;
	return true;
}

/* The next block of records or of the bytes that they name. True: there is a rest. */
static bool send_next(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		      struct flowtap_buffer part[2], uint64_t *moved)
{
	struct drain_named named = { .begin = stream->aux_end, .end = stream->aux_end };
	size_t size = part[0].size + part[1].size;
	int err = drain_cut(part, drain_block_size(stream));

	if (err >= 0 && stream->reader->aux) {
		err = drain_aux_named(stream->reader, part, stream->aux_end, stream->aux_head,
				      &named);
		drain_shorten(part, named.records);
	}
	if (err < 0) {
		stream->error = err;
		return false;
	}
	/* Of a record that is longer than a block some may be on its way already. */
	if ((int64_t)(stream->aux_sent - named.begin) > 0)
		named.begin = stream->aux_sent;
	if ((int64_t)(named.end - named.begin) > 0)
		return send_aux(drain, stream, little, named.begin, named.end, moved);
	return send_records(drain, stream, little, part, named.end, moved) &&
	       part[0].size + part[1].size < size;
}

bool drain_take_block(struct flowtap_drain *drain, struct drain_stream *stream, bool little,
		      bool rest, uint64_t *moved)
{
	struct flowtap_buffer part[2];
	size_t size;

	if (drain->failed || waiting(stream, part))
		return false;
	size = part[0].size + part[1].size;
	if (!size || (drain->uring && !rest && little != (size + aux_waiting(stream) <= COPIED)))
		return false;
	if (stream->n == DRAIN_FLIGHTS) {
		stream->blocked = true;
		return false;
	}
	return send_next(drain, stream, little, part, moved);
}

/* For a block, without waiting for poll. */
static bool enough(const struct drain_stream *stream, size_t size)
{
	const struct flowtap_reader *reader = stream->reader;

	return size >= reader->size / 4 ||
	       (size && reader->aux && aux_waiting(stream) >= reader->aux_size / 4);
}

bool drain_takes(const struct drain_stream *stream)
{
	return stream->number >= 0 && !stream->reader->overwrite;
}

bool drain_ready(struct flowtap_drain *drain)
{
	for (unsigned int i = 0; i < drain->streams; i++) {
		struct drain_stream *stream = &drain->stream[i];
		struct flowtap_buffer part[2];

		if (!drain_takes(stream) || stream->n == DRAIN_FLIGHTS)
			continue;
		if (stream->blocked)
			return true;
		if (!waiting(stream, part) && enough(stream, part[0].size + part[1].size))
			return true;
	}
	return false;
}
