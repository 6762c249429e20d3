// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Unpacks. Nothing that the file says is believed: neither sizes nor where frames end. */
#include <flowtap/packed.h>

#include <endian.h>
#include <errno.h>
#include <flowtap/archive.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/read_at.h"
#include "base/write_all.h"
#include "formats/archive/header.h"

#define INPUT (128U << 10)
#define OUTPUT (256U << 10)
#define MAGIC 4U
#define HEAD 18U		/* bytes of a frame's header, at most (RFC 8878 3.1.1.1) */
#define SKIPPABLE 0x184d2a50U	/* to 0x184d2a5f (RFC 8878 3.1.2) */
/* Before the first bytes come out the first block must be there (RFC 8878 3.1.1.2.4). */
#define PEEK ((128U << 10) + 64U)

struct unpacking {
	int from, to;
	uint64_t limit;
	ZSTD_DCtx *context;
	uint64_t at;			/* in `from`, of what was not taken yet */
	uint64_t position;		/* in `to` */
	struct flowtap_unpacked *result;
	bool wide;			/* the first damage is a window that is too large */
	ZSTD_inBuffer in;
	uint8_t input[INPUT];
	uint8_t output[OUTPUT];
};

static uint32_t word(const uint8_t *bytes)
{
	uint32_t value;

	memcpy(&value, bytes, sizeof(value));
	return le32toh(value);
}

static bool is_skippable(uint32_t magic)
{
	return (magic & ~0xfU) == SKIPPABLE;
}

static void report_damage(struct unpacking *unpacking, uint64_t offset, const char *reason)
{
	struct flowtap_unpacked *result = unpacking->result;

	if (result->damages++)
		return;
	result->offset = offset;
	result->reason = reason;
}

/*
 * What ends it all. A window that is too large may be one of a head that is damaged, or of none: that
 * is so where any frame is good.
 */
static int own_error(struct unpacking *unpacking, size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_frameParameter_windowTooLarge:
		unpacking->wide |= !unpacking->result->damages;
		return 0;
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	default:
		return 0;
	}
}

/* --- One frame. --- */

static int write_output(struct unpacking *unpacking, size_t size)
{
	int error;

	if (size > unpacking->limit - unpacking->position)
		return -EFBIG;
	error = flowtap_write_all_at(unpacking->to, unpacking->output, size, unpacking->position);
	if (!error)
		unpacking->position += size;
	return error;
}

/* 1: it is whole, and ->at after it; 0: it is not, which was reported; -errno. */
static int unpack_frame(struct unpacking *unpacking)
{
	const uint64_t begin = unpacking->at;
	uint64_t next = begin;
	size_t left = 1;

	ZSTD_DCtx_reset(unpacking->context, ZSTD_reset_session_only);
	unpacking->in.pos = unpacking->in.size = 0;
	while (left) {
		ZSTD_outBuffer out = { .dst = unpacking->output, .size = OUTPUT };
		int error;

		if (unpacking->in.pos == unpacking->in.size) {
			unpacking->in.pos = 0;
			unpacking->in.size = flowtap_read_at(unpacking->from, unpacking->input,
							     INPUT, next, &error);
			if (error)
				return error;
			next += unpacking->in.size;
		}
		left = ZSTD_decompressStream(unpacking->context, &out, &unpacking->in);
		error = ZSTD_isError(left) ? own_error(unpacking, left) : 0;
		if (!error)
			error = write_output(unpacking, out.pos);
		if (error)
			return error;
		if (ZSTD_isError(left)) {
			report_damage(unpacking, begin, ZSTD_getErrorName(left));
			return 0;
		}
		/* Nothing more is to be read, and nothing more came out. */
		if (left && !unpacking->in.size && !out.pos) {
			unpacking->result->cut = true;
			report_damage(unpacking, begin, "the file ends within this zstd frame");
			return 0;
		}
	}
	unpacking->at = next - (unpacking->in.size - unpacking->in.pos);
	unpacking->result->frames++;
	unpacking->result->cut = false;
	return 1;
}

/* --- Damage. --- */

