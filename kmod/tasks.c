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
	.key_offset = offsetof(struct entry, task),
	.head_offset = offsetof(struct entry, node),
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
	INIT_LIST_HEAD(&tasks->entries);
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

static void free_entry(struct rcu_head *rcu)
{
	struct entry *entry = container_of(rcu, struct entry, rcu);

	put_task_struct(entry->task);
	kfree(entry);
}

/* Takes the task's entry out of the set; NULL if it has none, or is asked to have one. */
static struct entry *unlink_entry(struct tasks *tasks, const struct task_struct *task,
				  const bool *asked, bool ended)
{
	struct entry *entry;
	unsigned long flags;

	rcu_read_lock();
	raw_spin_lock_irqsave(&tasks->lock, flags);
	entry = asked && *asked ? NULL : tasks_find(tasks, task);
	if (entry) {
		/* perf itself takes them off a task that ends. */
		if (entry->event && !(entry->task->flags & PF_EXITING))
			event_left(entry->event);
		entry->ended = ended;
		smp_store_release(&entry->gone, true);
		rhashtable_remove_fast(&tasks->table, &entry->node, by_task);
		list_del_rcu(&entry->link);
		WRITE_ONCE(tasks->count, tasks->count - 1);
		charge_task_return(tasks->payer);
	}
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	rcu_read_unlock();
	return entry;
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
	struct entry *entry, *next;

	/* No hook can add an entry any more, nor ask for events. */
	cancel_work_sync(&tasks->work);
	request_drop(tasks);
	mutex_lock(&tasks->group_lock);
	event_release(tasks);
	mutex_unlock(&tasks->group_lock);
	rhashtable_destroy(&tasks->table);
	list_for_each_entry_safe(entry, next, &tasks->entries, link) {
		charge_task_return(tasks->payer);
		call_rcu(&entry->rcu, free_entry);
	}
	charge_set_return(tasks->payer);
	kfree_rcu(tasks, rcu);
}

struct entry *tasks_find(struct tasks *tasks, const struct task_struct *task)
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

void tasks_each(struct tasks *tasks, void (*function)(struct entry *entry, void *argument),
		void *argument)
{
	struct entry *entry;

	rcu_read_lock();
	list_for_each_entry_rcu(entry, &tasks->entries, link)
		function(entry, argument);
	rcu_read_unlock();
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

/* Under tasks->lock and RCU: 1 or -errno. */
static int enter(struct tasks *tasks, struct task_struct *parent, struct entry *entry)
{
	int error;

	if (tasks->count >= TASKS_MAX || !charge_task(tasks->payer, tasks->unlimited))
		return -ENOSPC;
	if (parent && tasks_count(tasks))
		entry->event = event_of(tasks, entry->task);
	error = rhashtable_insert_fast(&tasks->table, &entry->node, by_task);
	if (error) {
		charge_task_return(tasks->payer);
		/* It cannot grow here and now. */
		return -ENOMEM;
	}
	get_task_struct(entry->task);
	list_add_tail_rcu(&entry->link, &tasks->entries);
	WRITE_ONCE(tasks->count, tasks->count + 1);
	WRITE_ONCE(tasks->any, true);
	return 1;
}

int tasks_insert(struct tasks *tasks, struct task_struct *parent, struct task_struct *task,
		 const bool *asked, gfp_t gfp)
{
	struct entry *entry = new_entry(tasks, task, gfp);
	unsigned long flags;
	int added;

	if (!entry)
		return -ENOMEM;
	entry->loss = 1U << FLOWTAP_CAUSE_START;
	rcu_read_lock();
	raw_spin_lock_irqsave(&tasks->lock, flags);
	if (asked && !*asked)
		added = -ECANCELED;
	else if (tasks_find(tasks, task) || (parent && !tasks_find(tasks, parent)))
		added = 0;
	else
		added = enter(tasks, parent, entry);
	raw_spin_unlock_irqrestore(&tasks->lock, flags);
	rcu_read_unlock();
	if (added != 1)
		kfree(entry);
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
	struct entry *entry = unlink_entry(tasks, task, asked, ended);

	if (!entry)
		return false;
	tasks_reconsider(tasks, task, true);
	rcu_read_lock();
	wake_if_ended(tasks);
	rcu_read_unlock();
	call_rcu(&entry->rcu, free_entry);
	return true;
}

/* A child has an event without being in the set. */
static void disinherit(struct tasks *tasks, struct task_struct *child)
{
	struct event *event = NULL;
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

/* The current task goes: first nobody finds its entry any more, then what is held is let go. */
static void leave(struct tasks *tasks, struct task_struct *task, u32 cause)
{
	struct entry *entry = unlink_entry(tasks, task, NULL, true);

	if (!entry)
		return;
	if (!tasks_exclude(tasks))
		holder_task_gone(tasks, entry, cause);
	if (tasks_count(tasks) && !(task->flags & PF_EXITING))
		tasks_work(tasks);
	wake_if_ended(tasks);
	call_rcu(&entry->rcu, free_entry);
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
	struct entry *entry;

	if (task == current) {
		leave(tasks, task, FLOWTAP_CAUSE_SWITCH);
		holder_task_here();
		return 0;
	}
	entry = unlink_entry(tasks, task, NULL, false);
	if (!entry)
		return 0;
	if (tasks_count(tasks))
		tasks_work(tasks);
	call_rcu(&entry->rcu, free_entry);
	return 0;
}

/* perf takes all events off a task that becomes another user's, and may have let others count. */
static void look_at_event(struct tasks *tasks, struct task_struct *task, bool enabled)
{
	struct entry *entry;
	unsigned long flags;

	raw_spin_lock_irqsave(&tasks->lock, flags);
	entry = tasks_find(tasks, task);
	if (entry) {
		WRITE_ONCE(entry->event, event_of(tasks, task));
		if (enabled && entry->event)
			event_executed(entry->event);
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
