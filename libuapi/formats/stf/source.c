// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads an STF through one buffer: plain or gzip bytes as they come, chunks of a .zstf unpacked
 * and checked one by one.
 */
#include "formats/stf/source.h"

#include "base/file_input.h"
#include "formats/stf/records.h"

#include <errno.h>
#include <flowtap/stf_record.h>
#include <flowtap/zstf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY		(512U << 10)	/* of the records */
/* A chunk of this size is unpacked before any of it is used: its checksum is at its end. */
#define CHUNK_WHOLE	(8U << 20)

struct stf_unpack {
	int (*more)(struct stf_source *input);
	size_t capacity;
	/* .zstf */
	struct flowtap_zstf_reader *zstf;
	struct flowtap_zstf_chunk chunk;
	bool in_chunk;
	bool begun;		/* something of the records was handed on */
	bool salvaged;		/* only the header of a damaged chunk was: it is bad all the same */
	bool broken;		/* the next chunk stands alone */
	bool cut;		/* nothing comes after what there is */
	uint64_t ahead;		/* where in the records the next one begins, ... */
	uint64_t taken;		/* ... and how much of this one was read */
	struct flowtap_file_input *in;	/* plain, gzip */
	char text[200];		/* of a warning */
};

/* What is not used yet to the beginning. */
static void shift(struct stf_source *input)
{
	size_t left = input->end - input->at;

	memmove(input->bytes, input->bytes + input->at, left);
	input->offset += input->at;
	input->at = 0;
	input->end = left;
}

static int bad(struct stf_source *input, uint64_t offset, const char *reason)
{
	input->reason = reason;
	input->reason_offset = offset;
	return -EBADMSG;
}

/* Plain, or unpacked from gzip. */
static int more_in(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	ssize_t n = flowtap_file_input_read(unpack->in, input->bytes + input->end,
					    unpack->capacity - input->end);
	const char *reason;
	uint64_t offset;

	input->done = flowtap_file_input_done(unpack->in);
	if (n == -EBADMSG || n == -ENODATA) {
		input->over = true;
		reason = flowtap_file_input_problem(unpack->in, &offset);
		return bad(input, offset, reason);
	}
	if (n < 0)
		return (int)n;
	input->over = !n;
	input->end += (size_t)n;
	return 0;
}

/* What is reported, and nothing is lost. */
static void set_warning(struct stf_source *input, uint64_t offset, const char *text)
{
	input->warning = text;
	input->warning_offset = offset;
}

/* Of the reader of .zstf, which goes on by what it finds. */
static void set_problem(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	uint64_t offset;

	snprintf(unpack->text, sizeof(unpack->text), "%s; what it has is read without its index",
		 flowtap_zstf_problem(unpack->zstf, &offset));
	set_warning(input, offset, unpack->text);
}

/* What there was of the last chunk was used. */
static int cut_chunk(struct stf_source *input)
{
	const char *reason = flowtap_zstf_problem(input->unpack->zstf, &input->reason_offset);

	input->over = true;
	return bad(input, input->reason_offset, reason);
}

/* Of the header that the bytes begin with: 0, it is not whole, or none. */
static size_t header_size(const uint8_t *bytes, size_t size)
{
	struct flowtap_stf_sizes sizes = { .event_id = 4 };
	struct flowtap_stf_record record = { .descriptor = 0 };
	size_t at = 0, n;

	if (size < 4 || memcmp(bytes, "\1STF", 4))
		return 0;
	while (record.descriptor != STF_END_HEADER) {
		if (flowtap_stf_record_parse(bytes + at, size - at, &sizes, &record, &n))
			return 0;
		flowtap_stf_record_follow(&sizes, &record);
		at += n;
	}
	return at;
}

/*
 * The first chunk, which is bad, begins with the header that all after it is read by. 1: it is there,
 * and the chunk is bad when more is asked for; 0: it is not; -errno.
 */
static int salvage_header(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	long n = flowtap_zstf_salvage(unpack->zstf, input->bytes, unpack->capacity);

	input->end = n > 0 ? header_size(input->bytes, (size_t)n) : 0;
	unpack->salvaged = input->end;
	return n < 0 ? (int)n : unpack->salvaged;
}

