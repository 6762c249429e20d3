/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The streams of one recording: one on each CPU that has the source, all with the same tasks.
 * Every failure has been complained about, with its fix, when a function here returns.
 */
#ifndef STREAMS_H
#define STREAMS_H

#include <flowtap/archive.h>
#include <flowtap/ring.h>
#include <linux/flowtap.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define STREAMS_PAGES 128	/* default: what mlock_kb lets everybody have on each CPU */

struct stream {
	int fd;
	bool ended;			/* poll said that the last task is gone */
	struct flowtap_query query;
	struct flowtap_configure configure;
	struct flowtap_reader reader;
};

struct streams {
	struct stream *all;
	size_t n;
	struct flowtap_query *queries;	/* of every CPU, also of those without a stream */
	size_t cpus;
	const char *event;		/* its name, for messages */
};

/*
 * Opens, configures and maps. wish: what CONFIGURE gets, without source (0: the hardware's), cpu
 * and group; period 0: `period`, or as much more as the source asks for. shrink: a ring that may
 * not be locked is tried in smaller sizes. 0 or -errno.
 */
int streams_open(struct streams *streams, const struct flowtap_configure *wish, uint64_t period,
		 bool shrink);
int streams_add(struct streams *streams, pid_t pid);
int streams_enable(struct streams *streams);
int streams_disable(struct streams *streams);
/* What each can do and how it was configured, as blocks. 0 or -errno of the archive. */
int streams_describe(const struct streams *streams, struct flowtap_archive_writer *writer);
/*
 * Moves what waits in the rings into the archive; the tails advance over what it took. *moved is
 * the sum of bytes. 0, -errno of the archive, -EPROTO of a ring.
 */
int streams_drain(struct streams *streams, struct flowtap_archive_writer *writer, uint64_t *moved);
/* The sum over the streams; high_water is the greatest. */
void streams_sum(const struct streams *streams, struct flowtap_stats *sum);
/* Each one's statistics as a block. 0 or -errno of the archive. */
int streams_conclude(const struct streams *streams, struct flowtap_archive_writer *writer);
void streams_close(struct streams *streams);

#endif /* STREAMS_H */
