// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that who pays waits for nobody else: the lock that every open and close needs is held over
 * nothing that takes as long as a caller likes, neither memory nor what is pinned; and that what a
 * user was charged is given back to the last byte, also where two of his opens meet. kmod/charge.c is
 * compiled into this program.
 */
#include <stdlib.h>

#include "support/kselftest_harness.h"

#include "kernel.h"

/* --- What it takes from the kernel. --- */

#define CPUS			2
#define PAGE_SHIFT		12
#define nr_cpu_ids		CPUS
#define num_online_cpus()	CPUS
#define GFP_KERNEL_ACCOUNT	0
#define struct_size(pointer, member, n) (sizeof(*(pointer)) + (n) * sizeof((pointer)->member[0]))
#define LIST_HEAD(name)		struct list_head name = { &name, &name }
#define DEFINE_MUTEX(name)	int name
#define DECLARE_WAIT_QUEUE_HEAD(name)	int name
#define ERR_PTR(error)		((void *)(long)(error))
#define IS_ERR(pointer)		((unsigned long)(pointer) > -4096UL)

typedef unsigned int kuid_t;

#define uid_eq(a, b)		((a) == (b))

/* An intermediate one's owner is a user of the outer one. */
struct user_namespace {
	struct user_namespace *parent;
	kuid_t owner;
};

static struct user_namespace init_user_ns, *current_namespace = &init_user_ns;
static kuid_t current_user;
static bool capable_of_all;

#define current_user_ns()	current_namespace
#define current_uid()		current_user
#define perfmon_capable()	capable_of_all
#define capable(capability)	capable_of_all

typedef struct {
	long value;
} atomic_t, atomic64_t;

#define atomic_read(atomic)			((atomic)->value)
#define atomic_inc(atomic)			((void)(atomic)->value++)
#define atomic_dec(atomic)			((void)(atomic)->value--)
#define atomic_inc_return(atomic)		(++(atomic)->value)
#define atomic_dec_and_test(atomic)		(!--(atomic)->value)
#define atomic64_sub(n, atomic)			((void)((atomic)->value -= (n)))

struct mm_struct {
	atomic64_t pinned_vm;
	int references;
};

static struct mm_struct mm;

#define mmgrab(mm)		((void)(mm)->references++)
#define mmdrop(mm)		((void)(mm)->references--)
#define RLIMIT_MEMLOCK		8
static unsigned long memlock;	/* bytes */
#define rlimit(resource)	memlock

static int locks;		/* that are held */
static unsigned int stuck;	/* something that may take long was done with a lock */
static int allocated;
static bool no_memory;
static void (*meanwhile)(void);	/* what somebody else does while memory is allocated */

#define mutex_lock(mutex)	((void)(locks++, ++*(mutex)))
#define mutex_unlock(mutex)	((void)(locks--, --*(mutex)))

static void *kzalloc(size_t size, unsigned int gfp)
{
	void (*other)(void) = meanwhile;

	stuck += locks > 0;
	meanwhile = NULL;
	if (other)
		other();
	allocated += !no_memory;
	return no_memory ? NULL : calloc(1, size);
}

static void kfree(void *memory)
{
	allocated -= memory != NULL;
	free(memory);
}

/* As mm->locked_vm was counted, with the mmap_lock. */
static long atomic64_add_return(long n, atomic64_t *atomic)
{
	stuck += locks > 0;
	return atomic->value += n;
}

static int wake_ups;

#define wake_up_all(head)	((void)(head), wake_ups++)

static void (*waiting)(void);	/* what happens then */

#define wait_event_killable(head, condition)	\
	(stuck += locks > 0, waiting ? waiting() : (void)0, (condition) ? 0 : -EINTR)

static void list_add(struct list_head *entry, struct list_head *head)
{
	list_add_tail(entry, head->next);
}

static void list_del(struct list_head *entry)
{
	list_del_rcu(entry);
}

#include "../../../kmod/charge.c"

#define PAGE_KB		4
#define FREE_PAGES	(516 / PAGE_KB * CPUS)	/* each user's, by default */

FIXTURE(charge)
{
	struct flowtap_charge charges[STREAMS_PER_CPU + 1];
};

FIXTURE_SETUP(charge)
{
	current->mm = &mm;
	current_user = 1000;
}

/* Nobody is charged for anything. */
FIXTURE_TEARDOWN(charge)
{
	EXPECT_EQ(0, stuck);
	EXPECT_EQ(0, locks);
	EXPECT_EQ(0, payers_lock);
	EXPECT_EQ(0, allocated);
	EXPECT_EQ(0, mm.pinned_vm.value);
	EXPECT_EQ(0, mm.references);
	EXPECT_EQ(&payers, payers.next);
}

