// SPDX-License-Identifier: GPL-2.0-only
/*
 * Carries each change of tasks and streams into the group's set, its streams and its perf events.
 */
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <linux/random.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/timekeeping.h>

#include "event.h"
#include "gap.h"
#include "group.h"
#include "holder.h"
#include "holder_task.h"
#include "remote.h"
#include "request.h"
#include "rights.h"
#include "stream.h"

/* In the hooks. */
#define GFP_ATOMICALLY	(GFP_NOWAIT | __GFP_NOWARN | __GFP_ACCOUNT)

static LIST_HEAD(groups);		/* RCU */
static DEFINE_SPINLOCK(groups_lock);

void group_work(struct flowtap_group *group)
{
	schedule_delayed_work(&group->work, 0);
}

struct flowtap_group *group_new(const struct flowtap_configure *configure, u32 depth,
				work_func_t work)
{
	struct flowtap_group *group = kzalloc(sizeof(*group), GFP_KERNEL_ACCOUNT);
	int error;

	if (!group)
		return ERR_PTR(-ENOMEM);
	error = set_init(&group->set, depth);
	if (error) {
		kfree(group);
		return ERR_PTR(error);
	}
	refcount_set(&group->references, 1);
	INIT_LIST_HEAD(&group->streams);
	INIT_LIST_HEAD(&group->events);
	INIT_LIST_HEAD(&group->requests);
	INIT_DELAYED_WORK(&group->work, work);
	mutex_init(&group->lock);
	group->configure = *configure;
	group->privileged = capable(CAP_SYS_PTRACE);
	group->exec_pending = configure->flags & FLOWTAP_ENABLE_ON_EXEC;
	spin_lock(&groups_lock);
	list_add_rcu(&group->link, &groups);
	spin_unlock(&groups_lock);
	return group;
}

void group_get(struct flowtap_group *group)
{
	refcount_inc(&group->references);
}

/* Takes the task's member out of the set; NULL if it has none, or is asked to have one. */
static struct flowtap_member *unlink_member(struct flowtap_group *group,
					    const struct task_struct *task, const bool *asked,
					    bool ended)
{
	struct flowtap_member *member;
	struct flowtap_event *event;
	unsigned long flags;

	rcu_read_lock();
	raw_spin_lock_irqsave(&group->set.lock, flags);
	member = asked && *asked ? NULL : set_find(&group->set, task);
	if (member) {
		event = READ_ONCE(member->event);
		/* perf itself takes them off a task that ends. */
		if (event && !(member->task->flags & PF_EXITING))
			event_left(event);
		set_remove(&group->set, member, ended);
	}
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	rcu_read_unlock();
	return member;
}

bool group_put(struct flowtap_group *group)
{
	if (!refcount_dec_and_test(&group->references))
		return false;
	spin_lock(&groups_lock);
	list_del_rcu(&group->link);
	spin_unlock(&groups_lock);
	return true;
}

void group_free(struct flowtap_group *group)
{
	/* No hook can add a member any more, nor ask for events. */
	cancel_delayed_work_sync(&group->work);
	request_drop(group);
	mutex_lock(&group->lock);
	event_release(group);
	mutex_unlock(&group->lock);
	set_free(&group->set);
	kfree_rcu(group, rcu);
}

int group_key(struct flowtap_group *group, u64 *key)
{
	u64 old;

	if (!group->privileged || !capable(CAP_SYS_PTRACE))
		return -EPERM;
	/* One that nobody guesses. */
	do
		*key = get_random_u64();
	while (!*key);
	old = cmpxchg64(&group->key, 0, *key);
	if (old)
		*key = old;
	return 0;
}

void group_drop_key(struct flowtap_group *group)
{
	WRITE_ONCE(group->key, 0);
}

struct flowtap_group *group_by_key(u64 key)
{
	struct flowtap_group *group;

	list_for_each_entry_rcu(group, &groups, link)
		if (key && READ_ONCE(group->key) == key)
			return group;
	return NULL;
}

/* Under the set's lock and RCU: 1 or -errno. */
static int enter(struct flowtap_group *group, const struct task_struct *parent,
		 struct flowtap_member *member)
{
	if (parent && group_counts(group))
		member->event = event_of(group, member->task);
	return set_insert(&group->set, member);
}

