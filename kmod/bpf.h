/* SPDX-License-Identifier: GPL-2.0-only */
/* What BPF programs may call (linux/flowtap.h says when). */
#ifndef FLOWTAP_BPF_H
#define FLOWTAP_BPF_H

#include <linux/types.h>

struct task_struct;

int bpf_init(void);
/* There is BTF: programs can call what stands below. */
bool bpf_usable(void);

int flowtap_add_task(struct task_struct *task, u64 key);
int flowtap_remove_task(struct task_struct *task, u64 key);

#endif /* FLOWTAP_BPF_H */
