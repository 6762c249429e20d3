// SPDX-License-Identifier: GPL-2.0-only
/* Members come and go under a lock and are freed after RCU's grace period. */
#include <linux/capability.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "charge.h"
#include "set.h"
#include "set_table.h"

static void grow(struct work_struct *growth)
{
	set_table_grow(container_of(growth, struct flowtap_set, growth));
}

int set_init(struct flowtap_set *set, u32 depth)
{
	struct flowtap_payer *payer = charge_set();
	struct flowtap_set_table *table;

	if (IS_ERR(payer))
		return PTR_ERR(payer);
	table = set_table_new();
	if (!table) {
		charge_set_return(payer);
		return -ENOMEM;
	}
	RCU_INIT_POINTER(set->table, table);
	INIT_WORK(&set->growth, grow);
	raw_spin_lock_init(&set->lock);
	INIT_LIST_HEAD(&set->members);
	set->payer = payer;
	set->unlimited = perfmon_capable();
	set->depth = depth;
	return 0;
}

static void free_member(struct rcu_head *rcu)
{
	struct flowtap_member *member = container_of(rcu, struct flowtap_member, rcu);

	put_task_struct(member->task);
	kfree(member);
}

void set_release(struct flowtap_member *member)
{
	call_rcu(&member->rcu, free_member);
}

void set_free(struct flowtap_set *set)
{
	struct flowtap_member *member, *next;

	cancel_work_sync(&set->growth);
	kvfree(rcu_dereference_protected(set->table, true));
	list_for_each_entry_safe(member, next, &set->members, link) {
		charge_task_return(set->payer);
		set_release(member);
	}
	charge_set_return(set->payer);
}

struct flowtap_member *set_find(struct flowtap_set *set, const struct task_struct *task)
{
	return set_table_find(rcu_dereference(set->table), task);
}

void set_each(struct flowtap_set *set,
	      void (*function)(struct flowtap_member *member, void *argument), void *argument)
{
	struct flowtap_member *member;

	rcu_read_lock();
	list_for_each_entry_rcu(member, &set->members, link)
		function(member, argument);
	rcu_read_unlock();
}

struct flowtap_member *set_new_member(const struct flowtap_set *set, struct task_struct *task,
				      gfp_t gfp)
{
	u32 capacity = READ_ONCE(set->count) < SET_HISTORIES ? set->depth : 0;
	struct flowtap_member *member;

	member = kzalloc(sizeof(*member) + capacity * sizeof(member->history[0]),
			 gfp | __GFP_NOWARN);
	/* Better without a history than not at all. */
	if (!member && capacity) {
		capacity = 0;
		member = kzalloc(sizeof(*member), gfp);
	}
	if (!member)
		return NULL;
	member->task = task;
	member->capacity = capacity;
	member->history = capacity ? (struct flowtap_entry *)(member + 1) : NULL;
	return member;
}

static struct flowtap_set_table *locked_table(struct flowtap_set *set)
{
	return rcu_dereference_protected(set->table, lockdep_is_held(&set->lock));
}

int set_insert(struct flowtap_set *set, struct flowtap_member *member)
{
	if (set->count >= SET_MAX || !charge_task(set->payer, set->unlimited))
		return -ENOSPC;
	get_task_struct(member->task);
	set_table_insert(locked_table(set), member);
	list_add_tail_rcu(&member->link, &set->members);
	WRITE_ONCE(set->count, set->count + 1);
	WRITE_ONCE(set->any, true);
	return 1;
}

void set_grow(struct flowtap_set *set)
{
	if (set_table_full(rcu_dereference(set->table), READ_ONCE(set->count)))
		schedule_work(&set->growth);
}

void set_remove(struct flowtap_set *set, struct flowtap_member *member, bool ended)
{
	member->ended = ended;
	smp_store_release(&member->gone, true);
	set_table_remove(locked_table(set), member);
	list_del_rcu(&member->link);
	WRITE_ONCE(set->count, set->count - 1);
	charge_task_return(set->payer);
}
