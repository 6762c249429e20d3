/* SPDX-License-Identifier: GPL-2.0-only */
/* What a recording waits for: rings, side band, signals, the time and the end of the tasks. */
#ifndef FLOWTAP_TOOLS_RECORD_RECORDER_WATCH_H
#define FLOWTAP_TOOLS_RECORD_RECORDER_WATCH_H

#include "recording/streams.h"

#include <flowtap/sideband.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct watch {
	sigset_t mask;			/* as it was before */
	struct streams *streams;	/* their drain waits for the others, too */
	bool open;
	int signals;			/* fds, and their numbers in the drain */
	int timer;
	int signals_number;
	int timer_number;
	int workload_number;		/* -1 none */
	bool elapsed;			/* the duration is over */
	bool abandoned;			/* nothing is traced any more, and nothing else ended it */
	bool asked;			/* SIGUSR2 came; the caller clears it */
};

/*
 * Blocks SIGINT, SIGTERM and SIGHUP, and SIGUSR2 if it is to mean something: from now on they wait
 * for watch_wait.
 */
void watch_block(struct watch *watch, bool usr2);
/* After streams_begin. pidfd: -1 none; duration in ns, 0 none. 0 or -errno after a complaint. */
int watch_open(struct watch *watch, struct streams *streams, struct flowtap_sideband *sideband,
	       int pidfd, uint64_t duration);
/*
 * Waits until there is something to drain, at most a moment if `tick`. True when the recording is
 * over: by a signal, the time, the workload's end, or the end of the last task.
 */
bool watch_wait(struct watch *watch, bool tick);
/*
 * The signals do again what they did before, but SIGUSR2, which would kill. One that has been taken
 * already is forgotten.
 */
void watch_release(struct watch *watch);
void watch_close(struct watch *watch);

#endif /* FLOWTAP_TOOLS_RECORD_RECORDER_WATCH_H */
