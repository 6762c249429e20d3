// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: stretch after stretch through the decoders, one of each trace unit, to one sink. */
#include "perfdata_internal.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/ete_packet.h>
#include <flowtap/frame.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (64U << 10)
/* Of a stretch's begin this much is looked at for its first timestamp. */
#define HEAD (16U << 10)
/* A cache of blocks for CPUs whose WFE and WFI are not as the first one's. */
#define OTHER_BLOCKS (64U << 20)

/* TRCCONFIGR. */
#define CONFIGR_CID (1U << 6)
#define CONFIGR_VMID (1U << 7)
#define CONFIGR_TS (1U << 11)
#define CONFIGR_VMIDOPT (1U << 15)

struct unit {
	struct flowtap_perfdata_decoder *decoder;
	const struct flowtap_perfdata_cpu *cpu;
	struct flowtap_ete *ete;	/* from the first bytes on */
	uint32_t tid;			/* of the stretch, where it is one thread's */
	uint64_t time;			/* of the trace, in perf's clock */
	bool timed;			/* its timestamps can be converted */
	bool opening;			/* head is being filled */
	size_t head_size;
	uint8_t *head;
};

struct flowtap_perfdata_decoder {
	const struct flowtap_perfdata *perfdata;
	struct flowtap_perfdata_options options;
	struct unit *units;
	struct flowtap_perfdata_counts *counts;
	size_t n;
	struct flowtap_blocks *other_blocks;
	uint8_t *piece;
	/* What a pass over the frames of one stretch is for. */
	struct flowtap_frames *frames;
	struct unit *unit;		/* NULL: which IDs there are */
	uint8_t wanted;			/* its trace ID */
	uint64_t ids[2];		/* a bit of each that was seen */
	uint64_t other;			/* bytes of IDs of which there is no unit */
	bool barrier;
	bool surveying;		/* bytes are only counted */
	const struct flowtap_perfdata_stretch *stretch;
};

/* --- What a decoder asks about code, time and tasks. --- */

static bool virtual_pid(const struct unit *unit)
{
	return (unit->cpu->config.configr & (CONFIGR_VMID | CONFIGR_VMIDOPT)) ==
	       (CONFIGR_VMID | CONFIGR_VMIDOPT);
}

/*
 * The kernel runs at EL2 where its tasks are in CONTEXTIDR_EL2, and EL1 is then a guest's; at EL1
 * where they are in CONTEXTIDR_EL1; else it is not known.
 */
static bool in_kernel(const struct unit *unit, const struct flowtap_context *context)
{
	if (virtual_pid(unit))
		return context->mode == FLOWTAP_MODE_H;
	if (unit->cpu->config.configr & CONFIGR_CID)
		return context->mode == FLOWTAP_MODE_S;
	return context->mode == FLOWTAP_MODE_S || context->mode == FLOWTAP_MODE_H;
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	const struct unit *unit = argument;
	bool user = context->mode == FLOWTAP_MODE_U;

	if (context->security == FLOWTAP_SECURE || context->security == FLOWTAP_ROOT ||
	    user == address >> 63 || (!user && !in_kernel(unit, context)))
		return NULL;
	return flowtap_map_find(unit->decoder->options.map, context->pid, unit->time, address);
}

static void reach(struct unit *unit, uint64_t time)
{
	const struct flowtap_perfdata_options *options = &unit->decoder->options;

	unit->time = time;
	if (options->time)
		options->time(options->argument, time);
}

static void timestamp(void *argument, const struct flowtap_timestamp *timestamp)
{
	struct unit *unit = argument;
	uint64_t time;

	if (unit->timed && flowtap_perfdata_time(unit->decoder->perfdata, timestamp->ticks, &time))
		reach(unit, time);
}

