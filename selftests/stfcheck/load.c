// SPDX-License-Identifier: GPL-2.0-only
/*
 * Files. A .zstf is "ZSTF", u64 opcode records in a chunk, u64 offset of the index, then chunks,
 * each one zstd frame, up to the index.
 */
#include "stfcheck.h"

#include "records.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define LIMIT		(1ULL << 30)
#define ZSTF_HEAD	20

static int read_all(int fd, uint8_t **bytes, size_t *size)
{
	struct stat stat;
	ssize_t n = 1;
	size_t at = 0;

	if (fstat(fd, &stat))
		return -errno;
	if ((uint64_t)stat.st_size > LIMIT)
		return -EFBIG;
	*bytes = malloc(stat.st_size + 1);
	if (!*bytes)
		return -ENOMEM;
	for (; at < (size_t)stat.st_size && n > 0; at += n) {
		n = read(fd, *bytes + at, stat.st_size - at);
		if (n < 0) {
			n = -errno;
			free(*bytes);
			return n;
		}
	}
	*size = at;
	return 0;
}

static int unpack_more(ZSTD_DStream *stream, ZSTD_inBuffer *in, ZSTD_outBuffer *out, size_t *left)
{
	if (out->pos >= out->size / 2) {
		size_t size = out->size ? 2 * out->size : 1 << 20;
		void *grown;

		if (size > LIMIT)
			return -EFBIG;
		grown = realloc(out->dst, size);
		if (!grown)
			return -ENOMEM;
		out->dst = grown;
		out->size = size;
	}
	*left = ZSTD_decompressStream(stream, out, in);
	return ZSTD_isError(*left) ? -EBADMSG : 0;
}

/* left: 0 at the end of a frame. */
static int unpack(const uint8_t *packed, size_t size, uint8_t **bytes, size_t *out_size)
{
	ZSTD_inBuffer in = { .src = packed, .pos = ZSTF_HEAD };
	ZSTD_DStream *stream = ZSTD_createDStream();
	uint64_t index = get(packed + 12, 8);
	ZSTD_outBuffer out = { 0 };
	size_t left = 1, before;
	int error = stream ? 0 : -ENOMEM;

	if (!error && (index <= ZSTF_HEAD || index > size))
		error = -EBADMSG;
	in.size = index;
	while (!error && (in.pos < in.size || left)) {
		before = in.pos + out.pos;
		error = unpack_more(stream, &in, &out, &left);
		if (!error && in.pos + out.pos == before && in.pos == in.size && left)
			error = -EBADMSG;
	}
	ZSTD_freeDStream(stream);
	if (error) {
		free(out.dst);
		return error;
	}
	*bytes = out.dst;
	*out_size = out.pos;
	return 0;
}

int stfcheck_load(const char *path, uint8_t **bytes, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), error;
	uint8_t *packed;

	if (fd < 0)
		return -errno;
	error = read_all(fd, bytes, size);
	close(fd);
	if (error || *size < ZSTF_HEAD || memcmp(*bytes, "ZSTF", 4))
		return error;
	packed = *bytes;
	error = unpack(packed, *size, bytes, size);
	free(packed);
	return error;
}
