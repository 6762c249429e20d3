/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Makes perf.data files byte by byte, as perf record does for cs_etm: written from Linux's
 * perf.data-file-format.txt, perf_event.h and cs-etm.h, without the reader's tables.
 */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_H
#define FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define PERFFILE_EVENTS 2	/* cs_etm and a dummy for the side band */
#define PERFFILE_FEATURES 16
#define PERFFILE_ATTR 128	/* PERF_ATTR_SIZE_VER7: Linux 5.13 to 6.2 */
#define PERFFILE_ANY (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)
#define PERFFILE_ETE 0x5050505050505050ULL
#define PERFFILE_ETMV4 0x4040404040404040ULL

struct perffile {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	size_t data;		/* where the records begin */
	bool pipe;
	uint64_t sample_type[PERFFILE_EVENTS];
	int event;		/* whose records come now */
	/* What sample ids have. */
	uint64_t time;
	uint32_t pid;
	uint32_t tid;
	uint32_t cpu;
	size_t last;		/* where the last record begins */
	uint64_t index[1 + 2 * 16];	/* how many AUXTRACE records; place and size of each */
	unsigned int n_features;
	unsigned int feature[PERFFILE_FEATURES];	/* rising numbers */
	uint8_t *content[PERFFILE_FEATURES];
	size_t content_size[PERFFILE_FEATURES];
};

static inline void perffile_put(struct perffile *file, const void *bytes, size_t size)
{
	if (file->size + size > file->capacity) {
		file->capacity = 2 * (file->size + size);
		file->bytes = realloc(file->bytes, file->capacity);
		if (!file->bytes)
			abort();
	}
	if (size)
		memcpy(file->bytes + file->size, bytes, size);
	file->size += size;
}

static inline void perffile_u64(struct perffile *file, uint64_t value)
{
	perffile_put(file, &value, sizeof(value));
}

static inline void perffile_u32(struct perffile *file, uint32_t value)
{
	perffile_put(file, &value, sizeof(value));
}

static inline void perffile_set(struct perffile *file, size_t at, uint64_t value)
{
	memcpy(file->bytes + at, &value, sizeof(value));
}

/* --- Records. --- */

static inline void perffile_begin(struct perffile *file, uint32_t type, uint16_t misc)
{
	struct perf_event_header header = { .type = type, .misc = misc };

	file->last = file->size;
	perffile_put(file, &header, sizeof(header));
}

static inline void perffile_end(struct perffile *file)
{
	uint64_t type = file->sample_type[file->event];
	uint32_t kind;
	uint16_t size;

	memcpy(&kind, file->bytes + file->last, sizeof(kind));
	if (kind < 64) {
		if (type & PERF_SAMPLE_TID) {
			perffile_u32(file, file->pid);
			perffile_u32(file, file->tid);
		}
		if (type & PERF_SAMPLE_TIME)
			perffile_u64(file, file->time);
		if (type & PERF_SAMPLE_CPU) {
			perffile_u32(file, file->cpu);
			perffile_u32(file, 0);
		}
		if (type & PERF_SAMPLE_IDENTIFIER)
			perffile_u64(file, 100 + file->event);
	}
	size = (uint16_t)(file->size - file->last);
	memcpy(file->bytes + file->last + 6, &size, sizeof(size));
}

static inline void perffile_attr(struct perffile *file, int event)
{
	struct perf_event_attr attr = {
		.type = event ? PERF_TYPE_SOFTWARE : 10,
		.size = PERFFILE_ATTR,
		.config = event ? PERF_COUNT_SW_DUMMY : 0,
		.sample_period = 1,
		.sample_type = file->sample_type[event],
		.sample_id_all = 1,
		.mmap = event,
		.comm = event,
		.task = event,
		.mmap2 = event,
	};

	perffile_put(file, &attr, PERFFILE_ATTR);
}

