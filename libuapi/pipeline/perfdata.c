// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: range after range through the decoders, one of each trace unit, to one sink. */
#include "pipeline/perfdata_unit.h"

#include <errno.h>
#include <flowtap/frame.h>
#include <flowtap/trace_session.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (64U << 10)

static struct perfdata_unit *unit_of(struct flowtap_perfdata_decoder *decoder,
			    const struct flowtap_perfdata_cpu *cpu)
{
	for (size_t i = 0; cpu && i < decoder->n; i++)
		if (decoder->units[i].cpu == cpu)
			return &decoder->units[i];
	return NULL;
}

/* The unit of a trace ID in the range; it is looked for once. */
static struct perfdata_unit *unit_by_id(struct flowtap_perfdata_decoder *decoder, uint8_t id)
{
	uint64_t *seen = &decoder->seen.ids[id / 64 & 1], bit = 1ULL << id % 64;
	struct perfdata_unit **unit = &decoder->by_id[id & 127];

	if (!(*seen & bit))
		*unit = unit_of(decoder, flowtap_perfdata_by_trace_id(decoder->perfdata,
								      decoder->range->cpu, id));
	*seen |= bit;
	return *unit;
}

/* A thread's buffer may not say where it ran: units are nearly always alike. */
static struct perfdata_unit *collector(struct flowtap_perfdata_decoder *decoder)
{
	uint32_t cpu = decoder->range->cpu;

	if (cpu == FLOWTAP_PERFDATA_NONE)
		return decoder->n ? &decoder->units[0] : NULL;
	return unit_of(decoder, flowtap_perfdata_find_cpu(decoder->perfdata, cpu));
}

/* Of the range, in the file's list. */
static size_t index_of(const struct flowtap_perfdata_decoder *decoder)
{
	return (size_t)(decoder->range - decoder->perfdata->ranges.list);
}

/* Those that continue it are as it is. */
static bool is_framed(const struct flowtap_perfdata_decoder *decoder)
{
	return !(decoder->range->flags & FLOWTAP_PERFDATA_RAW);
}

static bool wanted(const struct flowtap_perfdata_decoder *decoder, uint32_t cpu)
{
	return decoder->options.cpu == FLOWTAP_PERFDATA_NONE || decoder->options.cpu == cpu;
}

/* A loss of a unit that cannot be decoded or is not known; cpu: FLOWTAP_PERFDATA_NONE, or whose. */
static int report_cpu_gap(const struct flowtap_perfdata_decoder *decoder, uint32_t cpu,
			  enum flowtap_gap_reason reason, uint64_t size, const char *detail)
{
	const struct flowtap_perfdata_range *range = decoder->range;
	char line[160];
	struct flowtap_element element = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = {
			.reason = reason,
			.until = range->time,
			.size = size,
			.detail = line,
		},
	};

	if (cpu == FLOWTAP_PERFDATA_NONE)
		snprintf(line, sizeof(line), "%s", detail);
	else
		snprintf(line, sizeof(line), "CPU %" PRIu32 ": %s", cpu, detail);
	return decoder->options.sink->element(decoder->options.sink, &element);
}

/* A loss that is no unit's alone, or of the one whose CPU collected the range. */
static int report_gap(const struct flowtap_perfdata_decoder *decoder,
		      enum flowtap_gap_reason reason, uint64_t size, const char *detail)
{
	return report_cpu_gap(decoder, decoder->range->cpu, reason, size, detail);
}

/* Those that its AUX records tell of, where no unit's session reports them. */
static int report_losses(const struct flowtap_perfdata_decoder *decoder, uint32_t flags)
{
	struct flowtap_gap losses[2];
	size_t n = flowtap_perfdata_losses(flags, losses);
	int err = 0;

	for (size_t i = 0; !err && i < n; i++)
		err = report_gap(decoder, losses[i].reason, losses[i].size, losses[i].detail);
	return err;
}

typedef int (*taker)(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes, size_t size);

/* Of a range of which no unit is known yet. */
static int keep_loss(struct flowtap_perfdata_decoder *decoder, struct flowtap_gap gap, uint64_t size)
{
	if (!decoder->seen.gap.detail)
		decoder->seen.gap = gap;
	decoder->seen.lost += size;
	return 0;
}

