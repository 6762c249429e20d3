// SPDX-License-Identifier: GPL-2.0-only
/* Programs of choice.c: they change a set of tasks as they are told. */
#include "daemon/core.bpf.h"

#define PF_KTHREAD 0x200000

__u64 key;
char wanted[TASK_COMM_LEN], unwanted[TASK_COMM_LEN];	/* at exec: added, removed */
int forks_of;			/* a process whose children are added */
bool attach_adds;		/* else removed, when they come into another cgroup */
int attached;			/* whom this is about */
/* The last answer of those, and how often. */
int result;
__u64 execs, forks, attaches;
int kernel_thread = 1;		/* the answer for one */

static bool same(const char *a, const volatile char *b)
{
	for (int i = 0; i < TASK_COMM_LEN; i++) {
		if (a[i] != b[i])
			return false;
		if (!a[i])
			return i > 0;
	}
	return true;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, void *bprm)
{
	char comm[TASK_COMM_LEN];

	bpf_probe_read_kernel_str(comm, sizeof(comm), task->comm);
	if (same(comm, wanted))
		result = flowtap_add_task(task, key);
	else if (same(comm, unwanted))
		result = flowtap_remove_task(task, key);
	else
		return 0;
	__sync_fetch_and_add(&execs, 1);
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (child->flags & PF_KTHREAD && key)
		kernel_thread = flowtap_add_task(child, key);
	if (!forks_of || parent->tgid != forks_of)
		return 0;
	result = flowtap_add_task(child, key);
	__sync_fetch_and_add(&forks, 1);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *cgroup, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	if (task->tgid != attached)
		return 0;
	result = attach_adds ? flowtap_add_task(task, key) : flowtap_remove_task(task, key);
	__sync_fetch_and_add(&attaches, 1);
	return 0;
}

/* Where it must not be called: under the scheduler's locks; in an interrupt. */
SEC("?tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct *previous, struct task_struct *next)
{
	return flowtap_add_task(next, key) & 0;
}

SEC("?tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	return flowtap_add_task(task, key) & 0;
}

SEC("?tp_btf/sched_wakeup")
int BPF_PROG(on_wakeup, struct task_struct *task)
{
	return flowtap_add_task(task, key) & 0;
}

char LICENSE[] SEC("license") = "GPL";
