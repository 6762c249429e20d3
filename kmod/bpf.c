// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kfuncs that add a task to a set or remove it, and the rules of which programs may call
 * them.
 *
 * The host's unit tests run this file with a group of their own.
 */
#ifdef __KERNEL__
#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/btf_ids.h>
#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/string.h>
#endif

#include "bpf.h"
#include "compat.h"
#include "group.h"

static bool usable;

bool bpf_usable(void)
{
	return usable;
}

/* In 6.12 preemption is off in a hook's program, in newer kernels not: this is to be of one CPU. */
static int change(struct task_struct *task, u64 key, bool add)
{
	struct flowtap_group *group;

	guard(preempt)();
	guard(rcu)();
	group = group_by_key(key);
	return group ? group_change(group, task, add) : -ESRCH;
}

__bpf_kfunc_start_defs();

__bpf_kfunc int flowtap_add_task(struct task_struct *task, u64 key)
{
	return change(task, key, true);
}

__bpf_kfunc int flowtap_remove_task(struct task_struct *task, u64 key)
{
	return change(task, key, false);
}

__bpf_kfunc_end_defs();

BTF_KFUNCS_START(kfuncs)
BTF_ID_FLAGS(func, flowtap_add_task, KF_TRUSTED_ARGS)
BTF_ID_FLAGS(func, flowtap_remove_task, KF_TRUSTED_ARGS)
BTF_KFUNCS_END(kfuncs)

/*
 * Where memory can be allocated, our own locks are not held, and no task is between its exit and
 * its end. Elsewhere a program could deadlock.
 */
static const char *const hook_names[] = {
	"sched_process_exec", "sched_process_fork", "cgroup_attach_task",
};

/* Of our own functions: each BTF has filters of its own. */
static int filter(const struct bpf_prog *program, u32 id)
{
	const char *name = program->aux->attach_func_name;
	size_t i;

	if (program->type != BPF_PROG_TYPE_TRACING ||
	    program->expected_attach_type != BPF_TRACE_RAW_TP || !name)
		return -EACCES;
	for (i = 0; i < ARRAY_SIZE(hook_names); i++)
		if (!strcmp(name, hook_names[i]))
			return 0;
	return -EACCES;
}

static const struct btf_kfunc_id_set set = {
	.owner = THIS_MODULE,
	.set = &kfuncs,
	.filter = filter,
};

static bool has_btf(void)
{
#ifdef CONFIG_DEBUG_INFO_BTF_MODULES
	return THIS_MODULE->btf_data_size && kfuncs.cnt;
#else
	return false;
#endif
}

/* Without BTF there is nothing to be registered, and the kernel would complain of it. */
int bpf_init(void)
{
	int error = has_btf() ? register_btf_kfunc_id_set(BPF_PROG_TYPE_TRACING, &set) : -ENOENT;

	usable = !error;
	return error == -ENOENT ? 0 : error;
}