/* The file has become shorter since its records were read. */
static int report_shrunk(struct flowtap_perfdata_decoder *decoder, uint64_t size)
{
	const struct flowtap_gap gap = {
		.reason = FLOWTAP_GAP_TRUNCATED, .size = size,
		.detail = "the file became shorter while it was read",
	};

	if (!decoder->unit)
		return keep_loss(decoder, gap, size);
	return flowtap_perfdata_unit_add_gap(decoder->unit, gap.reason, gap.size, gap.detail);
}

static int each_piece(struct flowtap_perfdata_decoder *decoder,
		      const struct flowtap_perfdata_range *range, taker take)
{
	uint64_t at = 0;
	int err = 0;

	while (!err && at < range->size) {
		size_t got;

		err = flowtap_perfdata_read(decoder->perfdata, range, at, decoder->piece, PIECE,
					    &got);
		if (!err && !got)
			return report_shrunk(decoder, range->size - at);
		if (!err)
			err = take(decoder, decoder->piece, got);
		at += got;
	}
	return err;
}

static int each_part(struct flowtap_perfdata_decoder *decoder, taker take)
{
	int err = 0;

	for (size_t i = 0; !err && i < decoder->parts; i++)
		err = each_piece(decoder, &decoder->range[i], take);
	return err;
}

static int handle_raw(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes, size_t size)
{
	return flowtap_perfdata_unit_feed(decoder->unit, bytes, size);
}

static uint64_t size_of(const struct flowtap_perfdata_decoder *decoder)
{
	uint64_t size = 0;

	for (size_t i = 0; i < decoder->parts; i++)
		size += decoder->range[i].size;
	return size;
}

static int decode_raw(struct flowtap_perfdata_decoder *decoder)
{
	int err;

	decoder->unit = collector(decoder);
	err = decoder->unit ? flowtap_perfdata_unit_prepare(decoder->unit) : -EINVAL;
	if (err == -EINVAL) {
		err = report_gap(decoder, FLOWTAP_GAP_NO_STREAM, size_of(decoder),
				 decoder->unit ?
				 flowtap_ete_unsupported(&decoder->unit->cpu->config) :
				 "nothing is known of its trace unit");
		return err ? err : report_losses(decoder, decoder->flags);
	}
	if (!err)
		err = flowtap_perfdata_unit_begin(decoder->unit, decoder->range);
	if (!err)
		err = each_part(decoder, handle_raw);
	return err ? err : flowtap_perfdata_unit_end(decoder->unit);
}

static int handle_frames(struct flowtap_perfdata_decoder *decoder, const uint8_t *bytes,
			 size_t size)
{
	return flowtap_frames_decode(decoder->frames, bytes, size);
}

static int on_data(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		   uint64_t offset)
{
	struct flowtap_perfdata_decoder *decoder = frames->argument;
	struct perfdata_unit *unit;

	(void)offset;
	if (decoder->unit)
		return flowtap_perfdata_unit_feed(decoder->unit, bytes, size);
	unit = unit_by_id(decoder, id);
	decoder->seen.known |= unit != NULL;
	if (!unit)
		decoder->seen.other += size;
	else if (decoder->surveying)
		decoder->counts[unit - decoder->units].bytes += size;
	return 0;
}

static int on_lost(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		   uint64_t size)
{
	struct flowtap_perfdata_decoder *decoder = frames->argument;
	struct flowtap_gap gap = flowtap_frame_gap(loss, size);

	(void)offset;
	if (loss == FLOWTAP_FRAME_BARRIER)
		gap.detail = "perf: the trace is not continuous (barrier)";
	if (!decoder->unit) {
		/* The pass that there is once, whosever the frames are. */
		decoder->bad_frames += gap.reason == FLOWTAP_GAP_BAD_PACKET;
		return keep_loss(decoder, gap, size);
	}
	return flowtap_perfdata_unit_add_gap(decoder->unit, gap.reason, gap.size, gap.detail);
}

/* only: the trace ID whose bytes are wanted; 0: all. */
static int pass(struct flowtap_perfdata_decoder *decoder, uint8_t only)
{
	int err;

	*decoder->frames = (struct flowtap_frames) {
		.only = only,
		.data = on_data,
		.lost = on_lost,
		.argument = decoder,
	};
	err = each_part(decoder, handle_frames);
	return err ? err : flowtap_frames_finish(decoder->frames);
}

