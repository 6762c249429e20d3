/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * flowtapd's child: a process beside it, with the CPU and disk time that nobody else wants
 * (SCHED_IDLE, idle I/O priority), that does one thing with one segment and ends. It goes with
 * its parent, has nothing open that is the parent's but standard error, and is the first that is
 * killed where memory is short.
 *
 *	flowtapd --child PARENT pack DIRECTORY SEGMENT
 *	flowtapd --child PARENT decode DIRECTORY SEGMENT FORMAT
 *	flowtapd --child PARENT mend DIRECTORY SEGMENT
 *
 * PARENT is the parent's process ID, SEGMENT a segment's name without .zst. `pack` writes
 * SEGMENT.zst.part. `mend` makes SEGMENT.part, which was left, whole up to its last block. `decode`
 * runs `flowtap decode` (beside flowtapd, or in $PATH) of what there is of the segment, a trace for
 * each process, into its unfinished directory (decoded.h); beside the traces are
 *
 *	summary.json	what flowtap decode --json said
 *	messages	what it complained of
 *	result		KEY=VALUE lines: format; status, the exit status, or "signal N"; seconds that it
 *			took; messages, how many lines there are of them
 */
#ifndef FLOWTAP_DAEMON_CHILD_H
#define FLOWTAP_DAEMON_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>

#define CHILD_OPTION "--child"
#define CHILD_FAILED 125	/* exit statuses: it could not be done now; standard error says why */
#define CHILD_NO_DECODER 127	/* flowtap was not found */
#define CHILD_KILLED 126	/* flowtap decode ended by a signal */
#define CHILD_EMPTY 124		/* mend: there is no whole block in it */

/*
 * Whether a process was asked to end, as all of a terminal or of a service are: what it did is worth
 * another try. status: waitpid's.
 */
static inline bool child_was_asked(int status)
{
	return WIFSIGNALED(status) && (WTERMSIG(status) == SIGTERM || WTERMSIG(status) == SIGINT ||
				       WTERMSIG(status) == SIGHUP);
}

/*
 * argv from CHILD_OPTION on. The exit status: 0; CHILD_FAILED, or the above; of decode that of
 * flowtap decode (3: the segment is damaged). After 0, of decode after any but CHILD_FAILED and
 * CHILD_NO_DECODER, all that was written is on the disk; else nothing of it is of use. mend changes
 * nothing that was whole, however it ends.
 */
int child_main(int argc, char **argv);

#endif /* FLOWTAP_DAEMON_CHILD_H */
