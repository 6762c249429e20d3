// SPDX-License-Identifier: GPL-2.0-only
/* Tasks that come into a set, or leave it, because somebody says so. */
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "charge.h"
#include "cursor.h"
#include "event.h"
#include "gap.h"
#include "group.h"
#include "request.h"
#include "rights.h"

/* Until a process has executed its program. */
#define REQUESTS_AGAIN	msecs_to_jiffies(10)

/* 1, 0 (there already, or has ended) or -errno. */
static int add_one(struct flowtap_group *group, struct task_struct *task, const bool *asked)
{
	bool ended;
	int added;

	if (task->flags & PF_EXITING)
		return 0;
	/* Credentials are each thread's own. Without memory it has begun to end. */
	if (!rights_over(task))
		return READ_ONCE(task->flags) & PF_EXITING ? 0 : -EPERM;
	added = group_insert(group, NULL, task, asked, GFP_KERNEL_ACCOUNT);
	if (added != 1)
		return added;
	/* The member before PF_EXITING is asked for; the exit hook looks for it after it is set. */
	smp_mb();
	if (group_counts(group))
		added = event_add(group, task) ?: 1;
	/*
	 * It may have ended before there was a member for the exit hook to find; or that comes yet.
	 */
	ended = READ_ONCE(task->flags) & PF_EXITING;
	if (added < 0 || ended)
		group_evict(group, task, NULL, ended);
	return added == -ESRCH ? 0 : added;
}

static bool has_member(struct flowtap_group *group, const struct task_struct *thread)
{
	return set_find(&group->set, thread);
}

/* New threads of those already added come in by the fork hook: this ends. *added: how many. */
static int add_process(struct flowtap_group *group, struct task_struct *leader, const bool *asked,
		       int *added)
{
	struct flowtap_cursor cursor = {};
	int error = 0;
	u32 n, i;

	while (!error && (n = cursor_threads(&cursor, leader, &group->set, false))) {
		for (i = 0; i < n && error >= 0; i++) {
			error = add_one(group, cursor.found[i], asked);
			*added += max(error, 0);
			if (error >= 0)
				error = fatal_signal_pending(current) ? -EINTR : 0;
		}
		cond_resched();
	}
	cursor_end(&cursor);
	return error ?: *added;
}

/* The thread, or a living one of the process's, is in the set. */
static bool is_there(struct flowtap_group *group, struct task_struct *task, bool thread)
{
	struct task_struct *other;
	bool there;

	rcu_read_lock();
	there = has_member(group, task);
	if (!thread) {
		there = false;
		for_each_thread(task, other)
			there |= !(other->flags & PF_EXITING) && has_member(group, other);
	}
	rcu_read_unlock();
	return there;
}

static struct task_struct *find_task(u32 number, bool thread)
{
	struct pid *pid = find_get_pid(number);
	struct task_struct *task = get_pid_task(pid, thread ? PIDTYPE_PID : PIDTYPE_TGID);

	put_pid(pid);
	return task;
}

/* The process executes no set-uid program between the question and the member. */
static int add_steady(struct flowtap_group *group, struct task_struct *task, bool thread,
		      const bool *asked)
{
	int result, added = 0;

	/* Its exec waits meanwhile: whoever does not get there can be killed. */
	if (mutex_lock_killable(&group->lock))
		return -EINTR;
	if (task->flags & PF_KTHREAD)
		result = -EINVAL;
	else
		result = thread ? add_one(group, task, asked) :
			 add_process(group, task, asked, &added);
	if (!result && !is_there(group, task, thread))
		result = -ESRCH;
	/* Also those that came before an error: they are in the set. */
	if (result > 0 || added)
		group_reconsider(group, task, thread);
	mutex_unlock(&group->lock);
	return result;
}

/* Its exec_update_lock is not held: this may be another one soon. A leader that ended has threads. */
static bool is_others(struct task_struct *task)
{
	return !(task->flags & PF_KTHREAD) && !rights_over(task) &&
	       !(READ_ONCE(task->flags) & PF_EXITING);
}

/*
 * An exec may wait for a file system of somebody's own to close a file: nobody else waits for that
 * with a lock that others want. Nor does an exec of somebody else's wait for who asks for him.
 */
static int add_found(struct flowtap_group *group, struct task_struct *task, bool thread,
		     const bool *asked)
{
	struct rw_semaphore *lock = &task->signal->exec_update_lock;
	int result;

	if (is_others(task))
		return -EPERM;
	result = down_read_killable(lock);
	if (result)
		return result;
	result = add_steady(group, task, thread, asked);
	up_read(lock);
	return result;
}