static int look(struct flowtap_perfdata_decoder *decoder)
{
	decoder->unit = NULL;
	decoder->seen = (struct perfdata_seen){ 0 };
	return pass(decoder, 0);
}

/* Linux puts four full syncs in the place of the first frame of an ETR that wrapped. */
static int find_barrier(struct flowtap_perfdata_decoder *decoder)
{
	static const uint8_t barrier[16] = {
		0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
		0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0x7f,
	};
	uint8_t bytes[sizeof(barrier)];
	size_t got;
	int err = flowtap_perfdata_read(decoder->perfdata, decoder->range, 0, bytes,
					sizeof(bytes), &got);

	decoder->barrier = !err && got == sizeof(bytes) && !memcmp(bytes, barrier, sizeof(bytes));
	return err;
}

static int decode_id(struct flowtap_perfdata_decoder *decoder, uint8_t id)
{
	int err;

	decoder->unit = decoder->by_id[id];
	if (!decoder->unit || !wanted(decoder, decoder->unit->cpu->cpu))
		return 0;
	err = flowtap_perfdata_unit_prepare(decoder->unit);
	if (err == -EINVAL)
		return report_cpu_gap(decoder, decoder->unit->cpu->cpu, FLOWTAP_GAP_NO_STREAM,
				      UINT64_MAX,
				      flowtap_ete_unsupported(&decoder->unit->cpu->config));
	if (!err)
		err = flowtap_perfdata_unit_begin(decoder->unit, decoder->range);
	if (!err && decoder->barrier)
		err = flowtap_perfdata_unit_add_gap(decoder->unit, FLOWTAP_GAP_TRUNCATED,
						    UINT64_MAX,
						    "perf: the trace buffer wrapped (barrier)");
	if (!err)
		err = pass(decoder, id);
	return err ? err : flowtap_perfdata_unit_end(decoder->unit);
}

/* What is wrong with a range each unit that has bytes in it reports; here, of one without any. */
static int report_unknown(struct flowtap_perfdata_decoder *decoder)
{
	const struct perfdata_seen *seen = &decoder->seen;
	int err = 0;

	if (seen->other)
		err = report_gap(decoder, FLOWTAP_GAP_NO_STREAM, seen->other,
				 "trace IDs that belong to no CPU, or to several");
	if (!err && !seen->known && seen->gap.detail)
		err = report_gap(decoder, seen->gap.reason, seen->lost ? seen->lost : UINT64_MAX,
				 seen->gap.detail);
	if (!err && !seen->known)
		err = report_losses(decoder, decoder->flags);
	return err;
}

/* The units of the IDs that the survey has seen in the range: of this decoder. */
static void recall(struct flowtap_perfdata_decoder *decoder)
{
	const struct perfdata_seen *surveyed = decoder->options.survey->surveyed;
	const struct perfdata_seen *seen = &surveyed[index_of(decoder)];

	decoder->seen = (struct perfdata_seen){ 0 };
	for (unsigned int id = FLOWTAP_FRAME_FIRST; id <= FLOWTAP_FRAME_LAST; id++)
		if (seen->ids[id / 64] >> id % 64 & 1)
			unit_by_id(decoder, (uint8_t)id);
	decoder->seen = *seen;
}

/* Frames have the bytes of several CPUs mixed: one pass to see whose, then one for each. */
static int decode_frames(struct flowtap_perfdata_decoder *decoder)
{
	const uint64_t *ids = decoder->seen.ids;
	int err = find_barrier(decoder);

	if (!err && decoder->options.survey)
		recall(decoder);
	else if (!err)
		err = look(decoder);
	for (unsigned int id = FLOWTAP_FRAME_FIRST; !err && id <= FLOWTAP_FRAME_LAST; id++)
		if (ids[id / 64] >> id % 64 & 1)
			err = decode_id(decoder, (uint8_t)id);
	return err ? err : report_unknown(decoder);
}