int group_insert(struct flowtap_group *group, struct task_struct *parent, struct task_struct *task,
		   const bool *asked, gfp_t gfp)
{
	struct flowtap_member *member = set_new_member(&group->set, task, gfp);
	unsigned long flags;
	int added;

	if (!member)
		return -ENOMEM;
	member->loss = 1U << FLOWTAP_CAUSE_START;
	rcu_read_lock();
	raw_spin_lock_irqsave(&group->set.lock, flags);
	if (asked && !*asked)
		added = -ECANCELED;
	else if (set_find(&group->set, task) || (parent && !set_find(&group->set, parent)))
		added = 0;
	else
		added = enter(group, parent, member);
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	set_grow(&group->set);
	rcu_read_unlock();
	if (added != 1)
		kfree(member);
	return added;
}

/* On any CPU, atomic. */
static void let_record(struct flowtap_stream *stream)
{
	if (READ_ONCE(stream->enabled) || READ_ONCE(stream->closing))
		return;
	WRITE_ONCE(stream->enabled_since, ktime_get_raw_fast_ns());
	WRITE_ONCE(stream->enabled, true);
}

void group_enable(struct flowtap_stream *stream)
{
	if (READ_ONCE(stream->enabled))
		return;
	let_record(stream);
	if (stream->event)
		perf_event_enable(stream->event);
	if (remote_may_have_any(stream))
		remote_reconsider(stream);
}

/* Its CPU has to write what it lost, or whom it displaced. */
static bool has_rest(const struct flowtap_stream *stream)
{
	return output_lost_fits(&stream->output, false) ||
	       READ_ONCE(stream->group->displacements) ||
	       (output_lost_fits(&stream->output, true) && gap_may_ask(stream->cpu, true));
}

void group_disable(struct flowtap_stream *stream)
{
	if (!READ_ONCE(stream->enabled)) {
		/* There may have been no space for the last LOST record, and there is by now. */
		if (has_rest(stream))
			remote_reconsider(stream);
		return;
	}
	WRITE_ONCE(stream->enabled, false);
	WRITE_ONCE(stream->group->disables, stream->group->disables + 1);
	if (stream->event)
		perf_event_disable(stream->event);
	if (remote_may_have_any(stream) || has_rest(stream))
		remote_reconsider(stream);
	stream->enabled_ns += ktime_get_raw_fast_ns() - stream->enabled_since;
	output_wake(&stream->output);
}

void group_each(struct flowtap_stream *stream, bool all, void (*change)(struct flowtap_stream *))
{
	struct flowtap_group *group = stream->group;
	struct flowtap_stream *other;

	mutex_lock(&group->lock);
	if (all)
		list_for_each_entry(other, &group->streams, group_link) {
			if (!other->closing)
				change(other);
		}
	else
		change(stream);
	event_sync(group);
	mutex_unlock(&group->lock);
}

/* The thread, or one of its process's, may be on the stream's CPU. */
static bool may_be_there(const struct flowtap_stream *stream, struct task_struct *task, bool thread)
{
	struct task_struct *other;
	bool found = false;

	if (thread)
		return remote_may_have(stream, task);
	rcu_read_lock();
	for_each_thread(task, other)
		if (remote_may_have(stream, other)) {
			found = true;
			break;
		}
	rcu_read_unlock();
	return found;
}

void group_reconsider(struct flowtap_group *group, struct task_struct *task, bool thread)
{
	struct flowtap_stream *stream;

	lockdep_assert_held(&group->lock);
	list_for_each_entry(stream, &group->streams, group_link)
		if (may_be_there(stream, task, thread))
			remote_reconsider(stream);
}

/* Readers of every stream must learn that nobody is left. */
static void wake_if_ended(struct flowtap_group *group)
{
	struct flowtap_stream *stream;

	if (!group_ended(group))
		return;
	list_for_each_entry_rcu(stream, &group->streams, group_link)
		output_wake(&stream->output);
}

bool group_evict(struct flowtap_group *group, struct task_struct *task, const bool *asked,
		 bool ended)
{
	struct flowtap_member *member = unlink_member(group, task, asked, ended);

	if (!member)
		return false;
	group_reconsider(group, task, true);
	rcu_read_lock();
	if (!group_excludes(group))
		holder_task_evicted(group, member);
	wake_if_ended(group);
	rcu_read_unlock();
	set_release(member);
	return true;
}

