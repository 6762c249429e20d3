// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Takes perf's MMAP2, COMM, FORK, EXIT and LOST records apart, after checking their sizes. */
#include "capture/perf_records.h"

#include <linux/perf_event.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "capture/procfs.h"
#include "capture/sideband_write.h"

/* perf_event_open(2), MMAP2, COMM, FORK and EXIT, LOST; sample_id is at the end of each. */

struct sample_id {
	uint32_t pid;
	uint32_t tid;
	uint64_t time;
	uint32_t cpu;
	uint32_t reserved;
};

struct mmap2 {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	uint64_t start;
	uint64_t size;
	uint64_t file_offset;
	union {
		struct {
			uint32_t major;
			uint32_t minor;
			uint64_t inode;
			uint64_t generation;
		} file;
		struct {
			uint8_t size;
			uint8_t reserved[3];
			uint8_t bytes[20];
		} id;
	};
	uint32_t protection;
	uint32_t flags;
	char path[];
};

struct comm {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t tid;
	char name[];
};

struct task {
	struct perf_event_header header;
	uint32_t pid;
	uint32_t parent_pid;
	uint32_t tid;
	uint32_t parent_tid;
	uint64_t time;
};

struct lost {
	struct perf_event_header header;
	uint64_t id;
	uint64_t count;
};

/*
 * What perf gives for the number of a task that our PID namespace does not show: 0, or this once it
 * has ended. Neither says whose an event is; 0 would be one process made of all of them.
 */
#define NO_PID UINT32_MAX

static bool is_nobody(uint32_t pid)
{
	return !pid || pid == NO_PID;
}

static int parse_mmap2(const struct mmap2 *record, const char *path, const struct sample_id *sample,
		       uint32_t cpu, const struct flowtap_sideband_sink *out)
{
	struct flowtap_mapping mapping = {
		.time = sample->time,
		.start = record->start,
		.size = record->size,
		.file_offset = path[0] == '/' && path[1] != '/' ? record->file_offset : 0,
		.pid = record->pid,
		.executable = record->protection & PROT_EXEC,
		.path = path,
	};

	if (record->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
		if (record->id.size <= sizeof(mapping.build_id))
			mapping.build_id_size = record->id.size;
		memcpy(mapping.build_id, record->id.bytes, mapping.build_id_size);
	} else if (mapping.executable) {
		/* Pages that were not in memory, or a kernel that cannot: read it ourselves. */
		const struct flowtap_proc_file file = {
			record->file.major, record->file.minor, record->file.inode,
		};
		struct flowtap_build_id id =
			flowtap_proc_build_id_of(record->pid, path, &file, out->mounts);

		mapping.build_id_size = id.size;
		memcpy(mapping.build_id, id.bytes, sizeof(id.bytes));
	}
	return flowtap_sideband_write_mapping(out, &mapping, record->tid, cpu);
}

static int parse_comm(const struct comm *record, const char *name, const struct sample_id *sample,
		      uint32_t cpu, const struct flowtap_sideband_sink *out)
{
	struct flowtap_archive_task task = {
		.time = sample->time,
		.event = record->header.misc & PERF_RECORD_MISC_COMM_EXEC ? FLOWTAP_TASK_EXEC :
									   FLOWTAP_TASK_COMM,
		.pid = record->pid,
		.tid = record->tid,
	};

	return flowtap_sideband_write_task(out, &task, name, cpu);
}

static int parse_task(const struct task *record, const struct sample_id *sample, uint32_t cpu,
		      const struct flowtap_sideband_sink *out)
{
	struct flowtap_archive_task task = {
		.time = sample->time,
		.event = record->header.type == PERF_RECORD_FORK ? FLOWTAP_TASK_FORK :
								   FLOWTAP_TASK_EXIT,
		.pid = record->pid,
		.tid = record->tid,
		.parent_pid = record->parent_pid,
		.parent_tid = record->parent_tid,
	};

	return flowtap_sideband_write_task(out, &task, NULL, cpu);
}

static int parse_lost(const struct lost *record, const struct sample_id *sample, uint32_t cpu,
		      const struct flowtap_sideband_sink *out, struct flowtap_perf_losses *losses)
{
	const uint64_t known = record->count < losses->ahead ? record->count : losses->ahead;
	const uint64_t count = record->count - known;

	losses->ahead -= known;
	losses->count += count;
	return count ? flowtap_sideband_write_lost(out, count, sample->time, cpu) : 0;
}

/* The text between the fixed part and sample_id; NULL if it does not end within. */
static const char *text(const void *record, size_t fixed, size_t size)
{
	const char *from = (const char *)record + fixed;

	return size > fixed && memchr(from, 0, size - fixed) ? from : NULL;
}

int flowtap_perf_record(const void *record, size_t size, uint32_t cpu,
			const struct flowtap_sideband_sink *out, struct flowtap_perf_losses *losses)
{
	const struct perf_event_header *header = record;
	struct sample_id sample;
	const char *string;
	bool whole;

	if (size < sizeof(*header) + sizeof(sample))
		return 0;
	size -= sizeof(sample);
	memcpy(&sample, (const uint8_t *)record + size, sizeof(sample));
	if (header->type != PERF_RECORD_LOST && size >= sizeof(struct comm) &&
	    is_nobody(((const struct comm *)record)->pid))
		return 0;
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		string = text(record, sizeof(struct mmap2), size);
		return string ? parse_mmap2(record, string, &sample, cpu, out) : 0;
	case PERF_RECORD_COMM:
		string = text(record, sizeof(struct comm), size);
		return string ? parse_comm(record, string, &sample, cpu, out) : 0;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		whole = size >= sizeof(struct task);
		return whole ? parse_task(record, &sample, cpu, out) : 0;
	case PERF_RECORD_LOST:
		whole = size >= sizeof(struct lost);
		return whole ? parse_lost(record, &sample, cpu, out, losses) : 0;
	}
	return 0;
}
