// SPDX-License-Identifier: GPL-2.0-only
/* Tasks that come into a set, or leave it, because somebody says so. */
#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>

#include "event.h"
#include "rights.h"
#include "tasks.h"

/* 1, 0 (there already, or has ended) or -errno. */
static int add_one(struct tasks *tasks, struct task_struct *task, const bool *asked)
{
	bool ended;
	int added;

	if (task->flags & PF_EXITING)
		return 0;
	/* Credentials are each thread's own. Without memory it has begun to end. */
	if (!rights_over(task))
		return READ_ONCE(task->flags) & PF_EXITING ? 0 : -EPERM;
	added = tasks_insert(tasks, NULL, task, asked, GFP_KERNEL_ACCOUNT);
	if (added != 1)
		return added;
	/* The entry before PF_EXITING is asked for; the exit hook looks for it after it is set. */
	smp_mb();
	if (tasks_count(tasks))
		added = event_add(tasks, task) ?: 1;
	/* It may have ended before there was an entry for the exit hook to find; or that comes yet. */
	ended = READ_ONCE(task->flags) & PF_EXITING;
	if (added < 0 || ended)
		tasks_evict(tasks, task, NULL, ended);
	return added == -ESRCH ? 0 : added;
}

/* A living thread of the group that has an entry or has none, referenced; NULL: no such. */
static struct task_struct *thread_with(struct tasks *tasks, struct task_struct *leader, bool entered)
{
	struct task_struct *thread, *found = NULL;

	rcu_read_lock();
	for_each_thread(leader, thread) {
		if (thread->flags & PF_EXITING || !!tasks_find(tasks, thread) != entered)
			continue;
		found = thread;
		get_task_struct(found);
		break;
	}
	rcu_read_unlock();
	return found;
}

/* New threads of those already added come in by the fork hook: this ends. */
static int add_process(struct tasks *tasks, struct task_struct *leader, const bool *asked)
{
	struct task_struct *thread;
	int added = 0, error = 0;

	while (!error && (thread = thread_with(tasks, leader, false))) {
		error = add_one(tasks, thread, asked);
		put_task_struct(thread);
		if (error >= 0) {
			added += error;
			error = fatal_signal_pending(current) ? -EINTR : 0;
		}
		cond_resched();
	}
	return error ?: added;
}

/* The thread, or one of the process's, is in the set. */
static bool is_there(struct tasks *tasks, struct task_struct *task, bool thread)
{
	struct task_struct *found;
	bool there;

	if (!thread) {
		found = thread_with(tasks, task, true);
		if (found)
			put_task_struct(found);
		return found;
	}
	rcu_read_lock();
	there = tasks_find(tasks, task);
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

static int add_found(struct tasks *tasks, struct task_struct *task, bool thread, const bool *asked)
{
	int result;

	mutex_lock(&tasks->group_lock);
	/* Keeps it from executing a set-uid program between the question and the entry. */
	result = down_read_killable(&task->signal->exec_update_lock);
	if (result)
		goto unlock;
	if (task->flags & PF_KTHREAD)
		result = -EINVAL;
	else
		result = thread ? add_one(tasks, task, asked) : add_process(tasks, task, asked);
	up_read(&task->signal->exec_update_lock);
	if (!result && !is_there(tasks, task, thread))
		result = -ESRCH;
	if (result > 0)
		tasks_reconsider(tasks, task, thread);
unlock:
	mutex_unlock(&tasks->group_lock);
	return result;
}

static int remove_found(struct tasks *tasks, struct task_struct *task, bool thread, const bool *asked)
{
	struct task_struct *other;
	int removed = 0;

	mutex_lock(&tasks->group_lock);
	if (thread) {
		removed = tasks_evict(tasks, task, asked, false);
	} else {
		while (!(asked && READ_ONCE(*asked)) && (other = thread_with(tasks, task, true))) {
			removed += tasks_evict(tasks, other, asked, false);
			put_task_struct(other);
		}
	}
	event_sync(tasks);
	mutex_unlock(&tasks->group_lock);
	return removed ?: -ESRCH;
}

static int change(struct tasks *tasks, u32 pid, bool thread,
		  int (*found)(struct tasks *tasks, struct task_struct *task, bool thread,
			       const bool *asked))
{
	struct task_struct *task;
	int result;

	if ((tasks->configure.flags & (FLOWTAP_CPU_WIDE | FLOWTAP_EXCLUDE)) == FLOWTAP_CPU_WIDE)
		return -EINVAL;
	task = find_task(pid, thread);
	if (!task)
		return -ESRCH;
	result = found(tasks, task, thread, NULL);
	put_task_struct(task);
	return result;
}

int tasks_add(struct tasks *tasks, u32 pid, bool thread)
{
	return change(tasks, pid, thread, add_found);
}

int tasks_remove(struct tasks *tasks, u32 pid, bool thread)
{
	return change(tasks, pid, thread, remove_found);
}

int tasks_add_process(struct tasks *tasks, struct task_struct *task, const bool *asked)
{
	return add_found(tasks, task, false, asked);
}

int tasks_remove_process(struct tasks *tasks, struct task_struct *task, const bool *asked)
{
	return remove_found(tasks, task, false, asked);
}
