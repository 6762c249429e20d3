/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What the parts of a roster share. */
#ifndef FLOWTAP_LIBUAPI_CAPTURE_ROSTER_INTERNAL_H
#define FLOWTAP_LIBUAPI_CAPTURE_ROSTER_INTERNAL_H

#include "capture/roster.h"

#include <stdbool.h>

#define ROSTER_PATH_BYTES 4096
/*
 * Of one process. Nothing says what was unmapped, so that one that maps and unmaps again and again
 * seems to have ever more: it does not take what is for others, nor ever more time.
 */
#define ROSTER_MAPPINGS_MAX 8192
#define ROSTER_SHARE 4		/* of the limit one part in so many */

/* What is mapped, shared by whoever was forked. */
struct roster_origin {
	uint32_t references;
	uint32_t path_size;
	uint64_t size;		/* of the code after the path, where no file has it; else 0 */
	uint8_t bytes[];	/* path, then code */
};

struct roster_mapping {
	struct flowtap_archive_mapping head;	/* file_offset: of code that no file has, into it */
	struct roster_origin *origin;
};

struct roster_thread {
	uint32_t tid;
	uint32_t comm_size;
	uint8_t comm[16];
};

struct roster_process {
	uint32_t pid;
	uint32_t parent;
	struct roster_mapping *mappings;	/* by address, none overlaps another */
	size_t n_mappings;
	size_t mapped;				/* bytes of them and of their origins */
	struct roster_thread *threads;		/* by tid */
	size_t n_threads;
};

/* A block as it came. */
struct roster_event {
	uint64_t time;
	uint64_t number;		/* as it came */
	uint32_t type;
	uint32_t cpu;
	size_t size;
	uint8_t *payload;
};

struct flowtap_roster {
	size_t limit;
	size_t size;
	uint64_t dropped;
	void *processes;		/* tree by pid (tsearch) */
	struct roster_event *log;
	size_t n_log;
	size_t capacity_log;
	uint64_t numbers;
	struct roster_event *shared;	/* code of all processes */
	size_t n_shared;
};

/* Memory of zeros, within the limit; NULL, and counted as dropped, where there is none. */
void *flowtap_roster_allocate(struct flowtap_roster *roster, size_t size);
/* One more of `each` bytes after the n of an array, which is not set. NULL: as above. */
void *flowtap_roster_grow(struct flowtap_roster *roster, void *array, size_t n, size_t each);
void flowtap_roster_release(struct flowtap_roster *roster, void *memory, size_t size);

/* Where the code of a BYTES block begins. */
static inline size_t roster_code_at(const struct flowtap_archive_mapping *head)
{
	return (sizeof(*head) + head->path_size + 8) & ~(size_t)7;
}

/* Whether it is a mapping that says nothing impossible: *head is it. */
bool flowtap_roster_is_whole(const struct roster_event *entry, struct flowtap_archive_mapping *head);
/* What it reports holds from now on: a TASK, or a mapping. */
void flowtap_roster_apply(struct flowtap_roster *roster, const struct roster_event *entry);
/* Nobody is there any more. */
void flowtap_roster_clear(struct flowtap_roster *roster);

#endif /* FLOWTAP_LIBUAPI_CAPTURE_ROSTER_INTERNAL_H */
