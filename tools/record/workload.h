/* SPDX-License-Identifier: GPL-2.0-only */
/* The command that `record -- CMD` records: forked early, executed when everything is ready. */
#ifndef FLOWTAP_TOOLS_RECORD_WORKLOAD_H
#define FLOWTAP_TOOLS_RECORD_WORKLOAD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct workload {
	pid_t pid;		/* 0: none, or reaped */
	int pidfd;		/* readable when it has ended; -1 */
	int go;			/* a byte here lets it execute, closing lets it go away */
	int report;		/* errno of exec comes from here, or the end of file */
	int wait_status;
	bool left;		/* it goes on after SIGTERM, which was said */
	bool to_stderr;		/* what it prints on standard output goes to standard error */
};

/*
 * STATUS_NOT_FOUND or STATUS_CANNOT_EXECUTE, after a complaint, where the shell would say so too;
 * else 0.
 */
int workload_check(const char *name);
/* Forks; the child waits, with the signal mask `mask`. 0 or -errno. */
int workload_fork(struct workload *workload, char **arguments, const sigset_t *mask);
/* Lets it execute. 0, or the exit status after a complaint. */
int workload_start(struct workload *workload, const char *name);
/* Takes its exit status if it has ended; `block` waits for that. */
bool workload_reap(struct workload *workload, bool block);
/* Waits a little for it to end by itself. False: it goes on. */
bool workload_ends(struct workload *workload);
/* As the shell gives it: 128 + signal for one that was killed. STATUS_ERROR for one that goes on. */
int workload_status(const struct workload *workload);
/*
 * Sends SIGTERM to one that still runs, and waits a little; true if there was one. Once: one that
 * goes on then is left alone.
 */
bool workload_stop(struct workload *workload);

#endif /* FLOWTAP_TOOLS_RECORD_WORKLOAD_H */
