/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The streams of one recording: one on each CPU that has the source, all with the same tasks, or
 * each with whatever runs there.
 * Every failure has been complained about, with its fix, when a function here returns.
 */
#ifndef STREAMS_H
#define STREAMS_H

#include "record/options.h"

#include <flowtap/archive.h>
#include <flowtap/drain.h>
#include <flowtap/ring.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stream {
	int fd;
	bool ended;			/* poll said that the last task is gone */
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct flowtap_reader reader;
	int number;			/* of the drain */
};

/* Why a CPU has no stream. name: as in --json; text: for people. Both static, NULL: it has one. */
struct skip {
	const char *name;
	const char *text;
};

struct streams {
	struct stream *all;
	size_t n;
	struct flowtap_query *queries;	/* of every CPU, also of those without a stream */
	struct skip *skips;		/* of every CPU */
	size_t cpus;
	uint32_t source;		/* of all of them */
	const char *event;		/* its name, for messages; NULL: none triggers */
	bool wide;			/* whatever runs there, or all but the tasks of the set; each by itself */
	bool grouped;			/* they share a set of tasks */
	struct flowtap_drain *drain;	/* NULL before streams_begin */
	bool contradicts;		/* a ring does; it was said */
};

/*
 * Opens, configures and maps a stream on each CPU that was asked for and can do what is asked for;
 * the others are in `skips`. 0 or -errno; at least one, or it is an error.
 */
int streams_open(struct streams *streams, const struct record_options *options);
int streams_add(struct streams *streams, pid_t pid);
/* Without a complaint: a process, or a thread, into the set or out of it. 0 or -errno. */
int streams_change(struct streams *streams, pid_t pid, bool thread, bool add);
int streams_enable(struct streams *streams);
int streams_disable(struct streams *streams);
/* What the hardware has of running tasks goes into the rings. 0 or -errno after a complaint. */
int streams_snapshot(const struct streams *streams);
/* What each can do and how it was configured, as blocks. 0 or -errno of the archive. */
int streams_describe(const struct streams *streams, struct flowtap_archive_writer *writer);
/*
 * Makes the drain, which borrows the writer. Environment: FLOWTAP_DRAIN, the first of its methods
 * to try, by name. 0 or -errno.
 */
int streams_begin(struct streams *streams, struct flowtap_archive_writer *writer);
/*
 * Takes what waits in the rings and starts to write it into the archive, after what is in the
 * archive's buffer. 0 or -errno of the archive, not complained about. A ring that contradicts
 * itself is complained about and not read any more.
 */
int streams_drain(struct streams *streams);
/*
 * The same when they are off, with the losses that the kernel had no space to record until now, and
 * waits until all is in the file.
 */
int streams_settle(struct streams *streams);
/*
 * What rings that overwrite hold now and did not the last time, into the archive; they may be written
 * to meanwhile. Streams with an AUX area that run are disabled for that time. 0 or -errno of the
 * archive or of switching them, -ENOMEM.
 */
int streams_copy(struct streams *streams, bool running);
/* Whether all rings could be read to the end. */
bool streams_whole(const struct streams *streams);
/* The sum over the streams; high_water is the greatest. */
void streams_sum(const struct streams *streams, struct flowtap_stats *sum);
/* Each one's statistics as a block. 0 or -errno of the archive. */
int streams_conclude(const struct streams *streams, struct flowtap_archive_writer *writer);
void streams_close(struct streams *streams);

#endif /* STREAMS_H */
