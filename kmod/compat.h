/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows kernel versions: 6.12 to 7.2. */
#ifndef FLOWTAP_KMOD_COMPAT_H
#define FLOWTAP_KMOD_COMPAT_H

#include <linux/btf.h>
#include <linux/hrtimer.h>
#include <linux/perf_event.h>
#include <linux/rcupdate.h>
#include <linux/sched/coredump.h>
#include <linux/sched/task.h>
#include <linux/user_namespace.h>
#include <linux/version.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#include <linux/sched/exec_state.h>
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
/**
 * hrtimer_setup() - initialize a timer, as newer kernels have it
 * @timer: the timer.
 * @function: called when it expires.
 * @clock: CLOCK_.
 * @mode: HRTIMER_MODE_.
 *
 * Context: any; the timer is not in use.
 */
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

/* What the tracepoint sched_process_exit has after the task. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 16, 0)
#define FLOWTAP_EXIT_MORE
#else
#define FLOWTAP_EXIT_MORE , bool group_dead
#endif

/* Newer kernels ask for nothing less. */
#ifndef KF_TRUSTED_ARGS
#define KF_TRUSTED_ARGS 0
#endif

/**
 * flowtap_allow_kernel() - whether the current task may record the kernel
 *
 * Context: process context.
 * Return: 0; -EACCES, -EPERM: perf_event_paranoid, or a security module, forbids it.
 */
static inline int flowtap_allow_kernel(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	struct perf_event_attr attr = {};

	return perf_allow_kernel(&attr);
#else
	return perf_allow_kernel();
#endif
}

/**
 * flowtap_dumpable() - whether a task's owner may look into its memory
 * @task: the task.
 * @namespace: set to the user namespace where CAP_SYS_PTRACE overrides that, referenced; NULL: the
 *	task has no memory any more.
 *
 * Context: process context, or the hooks; takes task_lock() or RCU.
 * Return: the owner may; false without memory.
 */
static inline bool flowtap_dumpable(struct task_struct *task, struct user_namespace **namespace)
{
	bool dumpable = false;

	*namespace = NULL;
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	task_lock(task);
	if (task->mm) {
		dumpable = get_dumpable(task->mm) == SUID_DUMP_USER;
		*namespace = get_user_ns(task->mm->user_ns);
	}
	task_unlock(task);
#else
	struct task_exec_state *state;

	rcu_read_lock();
	state = rcu_dereference(task->exec_state);
	if (state) {
		dumpable = READ_ONCE(state->dumpable) == TASK_DUMPABLE_OWNER;
		*namespace = get_user_ns(state->user_ns);
	}
	rcu_read_unlock();
#endif
	return dumpable;
}

#ifdef CONFIG_ARM64
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/irqdesc.h>
#include <linux/of_irq.h>
#include <linux/of_platform.h>
#include <linux/platform_device.h>
#include <asm/kvm_host.h>
#include <asm/virt.h>

/**
 * flowtap_trbe_begins() - let KVM know that this CPU's trace buffer is about to be enabled
 *
 * A host without VHE leaves the trace registers to KVM whenever a guest runs, and newer kernels
 * want to know when there is something to save. Guests are never traced.
 *
 * Context: interrupts off.
 */
static inline void flowtap_trbe_begins(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	kvm_tracing_set_el1_configuration(0);
	kvm_enable_trbe();
#endif
}

/**
 * flowtap_trbe_ends() - let KVM know that this CPU's trace buffer is disabled
 *
 * Context: interrupts off.
 */
static inline void flowtap_trbe_ends(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
	kvm_disable_trbe();
#endif
}

/**
 * flowtap_kvm_faults() - whether flowtap_trbe_begins() would fault
 *
 * Until 6.18 what it calls uses KVM's own data, which are not there if the kernel was booted at EL1.
 * Whether KVM has any is not to be known from here but at EL2, where it looks at nothing.
 *
 * Context: any.
 * Return: true: the trace buffer must not be used.
 */
static inline bool flowtap_kvm_faults(void)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0) &&
	       LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0) && !is_kernel_in_hyp_mode();
}

/**
 * flowtap_percpu_irq_cpus() - find the CPUs that share an interrupt of each CPU's own
 * @node: the trace buffer's.
 * @irq: the node's first.
 * @cpus: set to those; all that are possible where nothing says which.
 *
 * Context: may sleep.
 */
static inline void flowtap_percpu_irq_cpus(struct device_node *node, int irq, struct cpumask *cpus)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
	if (irq_get_percpu_devid_partition(irq, cpus))
		cpumask_copy(cpus, cpu_possible_mask);
#else
	struct platform_device *device = of_find_device_by_node(node);
	const struct cpumask *affinity = NULL;

	if (device && platform_get_irq_affinity(device, 0, &affinity) < 0)
		affinity = NULL;
	cpumask_copy(cpus, affinity ?: cpu_possible_mask);
	if (device)
		put_device(&device->dev);
#endif
}

/**
 * flowtap_request_percpu_irq() - request an interrupt of each CPU's own
 * @irq: the interrupt.
 * @handler: called on each of @cpus where it is enabled.
 * @cpus: those whose it is, until it is freed: on others it may be somebody else's.
 * @data: of each CPU, given to @handler.
 *
 * Context: may sleep.
 * Return: 0 or -errno.
 */
static inline int flowtap_request_percpu_irq(int irq, irq_handler_t handler,
					     const struct cpumask *cpus, void __percpu *data)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 19, 0)
	return request_percpu_irq(irq, handler, "flowtap", data);
#else
	return request_percpu_irq_affinity(irq, handler, "flowtap", cpus, data);
#endif
}
#endif /* CONFIG_ARM64 */

#endif /* FLOWTAP_KMOD_COMPAT_H */
