/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording waits for: rings, side band, signals, the time and the end of the tasks. */
#ifndef WATCH_H
#define WATCH_H

#include "streams.h"

#include <flowtap/sideband.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct watch {
	sigset_t mask;			/* as it was before */
	struct pollfd *fds;		/* streams, side band, then the fixed ones */
	nfds_t n;
	nfds_t fixed;			/* index: signals, timer, workload */
	struct streams *streams;
	bool elapsed;			/* the duration is over */
};

/* Blocks SIGINT, SIGTERM and SIGHUP: from now on they wait for watch_wait. */
void watch_block(struct watch *watch);
/* pidfd: -1 none; duration in ns, 0 none. 0 or -errno after a complaint. */
int watch_open(struct watch *watch, struct streams *streams, struct flowtap_sideband *sideband,
	       int pidfd, uint64_t duration);
/*
 * Waits until there is something to drain, at most a moment if `tick`. True when the recording is
 * over: by a signal, the time, the workload's end, or the end of the last task.
 */
bool watch_wait(struct watch *watch, bool tick);
/* The signals do again what they did before. One that has been taken already is forgotten. */
void watch_release(struct watch *watch);
void watch_close(struct watch *watch);

#endif /* WATCH_H */
