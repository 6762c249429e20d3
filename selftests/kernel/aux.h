/* SPDX-License-Identifier: GPL-2.0-only */
/* The AUX area as the tests read it. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_AUX_H
#define FLOWTAP_SELFTESTS_KERNEL_AUX_H

#include <stdio.h>
#include <stdlib.h>

#include "stream.h"

#define AUX_SEEN 1024
#define AUX_TASKS 256
#define SYNC_ZEROS 11	/* ETE's A-sync: at least so many, then 0x80 */

struct aux_task {
	uint32_t tid;			/* 0 with FLOWTAP_CPU_WIDE */
	uint64_t sequence;
	uint32_t told;			/* causes in GAP records since its last AUX record */
	bool fresh;			/* no record of it has been seen */
};

/* What was found in a stream since aux_open. */
struct aux {
	struct stream stream;
	uint8_t *area;
	uint64_t size;
	uint64_t taken;			/* the end of the last record's bytes */
	uint32_t last_tid;		/* of that record */
	uint64_t bytes;
	uint32_t records;
	uint32_t gaps[FLOWTAP_CAUSE_MAX];
	uint64_t gap_bytes;		/* of those that tell their size */
	uint32_t unsized;		/* gaps that do not */
	uint32_t continued;
	uint32_t truncated;
	uint32_t losses;		/* causes in AUX records, but START */
	uint32_t others;		/* records of another task than `tid` */
	uint32_t starts;
	uint32_t clocks;
	uint32_t switches;
	uint32_t lost;
	struct aux_task tasks[AUX_TASKS];
	uint64_t time;
	struct {
		uint64_t since;
		uint64_t time;
		uint32_t pid;
		uint32_t tid;
		uint32_t flags;
	} seen[AUX_SEEN];		/* the first records */
	pid_t tid;			/* 0: any */
	bool keep;			/* aux_tail stays */
	void (*each)(const struct stream *stream);	/* is shown each record; may be NULL */
	const char *wrong;		/* what made no sense, or NULL */
};

static inline int aux_map(struct aux *aux, int protection)
{
	aux->size = aux->stream.ring->aux_size;
	aux->area = mmap(NULL, aux->size, protection, MAP_SHARED, aux->stream.fd,
			 aux->stream.ring->aux_offset);
	if (aux->area != MAP_FAILED)
		return 0;
	aux->area = NULL;
	return -errno;
}

/* Opened, configured and both areas mapped: 0 or -errno. */
static inline int aux_open(struct aux *aux, const struct flowtap_configure *configure)
{
	int error;

	memset(aux, 0, sizeof(*aux));
	error = stream_open(&aux->stream, configure);
	return error ?: aux_map(aux, PROT_READ | PROT_WRITE);
}

static inline void aux_close(struct aux *aux)
{
	if (aux->area)
		munmap(aux->area, aux->size);
	aux->area = NULL;
	stream_close(&aux->stream);
}

