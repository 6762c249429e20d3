/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A place among the threads of a process, or the members of a set, from which one goes on after
 * what was done with those found so far, which may sleep. Who began anew each time would look again
 * at all of those that he is done with.
 */
#ifndef FLOWTAP_KMOD_CURSOR_H
#define FLOWTAP_KMOD_CURSOR_H

#ifdef __KERNEL__
#include <linux/types.h>
#endif

struct flowtap_member;
struct flowtap_set;
struct task_struct;

#define CURSOR_AT_ONCE	64

/**
 * struct flowtap_cursor - where a walk is; zeroed: at the beginning
 */
struct flowtap_cursor {
	/** @n: tasks in @found. */
	u32 n;
	/** @found: referenced until the next look; the last one is where that goes on. */
	struct task_struct *found[CURSOR_AT_ONCE];
};

/**
 * cursor_threads() - find a process's next living threads that are in a set, or are not
 * @cursor: gets them; what it had before is let go of. If the last of those has ended the walk
 *	begins anew.
 * @leader: any thread of the process, referenced.
 * @set: the set.
 * @entered: those in the set; false: those that are not.
 *
 * New threads come after older ones: who is found takes part from then on or not any more, so that a
 * walk ends.
 *
 * Context: process context; the set is not locked.
 * Return: how many; 0: there are no more, and the cursor is at the beginning.
 */
u32 cursor_threads(struct flowtap_cursor *cursor, struct task_struct *leader,
		   struct flowtap_set *set, bool entered);

/**
 * cursor_members() - find a set's next members that somebody wants
 * @cursor: gets their tasks; what it had before is let go of. If the last of those is not in the set
 *	any more the walk begins anew.
 * @set: the set.
 * @wanted: whether a member is to be found; does not sleep.
 *
 * Context: process context; the set is not locked.
 * Return: how many; 0: there are no more, and the cursor is at the beginning.
 */
u32 cursor_members(struct flowtap_cursor *cursor, struct flowtap_set *set,
		   bool (*wanted)(const struct flowtap_member *member));

/**
 * cursor_end() - end a walk before there are no more
 * @cursor: lets go of what it has.
 *
 * Context: process context.
 */
void cursor_end(struct flowtap_cursor *cursor);

#endif /* FLOWTAP_KMOD_CURSOR_H */
