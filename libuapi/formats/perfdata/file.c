// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: opening, what is asked of the whole file, and its side band for the map. */
#include "formats/perfdata/internal.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/read_at.h"

void flowtap_perfdata_damaged(const struct flowtap_perfdata *perfdata, uint64_t offset,
			      const char *reason)
{
	if (perfdata->damage)
		perfdata->damage(perfdata->argument, offset, reason);
}

int flowtap_perfdata_pread(const struct flowtap_perfdata *perfdata, uint64_t offset, void *buffer,
			   size_t size)
{
	if (offset > perfdata->file_size || size > perfdata->file_size - offset)
		return -ENODATA;
	return flowtap_read_all_at(perfdata->fd, buffer, size, offset, -ENODATA);
}

static void describe(struct flowtap_perfdata *perfdata)
{
	struct flowtap_perfdata_info *info = &perfdata->info;
	const char **to[] = { &info->hostname, &info->release, &info->arch, &info->version,
			      &info->command };

	for (size_t i = 0; i < sizeof(to) / sizeof(to[0]); i++)
		*to[i] = perfdata->strings[i] ? perfdata->strings[i] : "";
	info->cpus = perfdata->cpus.list;
	info->n_cpus = perfdata->cpus.n;
}

static int refuse(struct flowtap_perfdata *perfdata)
{
	perfdata->reason = perfdata->newer ?
		"what it says of the trace units (AUXTRACE_INFO) is newer than version 2" :
		"it has no trace of Arm's trace units (cs_etm)";
	return perfdata->newer ? -EPROTONOSUPPORT : -ENODATA;
}

static int read_all(struct flowtap_perfdata *perfdata)
{
	int saved = errno, err;
	struct stat stat;

	err = fstat(perfdata->fd, &stat) ? -errno : 0;
	errno = saved;
	if (err)
		return err;
	perfdata->file_size = S_ISREG(stat.st_mode) ? (uint64_t)stat.st_size : 0;
	err = flowtap_perfdata_header(perfdata);
	if (!err)
		err = flowtap_perfdata_index(perfdata);
	if (!err && !perfdata->has_trace)
		err = refuse(perfdata);
	if (!err)
		err = flowtap_perfdata_join(perfdata);
	if (!err)
		describe(perfdata);
	return err;
}

int flowtap_perfdata_open(int fd, flowtap_perfdata_damage damage, void *argument,
			  struct flowtap_perfdata **out, const char **reason)
{
	struct flowtap_perfdata *perfdata = calloc(1, sizeof(*perfdata));
	int err;

	*out = NULL;
	if (!perfdata)
		return -ENOMEM;
	perfdata->fd = fd;
	perfdata->damage = damage;
	perfdata->argument = argument;
	err = read_all(perfdata);
	if (err) {
		if (reason)
			*reason = perfdata->reason ? perfdata->reason : strerrordesc_np(-err);
		flowtap_perfdata_close(perfdata);
		return err;
	}
	*out = perfdata;
	return 0;
}

void flowtap_perfdata_close(struct flowtap_perfdata *perfdata)
{
	if (!perfdata)
		return;
	for (size_t i = 0; i < sizeof(perfdata->strings) / sizeof(perfdata->strings[0]); i++)
		free(perfdata->strings[i]);
	for (size_t i = 0; i < perfdata->build_ids.n; i++)
		free(perfdata->build_ids.list[i].path);
	free(perfdata->attrs.list);
	free(perfdata->ids.list);
	flowtap_hash_table_free(&perfdata->by_id);
	free(perfdata->build_ids.list);
	flowtap_hash_table_free(&perfdata->by_path);
	free(perfdata->cpus.list);
	free(perfdata->hw_ids.list);
	flowtap_hash_table_free(&perfdata->hw_by_cpu);
	free(perfdata->aux.list);
	free(perfdata->extents.list);
	for (size_t i = 0; i < perfdata->events.n; i++)
		free(perfdata->events.list[i].bytes);
	free(perfdata->events.list);
	free(perfdata->threads.list);
	flowtap_hash_table_free(&perfdata->by_tid);
	free(perfdata->switches.list);
	free(perfdata->ranges.list);
	free(perfdata);
}

const struct flowtap_perfdata_info *flowtap_perfdata_info(const struct flowtap_perfdata *perfdata)
{
	return &perfdata->info;
}

