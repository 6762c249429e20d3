/* SPDX-License-Identifier: GPL-2.0-only */
/* What BPF programs may call (linux/flowtap.h says when). */
#ifndef FLOWTAP_KMOD_BPF_H
#define FLOWTAP_KMOD_BPF_H

#include <linux/types.h>

struct task_struct;

/**
 * bpf_init() - offer the functions below to BPF programs, where there is BTF
 *
 * Context: the module's load; may sleep.
 * Return: 0, also without BTF; -errno of register_btf_kfunc_id_set().
 */
int bpf_init(void);

/**
 * bpf_usable() - whether programs can call the functions below
 *
 * Context: any, after bpf_init().
 * Return: the kernel and the module have BTF.
 */
bool bpf_usable(void);

/**
 * flowtap_add_task() - add a task to a set; called by a BPF program
 * @task: the current task, a new one, or any task's process (with its threads).
 * @key: the set's, from FLOWTAP_IOC_KEY.
 *
 * See group_change() for what is done at once and what a worker does.
 *
 * Context: atomic; the programs of sched_process_exec, sched_process_fork and cgroup_attach_task.
 * Return: 0; -ESRCH: no set has this key; -EINVAL: a kernel thread; -ENOMEM; -ENOSPC: a limit of
 * the set, or of its queue.
 */
int flowtap_add_task(struct task_struct *task, u64 key);

/**
 * flowtap_remove_task() - remove a task from a set; called by a BPF program
 * @task: as for flowtap_add_task().
 * @key: the set's.
 *
 * Context: as flowtap_add_task().
 * Return: 0, also where the task is no member; -errno as flowtap_add_task().
 */
int flowtap_remove_task(struct task_struct *task, u64 key);

#endif /* FLOWTAP_KMOD_BPF_H */
