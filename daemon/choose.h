/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs in the kernel (choose.bpf.c) and the daemon share: the rules, as data. */
#ifndef FLOWTAP_DAEMON_CHOOSE_H
#define FLOWTAP_DAEMON_CHOOSE_H

#include <linux/types.h>

#define CHOOSE_COMM 16			/* bytes of a command's name in the kernel, with its 0 */
#define CHOOSE_PATTERNS 256		/* of each kind */
#define CHOOSE_PATH 256			/* bytes of a cgroup's path, with its 0 */
#define CHOOSE_PROCESSES 65536

/* Of a cgroup, of a process. */
#define CHOOSE_WANTED 1			/* it is configured, or was forked by one that is */
#define CHOOSE_UNWANTED 2
#define CHOOSE_OWN 4			/* the daemon and its children */
/* Of a process, where the daemon is asked. */
#define CHOOSE_IN_SET 8
#define CHOOSE_PENDING 16		/* that may just be changing, of it or who has forked it */

/*
 * A pattern as fnmatch(3)'s, as an automaton: state n is that n of its characters have been
 * matched. Bits are states.
 */
struct choose_pattern {
	__u16 takes[256];		/* by byte: from which states it leads to the next */
	__u16 stays;			/* in these any byte does: a star */
	__u16 ends;			/* the last one, alone; 0: longer than any name */
};

enum choose_kind { CHOOSE_COMMANDS, CHOOSE_NOT_COMMANDS, CHOOSE_KINDS };

struct choose_rules {
	__u32 n[CHOOSE_KINDS];
	__u32 some;			/* it says who is wanted; else all are that are not unwanted */
	__u32 reserved;
	struct choose_pattern patterns[CHOOSE_KINDS][CHOOSE_PATTERNS];
};

/* Somebody has to be added or removed by the daemon. */
struct choose_event {
	__u32 pid;
	__u8 add;
	__u8 stopped;			/* it waits for SIGCONT */
	__u16 reserved;
};

static inline int choose_matches(const struct choose_pattern *pattern, const char *comm)
{
	__u32 states = 1;

	for (int i = 0; i < CHOOSE_COMM && comm[i]; i++)
		states = (states & pattern->takes[(__u8)comm[i]]) << 1 | (states & pattern->stays);
	return !!(states & pattern->ends);
}

#endif /* FLOWTAP_DAEMON_CHOOSE_H */
