/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * Contexts that the same filters let through see the same memory: a view. Its images become pieces
 * that do not overlap (memory_regions.c), adjacent pieces a region of code. Views share the
 * regions that they have in common.
 */
#ifndef FLOWTAP_LIBUAPI_CODE_MEMORY_INTERNAL_H
#define FLOWTAP_LIBUAPI_CODE_MEMORY_INTERNAL_H

#include <flowtap/memory.h>
#include <sys/types.h>

#include "base/hash_table.h"
#include "code/locate.h"
#include "code/memory_regions.h"

#define FLOWTAP_MEMORY_FILTERS 64	/* bits of a mask */
#define FLOWTAP_MEMORY_VIEWS 1024

struct memory_file {
	char *path;
	int directory;		/* index into directories, -1 none */
	bool sized;		/* it was looked at: */
	uint64_t size;
};

struct memory_directory {
	dev_t device;
	ino_t inode;
	int fd;
};

struct memory_region {
	struct flowtap_code code;
	struct flowtap_memory_image *pieces;
	size_t n;
	bool looked;		/* its bytes were read, or cannot be */
	uint8_t *bytes;
	char missing[FLOWTAP_WHY];
};

struct memory_view {
	uint64_t mask;		/* of the filters */
	struct memory_region **regions;		/* by address */
	size_t n;
};

struct flowtap_memory {
	struct memory_directory *directories;
	size_t n_directories;
	struct memory_file *files;
	size_t n_files;
	struct flowtap_hash_table by_path;
	struct flowtap_memory_image *images;
	size_t n_images;
	struct flowtap_memory_filter filters[FLOWTAP_MEMORY_FILTERS];
	size_t n_filters;
	/* From the first look on. */
	struct memory_view *views[FLOWTAP_MEMORY_VIEWS];
	size_t n_views;
	struct memory_region **regions;			/* by key */
	size_t n_regions;
	uint32_t first_key;
	struct flowtap_hash_table by_pieces;
	uint64_t held;
	struct flowtap_context context;		/* the last one, and its view */
	struct memory_view *view;
};

void flowtap_memory_free_region(struct memory_region *region);
/* The regular file: fd or -errno; -ENOEXEC: it is none. */
int flowtap_memory_open(const struct flowtap_memory *memory, const struct memory_file *file);

#endif /* FLOWTAP_LIBUAPI_CODE_MEMORY_INTERNAL_H */
