// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Gathers bytes and writes them when the buffer is full; what is larger than the buffer is
 * written directly.
 */
#include "base/write_buffer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

uint8_t *flowtap_write_buffer_bytes(void)
{
	return malloc(FLOWTAP_WRITE_BUFFER_CAPACITY + FLOWTAP_WRITE_BUFFER_CHUNK);
}

int flowtap_write_buffer_init(struct flowtap_write_buffer *out, int fd)
{
	memset(out, 0, sizeof(*out));
	out->fd = fd;
	out->bytes = flowtap_write_buffer_bytes();
	return out->bytes ? 0 : -ENOMEM;
}

void flowtap_write_buffer_free(struct flowtap_write_buffer *out)
{
	free(out->bytes);
	out->bytes = NULL;
}

/* Bytes written, or -errno. Leaves errno as it was. */
static ssize_t write_some(int fd, const uint8_t *bytes, size_t size)
{
	int saved = errno;
	ssize_t n = write(fd, bytes, size);

	if (n < 0)
		n = -errno;
	if (n == -EAGAIN) {
		struct pollfd full = { .fd = fd, .events = POLLOUT };

		poll(&full, 1, -1);
	}
	errno = saved;
	return n;
}

static int drain(struct flowtap_write_buffer *out, const uint8_t *bytes, size_t size)
{
	if (!out->error)
		out->error = out->drain(out, bytes, size);
	if (!out->error)
		out->written += size;
	return out->error;
}

static int write_all(struct flowtap_write_buffer *out, const uint8_t *bytes, size_t size)
{
	if (out->drain)
		return drain(out, bytes, size);
	while (size && !out->error) {
		ssize_t n = write_some(out->fd, bytes, size);

		if (n == -EINTR || n == -EAGAIN)
			continue;
		if (n <= 0) {
			out->error = n ? n : -EIO;
			break;
		}
		bytes += n;
		size -= n;
		out->written += n;
	}
	return out->error;
}

int flowtap_write_buffer_flush(struct flowtap_write_buffer *out)
{
	size_t fill = out->fill;

	out->fill = 0;
	return write_all(out, out->bytes, fill);
}

int flowtap_write_buffer_add(struct flowtap_write_buffer *out, const void *bytes, size_t size)
{
	if (flowtap_write_buffer_reserve(out, size))
		return out->error;
	if (size > FLOWTAP_WRITE_BUFFER_CAPACITY)
		return write_all(out, bytes, size);
	memcpy(out->bytes + out->fill, bytes, size);
	out->fill += size;
	return 0;
}