/* Header, ids, attributes: each event has the id 100 + its number. */
static inline void perffile_start(struct perffile *file, bool pipe, uint64_t trace_type,
				  uint64_t dummy_type)
{
	size_t stride = PERFFILE_ATTR + 16;

	*file = (struct perffile) {
		.pipe = pipe,
		.sample_type = { trace_type, dummy_type },
	};
	perffile_put(file, "PERFILE2", 8);
	if (pipe) {
		perffile_u64(file, 16);
		for (int i = 0; i < PERFFILE_EVENTS; i++) {
			perffile_begin(file, 64, 0);
			perffile_attr(file, i);
			perffile_u64(file, 100 + i);
			perffile_end(file);
		}
		return;
	}
	perffile_u64(file, 104);
	perffile_u64(file, stride);
	perffile_u64(file, 104 + 8 * PERFFILE_EVENTS);
	perffile_u64(file, stride * PERFFILE_EVENTS);
	for (int i = 0; i < 8; i++)
		perffile_u64(file, 0);
	for (int i = 0; i < PERFFILE_EVENTS; i++)
		perffile_u64(file, 100 + i);
	for (int i = 0; i < PERFFILE_EVENTS; i++) {
		perffile_attr(file, i);
		perffile_u64(file, 104 + 8 * i);
		perffile_u64(file, 8);
	}
	file->data = file->size;
}

/* Of a file: perf record began with the exec of what it was to run. */
static inline void perffile_on_exec(struct perffile *file)
{
	uint8_t *at = file->bytes + 104 + 8 * PERFFILE_EVENTS;
	struct perf_event_attr attr;

	memcpy(&attr, at, PERFFILE_ATTR);
	attr.enable_on_exec = 1;
	memcpy(at, &attr, PERFFILE_ATTR);
}

/* Of a file: the records have the times of a clock that perf record -k named. */
static inline void perffile_clocked(struct perffile *file)
{
	uint8_t *at = file->bytes + 104 + 8 * PERFFILE_EVENTS;
	struct perf_event_attr attr;

	memcpy(&attr, at, PERFFILE_ATTR);
	attr.use_clockid = 1;
	memcpy(at, &attr, PERFFILE_ATTR);
}

static inline void perffile_text(struct perffile *file, const char *text)
{
	size_t size = (strlen(text) + 8) & ~7UL;
	char padded[4096] = { 0 };

	memcpy(padded, text, strlen(text));
	perffile_put(file, padded, size);
}

/* build_id: 20 bytes, or NULL. */
static inline void perffile_mmap2(struct perffile *file, uint32_t pid, uint32_t tid, uint64_t start,
				  uint64_t size, uint64_t offset, uint32_t protection,
				  const uint8_t *build_id, const char *path)
{
	uint8_t id[24] = { 20 };

	file->event = 1;
	perffile_begin(file, PERF_RECORD_MMAP2,
		       PERF_RECORD_MISC_USER | (build_id ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0));
	perffile_u32(file, pid);
	perffile_u32(file, tid);
	perffile_u64(file, start);
	perffile_u64(file, size);
	perffile_u64(file, offset);
	if (build_id)
		memcpy(id + 4, build_id, 20);
	else
		id[0] = 0;
	perffile_put(file, id, sizeof(id));
	perffile_u32(file, protection);
	perffile_u32(file, 2);
	perffile_text(file, path);
	perffile_end(file);
}

static inline void perffile_mmap(struct perffile *file, uint16_t misc, uint32_t pid, uint32_t tid,
				 uint64_t start, uint64_t size, uint64_t offset, const char *path)
{
	file->event = 1;
	perffile_begin(file, PERF_RECORD_MMAP, misc);
	perffile_u32(file, pid);
	perffile_u32(file, tid);
	perffile_u64(file, start);
	perffile_u64(file, size);
	perffile_u64(file, offset);
	perffile_text(file, path);
	perffile_end(file);
}

