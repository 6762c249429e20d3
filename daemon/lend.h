/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hardware is lent: the daemon ends its segment, closes its streams, and takes all of it back
 * when the borrower is gone. Who borrowed holds a connection: that it is closed, also by being
 * killed, is what gives it back.
 */
#ifndef FLOWTAP_DAEMON_LEND_H
#define FLOWTAP_DAEMON_LEND_H

#include <stdint.h>

#include "server.h"

struct run;

struct lease {
	pid_t pid;			/* of the borrower; 0: nobody, it is opened again */
	uid_t uid;
	unsigned int before;		/* enum run_state to return to */
	uint64_t since;			/* CLOCK_MONOTONIC_RAW, ns */
	uint64_t returned;		/* 0: not yet */
	uint64_t retry;			/* when taking back is tried */
	const char *why;		/* it is opened again, for people */
};

/*
 * Ends the segment and lets go of everything: state RUN_LENT. 0; -EBUSY: it is lent already;
 * -ESRCH: the borrower is in another PID namespace, where nobody sees when its streams are closed.
 * Complains about what goes wrong with the segment.
 */
int lend(struct run *run, const struct server_peer *peer);
/* The borrower's connection was closed. */
void lend_returned(struct run *run, const struct server_peer *peer);
/*
 * All that is open is opened again, into another segment; where it cannot be, as lent until it can.
 * word: why the segment ended; why: the same for people. Both are static.
 */
void lend_reopen(struct run *run, const char *word, const char *why);
/*
 * While RUN_LENT: tries to take it back when it was returned, and if that fails again and again:
 * the state is the one before then, and a segment has begun.
 */
void lend_serve(struct run *run, uint64_t now);

#endif /* FLOWTAP_DAEMON_LEND_H */
