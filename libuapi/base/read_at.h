/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bytes of a file at an offset, whatever comes in between. errno stays as it was. */
#ifndef FLOWTAP_LIBUAPI_BASE_READ_AT_H
#define FLOWTAP_LIBUAPI_BASE_READ_AT_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

/*
 * How many bytes there were: fewer than size only where the file ends before, or reading failed.
 * *error: 0, or -errno of what failed.
 */
static inline size_t flowtap_read_at(int fd, void *bytes, size_t size, uint64_t offset, int *error)
{
	int saved = errno;
	size_t done = 0;

	*error = 0;
	while (done < size) {
		ssize_t n = pread(fd, (uint8_t *)bytes + done, size - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			*error = -errno;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	errno = saved;
	return done;
}

/* All of them. 0; `ended`, a -errno, where the file ends before; -errno. */
static inline int flowtap_read_all_at(int fd, void *bytes, size_t size, uint64_t offset, int ended)
{
	int error;
	size_t done = flowtap_read_at(fd, bytes, size, offset, &error);

	return error || done == size ? error : ended;
}

#endif /* FLOWTAP_LIBUAPI_BASE_READ_AT_H */
