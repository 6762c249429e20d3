/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The folder of segments: archives, one after the other in time, that together take no more space
 * than they are given. One is being written, or, while the next one takes over, two.
 *
 *	NUMBER-YYYYMMDDTHHMMSSZ.ftap		finished: whole, and on the disk
 *	NUMBER-YYYYMMDDTHHMMSSZ.ftap.part	being written, or to be on the disk soon, or left by a
 *						daemon that was killed
 *	NUMBER-YYYYMMDDTHHMMSSZ.ftap.bad	left, and nothing in it can be read
 *	NUMBER-YYYYMMDDTHHMMSSZ.ftap.zst	packed (flowtap/packed.h): stands for the raw one
 *	NUMBER-YYYYMMDDTHHMMSSZ.ftap.zst.part	being packed, or left so: the raw one is there
 *	decoded/NUMBER-YYYYMMDDTHHMMSSZ/	what it was decoded to (decoded.h)
 *	index					a line for each segment, for people
 *
 * Numbers grow as long as a segment is there. What is finished was synced, renamed and its folder
 * synced, in this order: a machine that loses its power has it under its name with all its bytes,
 * or as a `.part`. Of a `.part` that was left nobody knows what the disk has taken, only what is in
 * memory of it: it is written again before it has its name. The raw one goes when the packed one is
 * there in the same way. What was decoded counts, and goes, with its segment. Other files in the
 * folder are left alone and do not count.
 */
#ifndef FLOWTAP_DAEMON_STORE_H
#define FLOWTAP_DAEMON_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_NAME 64			/* bytes, with the 0 */
#define STORE_SEGMENTS_MAX 1000000	/* more are not looked at, and not kept */
#define STORE_UNFINISHED 4		/* that could not be finished: then no other is begun */
#define STORE_PIECE (16U << 20)		/* bytes that are written again at once */
#define STORE_LEFT_PIECE (16U << 20)	/* bytes of what was left that store_open finishes */

struct store_limits {
	uint64_t quota;			/* bytes that all segments may take; 0: any */
	uint64_t free;			/* bytes that others are to find free on that disk; 0: none */
};

struct store_segment {
	uint64_t number;
	uint64_t bytes;			/* on the disk, with what it was decoded to */
	uint64_t ended;			/* s since 1970; as near as is known */
	uint64_t ended_at;		/* CLOCK_MONOTONIC_RAW, ns; 0: before this flowtapd */
	bool packed;			/* NAME.zst is there */
	bool loose;			/* packing it gains nothing */
	bool decoded;			/* its directory is there */
	bool undeleted;			/* it could not be deleted, which was reported */
	uint64_t retry;			/* no work on it before that, CLOCK_MONOTONIC_RAW, ns */
	char name[STORE_NAME];		/* without .zst */
};

/* What is done with segments after they were finished, one at a time. */
enum store_work {
	STORE_IDLE,
	STORE_PACKING,			/* NAME.zst.part is written */
	STORE_DECODING,			/* the unfinished directory is */
	STORE_MENDING,			/* NAME.part, which was left, is */
};

/* What an earlier daemon had left, as it is now. */
struct store_left {
	unsigned int finished;		/* `.part` that are segments now, readable to their last block */
	unsigned int bad;		/* `.part` that are `.bad` now */
	unsigned int failed;		/* that could not be renamed: they are as they were */
	unsigned int packing;		/* that were being packed, and will be again */
	uint64_t cut;			/* bytes after the last whole blocks, which were cut off */
	unsigned int waiting;		/* `.part` that are too large for that, and are yet to be finished */
	uint64_t waiting_bytes;
	unsigned int deleted;		/* segments that went, since the limits want their space */
};

/* For the index. */
struct store_facts {
	uint64_t began, ended;		/* s since 1970 */
	uint64_t ended_at;		/* CLOCK_MONOTONIC_RAW, ns */
	uint64_t records;		/* of the rings */
	uint64_t lost;			/* of them, marked as lost */
	const char *why;		/* why it ended: a word, static */
	uint64_t seconds;		/* that it took, whatever the clock was set to meanwhile */
	bool broken;			/* its archive could not be written to the end */
};

struct store;
struct syncer;

/*
 * Opens the folder, finishes what was left in it, up to STORE_LEFT_PIECE bytes of that (for more:
 * store_waiting), and makes space as the limits want. 0 and *store; -errno of the folder (-ENOTDIR,
 * -ENOENT, -EACCES, -EROFS ...); -EBUSY: another daemon has it; -E2BIG: more than
 * STORE_SEGMENTS_MAX; -ENOMEM.
 */
int store_open(const char *directory, const struct store_limits *limits, struct store_left *left,
	       struct store **store);
/* Other limits from now on; takes effect with the next store_make_space. */
void store_limit(struct store *store, const struct store_limits *limits);
/*
 * A new segment that began at this time (s since 1970): a descriptor to write at, the store's.
 * -EBUSY: two are being written; -errno.
 */
int store_begin(struct store *store, uint64_t time);
/*
 * From now on what is finished is brought to the disk by this one, borrowed: store_finish waits no
 * longer than syncer_begin does. Before, and with NULL, it waits as long as the disk takes.
 */
void store_sync_by(struct store *store, struct syncer *syncer);
/*
 * The one that was begun first is a finished segment, and in the index; a broken one up to its last
 * whole block. 0; 1: a broken one that has no block, which was removed; -ENOENT: none is being
 * written; -EINPROGRESS: the disk has not taken it yet; -errno: in both cases it stays a `.part` until
 * store_retry, and the next one can begin. An index that cannot be written is no error: see
 * store_index_error.
 */
