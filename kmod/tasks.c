// SPDX-License-Identifier: GPL-2.0-only
#include <linux/capability.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "charge.h"
#include "event.h"
#include "holder.h"
#include "request.h"
#include "rights.h"
#include "stream.h"
#include "tasks.h"

/* In the hooks. */
#define GFP_ATOMICALLY	(GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT)

/* A pointer that nobody chooses: cheaper than a hash against those who do. */
static u32 hash_task(const void *task, u32 length, u32 seed)
{
	return hash_ptr(*(struct task_struct *const *)task, 32) ^ seed;
}

static const struct rhashtable_params by_task = {
	.key_len = sizeof(struct task_struct *),
	.key_offset = offsetof(struct flowtap_member, task),
	.head_offset = offsetof(struct flowtap_member, node),
	.hashfn = hash_task,
	.automatic_shrinking = true,
};

static LIST_HEAD(sets);			/* RCU */
static DEFINE_SPINLOCK(sets_lock);

static void work(struct work_struct *work)
{
	struct tasks *tasks = container_of(work, struct tasks, work);

	request_serve(tasks);
	mutex_lock(&tasks->group_lock);
	event_sync(tasks);
	mutex_unlock(&tasks->group_lock);
}

void tasks_work(struct tasks *tasks)
{
	schedule_work(&tasks->work);
}

struct tasks *tasks_new(const struct flowtap_configure *configure, u32 depth)
{
	struct tasks *tasks = kzalloc(sizeof(*tasks), GFP_KERNEL_ACCOUNT);
	struct payer *payer;
	int error = -ENOMEM;

	if (!tasks)
		return ERR_PTR(error);
	payer = charge_set();
	if (IS_ERR(payer)) {
		error = PTR_ERR(payer);
		goto free;
	}
	error = rhashtable_init(&tasks->table, &by_task);
	if (error)
		goto pay_back;
	refcount_set(&tasks->references, 1);
	INIT_LIST_HEAD(&tasks->streams);
	INIT_LIST_HEAD(&tasks->events);
	INIT_LIST_HEAD(&tasks->members);
	INIT_LIST_HEAD(&tasks->requests);
	INIT_WORK(&tasks->work, work);
	mutex_init(&tasks->group_lock);
	raw_spin_lock_init(&tasks->lock);
	tasks->payer = payer;
	tasks->unlimited = perfmon_capable();
	tasks->configure = *configure;
	tasks->depth = depth;
	tasks->privileged = capable(CAP_SYS_PTRACE);
	tasks->exec_pending = configure->flags & FLOWTAP_ENABLE_ON_EXEC;
	spin_lock(&sets_lock);
	list_add_rcu(&tasks->link, &sets);
	spin_unlock(&sets_lock);
	return tasks;

pay_back:
	charge_set_return(payer);
free:
	kfree(tasks);
	return ERR_PTR(error);
}

void tasks_get(struct tasks *tasks)
{
	refcount_inc(&tasks->references);
}

static void free_member(struct rcu_head *rcu)
{
	struct flowtap_member *member = container_of(rcu, struct flowtap_member, rcu);

	put_task_struct(member->task);
	kfree(member);
}

