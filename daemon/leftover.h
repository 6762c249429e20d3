/* SPDX-License-Identifier: GPL-2.0-only */
/* What waits in a ring that no archive took: the next one gets it. */
#ifndef FLOWTAP_DAEMON_LEFTOVER_H
#define FLOWTAP_DAEMON_LEFTOVER_H

#include "../tools/recording/streams.h"

/*
 * The stream's statistics (FLOWTAP_IOC_STATS) as they were when what is in an archive was recorded:
 * without that what waits. Of a stream that is off. 0; -errno of flowtap_session_stats; -EPROTO:
 * its ring contradicts itself, and *stats has all. What rings that overwrite have does not wait.
 */
int leftover_stats(const struct flowtap_session_stream *stream, struct flowtap_stats *stats);

#endif /* FLOWTAP_DAEMON_LEFTOVER_H */
