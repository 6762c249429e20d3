// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that who adds a process with many threads, or makes events for a set with many members,
 * looks at each of them once, and goes on when some come or go meanwhile; that nobody is left out or
 * found twice, and that no reference is lost. kmod/cursor.c is compiled into this program.
 */
#include <stdlib.h>

#include "support/kselftest_harness.h"

#include "kernel.h"

/* --- What it takes from the kernel. --- */

#define MANY 3000
#define MORE 100	/* who come later */

struct thread {
	struct task_struct task;
	struct flowtap_member *member;	/* NULL: none */
	int references;			/* of those who found it */
	bool alive;
};

static struct thread threads[MANY + MORE];
static struct signal_struct process;
static unsigned int n_threads;
static bool reading;		/* RCU */
static unsigned int wrong;	/* what nobody may do */
static unsigned int looks;	/* at a thread or a member, of those of interest */

static struct thread *thread_of(const struct task_struct *task)
{
	return container_of(task, struct thread, task);
}

static void rcu_read_lock(void)
{
	wrong += reading;
	reading = true;
}

static void rcu_read_unlock(void)
{
	reading = false;
}

static bool pid_alive(const struct task_struct *task)
{
	wrong += !reading || !thread_of(task)->references;
	return thread_of(task)->alive;
}

static struct task_struct *get_task_struct(struct task_struct *task)
{
	wrong += !reading;
	thread_of(task)->references++;
	return task;
}

/* It may be freed, which is not to be done here. */
static void put_task_struct(struct task_struct *task)
{
	wrong += reading || --thread_of(task)->references < 0;
}

/* In place of kmod/set.h. */
#define FLOWTAP_KMOD_SET_H

struct flowtap_member {
	struct list_head link;
	struct task_struct *task;
	bool event;
};

struct flowtap_set {
	struct list_head members;
};

static struct flowtap_member *set_find(struct flowtap_set *set, const struct task_struct *task)
{
	wrong += !reading;
	looks++;
	return thread_of(task)->member;
}

#include "../../../kmod/cursor.c"

/* --- A process and a set. --- */

static struct flowtap_set set;
static struct flowtap_member members[MANY + MORE];

static void start(void)
{
	struct thread *thread = &threads[n_threads++];

	*thread = (struct thread){ .alive = true };
	thread->task.signal = &process;
	list_add_tail(&thread->task.thread_node, &process.thread_head);
}

static void enter(struct thread *thread)
{
	struct flowtap_member *member = &members[thread - threads];

	wrong += thread->member != NULL;
	*member = (struct flowtap_member){ .task = &thread->task };
	list_add_tail(&member->link, &set.members);
	thread->member = member;
}

/* Nobody reads: nothing leads on from whoever is gone. */
static void leave(struct thread *thread)
{
	wrong += !thread->member;
	list_del_rcu(&thread->member->link);
	thread->member->link.next = NULL;
	thread->member = NULL;
}

/* It is gone from the list of threads, and from the set. */
static void end_thread(struct thread *thread)
{
	thread->alive = false;
	thread->task.flags |= PF_EXITING;
	list_del_rcu(&thread->task.thread_node);
	thread->task.thread_node.next = NULL;
	if (thread->member)
		leave(thread);
}

/* Who lives and is in the set, or is not. */
static unsigned int living(bool entered)
{
	unsigned int i, n = 0;

	for (i = 0; i < n_threads; i++)
		n += threads[i].alive && !!threads[i].member == entered;
	return n;
}

static unsigned int references(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < n_threads; i++)
		n += threads[i].references;
	return n;
}

FIXTURE(cursor)
{
	struct flowtap_cursor cursor;
	struct task_struct *leader;
	unsigned int n, i, rounds;
};

FIXTURE_SETUP(cursor)
{
	list_init(&process.thread_head);
	list_init(&set.members);
	n_threads = wrong = looks = 0;
	while (n_threads < MANY)
		start();
	self->leader = &threads[0].task;
}

FIXTURE_TEARDOWN(cursor)
{
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, references());
}

#define each_found(self) (self->i = 0; self->i < self->n; self->i++)
#define found(self) thread_of(self->cursor.found[self->i])

TEST_F(cursor, who_adds_a_process_looks_at_each_thread_once)
{
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, false))) {
		EXPECT_EQ(self->n, references());
		for each_found(self)
			enter(found(self));
	}
	EXPECT_EQ(MANY, living(true));
	EXPECT_EQ(MANY, looks);
	/* There is nobody to be added any more: it begins anew. */
	looks = 0;
	EXPECT_EQ(0, cursor_threads(&self->cursor, self->leader, &set, false));
	EXPECT_EQ(MANY, looks);
	looks = 0;
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, true)))
		for each_found(self)
			leave(found(self));
	EXPECT_EQ(0, living(true));
	EXPECT_EQ(MANY, looks);
}

