// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Checks each record of a ring against the ABI, and its sequence numbers and counters against the
 * records before it.
 */
#include "check/ring_records.h"

#include "base/cpus.h"
#include "base/vector.h"
#include "check/internal.h"

#include <errno.h>
#include <flowtap/ring.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A CPU's ring: what was found, and what STATS says (all of its STATS together). */
struct flowtap_check_cpu {
	uint32_t cpu;
	bool stats;
	uint64_t stats_offset;
	struct flowtap_stats found;
	struct flowtap_stats expected;
	uint64_t total_records, total_bytes;	/* of the last LOST, or of BEGUN */
	bool begun;				/* no LOST since BEGUN */
	uint64_t aux_named, aux_stored;		/* up to where records name bytes, blocks have them */
};

/* Whose sequence numbers: a task's, or a CPU's. */
struct flowtap_check_task {
	uint64_t key;
	uint64_t sequence;
};

#define CPU_KEY (1ULL << 32)
#define SAY(records, offset, ...) flowtap_check_report((records)->check, offset, false, __VA_ARGS__)

void flowtap_check_records_free(struct flowtap_check_records *records)
{
	free(records->cpus);
	free(records->tasks);
	flowtap_hash_table_free(&records->by_cpu);
	flowtap_hash_table_free(&records->by_task);
	flowtap_aux_index_free(&records->aux);
}

static int new_cpu(struct flowtap_check_records *records, uint32_t number, uint64_t hash)
{
	if (records->n_cpus == FLOWTAP_CPUS_MAX)
		return -E2BIG;
	if (FLOWTAP_GROW(records->cpus, records->n_cpus))
		return -ENOMEM;
	if (flowtap_hash_table_add(&records->by_cpu, hash, records->n_cpus))
		return -ENOMEM;
	records->cpus[records->n_cpus++] = (struct flowtap_check_cpu){ .cpu = number };
	return 0;
}

/* 0; -E2BIG: it is one too many, and not kept; -ENOMEM. */
static int find_cpu(struct flowtap_check_records *records, uint32_t number,
		    struct flowtap_check_cpu **cpu)
{
	uint64_t hash = flowtap_hash_words(&(uint64_t){ number }, 1);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&records->by_cpu, hash);
	uint32_t index;
	int error;

	while (flowtap_hash_table_next(&walk, &index)) {
		*cpu = &records->cpus[index];
		if ((*cpu)->cpu == number)
			return 0;
	}
	error = new_cpu(records, number, hash);
	if (!error)
		*cpu = &records->cpus[records->n_cpus - 1];
	return error;
}

/* What a type needs; others than these are of a newer kernel. */
static const size_t least_sizes[] = {
	[FLOWTAP_RECORD_SAMPLE] = sizeof(struct flowtap_record_sample),
	[FLOWTAP_RECORD_GAP] = sizeof(struct flowtap_record_gap),
	[FLOWTAP_RECORD_LOST] = sizeof(struct flowtap_record_lost),
	[FLOWTAP_RECORD_SWITCH] = sizeof(struct flowtap_record_switch),
	[FLOWTAP_RECORD_CLOCK] = sizeof(struct flowtap_record_clock),
	[FLOWTAP_RECORD_AUX] = sizeof(struct flowtap_record_aux),
	[FLOWTAP_RECORD_ITRACE_START] = sizeof(struct flowtap_record_itrace_start),
};

