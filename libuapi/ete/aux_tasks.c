// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A set-associative table of the last AUX record of each task or CPU, and the GAPs since. */
#include "ete/aux_internal.h"

struct aux_task *aux_tasks_get(struct aux_tasks *tasks, uint64_t key, struct aux_task *gone)
{
	uint32_t hash = (uint32_t)(key ^ key >> 32) * 0x9e3779b1U;
	struct aux_task *set = tasks->sets[hash >> 20], *task = &set[0];

	*gone = (struct aux_task){ 0 };
	if (!key) {
		*gone = tasks->nobody;
		tasks->nobody = (struct aux_task){ 0 };
		return &tasks->nobody;
	}
	for (int way = 0; way < AUX_TASK_WAYS; way++) {
		if (set[way].key == key)
			return &set[way];
		if (!set[way].key || (task->key && set[way].heard < task->heard))
			task = &set[way];
	}
	*gone = *task;
	*task = (struct aux_task){ .key = key };
	return task;
}
