/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Output: bytes on their way to a file descriptor, or to a drain, gathered in a large buffer.
 *
 * The first error of write() stays: from then on everything fails with it and nothing more is
 * written.
 */
#ifndef FLOWTAP_OUT_H
#define FLOWTAP_OUT_H

#include <stdint.h>
#include <string.h>

#define FLOWTAP_WRITE_BUFFER_CAPACITY (256U << 10)
/* So many bytes beyond the room may be scribbled on: copies go by whole chunks. */
#define FLOWTAP_OUT_CHUNK 64U

struct flowtap_out {
	int fd;			/* borrowed */
	int error;		/* negative errno, or 0 */
	uint8_t *bytes;
	size_t fill;		/* at most the room and a chunk */
	uint64_t written;	/* handed to write() or the drain */
	/*
	 * NULL, or what takes the bytes instead of write(). If they are out->bytes it may keep them
	 * and put another buffer of flowtap_out_buffer there. 0 or -errno.
	 */
	int (*drain)(struct flowtap_out *out, const uint8_t *bytes, size_t size);
	void *argument;		/* the drain's own */
};

/* malloc'ed, NULL: no memory. */
uint8_t *flowtap_out_buffer(void);

/* 0 or -ENOMEM. */
int flowtap_out_init(struct flowtap_out *out, int fd);
void flowtap_out_free(struct flowtap_out *out);
/* Empties the buffer. 0 or -errno of write. A full pipe that does not block is waited for. */
int flowtap_out_flush(struct flowtap_out *out);
/* Any size. 0 or -errno of write. */
int flowtap_out_put(struct flowtap_out *out, const void *bytes, size_t size);

/* Makes room for `size` bytes, at most FLOWTAP_WRITE_BUFFER_CAPACITY. 0 or -errno of write. */
static inline int flowtap_out_need(struct flowtap_out *out, size_t size)
{
	if (out->fill + size <= FLOWTAP_WRITE_BUFFER_CAPACITY)
		return 0;
	return flowtap_out_flush(out);
}

/* The size of an allocation that flowtap_out_copy may copy `size` bytes from. */
static inline size_t flowtap_out_padded(size_t size)
{
	return (size + FLOWTAP_OUT_CHUNK - 1) & ~(size_t)(FLOWTAP_OUT_CHUNK - 1);
}

/*
 * Copies one chunk whatever the size, since most pieces are shorter: a copy of a known size is
 * four times as fast as memcpy of an unknown one. Both sides need a chunk's bytes.
 */
static inline void flowtap_out_copy(uint8_t *to, const uint8_t *from, size_t size)
{
	memcpy(to, from, FLOWTAP_OUT_CHUNK);
	if (__builtin_expect(size > FLOWTAP_OUT_CHUNK, 0))
		memcpy(to + FLOWTAP_OUT_CHUNK, from + FLOWTAP_OUT_CHUNK,
		       size - FLOWTAP_OUT_CHUNK);
}

#endif /* FLOWTAP_OUT_H */
