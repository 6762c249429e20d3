/* SPDX-License-Identifier: GPL-2.0-only */
/* GAP records that another CPU may have to write. */
#ifndef FLOWTAP_KMOD_GAP_H
#define FLOWTAP_KMOD_GAP_H

#include <linux/types.h>

struct flowtap_group;
struct task_struct;

/**
 * gap_write() - write a GAP record of a task, for what no sample and no AUX record has
 * @group: its first enabled stream of this CPU writes the record, or else the first one whose CPU
 *	is online.
 * @task: the task.
 * @since: when the gap began, ns of CLOCK_MONOTONIC_RAW. It ends now.
 * @cause: FLOWTAP_CAUSE_.
 *
 * Context: interrupts on, under RCU; does not sleep.
 * Return: false: no stream is enabled whose CPU is online, and nothing was written.
 */
bool gap_write(struct flowtap_group *group, struct task_struct *task, u64 since, u32 cause);

#endif /* FLOWTAP_KMOD_GAP_H */
