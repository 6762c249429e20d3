// SPDX-License-Identifier: GPL-2.0-only
/* A hash table of members by task, changed under a lock and freed after RCU's grace period. */
#include <linux/capability.h>
#include <linux/rhashtable.h>
#include <linux/sched/task.h>
#include <linux/slab.h>

#include "charge.h"
#include "set.h"

/* A pointer that nobody chooses: cheaper than a hash against those who do. */
static u32 hash_task(const void *task, u32 length, u32 seed)
{
	return hash_ptr(*(struct task_struct *const *)task, 32) ^ seed;
}

/* Without this it is a call of memcmp. */
static int other_task(struct rhashtable_compare_arg *arg, const void *object)
{
	const struct flowtap_member *member = object;

	return member->task != *(struct task_struct *const *)arg->key;
}

static const struct rhashtable_params by_task = {
	.key_len = sizeof(struct task_struct *),
	.key_offset = offsetof(struct flowtap_member, task),
	.head_offset = offsetof(struct flowtap_member, node),
	.hashfn = hash_task,
	.obj_cmpfn = other_task,
	.automatic_shrinking = true,
};

int set_init(struct flowtap_set *set, u32 depth)
{
	struct payer *payer = charge_set();
	int error;

	if (IS_ERR(payer))
		return PTR_ERR(payer);
	error = rhashtable_init(&set->table, &by_task);
	if (error) {
		charge_set_return(payer);
		return error;
	}
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

	rhashtable_destroy(&set->table);
	list_for_each_entry_safe(member, next, &set->members, link) {
		charge_task_return(set->payer);
		set_release(member);
	}
	charge_set_return(set->payer);
}

struct flowtap_member *set_find(struct flowtap_set *set, const struct task_struct *task)
{
	return rhashtable_lookup(&set->table, &task, by_task);
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
	u32 room = READ_ONCE(set->count) < SET_HISTORIES ? set->depth : 0;
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

int set_insert(struct flowtap_set *set, struct flowtap_member *member)
{
	int error;

	if (set->count >= SET_MAX || !charge_task(set->payer, set->unlimited))
		return -ENOSPC;
	error = rhashtable_insert_fast(&set->table, &member->node, by_task);
	if (error) {
		charge_task_return(set->payer);
		/* It cannot grow here and now. */
		return -ENOMEM;
	}
	get_task_struct(member->task);
	list_add_tail_rcu(&member->link, &set->members);
	WRITE_ONCE(set->count, set->count + 1);
	WRITE_ONCE(set->any, true);
	return 1;
}

void set_remove(struct flowtap_set *set, struct flowtap_member *member, bool ended)
{
	member->ended = ended;
	smp_store_release(&member->gone, true);
	rhashtable_remove_fast(&set->table, &member->node, by_task);
	list_del_rcu(&member->link);
	WRITE_ONCE(set->count, set->count - 1);
	charge_task_return(set->payer);
}
