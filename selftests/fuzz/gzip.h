/* SPDX-License-Identifier: GPL-2.0-only */
/* Packs what a fuzzer was given. */
#ifndef FLOWTAP_SELFTESTS_FUZZ_GZIP_H
#define FLOWTAP_SELFTESTS_FUZZ_GZIP_H

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* As gzip does; the caller frees it. */
static inline uint8_t *fuzz_gzip(const uint8_t *data, size_t size, size_t *packed)
{
	z_stream stream = { .next_in = (uint8_t *)data, .avail_in = (uInt)size };
	uint8_t *bytes;
	uLong capacity;

	if (deflateInit2(&stream, 1, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		abort();
	capacity = deflateBound(&stream, size);
	bytes = malloc(capacity);
	if (!bytes)
		abort();
	stream.next_out = bytes;
	stream.avail_out = (uInt)capacity;
	if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
		abort();
	*packed = stream.total_out;
	deflateEnd(&stream);
	return bytes;
}

#endif /* FLOWTAP_SELFTESTS_FUZZ_GZIP_H */
