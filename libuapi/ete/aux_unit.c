// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* A CPU's trace unit: its decoder, and the bytes of its records. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ete/aux_internal.h"

/* Counter and clock are read one after the other: a hypervisor may interrupt between. */
#define SKEW_NS 1000000

/* --- The decoder's sink. --- */

/* Others have spoken since this CPU's decoder did. */
static int speak_again(struct aux_unit *unit)
{
	const struct flowtap_context *now = &unit->aux->context;
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_CONTEXT };

	if (!unit->has_context || (now->cpu == unit->context.cpu && now->pid == unit->context.pid &&
				   now->tid == unit->context.tid))
		return 0;
	element.context = unit->context;
	return aux_send(unit->aux, &element);
}

static int forward_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			 uint64_t target)
{
	struct aux_unit *unit = (struct aux_unit *)sink;
	struct flowtap_sink *to = unit->aux->options.sink;
	int status = speak_again(unit);

	return status < 0 ? status : to->block(to, block, taken, target);
}

/* What the end of a stream lacks, and another gap covers. */
static bool hushed(const struct aux_unit *unit, const struct flowtap_element *element)
{
	return unit->quiet && element->kind == FLOWTAP_ELEMENT_GAP &&
	       (element->gap.reason == FLOWTAP_GAP_TRUNCATED ||
		element->gap.reason == FLOWTAP_GAP_UNSYNCED ||
		element->gap.reason == FLOWTAP_GAP_UNRESOLVED);
}

static int forward_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct aux_unit *unit = (struct aux_unit *)sink;
	int status = 0;

	if (hushed(unit, element))
		return 0;
	if (element->kind == FLOWTAP_ELEMENT_CONTEXT) {
		unit->context = element->context;
		unit->has_context = true;
	} else {
		status = speak_again(unit);
	}
	return status < 0 ? status : aux_send(unit->aux, element);
}

/* --- What the decoder asks. --- */

static bool time_of(void *argument, uint64_t ticks, uint64_t *time)
{
	const struct aux_unit *unit = argument;

	return aux_clock_time(&unit->clock, ticks, time);
}

static void reached(void *argument, uint64_t time)
{
	const struct aux_unit *unit = argument;
	const struct flowtap_aux_options *options = &unit->aux->options;

	if (options->time)
		options->time(options->argument, time);
}

static void timestamp(void *argument, const struct flowtap_timestamp *timestamp)
{
	struct aux_unit *unit = argument;

	flowtap_ete_span_stamp(&unit->span, timestamp);
}

static void left(void *argument, const struct flowtap_exception *exception)
{
	struct aux_unit *unit = argument;

	flowtap_ete_span_left(&unit->span, exception);
}

/* At EL1 and EL2 there is the kernel, or a guest. */
static bool in_kernel(const struct aux_unit *unit, const struct flowtap_context *context)
{
	switch (unit->caps.exception_level) {
	case 1:
		return context->mode == FLOWTAP_PRIVILEGE_S;
	case 2:
		return context->mode == FLOWTAP_PRIVILEGE_H;
	default:
		return context->mode == FLOWTAP_PRIVILEGE_S || context->mode == FLOWTAP_PRIVILEGE_H;
	}
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct aux_unit *unit = argument;
	bool user = context->mode == FLOWTAP_PRIVILEGE_U;

	if (context->security == FLOWTAP_SECURE || context->security == FLOWTAP_ROOT ||
	    user == address >> 63 || (!user && !in_kernel(unit, context)))
		return NULL;
	return flowtap_ete_span_find(&unit->span, unit->pid, user, address);
}

static void identify(void *argument, struct flowtap_context *context)
{
	const struct aux_unit *unit = argument;

	context->pid = unit->pid;
	context->tid = unit->tid;
	context->cpu = unit->cpu;
	context->has_cpu = true;
}

/* --- The decoder. --- */

static struct aux_unit *unit_new(struct flowtap_aux *aux, uint32_t cpu)
{
	struct aux_unit *unit = calloc(1, sizeof(*unit));

	if (!unit)
		return NULL;
	unit->sink = (struct flowtap_sink){.block = forward_block, .element = forward_element};
	unit->aux = aux;
	unit->cpu = cpu;
	return unit;
}

