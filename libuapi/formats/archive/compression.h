/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Bytes as archives store them: as they are, or as one zstd frame (archive.h). */
#ifndef FLOWTAP_STORED_H
#define FLOWTAP_STORED_H

#include <flowtap/archive.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_stored {
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
int flowtap_stored_pack(struct flowtap_stored *stored, const void *bytes, uint32_t size);
/*
 * The other way: `size` bytes out of ->bytes, into ->buffer unless they are there already; *bytes
 * is where they are. 0; -EINVAL: it does not hold just that many, or more than a block may, or is
 * damaged; -ENOMEM.
 */
int flowtap_stored_unpack(struct flowtap_stored *stored, uint32_t size, const void **bytes);

#endif /* FLOWTAP_STORED_H */