/*
 * Where what follows the frame was, as far as that can be known: after as many bytes as it says,
 * if these are no more than a frame of ours has. Else, as blocks do, at a multiple of 8.
 */
static int pad(struct unpacking *unpacking, uint64_t begin, uint64_t content)
{
	uint64_t end = (unpacking->position + 7) & ~7ULL;

	if (content <= FLOWTAP_PACKED_FRAME && begin + content >= unpacking->position)
		end = begin + content;
	if (end > unpacking->limit)
		return -EFBIG;
	unpacking->result->zeros += end - unpacking->position;
	unpacking->position = end;
	return ftruncate(unpacking->to, (off_t)end) ? -errno : 0;
}

/* The next offset from ->at on where a frame may begin; the end of the file, or some offset from `end` on. */
static int search(struct unpacking *unpacking, uint64_t end)
{
	size_t n = 0;
	int error = 0;

	while (unpacking->at < end &&
	       (n = flowtap_read_at(unpacking->from, unpacking->input, INPUT, unpacking->at,
				    &error)) >= MAGIC) {
		for (size_t i = 0; i + MAGIC <= n; i++) {
			uint32_t magic = word(unpacking->input + i);

			if (magic != ZSTD_MAGICNUMBER)
				continue;
			unpacking->at += i;
			return 0;
		}
		unpacking->at += n - MAGIC + 1;
	}
	unpacking->at += n < MAGIC ? n : 0;
	return error;
}

/* A skippable frame, of which the size is taken only where the file has as much. 1 or -errno. */
static int skip_frame(struct unpacking *unpacking, uint32_t size)
{
	const uint64_t at = unpacking->at, end = at + 8 + size;
	uint8_t last;
	int error;

	if (flowtap_read_at(unpacking->from, &last, 1, end - 1, &error)) {
		unpacking->at = end;
		return 1;
	}
	if (error)
		return error;
	unpacking->result->cut = true;
	report_damage(unpacking, at, "the file ends within this skippable zstd frame");
	unpacking->at = at + MAGIC;
	error = search(unpacking, UINT64_MAX);
	return error ? error : 1;
}

/* A frame, or what is there instead. 1: there was something; 0: the end; -errno. */
static int next(struct unpacking *unpacking)
{
	const uint64_t at = unpacking->at, begin = unpacking->position;
	uint64_t content;
	uint8_t head[HEAD];
	int result;
	size_t n = flowtap_read_at(unpacking->from, head, sizeof(head), at, &result);

	if (result || !n)
		return result;
	if (n >= 8 && is_skippable(word(head)))
		return skip_frame(unpacking, word(head + 4));
	if (n < MAGIC || word(head) != ZSTD_MAGICNUMBER) {
		report_damage(unpacking, at, "no zstd frame begins here");
		result = search(unpacking, UINT64_MAX);
		return result ? result : 1;
	}
	content = ZSTD_getFrameContentSize(head, n);
	result = unpack_frame(unpacking);
	if (result)
		return result;
	/* One that seems to be cut may be one whose length is damaged. */
	unpacking->at = at + MAGIC;
	result = search(unpacking, UINT64_MAX);
	/* Where nothing follows there is nothing to keep its place for. */
	if (!result && flowtap_read_at(unpacking->from, head, 1, unpacking->at, &result))
		result = pad(unpacking, begin, content);
	return result ? result : 1;
}

static int unpack(struct unpacking *unpacking)
{
	int result;

	do {
		if (unpacking->result->damages > FLOWTAP_PACKED_DAMAGES)
			return 0;
		result = next(unpacking);
	} while (result > 0);
	return result;
}

/*
 * What an archive begins with went with its first frame: without it no reader takes the rest, in which
 * each block has a checksum of its own. 0 or -errno.
 */
static int restore_header(const struct unpacking *unpacking)
{
	const struct flowtap_archive_header header = flowtap_archive_header_made();
	static const uint8_t zeros[sizeof(header)];
	uint8_t begin[sizeof(header)];
	int error;

	if (!unpacking->result->damages || unpacking->position < sizeof(begin) ||
	    flowtap_read_at(unpacking->to, begin, sizeof(begin), 0, &error) < sizeof(begin) ||
	    memcmp(begin, zeros, sizeof(begin)))
		return 0;
	return flowtap_write_all_at(unpacking->to, &header, sizeof(header), 0);
}

