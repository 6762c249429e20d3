/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Where in an archive the bytes of AUX areas are. Memory: 24 bytes for each AUX block, 16 for each
 * stream, 8 for each stretch of bytes without a hole.
 */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_AUX_INDEX_H
#define FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_AUX_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"

struct flowtap_aux_cpu;

/* All zeros is an empty one. */
struct flowtap_aux_index {
	struct flowtap_aux_cpu *cpus;
	uint32_t n;
	struct flowtap_hash_table by_cpu;
};

/* A range of bytes of a CPU's area, and where in the file it is. */
struct flowtap_aux_piece {
	uint64_t offset;
	uint64_t size;
	uint64_t position;
};

/*
 * The bytes of one block, in the order of the file. 0; -EBADMSG: beyond the end of all counting;
 * -E2BIG: more CPUs than there can be; -ENOMEM.
 */
int flowtap_aux_index_add(struct flowtap_aux_index *index, uint32_t cpu, uint64_t offset,
			  uint64_t size, uint64_t position);
/* The CPU's next block is another stream's; one whose offset goes back is, too. */
void flowtap_aux_index_restart(struct flowtap_aux_index *index, uint32_t cpu);
/*
 * For records at `position` in the file: bytes of the stream that was the CPU's last one there,
 * from `offset` on or from the next one that is in the archive. False: none.
 */
bool flowtap_aux_index_find(const struct flowtap_aux_index *index, uint32_t cpu, uint64_t position,
			    uint64_t offset, struct flowtap_aux_piece *piece);
/*
 * How many of the bytes from `offset` on are there, at most size: one search, however many blocks
 * have them.
 */
uint64_t flowtap_aux_index_count(const struct flowtap_aux_index *index, uint32_t cpu,
				 uint64_t position, uint64_t offset, uint64_t size);
void flowtap_aux_index_free(struct flowtap_aux_index *index);

#endif /* FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_AUX_INDEX_H */
