// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cred.h>
#include <linux/mm.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "holder.h"
#include "event.h"
#include "stream.h"
#include "tasks.h"

static LIST_HEAD(sets);			/* RCU */
static DEFINE_SPINLOCK(sets_lock);

/* Someone of the set without an event, referenced; NULL: all have theirs. */
static struct task_struct *uncounted(struct tasks *tasks)
{
	struct task_struct *found = NULL;
	struct entry *entry;
	u32 bucket;

	rcu_read_lock();
	hash_for_each_rcu(tasks->entries, bucket, entry, node) {
		if (entry->task->flags & PF_EXITING || event_counts(tasks, entry->task))
			continue;
		found = get_task_struct(entry->task);
		break;
	}
	rcu_read_unlock();
	return found;
}

static void recount(struct work_struct *work)
{
	struct tasks *tasks = container_of(work, struct tasks, recount);
	struct task_struct *task;
	int error = 0;

	mutex_lock(&tasks->group_lock);
	while (!error && (task = uncounted(tasks))) {
		error = event_add(tasks, task);
		put_task_struct(task);
		if (error == -ESRCH)
			error = 0;
	}
	mutex_unlock(&tasks->group_lock);
}

struct tasks *tasks_new(const struct flowtap_configure *configure, u32 depth)
{
	struct tasks *tasks = kzalloc(sizeof(*tasks), GFP_KERNEL_ACCOUNT);

	if (!tasks)
		return NULL;
	refcount_set(&tasks->references, 1);
	INIT_LIST_HEAD(&tasks->streams);
	INIT_LIST_HEAD(&tasks->events);
	INIT_WORK(&tasks->recount, recount);
	mutex_init(&tasks->group_lock);
	raw_spin_lock_init(&tasks->lock);
	hash_init(tasks->entries);
	tasks->configure = *configure;
	tasks->depth = depth;
	tasks->privileged = capable(CAP_SYS_PTRACE);
	tasks->exec_pending = configure->flags & FLOWTAP_ENABLE_ON_EXEC;
	spin_lock(&sets_lock);
	list_add_rcu(&tasks->link, &sets);
	spin_unlock(&sets_lock);
	return tasks;
}

void tasks_get(struct tasks *tasks)
{
	refcount_inc(&tasks->references);
}

static void free_entry(struct rcu_head *rcu)
{
	struct entry *entry = container_of(rcu, struct entry, rcu);

	put_task_struct(entry->task);
	kfree(entry);
}

/* Takes the task's entry out of the set; NULL if it has none. */
static struct entry *unlink_entry(struct tasks *tasks, const struct task_struct *task)
{
	struct entry *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	entry = tasks_find(tasks, task);
	if (entry) {
		WRITE_ONCE(entry->gone, true);
		hash_del_rcu(&entry->node);
		WRITE_ONCE(tasks->count, tasks->count - 1);
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	return entry;
}

void tasks_put(struct tasks *tasks)
{
	struct hlist_node *next;
	struct entry *entry;
	u32 bucket;

	if (!refcount_dec_and_test(&tasks->references))
		return;
	spin_lock(&sets_lock);
	list_del_rcu(&tasks->link);
	spin_unlock(&sets_lock);
	/* No hook can add an entry from here on, nor ask for events. */
	synchronize_rcu();
	cancel_work_sync(&tasks->recount);
	mutex_lock(&tasks->group_lock);
	event_release(tasks);
	mutex_unlock(&tasks->group_lock);
	hash_for_each_safe(tasks->entries, bucket, next, entry, node)
		call_rcu(&entry->rcu, free_entry);
	kfree_rcu(tasks, rcu);
}

struct entry *tasks_find(struct tasks *tasks, const struct task_struct *task)
{
	struct entry *entry;

	hash_for_each_possible_rcu_notrace(tasks->entries, entry, node, (unsigned long)task)
		if (entry->task == task)
			return entry;
	return NULL;
}

bool tasks_ended(const struct tasks *tasks)
{
	return READ_ONCE(tasks->any) && !READ_ONCE(tasks->count);
}

static struct entry *new_entry(const struct tasks *tasks, struct task_struct *task, gfp_t gfp)
{
	u32 room = READ_ONCE(tasks->count) < TASKS_HISTORIES ? tasks->depth : 0;
	struct entry *entry;

