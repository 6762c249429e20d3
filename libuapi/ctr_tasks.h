/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The last sample of each task, to see which samples are contiguous. The table is bounded: of the
 * tasks that share a set the one whose sample is the oldest gives way, and its next sample then
 * counts as the first.
 */
#ifndef CTR_TASKS_H
#define CTR_TASKS_H

#include <stdbool.h>
#include <stdint.h>

#define CTR_TASK_SETS	4096
#define CTR_TASK_WAYS	4

struct ctr_task {
	uint32_t tid;		/* 0: free */
	uint64_t sequence;
	uint64_t time;
};

struct ctr_tasks {
	struct ctr_task sets[CTR_TASK_SETS][CTR_TASK_WAYS];
};

/*
 * Notes a sample and gives the task's sample before it in *before. False where none is known;
 * a tid of 0 is any task that is not visible, so nothing is known of it.
 */
bool flowtap_ctr_tasks_follow(struct ctr_tasks *tasks, const struct ctr_task *sample,
			      struct ctr_task *before);

#endif /* CTR_TASKS_H */
