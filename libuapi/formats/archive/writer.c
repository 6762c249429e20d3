// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The writer of archives; reader.c reads them. */
#include <flowtap/archive.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "formats/archive/header.h"
#include "formats/archive/reserve.h"

#define BUFFER (1U << 20)
#define DIRECT (1U << 16)	/* a block this large is written from where it lies */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "archives are written as memory is");
_Static_assert(sizeof(struct flowtap_archive_header) == 16, "layout");
_Static_assert(sizeof(struct flowtap_archive_block_header) == 24, "layout");
_Static_assert(sizeof(struct flowtap_archive_mapping) == 80, "layout");
_Static_assert(sizeof(struct flowtap_archive_task) == 48, "layout");

struct flowtap_archive_writer {
	int fd;
	int failed;		/* the first error of write */
	bool reserved;		/* the fd's offset is not where the next byte goes */
	off_t start;		/* of the archive in the file; -1: it cannot be written at offsets */
	size_t used;		/* bytes in buffer */
	uint64_t written;	/* bytes of the archive in the file, or given away */
	uint8_t buffer[BUFFER];
};

/* The fd's offset; -1 where it can only be written one byte after the other. */
static off_t start_of(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	/* pwrite on such a file appends, too. */
	if (flags < 0 || flags & O_APPEND)
		return -1;
	return lseek(fd, 0, SEEK_CUR);
}

int flowtap_archive_create(int fd, struct flowtap_archive_writer **out)
{
	struct flowtap_archive_writer *writer = malloc(sizeof(*writer));
	const struct flowtap_archive_header header = flowtap_archive_header_made();
	int saved = errno;

	if (!writer)
		return -ENOMEM;
	writer->fd = fd;
	writer->failed = 0;
	writer->reserved = false;
	writer->start = start_of(fd);
	errno = saved;
	writer->written = 0;
	writer->used = sizeof(header);
	memcpy(writer->buffer, &header, sizeof(header));
	*out = writer;
	return 0;
}

/* Takes `n` bytes from the head of the parts; how many parts are empty then. */
static int take(struct iovec *parts, int n_parts, size_t n)
{
	int i = 0;

	for (; i < n_parts && n >= parts[i].iov_len; i++)
		n -= parts[i].iov_len;
	if (i < n_parts) {
		parts[i].iov_base = (uint8_t *)parts[i].iov_base + n;
		parts[i].iov_len -= n;
	}
	return i;
}

static ssize_t write_some(const struct flowtap_archive_writer *writer, const struct iovec *parts,
			  int n, uint64_t written)
{
	if (writer->reserved)
		return pwritev(writer->fd, parts, n, writer->start + (off_t)written);
	return writev(writer->fd, parts, n);
}

/* After what is in the file. Changes parts. 0 or -errno; *done: so many bytes are there. */
static int write_all(const struct flowtap_archive_writer *writer, struct iovec *parts, int n_parts,
		     uint64_t *done)
{
	int empty = take(parts, n_parts, 0);

	while (parts += empty, n_parts -= empty, n_parts) {
		ssize_t n = write_some(writer, parts, n_parts, writer->written + *done);

		empty = 0;
		if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = writer->fd, .events = POLLOUT };

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			*done += (uint64_t)n;
			empty = take(parts, n_parts, (size_t)n);
		}
	}
	return 0;
}

/* With its header, and zeros up to a multiple of 8. */
static size_t block_bytes(const struct flowtap_archive_block_header *header)
{
	return sizeof(*header) + ((header->size + 7U) & ~7U);
}

/* Of the first bytes of the buffer, which begins with a block, or with the archive's header. */
static uint64_t whole_blocks(const struct flowtap_archive_writer *writer, uint64_t bytes)
{
	struct flowtap_archive_block_header header;
	uint64_t end = writer->written ? 0 : sizeof(struct flowtap_archive_header), whole = 0;

	for (; end <= bytes && end <= writer->used; end += block_bytes(&header)) {
		whole = end;
		if (end + sizeof(header) > writer->used)
			break;
		memcpy(&header, writer->buffer + end, sizeof(header));
	}
	return whole;
}

/*
 * The same once; after an error nothing is tried any more, and a block that is not whole goes out
 * of the file.
 */
static int write_parts(struct flowtap_archive_writer *writer, struct iovec *parts, int n)
{
	uint64_t done = 0;
	int saved = errno;

	if (writer->failed)
		return writer->failed;
	writer->failed = write_all(writer, parts, n, &done);
	writer->written += writer->failed ? whole_blocks(writer, done) : done;
	/* Else its reader passes over it. */
	if (writer->failed && writer->start >= 0)
		(void)!ftruncate(writer->fd, writer->start + (off_t)writer->written);
	errno = saved;
	return writer->failed;
}

