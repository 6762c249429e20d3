// SPDX-License-Identifier: GPL-2.0-only
/*
 * Walks lists under RCU some tasks at a time, from the last one found on.
 *
 * The host's unit tests run this file on lists of their own.
 */
#ifdef __KERNEL__
#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#endif

#include "cursor.h"
#include "set.h"

/* Lets go of all but the last, which is referenced yet; NULL: the walk begins. */
static struct task_struct *take_last(struct flowtap_cursor *cursor)
{
	struct task_struct *last = cursor->n ? cursor->found[--cursor->n] : NULL;

	cursor_end(cursor);
	return last;
}

/* False: there is no place for more. */
static bool keep(struct flowtap_cursor *cursor, struct task_struct *task)
{
	cursor->found[cursor->n++] = get_task_struct(task);
	return cursor->n < CURSOR_AT_ONCE;
}

u32 cursor_threads(struct flowtap_cursor *cursor, struct task_struct *leader,
		   struct flowtap_set *set, bool entered)
{
	struct task_struct *last = take_last(cursor), *thread;

	rcu_read_lock();
	/* Who has ended is not in the list any more, or leaves it; nobody is freed meanwhile. */
	if (last && pid_alive(last))
		thread = last;
	else
		thread = list_entry(&leader->signal->thread_head, struct task_struct, thread_node);
	list_for_each_entry_continue_rcu(thread, &leader->signal->thread_head, thread_node) {
		if (thread->flags & PF_EXITING || !!set_find(set, thread) != entered)
			continue;
		if (!keep(cursor, thread))
			break;
	}
	rcu_read_unlock();
	if (last)
		put_task_struct(last);
	return cursor->n;
}

u32 cursor_members(struct flowtap_cursor *cursor, struct flowtap_set *set,
		   bool (*wanted)(const struct flowtap_member *member))
{
	struct task_struct *last = take_last(cursor);
	struct flowtap_member *member;

	rcu_read_lock();
	member = last ? set_find(set, last) : NULL;
	member = member ?: list_entry(&set->members, struct flowtap_member, link);
	list_for_each_entry_continue_rcu(member, &set->members, link) {
		if (member->task->flags & PF_EXITING || !wanted(member))
			continue;
		if (!keep(cursor, member->task))
			break;
	}
	rcu_read_unlock();
	if (last)
		put_task_struct(last);
	return cursor->n;
}

void cursor_end(struct flowtap_cursor *cursor)
{
	while (cursor->n)
		put_task_struct(cursor->found[--cursor->n]);
}