static void identify(void *argument, struct flowtap_context *context)
{
	const struct unit *unit = argument;
	const struct flowtap_perfdata *perfdata = unit->decoder->perfdata;
	uint32_t tid;

	context->cpu = unit->cpu->cpu;
	context->has_cpu = true;
	if (virtual_pid(unit) && context->has_vmid)
		tid = context->vmid;
	else if ((unit->cpu->config.configr & CONFIGR_CID) && context->has_contextid)
		tid = (uint32_t)context->contextid;
	else if (unit->tid != FLOWTAP_PERFDATA_NONE)
		tid = unit->tid;
	else
		tid = flowtap_perfdata_ran(perfdata, context->cpu, unit->time);
	context->tid = tid == FLOWTAP_PERFDATA_NONE ? 0 : tid;
	context->pid = context->tid ? flowtap_perfdata_pid(perfdata, tid, unit->time) : 0;
}

/* --- One unit. --- */

static struct flowtap_blocks *blocks_for(struct flowtap_perfdata_decoder *decoder,
					 const struct flowtap_perfdata_cpu *cpu)
{
	bool wfx = flowtap_ete_wfx_is_p0(&cpu->config);

	if (wfx == decoder->options.wfx)
		return decoder->options.blocks;
	if (!decoder->other_blocks)
		decoder->other_blocks = flowtap_blocks_new(wfx ? flowtap_arm_block_wfx :
								 flowtap_arm_block, OTHER_BLOCKS);
	return decoder->other_blocks;
}

/* 0; -EINVAL: nothing can be made of its trace; -ENOMEM. */
static int prepare(struct unit *unit)
{
	struct flowtap_perfdata_decoder *decoder = unit->decoder;
	const struct flowtap_ete_images images = {
		.find = find,
		.time = timestamp,
		.identify = identify,
		.argument = unit,
	};
	struct flowtap_blocks *blocks;
	int err;

	if (unit->ete)
		return 0;
	if (!unit->cpu->ete)
		return -EINVAL;
	blocks = blocks_for(decoder, unit->cpu);
	if (!unit->head)
		unit->head = malloc(HEAD);
	if (!blocks || !unit->head)
		return -ENOMEM;
	err = flowtap_ete_new(&unit->cpu->config, decoder->options.ete, &images, blocks,
			      decoder->options.sink, &unit->ete);
	if (!err)
		decoder->counts[unit - decoder->units].ete = flowtap_ete_counts(unit->ete);
	return err;
}

/* Before the first timestamp of a stretch the time is nearly that: else it would be an older one. */
static void find_first_time(struct unit *unit)
{
	struct flowtap_ete_parser parser;
	struct flowtap_ete_packet packet;
	uint64_t time;

	flowtap_ete_parser_init(&parser, &unit->cpu->config);
	for (size_t at = 0, used; at < unit->head_size; at += used) {
		used = flowtap_ete_parse(&parser, unit->head + at, unit->head_size - at, &packet);
		if (packet.type == FLOWTAP_ETE_TIMESTAMP) {
			if (flowtap_perfdata_time(unit->decoder->perfdata, packet.timestamp, &time))
				reach(unit, time);
			return;
		}
		if (!used)
			return;
	}
}

static int open_head(struct unit *unit)
{
	unit->opening = false;
	if (unit->timed)
		find_first_time(unit);
	return flowtap_ete_decode(unit->ete, unit->head, unit->head_size);
}

static int feed(struct unit *unit, const uint8_t *bytes, size_t size)
{
	size_t taken = 0;
	int err = 0;

	unit->decoder->counts[unit - unit->decoder->units].bytes += size;
	if (unit->opening) {
		taken = size < HEAD - unit->head_size ? size : HEAD - unit->head_size;
		memcpy(unit->head + unit->head_size, bytes, taken);
		unit->head_size += taken;
		if (unit->head_size < HEAD)
			return 0;
		err = open_head(unit);
	}
	return err || taken == size ? err :
	       flowtap_ete_decode(unit->ete, bytes + taken, size - taken);
}

static int begin(struct unit *unit, const struct flowtap_perfdata_stretch *stretch)
{
	unit->tid = stretch->tid;
	if (stretch->continues)
		return 0;
	unit->decoder->counts[unit - unit->decoder->units].stretches++;
	unit->opening = true;
	unit->head_size = 0;
	unit->timed = unit->cpu->ts_source == 1 && (unit->cpu->config.configr & CONFIGR_TS) &&
		      unit->decoder->perfdata->has_time_conv;
	/* Where records have no time the last state is the best guess. */
	reach(unit, stretch->time ? stretch->time : UINT64_MAX - 1);
	return flowtap_ete_session(unit->ete);
}