/* What there is of it is given up: the next one stands alone. */
static int bad_chunk(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	bool first = !unpack->begun;
	int got = 0;

	unpack->begun = unpack->broken = true;
	unpack->in_chunk = false;
	input->at = input->end = 0;
	input->offset = unpack->ahead;
	input->reason = flowtap_zstf_problem(unpack->zstf, &input->reason_offset);
	if (first)
		got = salvage_header(input);
	if (got <= 0)
		return got ? got : -EBADMSG;
	input->offset = 0;
	snprintf(unpack->text, sizeof(unpack->text), "%s; nothing verifies the header that came out "
		 "of it, and it is used", input->reason);
	return 0;
}

/* All but the header of the first chunk is lost. */
static int end_salvage(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;

	unpack->salvaged = false;
	input->at = input->end = 0;
	input->offset = unpack->ahead;
	return bad(input, input->reason_offset, unpack->text);
}

static int out_of_chunks(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	const struct flowtap_zstf_info *info = flowtap_zstf_info(unpack->zstf);

	input->over = true;
	if (!unpack->broken && !info->complete)
		input->unfinished = true;
	if (!info->slack && (!info->found || !info->chunks))
		return 0;
	snprintf(unpack->text, sizeof(unpack->text), "%" PRIu64 " chunks that the index does not have "
		 "and %" PRIu64 " bytes of no chunk: the writer was interrupted",
		 info->chunks ? info->found : 0, info->slack);
	set_warning(input, info->slack ? info->slack_offset : info->index_offset, unpack->text);
	return 0;
}

/* 1: there is one; 0: no more; -EBADMSG, and others that end it. */
static int begin_chunk(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	int got = flowtap_zstf_next(unpack->zstf, &unpack->chunk);

	if (got == -EBADMSG && !flowtap_zstf_scan(unpack->zstf)) {
		set_problem(input);
		got = flowtap_zstf_next(unpack->zstf, &unpack->chunk);
	}
	if (got == -EBADMSG) {
		/* What it says of its size may be wrong, and then so are the offsets after it. */
		unpack->ahead += unpack->chunk.bytes;
		return bad_chunk(input);
	}
	if (got <= 0)
		return got ? got : out_of_chunks(input);
	input->done = unpack->chunk.offset;
	input->chunk = unpack->chunk.number;
	unpack->in_chunk = true;
	unpack->taken = 0;
	if (unpack->broken) {
		input->at = input->end = 0;
		input->offset = unpack->ahead;
		input->resumed = true;
		input->start_pc = unpack->chunk.start_pc;
		unpack->broken = false;
	}
	unpack->ahead += unpack->chunk.bytes;
	return 1;
}

/*
 * Of a chunk that is not too large for all of it. What was only found says nothing of its size: the
 * space grows with it.
 */
static int reserve_capacity(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	size_t capacity = unpack->capacity;
	uint8_t *bytes;

	if (unpack->chunk.bytes > CHUNK_WHOLE || unpack->taken > CHUNK_WHOLE)
		return 0;
	if (!unpack->chunk.found)
		capacity = input->end + (size_t)(unpack->chunk.bytes - unpack->taken) + 1;
	else if (capacity - input->end < 2)
		capacity *= 2;
	if (capacity <= unpack->capacity)
		return 0;
	bytes = realloc(input->bytes, capacity + STF_SOURCE_SLACK);
	if (!bytes)
		return -ENOMEM;
	input->bytes = bytes;
	unpack->capacity = capacity;
	return 0;
}

/* Some of the chunk. How much; 0 at its end; -EBADMSG: it is damaged; -errno. */
static long read_chunk(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	int error = reserve_capacity(input);
	long n;

	if (error)
		return error;
	/* The end of a frame is only seen where a byte more would have space. */
	n = flowtap_zstf_read(unpack->zstf, input->bytes + input->end,
			      unpack->capacity - input->end);
	if (n > 0) {
		input->end += (size_t)n;
		unpack->taken += (uint64_t)n;
	}
	return n;
}

static int more_zstf(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	bool whole;
	long n;

	if (unpack->cut)
		return cut_chunk(input);
	if (unpack->salvaged)
		return end_salvage(input);
	if (!unpack->in_chunk) {
		n = begin_chunk(input);
		if (n <= 0)
			return (int)n;
	}
	do {
		n = read_chunk(input);
		whole = unpack->chunk.bytes <= CHUNK_WHOLE && unpack->taken <= CHUNK_WHOLE;
	} while (n > 0 && whole);
	if (n == -EBADMSG && flowtap_zstf_info(unpack->zstf)->cut) {
		unpack->cut = true;
		return 0;
	}
	if (n == -EBADMSG)
		return bad_chunk(input);
	if (n < 0)
		return (int)n;
	unpack->begun = true;
	if (!n) {
		unpack->in_chunk = false;
		input->done = unpack->chunk.found ? input->done : unpack->chunk.end;
		unpack->ahead += unpack->chunk.found ? unpack->taken : 0;
	}
	return 0;
}

