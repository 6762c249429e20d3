// SPDX-License-Identifier: GPL-2.0-only
/*
 * Lists the sources that this kernel has, keeps which of them each CPU can use, and follows CPU
 * hotplug, idle states and reboot.
 *
 * The host's unit tests run this file with CPUs of their own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#ifdef __KERNEL__
#include <linux/cpu_pm.h>
#include <linux/cpuhotplug.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/reboot.h>
#include <linux/smp.h>
#endif

#include "source.h"

static bool soft;
module_param(soft, bool, 0444);
MODULE_PARM_DESC(soft, "also offer a source of made-up transfers, for tests (0)");

/* Hardware first. */
static const struct flowtap_source *const sources[] = {
#ifdef CONFIG_RISCV
	&ctr_source,
#endif
#ifdef CONFIG_ARM64
	&ete_source,
#endif
	&soft_source,
};

struct flowtap_usable {
	u8 reason[ARRAY_SIZE(sources)];	/* FLOWTAP_REASON_NONE: it is */
};

static DEFINE_PER_CPU(struct flowtap_usable, usable);
static const struct flowtap_source_user *user;
static int hotplug_state;

u64 source_mask(u32 cpu)
{
	u64 mask = 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (READ_ONCE(per_cpu(usable, cpu).reason[i]) == FLOWTAP_REASON_NONE)
			mask |= 1ULL << sources[i]->id;
	return mask;
}

void source_full(void)
{
	user->full();
}

bool source_thaws(int *irq)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->thaw) {
			*irq = sources[i]->stopping_irq();
			return true;
		}
	return false;
}

static int online(unsigned int cpu)
{
	struct flowtap_usable *here = per_cpu_ptr(&usable, cpu);
	unsigned long flags;
	u32 i;

	local_irq_save(flags);
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (sources[i] == &soft_source && !soft)
			continue;
		WRITE_ONCE(here->reason[i], sources[i]->online());
	}
	user->cpu_online(source_mask(cpu));
	local_irq_restore(flags);
	return 0;
}

/* On the CPU, which records nothing from here on. */
static void stop(void *unused)
{
	struct flowtap_usable *here;
	unsigned long flags;
	u32 i;

	local_irq_save(flags);
	here = this_cpu_ptr(&usable);
	user->cpu_offline();
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (here->reason[i] != FLOWTAP_REASON_NONE)
			continue;
		sources[i]->offline();
		WRITE_ONCE(here->reason[i], FLOWTAP_REASON_OFFLINE);
	}
	local_irq_restore(flags);
}

static int offline(unsigned int cpu)
{
	stop(NULL);
	return 0;
}

/* The next kernel, which kexec starts without a reset, finds the sources off. */
static int reboot(struct notifier_block *block, unsigned long action, void *unused)
{
	on_each_cpu(stop, NULL, 1);
	return NOTIFY_OK;
}

static struct notifier_block reboot_block = { .notifier_call = reboot };

/* On the CPU that goes to sleep or is back, interrupts off. */
static int power(struct notifier_block *block, unsigned long action, void *unused)
{
	struct flowtap_usable *here = this_cpu_ptr(&usable);
	u32 i;

	switch (action) {
	case CPU_PM_ENTER:
		user->pm_enter();
		break;
	case CPU_PM_ENTER_FAILED:
	case CPU_PM_EXIT:
		for (i = 0; i < ARRAY_SIZE(sources); i++)
			if (here->reason[i] == FLOWTAP_REASON_NONE)
				sources[i]->recover();
		user->pm_exit();
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block power_block = { .notifier_call = power };

const struct flowtap_source *source_find(u32 id, u32 cpu, u32 *reason)
{
	u32 i, why;

	*reason = FLOWTAP_REASON_ABSENT;
	for (i = 0; i < ARRAY_SIZE(sources); i++) {
		if (id != FLOWTAP_SOURCE_NONE && id != sources[i]->id)
			continue;
		why = READ_ONCE(per_cpu(usable, cpu).reason[i]);
		if (why == FLOWTAP_REASON_NONE) {
			*reason = why;
			return sources[i];
		}
		if (why != FLOWTAP_REASON_ABSENT)
			*reason = why;
	}
	return NULL;
}

/* Why no CPU has a source, as an error for the one who loads the module. */
static int none_found(void)
{
	u32 reason, cpu, worst = FLOWTAP_REASON_ABSENT;

	for_each_online_cpu(cpu) {
		if (source_find(FLOWTAP_SOURCE_NONE, cpu, &reason))
			return 0;
		if (reason == FLOWTAP_REASON_OWNED)
			worst = reason;
	}
	if (worst == FLOWTAP_REASON_OWNED)
		return -EBUSY;
	pr_err("no CPU here has a source of control transfers (soft=1 offers a made-up one)\n");
	return -ENODEV;
}

static void exit_all(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->exit)
			sources[i]->exit();
}

int source_init(const struct flowtap_source_user *of)
{
	int error;
	u32 cpu, i;

	user = of;
	for_each_possible_cpu(cpu)
		for (i = 0; i < ARRAY_SIZE(sources); i++)
			per_cpu(usable, cpu).reason[i] = sources[i] == &soft_source && !soft ?
				FLOWTAP_REASON_ABSENT : FLOWTAP_REASON_OFFLINE;
	for (i = 0; i < ARRAY_SIZE(sources); i++)
		if (sources[i]->init)
			sources[i]->init();
	hotplug_state = cpuhp_setup_state(CPUHP_AP_ONLINE_DYN, "flowtap:online", online, offline);
	if (hotplug_state < 0) {
		exit_all();
		return hotplug_state;
	}
	error = none_found() ?: cpu_pm_register_notifier(&power_block);
	if (!error) {
		error = register_reboot_notifier(&reboot_block);
		if (error)
			cpu_pm_unregister_notifier(&power_block);
	}
	if (error) {
		cpuhp_remove_state(hotplug_state);
		exit_all();
	}
	return error;
}

void source_exit(void)
{
	unregister_reboot_notifier(&reboot_block);
	cpu_pm_unregister_notifier(&power_block);
	cpuhp_remove_state(hotplug_state);
	exit_all();
}
