/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What programs in the kernel look at of its structures. The loader finds their offsets
 * (CO-RE), so that nothing but the names here has to be as in the kernel.
 */
#ifndef FLOWTAP_DAEMON_CORE_BPF_H
#define FLOWTAP_DAEMON_CORE_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#define TASK_COMM_LEN 16

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kernfs_node {
	__u64 id;
};

struct cgroup_root {
	int hierarchy_id;	/* 0: of version 2 */
};

struct cgroup {
	struct kernfs_node *kn;
	struct cgroup_root *root;
	int level;
	struct cgroup *ancestors[];
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
};

struct task_struct {
	int pid;
	int tgid;
	unsigned int flags;
	char comm[TASK_COMM_LEN];
	struct css_set *cgroups;
	struct signal_struct *signal;
};

#pragma clang attribute pop

/* The module's (linux/flowtap.h). */
extern int flowtap_add_task(struct task_struct *task, __u64 key) __ksym __weak;
extern int flowtap_remove_task(struct task_struct *task, __u64 key) __ksym __weak;

#endif /* FLOWTAP_DAEMON_CORE_BPF_H */
