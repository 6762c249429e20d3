/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who flowtapd is, and what it may do: less with each step, and never more again. It is started by
 * root, and becomes a user of its own, or by a service manager that has done so already, with some
 * capabilities. What each capability is for is in the table of privileges.c.
 */
#ifndef FLOWTAP_DAEMON_PRIVILEGES_H
#define FLOWTAP_DAEMON_PRIVILEGES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PRIVILEGES_USER "flowtap"	/* where none is configured */

/* What is done that asks for more; bits. */
enum privileges_use {
	PRIVILEGES_KERNEL = 1,		/* the kernel's code is read */
	PRIVILEGES_TASKS = 2,		/* tasks are chosen, by BPF programs */
	PRIVILEGES_STOPS = 4,		/* and stopped for that, if need be */
	PRIVILEGES_PROBES = 8,		/* functions and tracepoints trigger, by BPF programs */
	PRIVILEGES_PARANOID = 16,	/* perf_event_paranoid is above 2, as in Debian's kernels */
};

struct privileges {
	bool root;		/* started by root: ids can be changed */
	unsigned int uses;	/* enum privileges_use */
	uid_t uid;		/* who we are to be */
	gid_t gid;
	char user[64];		/* its name; "" where it has none */
};

/*
 * Who it is to be: the user of this name; "": PRIVILEGES_USER, or, where that does not exist, who
 * we are. Where it was not started by root, it is who we are in any case. uses: what will be done.
 * 0; -ENOENT: there is no such user; -errno.
 */
int privileges_find(struct privileges *privileges, const char *user, unsigned int uses);
/*
 * Makes the directory that the path is in, where it is missing and we are root still, and gives it
 * to the user. One level: with more missing it does nothing. 0 or -errno.
 */
int privileges_directory(const struct privileges *privileges, const char *path);
/*
 * We are that user from now on, with the capabilities that are needed until it records, and those
 * that privileges_device gives for a moment. Children that are executed have none. Before any
 * thread is created. 0 or -errno.
 */
int privileges_begin(const struct privileges *privileges);
/* While on: a device that is another's can be opened, if we were started by root. 0 or -errno. */
int privileges_device(const struct privileges *privileges, bool on);
/*
 * Down to the capabilities that it needs while it records, for good. Where one of them was never
 * there it stays away. Before any thread is created. 0 or -errno.
 */
int privileges_end(const struct privileges *privileges);
/* The sets that those three leave, as bits by number (linux/capability.h), of what there is. */
uint64_t privileges_starting(const struct privileges *privileges);
uint64_t privileges_running(const struct privileges *privileges);

#endif /* FLOWTAP_DAEMON_PRIVILEGES_H */
