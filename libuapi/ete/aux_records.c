// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* AUX records: whose they are, in which order they come to the decoders, and what lies between. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ete/aux_internal.h"

#define CAUSES ((1U << FLOWTAP_CAUSE_MAX) - 1)

/* --- To the sink. --- */

int aux_send(struct flowtap_aux *aux, const struct flowtap_element *element)
{
	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		aux->context = element->context;
		aux->has_context = true;
	} else if (element->kind == FLOWTAP_ELEMENT_GAP) {
		aux->counts.gaps[element->gap.reason]++;
	}
	return aux->options.sink->element(aux->options.sink, element);
}

int aux_gap(struct flowtap_aux *aux, const struct flowtap_gap *gap)
{
	return aux_send(aux, &(struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = *gap,
	});
}

/* What comes now is of that task on that CPU; in which mode its trace will say. */
static int enter(struct flowtap_aux *aux, const struct aux_unit *unit, uint32_t pid, uint32_t tid,
		 uint32_t cpu)
{
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = {
			.isa = FLOWTAP_ISA_A64,
			.mode = FLOWTAP_PRIVILEGE_U,
			.width = 64,
		},
	};

	if (aux->has_context && aux->context.pid == pid && aux->context.tid == tid &&
	    aux->context.cpu == cpu)
		return 0;
	if (unit && unit->open && unit->has_context)
		element.context = unit->context;
	else if (unit && !(unit->modes & FLOWTAP_MODE_USER))
		element.context.mode = unit->caps.exception_level == 2 ? FLOWTAP_PRIVILEGE_H :
									 FLOWTAP_PRIVILEGE_S;
	element.context.pid = pid;
	element.context.tid = tid;
	element.context.cpu = cpu;
	element.context.has_cpu = true;
	return aux_send(aux, &element);
}

__attribute__((format(printf, 4, 5)))
static int bad_record(struct flowtap_aux *aux, uint32_t cpu, uint64_t time, const char *format, ...)
{
	char detail[160];
	va_list arguments;
	int status;

	va_start(arguments, format);
	vsnprintf(detail, sizeof(detail), format, arguments);
	va_end(arguments);
	aux->counts.bad_records++;
	status = enter(aux, NULL, 0, 0, cpu);
	return status < 0 ? status : aux_gap(aux, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_BAD_RECORD,
		.until = time,
		.size = UINT64_MAX,
		.detail = detail,
	});
}

/* --- Streams that end. --- */

static int close_unit(struct aux_unit *unit)
{
	return aux_unit_close(unit, unit->cut);
}

/*
 * What the task left in decoders comes before what follows of it, and what a decoder has before
 * another stream of its CPU. keep: that one stays open.
 */
static int close_others(struct flowtap_aux *aux, const struct aux_unit *keep, uint32_t tid)
{
	int status = 0;

	for (uint32_t cpu = 0; tid && cpu < FLOWTAP_AUX_CPUS && status >= 0; cpu++) {
		struct aux_unit *unit = aux->units[cpu];

		if (unit && unit != keep && unit->open && unit->tid == tid)
			status = close_unit(unit);
	}
	return status;
}

/* More was lost than its record could take, but nothing says more. */
static int emit_cut(struct flowtap_aux *aux, struct aux_task *task)
{
	int status;

	if (!task->cut)
		return 0;
	task->cut = false;
	status = enter(aux, aux->units[task->cpu], task->pid, task->tid, task->cpu);
	return status < 0 ? status : aux_gap(aux, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_TRUNCATED,
		.since = task->since,
		.size = UINT64_MAX,
		.detail = "the record says so, and no other says since when",
	});
}

/* The gap of a task that was evicted for this one is emitted before its state is dropped. */
static int get_task(struct flowtap_aux *aux, uint64_t key, struct aux_task **task)
{
	struct aux_task gone;

	*task = aux_tasks_get(&aux->tasks, key, &gone);
	return emit_cut(aux, &gone);
}

/* --- LOST. --- */

static const char *describe_lost(const struct flowtap_record_lost *lost, char *text,
				 size_t capacity)
{
	snprintf(text, capacity, "%llu records did not fit into the ring",
		 (unsigned long long)lost->records);
	return text;
}

static int emit_lost(struct aux_unit *unit)
{
	struct flowtap_aux *aux = unit->aux;
	char detail[80];
	int status;

	if (!unit->has_lost)
		return 0;
	unit->has_lost = false;
	status = enter(aux, unit, 0, 0, unit->cpu);
	return status < 0 ? status : aux_gap(aux, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_RING_FULL,
		.since = unit->lost.since,
		.until = unit->lost.time,
		.size = UINT64_MAX,
		.detail = describe_lost(&unit->lost, detail, sizeof(detail)),
	});
}

