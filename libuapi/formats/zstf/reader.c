// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The reader of .zstf. Nothing that the file says is believed before it was compared. */
#include <flowtap/zstf.h>

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/read_at.h"

#define INPUT (128U << 10)
#define CHUNK_MAX (1ULL << 30)
#define FRAME_HEAD 5U		/* of a frame (RFC 8878 3.1.1): its magic number and descriptor */
#define FRAME_CHECKSUM 4U	/* in the descriptor */
#define SALVAGE_PIECE 16U	/* bytes of a frame that may have to be given up with a damaged block */

struct flowtap_zstf_reader {
	int fd;
	uint64_t size;			/* of the file */
	struct flowtap_zstf_info info;
	struct flowtap_zstf_chunk chunk;	/* the one that is read ... */
	uint64_t next;			/* ... and the number of the one after it */
	uint64_t at;			/* in the file, of what is not in `input` yet */
	uint64_t left;			/* uncompressed bytes that are to come */
	bool ended;
	bool scanning;			/* chunks are found by their frames, no index says of them */
	uint64_t frame_end;		/* where the last chunk ended; 0: it was damaged */
	ZSTD_DCtx *context;
	ZSTD_inBuffer in;
	uint64_t offset;
	char reason[120];
	uint8_t input[INPUT];
};

__attribute__((format(printf, 3, 4)))
static int bad(struct flowtap_zstf_reader *reader, uint64_t offset, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(reader->reason, sizeof(reader->reason), format, arguments);
	va_end(arguments);
	reader->offset = offset;
	return -EBADMSG;
}

static uint64_t word(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return le64toh(value);
}

static int read_index(struct flowtap_zstf_reader *reader)
{
	struct flowtap_zstf_info *info = &reader->info;
	uint8_t bytes[8];
	uint64_t capacity, chunks;
	int error;

	if (!info->index_offset)
		return bad(reader, 12, "it has no index: its writer ended before the first chunk");
	if (info->index_offset <= FLOWTAP_ZSTF_HEAD || info->index_offset > reader->size ||
	    reader->size - info->index_offset < sizeof(bytes))
		return bad(reader, 12, "the index is at %" PRIu64 ", the file has %" PRIu64
			   " bytes", info->index_offset, reader->size);
	error = flowtap_read_all_at(reader->fd, bytes, sizeof(bytes), info->index_offset, -EIO);
	if (error)
		return error;
	capacity = reader->size - info->index_offset - sizeof(bytes);
	chunks = word(bytes);
	if (!chunks || chunks > capacity / FLOWTAP_ZSTF_ENTRY)
		return bad(reader, info->index_offset, "an index of %" PRIu64
			   " chunks in %" PRIu64 " bytes", chunks, capacity);
	info->chunks = chunks;
	info->slack = capacity - info->chunks * FLOWTAP_ZSTF_ENTRY;
	info->slack_offset = reader->size - info->slack;
	return 0;
}

static int read_head(struct flowtap_zstf_reader *reader)
{
	uint8_t head[FLOWTAP_ZSTF_HEAD];
	int error;

	if (reader->size < sizeof(head))
		return bad(reader, 0, "the file ends within its head");
	error = flowtap_read_all_at(reader->fd, head, sizeof(head), 0, -EIO);
	if (error)
		return error;
	if (memcmp(head, FLOWTAP_ZSTF_MAGIC, 4))
		return bad(reader, 0, "it does not begin with ZSTF");
	reader->frame_end = FLOWTAP_ZSTF_HEAD;
	reader->info.markers = word(head + 4);
	reader->info.index_offset = word(head + 12);
	if (!reader->info.markers)
		return bad(reader, 4, "chunks of 0 instructions");
	return read_index(reader);
}

