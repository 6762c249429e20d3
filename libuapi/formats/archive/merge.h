/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The records of several rings in the order of their times, out of an archive's RING blocks. */
#ifndef FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_MERGE_H
#define FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_MERGE_H

#include <linux/flowtap.h>
#include <stddef.h>
#include <stdint.h>

struct flowtap_merge;

/* fd: a regular file, borrowed, read by pread. NULL: no memory. */
struct flowtap_merge *flowtap_merge_new(int fd);
void flowtap_merge_free(struct flowtap_merge *merge);

/* One block's payload. A ring's blocks come in its order. 0, -ENOMEM, -E2BIG (too many CPUs). */
int flowtap_merge_add(struct flowtap_merge *merge, uint32_t cpu, uint64_t offset, uint32_t size);

struct flowtap_merge_result {
	const struct flowtap_record *record;	/* valid until the next call */
	uint32_t cpu;
	uint64_t offset;	/* in the file, of the record or of what cannot be read */
	/* When the result is -EBADMSG. */
	uint64_t bytes;
	const char *reason;
};

/* 1: a record of at least 16 bytes; 0: no more; -EBADMSG: some bytes were passed over; -ENOMEM. */
int flowtap_merge_next(struct flowtap_merge *merge, struct flowtap_merge_result *result);

#endif /* FLOWTAP_LIBUAPI_FORMATS_ARCHIVE_MERGE_H */