	entry = kzalloc(sizeof(*entry) + room * sizeof(entry->history[0]), gfp | __GFP_NOWARN);
	/* Better without a history than not at all. */
	if (!entry && room) {
		room = 0;
		entry = kzalloc(sizeof(*entry), gfp);
	}
	if (!entry)
		return NULL;
	entry->task = task;
	entry->room = room;
	entry->history = room ? (struct flowtap_entry *)(entry + 1) : NULL;
	return entry;
}

/*
 * parent: whom it follows, or NULL; one that is not in the set any more is not followed.
 * 1: added; 0: there already, or not to be; -errno.
 */
static int insert(struct tasks *tasks, struct task_struct *parent, struct task_struct *task,
		  gfp_t gfp)
{
	struct entry *entry = new_entry(tasks, task, gfp);
	unsigned long flags;
	int added = 1;

	if (!entry)
		return -ENOMEM;
	entry->loss = 1U << FLOWTAP_CAUSE_START;
	raw_spin_lock_irqsave(&tasks->lock, flags);
	if (tasks_find(tasks, task) || (parent && !tasks_find(tasks, parent))) {
		added = 0;
	} else if (tasks->count >= TASKS_MAX) {
		added = -ENOSPC;
	} else {
		get_task_struct(task);
		hash_add_rcu(tasks->entries, &entry->node, (unsigned long)task);
		WRITE_ONCE(tasks->count, tasks->count + 1);
		WRITE_ONCE(tasks->any, true);
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	if (added != 1)
		kfree(entry);
	return added;
}

static void reconsider_all(struct tasks *tasks)
{
	struct stream *stream;

	lockdep_assert_held(&tasks->group_lock);
	list_for_each_entry(stream, &tasks->streams, tasks_link)
		holder_reconsider(stream);
}

/* Readers of every stream must learn that nobody is left. */
static void wake_if_ended(struct tasks *tasks)
{
	struct stream *stream;

	if (!tasks_ended(tasks))
		return;
	list_for_each_entry_rcu(stream, &tasks->streams, tasks_link)
		irq_work_queue(&stream->wake);
}

/* Takes a task out from outside. */
static bool evict(struct tasks *tasks, struct task_struct *task)
{
	struct entry *entry = unlink_entry(tasks, task);

	if (!entry)
		return false;
	reconsider_all(tasks);
	rcu_read_lock();
	wake_if_ended(tasks);
	rcu_read_unlock();
	call_rcu(&entry->rcu, free_entry);
	return true;
}

/* CAP_SYS_PTRACE over the task's own credentials. */
static bool may_override(struct task_struct *task)
{
	struct user_namespace *namespace;
	bool allowed;

	rcu_read_lock();
	namespace = get_user_ns(__task_cred(task)->user_ns);
	rcu_read_unlock();
	allowed = ns_capable(namespace, CAP_SYS_PTRACE);
	put_user_ns(namespace);
	return allowed;
}

/*
 * As ptrace asks, but every id must be equal and there is no way for a security module to be
 * heard: those functions are not exported. The caller holds exec_update_lock.
 */
static bool may_trace(struct task_struct *task)
{
	const struct cred *mine = current_cred(), *theirs;
	struct user_namespace *namespace;
	bool same, allowed;

	rcu_read_lock();
	theirs = __task_cred(task);
	same = uid_eq(mine->euid, theirs->uid) && uid_eq(mine->euid, theirs->euid) &&
	       uid_eq(mine->euid, theirs->suid) && gid_eq(mine->egid, theirs->gid) &&
	       gid_eq(mine->egid, theirs->egid) && gid_eq(mine->egid, theirs->sgid) &&
	       mine->user_ns == theirs->user_ns &&
	       cap_issubset(theirs->cap_permitted, mine->cap_permitted);
	rcu_read_unlock();

	/* As ptrace: who is not dumpable asks for the capability where the program was read. */
	allowed = flowtap_dumpable(task, &namespace) && same;
	if (!allowed && namespace)
		allowed = ns_capable(namespace, CAP_SYS_PTRACE) && may_override(task);
	put_user_ns(namespace);
	return allowed;
}

/* 1, 0 (there already, or has ended) or -errno. */
static int add_one(struct tasks *tasks, struct task_struct *task)
{
	int added;

	if (task->flags & PF_EXITING)
		return 0;
	/* Credentials are each thread's own. Without memory it has begun to end. */
	if (!may_trace(task))
		return READ_ONCE(task->flags) & PF_EXITING ? 0 : -EPERM;
	added = insert(tasks, NULL, task, GFP_KERNEL_ACCOUNT);
	if (added != 1)
		return added;
	/* The entry before PF_EXITING is asked for; the exit hook looks for it after it is set. */
	smp_mb();
	if (tasks->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW)
		added = event_add(tasks, task) ?: 1;
	/* It may have ended before there was an entry for the exit hook to find. */
	if (added < 0 || READ_ONCE(task->flags) & PF_EXITING)
		evict(tasks, task);
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
static int add_process(struct tasks *tasks, struct task_struct *leader)
{
	struct task_struct *thread;
	int added = 0, error = 0;

	while (!error && (thread = thread_with(tasks, leader, false))) {
		error = add_one(tasks, thread);
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

int tasks_add(struct tasks *tasks, u32 pid, bool thread)
{
	struct task_struct *task;
	int result;

	if (tasks->configure.flags & FLOWTAP_CPU_WIDE)
		return -EINVAL;
	task = find_task(pid, thread);
	if (!task)
		return -ESRCH;
	mutex_lock(&tasks->group_lock);
	/* Keeps it from executing a set-uid program between the question and the entry. */
	result = down_read_killable(&task->signal->exec_update_lock);
	if (result)
		goto unlock;
	if (task->flags & PF_KTHREAD)
		result = -EINVAL;
	else
		result = thread ? add_one(tasks, task) : add_process(tasks, task);
	up_read(&task->signal->exec_update_lock);
	if (!result && !is_there(tasks, task, thread))
		result = -ESRCH;
	if (result > 0)
		reconsider_all(tasks);
unlock:
	mutex_unlock(&tasks->group_lock);
	put_task_struct(task);
	return result;
}

int tasks_remove(struct tasks *tasks, u32 pid, bool thread)
{
	struct task_struct *task, *other;
	int removed = 0;

	if (tasks->configure.flags & FLOWTAP_CPU_WIDE)
		return -EINVAL;
	task = find_task(pid, thread);
	if (!task)
		return -ESRCH;
	mutex_lock(&tasks->group_lock);
	if (thread) {
		removed = evict(tasks, task);
	} else {
		while ((other = thread_with(tasks, task, true))) {
			removed += evict(tasks, other);
			put_task_struct(other);
		}
	}
	mutex_unlock(&tasks->group_lock);
	put_task_struct(task);
	return removed ?: -ESRCH;
}

void tasks_forked(struct task_struct *parent, struct task_struct *child)
{
	bool thread = same_thread_group(parent, child);
	struct tasks *tasks;

	rcu_read_lock();
	list_for_each_entry_rcu(tasks, &sets, link) {
		if (!thread && !(tasks->configure.flags & FLOWTAP_INHERIT))
			continue;
		if (!tasks_find(tasks, parent))
			continue;
		if (insert(tasks, parent, child, GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT) < 0)
			holder_tell(tasks, child, ktime_get_raw_fast_ns(), FLOWTAP_CAUSE_MEMORY);
	}
	rcu_read_unlock();
}

/* The current task goes: first nobody finds its entry any more, then what is held is let go. */
static void leave(struct tasks *tasks, struct task_struct *task, u32 cause)
{
	struct entry *entry = unlink_entry(tasks, task);

	if (!entry)
		return;
	holder_task_gone(tasks, entry, cause);
	wake_if_ended(tasks);
	call_rcu(&entry->rcu, free_entry);
}

/* As perf asks: not only a set-uid program, also one that its user may execute but not read. */
static bool concealed(struct task_struct *task, bool secure)
{
	struct user_namespace *namespace;
	bool dumpable = flowtap_dumpable(task, &namespace);

	put_user_ns(namespace);
	return secure || !dumpable;
}

void tasks_executed(struct task_struct *task, bool secure)
{
	struct stream *stream;
	struct tasks *tasks;

	rcu_read_lock();
	list_for_each_entry_rcu(tasks, &sets, link) {
		if (!tasks_find(tasks, task))
			continue;
		if (!tasks->privileged && concealed(task, secure)) {
			leave(tasks, task, FLOWTAP_CAUSE_EXEC);
			continue;
		}
		/* perf takes all events off a task that becomes another user's. */
		if (tasks->configure.triggers & FLOWTAP_TRIGGER_OVERFLOW &&
		    concealed(task, secure))
			schedule_work(&tasks->recount);
		if (!xchg(&tasks->exec_pending, false))
			continue;
		list_for_each_entry_rcu(stream, &tasks->streams, tasks_link)
			stream_enable_from_exec(stream);
	}
	rcu_read_unlock();
	holder_executed();
	holder_task_here();
}

void tasks_exited(struct task_struct *task)
{
	struct tasks *tasks;

	rcu_read_lock();
	list_for_each_entry_rcu(tasks, &sets, link)
		if (tasks_find(tasks, task))
			leave(tasks, task, FLOWTAP_CAUSE_SWITCH);
	rcu_read_unlock();
}