int flowtap_zstf_open(int fd, struct flowtap_zstf_reader **out)
{
	struct flowtap_zstf_reader *reader = calloc(1, sizeof(*reader));
	struct stat stat;
	int error = -ENOMEM;

	*out = NULL;
	if (!reader)
		return error;
	reader->fd = fd;
	reader->ended = true;
	reader->in.src = reader->input;
	reader->context = ZSTD_createDCtx();
	if (reader->context)
		error = fstat(fd, &stat) ? -errno : 0;
	if (!error) {
		reader->size = (uint64_t)stat.st_size;
		error = read_head(reader);
	}
	if (error && error != -EBADMSG)
		flowtap_zstf_close(reader);
	else
		*out = reader;
	return error;
}

/* Up to where chunks can be: the index, if there is one. */
static uint64_t scan_limit(const struct flowtap_zstf_reader *reader)
{
	return reader->info.chunks ? reader->info.index_offset : reader->size;
}

int flowtap_zstf_scan(struct flowtap_zstf_reader *reader)
{
	if (!reader->frame_end)
		return -EBADMSG;
	/* The chunk whose entry was wrong is found now. */
	if (reader->next)
		reader->next--;
	reader->scanning = true;
	reader->info.chunks = 0;
	return 0;
}

static int check_entry(struct flowtap_zstf_reader *reader, uint64_t before)
{
	const struct flowtap_zstf_chunk *chunk = &reader->chunk;
	uint64_t at = reader->info.index_offset + 8 + chunk->number * FLOWTAP_ZSTF_ENTRY;

	if (chunk->offset != before)
		return bad(reader, at, "chunk %" PRIu64 " begins at %" PRIu64
			   ", not after what is before it", chunk->number, chunk->offset);
	if (chunk->offset >= chunk->end || chunk->end > reader->info.index_offset)
		return bad(reader, at, "chunk %" PRIu64 " from %" PRIu64 " to %" PRIu64
			   ", the index is at %" PRIu64, chunk->number, chunk->offset, chunk->end,
			   reader->info.index_offset);
	if (!chunk->number && chunk->start_pc)
		return bad(reader, at + 8, "the first chunk has a start PC");
	if (chunk->bytes > CHUNK_MAX)
		return bad(reader, at + 16, "chunk %" PRIu64 " is said to have %" PRIu64
			   " bytes, more than readers take", chunk->number, chunk->bytes);
	return 0;
}

static void begin_frame(struct flowtap_zstf_reader *reader, uint64_t left)
{
	reader->at = reader->chunk.offset;
	reader->left = left;
	reader->in.size = reader->in.pos = 0;
	reader->ended = false;
	reader->frame_end = 0;
	ZSTD_DCtx_reset(reader->context, ZSTD_reset_session_only);
}

/* What is after the last chunk. 0. */
static int end_scan(struct flowtap_zstf_reader *reader)
{
	struct flowtap_zstf_info *info = &reader->info;
	uint64_t end = reader->frame_end;

	if (!end)
		return 0;
	info->complete = end == info->index_offset;
	if (end < scan_limit(reader) && !info->complete) {
		info->slack += scan_limit(reader) - end;
		info->slack_offset = end;
	}
	/* Once. */
	reader->frame_end = 0;
	return 0;
}

/*
 * The next frame, if one begins where the last one ended. In front of an index that does not know
 * of it a writer may have been at work: what was there before can follow on what it wrote, so
 * that only a checksum shows that all is there.
 */
static int find_frame(struct flowtap_zstf_reader *reader)
{
	uint64_t at = reader->frame_end, limit = scan_limit(reader);
	uint8_t head[8] = { 0 };
	int error;

	if (!at || limit < at || limit - at < FRAME_HEAD)
		return end_scan(reader);
	error = flowtap_read_all_at(reader->fd, head, FRAME_HEAD, at, -EIO);
	if (error)
		return error;
	if ((uint32_t)word(head) != ZSTD_MAGICNUMBER ||
	    (reader->info.chunks && !(head[4] & FRAME_CHECKSUM)))
		return end_scan(reader);
	reader->chunk = (struct flowtap_zstf_chunk){
		.number = reader->next++, .offset = at, .end = limit, .found = true,
	};
	begin_frame(reader, CHUNK_MAX);
	reader->info.found++;
	return 1;
}