struct aux_unit *aux_unit_of(struct flowtap_aux *aux, uint32_t cpu)
{
	if (!aux->units[cpu])
		aux->units[cpu] = unit_new(aux, cpu);
	return aux->units[cpu];
}

void aux_unit_free(struct aux_unit *unit)
{
	if (!unit)
		return;
	flowtap_ete_free(unit->ete);
	free(unit->ahead);
	free(unit);
}

int aux_unit_prepare(struct aux_unit *unit)
{
	struct flowtap_aux *aux = unit->aux;
	const struct flowtap_ete_images images = {
		.find = find,
		.time = timestamp,
		.identify = identify,
		.left = left,
		.argument = unit,
	};
	struct flowtap_blocks *blocks;
	int err;

	if (unit->ete)
		return 0;
	if (!unit->has_query || !unit->has_configure)
		return -EINVAL;
	blocks = flowtap_ete_unit_blocks(aux->options.blocks, &unit->config);
	if (!blocks)
		return -ENOMEM;
	err = flowtap_ete_new(&unit->config, &aux->ete, &images, blocks, &unit->sink, &unit->ete);
	if (err)
		return err;
	unit->span = (struct ete_span){
		.map = aux->options.map,
		.ete = unit->ete,
		.skew = SKEW_NS,
		.time_of = time_of,
		.reached = reached,
		.argument = unit,
	};
	return 0;
}

/* --- A record's bytes. --- */

/* Where bytes resume after `at`, at the record's end at the latest. */
static uint64_t next_byte(const struct aux_unit *unit, uint64_t at, uint64_t end)
{
	const struct flowtap_aux_options *options = &unit->aux->options;
	uint64_t next = options->next ? options->next(options->argument, unit->cpu, at) : end;

	return next > at && next < end ? next : end;
}

/* The hardware overwrote its begin, and the reader may have missed more of it. */
static int begin_anywhere(struct aux_unit *unit, const struct flowtap_record_aux *record,
			  uint64_t *at)
{
	const struct flowtap_aux_options *options = &unit->aux->options;
	const struct flowtap_gap gap = {
		.reason = FLOWTAP_GAP_WRAPPED,
		.since = record->since,
		.until = record->time,
		.size = UINT64_MAX,
		.detail = "the newest bytes replaced the oldest",
	};
	uint64_t end = record->offset + record->size, next = *at;

	if (options->next && *at < end)
		next = options->next(options->argument, unit->cpu, *at);
	if (next > end)
		next = end;
	unit->aux->counts.missing += next - *at;
	*at = next;
	return flowtap_ete_gap(unit->ete, &gap);
}

/* The first n bytes that wait, or all. */
static int decode(struct aux_unit *unit, size_t n)
{
	struct ete_ahead *ahead = unit->ahead;
	int status;

	n = n < ahead->size ? n : ahead->size;
	status = n ? flowtap_ete_decode(unit->ete, ahead->bytes, n) : 0;
	flowtap_ete_ahead_drop(ahead, n);
	return status;
}

static int drain(struct aux_unit *unit)
{
	return unit->span.ahead ? decode(unit, ETE_AHEAD) : 0;
}

static int feed(struct aux_unit *unit, const uint8_t *bytes, size_t size)
{
	int status = 0;

	unit->aux->counts.bytes += size;
	unit->fed = true;
	if (!unit->span.ahead)
		return flowtap_ete_decode(unit->ete, bytes, size);
	while (!status && size) {
		size_t taken = flowtap_ete_ahead_add(unit->ahead, bytes, size);

		bytes += taken;
		size -= taken;
		if (unit->ahead->size == ETE_AHEAD)
			status = decode(unit, ETE_AHEAD / 2);
	}
	return status;
}

