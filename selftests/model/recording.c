// SPDX-License-Identifier: GPL-2.0-or-later
/* The records of an archive: which pieces there are, of whom, when; what was told to be lost. */
#include "recording.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool recording_fail(struct recording *recording, const char *format, ...)
{
	va_list ap;

	if (recording->failed)
		return false;
	recording->failed = true;
	va_start(ap, format);
	vsnprintf(recording->message, sizeof(recording->message), format, ap);
	va_end(ap);
	return false;
}

/* Room for one more of n, which doubles at each power of two. */
static bool grow(void *array, size_t n, size_t size)
{
	void **at = array, *more;

	if (n & (n - 1))
		return true;
	more = realloc(*at, (n ? 2 * n : 1) * size);
	if (!more)
		return false;
	*at = more;
	return true;
}

struct recording_task *recording_task(struct recording *recording, uint32_t tid)
{
	for (size_t i = 0; i < recording->ntasks; i++)
		if (recording->tasks[i].tid == tid)
			return &recording->tasks[i];
	return NULL;
}

uint8_t recording_mark(const struct recording *recording, uint32_t tid)
{
	for (size_t i = 0; i < recording->ntasks; i++)
		if (recording->tasks[i].tid == tid)
			return i % RECORDING_MARKS + 1;
	return 0;
}

static bool add_task(struct recording *recording, uint32_t tid, uint64_t since)
{
	struct recording_task *task = recording_task(recording, tid);

	if (!task) {
		if (!grow(&recording->tasks, recording->ntasks, sizeof(*recording->tasks)))
			return false;
		task = &recording->tasks[recording->ntasks++];
		*task = (struct recording_task){ .tid = tid, .first = since };
	}
	if (since < task->first)
		task->first = since;
	return true;
}

/* The clock is read after the counter: the pair that is closest together says most. */
static void take_clocks(struct recording *recording, uint64_t counter, uint64_t time)
{
	int64_t offset;

	if (!recording->frequency)
		return;
	offset = time - (uint64_t)((unsigned __int128)counter * 1000000000 / recording->frequency);
	if (!recording->has_offset || offset < recording->offset)
		recording->offset = offset;
	recording->has_offset = true;
}

uint64_t recording_ns(const struct recording *recording, uint64_t ticks)
{
	return (unsigned __int128)ticks * 1000000000 / recording->frequency + recording->offset;
}

static void span(struct recording *recording, uint32_t cpu, uint64_t since, uint64_t until)
{
	if (!recording->begin || since < recording->begin)
		recording->begin = since;
	if (until > recording->end)
		recording->end = until;
	if (cpu >= RECORDING_CPUS)
		return;
	if (!recording->cpu_begin[cpu] || since < recording->cpu_begin[cpu])
		recording->cpu_begin[cpu] = since;
	if (until > recording->cpu_end[cpu])
		recording->cpu_end[cpu] = until;
}

int recording_take(struct recording *recording, uint32_t cpu, const struct flowtap_record *record,
		   size_t size)
{
	const struct flowtap_record_clock *clock = (const void *)record;
	const struct flowtap_record_aux *aux = (const void *)record;
	const struct flowtap_record_gap *gap = (const void *)record;

	if (record->type == FLOWTAP_RECORD_CLOCK && size >= sizeof(*clock))
		take_clocks(recording, clock->counter, clock->time);
	if (record->type == FLOWTAP_RECORD_AUX && size >= sizeof(*aux)) {
		if (!grow(&recording->pieces, recording->npieces, sizeof(*recording->pieces)) ||
		    !add_task(recording, aux->tid, aux->since))
			return -ENOMEM;
		recording->pieces[recording->npieces++] = (struct recording_piece){
			.cpu = cpu, .tid = aux->tid, .since = aux->since, .until = aux->time,
		};
		take_clocks(recording, aux->counter, aux->time);
		span(recording, cpu, aux->since, aux->time);
	}
	if (record->type == FLOWTAP_RECORD_GAP && size >= sizeof(*gap)) {
		if (gap->pid && !gap->tid)
			recording_fail(recording, "a gap of process %u on CPU %u from %" PRIx64
				       " is of none of its threads", gap->pid, cpu, (uint64_t)gap->since);
		if (!grow(&recording->records, recording->nrecords, sizeof(*recording->records)) ||
		    !add_task(recording, gap->tid, gap->since))
			return -ENOMEM;
		recording->records[recording->nrecords++] = (struct recording_gap){
			.cpu = cpu, .tid = gap->tid, .cause = gap->cause, .since = gap->since,
			.until = gap->time, .size = gap->size,
		};
		if (gap->since)
			span(recording, cpu, gap->since, gap->time);
	}
	return 0;
}