static void check_sample(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			 const struct flowtap_record *record, uint64_t offset)
{
	const struct flowtap_record_sample *sample = (const void *)record;
	size_t capacity = (record->size - sizeof(*sample)) / sizeof(struct flowtap_entry);

	cpu->found.samples++;
	cpu->found.entries += sample->nr;
	records->check->samples++;
	if (sample->nr != capacity ||
	    record->size != sizeof(*sample) + capacity * sizeof(struct flowtap_entry)) {
		SAY(records, offset, "a sample of %u transfers in %u bytes", sample->nr,
		    record->size);
		return;
	}
	records->check->entries += sample->nr;
	if (sample->nr > sample->depth)
		SAY(records, offset, "%u transfers out of a buffer of %u", sample->nr,
		    sample->depth);
	else if (sample->nr && sample->nr == sample->depth && !sample->loss)
		SAY(records, offset, "the buffer was full, and nothing is said to be lost");
	if (sample->cpu != cpu->cpu)
		SAY(records, offset, "a sample of CPU %u in the ring of CPU %u", sample->cpu,
		    cpu->cpu);
	if (sample->loss >> FLOWTAP_CAUSE_MAX)
		SAY(records, offset, "causes 0x%x of a loss are unknown", sample->loss);
}

static void check_gap(struct flowtap_check_records *records, const struct flowtap_check_cpu *cpu,
		      const struct flowtap_record *record, uint64_t offset)
{
	const struct flowtap_record_gap *gap = (const void *)record;

	if (gap->cause >= FLOWTAP_CAUSE_MAX)
		SAY(records, offset, "cause %u of a gap is unknown", gap->cause);
	if (gap->since > gap->time)
		SAY(records, offset, "a gap that ended before it began");
	if (gap->cpu != cpu->cpu)
		SAY(records, offset, "a gap of CPU %u in the ring of CPU %u", gap->cpu, cpu->cpu);
}

/*
 * BEGUN's figures have what was lost and not written yet, for want of space, as well; and bytes of
 * trace that no LOST record covers.
 */
static void meet_begun(struct flowtap_check_cpu *cpu, const struct flowtap_record_lost *lost)
{
	uint64_t records = lost->total_records - lost->records;
	uint64_t bytes = lost->total_bytes - lost->bytes;

	if (!cpu->begun)
		return;
	cpu->begun = false;
	if (records > cpu->total_records || bytes > cpu->total_bytes ||
	    cpu->total_records > lost->total_records)
		return;
	cpu->expected.lost_records += cpu->total_records - records;
	cpu->expected.lost_bytes += cpu->total_bytes - bytes;
	cpu->total_records = records;
	cpu->total_bytes = bytes;
}

static void say_lost(struct flowtap_check_records *records, uint64_t offset, const char *what,
		     uint64_t lost, uint64_t before, uint64_t total)
{
	SAY(records, offset, "%" PRIu64 " %s lost after %" PRIu64 " make %" PRIu64 ", it says %"
	    PRIu64, lost, what, before, before + lost, total);
}

/*
 * Whether the total is what was lost before and with this record. Where something was passed over
 * there may have been other LOST records.
 */
static bool adds_up(const struct flowtap_check_records *records, uint64_t lost, uint64_t before,
		    uint64_t total)
{
	return records->damaged ? total >= before + lost : total == before + lost;
}

static void check_lost(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
		       const struct flowtap_record *record, uint64_t offset)
{
	const struct flowtap_record_lost *lost = (const void *)record;

	cpu->found.lost_records += lost->records;
	cpu->found.lost_bytes += lost->bytes;
	records->check->lost_records += lost->records;
	if (!lost->records)
		SAY(records, offset, "a LOST record of no records");
	meet_begun(cpu, lost);
	if (!adds_up(records, lost->records, cpu->total_records, lost->total_records))
		say_lost(records, offset, "records", lost->records, cpu->total_records,
			 lost->total_records);
	else if (!adds_up(records, lost->bytes, cpu->total_bytes, lost->total_bytes))
		say_lost(records, offset, "bytes", lost->bytes, cpu->total_bytes,
			 lost->total_bytes);
	cpu->total_records = lost->total_records;
	cpu->total_bytes = lost->total_bytes;
}

/*
 * The bytes that a record names: after those of the records before it, and all of them there. One
 * that names what no block has, or bytes that were named before, says nothing of those after it.
 */