int flowtap_archive_flush(struct flowtap_archive_writer *writer)
{
	struct iovec part = { writer->buffer, writer->used };
	int err = write_parts(writer, &part, 1);

	if (!err)
		writer->used = 0;
	return err;
}

/* A block's header, with its checksum. 0; what flowtap_archive_write says. */
static int begin(const struct flowtap_archive_writer *writer, uint32_t type, uint32_t cpu,
		 uint64_t time, const struct iovec payload[2],
		 struct flowtap_archive_block_header *header)
{
	uint32_t crc;

	if (writer->failed)
		return writer->failed;
	if (type > UINT16_MAX)
		return -EINVAL;
	if (payload[0].iov_len > FLOWTAP_ARCHIVE_BLOCK_MAX ||
	    payload[1].iov_len > FLOWTAP_ARCHIVE_BLOCK_MAX - payload[0].iov_len)
		return -EMSGSIZE;
	*header = (struct flowtap_archive_block_header) {
		.type = (uint16_t)type,
		.mark = FLOWTAP_ARCHIVE_MARK,
		.size = (uint32_t)(payload[0].iov_len + payload[1].iov_len),
		.cpu = cpu,
		.time = time,
	};
	crc = flowtap_crc32c(0, header, sizeof(*header));
	crc = flowtap_crc32c(crc, payload[0].iov_base, payload[0].iov_len);
	header->crc = flowtap_crc32c(crc, payload[1].iov_base, payload[1].iov_len);
	return 0;
}

int flowtap_archive_write(struct flowtap_archive_writer *writer, uint32_t type, uint32_t cpu,
			  uint64_t time, const void *first, size_t first_size, const void *second,
			  size_t second_size)
{
	static const uint8_t zeros[8];
	struct flowtap_archive_block_header header;
	struct iovec parts[4] = {
		{ &header, sizeof(header) },
		{ (void *)first, first_size },
		{ (void *)second, second_size },
		{ (void *)zeros, -(first_size + second_size) & 7 },
	};
	int err = begin(writer, type, cpu, time, &parts[1], &header);

	if (err)
		return err;
	/* What the buffer has are whole blocks. */
	if (header.size >= DIRECT || block_bytes(&header) > BUFFER - writer->used)
		err = flowtap_archive_flush(writer);
	if (err || header.size >= DIRECT)
		return err ? err : write_parts(writer, parts, 4);
	for (int i = 0; i < 4; i++) {
		if (parts[i].iov_len)
			memcpy(writer->buffer + writer->used, parts[i].iov_base, parts[i].iov_len);
		writer->used += parts[i].iov_len;
	}
	return 0;
}

bool flowtap_archive_can_reserve(const struct flowtap_archive_writer *writer)
{
	return writer->start >= 0;
}

int flowtap_archive_fd(const struct flowtap_archive_writer *writer)
{
	return writer->fd;
}

int flowtap_archive_reserve(struct flowtap_archive_writer *writer,
			    struct flowtap_archive_block_header *header,
			    const struct iovec payload[2], uint64_t *offset)
{
	int err;

	if (!flowtap_archive_can_reserve(writer))
		return -EINVAL;
	err = begin(writer, header->type, header->cpu, header->time, payload, header);
	if (!err)
		err = flowtap_archive_flush(writer);
	if (err)
		return err;
	writer->reserved = true;
	*offset = (uint64_t)writer->start + writer->written;
	writer->written += block_bytes(header);
	return 0;
}

void flowtap_archive_fail(struct flowtap_archive_writer *writer, int error)
{
	if (!writer->failed)
		writer->failed = error;
}

void flowtap_archive_withdraw(const struct flowtap_archive_writer *writer, uint64_t at)
{
	static const struct flowtap_archive_block_header none;
	off_t offset = writer->start + (off_t)at;
	int saved = errno;
	struct stat file;

	if (writer->start >= 0 && !fstat(writer->fd, &file) &&
	    offset + (off_t)sizeof(none) <= file.st_size)
		(void)!pwrite(writer->fd, &none, sizeof(none), offset);
	errno = saved;
}

int flowtap_archive_seek_end(struct flowtap_archive_writer *writer)
{
	int saved = errno, err = writer->failed;

	if (writer->reserved && !err) {
		if (lseek(writer->fd, writer->start + (off_t)writer->written, SEEK_SET) < 0)
			err = -errno;
		else
			writer->reserved = false;
	}
	errno = saved;
	return err;
}

uint64_t flowtap_archive_written(const struct flowtap_archive_writer *writer)
{
	return writer->written;
}

uint64_t flowtap_archive_size(const struct flowtap_archive_writer *writer)
{
	return writer->written + writer->used;
}

void flowtap_archive_writer_free(struct flowtap_archive_writer *writer)
{
	free(writer);
}
