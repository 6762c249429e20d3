// SPDX-License-Identifier: GPL-2.0-only
/*
 * What else may happen to a CPU's CTR, for tests of flowtap.ko: another owner, a driver that uses
 * siselect, an idle state in which the registers are lost. A command is written to /dev/rival;
 * only `look` has an answer to be read. riscv64 with CTR only.
 *
 *	own CPU VALUE		writes sctrctl
 *	look CPU		"SCTRCTL SCTRDEPTH SCTRSTATUS VALID-ENTRIES"
 *	select COUNT		as often as that sets siselect in the caller's context, lets 10 us
 *				go by and looks; EIO where it has become another value
 *	idle CPU COUNT NS SEED	as often as that, every NS nanoseconds on average: tells the CPU PM
 *				notifiers that the CPU loses its state, and loses it
 *	online 0|1		whether a CPU that comes online has lost its registers; for modules
 *				that were loaded after this one
 */
#include <linux/completion.h>
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/prandom.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "ctr_csr.h"

#define COUNT_MAX	1000000
#define DEPTH_MAX	256
#define TEXT_MAX	96

struct csrs {
	unsigned long control;
	unsigned long depth;
	unsigned long status;
	unsigned int valid;
};

static void read_csrs(void *argument)
{
	struct csrs *csrs = argument;
	unsigned long select = csr_read(SISELECT), depth;
	unsigned int i;

	csrs->control = csr_read(SCTRCTL);
	csrs->depth = depth = csr_read(SCTRDEPTH);
	csrs->status = csr_read(SCTRSTATUS);
	csrs->valid = 0;
	for (i = 0; i < 16U << depth; i++) {
		csr_write(SISELECT, CTR_SELECT(i));
		csrs->valid += csr_read(SIREG) & CTRSOURCE_V;
	}
	csr_write(SISELECT, select);
}

static int look(const char *words, char *answer, size_t size)
{
	struct csrs csrs;
	unsigned int cpu;
	int error = kstrtouint(words, 0, &cpu);

	if (!error)
		error = smp_call_function_single(cpu, read_csrs, &csrs, 1);
	if (!error)
		scnprintf(answer, size, "%#lx %#lx %#lx %u\n", csrs.control, csrs.depth,
			  csrs.status, csrs.valid);
	return error;
}

static void write_control(void *value)
{
	csr_write(SCTRCTL, *(unsigned long *)value);
}

static int own(const char *words, char *answer, size_t size)
{
	unsigned long value;
	unsigned int cpu;

	if (sscanf(words, "%u %li", &cpu, &value) != 2)
		return -EINVAL;
	return smp_call_function_single(cpu, write_control, &value, 1);
}

/* The caller may be traced: whatever interrupts him here must leave siselect alone. */
static int select(const char *words, char *answer, size_t size)
{
	unsigned int count, i;
	int error = kstrtouint(words, 0, &count);

	if (error)
		return error;
	if (count > COUNT_MAX)
		return -ERANGE;
	for (i = 0; i < count && !error; i++) {
		unsigned long before, mark, after;

		migrate_disable();
		before = csr_read(SISELECT);
		csr_write(SISELECT, CTR_SELECT(i % DEPTH_MAX));
		mark = csr_read(SISELECT);
		udelay(10);
		after = csr_read(SISELECT);
		csr_write(SISELECT, before);
		migrate_enable();
		if (after != mark) {
			pr_err("rival: siselect was %#lx, now it is %#lx\n", mark, after);
			error = -EIO;
		}
		cond_resched();
	}
	return error;
}

static bool lost_when_online;

struct idle {
	struct hrtimer timer;
	struct completion done;
	struct rnd_state random;
	unsigned int cpu;
	unsigned int left;
	u64 mean_ns;
};

/*
 * The registers come back with anything in them. No mode is enabled for longer than this: what is
 * written here must not be mistaken for something that was recorded.
 */
