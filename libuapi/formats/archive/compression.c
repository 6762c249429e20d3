// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Compresses with zstd, and keeps the bytes as they are where that saves nothing. */
#include "formats/archive/compression.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#define LEVEL 1		/* on small machines a recording waits for it */

static int reserve_capacity(struct flowtap_payload_codec *stored, size_t size)
{
	void *buffer;

	if (size <= stored->capacity)
		return 0;
	buffer = realloc(stored->buffer, size);
	if (!buffer)
		return -ENOMEM;
	stored->buffer = buffer;
	stored->capacity = size;
	return 0;
}

int flowtap_payload_pack(struct flowtap_payload_codec *stored, const void *bytes, uint32_t size)
{
	size_t packed;
	int err = reserve_capacity(stored, ZSTD_compressBound(size));

	if (err)
		return err;
	packed = ZSTD_compress(stored->buffer, stored->capacity, bytes, size, LEVEL);
	if (ZSTD_isError(packed) || packed >= size) {
		stored->bytes = bytes;
		stored->size = size;
		stored->compression = FLOWTAP_COMPRESSION_NONE;
		return 0;
	}
	stored->bytes = stored->buffer;
	stored->size = (uint32_t)packed;
	stored->compression = FLOWTAP_COMPRESSION_ZSTD;
	return 0;
}

int flowtap_payload_unpack(struct flowtap_payload_codec *stored, uint32_t size, const void **bytes)
{
	int err;

	if (size > FLOWTAP_ARCHIVE_BLOCK_MAX)
		return -EINVAL;
	if (stored->compression == FLOWTAP_COMPRESSION_NONE) {
		*bytes = stored->bytes;
		return stored->size == size ? 0 : -EINVAL;
	}
	if (stored->compression != FLOWTAP_COMPRESSION_ZSTD ||
	    ZSTD_getFrameContentSize(stored->bytes, stored->size) != size)
		return -EINVAL;
	err = reserve_capacity(stored, size ? size : 1);
	if (err)
		return err;
	*bytes = stored->buffer;
	return ZSTD_decompress(stored->buffer, size, stored->bytes, stored->size) == size ?
		0 : -EINVAL;
}
