// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* perf.data: a trace unit's decoder, and what it asks about code, time and tasks. */
#include "pipeline/perfdata_unit.h"

#include <errno.h>
#include <flowtap/ete_packet.h>
#include <linux/flowtap.h>
#include <stdlib.h>

static bool virtual_pid(const struct perfdata_unit *unit)
{
	const uint64_t both = FLOWTAP_TRCCONFIGR_VMID | FLOWTAP_TRCCONFIGR_VMIDOPT;

	return (unit->cpu->config.configr & both) == both;
}

/*
 * The kernel runs at EL2 where its tasks are in CONTEXTIDR_EL2, and EL1 is then a guest's. Else it
 * is not known: perf before 5.12 asked for CONTEXTIDR_EL1 wherever it ran.
 */
static bool in_kernel(const struct perfdata_unit *unit, const struct flowtap_context *context)
{
	if (virtual_pid(unit))
		return context->mode == FLOWTAP_PRIVILEGE_H;
	return context->mode == FLOWTAP_PRIVILEGE_S || context->mode == FLOWTAP_PRIVILEGE_H;
}

static bool is_secure(const struct flowtap_context *context)
{
	return context->security == FLOWTAP_SECURE || context->security == FLOWTAP_ROOT;
}

/*
 * While a guest runs, at EL1 or EL0, CONTEXTIDR_EL2 is still that of the thread which runs it. Its
 * own EL0 looks like the guest's, and after an interrupt both can follow EL2.
 */
static bool runs_guests(const struct perfdata_unit *unit, uint32_t tid)
{
	const uint32_t *vcpus = unit->decoder->vcpus;

	for (unsigned int i = 0; tid && i < PERFDATA_VCPUS; i++)
		if (vcpus[i] == tid)
			return true;
	return false;
}

static void add_vcpu(const struct perfdata_unit *unit, const struct flowtap_context *context)
{
	struct flowtap_perfdata_decoder *decoder = unit->decoder;

	if (!virtual_pid(unit) || context->mode != FLOWTAP_PRIVILEGE_S || is_secure(context) ||
	    !context->tid || runs_guests(unit, context->tid))
		return;
	decoder->vcpus[decoder->oldest_vcpu] = context->tid;
	decoder->oldest_vcpu = (decoder->oldest_vcpu + 1) % PERFDATA_VCPUS;
}

static void reached(void *argument, uint64_t time)
{
	const struct perfdata_unit *unit = argument;
	const struct flowtap_perfdata_options *options = &unit->decoder->options;

	if (options->time)
		options->time(options->argument, time);
}

static bool time_of(void *argument, uint64_t ticks, uint64_t *time)
{
	const struct perfdata_unit *unit = argument;

	return unit->timed && flowtap_perfdata_time(unit->decoder->perfdata, ticks, time);
}

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct perfdata_unit *unit = argument;
	bool user = context->mode == FLOWTAP_PRIVILEGE_U;

	if (is_secure(context) || user == address >> 63 || (!user && !in_kernel(unit, context)) ||
	    (user && virtual_pid(unit) && runs_guests(unit, context->tid)))
		return NULL;
	return flowtap_ete_span_find(&unit->span, context->pid, user, address);
}

static void timestamp(void *argument, const struct flowtap_timestamp *timestamp)
{
	struct perfdata_unit *unit = argument;

	flowtap_ete_span_stamp(&unit->span, timestamp);
}

static void left(void *argument, const struct flowtap_exception *exception)
{
	struct perfdata_unit *unit = argument;

	flowtap_ete_span_left(&unit->span, exception);
}

/*
 * NONE: not known. Of CONTEXTIDR_EL1, 0 is the idle task where the kernel runs at EL1; one at EL2
 * does not write it.
 */
static uint32_t thread_of(const struct perfdata_unit *unit, const struct flowtap_context *context)
{
	uint32_t tid;

	if (virtual_pid(unit) && context->has_vmid)
		return context->vmid;
	if ((unit->cpu->config.configr & FLOWTAP_TRCCONFIGR_CID) && context->has_contextid &&
	    (context->contextid || context->mode == FLOWTAP_PRIVILEGE_S))
		return (uint32_t)context->contextid;
	if (unit->tid != FLOWTAP_PERFDATA_NONE)
		return unit->tid;
	tid = flowtap_perfdata_ran(unit->decoder->perfdata, unit->cpu->cpu, unit->span.time);
	/* Linux records that a task goes, then it collects its trace: nobody seems to run by then. */
	return tid == FLOWTAP_PERFDATA_NONE && !unit->timed ? unit->ran : tid;
}

static void identify(void *argument, struct flowtap_context *context)
{
	const struct perfdata_unit *unit = argument;
	uint32_t tid = thread_of(unit, context);

	context->cpu = unit->cpu_known ? unit->cpu->cpu : 0;
	context->has_cpu = unit->cpu_known;
	context->tid = tid == FLOWTAP_PERFDATA_NONE ? 0 : tid;
	context->pid = context->tid ? flowtap_perfdata_pid(unit->decoder->perfdata, tid,
							   unit->span.time) : 0;
	add_vcpu(unit, context);
}

