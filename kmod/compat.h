/* SPDX-License-Identifier: GPL-2.0-only */
/* The only place that knows kernel versions: 6.12 to 7.2. */
#ifndef FLOWTAP_COMPAT_H
#define FLOWTAP_COMPAT_H

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
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}
#endif

static inline int flowtap_allow_kernel(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
	struct perf_event_attr attr = {};

	return perf_allow_kernel(&attr);
#else
	return perf_allow_kernel();
#endif
}

/*
 * Whether the task's memory may be seen by its owner, and the user namespace (referenced) where
 * CAP_SYS_PTRACE overrides that. False and NULL when it has no memory any more.
 */
static inline bool flowtap_dumpable(struct task_struct *task, struct user_namespace **namespace)
{
	bool dumpable = false;

	*namespace = NULL;
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 2, 0)
	task_lock(task);
	if (task->mm) {
		dumpable = __get_dumpable(READ_ONCE(task->mm->flags)) == SUID_DUMP_USER;
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

#endif /* FLOWTAP_COMPAT_H */