static int lose(struct unit *unit, enum flowtap_gap_reason reason, uint64_t size,
		const char *detail)
{
	struct flowtap_gap gap = {
		.reason = reason,
		.until = unit->decoder->stretch->time,
		.size = size,
		.detail = detail,
	};
	int err = unit->opening ? open_head(unit) : 0;

	return err ? err : flowtap_ete_gap(unit->ete, &gap);
}

static int end(struct unit *unit, const struct flowtap_perfdata_stretch *stretch)
{
	int err = unit->opening ? open_head(unit) : 0;

	/* An ETR that wrapped has lost its begin, and a barrier stands there. */
	if (!err && stretch->flags & FLOWTAP_PERFDATA_TRUNCATED && !unit->decoder->barrier)
		err = lose(unit, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
			   "perf: the AUX record is truncated");
	else if (!err && stretch->flags & FLOWTAP_PERFDATA_COLLISION)
		err = lose(unit, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
			   "perf: the trace buffer became full (collision)");
	if (!err && stretch->flags & FLOWTAP_PERFDATA_PARTIAL)
		err = lose(unit, FLOWTAP_GAP_RING_FULL, UINT64_MAX,
			   "perf: the AUX record has gaps (partial)");
	return err ? err : flowtap_ete_finish(unit->ete);
}

/* --- Stretches. --- */

static struct unit *unit_of(struct flowtap_perfdata_decoder *decoder,
			    const struct flowtap_perfdata_cpu *cpu)
{
	for (size_t i = 0; cpu && i < decoder->n; i++)
		if (decoder->units[i].cpu == cpu)
			return &decoder->units[i];
	return NULL;
}

/* A thread's buffer may not say where it ran: units are nearly always alike. */
static struct unit *collector(struct flowtap_perfdata_decoder *decoder)
{
	uint32_t cpu = decoder->stretch->cpu;

	if (cpu == FLOWTAP_PERFDATA_NONE)
		return decoder->n ? &decoder->units[0] : NULL;
	return unit_of(decoder, flowtap_perfdata_find_cpu(decoder->perfdata, cpu));
}

static bool wanted(const struct flowtap_perfdata_decoder *decoder, uint32_t cpu)
{
	return decoder->options.cpu == FLOWTAP_PERFDATA_NONE || decoder->options.cpu == cpu;
}

/* A loss that is no unit's alone, or of a unit that cannot be decoded. */
static int tell(const struct flowtap_perfdata_decoder *decoder, enum flowtap_gap_reason reason,
		uint64_t size, const char *detail)
{
	const struct flowtap_perfdata_stretch *stretch = decoder->stretch;
	char line[160];
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = reason,
			.until = stretch->time,
			.size = size,
			.detail = line,
		},
	};

	if (stretch->cpu == FLOWTAP_PERFDATA_NONE)
		snprintf(line, sizeof(line), "%s", detail);
	else
		snprintf(line, sizeof(line), "CPU %" PRIu32 ": %s", stretch->cpu, detail);
	return decoder->options.sink->element(decoder->options.sink, &element);
}

static int each_piece(struct flowtap_perfdata_decoder *decoder,
		      int (*take)(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes,
				  size_t size))
{
	uint64_t at = 0;
	int err = 0;

	while (!err && at < decoder->stretch->size) {
		size_t got;

		err = flowtap_perfdata_read(decoder->perfdata, decoder->stretch, at, decoder->piece,
					    PIECE, &got);
		if (err || !got)
			return err;
		err = take(decoder, decoder->piece, got);
		at += got;
	}
	return err;
}

static int take_raw(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes, size_t size)
{
	return feed(decoder->unit, bytes, size);
}

static int decode_raw(struct flowtap_perfdata_decoder *decoder, bool last)
{
	const struct flowtap_perfdata_stretch *stretch = decoder->stretch;
	int err;

	decoder->unit = collector(decoder);
	err = decoder->unit ? prepare(decoder->unit) : -EINVAL;
	if (err == -EINVAL)
		return tell(decoder, FLOWTAP_GAP_NO_STREAM, stretch->size,
			    decoder->unit ? "the trace unit is no ETE" :
					    "nothing is known of its trace unit");
	if (!err)
		err = begin(decoder->unit, stretch);
	if (!err)
		err = each_piece(decoder, take_raw);
	return err || !last ? err : end(decoder->unit, stretch);
}