static void check_named(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			const struct flowtap_record_aux *aux, uint64_t offset)
{
	uint64_t end = aux->offset + aux->size, there;

	if (aux->offset < cpu->aux_named) {
		SAY(records, offset, "an AUX record of bytes from %" PRIu64 " on, after one of "
		    "bytes up to %" PRIu64, (uint64_t)aux->offset, cpu->aux_named);
	} else if (!records->overwrite && !records->damaged) {
		there = flowtap_aux_index_count(&records->aux, cpu->cpu, offset, aux->offset,
						aux->size);
		if (there < aux->size)
			SAY(records, offset, "an AUX record of %" PRIu64 " bytes, before which "
			    "there are %" PRIu64 " of them", (uint64_t)aux->size, there);
	}
	if (end > cpu->aux_stored)
		end = cpu->aux_stored;
	if (end > cpu->aux_named)
		cpu->aux_named = end;
}

static void check_aux(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
		      const struct flowtap_record *record, uint64_t offset)
{
	const struct flowtap_record_aux *aux = (const void *)record;

	cpu->found.samples++;
	cpu->found.aux_bytes += aux->size;
	records->check->aux_records++;
	records->check->aux_bytes += aux->size;
	if (!aux->size || aux->size > UINT64_MAX - aux->offset) {
		SAY(records, offset, "an AUX record of %" PRIu64 " bytes", (uint64_t)aux->size);
		return;
	}
	check_named(records, cpu, aux, offset);
	if (aux->since > aux->time)
		SAY(records, offset, "an AUX record that ended before it began");
	if (aux->cpu != cpu->cpu)
		SAY(records, offset, "an AUX record of CPU %u in the ring of CPU %u", aux->cpu,
		    cpu->cpu);
	if (aux->loss >> FLOWTAP_CAUSE_MAX)
		SAY(records, offset, "causes 0x%x of a loss are unknown", aux->loss);
}

static void check_record(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			 const struct flowtap_record *record, uint64_t offset)
{
	uint32_t type = record->type;

	cpu->found.records++;
	cpu->found.bytes += record->size;
	records->check->records++;
	if (type >= sizeof(least_sizes) / sizeof(least_sizes[0]))
		return;
	if (!type || record->size < least_sizes[type])
		SAY(records, offset, "a record of type %u with %u bytes, it needs %zu", type,
		    record->size, least_sizes[type]);
	else if (type == FLOWTAP_RECORD_SAMPLE)
		check_sample(records, cpu, record, offset);
	else if (type == FLOWTAP_RECORD_GAP)
		check_gap(records, cpu, record, offset);
	else if (type == FLOWTAP_RECORD_LOST)
		check_lost(records, cpu, record, offset);
	else if (type == FLOWTAP_RECORD_AUX)
		check_aux(records, cpu, record, offset);
}

static void check_ring(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
		       const struct flowtap_archive_block *block)
{
	uint64_t begin = block->offset + sizeof(struct flowtap_archive_block_header);
	const struct flowtap_record *record;
	size_t at = 0;
	int error;

	while (!(error = flowtap_record_at(block->payload, block->size, at, &record))) {
		check_record(records, cpu, record, begin + at);
		at += record->size;
	}
	if (error != -ENODATA)
		SAY(records, begin + at, "no whole record begins here: the other %zu bytes of the "
		    "block were passed over", block->size - at);
}

/* 0 or -ENOMEM. */
static int check_aux_block(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			   const struct flowtap_archive_block *block)
{
	uint64_t offset, position = block->offset + sizeof(struct flowtap_archive_block_header);
	int error;

	if (block->size < sizeof(offset)) {
		SAY(records, block->offset, "an AUX block of %zu bytes, it needs %zu", block->size,
		    sizeof(offset));
		return 0;
	}
	memcpy(&offset, block->payload, sizeof(offset));
	error = flowtap_aux_index_add(&records->aux, block->cpu, offset,
				      block->size - sizeof(offset), position + sizeof(offset));
	if (error == -ENOMEM)
		return error;
	if (error) {
		/* Of CPUs the index has no more than there are here. */
		SAY(records, block->offset, "AUX bytes beyond all counting");
		return 0;
	}
	if (offset < cpu->aux_stored)
		SAY(records, block->offset, "AUX bytes from %" PRIu64 " on, after bytes up to %"
		    PRIu64, offset, cpu->aux_stored);
	cpu->aux_stored = offset + block->size - sizeof(offset);
	return 0;
}