TEST_F(charge, nobody_waits_for_anothers_memory)
{
	struct flowtap_payer *set;

	/* Of a user who has nothing yet; of one who has a set; beyond what is free. */
	memlock = 1024 << PAGE_SHIFT;
	EXPECT_EQ(0, charge_pages(&self->charges[0], 2, 0));
	EXPECT_EQ(1, allocated);
	EXPECT_EQ(0, charge_pages(&self->charges[1], FREE_PAGES, 1));
	EXPECT_EQ(1, allocated);
	EXPECT_EQ(2, mm.pinned_vm.value);
	charge_return(&self->charges[0]);
	charge_return(&self->charges[1]);
	EXPECT_EQ(0, allocated);
	set = charge_set();
	ASSERT_FALSE(IS_ERR(set));
	EXPECT_EQ(1, allocated);
	charge_set_return(set);
}

static struct flowtap_charge second;

static void open_second(void)
{
	charge_pages(&second, FREE_PAGES, 0);
}

TEST_F(charge, two_first_opens_of_a_user_are_one_users)
{
	/* The second one is charged for all that is free while the first one waits for memory. */
	meanwhile = open_second;
	EXPECT_EQ(-EPERM, charge_pages(&self->charges[0], 1, 0));
	EXPECT_EQ(NULL, self->charges[0].payer);
	EXPECT_EQ(1, allocated);
	EXPECT_EQ(FREE_PAGES, second.free_pages);
	meanwhile = NULL;
	memlock = 1 << PAGE_SHIFT;
	EXPECT_EQ(0, charge_pages(&self->charges[0], 1, 0));
	EXPECT_EQ(1, mm.pinned_vm.value);
	/* Another user has as much. */
	current_user = 1001;
	EXPECT_EQ(0, charge_pages(&self->charges[1], FREE_PAGES, 0));
	EXPECT_EQ(0, self->charges[1].locked_pages);
	EXPECT_EQ(2, allocated);
	charge_return(&self->charges[0]);
	charge_return(&self->charges[1]);
	charge_return(&second);
}

TEST_F(charge, without_memory_nobody_is_charged)
{
	no_memory = true;
	EXPECT_EQ(-ENOMEM, charge_pages(&self->charges[0], 1, 0));
	EXPECT_EQ(ERR_PTR(-ENOMEM), charge_set());
	/* He is known by then. */
	meanwhile = NULL;
	no_memory = false;
	EXPECT_EQ(0, charge_pages(&self->charges[0], 1, 0));
	no_memory = true;
	EXPECT_EQ(0, charge_pages(&self->charges[1], 1, 0));
	charge_return(&self->charges[0]);
	charge_return(&self->charges[1]);
}

TEST_F(charge, streams_sets_and_tasks_have_limits)
{
	struct user_namespace inner = { &init_user_ns, 1000 }, innermost = { &inner, 5 };
	struct flowtap_payer *sets[SETS_PER_USER + 1];
	unsigned int i;

	for (i = 0; i < STREAMS_PER_CPU; i++)
		ASSERT_EQ(0, charge_pages(&self->charges[i], 0, 0));
	/* Also by way of a namespace in a namespace that he has made. */
	current_namespace = &innermost;
	current_user = 70000;
	EXPECT_EQ(-EMFILE, charge_pages(&self->charges[i], 0, 0));
	current_namespace = &init_user_ns;
	current_user = 1000;
	EXPECT_EQ(-EMFILE, charge_pages(&self->charges[i], 0, 0));
	EXPECT_EQ(NULL, self->charges[i].payer);
	EXPECT_EQ(0, charge_pages(&self->charges[i], 0, 1));
	while (i + 1)
		charge_return(&self->charges[i--]);
	for (i = 0; i < SETS_PER_USER; i++) {
		sets[i] = charge_set();
		ASSERT_FALSE(IS_ERR(sets[i]));
	}
	EXPECT_EQ(ERR_PTR(-EMFILE), charge_set());
	capable_of_all = true;
	sets[i] = charge_set();
	ASSERT_FALSE(IS_ERR(sets[i]));
	for (i = 0; i < TASKS_PER_USER; i++)
		EXPECT_TRUE(charge_task(sets[0], false));
	EXPECT_FALSE(charge_allows(sets[0], 1));
	EXPECT_FALSE(charge_task(sets[1], false));
	EXPECT_TRUE(charge_task(sets[1], true));
	charge_task_return(sets[1]);
	charge_task_return(sets[0]);
	EXPECT_TRUE(charge_allows(sets[0], 1));
	for (i = 0; i <= SETS_PER_USER; i++)
		charge_set_return(sets[i]);
}

static void return_second(void)
{
	charge_return(&second);
}

TEST_F(charge, who_has_closed_something_can_wait_for_it)
{
	EXPECT_FALSE(charge_wait());
	ASSERT_EQ(0, charge_pages(&second, FREE_PAGES, 0));
	EXPECT_FALSE(charge_wait());
	charge_closing(&second);
	waiting = return_second;
	EXPECT_TRUE(charge_wait());
	EXPECT_EQ(1, wake_ups);
	EXPECT_FALSE(charge_wait());
	/* Killed meanwhile. */
	ASSERT_EQ(0, charge_pages(&second, 1, 0));
	charge_closing(&second);
	waiting = NULL;
	EXPECT_FALSE(charge_wait());
	charge_return(&second);
}

TEST_HARNESS_MAIN
