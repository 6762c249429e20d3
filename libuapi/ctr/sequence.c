// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A set-associative table of the last samples, by task or CPU. */
#include "ctr/sequence.h"

bool flowtap_ctr_tasks_follow(struct ctr_tasks *tasks, const struct ctr_task *sample,
			      struct ctr_task *before)
{
	uint32_t hash = (uint32_t)(sample->key ^ sample->key >> 32) * 0x9e3779b1U;
	struct ctr_task *set = tasks->sets[hash >> 20];
	struct ctr_task *task = &set[0];

	*before = (struct ctr_task){ 0 };
	if (!sample->key)
		return false;
	for (int way = 0; way < CTR_TASK_WAYS; way++) {
		if (set[way].key == sample->key) {
			*before = set[way];
			set[way] = *sample;
			return true;
		}
		if (!set[way].key || (task->key && set[way].time < task->time))
			task = &set[way];
	}
	*task = *sample;
	return false;
}