/* Takes the task's member out of the set; NULL if it has none, or is asked to have one. */
static struct flowtap_member *unlink_member(struct tasks *tasks, const struct task_struct *task,
				  const bool *asked, bool ended)
{
	struct flowtap_member *member;
	unsigned long flags;

	rcu_read_lock();
	raw_spin_lock_irqsave(&tasks->lock, flags);
	member = asked && *asked ? NULL : tasks_find(tasks, task);
	if (member) {
		/* perf itself takes them off a task that ends. */
		if (member->event && !(member->task->flags & PF_EXITING))
			event_left(member->event);
		member->ended = ended;
		smp_store_release(&member->gone, true);
		rhashtable_remove_fast(&tasks->table, &member->node, by_task);
		list_del_rcu(&member->link);
		WRITE_ONCE(tasks->count, tasks->count - 1);
		charge_task_return(tasks->payer);
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	rcu_read_unlock();
	return member;
}

bool tasks_put(struct tasks *tasks)
{
	if (!refcount_dec_and_test(&tasks->references))
		return false;
	spin_lock(&sets_lock);
	list_del_rcu(&tasks->link);
	spin_unlock(&sets_lock);
	return true;
}

void tasks_free(struct tasks *tasks)
{
	struct flowtap_member *member, *next;

	/* No hook can add a member any more, nor ask for events. */
	cancel_work_sync(&tasks->work);
	request_drop(tasks);
	mutex_lock(&tasks->group_lock);
	event_release(tasks);
	mutex_unlock(&tasks->group_lock);
	rhashtable_destroy(&tasks->table);
	list_for_each_entry_safe(member, next, &tasks->members, link) {
		charge_task_return(tasks->payer);
		call_rcu(&member->rcu, free_member);
	}
	charge_set_return(tasks->payer);
	kfree_rcu(tasks, rcu);
}

struct flowtap_member *tasks_find(struct tasks *tasks, const struct task_struct *task)
{
	return rhashtable_lookup(&tasks->table, &task, by_task);
}

bool tasks_ended(const struct tasks *tasks)
{
	if (tasks->configure.flags & (FLOWTAP_ENDLESS | FLOWTAP_CPU_WIDE))
		return false;
	return READ_ONCE(tasks->any) && !READ_ONCE(tasks->count);
}

int tasks_key(struct tasks *tasks, u64 *key)
{
	u64 old;

	if (!tasks->privileged || !capable(CAP_SYS_PTRACE))
		return -EPERM;
	/* One that nobody guesses. */
	do
		*key = get_random_u64();
	while (!*key);
	old = cmpxchg64(&tasks->key, 0, *key);
	if (old)
		*key = old;
	return 0;
}

void tasks_forget_key(struct tasks *tasks)
{
	WRITE_ONCE(tasks->key, 0);
}

struct tasks *tasks_by_key(u64 key)
{
	struct tasks *tasks;

	list_for_each_entry_rcu(tasks, &sets, link)
		if (key && READ_ONCE(tasks->key) == key)
			return tasks;
	return NULL;
}

void tasks_each(struct tasks *tasks, void (*function)(struct flowtap_member *member, void *argument),
		void *argument)
{
	struct flowtap_member *member;

	rcu_read_lock();
	list_for_each_entry_rcu(member, &tasks->members, link)
		function(member, argument);
	rcu_read_unlock();
}

static struct flowtap_member *new_member(const struct tasks *tasks, struct task_struct *task, gfp_t gfp)
{
	u32 room = READ_ONCE(tasks->count) < TASKS_HISTORIES ? tasks->depth : 0;
	struct flowtap_member *member;

	member = kzalloc(sizeof(*member) + room * sizeof(member->history[0]), gfp | __GFP_NOWARN);
	/* Better without a history than not at all. */
	if (!member && room) {
		room = 0;
		member = kzalloc(sizeof(*member), gfp);
	}
	if (!member)
		return NULL;
	member->task = task;
	member->room = room;
	member->history = room ? (struct flowtap_entry *)(member + 1) : NULL;
	return member;
}

/* Under tasks->lock and RCU: 1 or -errno. */
static int enter(struct tasks *tasks, struct task_struct *parent, struct flowtap_member *member)
{
	int error;

	if (tasks->count >= TASKS_MAX || !charge_task(tasks->payer, tasks->unlimited))
		return -ENOSPC;
	if (parent && tasks_count(tasks))
		member->event = event_of(tasks, member->task);
	error = rhashtable_insert_fast(&tasks->table, &member->node, by_task);
	if (error) {
		charge_task_return(tasks->payer);
		/* It cannot grow here and now. */
		return -ENOMEM;
	}
	get_task_struct(member->task);
	list_add_tail_rcu(&member->link, &tasks->members);
	WRITE_ONCE(tasks->count, tasks->count + 1);
	WRITE_ONCE(tasks->any, true);
	return 1;
}

int tasks_insert(struct tasks *tasks, struct task_struct *parent, struct task_struct *task,
		 const bool *asked, gfp_t gfp)
{
	struct flowtap_member *member = new_member(tasks, task, gfp);
	unsigned long flags;
	int added;

	if (!member)
		return -ENOMEM;
	member->loss = 1U << FLOWTAP_CAUSE_START;
	rcu_read_lock();
	raw_spin_lock_irqsave(&tasks->lock, flags);
	if (asked && !*asked)
		added = -ECANCELED;
	else if (tasks_find(tasks, task) || (parent && !tasks_find(tasks, parent)))
		added = 0;
	else
		added = enter(tasks, parent, member);
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	rcu_read_unlock();
	if (added != 1)
		kfree(member);
	return added;
}

/* The thread, or one of its process's, may be on the stream's CPU. */
static bool may_be_there(const struct stream *stream, struct task_struct *task, bool thread)
{
	struct task_struct *other;
	bool found = false;

	if (thread)
		return holder_may_have(stream, task);
	rcu_read_lock();
	for_each_thread(task, other)
		if (holder_may_have(stream, other)) {
			found = true;
			break;
		}
	rcu_read_unlock();
	return found;
}

void tasks_reconsider(struct tasks *tasks, struct task_struct *task, bool thread)
{
	struct stream *stream;

	lockdep_assert_held(&tasks->group_lock);
	list_for_each_entry(stream, &tasks->streams, tasks_link)
		if (may_be_there(stream, task, thread))
			holder_reconsider(stream);
}

/* Readers of every stream must learn that nobody is left. */
static void wake_if_ended(struct tasks *tasks)
{
	struct stream *stream;

	if (!tasks_ended(tasks))
		return;
	list_for_each_entry_rcu(stream, &tasks->streams, tasks_link)
		output_wake(&stream->output);
}

bool tasks_evict(struct tasks *tasks, struct task_struct *task, const bool *asked, bool ended)
{
	struct flowtap_member *member = unlink_member(tasks, task, asked, ended);

	if (!member)
		return false;
	tasks_reconsider(tasks, task, true);
	rcu_read_lock();
	wake_if_ended(tasks);
	rcu_read_unlock();
	call_rcu(&member->rcu, free_member);
	return true;
}

/* A child has an event without being in the set. */
static void disinherit(struct tasks *tasks, struct task_struct *child)
{
	struct flowtap_event *event = NULL;
	unsigned long flags;

	if (!tasks_count(tasks))
		return;
	raw_spin_lock_irqsave(&tasks->lock, flags);
	event = event_of(tasks, child);
	if (event)
		event_left(event);
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	if (event)
		tasks_work(tasks);
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
		if (tasks_insert(tasks, parent, child, NULL, GFP_ATOMICALLY) < 0) {
			holder_tell(tasks, child, ktime_get_raw_fast_ns(), FLOWTAP_CAUSE_MEMORY);
			disinherit(tasks, child);
		}
	}
	rcu_read_unlock();
}

