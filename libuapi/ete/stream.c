// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The byte stream on its way to packets: pieces joined, and what is lost of them. */
#include "ete/stream.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void flowtap_ete_stream_begin(struct ete_stream *stream, const struct flowtap_ete_config *config)
{
	flowtap_ete_parser_init(&stream->parser, config);
	stream->sync = ETE_UNSYNCED;
	stream->carried = 0;
}

void flowtap_ete_stream_keep(struct ete_stream *stream, const uint8_t *bytes, size_t size)
{
	memcpy(stream->carry, bytes, size);
	stream->carried = size;
}

size_t flowtap_ete_stream_fill(struct ete_stream *stream, const uint8_t *bytes, size_t size)
{
	size_t before = stream->carried, more = sizeof(stream->carry) - before;

	if (more > size)
		more = size;
	memcpy(stream->carry + before, bytes, more);
	return before + more;
}

size_t flowtap_ete_stream_advance(struct ete_stream *stream, size_t used, size_t size)
{
	size_t before = stream->carried;

	if (used >= before) {
		stream->carried = 0;
		return used - before;
	}
	stream->carried = size - used;
	memmove(stream->carry, stream->carry + used, stream->carried);
	return size - before;
}

size_t flowtap_ete_stream_unfinished(const struct ete_stream *stream)
{
	for (size_t i = 0; i < stream->carried; i++) {
		if (stream->carry[i])
			return stream->carried;
	}
	return 0;
}

static void begin_loss(struct ete_loss *loss, enum flowtap_gap_reason reason)
{
	loss->pending = true;
	loss->reason = reason;
	loss->size = 0;
	loss->detail[0] = '\0';
}

void flowtap_ete_stream_skip(struct ete_stream *stream, size_t size)
{
	if (!stream->loss.pending)
		begin_loss(&stream->loss, FLOWTAP_GAP_UNSYNCED);
	stream->loss.size += size;
}

static void describe(struct ete_loss *loss, const uint8_t *bytes, size_t size, uint64_t offset,
		     const char *reason)
{
	size_t capacity = sizeof(loss->detail), n;

	n = snprintf(loss->detail, capacity, "offset 0x%" PRIx64 ":", offset);
	for (size_t i = 0; i < size && i < 16; i++)
		n += snprintf(loss->detail + n, capacity - n, " %02x", bytes[i]);
	snprintf(loss->detail + n, capacity - n, ": %s", reason);
}

void flowtap_ete_stream_reject(struct ete_stream *stream, const uint8_t *bytes, size_t size,
			       uint64_t offset)
{
	stream->sync = ETE_UNSYNCED;
	if (!stream->loss.pending) {
		begin_loss(&stream->loss, FLOWTAP_GAP_BAD_PACKET);
		describe(&stream->loss, bytes, size, offset, stream->packet.reason);
	}
	stream->loss.size += size;
}

void flowtap_ete_stream_silence(struct ete_stream *stream)
{
	stream->loss.silent = true;
}

bool flowtap_ete_stream_end_loss(struct ete_stream *stream, struct flowtap_gap *gap)
{
	struct ete_loss *loss = &stream->loss;
	bool pending = loss->pending && !loss->silent;

	loss->pending = false;
	loss->silent = false;
	*gap = (struct flowtap_gap){
		.reason = loss->reason,
		.size = loss->size,
		.detail = loss->detail[0] ? loss->detail : NULL,
	};
	return pending;
}