const struct flowtap_perfdata_range *
flowtap_perfdata_ranges(const struct flowtap_perfdata *perfdata, size_t *n)
{
	*n = perfdata->ranges.n;
	return perfdata->ranges.list;
}

int flowtap_perfdata_read(const struct flowtap_perfdata *perfdata,
			  const struct flowtap_perfdata_range *range, uint64_t from,
			  void *buffer, size_t size, size_t *got)
{
	int err;

	*got = 0;
	if (from >= range->size)
		return 0;
	if (size > range->size - from)
		size = (size_t)(range->size - from);
	err = flowtap_perfdata_pread(perfdata, range->offset + from, buffer, size);
	if (!err)
		*got = size;
	return err == -ENODATA ? 0 : err;
}

const char *flowtap_perfdata_record_name(uint32_t type)
{
	static const char *const names[] = {
		[PERF_RECORD_MMAP] = "MMAP",
		[PERF_RECORD_LOST] = "LOST",
		[PERF_RECORD_COMM] = "COMM",
		[PERF_RECORD_EXIT] = "EXIT",
		[PERF_RECORD_THROTTLE] = "THROTTLE",
		[PERF_RECORD_UNTHROTTLE] = "UNTHROTTLE",
		[PERF_RECORD_FORK] = "FORK",
		[PERF_RECORD_READ] = "READ",
		[PERF_RECORD_SAMPLE] = "SAMPLE",
		[PERF_RECORD_MMAP2] = "MMAP2",
		[PERF_RECORD_AUX] = "AUX",
		[PERF_RECORD_ITRACE_START] = "ITRACE_START",
		[PERF_RECORD_LOST_SAMPLES] = "LOST_SAMPLES",
		[PERF_RECORD_SWITCH] = "SWITCH",
		[PERF_RECORD_SWITCH_CPU_WIDE] = "SWITCH_CPU_WIDE",
		[PERF_RECORD_NAMESPACES] = "NAMESPACES",
		[PERF_RECORD_KSYMBOL] = "KSYMBOL",
		[PERF_RECORD_BPF_EVENT] = "BPF_EVENT",
		[PERF_RECORD_CGROUP] = "CGROUP",
		[PERF_RECORD_TEXT_POKE] = "TEXT_POKE",
		[PERFDATA_AUX_OUTPUT_HW_ID] = "AUX_OUTPUT_HW_ID",
		[PERFDATA_HEADER_ATTR] = "HEADER_ATTR",
		[65] = "HEADER_EVENT_TYPE",
		[PERFDATA_HEADER_TRACING_DATA] = "HEADER_TRACING_DATA",
		[PERFDATA_HEADER_BUILD_ID] = "HEADER_BUILD_ID",
		[68] = "FINISHED_ROUND",
		[69] = "ID_INDEX",
		[PERFDATA_AUXTRACE_INFO] = "AUXTRACE_INFO",
		[PERFDATA_AUXTRACE] = "AUXTRACE",
		[72] = "AUXTRACE_ERROR",
		[73] = "THREAD_MAP",
		[74] = "CPU_MAP",
		[75] = "STAT_CONFIG",
		[76] = "STAT",
		[77] = "STAT_ROUND",
		[78] = "EVENT_UPDATE",
		[PERFDATA_TIME_CONV] = "TIME_CONV",
		[PERFDATA_HEADER_FEATURE] = "HEADER_FEATURE",
		[PERFDATA_COMPRESSED] = "COMPRESSED",
		[82] = "FINISHED_INIT",
		[PERFDATA_COMPRESSED2] = "COMPRESSED2",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : NULL;
}

/* --- The side band. --- */

static int by_time(const void *one, const void *other)
{
	const struct perfdata_event *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

/* Which of the files with its path it was, nothing says: under this name none is found. */
static int add_ambiguous(struct flowtap_address_map *map, const struct flowtap_mapping *mapping)
{
	struct flowtap_mapping one = *mapping;
	char *path;
	int err;

	if (asprintf(&path, "%s (several files had this path)", mapping->path) < 0)
		return -ENOMEM;
	one.path = path;
	err = flowtap_address_map_add(map, &one);
	free(path);
	return err;
}

/* One without a build-id: what the file's own list says. */
static int add_unmarked(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map,
			struct flowtap_mapping *mapping)
{
	const struct perfdata_build_id *known = flowtap_perfdata_build_id(perfdata, mapping->path);

	if (known && known->ambiguous)
		return add_ambiguous(map, mapping);
	if (known) {
		mapping->build_id_size = known->id.size;
		memcpy(mapping->build_id, known->id.bytes, known->id.size);
	}
	return flowtap_address_map_add(map, mapping);
}

/* MMAP: pid, tid, start, size, offset, path; MMAP2 has file or build-id and rights before that. */
static int fill_mapping(const struct flowtap_perfdata *perfdata, const uint8_t *bytes, size_t size,
			const struct perf_event_header *header, uint64_t time,
			struct flowtap_address_map *map)
{
	bool second = header->type == PERF_RECORD_MMAP2;
	size_t fixed = second ? 72 : 40;
	const char *path = (const char *)bytes + fixed;
	struct flowtap_mapping mapping;

	if (size <= fixed || !memchr(path, 0, size - fixed))
		return -EINVAL;
	mapping = (struct flowtap_mapping) {
		.time = time,
		.start = perfdata_u64(bytes + 16),
		.size = perfdata_u64(bytes + 24),
		.file_offset = path[0] == '/' && path[1] != '/' ? perfdata_u64(bytes + 32) : 0,
		.pid = perfdata_u32(bytes + 8),
		.executable = second ? perfdata_u32(bytes + 64) & PROT_EXEC :
				       !(header->misc & PERF_RECORD_MISC_MMAP_DATA),
		.path = path,
	};
	if (!second || !(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID))
		return add_unmarked(perfdata, map, &mapping);
	if (bytes[40] > FLOWTAP_BUILD_ID_MAX)
		return -EINVAL;
	mapping.build_id_size = bytes[40];
	memcpy(mapping.build_id, bytes + 44, bytes[40]);
	return flowtap_address_map_add(map, &mapping);
}

static int fill_one(const struct flowtap_perfdata *perfdata, const struct perfdata_event *event,
		    uint8_t *bytes, struct flowtap_address_map *map)
{
	struct perf_event_header header;
	int err = 0;

	if (event->bytes)
		memcpy(&header, event->bytes, sizeof(header));
	else
		err = flowtap_perfdata_pread(perfdata, event->offset, &header, sizeof(header));
	if (!err && event->bytes)
		bytes = event->bytes;
	else if (!err)
		err = flowtap_perfdata_pread(perfdata, event->offset, bytes, header.size);
	if (err)
		return err;
	switch (header.type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return fill_mapping(perfdata, bytes, header.size, &header, event->time, map);
	case PERF_RECORD_COMM:
		return flowtap_address_map_exec(map, perfdata_u32(bytes + 8), event->time);
	case PERF_RECORD_FORK:
		return flowtap_address_map_fork(map, perfdata_u32(bytes + 12),
						perfdata_u32(bytes + 8), event->time);
	}
	return 0;
}

/* Whoever shows up as a thread may have been one all the time. */
static int fill_threads(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map)
{
	int err = 0;

	for (size_t i = 0; i < perfdata->threads.n && !err; i++)
		err = flowtap_address_map_thread(map, perfdata->threads.list[i].pid,
						 perfdata->threads.list[i].tid, 0);
	if (perfdata->info.lost || perfdata->incomplete)
		flowtap_address_map_set_lossy(map);
	return err;
}

int flowtap_perfdata_fill(const struct flowtap_perfdata *perfdata, struct flowtap_address_map *map)
{
	size_t n = perfdata->events.n;
	struct perfdata_event *order;
	uint8_t *bytes;
	int err = 0;

	err = fill_threads(perfdata, map);
	if (err || !n)
		return err;
	order = malloc(n * sizeof(order[0]));
	bytes = malloc(UINT16_MAX);
	if (order && bytes) {
		memcpy(order, perfdata->events.list, n * sizeof(order[0]));
		qsort(order, n, sizeof(order[0]), by_time);
		for (size_t i = 0; !err && i < n; i++) {
			err = fill_one(perfdata, &order[i], bytes, map);
			if (err == -EINVAL || err == -ENODATA) {
				flowtap_perfdata_damaged(perfdata, order[i].offset,
							 "a mapping that cannot be");
				err = 0;
			}
		}
	} else {
		err = -ENOMEM;
	}
	free(bytes);
	free(order);
	return err;
}
