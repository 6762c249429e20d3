// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the members of a set are found before its table grows, while it does and afterwards,
 * also by those who read the old one meanwhile; that no chain is long, and that nothing is left of who
 * is removed. kmod/set_table.c is compiled into this program.
 */
#include <stdlib.h>

#include "support/kselftest_harness.h"

#include "kernel.h"
#include "list.h"

#define SET_MAX		32768	/* of kmod/set.h */
#define LONGEST		32	/* of a chain; the mean is 8 where the set is full */

/* --- What it takes from the kernel. --- */

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

#define __rcu
#define GFP_KERNEL_ACCOUNT	0
#define __GFP_NOWARN		0
#define READ_ONCE(variable)	(variable)
#define struct_size(pointer, member, n) (sizeof(*(pointer)) + (n) * sizeof((pointer)->member[0]))
#define hlist_first_rcu(head)	((head)->first)
#define hlist_next_rcu(node)	((node)->next)
#define rcu_dereference_raw(pointer)			(pointer)
#define rcu_dereference_protected(pointer, condition)	(pointer)
#define rcu_assign_pointer(pointer, value)		((pointer) = (value))

/* As linux/hash.h has it. */
static u32 hash_ptr(const void *pointer, unsigned int bits)
{
	return (u64)(uintptr_t)pointer * 0x61c8864680b583ebULL >> (64 - bits);
}

static void hlist_add_head_rcu(struct hlist_node *node, struct hlist_head *head)
{
	node->next = head->first;
	node->pprev = &head->first;
	if (head->first)
		head->first->pprev = &node->next;
	head->first = node;
}

/* Who is at the node goes on from there. */
static void hlist_del_rcu(struct hlist_node *node)
{
	*node->pprev = node->next;
	if (node->next)
		node->next->pprev = node->pprev;
	node->pprev = NULL;
}

static bool memory;
static bool locked;

static void *kvzalloc(size_t size, unsigned int gfp)
{
	return memory ? calloc(1, size) : NULL;
}

#define kvfree(pointer)			free(pointer)
#define raw_spin_lock_irq(lock)		((void)(lock), locked = true)
#define raw_spin_unlock_irq(lock)	((void)(lock), locked = false)

/* Those who read meanwhile. */
static void synchronize_rcu(void);

/* In place of kmod/set.h. */
#define FLOWTAP_KMOD_SET_H

struct flowtap_member {
	struct hlist_node links[2];
	struct list_head link;
	const struct task_struct *task;
};

struct flowtap_set {
	int lock;
	struct flowtap_set_table *table;
	struct list_head members;
	u32 count;
};

#include "../../../kmod/set_table.c"

/* --- A set. --- */

static struct flowtap_set set;
static struct flowtap_member *members;	/* SET_MAX; of task_of() the same number */
static unsigned long stride;		/* from a task to the next */

/* Nobody looks into one. */
static const struct task_struct *task_of(u32 n)
{
	return (const struct task_struct *)(0xff60000081234000UL + n * stride);
}

static struct flowtap_member *find(const struct flowtap_set_table *table, u32 n)
{
	return set_table_find(table, task_of(n));
}

static void add(u32 n)
{
	struct flowtap_member *member = &members[n];

	member->task = task_of(n);
	set_table_insert(set.table, member);
	list_add_tail(&member->link, &set.members);
	set.count++;
}

static void drop(u32 n)
{
	struct flowtap_member *member = &members[n];

	set_table_remove(set.table, member);
	list_del_rcu(&member->link);
	set.count--;
}

/* Of every fifth from `from` to `to`, those who are not found, or not as themselves. */
static u32 missing(const struct flowtap_set_table *table, u32 from, u32 to)
{
	u32 n, wrong = 0;

	for (n = from; n < to; n += 5)
		wrong += find(table, n) != &members[n];
	return wrong;
}

static u32 longest(const struct flowtap_set_table *table)
{
	const struct hlist_node *link;
	u32 chain, n, most = 0;

	for (chain = 0; chain < 1U << table->bits; chain++) {
		for (n = 0, link = table->chains[chain].first; link; link = link->next)
			n++;
		most = n > most ? n : most;
	}
	return most;
}

static struct {
	/* Somebody reads it who began before the set grew. */
	const struct flowtap_set_table *table;
	u32 growths, wrong;
	u32 dropped, added;		/* numbers of members that go and come while it grows */
} reader;

static void synchronize_rcu(void)
{
	reader.growths++;
	reader.wrong += locked || set.table == reader.table;
	reader.wrong += missing(reader.table, reader.dropped, reader.added);
	reader.wrong += missing(set.table, reader.dropped, reader.added);
	/* Who goes is there yet for the reader, who comes is not. */
	drop(reader.dropped);
	add(reader.added);
	reader.wrong += find(reader.table, reader.dropped) != &members[reader.dropped];
	reader.wrong += find(reader.table, reader.added) != NULL;
	reader.wrong += find(set.table, reader.dropped) != NULL;
	reader.wrong += find(set.table, reader.added) != &members[reader.added];
	reader.wrong += missing(reader.table, reader.dropped, reader.added);
	reader.dropped++;
	reader.added++;
	reader.table = set.table;
}