static struct unpacking *new(int from, int to)
{
	struct unpacking *unpacking = calloc(1, sizeof(*unpacking));
	int log = __builtin_ctz(FLOWTAP_PACKED_WINDOW);

	if (!unpacking)
		return NULL;
	unpacking->from = from;
	unpacking->to = to;
	unpacking->in.src = unpacking->input;
	unpacking->context = ZSTD_createDCtx();
	if (unpacking->context &&
	    !ZSTD_isError(ZSTD_DCtx_setParameter(unpacking->context, ZSTD_d_windowLogMax, log)))
		return unpacking;
	ZSTD_freeDCtx(unpacking->context);
	free(unpacking);
	return NULL;
}

static void release(struct unpacking *unpacking)
{
	ZSTD_freeDCtx(unpacking->context);
	free(unpacking);
}

int flowtap_unpack(int from, int to, uint64_t limit, struct flowtap_unpacked *unpacked)
{
	struct unpacking *unpacking = new(from, to);
	int saved = errno, error;

	*unpacked = (struct flowtap_unpacked){ 0 };
	if (!unpacking)
		return -ENOMEM;
	unpacking->limit = limit;
	unpacking->result = unpacked;
	error = unpack(unpacking);
	if (!error && unpacking->wide && !unpacked->frames)
		error = -EOVERFLOW;
	if (!error)
		error = restore_header(unpacking);
	unpacked->bytes = unpacking->position;
	release(unpacking);
	errno = saved;
	return error;
}

/* The first bytes that come out of the file: how many. ->output has those that it begins with. */
static size_t peek(int fd, struct unpacking *unpacking, uint8_t *bytes, size_t size)
{
	ZSTD_outBuffer out = { .dst = bytes, .size = size };
	ZSTD_inBuffer in = { .src = unpacking->output };
	size_t left = 1;
	int error;

	in.size = flowtap_read_at(fd, unpacking->output, PEEK, 0, &error);
	if (in.size < MAGIC || (word(unpacking->output) != ZSTD_MAGICNUMBER &&
				!is_skippable(word(unpacking->output))))
		return 0;
	while (out.pos < size && in.pos < in.size && !ZSTD_isError(left))
		left = ZSTD_decompressStream(unpacking->context, &out, &in);
	return out.pos;
}

/* Nothing comes out of the first frame: whether one of ours follows, which says how much is in it. */
static bool is_followed(struct unpacking *unpacking)
{
	const uint64_t end = MAGIC + ZSTD_compressBound(FLOWTAP_PACKED_FRAME);
	uint8_t head[HEAD];
	size_t n;
	int error;

	unpacking->at = MAGIC;
	for (unsigned int tries = 0; tries < FLOWTAP_PACKED_DAMAGES; tries++) {
		if (search(unpacking, end) || unpacking->at >= end)
			return false;
		n = flowtap_read_at(unpacking->from, head, sizeof(head), unpacking->at, &error);
		if (ZSTD_getFrameContentSize(head, n) == FLOWTAP_PACKED_FRAME)
			return true;
		unpacking->at += MAGIC;
	}
	return false;
}

bool flowtap_packed_is(int fd)
{
	uint8_t begin[sizeof(FLOWTAP_ARCHIVE_MAGIC) - 1];
	struct unpacking *unpacking;
	struct stat stat;
	int saved = errno;
	bool is = false;

	if (!fstat(fd, &stat) && S_ISREG(stat.st_mode) && (unpacking = new(fd, -1))) {
		if (peek(fd, unpacking, begin, sizeof(begin)) == sizeof(begin))
			is = !memcmp(begin, FLOWTAP_ARCHIVE_MAGIC, sizeof(begin));
		else
			is = word(unpacking->output) == ZSTD_MAGICNUMBER && is_followed(unpacking);
		release(unpacking);
	}
	errno = saved;
	return is;
}
