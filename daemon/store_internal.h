/* SPDX-License-Identifier: GPL-2.0-only */
/* Between store.c (the list, space), store_write.c, store_left.c and store_work.c. */
#ifndef FLOWTAP_DAEMON_STORE_INTERNAL_H
#define FLOWTAP_DAEMON_STORE_INTERNAL_H

#include "index.h"
#include "store.h"
#include "syncer.h"

#include <sys/stat.h>

#define STORE_PART ".part"
#define STORE_BAD ".bad"
#define STORE_PACKED ".zst"
#define STORE_PACKED_PART ".zst.part"

struct writing {
	int fd;
	struct store_segment segment;
};

/* What could not be finished, and is a `.part`. */
struct unfinished {
	struct store_segment segment;
	struct store_facts facts;
	int unsynced;			/* -errno: the disk did not take it, it is to be written again */
	uint64_t rewritten;		/* bytes that were, and are on the disk */
	struct sync *sync;		/* the disk takes it now; else NULL */
};

/* A `.part` that an earlier daemon left, and that is to be finished. */
struct left_part {
	uint64_t number;
	uint64_t bytes;			/* on the disk */
	uint64_t size;			/* of the file */
	uint64_t retry;			/* as a segment's */
	char name[STORE_NAME];		/* as it will be */
};

/*
 * What was deleted and is not free yet: XFS frees in the background, btrfs with its next commit; what
 * somebody has open, or has another name, stays.
 */
struct freed {
	uint64_t bytes;
	uint64_t available;		/* on the disk, when the last one was deleted */
	uint64_t until;			/* then it is not waited for any longer; number_now */
};

struct store {
	int directory;
	struct store_limits limits;
	struct store_segment *segments;	/* by number */
	size_t n;
	size_t most;			/* that are kept */
	uint64_t bytes;
	struct freed freed;
	uint64_t next;			/* number */
	struct index index;
	struct syncer *syncer;		/* borrowed; NULL: what is finished is waited for */
	struct sync *folder;		/* of the directory: its last one, or NULL */
	int sync_error;			/* -errno: a segment's, that was asked for later; 0: it was told */
	struct writing writing[2];	/* the older one first */
	unsigned int n_writing;
	struct unfinished unfinished[STORE_UNFINISHED + 2];	/* and what is being written then */
	unsigned int n_unfinished;
	struct left_part *waiting;	/* by number */
	size_t n_waiting;
	uint64_t waiting_bytes;		/* on the disk */
	char finished[STORE_NAME];	/* the one that was finished last */
	enum store_work work;
	char working[STORE_NAME];	/* the segment's name */
	uint64_t work_bytes;		/* when it was looked at last */
	char undeleted[STORE_NAME];	/* the last one that could not be deleted */
	int undeleted_error;		/* 0: it was reported */
};

/* Whether it is a segment's name, followed by this. */
bool store_is_name(const char *name, const char *suffix, uint64_t *number);
/* The name, followed by something more. */
void store_with(char to[STORE_NAME], const char *name, const char *suffix);
/* That of a segment which begins at a time, in seconds since 1970. */
void store_name(char name[STORE_NAME], uint64_t number, uint64_t time);
/* What its traces' directory is called. */
void store_decoded_name(char to[STORE_NAME], const char *name);
int store_add(struct store *store, const struct store_segment *segment);
/* Space in the list for one more. 0; -ENOMEM. */
int store_reserve(struct store *store);
/* Where its number belongs: it may be older than others. Its entry is reserved. */
void store_add_in_order(struct store *store, const struct store_segment *segment);
/* Both. 0; -ENOMEM. */
int store_insert(struct store *store, const struct store_segment *segment);
int store_sync(const struct store *store);
/* Of the disk, as it says; UINT64_MAX: it says nothing. */
uint64_t store_available(const struct store *store);
/* So many bytes were deleted; available: before that. */
void store_freed(struct store *store, uint64_t bytes, uint64_t available);
/*
 * What the file takes on the disk, which may be more than its size by up to a block, or, with holes,
 * less. What a file system reserves beyond for one that grows (XFS: gigabytes) it gives back.
 */
uint64_t store_disk_size(const struct stat *stat);
/* NULL: it is no more. */
struct store_segment *store_by_name(struct store *store, const char *name);
/* All files of it, whichever there are. 0 or -errno: it is still there. */
int store_delete(struct store *store, const struct store_segment *segment);
/*
 * What is in the file is whole blocks, and on the disk; *cut grows by what followed them. 0; 1: it
 * has none; -errno: it cannot be read, or not be brought there: only then that is *unsynced too,
 * which else is 0.
 */
int store_mend(int fd, uint64_t *cut, int *unsynced);
/*
 * The file from *at on is written to the disk again, STORE_PIECE of it, and *at moves on. 0: to its
 * end; -EINPROGRESS: there is more; -errno, and *at stays.
 */
int store_write_again(int fd, uint64_t *at);
/*
 * As store_mend, of what another process has written, and maybe synced in vain: whatever is found is
 * written to the disk again. 0; 1: there is no whole block; -errno.
 */
int store_mend_left(int fd, uint64_t *cut);
/* The oldest `.part` that was left and can be deleted goes. Whether there was one. */
bool store_delete_left(struct store *store);
struct left_part *store_left_by_name(const struct store *store, const char *name);
/* Finishes what an earlier daemon left, then reads what there is, in order. 0 or -errno. */
int store_read_folder(struct store *store, struct store_left *left);

#endif /* FLOWTAP_DAEMON_STORE_INTERNAL_H */