/* A child has an event without being in the set. */
static void disinherit(struct flowtap_group *group, struct task_struct *child)
{
	struct flowtap_event *event = NULL;
	unsigned long flags;

	if (!group_counts(group))
		return;
	raw_spin_lock_irqsave(&group->set.lock, flags);
	event = event_of(group, child);
	if (event)
		event_left(event);
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	if (event)
		group_work(group);
}

void group_forked(struct task_struct *parent, struct task_struct *child)
{
	bool thread = same_thread_group(parent, child);
	struct flowtap_group *group;

	rcu_read_lock();
	list_for_each_entry_rcu(group, &groups, link) {
		if (!thread && !(group->configure.flags & FLOWTAP_INHERIT))
			continue;
		if (!set_find(&group->set, parent))
			continue;
		if (group_insert(group, parent, child, NULL, GFP_ATOMICALLY) < 0) {
			gap_write(group, child, ktime_get_raw_fast_ns(), FLOWTAP_CAUSE_MEMORY);
			disinherit(group, child);
		}
	}
	rcu_read_unlock();
}

/* First nobody finds the current task's member any more, then the source it holds is released. */
static void remove_current(struct flowtap_group *group, struct task_struct *task, u32 cause)
{
	struct flowtap_member *member = unlink_member(group, task, NULL, true);

	if (!member)
		return;
	if (!group_excludes(group))
		holder_task_gone(group, member, cause);
	if (group_counts(group) && !(task->flags & PF_EXITING))
		group_work(group);
	wake_if_ended(group);
	set_release(member);
}

int group_add_here(struct flowtap_group *group, struct task_struct *task)
{
	int added = group_insert(group, NULL, task, NULL, GFP_ATOMICALLY);

	if (added < 0)
		return added;
	/* Also where it has just been added by somebody else, who has not come to that yet. */
	if (task == current)
		holder_task_here();
	if (group_counts(group))
		group_work(group);
	return 0;
}

int group_remove_here(struct flowtap_group *group, struct task_struct *task)
{
	struct flowtap_member *member;

	if (task == current) {
		remove_current(group, task, FLOWTAP_CAUSE_SWITCH);
		holder_task_here();
		return 0;
	}
	member = unlink_member(group, task, NULL, false);
	if (!member)
		return 0;
	if (group_counts(group))
		group_work(group);
	set_release(member);
	return 0;
}

/* perf takes all events off a task that becomes another user's, and may have let others count. */
static void look_at_event(struct flowtap_group *group, struct task_struct *task, bool enabled)
{
	struct flowtap_member *member;
	struct flowtap_event *event;
	unsigned long flags;

	raw_spin_lock_irqsave(&group->set.lock, flags);
	member = set_find(&group->set, task);
	if (member) {
		event = event_of(group, task);
		WRITE_ONCE(member->event, event);
		if (enabled && event)
			event_executed(event);
	}
	raw_spin_unlock_irqrestore(&group->set.lock, flags);
	group_work(group);
}

void group_executes(struct task_struct *task)
{
	struct flowtap_member *member;
	struct flowtap_group *group;

	if (thread_group_leader(task))
		return;
	rcu_read_lock();
	list_for_each_entry_rcu(group, &groups, link) {
		member = group_excludes(group) ? NULL : set_find(&group->set, task);
		if (member)
			holder_member_renames(group, member);
	}
	rcu_read_unlock();
	holder_renames();
}

void group_executed(struct task_struct *task, bool secure)
{
	struct flowtap_stream *stream;
	struct flowtap_group *group;
	bool enables;

	rcu_read_lock();
	list_for_each_entry_rcu(group, &groups, link) {
		if (group_excludes(group) || !set_find(&group->set, task))
			continue;
		if (!group->privileged && rights_conceal(task, secure)) {
			remove_current(group, task, FLOWTAP_CAUSE_EXEC);
			continue;
		}
		enables = xchg(&group->exec_pending, false);
		if (enables)
			list_for_each_entry_rcu(stream, &group->streams, group_link)
				let_record(stream);
		if (group_counts(group) && (enables || rights_conceal(task, secure)))
			look_at_event(group, task, enables);
	}
	rcu_read_unlock();
	holder_executed();
	holder_task_here();
}

void group_exited(struct task_struct *task)
{
	struct flowtap_group *group;

	rcu_read_lock();
	list_for_each_entry_rcu(group, &groups, link)
		if (set_find(&group->set, task))
			remove_current(group, task, FLOWTAP_CAUSE_SWITCH);
	rcu_read_unlock();
}