static inline void perffile_comm(struct perffile *file, uint32_t pid, uint32_t tid, bool exec,
				 const char *name)
{
	file->event = 1;
	perffile_begin(file, PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	perffile_u32(file, pid);
	perffile_u32(file, tid);
	perffile_text(file, name);
	perffile_end(file);
}

static inline void perffile_task(struct perffile *file, uint32_t type, uint16_t misc, uint32_t pid,
				 uint32_t parent, uint32_t tid, uint32_t parent_tid)
{
	file->event = 1;
	perffile_begin(file, type, misc);
	perffile_u32(file, pid);
	perffile_u32(file, parent);
	perffile_u32(file, tid);
	perffile_u32(file, parent_tid);
	perffile_u64(file, file->time);
	perffile_end(file);
}

/* A record of 64-bit values, of the trace's event. */
static inline void perffile_values(struct perffile *file, uint32_t type, uint16_t misc, int n,
				   const uint64_t *values)
{
	file->event = 0;
	perffile_begin(file, type, misc);
	for (int i = 0; i < n; i++)
		perffile_u64(file, values[i]);
	perffile_end(file);
}

static inline void perffile_aux(struct perffile *file, uint64_t offset, uint64_t size,
				uint64_t flags)
{
	perffile_values(file, PERF_RECORD_AUX, 0, 3, (uint64_t[]) { offset, size, flags });
}

static inline void perffile_auxtrace(struct perffile *file, uint64_t offset, uint32_t idx,
				     uint32_t tid, uint32_t cpu, const void *bytes, size_t size)
{
	perffile_begin(file, 71, 0);
	perffile_u64(file, size);
	perffile_u64(file, offset);
	perffile_u64(file, 0x1234);
	perffile_u32(file, idx);
	perffile_u32(file, tid);
	perffile_u32(file, cpu);
	perffile_u32(file, 0);
	perffile_end(file);
	if (file->index[0] < 16) {
		file->index[1 + 2 * file->index[0]] = file->last;
		file->index[2 + 2 * file->index[0]++] = file->size - file->last;
	}
	perffile_put(file, bytes, size);
}

struct perffile_unit {
	uint64_t magic;
	uint32_t cpu;
	uint64_t configr;
	uint64_t traceidr;
	uint64_t idr0, idr1, idr2, idr8;
	uint64_t authstatus;
	uint64_t devarch;
	uint64_t ts_source;
};

static inline void perffile_info(struct perffile *file, int version, bool snapshot, int n,
				 const struct perffile_unit *units)
{
	perffile_begin(file, 70, 0);
	perffile_u32(file, 3);
	perffile_u32(file, 0);
	perffile_u64(file, version);
	perffile_u64(file, 10ULL << 32 | n);
	perffile_u64(file, snapshot);
	for (int i = 0; i < n; i++) {
		const struct perffile_unit *unit = &units[i];

		perffile_u64(file, unit->magic);
		perffile_u64(file, unit->cpu);
		if (version)
			perffile_u64(file, unit->magic == PERFFILE_ETE ? 9 : 8);
		perffile_u64(file, unit->configr);
		perffile_u64(file, unit->traceidr);
		perffile_u64(file, unit->idr0);
		perffile_u64(file, unit->idr1);
		perffile_u64(file, unit->idr2);
		perffile_u64(file, unit->idr8);
		perffile_u64(file, unit->authstatus);
		if (unit->magic == PERFFILE_ETE)
			perffile_u64(file, unit->devarch);
		if (version)
			perffile_u64(file, unit->ts_source);
	}
	perffile_end(file);
}

/* --- Features: in rising order. --- */

static inline void perffile_feature(struct perffile *file, unsigned int number, const void *bytes,
				    size_t size)
{
	unsigned int n = file->n_features++;

	file->feature[n] = number;
	file->content[n] = malloc(size + 1);
	memcpy(file->content[n], bytes, size);
	file->content_size[n] = size;
}

static inline void perffile_string(struct perffile *file, unsigned int number, const char *text)
{
	uint8_t bytes[256] = { 0 };
	uint32_t size = (strlen(text) + 64) & ~63U;

	memcpy(bytes, &size, 4);
	strcpy((char *)bytes + 4, text);
	perffile_feature(file, number, bytes, 4 + size);
}

/* The file's end: what the header has to say, and the features. By a pipe they are records. */
static inline void perffile_finish(struct perffile *file)
{
	size_t end = file->size, content;
	uint64_t bits = 0;

	/* The index of AUXTRACE records. */
	if (!file->pipe && file->n_features < PERFFILE_FEATURES)
		perffile_feature(file, 18, file->index, 8 * (1 + 2 * file->index[0]));

	for (unsigned int i = 0; i < file->n_features; i++) {
		if (file->pipe) {
			perffile_begin(file, 80, 0);
			perffile_u64(file, file->feature[i]);
			perffile_put(file, file->content[i], file->content_size[i]);
			perffile_end(file);
		}
		bits |= 1ULL << file->feature[i];
	}
	if (!file->pipe) {
		perffile_set(file, 40, file->data);
		perffile_set(file, 48, end - file->data);
		perffile_set(file, 72, bits);
		content = end + 16 * file->n_features;
		for (unsigned int i = 0; i < file->n_features; i++) {
			perffile_u64(file, content);
			perffile_u64(file, file->content_size[i]);
			content += file->content_size[i];
		}
		for (unsigned int i = 0; i < file->n_features; i++)
			perffile_put(file, file->content[i], file->content_size[i]);
	}
	for (unsigned int i = 0; i < file->n_features; i++)
		free(file->content[i]);
	file->n_features = 0;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_PERFFILE_H */