static void begin(unsigned long distance)
{
	memory = true;
	stride = distance;
	members = calloc(SET_MAX, sizeof(members[0]));
	set = (struct flowtap_set){ .members = { &set.members, &set.members } };
	set.table = set_table_new();
	memset(&reader, 0, sizeof(reader));
	reader.table = set.table;
}

static void end(void)
{
	free(set.table);
	free(members);
}

FIXTURE(set_table)
{
};

FIXTURE_SETUP(set_table)
{
	begin(2624);
}

FIXTURE_TEARDOWN(set_table)
{
	end();
}

TEST_F(set_table, members_are_found_before_while_and_after_it_grows)
{
	const u32 more = 8;
	u32 n;

	ASSERT_NE(NULL, set.table);
	EXPECT_EQ(NULL, find(set.table, 0));
	/* All that there may be, before the worker comes to it. */
	for (n = 0; n < SET_MAX - more; n++)
		add(n);
	EXPECT_TRUE(set_table_full(set.table, set.count));
	EXPECT_EQ(0, missing(set.table, 0, SET_MAX - more));
	EXPECT_EQ(NULL, find(set.table, SET_MAX - more));
	reader.added = SET_MAX - more;
	set_table_grow(&set);
	EXPECT_LT(1, reader.growths);
	EXPECT_EQ(0, reader.wrong);
	EXPECT_FALSE(set_table_full(set.table, set.count));
	EXPECT_EQ(0, missing(set.table, reader.dropped, reader.added));
	for (n = 0; n < reader.dropped; n++)
		EXPECT_EQ(NULL, find(set.table, n));
	EXPECT_GE(LONGEST, longest(set.table));
}

/* As slabs have them one after the other. */
TEST_F(set_table, no_chain_is_long)
{
	static const unsigned long strides[] = { 64, 2624, 4096, 4416, 5120, 9472, 16384, 65536 };
	u32 i, n;

	for (i = 0; i < sizeof(strides) / sizeof(strides[0]); i++) {
		end();
		begin(strides[i]);
		ASSERT_NE(NULL, set.table);
		for (n = 0; n < SET_MAX; n++) {
			add(n);
			/* Whoever is added meanwhile is not what this is about. */
			if (!set_table_full(set.table, set.count))
				continue;
			reader.dropped = 0;
			reader.added = n + 1;
			set_table_grow(&set);
			add(0);
			n++;
			EXPECT_FALSE(set_table_full(set.table, set.count));
			EXPECT_GE(LONGEST, longest(set.table));
		}
		EXPECT_EQ(SET_MAX, set.count);
		EXPECT_EQ(0, reader.wrong);
		EXPECT_EQ(2, reader.growths);
		EXPECT_GE(LONGEST, longest(set.table)) TH_LOG("%lu", strides[i]);
	}
}

TEST_F(set_table, without_memory_it_stays_as_it_is)
{
	const struct flowtap_set_table *table = set.table;
	const u32 many = 1000;
	u32 n;

	for (n = 0; n < many; n++)
		add(n);
	memory = false;
	set_table_grow(&set);
	EXPECT_EQ(table, set.table);
	EXPECT_EQ(0, reader.growths);
	EXPECT_EQ(0, missing(set.table, 0, many));
	memory = true;
	reader.added = many;
	set_table_grow(&set);
	EXPECT_NE(table, set.table);
	EXPECT_EQ(0, reader.wrong);
	EXPECT_EQ(0, missing(set.table, reader.dropped, reader.added));
	memory = false;
	EXPECT_EQ(NULL, set_table_new());
}

TEST_F(set_table, nothing_is_left_of_who_is_removed)
{
	const u32 many = 5000;
	u32 n, left = many;

	for (n = 0; n < many; n++)
		add(n);
	reader.added = many;
	set_table_grow(&set);
	ASSERT_EQ(many, set.count);
	/* Those who went while it grew; then each third, each second, and the others. */
	for (n = reader.dropped; n < reader.added; n++)
		if (n % 3 == 0) {
			drop(n);
			left--;
		}
	for (n = reader.dropped; n < reader.added; n++)
		EXPECT_EQ(n % 3 ? &members[n] : NULL, find(set.table, n));
	for (n = reader.added; n-- > reader.dropped;)
		if (n % 3 && n % 2) {
			drop(n);
			left--;
		}
	EXPECT_EQ(left, set.count);
	for (n = reader.dropped; n < reader.added; n++)
		EXPECT_EQ(n % 3 && n % 2 == 0 ? &members[n] : NULL, find(set.table, n));
	for (n = reader.dropped; n < reader.added; n++)
		if (n % 3 && n % 2 == 0)
			drop(n);
	EXPECT_EQ(0, set.count);
	EXPECT_EQ(0, longest(set.table));
}

TEST_HARNESS_MAIN
