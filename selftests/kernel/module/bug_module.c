// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes the mistakes that a debug kernel is there to find, so that its silence about flowtap.ko
 * means something: insmod bug_module.ko mistake=NAME.
 */
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

static char *mistake = "";
module_param(mistake, charp, 0444);
MODULE_PARM_DESC(mistake, "which one to make");

static void read_freed_memory(void)
{
	char *memory = kmalloc(64, GFP_KERNEL);

	/* Else the compiler knows what is wrong, and says so. */
	OPTIMIZER_HIDE_VAR(memory);
	kfree(memory);
	if (memory)
		READ_ONCE(*memory);
}

static void read_after_vmalloc(void)
{
	char *memory = vmalloc(100);

	OPTIMIZER_HIDE_VAR(memory);
	if (memory)
		READ_ONCE(memory[100]);
	vfree(memory);
}

static void index_beyond_array(void)
{
	static volatile int array[4];
	unsigned int index = ARRAY_SIZE(array);

	OPTIMIZER_HIDE_VAR(index);
	array[index] = 1;
}

static void lock_in_both_orders(void)
{
	static DEFINE_MUTEX(first);
	static DEFINE_MUTEX(second);

	mutex_lock(&first);
	mutex_lock(&second);
	mutex_unlock(&second);
	mutex_unlock(&first);
	mutex_lock(&second);
	mutex_lock(&first);
	mutex_unlock(&first);
	mutex_unlock(&second);
}

static void sleep_with_spinlock(void)
{
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static void spinlock_under_raw_one(void)
{
	static DEFINE_RAW_SPINLOCK(outer);
	static DEFINE_SPINLOCK(inner);

	raw_spin_lock(&outer);
	spin_lock(&inner);
	spin_unlock(&inner);
	raw_spin_unlock(&outer);
}

static void dereference_without_rcu(void)
{
	static int __rcu *pointer;

	if (rcu_dereference(pointer))
		pr_info("bug_module: not there\n");
}

static const struct {
	const char *name;
	void (*make)(void);
} mistakes[] = {
	{ "freed",	read_freed_memory },
	{ "vmalloc",	read_after_vmalloc },
	{ "index",	index_beyond_array },
	{ "order",	lock_in_both_orders },
	{ "sleep",	sleep_with_spinlock },
	{ "raw",	spinlock_under_raw_one },
	{ "rcu",	dereference_without_rcu },
};

static int __init bug_module_init(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		if (strcmp(mistakes[i].name, mistake))
			continue;
		mistakes[i].make();
		return 0;
	}
	return -EINVAL;
}

static void __exit bug_module_exit(void)
{
}

module_init(bug_module_init);
module_exit(bug_module_exit);
MODULE_DESCRIPTION("Mistakes for a debug kernel to find");
MODULE_LICENSE("GPL");
