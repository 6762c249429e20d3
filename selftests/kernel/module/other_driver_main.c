// SPDX-License-Identifier: GPL-2.0-only
/*
 * What else may happen to what flowtap.ko records with, for its tests: another owner, an idle state
 * in which the registers are lost. Tests write a command to /dev/other_driver, and read the answer
 * of some. riscv64 with CTR (other_driver_ctr.c has more commands), arm64 with ETE and TRBE
 * (other_driver_ete.c).
 *
 *	idle CPU COUNT NS SEED	as often as that, every NS nanoseconds on average: tells the CPU PM
 *				notifiers that the CPU loses its state, and loses it; in an interrupt,
 *				so that whatever runs there does not leave, or (arm64, where the
 *				interrupt controller forgets which interrupt is being served) in a task
 *	mappings 1|0		keeps the mmap_lock of the caller's process, and gives it back: ETIME where
 *				that was after 10 seconds, when it goes by itself
 *	program 1|0		likewise the exec_update_lock of the caller's process, as if that executed
 *				a program
 *	reboot			calls flowtap.ko's reboot notifier, as it is before kexec; ENOENT: it
 *				has none
 *	online 0|1		whether a CPU that comes online has lost its registers; for modules
 *				that were loaded after this one
 */
#include <linux/completion.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/reboot.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>
#include <linux/workqueue.h>

#include "compat.h"
#include "other_driver_machine.h"

#define COUNT_MAX	1000000
#define TEXT_MAX	96

static bool lost_when_online;

struct idle {
	struct hrtimer timer;
	struct completion done;
	struct rnd_state random;
	unsigned int cpu;
	unsigned int left;
	u64 mean_ns;
};

static void lose_state(struct rnd_state *random)
{
	if (cpu_pm_enter())
		return;
	other_driver_scramble(random);
	cpu_pm_exit();
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct idle *idle = container_of(timer, struct idle, timer);

	/* Another CPU got it because ours went offline: the rest is off. */
	if (smp_processor_id() == idle->cpu && idle->left) {
		lose_state(&idle->random);
		idle->left--;
	} else {
		idle->left = 0;
	}
	if (!idle->left) {
		complete(&idle->done);
		return HRTIMER_NORESTART;
	}
	hrtimer_forward_now(timer, ns_to_ktime(1000 + prandom_u32_state(&idle->random) %
					       (2 * idle->mean_ns)));
	return HRTIMER_RESTART;
}

/* In a task of that CPU. */
static long sleep_here(void *argument)
{
	struct idle *idle = argument;
	unsigned long flags, us;

	for (; idle->left && !fatal_signal_pending(current); idle->left--) {
		us = prandom_u32_state(&idle->random) % (2 * idle->mean_ns) / 1000;
		usleep_range(us, us + 1);
		local_irq_save(flags);
		lose_state(&idle->random);
		local_irq_restore(flags);
	}
	return 0;
}

static void start_timer(void *argument)
{
	struct idle *idle = argument;

	hrtimer_start(&idle->timer, ns_to_ktime(idle->mean_ns), HRTIMER_MODE_REL_PINNED_HARD);
}

