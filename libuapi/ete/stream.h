/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The byte stream on its way to packets (K10.5.1.1, K10.5.2): whether it is synchronized, the
 * packet that was parsed last, bytes that are no whole packet yet, and what was lost.
 *
 * The fields are for these functions and stream.c only, but for `packet`, which all may read.
 */
#ifndef FLOWTAP_LIBUAPI_ETE_STREAM_H
#define FLOWTAP_LIBUAPI_ETE_STREAM_H

#include <flowtap/ete_packet.h>

enum ete_sync {
	ETE_UNSYNCED,		/* looks for an Alignment Sync */
	ETE_ALIGNED,		/* looks for a Trace Info */
	ETE_DISCARDED,		/* likewise, what concerns no instruction counts meanwhile */
	ETE_SYNCED,
};

/* A loss: its gap is emitted when decoding resumes, as its size is known then. */
struct ete_loss {
	bool pending;
	bool silent;		/* a gap was emitted already */
	enum flowtap_gap_reason reason;
	uint64_t size;
	char detail[160];
};

struct ete_stream {
	enum ete_sync sync;
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;	/* the last one */
	uint8_t carry[2 * FLOWTAP_ETE_PACKET_MAX];
	size_t carried;		/* bytes in carry: of the last piece, no whole packet */
	struct ete_loss loss;
};

static inline enum ete_sync ete_sync(const struct ete_stream *stream)
{
	return stream->sync;
}

static inline void ete_set_sync(struct ete_stream *stream, enum ete_sync sync)
{
	stream->sync = sync;
}

/*
 * Parses the next packet into stream->packet. Bytes used, 0: more are needed (flowtap_ete_parse).
 */
static inline size_t ete_parse(struct ete_stream *stream, const uint8_t *bytes, size_t size)
{
	return flowtap_ete_parse(&stream->parser, bytes, size, &stream->packet);
}

/* What a header byte begins, were the stream synchronised. */
static inline enum flowtap_ete_packet_type ete_header_type(const struct ete_stream *stream,
							   uint8_t header)
{
	return stream->parser.headers[header].type;
}

/* Atom packets were taken without parsing. */
static inline void ete_took_atoms(struct ete_stream *stream)
{
	stream->parser.zeros = 0;
}

/* What the packet commits was there before the trace began: nothing. */
static inline void ete_drop_commit(struct ete_stream *stream)
{
	stream->packet.commit = 0;
}

/* How many bytes wait for the next piece. */
static inline size_t ete_carried(const struct ete_stream *stream)
{
	return stream->carried;
}

/* Not synchronized, no bytes wait. What was lost stays. */
void flowtap_ete_stream_begin(struct ete_stream *stream, const struct flowtap_ete_config *config);

/* The end of a piece, which is no whole packet, is kept: less than FLOWTAP_ETE_PACKET_MAX bytes. */
void flowtap_ete_stream_keep(struct ete_stream *stream, const uint8_t *bytes, size_t size);
/*
 * Puts what there is space for of the next piece after the bytes that wait, which are in
 * stream->carry then; how many there are with these. flowtap_ete_stream_advance comes next.
 */
size_t flowtap_ete_stream_fill(struct ete_stream *stream, const uint8_t *bytes, size_t size);
/*
 * `used` of the `size` bytes that fill had were packets: what waited goes if it is among them, else
 * all that was added waits, too. How many bytes of the piece are done with.
 */
size_t flowtap_ete_stream_advance(struct ete_stream *stream, size_t used, size_t size);
/* As ete_carried; 0 where all are 0x00, which may be what a buffer was filled up with. */
size_t flowtap_ete_stream_unfinished(const struct ete_stream *stream);

/* So many bytes are skipped: part of the loss that there is, or of a new one, UNSYNCED. */
void flowtap_ete_stream_skip(struct ete_stream *stream, size_t size);
/*
 * stream->packet, of these bytes at this offset in the trace, cannot be there: the same,
 * BAD_PACKET. The stream is not synchronized then.
 */
void flowtap_ete_stream_reject(struct ete_stream *stream, const uint8_t *bytes, size_t size,
			       uint64_t offset);
/* A gap was emitted for what comes up to where decoding resumes: none is for what is lost there. */
void flowtap_ete_stream_silence(struct ete_stream *stream);
/*
 * Decoding resumes: the loss is over. True: a gap is to be emitted for it, which is *gap; its
 * detail is the stream's, up to the next loss.
 */
bool flowtap_ete_stream_end_loss(struct ete_stream *stream, struct flowtap_gap *gap);

#endif /* FLOWTAP_LIBUAPI_ETE_STREAM_H */