/* A gap of the task; `ring_full` takes in what LOST said of the same ring right before. */
static int emit_gap(struct aux_unit *unit, struct flowtap_gap *gap)
{
	const struct flowtap_record_lost *lost = &unit->lost;
	char detail[80];

	if (gap->reason == FLOWTAP_GAP_RING_FULL && unit->has_lost) {
		unit->has_lost = false;
		if (lost->since && lost->since < gap->since)
			gap->since = lost->since;
		if (!gap->detail)
			gap->detail = describe_lost(lost, detail, sizeof(detail));
	}
	return aux_gap(unit->aux, gap);
}

static int decode_lost(struct aux_unit *unit, const struct flowtap_record_lost *record, size_t size)
{
	int status;

	if (size < sizeof(*record))
		return bad_record(unit->aux, unit->cpu, 0, "a lost record of %zu bytes", size);
	if (record->since > record->time)
		return bad_record(unit->aux, unit->cpu, record->time,
				  "a lost record that ends before it begins");
	status = emit_lost(unit);
	unit->lost = *record;
	unit->has_lost = true;
	return status;
}

/* --- GAP. --- */

static uint64_t key_of(uint16_t misc, uint32_t tid, uint32_t cpu)
{
	return misc & FLOWTAP_MISC_CPU_WIDE ? AUX_TASK_CPU | cpu : tid;
}

static int decode_gap(struct aux_unit *unit, const struct flowtap_record_gap *record, size_t size)
{
	struct flowtap_aux *aux = unit->aux;
	struct aux_task *task;
	struct flowtap_gap gap;
	uint64_t key;
	int status;

	if (size < sizeof(*record))
		return bad_record(aux, unit->cpu, 0, "a gap record of %zu bytes", size);
	if (record->cause >= FLOWTAP_CAUSE_MAX)
		return bad_record(aux, unit->cpu, record->time, "a gap of unknown cause %u",
				  record->cause);
	if (record->since > record->time)
		return bad_record(aux, unit->cpu, record->time,
				  "a gap record that ends before it begins");
	key = key_of(record->header.misc, record->tid, unit->cpu);
	status = close_others(aux, unit, record->tid);
	/* The record covers what this CPU's decoder lacks at the end. */
	if (status >= 0 && unit->key == key)
		status = aux_unit_close(unit, true);
	if (status >= 0)
		status = get_task(aux, key, &task);
	if (status >= 0 && record->cause != FLOWTAP_CAUSE_RING_FULL)
		status = emit_lost(unit);
	if (status >= 0)
		status = enter(aux, unit, record->pid, record->tid, unit->cpu);
	if (status < 0)
		return status;
	/* In a damaged archive it may be before the AUX record. */
	if (record->time > task->heard)
		task->heard = record->time;
	task->reported |= 1U << record->cause;
	task->cut &= !(AUX_CUT_CAUSES >> record->cause & 1);
	gap = (struct flowtap_gap){
		.reason = FLOWTAP_GAP_START + record->cause,
		.since = record->since,
		.until = record->time,
		.size = record->size,
		.detail = record->header.misc & FLOWTAP_MISC_ESTIMATE ? "an estimate" : NULL,
	};
	return emit_gap(unit, &gap);
}

/* --- AUX. --- */

static int emit_loss_gaps(struct aux_unit *unit, const struct flowtap_record_aux *record,
			  const struct aux_task *before)
{
	uint32_t causes = record->loss & ~before->reported & CAUSES;
	struct flowtap_gap gap;
	char detail[80];
	int status = 0;

	for (; causes && status >= 0; causes &= causes - 1) {
		gap = (struct flowtap_gap){
			.reason = FLOWTAP_GAP_START + __builtin_ctz(causes),
			.since = before->time <= record->since ? before->time : 0,
			.until = record->since,
			.size = UINT64_MAX,
		};
		status = emit_gap(unit, &gap);
	}
	if (status < 0 || !(record->loss & ~CAUSES))
		return status;
	snprintf(detail, sizeof(detail), "cause 0x%x is not known here", record->loss & ~CAUSES);
	return aux_gap(unit->aux, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_HARDWARE,
		.until = record->since,
		.size = UINT64_MAX,
		.detail = detail,
	});
}

/* A sequence increases by 1, by 2 where something was lost. */
static bool follows(const struct flowtap_record_aux *record, const struct aux_task *before)
{
	return before->seen && record->sequence == before->sequence + (record->loss ? 2 : 1);
}

