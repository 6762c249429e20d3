/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bytes as archives store them: as they are, or as one zstd frame (archive.h). */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_COMPRESSION_H
#define FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_COMPRESSION_H

#include <flowtap/archive.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_payload_codec {
	const void *bytes;
	uint32_t size;
	uint32_t compression;		/* enum flowtap_archive_compression */
	void *buffer;			/* grows; NULL at first, freed by the owner */
	size_t capacity;
};

/*
 * Compresses, where that makes it smaller; else ->bytes are the caller's. 0, or -ENOMEM. size is
 * below FLOWTAP_ARCHIVE_BLOCK_MAX.
 */
int flowtap_payload_pack(struct flowtap_payload_codec *stored, const void *bytes, uint32_t size);
/*
 * The other way: `size` bytes out of ->bytes, into ->buffer unless they are there already; *bytes
 * is where they are. 0; -EINVAL: it does not hold just that many, or more than a block may, or is
 * damaged; -ENOMEM.
 */
int flowtap_payload_unpack(struct flowtap_payload_codec *stored, uint32_t size, const void **bytes);

#endif /* FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_COMPRESSION_H */