/* Before a range. */
static int report_missing(const struct flowtap_perfdata_decoder *decoder)
{
	const struct flowtap_perfdata_range *range = decoder->range;
	bool snapshot = range->flags & FLOWTAP_PERFDATA_OVERWRITE;
	int err = 0;

	if (range->missing)
		err = report_gap(decoder, snapshot ? FLOWTAP_GAP_WRAPPED : FLOWTAP_GAP_RING_FULL,
				 range->missing,
				 snapshot ? "written over before the snapshot"
					  : "trace bytes that are not in the file");
	if (!err && range->unnamed)
		err = report_gap(decoder, FLOWTAP_GAP_RING_FULL, range->unnamed,
				 "trace bytes that no AUX record names: it was lost");
	return err;
}

static int decode_range(struct flowtap_perfdata_decoder *decoder)
{
	const struct flowtap_perfdata_range *range = decoder->range;
	bool framed = is_framed(decoder);
	struct perfdata_unit *unit = collector(decoder);
	int err;

	decoder->barrier = false;
	/* A unit that nothing is known of is no CPU's that can be asked for. */
	if (!framed && unit && !wanted(decoder, unit->cpu->cpu))
		return 0;
	err = report_missing(decoder);
	if (!err && !range->size)
		err = report_losses(decoder, range->flags);
	if (err || !range->size)
		return err;
	return framed ? decode_frames(decoder) : decode_raw(decoder);
}

/* The next range, with those that continue it; *at goes after them. */
static bool next_range(struct flowtap_perfdata_decoder *decoder, size_t *at)
{
	const struct flowtap_perfdata_range *list = decoder->perfdata->ranges.list;
	size_t n = decoder->perfdata->ranges.n;

	if (*at == n)
		return false;
	decoder->range = &list[*at];
	decoder->parts = 0;
	decoder->flags = 0;
	do {
		decoder->flags |= list[*at].flags;
		decoder->parts++;
		++*at;
	} while (*at < n && list[*at].continues);
	return true;
}

static int survey_range(struct flowtap_perfdata_decoder *decoder)
{
	const struct flowtap_perfdata_range *range = decoder->range;
	const struct perfdata_unit *unit = collector(decoder);
	struct flowtap_perfdata_counts *counts;
	struct flowtap_gap losses[2];
	int err;

	if (is_framed(decoder)) {
		err = look(decoder);
		decoder->surveyed[index_of(decoder)] = decoder->seen;
		return err;
	}
	if (!unit)
		return 0;
	counts = &decoder->counts[unit - decoder->units];
	counts->bytes += size_of(decoder);
	counts->losses += range->missing || range->unnamed ||
			  flowtap_perfdata_losses(decoder->flags, losses);
	return 0;
}

int flowtap_perfdata_survey(struct flowtap_perfdata_decoder *decoder)
{
	size_t at = 0;
	int err = 0;

	if (!decoder->surveyed)
		decoder->surveyed = calloc(decoder->perfdata->ranges.n + 1,
					   sizeof(decoder->surveyed[0]));
	if (!decoder->surveyed)
		return -ENOMEM;
	decoder->surveying = true;
	decoder->bad_frames = 0;
	while (!err && next_range(decoder, &at))
		err = survey_range(decoder);
	decoder->surveying = false;
	return err;
}

int flowtap_perfdata_decode(struct flowtap_perfdata_decoder *decoder)
{
	size_t at = 0;
	int err = 0;

	decoder->bad_frames = decoder->options.survey ? decoder->options.survey->bad_frames : 0;
	while (!err && next_range(decoder, &at))
		err = decode_range(decoder);
	return err;
}

/* --- The decoder. --- */

bool flowtap_perfdata_wfx(const struct flowtap_perfdata *perfdata)
{
	return perfdata->cpus.n && flowtap_ete_wfx_is_p0(&perfdata->cpus.list[0].config);
}

static int by_cpu(const void *one, const void *other)
{
	const struct perfdata_unit *a = one, *b = other;

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

uint64_t flowtap_perfdata_bad_frames(const struct flowtap_perfdata_decoder *decoder)
{
	return decoder->bad_frames;
}

void flowtap_perfdata_decoder_free(struct flowtap_perfdata_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; i < decoder->n; i++) {
		flowtap_ete_free(decoder->units[i].ete);
		free(decoder->units[i].ahead);
	}
	free(decoder->surveyed);
	free(decoder->units);
	free(decoder->counts);
	free(decoder->piece);
	free(decoder->frames);
	free(decoder);
}