static int idle_in_interrupts(struct idle *idle)
{
	int error;

	init_completion(&idle->done);
	hrtimer_setup(&idle->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	error = smp_call_function_single(idle->cpu, start_timer, idle, 1);
	if (!error)
		error = wait_for_completion_killable(&idle->done);
	hrtimer_cancel(&idle->timer);
	return error;
}

static int idle(const char *words, char *answer, size_t size)
{
	struct idle *idle = kzalloc(sizeof(*idle), GFP_KERNEL);
	unsigned int seed;
	int error = -EINVAL;

	if (!idle)
		return -ENOMEM;
	if (sscanf(words, "%u %u %llu %u", &idle->cpu, &idle->left, &idle->mean_ns, &seed) != 4 ||
	    !idle->left || idle->left > COUNT_MAX || idle->mean_ns < 1000 ||
	    idle->mean_ns > NSEC_PER_SEC)
		goto free;
	prandom_seed_state(&idle->random, seed);
	error = IS_ENABLED(CONFIG_ARM64) ? work_on_cpu(idle->cpu, sleep_here, idle) :
					   idle_in_interrupts(idle);
free:
	kfree(idle);
	return error;
}

static int come_online(unsigned int cpu)
{
	struct rnd_state random;
	unsigned long flags;

	if (!lost_when_online)
		return 0;
	prandom_seed_state(&random, cpu);
	local_irq_save(flags);
	other_driver_scramble(&random);
	local_irq_restore(flags);
	return 0;
}

static int online(const char *words, char *answer, size_t size)
{
	return kstrtobool(words, &lost_when_online);
}

#define KEEP_SECONDS 10

static struct task_struct *keeper;
static DECLARE_COMPLETION(kept);

/* What is kept, of a process. */
static void wait_to_give_back(long *left)
{
	complete(&kept);
	while (*left && !kthread_should_stop())
		*left = schedule_timeout_interruptible(*left);
}

static int keep_mappings(void *argument)
{
	struct task_struct *task = argument;
	struct mm_struct *mm = get_task_mm(task);
	long left = KEEP_SECONDS * HZ;

	if (mm)
		mmap_write_lock(mm);
	wait_to_give_back(&left);
	if (mm) {
		mmap_write_unlock(mm);
		mmput(mm);
	}
	put_task_struct(task);
	return left ? 0 : -ETIME;
}

static int keep_program(void *argument)
{
	struct task_struct *task = argument;
	long left = KEEP_SECONDS * HZ;

	down_write(&task->signal->exec_update_lock);
	wait_to_give_back(&left);
	up_write(&task->signal->exec_update_lock);
	put_task_struct(task);
	return left ? 0 : -ETIME;
}

static int give_back(void)
{
	int error = keeper ? kthread_stop_put(keeper) : -EINVAL;

	keeper = NULL;
	return error;
}

static int keep(const char *words, int (*function)(void *argument))
{
	struct task_struct *thread;
	bool keep;
	int error = kstrtobool(words, &keep);

	if (error || !keep)
		return error ?: give_back();
	if (keeper)
		return -EBUSY;
	thread = kthread_create(function, get_task_struct(current), "other_driver");
	if (IS_ERR(thread)) {
		put_task_struct(current);
		return PTR_ERR(thread);
	}
	keeper = get_task_struct(thread);
	wake_up_process(thread);
	wait_for_completion(&kept);
	return 0;
}

static int mappings(const char *words, char *answer, size_t size)
{
	return keep(words, keep_mappings);
}

static int program(const char *words, char *answer, size_t size)
{
	return keep(words, keep_program);
}

static int ignore(struct notifier_block *block, unsigned long action, void *unused)
{
	return NOTIFY_DONE;
}

/* The list is not exported: what comes after one of ours, which is the first, is the rest of it. */
static int reboot(const char *words, char *answer, size_t size)
{
	struct notifier_block first = { .notifier_call = ignore, .priority = INT_MAX };
	struct notifier_block *block;
	char name[KSYM_SYMBOL_LEN];
	int error = register_reboot_notifier(&first);

	if (error)
		return error;
	error = -ENOENT;
	for (block = rcu_access_pointer(first.next); block; block = rcu_access_pointer(block->next)) {
		snprintf(name, sizeof(name), "%ps", block->notifier_call);
		if (!strstr(name, "[flowtap]"))
			continue;
		block->notifier_call(block, SYS_RESTART, NULL);
		error = 0;
	}
	unregister_reboot_notifier(&first);
	return error;
}

static const struct other_driver_command commands[] = {
	{ "idle ", idle },
	{ "mappings ", mappings },
	{ "online ", online },
	{ "program ", program },
	{ "reboot", reboot },
	{ NULL },
};

static const struct other_driver_command *find(const struct other_driver_command *command,
					       const char *text)
{
	while (command->name && strncmp(text, command->name, strlen(command->name)))
		command++;
	return command->name ? command : NULL;
}

static int other_driver_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(TEXT_MAX, GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int other_driver_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t other_driver_write(struct file *file, const char __user *user, size_t size,
				  loff_t *at)
{
	const struct other_driver_command *command;
	char text[TEXT_MAX];
	int error;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	text[size] = 0;
	command = find(commands, text) ?: find(other_driver_machine_commands, text);
	if (!command)
		return -EINVAL;
	error = command->function(text + strlen(command->name), file->private_data, TEXT_MAX);
	return error ?: size;
}

static ssize_t other_driver_read(struct file *file, char __user *user, size_t size, loff_t *at)
{
	const char *answer = file->private_data;

	return simple_read_from_buffer(user, size, at, answer, strlen(answer));
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = other_driver_open,
	.release = other_driver_release,
	.write = other_driver_write,
	.read = other_driver_read,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "other_driver",
	.fops = &operations,
	.mode = 0600,
};

static int hotplug_state;

static int __init other_driver_init(void)
{
	int error;

	if (!other_driver_machine_here())
		return -ENODEV;
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "other_driver:online",
						  come_online, NULL);
	if (hotplug_state < 0)
		return hotplug_state;
	error = misc_register(&device);
	if (error)
		cpuhp_remove_state_nocalls(hotplug_state);
	return error;
}

static void __exit other_driver_exit(void)
{
	misc_deregister(&device);
	give_back();
	cpuhp_remove_state_nocalls(hotplug_state);
}

module_init(other_driver_init);
module_exit(other_driver_exit);
MODULE_DESCRIPTION("Plays what shares a CPU with flowtap, for its tests");
MODULE_LICENSE("GPL");