/* For the comparison with what was executed: FLOWTAP_DUMP/CPU.trace, and where its parts begin. */
static inline void aux_dump(const struct aux *aux, const struct flowtap_record_aux *record)
{
	const char *directory = getenv("FLOWTAP_DUMP");
	char path[256];
	FILE *file;
	long at;

	if (!directory)
		return;
	snprintf(path, sizeof(path), "%s/%u.trace", directory, record->cpu);
	file = fopen(path, "a");
	if (!file || fseek(file, 0, SEEK_END))
		return;
	at = ftell(file);
	fwrite(aux->area + record->offset % aux->size, 1, record->size, file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/%u.chunks", directory, record->cpu);
	file = fopen(path, "a");
	if (!file)
		return;
	fprintf(file, "%lx %llx\n", at, (unsigned long long)record->size);
	fclose(file);
}

/* With an A-sync, though a unit may send Ignore packets at any time. */
static inline bool begins(const uint8_t *bytes, uint64_t size)
{
	uint64_t i = 0, zeros = 0;

	while (i < size && bytes[i] == 0x70)
		i++;
	for (; i < size && !bytes[i]; i++)
		zeros++;
	return i == size || (zeros >= SYNC_ZEROS && bytes[i] == 0x80);
}

#define AUX_TOLD (1U << FLOWTAP_CAUSE_HARDWARE | 1U << FLOWTAP_CAUSE_DISPLACED)

/* Of whomever a record is: by task, or by CPU. Threads come and go: some are forgotten. */
static inline struct aux_task *aux_task(struct aux *aux, const struct flowtap_record *record,
					uint32_t tid)
{
	struct aux_task *task;

	tid = record->misc & FLOWTAP_MISC_CPU_WIDE ? 0 : tid;
	task = &aux->tasks[tid % AUX_TASKS];
	if (task->tid != tid)
		*task = (struct aux_task){ .tid = tid, .fresh = true };
	return task;
}

/* Each loss that GAP records tell of has one, and none is there without a loss. */
static inline bool aux_told(struct aux *aux, const struct flowtap_record_aux *record,
			    struct aux_task *task)
{
	const uint32_t told = task->told & AUX_TOLD, loss = record->loss & AUX_TOLD;
	/* A small ring may have had no room for the GAP record; who is added again begins anew. */
	const bool sure = !task->fresh && !aux->lost && aux->stream.ring->data_size > 16384 &&
			  !(record->loss & 1U << FLOWTAP_CAUSE_START);

	task->told = 0;
	task->fresh = false;
	return !sure || told == loss;
}

/*
 * The trace unit is off when a task leaves: a stream goes on in the same task's next record alone.
 */
static inline bool aux_continues(const struct aux *aux, const struct flowtap_record_aux *record)
{
	return aux->records && !record->loss && record->tid == aux->last_tid;
}

static inline void aux_record(struct aux *aux, const struct flowtap_record_aux *record)
{
	const uint8_t *bytes = aux->area + record->offset % aux->size;
	struct aux_task *task = aux_task(aux, &record->header, record->tid);
	uint64_t i;

	if (task->fresh || record->loss & 1 << FLOWTAP_CAUSE_START)
		task->sequence = record->sequence - (record->loss ? 2 : 1);
	if (!record->size || record->offset % aux->size + record->size > aux->size)
		aux->wrong = "a size";
	else if (record->offset < aux->taken)
		aux->wrong = "an offset";
	else if (record->offset + record->size > aux->stream.ring->aux_head)
		aux->wrong = "aux_head";
	else if (record->since > record->time || record->since < aux->time)
		aux->wrong = "a time";
	else if (record->cpu != aux->stream.ring->cpu)
		aux->wrong = "a CPU";
	else if (record->loss ? record->sequence < task->sequence + 2 :
				record->sequence != task->sequence + 1)
		aux->wrong = "a sequence";
	else if (record->flags & FLOWTAP_AUX_CONTINUES && !aux_continues(aux, record))
		aux->wrong = "a continuation";
	else if (!aux_told(aux, record, task))
		aux->wrong = "a loss that is not told once";
	if (aux->wrong)
		return;
	for (i = aux->taken; i < record->offset; i++)
		if (aux->area[i % aux->size] != 0x70)
			aux->wrong = "what is between records";
	if (!(record->flags & FLOWTAP_AUX_CONTINUES) && !begins(bytes, record->size))
		aux->wrong = "the beginning of a stream";
	aux_dump(aux, record);
	aux->losses |= record->loss & ~(1U << FLOWTAP_CAUSE_START);
	aux->continued += !!(record->flags & FLOWTAP_AUX_CONTINUES);
	aux->truncated += !!(record->flags & FLOWTAP_AUX_TRUNCATED);
	aux->others += aux->tid && record->tid != (uint32_t)aux->tid;
	if (aux->records < AUX_SEEN) {
		aux->seen[aux->records].since = record->since;
		aux->seen[aux->records].time = record->time;
		aux->seen[aux->records].pid = record->pid;
		aux->seen[aux->records].tid = record->tid;
		aux->seen[aux->records].flags = record->flags;
	}
	aux->taken = record->offset + record->size;
	aux->last_tid = record->tid;
	task->sequence = record->sequence;
	aux->time = record->time;
	aux->bytes += record->size;
	aux->records++;
	if (!aux->keep)
		__atomic_store_n(&aux->stream.ring->aux_tail, aux->taken, __ATOMIC_RELEASE);
}

static inline void aux_gap(struct aux *aux, const struct flowtap_record_gap *gap)
{
	const bool known = gap->size != FLOWTAP_UNKNOWN;

	aux->gaps[gap->cause]++;
	aux_task(aux, &gap->header, gap->tid)->told |= 1U << gap->cause;
	aux->unsized += !known;
	aux->gap_bytes += known ? gap->size : 0;
	/* What the hardware dropped nobody has counted. */
	if (gap->since > gap->time || !gap->size ||
	    (known && gap->cause != FLOWTAP_CAUSE_RING_FULL))
		aux->wrong = "a gap";
}

/* Takes all records that wait; how many were AUX records. */
static inline uint32_t aux_take(struct aux *aux)
{
	const uint32_t before = aux->records;

	while (!aux->wrong && stream_next(&aux->stream) == 1) {
		if (aux->each)
			aux->each(&aux->stream);
		switch (aux->stream.record.header.type) {
		case FLOWTAP_RECORD_AUX:
			aux_record(aux, (const void *)aux->stream.record.bytes);
			break;
		case FLOWTAP_RECORD_GAP:
			aux_gap(aux, &aux->stream.record.gap);
			break;
		case FLOWTAP_RECORD_ITRACE_START:
			aux->starts++;
			break;
		case FLOWTAP_RECORD_CLOCK:
			aux->clocks++;
			break;
		case FLOWTAP_RECORD_SWITCH:
			aux->switches++;
			break;
		case FLOWTAP_RECORD_LOST:
			aux->lost++;
			break;
		default:
			aux->wrong = "a record's type";
		}
	}
	return aux->records - before;
}

/* A stream of the CPU's ETE, user mode only. */
static inline struct flowtap_configure tracing(unsigned int cpu, uint32_t aux_pages)
{
	return (struct flowtap_configure){
		.source = FLOWTAP_SOURCE_ETE,
		.cpu = cpu,
		.modes = FLOWTAP_MODE_USER,
		.ring_pages = 16,
		.aux_pages = aux_pages,
	};
}

#endif /* FLOWTAP_SELFTESTS_KERNEL_AUX_H */