int store_finish(struct store *store, const struct store_facts *facts);
/*
 * What store_finish could not finish, once more; what the disk did not take then is written to it
 * again before that, STORE_PIECE in a call. 1: one is finished, and these are its facts, and there may
 * be more; 0: there are none that can be, and another segment may be begun; -errno: why they cannot
 * be, of which there are STORE_UNFINISHED; -EINPROGRESS: since the disk is not done with them.
 */
int store_retry(struct store *store, struct store_facts *facts);
/* Whether store_retry has written a part of one again, and is to go on with that soon. */
bool store_rewrites(const struct store *store);
/* Whether the disk has taken one, or failed to, of which store_retry does not know yet. */
bool store_synced(const struct store *store);
/* Segments that have ended, and are not finished: all, or those that the disk is about to take. */
unsigned int store_unfinished(const struct store *store, bool syncing);
/* Why the disk did not take one after store_finish: -errno of the last time, and forgotten; or 0. */
int store_sync_error(struct store *store);
/* Those of them that the disk did not take, and that are not written again to their end. */
unsigned int store_unsynced(const struct store *store);
/* The one that was begun last is not wanted. */
void store_drop(struct store *store);
/* The one that was begun first is not wanted. */
void store_discard(struct store *store);
/*
 * Deletes the oldest finished segments until `need` more bytes keep within the limits, and the next
 * start can look at all of them; then what waits to be finished (store_waiting). Those that cannot
 * be deleted are left. 0; -ENOSPC: not even with all others gone. *deleted: how many.
 */
int store_make_space(struct store *store, uint64_t need, unsigned int *deleted);
/*
 * Deletes the oldest finished segment that can be deleted, whatever the limits are: where the disk
 * takes no more although it has space. How many were: 1 or 0.
 */
unsigned int store_delete_oldest(struct store *store);
/* A segment that could not be deleted: -errno, once for each, and *name, the store's; 0: there is none. */
int store_undeleted(struct store *store, const char **name);
/* Whether somebody else has removed the segment's file: then what is left of it goes as well. */
bool store_drop_removed(struct store *store, const char *name);
/*
 * The oldest `.part` that was left and is yet to be finished, which is work (STORE_MENDING), by its
 * segment's name; of those that were postponed, which come after the others, the one whose time came
 * first; NULL: none, or each was postponed beyond now. They count, and are the last to go where space
 * is made.
 */
const char *store_waiting(const struct store *store, uint64_t now);
/* Whether this one is. */
bool store_waits(const struct store *store, const char *name);
/*
 * That work has ended: mended is what store_mend_left (store_internal.h) has said. One that could not
 * be mended goes on waiting. *left: what has become of it. 0; -ENOENT: it is no more; -EINVAL: there
 * was no such work; -errno: it could not be renamed, and goes on waiting.
 */
int store_mended(struct store *store, int mended, struct store_left *left);
/*
 * Somebody, maybe another process, works on the segment of this name: what that has written so far
 * counts from now on. 0; -ENOENT; -EBUSY.
 */
int store_work_begin(struct store *store, enum store_work work, const char *name);
/*
 * The work has ended, and what it wrote is on the disk. If `good` it replaces the segment, else
 * it is removed. 0; -EFBIG: packed it is no smaller, and was removed; -ENOENT: the segment is no
 * more, and all that was written of it was removed; -EINVAL: there was no work; -errno: removed.
 */
int store_work_end(struct store *store, bool good);
/*
 * The segment was not decoded, and will not be: what it was decoded to is this text as its
 * `result`, and nothing else. Also while there is work on another one. 0 or -errno.
 */
int store_undecoded(struct store *store, const char *name, const char *result);
/* No work on it before that time; nothing where there is no such segment. */
void store_postpone(struct store *store, const char *name, uint64_t retry);
/* The time that it was postponed to last, also one that is over; 0: it never was, or is no more. */
uint64_t store_postponed(struct store *store, const char *name);
/* Work on none is postponed any more. */
void store_resume(struct store *store);
/*
 * Looks how many bytes the running work has written so far, which count until the next look: it reads
 * a directory.
 */
uint64_t store_work_look(struct store *store);
/* Whether `need` more bytes keep within the limits as it is. */
bool store_fits(const struct store *store, uint64_t need);
/* The disk is full: what was deleted is not waited for any longer. */
void store_refused(struct store *store);
/* NULL: there is no finished segment of this name. Valid until the next call that changes them. */
const struct store_segment *store_find(struct store *store, const char *name);
/* The one that was finished last, also by store_retry; NULL: none, or it is no more. */
const struct store_segment *store_finished(struct store *store);
/* Why the index lacks a line: -errno of the last time, and forgotten; or 0. */
int store_index_error(struct store *store);
/* Of the segment that was begun last, ever; 0: none was. */
uint64_t store_number(const struct store *store);
/*
 * Of the oldest segment that is there, finished or not, or being written; where there is none, of
 * the one that was begun last.
 */
uint64_t store_oldest(const struct store *store);
/* Finished segments, the oldest first; valid until the next call that changes them. */
const struct store_segment *store_segments(const struct store *store, size_t *n);
/* Bytes of all finished ones, and what they were decoded to. */
uint64_t store_bytes(const struct store *store);
/* The name of the one that was begun last, as it will be when it is finished; NULL: none. */
const char *store_current(const struct store *store);
/* What is being written stays a `.part`. */
void store_close(struct store *store);

#endif /* FLOWTAP_DAEMON_STORE_H */