int recording_take_task(struct recording *recording, const struct flowtap_archive_task *task)
{
	if (task->event != FLOWTAP_TASK_FORK)
		return 0;
	if (!grow(&recording->forks, recording->nforks, sizeof(*recording->forks)))
		return -ENOMEM;
	recording->forks[recording->nforks++] = (struct recording_fork){
		.parent = task->parent_tid, .child = task->tid, .time = task->time,
		.thread = task->pid == task->parent_pid,
	};
	return 0;
}

static int take_ring(struct recording *recording, const struct flowtap_archive_block *block)
{
	const uint8_t *at = block->payload;
	size_t left = block->size;
	int err = 0;

	while (!err && left >= sizeof(struct flowtap_record)) {
		const struct flowtap_record *record = (const void *)at;

		if (record->size < sizeof(*record) || record->size > left || record->size % 8)
			return -EBADMSG;
		err = recording_take(recording, block->cpu, record, record->size);
		at += record->size;
		left -= record->size;
	}
	return err;
}

static int take_block(struct recording *recording, const struct flowtap_archive_block *block)
{
	const struct flowtap_configure *configure = block->payload;
	const struct flowtap_query *query = block->payload;
	const struct flowtap_archive_task *task = block->payload;

	if (block->type == FLOWTAP_ARCHIVE_QUERY && block->size >= sizeof(*query))
		recording->frequency = query->ete.counter_frequency;
	if (block->type == FLOWTAP_ARCHIVE_CONFIGURE && block->size >= sizeof(*configure)) {
		recording->modes |= configure->modes;
		recording->wide |= configure->flags & FLOWTAP_CPU_WIDE;
		recording->inherit |= configure->flags & FLOWTAP_INHERIT;
	}
	if (block->type == FLOWTAP_ARCHIVE_TASK && block->size >= sizeof(*task))
		return recording_take_task(recording, task);
	return block->type == FLOWTAP_ARCHIVE_RING ? take_ring(recording, block) : 0;
}

static int by_time(const void *a, const void *b)
{
	const struct recording_fork *x = a, *y = b;

	return (x->time > y->time) - (x->time < y->time);
}

/* Each CPU's events are in order by themselves; a child's come after its own fork. */
static void follow(struct recording *recording)
{
	if (recording->nforks)
		qsort(recording->forks, recording->nforks, sizeof(*recording->forks), by_time);
	for (size_t i = 0; i < recording->nforks && !recording->wide; i++) {
		const struct recording_fork *fork = &recording->forks[i];
		const struct recording_task *parent = recording_task(recording, fork->parent);

		if (!parent || parent->first > fork->time || !(fork->thread || recording->inherit))
			continue;
		if (!add_task(recording, fork->child, fork->time))
			recording_fail(recording, "no memory");
		recording->followed++;
	}
}

void recording_complete(struct recording *recording)
{
	/* A gap whose begin nobody knows began with the recording. */
	for (size_t i = 0; i < recording->nrecords; i++)
		if (!recording->records[i].since)
			recording->records[i].since = recording->begin;
	for (size_t i = 0; i < recording->ntasks; i++)
		if (!recording->tasks[i].first)
			recording->tasks[i].first = recording->begin;
	follow(recording);
}

int recording_read(struct recording *recording, const char *path)
{
	struct flowtap_archive_reader *reader = NULL;
	struct flowtap_archive_block block;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0) {
		err = -errno;
		recording_fail(recording, "%.200s: %s", path, strerror(-err));
		return err;
	}
	err = flowtap_archive_open(fd, &reader);
	while (!err && (err = flowtap_archive_next(reader, &block)) == 1)
		err = take_block(recording, &block);
	if (err)
		recording_fail(recording, "%.200s: %s", path, strerror(-err));
	else if (!recording->frequency || !recording->has_offset)
		recording_fail(recording, "%.200s: no counter's frequency, or no pair of clocks", path);
	recording_complete(recording);
	flowtap_archive_reader_free(reader);
	close(fd);
	return err ? err : recording->failed ? -EBADMSG : 0;
}

void recording_free(struct recording *recording)
{
	for (int i = 0; i < RECORDING_CPUS; i++)
		free(recording->covered[i]);
	free(recording->records);
	free(recording->pieces);
	free(recording->forks);
	free(recording->tasks);
	free(recording->gaps);
}
