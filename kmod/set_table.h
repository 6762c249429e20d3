/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members of a set by their task. A kernel hash table allocates where it is inserted into,
 * which nobody may do under a raw lock; this one grows in process context, and its chains are
 * longer until then. Each member has two links, so that readers of the smaller table are not
 * disturbed.
 */
#ifndef FLOWTAP_KMOD_SET_TABLE_H
#define FLOWTAP_KMOD_SET_TABLE_H

#ifdef __KERNEL__
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>
#endif

struct flowtap_member;
struct flowtap_set;
struct task_struct;

/**
 * struct flowtap_set_table - chains of members
 */
struct flowtap_set_table {
	/** @bits: there are 1 << bits chains. */
	u32 bits;
	/** @link: which of its members' links the chains use, 0 or 1. */
	u32 link;
	/** @chains: changed under set->lock, RCU. */
	struct hlist_head chains[];
};

/**
 * set_table_new() - allocate an empty table, the smallest
 *
 * Context: process context, may sleep.
 * Return: the table, to be freed by kvfree(); NULL: no memory.
 */
struct flowtap_set_table *set_table_new(void);

/**
 * set_table_find() - find a task's member
 * @table: read from its set under RCU, or set->lock.
 * @task: any task.
 *
 * Context: any, under RCU.
 * Return: the member; NULL: the task has none.
 */
struct flowtap_member *set_table_find(const struct flowtap_set_table *table,
				      const struct task_struct *task);

/**
 * set_table_insert() - insert a member
 * @table: its set's.
 * @member: in no table of its set; its task has no other.
 *
 * Context: set->lock.
 */
void set_table_insert(struct flowtap_set_table *table, struct flowtap_member *member);

/**
 * set_table_remove() - remove a member; RCU's readers may see it until a grace period has passed
 * @table: its set's.
 * @member: in the table.
 *
 * Context: set->lock.
 */
void set_table_remove(const struct flowtap_set_table *table, struct flowtap_member *member);

/**
 * set_table_full() - whether a table is better replaced by a larger one
 * @table: its set's.
 * @count: members.
 *
 * Context: any, under RCU.
 * Return: set_table_grow() would replace it.
 */
bool set_table_full(const struct flowtap_set_table *table, u32 count);

/**
 * set_table_grow() - replace a set's table by a larger one, if it is full and there is memory
 * @set: the set; nobody else calls this for it.
 *
 * Context: process context, may sleep; takes set->lock.
 */
void set_table_grow(struct flowtap_set *set);

#endif /* FLOWTAP_KMOD_SET_TABLE_H */
