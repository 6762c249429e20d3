// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers probes on the tracepoints of switch, fork, exec, exit and interrupts while a stream
 * is configured.
 *
 * The host's unit tests run this file with tracepoints of their own.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#ifdef __KERNEL__
#include <linux/binfmts.h>
#include <linux/cleanup.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>
#include <trace/events/irq.h>
#include <trace/events/sched.h>
#endif

#include "compat.h"
#include "group.h"
#include "holder.h"
#include "hooks.h"
#include "source.h"

/* With interrupts off. */
static void on_switch(void *data, bool preempt, struct task_struct *previous,
		      struct task_struct *next, unsigned int state)
{
	holder_switch(previous, next);
}

/* 6.12 calls these with preemption off, newer kernels do not: what they do is of one CPU. */
static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	guard(preempt)();
	group_forked(parent, child);
}

static void on_prepare_exec(void *data, struct task_struct *task, struct linux_binprm *bprm)
{
	guard(preempt)();
	group_executes(task);
}

static void on_exec(void *data, struct task_struct *task, pid_t old_pid, struct linux_binprm *bprm)
{
	guard(preempt)();
	group_executed(task, bprm->secureexec);
}

static void on_exit(void *data, struct task_struct *task FLOWTAP_EXIT_MORE)
{
	guard(preempt)();
	group_exited(task);
}

/* Before BPF programs: what they ask for is to hold, not what is inherited. */
#define PRIORITY	(TRACEPOINT_DEFAULT_PRIO + 10)

#define IDLE_SECONDS	5

static struct hook {
	const char *name;
	void *function;
	void *data;
	struct tracepoint *tracepoint;
} hooks[] = {
	{ "sched_process_fork", on_fork },
	{ "sched_prepare_exec", on_prepare_exec },
	{ "sched_process_exec", on_exec },
	{ "sched_process_exit", on_exit },
	{ "sched_switch", on_switch },
	/* The last: only where a source can be stopped by an interrupt, which is its data. */
	{ "irq_handler_exit", holder_interrupt_done },
};

static struct hook *hooks_end = hooks + ARRAY_SIZE(hooks);

static DEFINE_MUTEX(hooks_lock);
static unsigned int users;
static bool registered;

static void unregister_idle(struct work_struct *work);
static DECLARE_DELAYED_WORK(idle, unregister_idle);

static void match(struct tracepoint *tracepoint, void *unused)
{
	struct hook *hook;

	for (hook = hooks; hook < hooks_end; hook++)
		if (!strcmp(tracepoint->name, hook->name))
			hook->tracepoint = tracepoint;
}

int hooks_init(void)
{
	struct hook *hook;
	int stopping;

	if (source_thaws(&stopping))
		hooks_end[-1].data = (void *)(long)stopping;
	else
		hooks_end--;
	/* Compiles only where they are what this kernel calls (kCFI). */
	check_trace_callback_type_sched_switch(on_switch);
	check_trace_callback_type_sched_process_fork(on_fork);
	check_trace_callback_type_sched_prepare_exec(on_prepare_exec);
	check_trace_callback_type_sched_process_exec(on_exec);
	check_trace_callback_type_sched_process_exit(on_exit);
	check_trace_callback_type_irq_handler_exit(holder_interrupt_done);
	for_each_kernel_tracepoint(match, NULL);
	for (hook = hooks; hook < hooks_end; hook++) {
		if (!hook->tracepoint) {
			pr_err("this kernel has no tracepoint %s\n", hook->name);
			return -ENOENT;
		}
	}
	return 0;
}

static void unregister(struct hook *end)
{
	while (end-- > hooks)
		tracepoint_probe_unregister(end->tracepoint, end->function, end->data);
	tracepoint_synchronize_unregister();
}

static void unregister_idle(struct work_struct *work)
{
	mutex_lock(&hooks_lock);
	if (registered && !users) {
		unregister(hooks_end);
		registered = false;
	}
	mutex_unlock(&hooks_lock);
}

void hooks_exit(void)
{
	cancel_delayed_work_sync(&idle);
	unregister_idle(NULL);
}

static int register_all(void)
{
	struct hook *hook;
	int error;

	for (hook = hooks; hook < hooks_end; hook++) {
		error = tracepoint_probe_register_prio(hook->tracepoint, hook->function, hook->data,
						       PRIORITY);
		if (error) {
			unregister(hook);
			return error;
		}
	}
	registered = true;
	return 0;
}

int hooks_get(void)
{
	int error;

	mutex_lock(&hooks_lock);
	error = registered ? 0 : register_all();
	if (!error)
		users++;
	mutex_unlock(&hooks_lock);
	return error;
}

void hooks_put(void)
{
	mutex_lock(&hooks_lock);
	if (!--users)
		schedule_delayed_work(&idle, IDLE_SECONDS * HZ);
	mutex_unlock(&hooks_lock);
}