static int open_zstf(struct stf_source *input)
{
	int error = flowtap_zstf_open(input->fd, &input->unpack->zstf);

	/* It is read elsewhere. */
	flowtap_file_input_free(input->unpack->in);
	input->unpack->in = NULL;
	input->packed = true;
	if (error == -EBADMSG && !flowtap_zstf_scan(input->unpack->zstf)) {
		set_problem(input);
		error = 0;
	} else if (error == -EBADMSG) {
		input->reason = flowtap_zstf_problem(input->unpack->zstf, &input->reason_offset);
	}
	return error;
}

static int open_xz(struct stf_source *input)
{
	input->reason = "it is packed by xz, which cannot be read: unpack it (xz -d)";
	return -EPROTONOSUPPORT;
}

static const struct {
	const char *magic;
	size_t size;
	int (*open)(struct stf_source *input);	/* NULL: as it is read */
	int (*more)(struct stf_source *input);
} packings[] = {
	{ "\1STF", 4, NULL, more_in },
	{ FLOWTAP_ZSTF_MAGIC, 4, open_zstf, more_zstf },
	{ "\x1f\x8b\x08", 3, NULL, more_in },
	{ "\xfd""7zXZ", 6, open_xz, NULL },
};

static int look(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;
	int error = flowtap_file_input_new(input->fd, &unpack->in);
	const uint8_t *first;
	size_t n;

	if (error)
		return error;
	n = flowtap_file_input_first(unpack->in, &first);
	input->size = flowtap_file_input_size(unpack->in);
	input->packed = flowtap_file_input_packed(unpack->in);
	for (size_t i = 0; i < sizeof(packings) / sizeof(packings[0]); i++) {
		if (n < packings[i].size || memcmp(first, packings[i].magic, packings[i].size))
			continue;
		unpack->more = packings[i].more;
		return packings[i].open ? packings[i].open(input) : 0;
	}
	return -EBADMSG;
}

int stf_source_open(struct stf_source *input, int fd)
{
	int saved = errno, error;

	*input = (struct stf_source){ .fd = fd };
	input->bytes = malloc(CAPACITY + STF_SOURCE_SLACK);
	input->unpack = calloc(1, sizeof(*input->unpack));
	if (!input->bytes || !input->unpack)
		return -ENOMEM;
	input->unpack->capacity = CAPACITY;
	error = look(input);
	errno = saved;
	return error;
}

int stf_source_more(struct stf_source *input)
{
	int saved = errno, status;
	size_t left;

	if (input->over)
		return 0;
	shift(input);
	left = input->end;
	status = input->unpack->more(input);
	errno = saved;
	/* What is after the end may be looked at: not at what never was written. */
	memset(input->bytes + (status ? left : input->end), 0, STF_SOURCE_SLACK);
	return status;
}

bool stf_source_give_up(struct stf_source *input)
{
	struct stf_unpack *unpack = input->unpack;

	input->at = input->end = 0;
	if (!unpack->zstf) {
		input->over = true;
		return false;
	}
	unpack->broken = true;
	unpack->in_chunk = false;
	return !input->over;
}

bool stf_source_chunks(const struct stf_source *input, uint64_t *markers, uint64_t *chunks)
{
	const struct flowtap_zstf_info *info;

	if (!input->unpack->zstf)
		return false;
	info = flowtap_zstf_info(input->unpack->zstf);
	*markers = info->markers;
	*chunks = info->chunks;
	return info->chunks;
}

int stf_source_seek(struct stf_source *input, uint64_t number)
{
	struct stf_unpack *unpack = input->unpack;
	int error = flowtap_zstf_seek(unpack->zstf, number, &unpack->ahead);

	if (error)
		return error;
	input->at = input->end = 0;
	unpack->broken = true;
	unpack->in_chunk = false;
	return 0;
}

void stf_source_close(struct stf_source *input)
{
	if (input->unpack) {
		flowtap_zstf_close(input->unpack->zstf);
		flowtap_file_input_free(input->unpack->in);
	}
	free(input->unpack);
	free(input->bytes);
}
