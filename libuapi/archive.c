// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The writer of archives; archive_reader.c reads them. */
#include <flowtap/archive.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "crc32c.h"

#define BUFFER (1U << 20)

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "archives are written as memory is");
_Static_assert(sizeof(struct flowtap_archive_header) == 16, "layout");
_Static_assert(sizeof(struct flowtap_archive_block_header) == 24, "layout");
_Static_assert(sizeof(struct flowtap_archive_mapping) == 80, "layout");
_Static_assert(sizeof(struct flowtap_archive_task) == 48, "layout");

struct flowtap_archive_writer {
	int fd;
	int failed;		/* the first error of write */
	size_t used;		/* bytes in buffer */
	uint64_t written;	/* bytes in the file */
	uint8_t buffer[BUFFER];
};

int flowtap_archive_create(int fd, struct flowtap_archive_writer **out)
{
	struct flowtap_archive_writer *writer = malloc(sizeof(*writer));
	struct flowtap_archive_header header = { .version = FLOWTAP_ARCHIVE_VERSION };

	if (!writer)
		return -ENOMEM;
	memcpy(header.magic, FLOWTAP_ARCHIVE_MAGIC, sizeof(header.magic));
	header.crc = flowtap_crc32c(0, &header, offsetof(struct flowtap_archive_header, crc));
	writer->fd = fd;
	writer->failed = 0;
	writer->written = 0;
	writer->used = sizeof(header);
	memcpy(writer->buffer, &header, sizeof(header));
	*out = writer;
	return 0;
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
	while (size) {
		ssize_t n = write(fd, bytes, size);

		if (n < 0 && errno == EAGAIN) {
			struct pollfd wait = { .fd = fd, .events = POLLOUT };

			if (poll(&wait, 1, -1) < 0 && errno != EINTR)
				return -errno;
		} else if (n < 0 && errno != EINTR) {
			return -errno;
		} else if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
	}
	return 0;
}

int flowtap_archive_flush(struct flowtap_archive_writer *writer)
{
	int saved = errno;

	if (!writer->failed)
		writer->failed = write_all(writer->fd, writer->buffer, writer->used);
	errno = saved;
	if (writer->failed)
		return writer->failed;
	writer->written += writer->used;
	writer->used = 0;
	return 0;
}

static int put(struct flowtap_archive_writer *writer, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t n = BUFFER - writer->used;

		if (n > size)
			n = size;
		memcpy(writer->buffer + writer->used, from, n);
		writer->used += n;
		from += n;
		size -= n;
		if (writer->used == BUFFER) {
			int err = flowtap_archive_flush(writer);

			if (err)
				return err;
		}
	}
	return 0;
}

int flowtap_archive_write(struct flowtap_archive_writer *writer, uint32_t type, uint32_t cpu,
			  uint64_t time, const void *first, size_t first_size, const void *second,
			  size_t second_size)
{
	static const uint8_t zeros[8];
	struct flowtap_archive_block_header header = {
		.type = (uint16_t)type,
		.mark = FLOWTAP_ARCHIVE_MARK,
		.cpu = cpu,
		.time = time,
	};
	int err;

	if (writer->failed)
		return writer->failed;
	if (type > UINT16_MAX)
		return -EINVAL;
	if (first_size > FLOWTAP_ARCHIVE_BLOCK_MAX ||
	    second_size > FLOWTAP_ARCHIVE_BLOCK_MAX - first_size)
		return -EMSGSIZE;
	header.size = (uint32_t)(first_size + second_size);
	header.crc = flowtap_crc32c(0, &header, sizeof(header));
	header.crc = flowtap_crc32c(header.crc, first, first_size);
	header.crc = flowtap_crc32c(header.crc, second, second_size);
	err = put(writer, &header, sizeof(header));
	if (!err)
		err = put(writer, first, first_size);
	if (!err)
		err = put(writer, second, second_size);
	if (!err)
		err = put(writer, zeros, -header.size & 7);
	return err;
}

uint64_t flowtap_archive_size(const struct flowtap_archive_writer *writer)
{
	return writer->written + writer->used;
}

void flowtap_archive_writer_free(struct flowtap_archive_writer *writer)
{
	free(writer);
}