/* A shorter structure is of an older recorder, a longer one of a newer one. */
static void copy(void *to, size_t size, const struct flowtap_archive_block *block)
{
	memset(to, 0, size);
	memcpy(to, block->payload, block->size < size ? block->size : size);
}

static void check_configure(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			    const struct flowtap_archive_block *block)
{
	struct flowtap_configure configure;

	copy(&configure, sizeof(configure), block);
	records->overwrite |= configure.flags & FLOWTAP_OVERWRITE;
	/* Another stream. */
	cpu->aux_named = cpu->aux_stored = 0;
	flowtap_aux_index_restart(&records->aux, block->cpu);
}

#define FIGURE(member) { #member, offsetof(struct flowtap_stats, member) / sizeof(__u64) }

/* Those that can be compared. */
static const struct {
	const char *name;
	size_t at;
} figures[] = {
	FIGURE(samples), FIGURE(entries), FIGURE(records), FIGURE(bytes), FIGURE(aux_bytes),
	FIGURE(lost_records), FIGURE(lost_bytes),
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))
#define IN_RING 5U	/* figures of what is in the ring; the others are of what is not */

static void check_stats(struct flowtap_check_cpu *cpu, const struct flowtap_archive_block *block)
{
	struct flowtap_stats stats;

	copy(&stats, sizeof(stats), block);
	cpu->stats = true;
	cpu->stats_offset = block->offset;
	for (size_t i = 0; i < FIGURES; i++)
		((__u64 *)&cpu->expected)[figures[i].at] += ((__u64 *)&stats)[figures[i].at];
}

/* What was counted before is in other archives. */
static void check_begun(struct flowtap_check_records *records, struct flowtap_check_cpu *cpu,
			const struct flowtap_archive_block *block)
{
	struct flowtap_stats stats;

	copy(&stats, sizeof(stats), block);
	if (cpu->found.records || cpu->total_records)
		SAY(records, block->offset, "CPU %u: BEGUN after records", cpu->cpu);
	cpu->total_records = stats.lost_records;
	cpu->total_bytes = stats.lost_bytes;
	cpu->begun = true;
	for (size_t i = 0; i < FIGURES; i++)
		((__u64 *)&cpu->expected)[figures[i].at] -= ((__u64 *)&stats)[figures[i].at];
}

int flowtap_check_stream(struct flowtap_check_records *records,
			 const struct flowtap_archive_block *block)
{
	struct flowtap_check_cpu *cpu;
	int error = find_cpu(records, block->cpu, &cpu);

	if (error == -E2BIG) {
		if (!records->too_many)
			SAY(records, block->offset, "blocks of more CPUs than there can be");
		records->too_many = true;
		return 0;
	}
	if (error)
		return error;
	if (block->type == FLOWTAP_ARCHIVE_AUX)
		return check_aux_block(records, cpu, block);
	if (block->type == FLOWTAP_ARCHIVE_RING)
		check_ring(records, cpu, block);
	else if (block->type == FLOWTAP_ARCHIVE_CONFIGURE)
		check_configure(records, cpu, block);
	else if (block->type == FLOWTAP_ARCHIVE_STATS)
		check_stats(cpu, block);
	else if (block->type == FLOWTAP_ARCHIVE_BEGUN)
		check_begun(records, cpu, block);
	return 0;
}

/*
 * With FLOWTAP_OVERWRITE older records gave way to newer ones without being counted as lost. What
 * was lost last is in no LOST record if nothing came after it.
 */