int flowtap_perfdata_unit_prepare(struct perfdata_unit *unit)
{
	struct flowtap_perfdata_decoder *decoder = unit->decoder;
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
	blocks = flowtap_ete_unit_blocks(decoder->options.blocks, &unit->cpu->config);
	if (!unit->ahead)
		unit->ahead = malloc(sizeof(*unit->ahead));
	if (!blocks || !unit->ahead)
		return -ENOMEM;
	err = flowtap_ete_new(&unit->cpu->config, decoder->options.ete, &images, blocks,
			      decoder->options.sink, &unit->ete);
	if (err)
		return err;
	decoder->counts[unit - decoder->units].ete = flowtap_ete_counts(unit->ete);
	unit->span = (struct ete_span){
		.map = decoder->options.map,
		.ete = unit->ete,
		.time_of = time_of,
		.reached = reached,
		.argument = unit,
	};
	return 0;
}

/* The first n bytes that wait, or all. */
static int decode(struct perfdata_unit *unit, size_t n)
{
	struct ete_ahead *ahead = unit->ahead;
	const struct ete_stamp *first;
	uint64_t time;
	int err;

	n = n < ahead->size ? n : ahead->size;
	/* Before the first timestamp of a range this is nearly the time; else it were the end. */
	first = unit->opening && unit->timed ? flowtap_ete_ahead_next(ahead, NULL) : NULL;
	if (first && time_of(unit, first->ticks, &time))
		flowtap_ete_span_advance(&unit->span, time);
	unit->opening = false;
	err = flowtap_ete_decode(unit->ete, ahead->bytes, n);
	flowtap_ete_ahead_drop(ahead, n);
	return err;
}

int flowtap_perfdata_unit_feed(struct perfdata_unit *unit, const uint8_t *bytes, size_t size)
{
	int err = 0;

	unit->decoder->counts[unit - unit->decoder->units].bytes += size;
	while (!err && size) {
		size_t taken = flowtap_ete_ahead_add(unit->ahead, bytes, size);

		bytes += taken;
		size -= taken;
		if (unit->ahead->size == ETE_AHEAD)
			err = decode(unit, ETE_AHEAD / 2);
	}
	return err;
}

int flowtap_perfdata_unit_begin(struct perfdata_unit *unit,
				const struct flowtap_perfdata_range *range)
{
	const struct flowtap_perfdata *perfdata = unit->decoder->perfdata;
	const struct flowtap_perfdata_range *last;

	unit->tid = range->tid;
	unit->ran = range->ran;
	unit->cpu_known = !(range->flags & FLOWTAP_PERFDATA_RAW) ||
			  range->cpu != FLOWTAP_PERFDATA_NONE;
	unit->decoder->counts[unit - unit->decoder->units].ranges++;
	unit->opening = true;
	flowtap_ete_ahead_begin(unit->ahead, &unit->cpu->config);
	/* Whether there are any only the trace says: where perf is older than the kernel (6.12 and 7.2)
	 * TRCCONFIGR.TS in its metadata is 0. */
	unit->timed = unit->cpu->ts_source == 1 && flowtap_perfdata_has_time(perfdata);
	/* Where records have no time the last state is the best guess. */
	flowtap_ete_span_advance(&unit->span, range->time ? range->time : UINT64_MAX - 1);
	last = &range[unit->decoder->parts ? unit->decoder->parts - 1 : 0];
	unit->span.ahead = unit->timed ? unit->ahead : NULL;
	flowtap_ete_span_begin(&unit->span, perfdata->on_exec ? perfdata->first_exec : 0,
			       last->time ? last->time : UINT64_MAX - 1, true);
	return flowtap_ete_session(unit->ete);
}

int flowtap_perfdata_unit_add_gap(struct perfdata_unit *unit, enum flowtap_gap_reason reason,
				  uint64_t size, const char *detail)
{
	struct flowtap_gap gap = {
		.reason = reason,
		.until = unit->decoder->range->time,
		.size = size,
		.detail = detail,
	};
	int err = unit->ahead->size ? decode(unit, ETE_AHEAD) : 0;

	/* At the very begin nothing changes for what comes after it. */
	if (!unit->opening)
		flowtap_ete_span_add_gap(&unit->span);
	flowtap_ete_ahead_begin(unit->ahead, &unit->cpu->config);
	return err ? err : flowtap_ete_gap(unit->ete, &gap);
}

size_t flowtap_perfdata_losses(uint32_t flags, struct flowtap_gap losses[2])
{
	size_t n = 0;

	if (flags & (FLOWTAP_PERFDATA_TRUNCATED | FLOWTAP_PERFDATA_COLLISION))
		losses[n++] = (struct flowtap_gap) {
			.reason = FLOWTAP_GAP_TRUNCATED, .size = UINT64_MAX,
			.detail = flags & FLOWTAP_PERFDATA_TRUNCATED ?
				  "perf: the AUX record is truncated" :
				  "perf: the trace buffer became full (collision)",
		};
	if (flags & FLOWTAP_PERFDATA_PARTIAL)
		losses[n++] = (struct flowtap_gap) {
			.reason = FLOWTAP_GAP_RING_FULL, .size = UINT64_MAX,
			.detail = "perf: the AUX record has gaps (partial)",
		};
	return n;
}

int flowtap_perfdata_unit_end(struct perfdata_unit *unit)
{
	uint32_t flags = unit->decoder->flags;
	int err = unit->ahead->size ? decode(unit, ETE_AHEAD) : 0;
	struct flowtap_gap losses[2];
	size_t n;

	/* An ETR that wrapped has lost its begin, and a barrier is there. */
	n = flowtap_perfdata_losses(unit->decoder->barrier ? flags & ~FLOWTAP_PERFDATA_TRUNCATED :
							     flags, losses);
	for (size_t i = 0; !err && i < n; i++)
		err = flowtap_perfdata_unit_add_gap(unit, losses[i].reason, losses[i].size,
						    losses[i].detail);
	return err ? err : flowtap_ete_finish(unit->ete);
}