static void scramble(struct rnd_state *random)
{
	unsigned long select = csr_read(SISELECT);
	unsigned int i;

	csr_write(SCTRCTL, 0);
	csr_write(SCTRDEPTH, prandom_u32_state(random) % 5);
	for (i = 0; i < DEPTH_MAX; i++) {
		csr_write(SISELECT, CTR_SELECT(i));
		csr_write(SIREG, 0x5afe0000UL + 16 * i + prandom_u32_state(random) % 2);
		csr_write(SIREG2, 0xffffffff5afe0000UL + 16 * i);
		csr_write(SIREG3, prandom_u32_state(random));
	}
	csr_write(SISELECT, select);
	csr_write(SCTRSTATUS, prandom_u32_state(random));
	csr_write(SCTRCTL, (prandom_u32_state(random) & CTRCTL_STANDARD & ~CTRCTL_S) | CTRCTL_U);
}

static void lose_state(struct rnd_state *random)
{
	if (cpu_pm_enter())
		return;
	scramble(random);
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

static void start_timer(void *argument)
{
	struct idle *idle = argument;

	hrtimer_start(&idle->timer, ns_to_ktime(idle->mean_ns), HRTIMER_MODE_REL_PINNED_HARD);
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
	init_completion(&idle->done);
	hrtimer_setup(&idle->timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	error = smp_call_function_single(idle->cpu, start_timer, idle, 1);
	if (!error)
		error = wait_for_completion_killable(&idle->done);
	hrtimer_cancel(&idle->timer);
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
	scramble(&random);
	local_irq_restore(flags);
	return 0;
}

static int online(const char *words, char *answer, size_t size)
{
	return kstrtobool(words, &lost_when_online);
}

static const struct {
	const char *name;
	int (*function)(const char *words, char *answer, size_t size);
} commands[] = {
	{ "own ", own },
	{ "look ", look },
	{ "select ", select },
	{ "idle ", idle },
	{ "online ", online },
};

static int rival_open(struct inode *inode, struct file *file)
{
	file->private_data = kzalloc(TEXT_MAX, GFP_KERNEL);
	return file->private_data ? 0 : -ENOMEM;
}

static int rival_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t rival_write(struct file *file, const char __user *user, size_t size, loff_t *at)
{
	char text[TEXT_MAX];
	unsigned int i;
	int error;

	if (size >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, user, size))
		return -EFAULT;
	text[size] = 0;
	for (i = 0; i < ARRAY_SIZE(commands); i++) {
		size_t length = strlen(commands[i].name);

		if (strncmp(text, commands[i].name, length))
			continue;
		error = commands[i].function(text + length, file->private_data, TEXT_MAX);
		return error ?: size;
	}
	return -EINVAL;
}

static ssize_t rival_read(struct file *file, char __user *user, size_t size, loff_t *at)
{
	const char *answer = file->private_data;

	return simple_read_from_buffer(user, size, at, answer, strlen(answer));
}

static const struct file_operations operations = {
	.owner = THIS_MODULE,
	.open = rival_open,
	.release = rival_release,
	.write = rival_write,
	.read = rival_read,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "rival",
	.fops = &operations,
	.mode = 0600,
};

static int hotplug_state;

static int __init rival_init(void)
{
	unsigned long control;
	int error;

	if (!csr_read_guarded(SCTRCTL, &control))
		return -ENODEV;
	hotplug_state = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "rival:online",
						  come_online, NULL);
	if (hotplug_state < 0)
		return hotplug_state;
	error = misc_register(&device);
	if (error)
		cpuhp_remove_state_nocalls(hotplug_state);
	return error;
}

static void __exit rival_exit(void)
{
	misc_deregister(&device);
	cpuhp_remove_state_nocalls(hotplug_state);
}

module_init(rival_init);
module_exit(rival_exit);
MODULE_DESCRIPTION("Plays what shares a CPU with flowtap, for its tests");
MODULE_LICENSE("GPL");