static int take_frames(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes, size_t size)
{
	return flowtap_frames_decode(decoder->frames, bytes, size);
}

static int on_data(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		   uint64_t offset)
{
	struct flowtap_perfdata_decoder *decoder = frames->argument;
	struct unit *unit;

	(void)offset;
	if (decoder->unit)
		return id == decoder->wanted ? feed(decoder->unit, bytes, size) : 0;
	decoder->ids[id / 64 & 1] |= 1ULL << id % 64;
	unit = unit_of(decoder, flowtap_perfdata_by_trace_id(decoder->perfdata,
							     decoder->stretch->cpu, id));
	if (!unit)
		decoder->other += size;
	else if (decoder->surveying)
		decoder->counts[unit - decoder->units].bytes += size;
	return 0;
}

static int on_lost(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		   uint64_t size)
{
	struct flowtap_perfdata_decoder *decoder = frames->argument;

	(void)offset;
	if (loss == FLOWTAP_FRAME_BARRIER)
		decoder->barrier = true;
	if (!decoder->unit)
		return 0;
	if (loss == FLOWTAP_FRAME_BARRIER)
		return lose(decoder->unit, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
			    "perf: the trace buffer wrapped (barrier)");
	return lose(decoder->unit, FLOWTAP_GAP_BAD_RECORD, size, flowtap_frame_loss_text(loss));
}

static int pass(struct flowtap_perfdata_decoder *decoder)
{
	int err;

	*decoder->frames = (struct flowtap_frames) {
		.data = on_data,
		.lost = on_lost,
		.argument = decoder,
	};
	err = each_piece(decoder, take_frames);
	return err ? err : flowtap_frames_finish(decoder->frames);
}

static int decode_id(struct flowtap_perfdata_decoder *decoder, uint8_t id)
{
	const struct flowtap_perfdata_cpu *cpu =
		flowtap_perfdata_by_trace_id(decoder->perfdata, decoder->stretch->cpu, id);
	int err;

	decoder->unit = unit_of(decoder, cpu);
	decoder->wanted = id;
	if (!decoder->unit || !wanted(decoder, cpu->cpu))
		return 0;
	err = prepare(decoder->unit);
	if (err == -EINVAL)
		return tell(decoder, FLOWTAP_GAP_NO_STREAM, UINT64_MAX, "the trace unit is no ETE");
	if (!err)
		err = begin(decoder->unit, decoder->stretch);
	if (!err)
		err = pass(decoder);
	return err ? err : end(decoder->unit, decoder->stretch);
}

/* Frames have the bytes of several CPUs mixed: one pass to see whose, then one for each. */
static int decode_frames(struct flowtap_perfdata_decoder *decoder)
{
	int err;

	decoder->unit = NULL;
	decoder->ids[0] = decoder->ids[1] = 0;
	decoder->other = 0;
	err = pass(decoder);
	for (unsigned int id = FLOWTAP_FRAME_FIRST; !err && id <= FLOWTAP_FRAME_LAST; id++)
		if (decoder->ids[id / 64] >> id % 64 & 1)
			err = decode_id(decoder, (uint8_t)id);
	if (!err && decoder->other)
		err = tell(decoder, FLOWTAP_GAP_NO_STREAM, decoder->other,
			   "trace IDs that belong to no CPU");
	return err;
}

static int decode_stretch(struct flowtap_perfdata_decoder *decoder, bool last)
{
	const struct flowtap_perfdata_stretch *stretch = decoder->stretch;
	bool framed = !(stretch->flags & FLOWTAP_PERFDATA_RAW);
	bool snapshot = stretch->flags & FLOWTAP_PERFDATA_OVERWRITE;
	struct unit *unit = collector(decoder);
	int err = 0;

	decoder->barrier = false;
	if (!framed && !wanted(decoder, unit ? unit->cpu->cpu : stretch->cpu))
		return 0;
	if (stretch->missing)
		err = tell(decoder, snapshot ? FLOWTAP_GAP_WRAPPED : FLOWTAP_GAP_RING_FULL,
			   stretch->missing, snapshot ? "written over before the snapshot" :
						       "trace bytes that are not in the file");
	if (!err && !stretch->size && stretch->flags & FLOWTAP_PERFDATA_TRUNCATED)
		err = tell(decoder, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
			   "perf: an AUX record with nothing but a loss");
	if (err || !stretch->size)
		return err;
	return framed ? decode_frames(decoder) : decode_raw(decoder, last);
}

