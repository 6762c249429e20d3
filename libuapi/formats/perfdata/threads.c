// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: whose a thread was, which thread a CPU ran, and what time it was. */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <stdlib.h>

#define REUSES_MAX 256

/* While reading: a thread is recorded again only where its process is another one. */
int flowtap_perfdata_thread(struct flowtap_perfdata *perfdata, uint32_t tid, uint32_t pid,
			    uint64_t time)
{
	uint64_t hash = flowtap_hash_words(&(uint64_t) { tid }, 1);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&perfdata->by_tid, hash);
	uint32_t index, seen = 0;

	if (tid == FLOWTAP_PERFDATA_NONE || pid == FLOWTAP_PERFDATA_NONE)
		return 0;
	while (flowtap_hash_table_next(&walk, &index)) {
		struct perfdata_thread *thread = &perfdata->threads.list[index];

		/* A number that was so often another process's is nobody's. */
		if (++seen == REUSES_MAX)
			return 0;
		if (thread->tid != tid || thread->pid != pid)
			continue;
		if (time < thread->time)
			thread->time = time;
		return 0;
	}
	if (perfdata->threads.n == UINT32_MAX ||
	    PERFDATA_ADD(&perfdata->threads, (struct perfdata_thread) { time, tid, pid }))
		return -ENOMEM;
	return flowtap_hash_table_add(&perfdata->by_tid, hash, (uint32_t)perfdata->threads.n - 1);
}

static int by_thread(const void *one, const void *other)
{
	const struct perfdata_thread *a = one, *b = other;

	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return a->time < b->time ? -1 : a->time > b->time;
}

static int by_cpu(const void *one, const void *other)
{
	const struct perfdata_switch *a = one, *b = other;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void flowtap_perfdata_sort_tasks(struct flowtap_perfdata *perfdata)
{
	if (perfdata->threads.n)
		qsort(perfdata->threads.list, perfdata->threads.n,
		      sizeof(perfdata->threads.list[0]), by_thread);
	if (perfdata->switches.n)
		qsort(perfdata->switches.list, perfdata->switches.n,
		      sizeof(perfdata->switches.list[0]), by_cpu);
}

/* The last one at or before that time, else the first. */
uint32_t flowtap_perfdata_pid(const struct flowtap_perfdata *perfdata, uint32_t tid, uint64_t time)
{
	const struct perfdata_thread *list = perfdata->threads.list;
	size_t low = 0, high = perfdata->threads.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].tid < tid ||
		    (list[middle].tid == tid && list[middle].time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	if (low && list[low - 1].tid == tid)
		return list[low - 1].pid;
	return low < perfdata->threads.n && list[low].tid == tid ? list[low].pid : 0;
}

uint32_t flowtap_perfdata_ran(const struct flowtap_perfdata *perfdata, uint32_t cpu, uint64_t time)
{
	const struct perfdata_switch *list = perfdata->switches.list;
	size_t low = 0, high = perfdata->switches.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (list[middle].cpu < cpu ||
		    (list[middle].cpu == cpu && list[middle].time <= time))
			low = middle + 1;
		else
			high = middle;
	}
	return low && list[low - 1].cpu == cpu ? list[low - 1].tid : FLOWTAP_PERFDATA_NONE;
}

/* perf_event.h, cap_user_time_zero and cap_user_time_short: of perf's own clock alone. */
bool flowtap_perfdata_has_time(const struct flowtap_perfdata *perfdata)
{
	return perfdata->has_time_conv && !perfdata->info.clocked;
}

bool flowtap_perfdata_time(const struct flowtap_perfdata *perfdata, uint64_t ticks, uint64_t *time)
{
	uint64_t shift = perfdata->time_shift, rest;

	if (!flowtap_perfdata_has_time(perfdata))
		return false;
	if (perfdata->has_time_mask)
		ticks = perfdata->time_cycles +
			((ticks - perfdata->time_cycles) & perfdata->time_mask);
	rest = ticks & ((1ULL << shift) - 1);
	*time = perfdata->time_zero + (ticks >> shift) * perfdata->time_mult +
		(rest * perfdata->time_mult >> shift);
	return true;
}
