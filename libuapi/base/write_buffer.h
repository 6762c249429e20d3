/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Output: bytes on their way to a file descriptor, or to a drain, gathered in a large buffer.
 *
 * The first error of write() stays: from then on everything fails with it and nothing more is
 * written.
 */
#ifndef FLOWTAP_LIBUAPI_BASE_WRITE_BUFFER_H
#define FLOWTAP_LIBUAPI_BASE_WRITE_BUFFER_H

#include <stdint.h>
#include <string.h>

#define FLOWTAP_WRITE_BUFFER_CAPACITY (256U << 10)
/* So many bytes beyond the capacity may be scribbled on: copies go by whole chunks. */
#define FLOWTAP_WRITE_BUFFER_CHUNK 64U

struct flowtap_write_buffer {
	int fd;			/* borrowed */
	int error;		/* negative errno, or 0 */
	uint8_t *bytes;
	size_t fill;		/* at most the capacity and a chunk */
	uint64_t written;	/* handed to write() or the drain */
	/*
	 * NULL, or what takes the bytes instead of write(). If they are out->bytes it may keep them
	 * and put another buffer of flowtap_write_buffer_bytes there. 0 or -errno.
	 */
	int (*drain)(struct flowtap_write_buffer *out, const uint8_t *bytes, size_t size);
	void *argument;		/* the drain's own */
};

/* malloc'ed, NULL: no memory. */
uint8_t *flowtap_write_buffer_bytes(void);

/* 0 or -ENOMEM. */
int flowtap_write_buffer_init(struct flowtap_write_buffer *out, int fd);
void flowtap_write_buffer_free(struct flowtap_write_buffer *out);
/* Empties the buffer. 0 or -errno of write. A full pipe that does not block is waited for. */
int flowtap_write_buffer_flush(struct flowtap_write_buffer *out);
/* Any size. 0 or -errno of write. */
int flowtap_write_buffer_add(struct flowtap_write_buffer *out, const void *bytes, size_t size);

/* Reserves `size` bytes, at most FLOWTAP_WRITE_BUFFER_CAPACITY. 0 or -errno of write. */
static inline int flowtap_write_buffer_reserve(struct flowtap_write_buffer *out, size_t size)
{
	if (out->fill + size <= FLOWTAP_WRITE_BUFFER_CAPACITY)
		return 0;
	return flowtap_write_buffer_flush(out);
}

/* The size of an allocation that flowtap_write_buffer_copy may copy `size` bytes from. */
static inline size_t flowtap_write_buffer_padded(size_t size)
{
	return (size + FLOWTAP_WRITE_BUFFER_CHUNK - 1) & ~(size_t)(FLOWTAP_WRITE_BUFFER_CHUNK - 1);
}

/*
 * Copies one chunk whatever the size, since most pieces are shorter: a copy of a known size is
 * four times as fast as memcpy of an unknown one. Both sides need a chunk's bytes.
 */
static inline void flowtap_write_buffer_copy(uint8_t *to, const uint8_t *from, size_t size)
{
	memcpy(to, from, FLOWTAP_WRITE_BUFFER_CHUNK);
	if (__builtin_expect(size > FLOWTAP_WRITE_BUFFER_CHUNK, 0))
		memcpy(to + FLOWTAP_WRITE_BUFFER_CHUNK, from + FLOWTAP_WRITE_BUFFER_CHUNK,
		       size - FLOWTAP_WRITE_BUFFER_CHUNK);
}

#endif /* FLOWTAP_LIBUAPI_BASE_WRITE_BUFFER_H */
