/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The streams of one recording (flowtap/session.h), for a command.
 * Every failure has been complained about, with its fix, when a function here returns.
 */
#ifndef FLOWTAP_TOOLS_RECORDING_STREAMS_H
#define FLOWTAP_TOOLS_RECORDING_STREAMS_H

#include "recording/options.h"

#include <flowtap/session.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct streams {
	struct flowtap_session session;
	const char *event;		/* its name, for messages; NULL: none triggers */
	bool contradicts;		/* a ring does; it was said */
};

/*
 * Opens, configures and maps a stream on each CPU that was asked for and can do what is asked for;
 * the others are in the session's skips. 0 or -errno; at least one, or it is an error.
 */
int streams_open(struct streams *streams, const struct record_options *options);
int streams_add(struct streams *streams, pid_t pid);
int streams_enable(struct streams *streams);
int streams_disable(struct streams *streams);
/* What the hardware has of running tasks goes into the rings. 0 or -errno after a complaint. */
int streams_snapshot(const struct streams *streams);
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
int streams_flush(struct streams *streams);
/*
 * What rings that overwrite hold now and did not the last time, into the archive; they may be
 * written to meanwhile. Streams with an AUX area that run are disabled for that time. 0 or -errno
 * of the archive or of switching them, -ENOMEM.
 */
int streams_copy(struct streams *streams, bool running);
/* Whether all rings could be read to the end. */
bool streams_whole(const struct streams *streams);
void streams_close(struct streams *streams);

#endif /* FLOWTAP_TOOLS_RECORDING_STREAMS_H */
