// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Fills in the structures of mappings, tasks, bytes of code and losses, and writes each as a
 * block.
 */
#include "capture/sideband_write.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static struct flowtap_archive_mapping describe(const struct flowtap_mapping *mapping, uint32_t tid)
{
	struct flowtap_archive_mapping block = {
		.time = mapping->time,
		.start = mapping->start,
		.size = mapping->size,
		.file_offset = mapping->file_offset,
		.pid = mapping->pid,
		.tid = tid,
		.executable = mapping->executable,
		.build_id_size = mapping->build_id_size,
		.path_size = (uint32_t)strnlen(mapping->path, PATH_MAX - 1),
	};

	memcpy(block.build_id, mapping->build_id, mapping->build_id_size);
	return block;
}

static int put(const struct flowtap_sideband_sink *out, uint32_t type, uint32_t cpu, uint64_t time,
	       const void *first, size_t first_size, const void *second, size_t second_size)
{
	if (out->roster)
		flowtap_roster_add(out->roster, type, cpu, time, first, first_size, second,
				   second_size);
	if (!out->writer)
		return 0;
	return flowtap_archive_write(out->writer, type, cpu, time, first, first_size, second,
				     second_size);
}

int flowtap_sideband_write_mapping(const struct flowtap_sideband_sink *out,
				   const struct flowtap_mapping *mapping, uint32_t tid,
				   uint32_t cpu)
{
	struct flowtap_archive_mapping block = describe(mapping, tid);
	int err = out->mapped ? out->mapped(out->argument, mapping) : 0;

	if (err)
		return err;
	return put(out, FLOWTAP_ARCHIVE_MAPPING, cpu, mapping->time, &block, sizeof(block),
		   mapping->path, block.path_size);
}

int flowtap_sideband_write_bytes(const struct flowtap_sideband_sink *out,
				 const struct flowtap_mapping *mapping, const void *bytes)
{
	struct flowtap_archive_mapping block = describe(mapping, 0);
	size_t head = (sizeof(block) + block.path_size + 8) & ~(size_t)7;
	uint8_t *front = calloc(1, head);
	int err;

	if (!front)
		return -ENOMEM;
	memcpy(front, &block, sizeof(block));
	memcpy(front + sizeof(block), mapping->path, block.path_size);
	err = put(out, FLOWTAP_ARCHIVE_BYTES, 0, mapping->time, front, head, bytes, mapping->size);
	free(front);
	return err;
}

int flowtap_sideband_write_task(const struct flowtap_sideband_sink *out,
				struct flowtap_archive_task *task, const char *comm, uint32_t cpu)
{
	memset(task->comm, 0, sizeof(task->comm));
	task->comm_size = comm ? (uint32_t)strnlen(comm, sizeof(task->comm)) : 0;
	if (comm)
		memcpy(task->comm, comm, task->comm_size);
	return put(out, FLOWTAP_ARCHIVE_TASK, cpu, task->time, task, sizeof(*task), NULL, 0);
}

int flowtap_sideband_write_lost(const struct flowtap_sideband_sink *out, uint64_t count,
				uint64_t time, uint32_t cpu)
{
	return put(out, FLOWTAP_ARCHIVE_LOST, cpu, time, &count, sizeof(count), NULL, 0);
}