/* Records of the task that should have come before this one. */
static int emit_sequence_gap(struct aux_unit *unit, const struct flowtap_record_aux *record,
			     const struct aux_task *before)
{
	char detail[96];

	if (!before->seen && (record->loss || !before->key))
		return 0;
	if (!before->seen)
		snprintf(detail, sizeof(detail), "the record before is not here");
	else
		snprintf(detail, sizeof(detail), "sequence %" PRIu64 " follows %" PRIu64,
			 (uint64_t)record->sequence, before->sequence);
	return aux_gap(unit->aux, &(struct flowtap_gap){
		.reason = !before->seen ? FLOWTAP_GAP_START :
			  record->sequence > before->sequence ? FLOWTAP_GAP_RING_FULL :
								FLOWTAP_GAP_BAD_RECORD,
		.since = before->time <= record->since ? before->time : 0,
		.until = record->since,
		.size = UINT64_MAX,
		.detail = detail,
	});
}

static int emit_gaps_before(struct aux_unit *unit, const struct flowtap_record_aux *record,
			    const struct aux_task *before)
{
	int status = emit_loss_gaps(unit, record, before);

	if (status < 0)
		return status;
	if (!follows(record, before))
		return emit_sequence_gap(unit, record, before);
	if (record->loss || !(unit->modes & FLOWTAP_MODE_KERNEL))
		return 0;
	return aux_gap(unit->aux, &(struct flowtap_gap){
		.reason = FLOWTAP_GAP_RECORDER,
		.size = UINT64_MAX,
	});
}

/* Decodes the record, of which the head is sound. before: what was known of its task. */
static int decode_range(struct aux_unit *unit, const struct flowtap_record_aux *record,
			struct aux_task *before, uint64_t key)
{
	struct flowtap_aux *aux = unit->aux;
	bool continues = record->flags & FLOWTAP_AUX_CONTINUES && unit->open &&
			 unit->key == key && unit->pid == record->pid && unit->tid == record->tid &&
			 !record->loss && follows(record, before);
	int status = close_others(aux, unit, record->tid);

	if (status >= 0 && !continues)
		status = close_unit(unit);
	/* Else its cause is in `loss`, or had its gap. */
	if (status >= 0 && !(record->loss & AUX_CUT_CAUSES))
		status = emit_cut(aux, before);
	if (status >= 0 && !(record->loss & ~before->reported & 1U << FLOWTAP_CAUSE_RING_FULL))
		status = emit_lost(unit);
	if (status >= 0)
		status = enter(aux, unit, record->pid, record->tid, unit->cpu);
	if (status >= 0)
		status = emit_gaps_before(unit, record, before);
	unit->key = key;
	return status < 0 ? status : aux_unit_decode(unit, record, continues);
}

static int check(struct aux_unit *unit, const struct flowtap_record_aux *record)
{
	struct flowtap_aux *aux = unit->aux;

	if (record->cpu != unit->cpu)
		return bad_record(aux, unit->cpu, record->time, "CPU %u in the ring of CPU %u",
				  record->cpu, unit->cpu);
	if (record->since > record->time)
		return bad_record(aux, unit->cpu, record->time,
				  "an AUX record that ends before it begins");
	if (record->size > UINT64_MAX - record->offset)
		return bad_record(aux, unit->cpu, record->time, "an AUX record of 0x%" PRIx64
				  " bytes at 0x%" PRIx64, (uint64_t)record->size,
				  (uint64_t)record->offset);
	if (record->offset < unit->offset)
		return bad_record(aux, unit->cpu, record->time, "bytes from 0x%" PRIx64
				  " on are of another record: it was read up to 0x%" PRIx64,
				  (uint64_t)record->offset, unit->offset);
	return 1;
}

static int decode_aux(struct aux_unit *unit, const struct flowtap_record_aux *record, size_t size)
{
	struct flowtap_aux *aux = unit->aux;
	struct aux_task *task, before;
	uint64_t key;
	int status;

	if (size < sizeof(*record))
		return bad_record(aux, unit->cpu, 0, "an AUX record of %zu bytes", size);
	aux->counts.records++;
	/* What contradicts itself says nothing of a task, either. */
	status = check(unit, record);
	if (status <= 0)
		return status;
	key = key_of(record->header.misc, record->tid, unit->cpu);
	status = get_task(aux, key, &task);
	if (status < 0)
		return status;
	before = *task;
	*task = (struct aux_task){
		.key = key,
		.heard = record->time,
		.time = record->time,
		.sequence = record->sequence,
		.seen = true,
		.cut = record->flags & AUX_CUT,
		.pid = record->pid,
		.tid = record->tid,
		.cpu = unit->cpu,
		.since = record->since,
	};
	aux_clock_add(&unit->clock, record->counter, record->time);
	status = aux_unit_prepare(unit);
	if (status == -EINVAL)
		return bad_record(aux, unit->cpu, record->time, unit->has_query && unit->has_configure ?
				  "CPU %u has no trace unit that can be decoded" :
				  "nothing says what the trace unit of CPU %u is", unit->cpu);
	return status < 0 ? status : decode_range(unit, record, &before, key);
}

