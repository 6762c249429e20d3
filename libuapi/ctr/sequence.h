/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/*
 * The last sample of each sequence, to see which samples are contiguous. A sequence is a task's or
 * (FLOWTAP_MISC_CPU_WIDE) a CPU's. The table is bounded: of those that share a set the one whose
 * sample is the oldest gives way, and its next sample then counts as the first.
 */
#ifndef FLOWTAP_LIBUAPI_CTR_SEQUENCE_H
#define FLOWTAP_LIBUAPI_CTR_SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#define CTR_TASK_SETS	4096
#define CTR_TASK_WAYS	4

#define CTR_TASK_CPU	(1ULL << 32)

struct ctr_task {
	uint64_t key;		/* 0: free; a tid, or CTR_TASK_CPU and a CPU's number */
	uint64_t sequence;
	uint64_t time;
};

struct ctr_tasks {
	struct ctr_task sets[CTR_TASK_SETS][CTR_TASK_WAYS];
};

/*
 * Notes a sample and gives the one before it in its sequence in *before. False where none is known;
 * a key of 0 is any task that is not visible, so nothing is known of it.
 */
bool flowtap_ctr_tasks_follow(struct ctr_tasks *tasks, const struct ctr_task *sample,
			      struct ctr_task *before);

#endif /* FLOWTAP_LIBUAPI_CTR_SEQUENCE_H */
