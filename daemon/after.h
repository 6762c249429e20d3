/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What happens to segments after they were finished: each is decoded, if that is wanted, and then
 * packed, if that is; the oldest first, one at a time, by a child (child.h) that takes what CPU and
 * disk time others leave. Nothing here waits for it. Before all of them comes what an earlier daemon
 * has left unfinished, and store_open has not finished. What fails is tried again, and that once a
 * minute, so that any number of segments of which nothing can be made hold up none of the others.
 *
 * Where decoding cannot keep up, and more than so many segments wait for it, the oldest are not
 * decoded: an event and their `result` say so, as of what failed, which is not tried again.
 */
#ifndef FLOWTAP_DAEMON_AFTER_H
#define FLOWTAP_DAEMON_AFTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "store.h"

struct after_options {
	const char *directory;		/* of the store */
	bool pack;
	const char *format;		/* to decode to, as flowtap decode --to takes it; NULL: not */
	uint64_t waiting;		/* segments that may wait, with the one being decoded */
	/*
	 * Bytes that a segment may be decoded to: with more it is ended, and its traces go. 0: any.
	 */
	uint64_t most;
};

struct after {
	struct store *store;
	struct after_options options;
	bool no_decoder;		/* there is none; an event said so */
	pid_t child;			/* 0: none */
	enum store_work work;		/* that it does */
	const char *format;		/* to decode to: of the options when it began */
	char segment[STORE_NAME];
	uint64_t bytes;			/* that it had written when that was looked at last */
	uint64_t look;			/* CLOCK_MONOTONIC_RAW, ns: it is not looked at before */
	uint64_t retry;			/* the same: nothing is begun before */
	uint64_t again;			/* nor before that what failed, or is to be mended */
	uint64_t now;			/* of the last step */
	/* Counts since the start. */
	uint64_t packed, decoded;	/* segments */
	uint64_t skipped;		/* that were not decoded, since it could not keep up */
	uint64_t failed;		/* of which not all could be decoded, or nothing */
	uint64_t deleted;		/* segments that went to make space for this */
	uint64_t cpu;			/* ns of CPU time of children that have ended */
	/* As of the last step. */
	uint64_t waiting;		/* segments that are not decoded */
	uint64_t lag;			/* ns since the oldest of these ended */
	struct store_left left;		/* what became of it; who reports it zeroes it */
};

/* Borrows the store and the texts, of these options and of others, until the end. */
void after_init(struct after *after, struct store *store, const struct after_options *options);
/* Others from now on; the child that runs continues. */
void after_change(struct after *after, const struct after_options *options);
/*
 * Takes what the child has done, and begins what is next. To be called about once a second. now:
 * CLOCK_MONOTONIC_RAW, ns; wall: s since 1970.
 */
void after_step(struct after *after, uint64_t now, uint64_t wall);
/* Ends the child: what it did is done again. */
void after_close(struct after *after);

#endif /* FLOWTAP_DAEMON_AFTER_H */
