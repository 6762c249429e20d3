/* SPDX-License-Identifier: GPL-2.0-only */
/* GAP records that another CPU may have to write. */
#ifndef FLOWTAP_KMOD_GAP_H
#define FLOWTAP_KMOD_GAP_H

#include <linux/types.h>

struct flowtap_group;
struct task_struct;

/**
 * gap_may_ask() - whether a CPU may be interrupted for a task that may not run there
 * @cpu: any that is possible.
 * @last: to write the last of a stream's losses, for which there are as many times more.
 *
 * Who causes such records over and over, where his group has no stream, would else interrupt the CPU
 * as often, whoever runs there.
 *
 * Context: any; counts.
 * Return: it was asked less than 100 times in this second.
 */
bool gap_may_ask(u32 cpu, bool last);

/**
 * gap_write() - write a GAP record of a task, for what no sample and no AUX record has
 * @group: its first enabled stream of this CPU writes the record, or else that of a CPU where the task
 *	may run, or else the first one whose CPU is online. Where that must not be asked any more,
 *	see gap_may_ask(), the record is counted as lost.
 * @task: the task.
 * @since: when the gap began, ns of CLOCK_MONOTONIC_RAW. It ends now.
 * @cause: FLOWTAP_CAUSE_.
 *
 * Context: interrupts on, under RCU; does not sleep.
 * Return: false: no stream is enabled whose CPU is online, and nothing was written or counted.
 */
bool gap_write(struct flowtap_group *group, struct task_struct *task, u64 since, u32 cause);

#endif /* FLOWTAP_KMOD_GAP_H */
