// SPDX-License-Identifier: GPL-2.0-only
/*
 * Chooses whom the module records, in the kernel: at exec, at fork, and when somebody comes into
 * another cgroup. What is forked is in the module's set if its parent is (FLOWTAP_INHERIT), so that
 * there is something to do only where a child begins elsewhere.
 */
#include "core.bpf.h"
#include "choice_rules.h"

#define LEVELS 64			/* of cgroups, one below the other */
#define SIGSTOP 19

const volatile bool kfuncs;		/* the module's functions can be called; else the daemon is asked */
const volatile bool wide;		/* the set is of those that are not recorded */

struct choice_rules rules;
__u64 key;				/* of the set; 0: there is none, and nothing to do */
__u64 missed;				/* tasks that could not be chosen */
__u64 stops;

/* By process ID: CHOICE_WANTED, CHOICE_OWN; CHOICE_IN_SET, CHOICE_PENDING. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CHOICE_PROCESSES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} processes SEC(".maps");

/* By cgroup ID, of those that are there: CHOICE_WANTED, CHOICE_UNWANTED. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4 * CHOICE_PATTERNS);
	__type(key, __u64);
	__type(value, __u32);
} cgroups SEC(".maps");

/* By path, filled up with 0: those that may come. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 2 * CHOICE_PATTERNS);
	__uint(key_size, CHOICE_PATH);
	__type(value, __u32);
} paths SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 * 1024);
} events SEC(".maps");

/* --- The rules. --- */

struct search {
	enum choice_kind kind;
	bool found;
	char comm[CHOICE_COMM];
};

static long try_pattern(__u32 i, struct search *search)
{
	if (i >= CHOICE_PATTERNS)
		return 1;
	search->found = choice_matches(search->kind == CHOICE_COMMANDS ?
				       &rules.patterns[CHOICE_COMMANDS][i] :
				       &rules.patterns[CHOICE_NOT_COMMANDS][i], search->comm);
	return search->found;
}

static bool any_matches(struct search *search, enum choice_kind kind)
{
	search->kind = kind;
	search->found = false;
	bpf_loop(rules.n[kind], try_pattern, search, 0);
	return search->found;
}

struct climb {
	struct cgroup **ancestors;
	__u32 flags;
};

static long look_at_ancestor(__u32 level, struct climb *climb)
{
	struct cgroup *cgroup = NULL;
	__u32 *flags;
	__u64 id;

	if (bpf_probe_read_kernel(&cgroup, sizeof(cgroup), climb->ancestors + level) || !cgroup)
		return 1;
	id = BPF_CORE_READ(cgroup, kn, id);
	flags = bpf_map_lookup_elem(&cgroups, &id);
	if (flags)
		climb->flags |= *flags;
	return 0;
}

/* Of all that it is in. */
static __u32 cgroup_flags(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct climb climb = { .ancestors = cgroup->ancestors };
	__u32 levels = BPF_CORE_READ(cgroup, level) + 1;

	bpf_loop(levels < LEVELS ? levels : LEVELS, look_at_ancestor, &climb, 0);
	return climb.flags;
}

static bool is_wanted(struct task_struct *task, __u32 flags)
{
	__u32 of_cgroup = cgroup_flags(task);
	struct search search = { 0 };

	if (flags & CHOICE_OWN || of_cgroup & CHOICE_UNWANTED)
		return false;
	bpf_probe_read_kernel(search.comm, sizeof(search.comm), task->comm);
	if (any_matches(&search, CHOICE_NOT_COMMANDS))
		return false;
	if (!rules.some || (flags | of_cgroup) & CHOICE_WANTED)
		return true;
	return any_matches(&search, CHOICE_COMMANDS);
}

/* --- What follows from it. --- */

static __u32 flags_of(__u32 pid)
{
	__u32 *flags = bpf_map_lookup_elem(&processes, &pid);

	return flags ? *flags : 0;
}

static void set_flags(__u32 pid, __u32 flags)
{
	if (!flags)
		bpf_map_delete_elem(&processes, &pid);
	else if (bpf_map_update_elem(&processes, &pid, &flags, BPF_ANY))
		__sync_fetch_and_add(&missed, 1);
}

/* The current process does nothing until the daemon has done what there is to do. */
static void ask_daemon(__u32 pid, __u32 flags, bool add, bool here)
{
	struct choice_event *event;

	if (!(flags & CHOICE_PENDING) && !!(flags & CHOICE_IN_SET) == add)
		return;
	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		__sync_fetch_and_add(&missed, 1);
		return;
	}
	*event = (struct choice_event){ .pid = pid, .add = add };
	event->stopped = here && !bpf_send_signal(SIGSTOP);
	/* The daemon marks it anew when it is done. */
	set_flags(pid, flags | CHOICE_PENDING);
	if (event->stopped)
		__sync_fetch_and_add(&stops, 1);
	bpf_ringbuf_submit(event, 0);
}

static int choose(struct task_struct *task, bool here)
{
	__u32 pid = task->tgid, flags = flags_of(pid);
	bool add = is_wanted(task, flags) != wide;
	int error;

	if (!kfuncs) {
		ask_daemon(pid, flags, add, here);
		return 0;
	}
	error = add ? flowtap_add_task(task, key) : flowtap_remove_task(task, key);
	/* ESRCH: the set has just gone. EINVAL: a thread of the kernel. */
	if (error && error != -3 && error != -22)
		__sync_fetch_and_add(&missed, 1);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_pid, void *bprm)
{
	return key ? choose(task, true) : 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 flags;

	if (child->pid != child->tgid)
		return 0;
	flags = flags_of(parent->tgid);
	set_flags(child->tgid, flags);
	if (!key || BPF_CORE_READ(parent, cgroups, dfl_cgrp) == BPF_CORE_READ(child, cgroups, dfl_cgrp))
		return 0;
	return choose(child, false);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	if (!BPF_CORE_READ(task, signal, live.counter))
		set_flags(task->tgid, 0);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_attach, struct cgroup *cgroup, const char *path, struct task_struct *task,
	     bool threadgroup)
{
	return key ? choose(task, false) : 0;
}

/* Those of version 1 have paths and numbers of their own, which may be equal. */
static bool is_version_2(struct cgroup *cgroup)
{
	return !BPF_CORE_READ(cgroup, root, hierarchy_id);
}

/* One of those that are configured comes, maybe again. */
SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(on_mkdir, struct cgroup *cgroup, const char *path)
{
	__u64 id = BPF_CORE_READ(cgroup, kn, id);
	char name[CHOICE_PATH] = { 0 };
	__u32 *flags;

	if (!is_version_2(cgroup) || bpf_probe_read_kernel_str(name, sizeof(name), path) < 0)
		return 0;
	flags = bpf_map_lookup_elem(&paths, name);
	if (flags && bpf_map_update_elem(&cgroups, &id, flags, BPF_ANY))
		__sync_fetch_and_add(&missed, 1);
	return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_rmdir, struct cgroup *cgroup, const char *path)
{
	__u64 id = BPF_CORE_READ(cgroup, kn, id);

	if (is_version_2(cgroup))
		bpf_map_delete_elem(&cgroups, &id);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
