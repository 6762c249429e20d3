// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: a trace unit's decoder, and what it asks about code, time and tasks. */
#include "perfdata_unit.h"

#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/ete_packet.h>
#include <stdlib.h>
#include <string.h>

/* Of a stretch's begin this much is looked at for its first timestamp. */
#define HEAD (16U << 10)
/* A cache of blocks for CPUs whose WFE and WFI are not as the first one's. */
#define OTHER_BLOCKS (64U << 20)

/* TRCCONFIGR. */
#define CONFIGR_CID (1U << 6)
#define CONFIGR_VMID (1U << 7)
#define CONFIGR_TS (1U << 11)
#define CONFIGR_VMIDOPT (1U << 15)

static bool virtual_pid(const struct perfdata_unit *unit)
{
	return (unit->cpu->config.configr & (CONFIGR_VMID | CONFIGR_VMIDOPT)) ==
	       (CONFIGR_VMID | CONFIGR_VMIDOPT);
}

/*
 * The kernel runs at EL2 where its tasks are in CONTEXTIDR_EL2, and EL1 is then a guest's; at EL1
 * where they are in CONTEXTIDR_EL1; else it is not known.
 */
static bool in_kernel(const struct perfdata_unit *unit, const struct flowtap_context *context)
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
	const struct perfdata_unit *unit = argument;
	bool user = context->mode == FLOWTAP_MODE_U;

	if (context->security == FLOWTAP_SECURE || context->security == FLOWTAP_ROOT ||
	    user == address >> 63 || (!user && !in_kernel(unit, context)))
		return NULL;
	return flowtap_map_find(unit->decoder->options.map, context->pid, unit->time, address);
}

static void reach(struct perfdata_unit *unit, uint64_t time)
{
	const struct flowtap_perfdata_options *options = &unit->decoder->options;

	unit->time = time;
	if (options->time)
		options->time(options->argument, time);
}

static void timestamp(void *argument, const struct flowtap_timestamp *timestamp)
{
	struct perfdata_unit *unit = argument;
	uint64_t time;

	if (unit->timed && flowtap_perfdata_time(unit->decoder->perfdata, timestamp->ticks, &time))
		reach(unit, time);
}

static void identify(void *argument, struct flowtap_context *context)
{
	const struct perfdata_unit *unit = argument;
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

int flowtap_perfdata_unit_prepare(struct perfdata_unit *unit)
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

/* Before the first timestamp of a stretch the time is nearly that; else it would be the end's. */
static void find_first_time(struct perfdata_unit *unit)
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

static int open_head(struct perfdata_unit *unit)
{
	unit->opening = false;
	if (unit->timed)
		find_first_time(unit);
	return flowtap_ete_decode(unit->ete, unit->head, unit->head_size);
}

int flowtap_perfdata_unit_feed(struct perfdata_unit *unit, const uint8_t *bytes, size_t size)
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

int flowtap_perfdata_unit_begin(struct perfdata_unit *unit,
				const struct flowtap_perfdata_stretch *stretch)
{
	unit->tid = stretch->tid;
	unit->decoder->counts[unit - unit->decoder->units].stretches++;
	unit->opening = true;
	unit->head_size = 0;
	unit->timed = unit->cpu->ts_source == 1 && (unit->cpu->config.configr & CONFIGR_TS) &&
		      unit->decoder->perfdata->has_time_conv;
	/* Where records have no time the last state is the best guess. */
	reach(unit, stretch->time ? stretch->time : UINT64_MAX - 1);
	return flowtap_ete_session(unit->ete);
}

int flowtap_perfdata_unit_lose(struct perfdata_unit *unit, enum flowtap_gap_reason reason,
			       uint64_t size, const char *detail)
{
	struct flowtap_gap gap = {
		.reason = reason,
		.until = unit->decoder->stretch->time,
		.size = size,
		.detail = detail,
	};
	/* A loss at the very begin: what is looked at for a timestamp comes behind it. */
	int err = unit->opening && unit->head_size ? open_head(unit) : 0;

	return err ? err : flowtap_ete_gap(unit->ete, &gap);
}

int flowtap_perfdata_unit_end(struct perfdata_unit *unit)
{
	uint32_t flags = unit->decoder->flags;
	int err = unit->opening ? open_head(unit) : 0;

	/* An ETR that wrapped has lost its begin, and a barrier stands there. */
	if (!err && flags & FLOWTAP_PERFDATA_TRUNCATED && !unit->decoder->barrier)
		err = flowtap_perfdata_unit_lose(unit, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
						 "perf: the AUX record is truncated");
	else if (!err && flags & FLOWTAP_PERFDATA_COLLISION)
		err = flowtap_perfdata_unit_lose(unit, FLOWTAP_GAP_TRUNCATED, UINT64_MAX,
						 "perf: the trace buffer became full (collision)");
	if (!err && flags & FLOWTAP_PERFDATA_PARTIAL)
		err = flowtap_perfdata_unit_lose(unit, FLOWTAP_GAP_RING_FULL, UINT64_MAX,
						 "perf: the AUX record has gaps (partial)");
	return err ? err : flowtap_ete_finish(unit->ete);
}
