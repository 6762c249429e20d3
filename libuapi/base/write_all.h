/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bytes of memory to a file, whatever comes in between; read_at.h is the way back. */
#ifndef FLOWTAP_LIBUAPI_BASE_WRITE_ALL_H
#define FLOWTAP_LIBUAPI_BASE_WRITE_ALL_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/* What write or pwrite returned for *bytes: 0, those written are passed over; or -errno. */
static inline int flowtap_written(ssize_t n, const uint8_t **bytes, size_t *size)
{
	if (n < 0 && errno == EINTR)
		return 0;
	if (n <= 0)
		return n ? -errno : -EIO;
	*bytes += n;
	*size -= (size_t)n;
	return 0;
}

/* The file's offset. 0 or -errno; a part may be written then. */
static inline int flowtap_write_all(int fd, const void *from, size_t size)
{
	const uint8_t *bytes = from;
	int error = 0;

	while (size && !error)
		error = flowtap_written(write(fd, bytes, size), &bytes, &size);
	return error;
}

/* The same at an offset; the file's offset is not changed. */
static inline int flowtap_write_all_at(int fd, const void *from, size_t size, uint64_t offset)
{
	const uint8_t *bytes = from;
	const uint8_t *first = bytes;
	int error = 0;

	while (size && !error)
		error = flowtap_written(pwrite(fd, bytes, size, (off_t)(offset + (uint64_t)(bytes - first))),
					&bytes, &size);
	return error;
}

#endif /* FLOWTAP_LIBUAPI_BASE_WRITE_ALL_H */
