/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs in the kernel (choice_kernel.bpf.c) and the daemon share: the rules, as data. */
#ifndef FLOWTAP_DAEMON_CHOICE_RULES_H
#define FLOWTAP_DAEMON_CHOICE_RULES_H

#include <linux/types.h>

#define CHOICE_COMM 16			/* bytes of a command's name in the kernel, with its 0 */
#define CHOICE_PATTERNS 256		/* of each kind */
#define CHOICE_PATH 256			/* bytes of a cgroup's path, with its 0 */
#define CHOICE_PROCESSES 65536

/* Of a cgroup, of a process. */
#define CHOICE_WANTED 1			/* it is configured, or was forked by one that is */
#define CHOICE_UNWANTED 2
#define CHOICE_OWN 4			/* the daemon and its children */
/* Of a process, where the daemon is asked. */
#define CHOICE_IN_SET 8
#define CHOICE_PENDING 16		/* that may just be changing, of it or who has forked it */

/*
 * A pattern as fnmatch(3)'s, as an automaton: state n is that n of its characters have been
 * matched. Bits are states.
 */
struct choice_pattern {
	__u16 takes[256];		/* by byte: from which states it leads to the next */
	__u16 loops;			/* in these any byte does: a star */
	__u16 ends;			/* the last one, alone; 0: longer than any name */
};

enum choice_kind { CHOICE_COMMANDS, CHOICE_NOT_COMMANDS, CHOICE_KINDS };

struct choice_rules {
	__u32 n[CHOICE_KINDS];
	__u32 some;			/* it says who is wanted; else all are that are not unwanted */
	__u32 reserved;
	struct choice_pattern patterns[CHOICE_KINDS][CHOICE_PATTERNS];
};

/* Somebody has to be added or removed by the daemon. */
struct choice_event {
	__u32 pid;
	__u8 add;
	__u8 stopped;			/* it waits for SIGCONT */
	__u16 reserved;
};

static inline int choice_matches(const struct choice_pattern *pattern, const char *comm)
{
	__u32 states = 1;

	for (int i = 0; i < CHOICE_COMM && comm[i]; i++)
		states = (states & pattern->takes[(__u8)comm[i]]) << 1 | (states & pattern->loops);
	return !!(states & pattern->ends);
}

#endif /* FLOWTAP_DAEMON_CHOICE_RULES_H */