static int add_lost_bytes(struct aux_unit *unit, const struct flowtap_record_aux *record,
			  uint64_t missing)
{
	char detail[80];
	struct flowtap_gap gap = {
		.reason = unit->overwrite ? FLOWTAP_GAP_WRAPPED : FLOWTAP_GAP_BAD_RECORD,
		.since = record->since,
		.until = record->time,
		.size = missing,
		.detail = detail,
	};
	int status;

	unit->aux->counts.missing += missing;
	unit->aux->counts.bad_records += !unit->overwrite;
	snprintf(detail, sizeof(detail), "%llu bytes of the trace are not in the recording",
		 (unsigned long long)missing);
	status = drain(unit);
	if (unit->fed)
		flowtap_ete_span_add_gap(&unit->span);
	if (unit->span.ahead)
		flowtap_ete_ahead_begin(unit->ahead, &unit->config);
	return status < 0 ? status : flowtap_ete_gap(unit->ete, &gap);
}

static int decode_bytes(struct aux_unit *unit, const struct flowtap_record_aux *record)
{
	const struct flowtap_aux_options *options = &unit->aux->options;
	uint64_t at = record->offset, end = record->offset + record->size, next;
	uint8_t *bytes = unit->aux->bytes;
	int status = 0;
	size_t want;
	long n;

	if (record->flags & FLOWTAP_AUX_OVERWRITE)
		status = begin_anywhere(unit, record, &at);
	while (status >= 0 && at < end) {
		want = end - at < AUX_CHUNK ? end - at : AUX_CHUNK;
		n = options->read(options->argument, unit->cpu, at, bytes, want);
		if (n < 0)
			return (int)n;
		if (n > 0) {
			n = (size_t)n < want ? n : (long)want;
			status = feed(unit, bytes, (size_t)n);
			at += (uint64_t)n;
			/* Not the record's end, which may be anywhere if it is damaged. */
			unit->offset = at;
			continue;
		}
		next = next_byte(unit, at, end);
		status = add_lost_bytes(unit, record, next - at);
		at = next;
	}
	return status < 0 ? status : drain(unit);
}

static int begin(struct aux_unit *unit, const struct flowtap_record_aux *record, bool continues)
{
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_TIME,
		.time = record->since,
	};
	int status;

	if (!continues) {
		unit->has_context = false;
		status = flowtap_ete_session(unit->ete);
		return status < 0 ? status : aux_send(unit->aux, &element);
	}
	status = aux_send(unit->aux, &element);
	if (status < 0 || !unit->has_context)
		return status;
	element = (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = unit->context,
	};
	return aux_send(unit->aux, &element);
}

/* The look ahead continues if the record before had it; it serves code that changes only. */
static int look_ahead(struct aux_unit *unit, bool changes, bool continues)
{
	bool goes_on = continues && unit->span.ahead;

	unit->span.ahead = NULL;
	if (!changes)
		return 0;
	if (!unit->ahead)
		unit->ahead = malloc(sizeof(*unit->ahead));
	if (!unit->ahead)
		return -ENOMEM;
	if (!goes_on)
		flowtap_ete_ahead_begin(unit->ahead, &unit->config);
	unit->span.ahead = unit->ahead;
	return 0;
}

int aux_unit_decode(struct aux_unit *unit, const struct flowtap_record_aux *record, bool continues)
{
	struct flowtap_address_map *map = unit->aux->options.map;
	uint64_t exec;
	int status;

	unit->open = true;
	unit->fed = false;
	unit->pid = record->pid;
	unit->tid = record->tid;
	status = look_ahead(
		unit, flowtap_address_map_changes(map, record->pid, record->since, record->time),
		continues);
	if (status < 0)
		return status;
	flowtap_ete_span_begin(&unit->span, record->since, record->time, !continues);
	flowtap_ete_span_advance(&unit->span, record->since);
	/* After it there is no more user mode in this record. */
	exec = flowtap_address_map_next_exec(map, record->pid, record->since);
	if (exec <= record->time)
		unit->span.user_end = exec - 1;
	status = begin(unit, record, continues);
	if (status >= 0)
		status = decode_bytes(unit, record);
	if (status >= 0)
		status = flowtap_ete_flush(unit->ete);
	unit->cut = record->flags & AUX_CUT;
	return status;
}

int aux_unit_close(struct aux_unit *unit, bool quiet)
{
	int status;

	if (!unit->open)
		return 0;
	unit->open = false;
	unit->quiet = quiet;
	status = flowtap_ete_finish(unit->ete);
	unit->quiet = false;
	return status;
}