/* The current task goes: first nobody finds its member any more, then what is held is let go. */
static void leave(struct tasks *tasks, struct task_struct *task, u32 cause)
{
	struct flowtap_member *member = unlink_member(tasks, task, NULL, true);

	if (!member)
		return;
	if (!tasks_exclude(tasks))
		holder_task_gone(tasks, member, cause);
	if (tasks_count(tasks) && !(task->flags & PF_EXITING))
		tasks_work(tasks);
	wake_if_ended(tasks);
	call_rcu(&member->rcu, free_member);
}

int tasks_add_here(struct tasks *tasks, struct task_struct *task)
{
	int added = tasks_insert(tasks, NULL, task, NULL, GFP_ATOMICALLY);

	if (added < 0)
		return added;
	/* Also where it has just been added by somebody else, who has not come to that yet. */
	if (task == current)
		holder_task_here();
	if (tasks_count(tasks))
		tasks_work(tasks);
	return 0;
}

int tasks_remove_here(struct tasks *tasks, struct task_struct *task)
{
	struct flowtap_member *member;

	if (task == current) {
		leave(tasks, task, FLOWTAP_CAUSE_SWITCH);
		holder_task_here();
		return 0;
	}
	member = unlink_member(tasks, task, NULL, false);
	if (!member)
		return 0;
	if (tasks_count(tasks))
		tasks_work(tasks);
	call_rcu(&member->rcu, free_member);
	return 0;
}

/* perf takes all events off a task that becomes another user's, and may have let others count. */
static void look_at_event(struct tasks *tasks, struct task_struct *task, bool enabled)
{
	struct flowtap_member *member;
	unsigned long flags;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	member = tasks_find(tasks, task);
	if (member) {
		WRITE_ONCE(member->event, event_of(tasks, task));
		if (enabled && member->event)
			event_executed(member->event);
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	tasks_work(tasks);
}

void tasks_executed(struct task_struct *task, bool secure)
{
	struct stream *stream;
	struct tasks *tasks;
	bool enables;

	rcu_read_lock();
	list_for_each_entry_rcu(tasks, &sets, link) {
		if (tasks_exclude(tasks) || !tasks_find(tasks, task))
			continue;
		if (!tasks->privileged && rights_conceal(task, secure)) {
			leave(tasks, task, FLOWTAP_CAUSE_EXEC);
			continue;
		}
		enables = xchg(&tasks->exec_pending, false);
		if (enables)
			list_for_each_entry_rcu(stream, &tasks->streams, tasks_link)
				stream_enable_from_exec(stream);
		if (tasks_count(tasks) && (enables || rights_conceal(task, secure)))
			look_at_event(tasks, task, enables);
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