static int next_entry(struct flowtap_zstf_reader *reader)
{
	uint64_t number = reader->next;
	/* Where that is not known, because it is damaged, the index says it. */
	uint64_t before = reader->frame_end ? reader->frame_end : reader->chunk.end;
	bool last = number + 1 >= reader->info.chunks;
	uint8_t entry[FLOWTAP_ZSTF_ENTRY + 8];
	int error;

	/* With the offset of the one after it. */
	error = flowtap_read_all_at(reader->fd, entry, last ? FLOWTAP_ZSTF_ENTRY : sizeof(entry),
				    reader->info.index_offset + 8 + number * FLOWTAP_ZSTF_ENTRY,
				    -EIO);
	if (error)
		return error;
	reader->next++;
	reader->chunk = (struct flowtap_zstf_chunk){
		.number = number,
		.offset = word(entry),
		.start_pc = word(entry + 8),
		.bytes = word(entry + 16),
		.end = last ? reader->info.index_offset : word(entry + FLOWTAP_ZSTF_ENTRY),
	};
	error = check_entry(reader, before);
	if (error)
		return error;
	begin_frame(reader, reader->chunk.bytes);
	return 1;
}

int flowtap_zstf_next(struct flowtap_zstf_reader *reader, struct flowtap_zstf_chunk *chunk)
{
	int got;

	reader->ended = true;
	reader->scanning |= reader->next >= reader->info.chunks;
	got = reader->scanning ? find_frame(reader) : next_entry(reader);
	if (got == 1 || got == -EBADMSG)
		*chunk = reader->chunk;
	return got;
}

int flowtap_zstf_seek(struct flowtap_zstf_reader *reader, uint64_t number, uint64_t *bytes)
{
	int got;

	*bytes = 0;
	if (reader->scanning)
		return bad(reader, 12, "no index says where its chunks are");
	if (number >= reader->info.chunks)
		return -EINVAL;
	reader->ended = true;
	reader->next = 0;
	reader->frame_end = FLOWTAP_ZSTF_HEAD;
	while (reader->next < number) {
		got = next_entry(reader);
		if (got < 0)
			return got;
		*bytes += reader->chunk.bytes;
		reader->frame_end = reader->chunk.end;
	}
	return 0;
}

static int refill(struct flowtap_zstf_reader *reader)
{
	uint64_t left = scan_limit(reader) - reader->at;
	size_t size = left < INPUT ? (size_t)left : INPUT;
	bool first = reader->at == reader->chunk.offset;
	int error;

	/* Where no index was written over, all that is there is right. */
	reader->info.cut = !size && reader->chunk.found && !reader->info.chunks &&
			   (!reader->info.index_offset || reader->info.index_offset > reader->size);
	if (reader->info.cut)
		return bad(reader, reader->at, "the file ends within chunk %" PRIu64,
			   reader->chunk.number);
	if (!size)
		return bad(reader, reader->at, "chunk %" PRIu64 " ends within its zstd frame",
			   reader->chunk.number);
	error = flowtap_read_all_at(reader->fd, reader->input, size, reader->at, -EIO);
	if (error)
		return error;
	reader->in.size = size;
	reader->in.pos = 0;
	reader->at += size;
	if (first && (size < 4 || (uint32_t)word(reader->input) != ZSTD_MAGICNUMBER))
		return bad(reader, reader->chunk.offset, "chunk %" PRIu64 " is no zstd frame",
			   reader->chunk.number);
	return 0;
}

/* The frame is over: where, the next entry is compared with. */
static int end_chunk(struct flowtap_zstf_reader *reader)
{
	uint64_t end = reader->at - reader->in.size + reader->in.pos;

	reader->ended = true;
	if (reader->chunk.found) {
		reader->frame_end = end;
		return 0;
	}
	if (reader->left)
		return bad(reader, reader->chunk.offset, "chunk %" PRIu64 " has %" PRIu64
			   " bytes less than the index says", reader->chunk.number, reader->left);
	reader->frame_end = end;
	return 0;
}