static int decode_clock(struct aux_unit *unit, const struct flowtap_record_clock *record,
			size_t size)
{
	if (size < sizeof(*record))
		return bad_record(unit->aux, unit->cpu, 0, "a clock record of %zu bytes", size);
	aux_clock_add(&unit->clock, record->counter, record->time);
	return 0;
}

/* --- The face. --- */

int flowtap_aux_new(const struct flowtap_aux_options *options, struct flowtap_aux **aux)
{
	*aux = calloc(1, sizeof(**aux));
	if (!*aux)
		return -ENOMEM;
	(*aux)->options = *options;
	if (options->ete)
		(*aux)->ete = *options->ete;
	return 0;
}

void flowtap_aux_free(struct flowtap_aux *aux)
{
	if (!aux)
		return;
	for (uint32_t cpu = 0; cpu < FLOWTAP_AUX_CPUS; cpu++)
		aux_unit_free(aux->units[cpu]);
	free(aux);
}

int flowtap_aux_decode(struct flowtap_aux *aux, uint32_t cpu, const struct flowtap_record *record,
		       size_t size)
{
	struct aux_unit *unit;
	int status = 0;

	if (size < sizeof(*record))
		return bad_record(aux, cpu, 0, "a record of %zu bytes", size);
	if (record->size > size || record->size < sizeof(*record))
		return bad_record(aux, cpu, 0, "a record of %u bytes in %zu", record->size, size);
	if (cpu >= FLOWTAP_AUX_CPUS)
		return bad_record(aux, cpu, 0, "a record of CPU %u: there is room for %u", cpu,
				  FLOWTAP_AUX_CPUS);
	unit = aux_unit_of(aux, cpu);
	if (!unit)
		return -ENOMEM;
	size = record->size;
	switch (record->type) {
	case FLOWTAP_RECORD_AUX:
		status = decode_aux(unit, (const struct flowtap_record_aux *)record, size);
		break;
	case FLOWTAP_RECORD_GAP:
		status = decode_gap(unit, (const struct flowtap_record_gap *)record, size);
		break;
	case FLOWTAP_RECORD_LOST:
		status = decode_lost(unit, (const struct flowtap_record_lost *)record, size);
		break;
	case FLOWTAP_RECORD_CLOCK:
		status = decode_clock(unit, (const struct flowtap_record_clock *)record, size);
		break;
	}
	return status < 0 ? status : 0;
}

int flowtap_aux_finish(struct flowtap_aux *aux)
{
	int status = 0;

	for (uint32_t cpu = 0; cpu < FLOWTAP_AUX_CPUS && status >= 0; cpu++) {
		struct aux_unit *unit = aux->units[cpu];

		if (!unit)
			continue;
		status = close_unit(unit);
		if (status >= 0)
			status = emit_lost(unit);
	}
	if (status >= 0)
		status = emit_cut(aux, &aux->tasks.nobody);
	for (int set = 0; set < AUX_TASK_SETS; set++)
		for (int way = 0; way < AUX_TASK_WAYS && status >= 0; way++)
			status = emit_cut(aux, &aux->tasks.sets[set][way]);
	return status < 0 ? status : 0;
}

static void add(struct flowtap_ete_counts *sum, const struct flowtap_ete_counts *counts)
{
	/* All of them are 64-bit counters. */
	uint64_t *to = (uint64_t *)sum;
	const uint64_t *from = (const uint64_t *)counts;

	for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
		to[i] += from[i];
}

const struct flowtap_aux_counts *flowtap_aux_counts(struct flowtap_aux *aux)
{
	memset(&aux->counts.ete, 0, sizeof(aux->counts.ete));
	for (uint32_t cpu = 0; cpu < FLOWTAP_AUX_CPUS; cpu++)
		if (aux->units[cpu] && aux->units[cpu]->ete)
			add(&aux->counts.ete, flowtap_ete_counts(aux->units[cpu]->ete));
	return &aux->counts;
}
