// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * perf.data: whether the trace begins with the exec of what perf record ran. It began before this
 * file does with --switch-output, or where the record of its exec was lost: the earliest exec that
 * is here is then another one.
 */
#include "formats/perfdata/internal.h"

#include <errno.h>

/*
 * Whether the first bytes that are here of a buffer are not the first that came into it: those are
 * in another file of perf record --switch-output. 0, 1 or -ENOMEM.
 */
static int goes_on(const struct flowtap_perfdata *perfdata)
{
	const struct perfdata_extent *list = perfdata->extents.list;
	struct flowtap_hash_table buffers = { .slots = NULL };
	int err = 0;

	for (size_t i = 0; !err && i < perfdata->extents.n && i < UINT32_MAX; i++) {
		uint64_t hash = flowtap_hash_words((uint64_t[]) { list[i].tid, list[i].cpu }, 2);
		struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&buffers, hash);
		uint32_t other;
		bool seen = false;

		while (!seen && flowtap_hash_table_next(&walk, &other))
			seen = list[other].tid == list[i].tid && list[other].cpu == list[i].cpu;
		if (seen)
			continue;
		err = list[i].offset ? 1 : flowtap_hash_table_add(&buffers, hash, (uint32_t)i);
	}
	flowtap_hash_table_free(&buffers);
	return err;
}

/* Where records are missing, that of an exec before it may be. Of a snapshot all offsets are late. */
int flowtap_perfdata_check_exec(struct flowtap_perfdata *perfdata)
{
	bool snapshot = false;
	int err = 0;

	if (perfdata->info.lost || perfdata->incomplete)
		perfdata->on_exec = false;
	for (size_t i = 0; i < perfdata->aux.n; i++) {
		snapshot |= perfdata->aux.list[i].flags & FLOWTAP_PERFDATA_OVERWRITE;
		if (perfdata->aux.list[i].time && perfdata->aux.list[i].time < perfdata->first_exec)
			perfdata->on_exec = false;
	}
	if (perfdata->on_exec && !snapshot)
		err = goes_on(perfdata);
	if (err > 0)
		perfdata->on_exec = false;
	return err < 0 ? err : 0;
}