static void check_cpu(struct flowtap_check_records *records, const struct flowtap_check_cpu *cpu)
{
	for (size_t i = 0; i < FIGURES; i++) {
		uint64_t found = ((const __u64 *)&cpu->found)[figures[i].at];
		uint64_t expected = ((const __u64 *)&cpu->expected)[figures[i].at];
		bool fewer = i >= IN_RING || records->overwrite;

		if (fewer ? found > expected : found != expected)
			SAY(records, cpu->stats_offset,
			    "CPU %u: %" PRIu64 " %s were counted, %" PRIu64 " are there", cpu->cpu,
			    expected, figures[i].name, found);
	}
}

void flowtap_check_counts(struct flowtap_check_records *records)
{
	for (uint32_t i = 0; i < records->n_cpus; i++)
		if (records->cpus[i].stats)
			check_cpu(records, &records->cpus[i]);
}

/* NULL: no memory. sequence 0: it has none yet. */
static struct flowtap_check_task *task_of(struct flowtap_check_records *records, uint64_t key)
{
	uint64_t hash = flowtap_hash_words(&key, 1);
	struct flowtap_hash_table_walk walk = flowtap_hash_table_walk(&records->by_task, hash);
	uint32_t index;

	while (flowtap_hash_table_next(&walk, &index))
		if (records->tasks[index].key == key)
			return &records->tasks[index];
	if (FLOWTAP_GROW(records->tasks, records->n_tasks))
		return NULL;
	if (flowtap_hash_table_add(&records->by_task, hash, records->n_tasks))
		return NULL;
	records->tasks[records->n_tasks] = (struct flowtap_check_task){ .key = key };
	return &records->tasks[records->n_tasks++];
}

/* Where in the sequence a record is, and the losses before it. */
struct position {
	uint64_t sequence;
	uint32_t tid;
	uint32_t loss;
};

static bool has_position(const struct flowtap_record *record, struct position *position)
{
	const struct flowtap_record_sample *sample = (const void *)record;
	const struct flowtap_record_aux *aux = (const void *)record;

	if (record->type == FLOWTAP_RECORD_SAMPLE && record->size >= sizeof(*sample))
		*position = (struct position){ sample->sequence, sample->tid, sample->loss };
	else if (record->type == FLOWTAP_RECORD_AUX && record->size >= sizeof(*aux))
		*position = (struct position){ aux->sequence, aux->tid, aux->loss };
	else
		return false;
	return true;
}

static void compare(struct flowtap_check_records *records, const struct flowtap_check_task *task,
		    const struct position *position, uint64_t offset)
{
	const char *whose = task->key & CPU_KEY ? "CPU" : "thread";
	uint32_t who = (uint32_t)task->key;

	/* A new task may have the number of one that has ended. */
	if (!task->sequence || position->loss & 1U << FLOWTAP_CAUSE_START)
		return;
	if (position->sequence <= task->sequence)
		SAY(records, offset, "%s %u: sequence %" PRIu64 " after %" PRIu64, whose, who,
		    position->sequence, task->sequence);
	else if (position->sequence == task->sequence + 1 && position->loss)
		SAY(records, offset,
		    "%s %u: sequence %" PRIu64 " follows the one before, but there is a loss (0x%x)"
		    " in between", whose, who, position->sequence, position->loss);
	else if (position->sequence != task->sequence + 1 && !position->loss && !records->damaged &&
		 !records->overwrite)
		SAY(records, offset, "%s %u: sequence %" PRIu64 " after %" PRIu64
		    ", and nothing is said to be lost", whose, who, position->sequence,
		    task->sequence);
}

int flowtap_check_sequence(struct flowtap_check_records *records,
			   const struct flowtap_merge_result *result)
{
	bool wide = result->record->misc & FLOWTAP_MISC_CPU_WIDE;
	struct flowtap_check_task *task;
	struct position position;

	if (!has_position(result->record, &position))
		return 0;
	/* Tasks that the recorder's PID namespace does not have are all 0. */
	if (!wide && !position.tid)
		return 0;
	task = task_of(records, wide ? CPU_KEY | result->cpu : position.tid);
	if (!task)
		return -ENOMEM;
	compare(records, task, &position, result->offset);
	task->sequence = position.sequence;
	return 0;
}
