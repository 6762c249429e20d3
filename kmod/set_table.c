// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chains of members, which a member is on by one of its two links; the other is the next table's.
 *
 * The host's unit tests run this file on lists of their own.
 */
#ifdef __KERNEL__
#include <linux/hash.h>
#include <linux/rculist.h>
#include <linux/slab.h>
#endif

#include "set.h"
#include "set_table.h"

#define FEWEST_BITS	6
#define MORE_BITS	3
#define MOST_BITS	12		/* 32 KiB; eight members on each chain where the set is full */

static struct flowtap_set_table *new_table(u32 bits, u32 link)
{
	struct flowtap_set_table *table = kvzalloc(struct_size(table, chains, 1UL << bits),
						   GFP_KERNEL_ACCOUNT | __GFP_NOWARN);

	if (table) {
		table->bits = bits;
		table->link = link;
	}
	return table;
}

struct flowtap_set_table *set_table_new(void)
{
	return new_table(FEWEST_BITS, 0);
}

/* A pointer that nobody chooses: no seed against those who do. */
static u32 chain_of(const struct flowtap_set_table *table, const struct task_struct *task)
{
	return hash_ptr(task, table->bits);
}

struct flowtap_member *set_table_find(const struct flowtap_set_table *table,
				      const struct task_struct *task)
{
	const struct hlist_head *chain = &table->chains[chain_of(table, task)];
	struct flowtap_member *member;
	struct hlist_node *link;

	for (link = rcu_dereference_raw(hlist_first_rcu(chain)); link;
	     link = rcu_dereference_raw(hlist_next_rcu(link))) {
		member = container_of(link - table->link, struct flowtap_member, links[0]);
		if (member->task == task)
			return member;
	}
	return NULL;
}

void set_table_insert(struct flowtap_set_table *table, struct flowtap_member *member)
{
	hlist_add_head_rcu(&member->links[table->link],
			   &table->chains[chain_of(table, member->task)]);
}

void set_table_remove(const struct flowtap_set_table *table, struct flowtap_member *member)
{
	hlist_del_rcu(&member->links[table->link]);
}

/* The mean length of a chain is one before it grows. */
bool set_table_full(const struct flowtap_set_table *table, u32 count)
{
	return table->bits < MOST_BITS && count > 1U << table->bits;
}

void set_table_grow(struct flowtap_set *set)
{
	struct flowtap_set_table *old = rcu_dereference_protected(set->table, true), *table;
	struct flowtap_member *member;

	while (set_table_full(old, READ_ONCE(set->count))) {
		table = new_table(old->bits + MORE_BITS, !old->link);
		if (!table)
			return;
		raw_spin_lock_irq(&set->lock);
		list_for_each_entry(member, &set->members, link)
			set_table_insert(table, member);
		rcu_assign_pointer(set->table, table);
		raw_spin_unlock_irq(&set->lock);
		/* Nobody follows the old links any more, which the next table will use. */
		synchronize_rcu();
		kvfree(old);
		old = table;
	}
}
