/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* From images that overlap to regions of memory of which each byte has one source. */
#ifndef FLOWTAP_LIBUAPI_CODE_MEMORY_REGIONS_H
#define FLOWTAP_LIBUAPI_CODE_MEMORY_REGIONS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a file as they were in memory; end > address. */
struct flowtap_memory_image {
	uint64_t address;
	uint64_t end;
	uint64_t offset;	/* in the file, of `address` */
	uint32_t file;
	uint32_t filter;
};

/*
 * What is left of images where the first one counts: pieces in the order of addresses that do not
 * overlap, malloc'ed. chosen: indexes of images, n of them, the first ones count first. 0 or
 * -ENOMEM.
 */
int flowtap_memory_layout(const struct flowtap_memory_image *images, const uint32_t *chosen,
			  size_t n, struct flowtap_memory_image **pieces, size_t *n_pieces);

#endif /* FLOWTAP_LIBUAPI_CODE_MEMORY_REGIONS_H */
