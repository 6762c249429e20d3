// SPDX-License-Identifier: GPL-2.0-only
/* What the decoder makes of a recording, sorted by task. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aux.h"

/* --- The flow. --- */

static struct recording *of(struct flowtap_sink *sink)
{
	return (struct recording *)sink;
}

static struct task *whose(struct recording *recording)
{
	for (int i = 0; i < TASKS; i++)
		if (recording->tasks[i].tid == recording->tid)
			return &recording->tasks[i];
	return NULL;
}

/* Where the flow goes that comes now, or NULL. */
static struct flowtap_sink *session(struct recording *recording)
{
	struct task *task = whose(recording);

	if (task && task->reached && task->reached <= task->n_sessions)
		return &task->sessions[task->reached - 1]->got.sink;
	recording->foreign = true;
	return NULL;
}

int recording_take_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
			 uint64_t target)
{
	struct flowtap_sink *to = session(of(sink));

	return to ? to->block(to, block, taken, target) : 0;
}

/* Those that the decoder made of bytes are in the flow. */
static bool is_within(enum flowtap_gap_reason reason)
{
	return reason >= FLOWTAP_GAP_TRAP && reason != FLOWTAP_GAP_RECORDER;
}

static void take_gap(struct recording *recording, const struct flowtap_gap *gap)
{
	struct task *task = whose(recording);

	if (!task)
		recording->nobodys++;
	else if (task->n_got < GAPS) {
		snprintf(task->details[task->n_got], sizeof(task->details[0]), "%s",
			 gap->detail ? gap->detail : "");
		task->got[task->n_got++] = *gap;
	}
	if (!task && getenv("FLOWTAP_ONLY"))
		printf("# nobody's: %s: %s\n", flowtap_gap_name(gap->reason), gap->detail);
}

int recording_take_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	struct recording *recording = of(sink);
	struct flowtap_sink *to;

	switch (element->kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		recording->tid = element->context.tid;
		if (!whose(recording) || !whose(recording)->reached)
			return 0;
		break;
	case FLOWTAP_ELEMENT_SESSION:
		if (whose(recording))
			whose(recording)->reached++;
		return 0;
	case FLOWTAP_ELEMENT_TIME:
		return 0;
	case FLOWTAP_ELEMENT_GAP:
		take_gap(recording, &element->gap);
		if (!is_within(element->gap.reason))
			return 0;
		break;
	default:
		break;
	}
	to = session(recording);
	return to ? to->element(to, element) : 0;
}

/* --- Decoding. --- */

/* The piece whose bytes are there, or NULL. */
static struct piece *piece_at(struct recording *recording, uint32_t cpu, uint64_t offset)
{
	for (int i = 0; i < PIECES; i++) {
		struct piece *piece = &recording->pieces[i];

		if (piece->what != DROPPED && piece->what != VANISHED && piece->cpu == cpu &&
		    offset >= piece->offset && offset < piece->offset + piece->encoder.size)
			return piece;
	}
	return NULL;
}

/* As many as there are, in parts of any size. */
static long read_bytes(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size)
{
	struct recording *recording = argument;
	struct piece *piece = piece_at(recording, cpu, offset);
	size_t at = piece ? offset - piece->offset : 0, end;

	if (!piece || (piece->what == HOLE && at >= piece->from && at < piece->to))
		return 0;
	end = piece->what == HOLE && at < piece->from ? piece->from : piece->encoder.size;
	size = size < end - at ? size : end - at;
	memcpy(buffer, piece->encoder.bytes + at, size);
	return (long)size;
}

static uint64_t next_byte(void *argument, uint32_t cpu, uint64_t offset)
{
	struct recording *recording = argument;
	struct piece *piece = piece_at(recording, cpu, offset);

	if (piece && piece->what == HOLE && offset < piece->offset + piece->to)
		return piece->offset + piece->to;
	return offset;
}

static int by_time(const void *one, const void *other)
{
	const struct item *a = one, *b = other;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int describe(struct flowtap_aux *aux, const struct recording *recording)
{
	struct flowtap_query query = { .source = FLOWTAP_SOURCE_ETE };
	struct flowtap_configure configure = { .source = FLOWTAP_SOURCE_ETE };
	struct flowtap_ete_config config;
	int err = 0;

	encoder_config(&recording->scenario.encoder, &config);
	query.ete.trcidr[0] = config.idr0;
	query.ete.trcidr[1] = config.idr1;
	query.ete.trcidr[2] = config.idr2;
	query.ete.trcidr[8] = config.idr8;
	query.ete.trcdevarch = config.devarch;
	query.ete.counter_frequency = 1000000000 / TICK;
	query.ete.exception_level = 1;
	configure.modes = FLOWTAP_MODE_USER | (recording->kernel ? FLOWTAP_MODE_KERNEL : 0);
	configure.ete.config = config.configr & ~1U;
	for (uint32_t cpu = 0; cpu < CPUS && !err; cpu++) {
		err = flowtap_aux_query(aux, cpu, &query, sizeof(query));
		err = err ? err : flowtap_aux_configure(aux, cpu, &configure, sizeof(configure));
	}
	return err;
}

int recording_decode(struct recording *recording)
{
	const struct flowtap_aux_options options = {
		.map = recording->map,
		.blocks = recording->blocks,
		.sink = &recording->sink,
		.read = read_bytes,
		.next = next_byte,
		.argument = recording,
	};
	struct flowtap_aux *aux;
	int err = flowtap_aux_new(&options, &aux);

	if (!err)
		err = describe(aux, recording);
	qsort(recording->items, recording->n_items, sizeof(recording->items[0]), by_time);
	for (size_t i = 0; i < recording->n_items && !err; i++) {
		const struct flowtap_record *header = &recording->items[i].record.header;

		err = flowtap_aux_decode(aux, recording->items[i].cpu, header, header->size);
	}
	if (!err)
		err = flowtap_aux_finish(aux);
	flowtap_aux_free(aux);
	return err;
}