TEST_F(cursor, those_who_are_there_already_are_looked_at_once_as_well)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		if (i % 1000)
			enter(&threads[i]);
	/* The last of them is the last thread of all. */
	leave(&threads[MANY - 1]);
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, false))) {
		EXPECT_EQ(MANY / 1000 + 1, self->n);
		for each_found(self)
			enter(found(self));
	}
	EXPECT_EQ(MANY, living(true));
	EXPECT_EQ(MANY, looks);
}

TEST_F(cursor, who_ends_meanwhile_makes_it_begin_anew)
{
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, false))) {
		for each_found(self)
			enter(found(self));
		/* The one where it would go on, a few times; and others, always. */
		if (++self->rounds % 10 == 0)
			end_thread(thread_of(self->cursor.found[self->n - 1]));
		end_thread(thread_of(self->cursor.found[0]));
	}
	EXPECT_EQ(0, living(false));
	EXPECT_EQ(MANY - self->rounds - self->rounds / 10, living(true));
	EXPECT_LE(MANY, looks);
	/* So often it was at its beginning. */
	EXPECT_GE(MANY * (1 + self->rounds / 10), looks);
}

TEST_F(cursor, who_comes_meanwhile_is_found)
{
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, false))) {
		for each_found(self)
			enter(found(self));
		/* By the fork hook, or of somebody who was not in the set yet. */
		if (n_threads + 2 <= MANY + MORE) {
			start();
			start();
			enter(&threads[n_threads - 1]);
		}
	}
	EXPECT_LT(MANY, n_threads);
	EXPECT_EQ(n_threads, living(true));
	/* Who comes after the last one found may be looked at once more. */
	EXPECT_LE(n_threads, looks);
	EXPECT_GE(n_threads + CURSOR_AT_ONCE, looks);
}

TEST_F(cursor, who_is_about_to_end_is_passed_over)
{
	unsigned int i;

	for (i = 0; i < MANY; i += 2)
		threads[i].task.flags |= PF_EXITING;
	while ((self->n = cursor_threads(&self->cursor, self->leader, &set, false)))
		for each_found(self)
			enter(found(self));
	EXPECT_EQ(MANY / 2, living(true));
}

TEST_F(cursor, a_walk_may_end_early)
{
	ASSERT_EQ(CURSOR_AT_ONCE, cursor_threads(&self->cursor, self->leader, &set, false));
	EXPECT_EQ(CURSOR_AT_ONCE, references());
	cursor_end(&self->cursor);
	EXPECT_EQ(0, references());
	cursor_end(&self->cursor);
	/* From the beginning. */
	ASSERT_EQ(CURSOR_AT_ONCE, cursor_threads(&self->cursor, self->leader, &set, false));
	EXPECT_EQ(self->leader, self->cursor.found[0]);
	cursor_end(&self->cursor);
}

static unsigned int asked;

static bool lacks(const struct flowtap_member *member)
{
	wrong += !reading;
	asked++;
	return !member->event;
}

TEST_F(cursor, who_makes_events_asks_each_member_once)
{
	unsigned int i;

	for (i = 0; i < MANY; i++)
		enter(&threads[i]);
	asked = looks = 0;
	while ((self->n = cursor_members(&self->cursor, &set, lacks))) {
		EXPECT_EQ(self->n, references());
		self->rounds++;
		for each_found(self)
			found(self)->member->event = true;
	}
	EXPECT_EQ(MANY, asked);
	EXPECT_EQ(self->rounds, looks);
	for (i = 0; i < MANY; i++)
		EXPECT_TRUE(members[i].event);
}

TEST_F(cursor, a_member_that_is_removed_meanwhile_makes_it_begin_anew)
{
	unsigned int i, made = 0;

	for (i = 0; i < MANY; i++)
		enter(&threads[i]);
	threads[1].task.flags |= PF_EXITING;
	asked = 0;
	while ((self->n = cursor_members(&self->cursor, &set, lacks))) {
		for each_found(self) {
			EXPECT_FALSE(found(self)->member->event);
			found(self)->member->event = true;
			made++;
		}
		if (++self->rounds % 10 == 0)
			leave(thread_of(self->cursor.found[self->n - 1]));
	}
	EXPECT_EQ(MANY - 1, made);
	EXPECT_FALSE(members[1].event);
	EXPECT_LT(MANY, asked);
	EXPECT_GE(MANY * (1 + self->rounds / 10), asked);
}

TEST_HARNESS_MAIN