/* One byte more than is to come is asked for, to see that it does not come. */
static int decompress(struct flowtap_zstf_reader *reader, ZSTD_outBuffer *out)
{
	size_t before = out->pos, capacity = out->size - before, more;

	if (capacity > reader->left)
		out->size = before + (size_t)reader->left + 1;
	more = ZSTD_decompressStream(reader->context, out, &reader->in);
	out->size = before + capacity;
	if (ZSTD_isError(more)) {
		reader->info.cut = false;
		return bad(reader, reader->chunk.offset, "chunk %" PRIu64
			   " cannot be decompressed: %s", reader->chunk.number,
			   ZSTD_getErrorName(more));
	}
	if (out->pos - before > reader->left)
		return bad(reader, reader->chunk.offset, "chunk %" PRIu64
			   " has more bytes than the index says", reader->chunk.number);
	reader->left -= out->pos - before;
	return more ? 0 : end_chunk(reader);
}

/* What was read before the cut may not all have come out yet. */
static int flush(struct flowtap_zstf_reader *reader, ZSTD_outBuffer *out, int error)
{
	size_t before = out->pos;
	int status = decompress(reader, out);

	return status || out->pos > before ? status : error;
}

long flowtap_zstf_read(struct flowtap_zstf_reader *reader, void *bytes, size_t size)
{
	/* At the end of a frame there has to be a byte of space, or it would not be seen. */
	ZSTD_outBuffer out = { .dst = bytes, .size = size };
	int error = 0;

	while (!reader->ended && out.pos < size && !error) {
		if (reader->in.pos == reader->in.size)
			error = refill(reader);
		if (!error)
			error = decompress(reader, &out);
		else if (reader->info.cut)
			error = flush(reader, &out, error);
	}
	if (!error || (reader->info.cut && out.pos))
		return (long)out.pos;
	reader->ended = true;
	return error;
}

/* A block comes out whole or not at all: small pieces keep those before a damaged one. */
static size_t decompress_pieces(ZSTD_DCtx *context, const uint8_t *input, size_t have,
				ZSTD_outBuffer *out)
{
	size_t more = 1;

	for (size_t at = 0; at < have && more && out->pos < out->size; at += SALVAGE_PIECE) {
		size_t piece = have - at < SALVAGE_PIECE ? have - at : SALVAGE_PIECE;
		ZSTD_inBuffer in = { .src = input + at, .size = piece };

		do {
			more = ZSTD_decompressStream(context, out, &in);
		} while (!ZSTD_isError(more) && in.pos < in.size && out->pos < out->size && more);
		if (ZSTD_isError(more))
			break;
	}
	return out->pos;
}

long flowtap_zstf_salvage(const struct flowtap_zstf_reader *reader, void *bytes, size_t size)
{
	ZSTD_outBuffer out = { .dst = bytes, .size = size };
	uint64_t have = reader->size > FLOWTAP_ZSTF_HEAD ? reader->size - FLOWTAP_ZSTF_HEAD : 0;
	ZSTD_DCtx *context = ZSTD_createDCtx();
	uint8_t *input = malloc(INPUT);
	long n = -ENOMEM;

	have = have < INPUT ? have : INPUT;
	if (context && input)
		n = flowtap_read_all_at(reader->fd, input, (size_t)have, FLOWTAP_ZSTF_HEAD, -EIO);
	if (!n)
		n = (long)decompress_pieces(context, input, (size_t)have, &out);
	ZSTD_freeDCtx(context);
	free(input);
	return n;
}

const char *flowtap_zstf_problem(const struct flowtap_zstf_reader *reader, uint64_t *offset)
{
	if (offset)
		*offset = reader->offset;
	return reader->reason;
}

const struct flowtap_zstf_info *flowtap_zstf_info(const struct flowtap_zstf_reader *reader)
{
	return &reader->info;
}

void flowtap_zstf_close(struct flowtap_zstf_reader *reader)
{
	if (!reader)
		return;
	ZSTD_freeDCtx(reader->context);
	free(reader);
}
