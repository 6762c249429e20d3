/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FLOWTAP_GAP_H
#define FLOWTAP_GAP_H

#include <linux/types.h>

struct group;
struct task_struct;

/*
 * A GAP record of a task, by the first stream of the group that can write one now, on its CPU; for
 * what no sample will tell. Interrupts on, under RCU.
 */
void gap_write(struct group *group, struct task_struct *task, u64 since, u32 cause);

#endif /* FLOWTAP_GAP_H */
