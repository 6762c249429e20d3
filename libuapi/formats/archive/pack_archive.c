// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Packs; unpack_archive.c unpacks. */
#include <flowtap/packed.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/read_at.h"
#include "base/write_all.h"

/* What a board does beside its work: a higher one takes twice the time for a tenth less. */
#define LEVEL 3

struct packing {
	int from, to;
	ZSTD_CCtx *context;
	uint8_t *frame;
	uint8_t *packed;
	size_t capacity;
	uint64_t offset;		/* in `from` */
};

static int pack_frames(struct packing *packing)
{
	size_t size, packed;
	int error;

	while ((size = flowtap_read_at(packing->from, packing->frame, FLOWTAP_PACKED_FRAME,
				       packing->offset, &error)) && !error) {
		packed = ZSTD_compress2(packing->context, packing->packed, packing->capacity,
					packing->frame, size);
		error = ZSTD_isError(packed) ? -ENOMEM :
			flowtap_write_all(packing->to, packing->packed, packed);
		if (error)
			return error;
		posix_fadvise(packing->from, (off_t)packing->offset, (off_t)size,
			      POSIX_FADV_DONTNEED);
		packing->offset += size;
	}
	/* What is not on the disk yet stays. */
	posix_fadvise(packing->to, 0, 0, POSIX_FADV_DONTNEED);
	return error;
}

int flowtap_pack(int from, int to)
{
	struct packing packing = {
		.from = from,
		.to = to,
		.context = ZSTD_createCCtx(),
		.frame = malloc(FLOWTAP_PACKED_FRAME),
		.capacity = ZSTD_compressBound(FLOWTAP_PACKED_FRAME),
	};
	int saved = errno, error = -ENOMEM;

	packing.packed = malloc(packing.capacity);
	if (packing.context && packing.frame && packing.packed &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(packing.context, ZSTD_c_compressionLevel, LEVEL)) &&
	    !ZSTD_isError(ZSTD_CCtx_setParameter(packing.context, ZSTD_c_checksumFlag, 1)))
		error = pack_frames(&packing);
	ZSTD_freeCCtx(packing.context);
	free(packing.frame);
	free(packing.packed);
	errno = saved;
	return error;
}
