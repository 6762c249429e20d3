// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
#include <ctr_tasks.h>

bool flowtap_ctr_tasks_follow(struct ctr_tasks *tasks, const struct ctr_task *sample,
			      struct ctr_task *before)
{
	struct ctr_task *set = tasks->sets[(sample->tid * 0x9e3779b1U) >> 20];
	struct ctr_task *task = &set[0];

	*before = (struct ctr_task){ 0 };
	if (!sample->tid)
		return false;
	for (int way = 0; way < CTR_TASK_WAYS; way++) {
		if (set[way].tid == sample->tid) {
			*before = set[way];
			set[way] = *sample;
			return true;
		}
		if (!set[way].tid || (task->tid && set[way].time < task->time))
			task = &set[way];
	}
	*task = *sample;
	return false;
}