int flowtap_perfdata_survey(struct flowtap_perfdata_decoder *decoder)
{
	int err = 0;

	decoder->surveying = true;
	decoder->unit = NULL;
	for (size_t i = 0; !err && i < decoder->perfdata->stretches.n; i++) {
		struct unit *unit;

		decoder->stretch = &decoder->perfdata->stretches.list[i];
		unit = collector(decoder);
		if (!(decoder->stretch->flags & FLOWTAP_PERFDATA_RAW))
			err = pass(decoder);
		else if (unit)
			decoder->counts[unit - decoder->units].bytes += decoder->stretch->size;
	}
	decoder->surveying = false;
	return err;
}

int flowtap_perfdata_decode(struct flowtap_perfdata_decoder *decoder)
{
	const struct flowtap_perfdata_stretch *list = decoder->perfdata->stretches.list;
	size_t n = decoder->perfdata->stretches.n;
	int err = 0;

	for (size_t i = 0; !err && i < n; i++) {
		decoder->stretch = &list[i];
		err = decode_stretch(decoder, i + 1 == n || !list[i + 1].continues);
	}
	return err;
}

/* --- The decoder. --- */

bool flowtap_perfdata_wfx(const struct flowtap_perfdata *perfdata)
{
	return perfdata->cpus.n && flowtap_ete_wfx_is_p0(&perfdata->cpus.list[0].config);
}

static int by_cpu(const void *one, const void *other)
{
	const struct unit *a = one, *b = other;

	return a->cpu->cpu < b->cpu->cpu ? -1 : a->cpu->cpu > b->cpu->cpu;
}

int flowtap_perfdata_decoder_new(const struct flowtap_perfdata *perfdata,
				 const struct flowtap_perfdata_options *options,
				 struct flowtap_perfdata_decoder **out)
{
	struct flowtap_perfdata_decoder *decoder = calloc(1, sizeof(*decoder));
	size_t n = perfdata->cpus.n;

	*out = NULL;
	if (!decoder)
		return -ENOMEM;
	decoder->perfdata = perfdata;
	decoder->options = *options;
	decoder->piece = malloc(PIECE);
	decoder->frames = malloc(sizeof(*decoder->frames));
	decoder->units = calloc(n + 1, sizeof(decoder->units[0]));
	decoder->counts = calloc(n + 1, sizeof(decoder->counts[0]));
	if (!decoder->piece || !decoder->frames || !decoder->units || !decoder->counts) {
		flowtap_perfdata_decoder_free(decoder);
		return -ENOMEM;
	}
	decoder->n = n;
	for (size_t i = 0; i < n; i++)
		decoder->units[i].cpu = &perfdata->cpus.list[i];
	qsort(decoder->units, n, sizeof(decoder->units[0]), by_cpu);
	for (size_t i = 0; i < n; i++) {
		decoder->units[i].decoder = decoder;
		decoder->counts[i].cpu = decoder->units[i].cpu->cpu;
	}
	*out = decoder;
	return 0;
}

const struct flowtap_perfdata_counts *
flowtap_perfdata_counts(struct flowtap_perfdata_decoder *decoder, size_t *n)
{
	*n = decoder->n;
	return decoder->counts;
}

void flowtap_perfdata_decoder_free(struct flowtap_perfdata_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; i < decoder->n; i++) {
		flowtap_ete_free(decoder->units[i].ete);
		free(decoder->units[i].head);
	}
	flowtap_blocks_free(decoder->other_blocks);
	free(decoder->units);
	free(decoder->counts);
	free(decoder->piece);
	free(decoder->frames);
	free(decoder);
}