/* -EAGAIN: it executes a program at the moment. */
static int add_at_once(struct flowtap_group *group, struct task_struct *task, const bool *asked)
{
	struct rw_semaphore *lock = &task->signal->exec_update_lock;
	int result;

	if (!down_read_trylock(lock))
		return -EAGAIN;
	result = add_steady(group, task, false, asked);
	up_read(lock);
	return result;
}

/* By a caller: there may be space when the sets that he has closed are gone. */
static int add_if_charged(struct flowtap_group *group, struct task_struct *task, bool thread,
			  const bool *asked)
{
	if (!group->set.unlimited &&
	    !charge_allows(group->set.payer, thread ? 1 : get_nr_threads(task)))
		charge_wait();
	return add_found(group, task, thread, asked);
}

static int remove_process(struct flowtap_group *group, struct task_struct *leader,
			  const bool *asked)
{
	struct flowtap_cursor cursor = {};
	int removed = 0;
	u32 n, i;

	while (!(asked && READ_ONCE(*asked)) &&
	       (n = cursor_threads(&cursor, leader, &group->set, true))) {
		for (i = 0; i < n; i++)
			removed += group_evict(group, cursor.found[i], asked, false);
		cond_resched();
	}
	cursor_end(&cursor);
	return removed;
}

static int remove_found(struct flowtap_group *group, struct task_struct *task, bool thread,
			const bool *asked)
{
	int removed;

	mutex_lock(&group->lock);
	removed = thread ? group_evict(group, task, asked, false) :
		  remove_process(group, task, asked);
	event_sync(group);
	mutex_unlock(&group->lock);
	return removed ?: -ESRCH;
}

static int change(struct flowtap_group *group, u32 pid, bool thread,
		  int (*found)(struct flowtap_group *group, struct task_struct *task, bool thread,
			       const bool *asked))
{
	struct task_struct *task;
	int result;

	if ((group->configure.flags & (FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE)) == FLOWTAP_CPU_WIDE)
		return -EINVAL;
	task = find_task(pid, thread);
	if (!task)
		return -ESRCH;
	result = found(group, task, thread, NULL);
	put_task_struct(task);
	return result;
}

int group_add(struct flowtap_group *group, u32 pid, bool thread)
{
	return change(group, pid, thread, add_if_charged);
}

int group_remove(struct flowtap_group *group, u32 pid, bool thread)
{
	return change(group, pid, thread, remove_found);
}

/*
 * Whether it is to be there, as was asked, is known under group->set.lock: where that has changed
 * nothing is done any more. Nobody waits for the answer: a GAP record names a task that cannot be
 * traced, or left out.
 */
static bool serve(struct flowtap_group *group, struct task_struct *task, bool add,
		  const bool *asked, bool last)
{
	int error = add ? add_at_once(group, task, asked) :
			  remove_found(group, task, false, asked);

	if (error == -EAGAIN && !last)
		return false;
	/* It may have ended, not be asked for any more, or have been there already. */
	if (!add || error >= 0 || error == -ESRCH || error == -ECANCELED)
		return true;
	rcu_read_lock();
	gap_write(group, task, ktime_get_raw_fast_ns(), FLOWTAP_CAUSE_MEMORY);
	rcu_read_unlock();
	return true;
}

void group_serve(struct work_struct *work)
{
	struct flowtap_group *group = container_of(to_delayed_work(work), struct flowtap_group, work);

	if (request_serve(group, serve))
		schedule_delayed_work(&group->work, REQUESTS_AGAIN);
	mutex_lock(&group->lock);
	event_sync(group);
	mutex_unlock(&group->lock);
}

/*
 * The fork hook of the current task has it, so that it stays as it is: it has not run yet, nothing
 * has to be stopped or started. Somebody else's child may run at any moment.
 */
static bool is_own_new(struct task_struct *task)
{
	return READ_ONCE(task->__state) & TASK_NEW &&
	       (rcu_access_pointer(task->real_parent) == current || same_thread_group(task, current));
}

int group_change(struct flowtap_group *group, struct task_struct *task, bool add)
{
	int error;

	if (task->flags & PF_KTHREAD)
		return -EINVAL;
	/* A last record is written after an IPI, which asks for interrupts. */
	if (irqs_disabled() || (task != current && !is_own_new(task))) {
		error = request_queue(group, task, add);
		if (!error)
			group_work(group);
		return error;
	}
	request_amend(group, task, add);
	return add ? group_add_here(group, task) : group_remove_here(group, task);
}
