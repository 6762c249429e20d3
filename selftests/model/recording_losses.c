// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the flow lacks of the log, and the gaps. All that was executed and is not in the flow lies
 * in one gap, of its CPU and, at EL0, of its task; so does each loss of bytes that were generated.
 */
#include "recording.h"

#include <flowtap/flow.h>
#include <inttypes.h>

#define TRBSR_S (1U << 17)

/* Atoms that one packet can tell: so many may wait for it, and are lost when the unit overflows. */
#define UNWRITTEN 24

/* From one time of the log to the next. */
struct region {
	uint64_t executed;
	uint64_t decoded;
	uint64_t missing;	/* that were to be traced */
	uint64_t last;		/* of these: after all that is decoded */
	uint64_t elements;	/* P0 elements among the last */
	uint8_t mark;		/* of whoever has them in the flow, 0 nobody */
	bool mixed;		/* several have */
	bool overflow;		/* the flow has one here, or what is missing is lost with a later one */
	bool stop;
	bool losing;		/* LOG_LOST: the time comes next */
	uint64_t lost;		/* bytes */
};

struct pass {
	struct recording *recording;
	const struct history *history;
	const uint8_t *covered;
	uint32_t cpu;
	struct history_place at;
	struct region region;
	struct region kernel;	/* before EL0 was entered, of which the stay tells the time */
	uint64_t time;		/* of the log before */
	/* The stay that the exception comes after. */
	bool stayed;		/* it is this recording's */
	bool whole;		/* all of it is in the flow */
	uint32_t tid;
	uint64_t since, until;
};

/* What can be the cause of what: bits FLOWTAP_CAUSE_. */
#define CAUSES_BYTES	(1U << FLOWTAP_CAUSE_HARDWARE | 1U << FLOWTAP_CAUSE_RING_FULL)
#define CAUSES_UNTRACED	(CAUSES_BYTES | 1U << FLOWTAP_CAUSE_DISPLACED | \
			 1U << FLOWTAP_CAUSE_DISABLED | 1U << FLOWTAP_CAUSE_OFFLINE | \
			 1U << FLOWTAP_CAUSE_NO_STREAM | 1U << FLOWTAP_CAUSE_MEMORY)

/* The one gap that it lies in; tid 0: of any task. NULL: it has failed. */
static struct recording_gap *find_gap(struct pass *pass, uint32_t tid, uint64_t since,
				      uint64_t until, uint32_t causes, const char *what)
{
	struct recording *recording = pass->recording;
	struct recording_gap *found = NULL;
	unsigned int n = 0;

	for (size_t i = 0; i < recording->ngaps; i++) {
		struct recording_gap *gap = &recording->gaps[i];

		if (gap->cpu != pass->cpu || (tid && gap->tid != tid) ||
		    gap->since > since + RECORDING_SLACK || until > gap->until + RECORDING_SLACK)
			continue;
		found = gap;
		n++;
	}
	if (n == 1 && causes >> found->cause & 1)
		return found;
	recording_fail(recording, "CPU %u, item %zu: %s (task %u, from %" PRIx64 " to %" PRIx64
		       ") in %u gaps%s%s", pass->cpu, pass->at.item, what, tid, since, until, n,
		       n == 1 ? ", which cannot be for " : "",
		       n == 1 ? flowtap_gap_name(found->cause) : "");
	return NULL;
}

/*
 * Whether the flow has an overflow before anything else that was executed from the place on. P0
 * elements that wait for a Commit then are gone, as are those that no packet has told; `elements`
 * were before the place.
 */
static bool overflow_follows(const struct pass *pass, struct history_place at, uint64_t elements)
{
	const struct history *history = pass->history;
	const uint64_t most = (uint64_t)history->config.idr8 + UNWRITTEN;

	while (at.item < history->n && elements <= most) {
		const struct history_event *event = history_event(history, &at);
		const struct log_block *block = history_block(history, &at);

		if (event && event->kind == LOG_OVERFLOW)
			return pass->covered[at.item];
		/* Times that were told in between are not gone. */
		if ((block || event->kind == LOG_EXCEPTION) && pass->covered[at.item])
			return false;
		if (block) {
			elements += history_traced(&at.state) && history_p0(&history->config, block);
			history_go(history, &at, block->n - at.within);
			continue;
		}
		elements += event->kind == LOG_EXCEPTION && history_traced(&at.state);
		history_pass(history, &at);
	}
	return false;
}

/* The region ends at the place. */
static void end_region(struct pass *pass)
{
	struct region *region = &pass->region;

	if (region->missing && region->missing == region->last && !region->overflow)
		region->overflow = overflow_follows(pass, pass->at, region->elements);
}

static bool in_window(const struct pass *pass, uint64_t since, uint64_t until)
{
	const struct recording *recording = pass->recording;

	return since >= recording->cpu_begin[pass->cpu] && until <= recording->cpu_end[pass->cpu];
}

/* Whether the stay is this recording's. */
static bool is_ours(const struct pass *pass, const struct recording_task *task, uint64_t since,
		    uint64_t until)
{
	const struct recording *recording = pass->recording;

	if (recording->wide)
		return in_window(pass, since, until);
	if (!task || until < recording->begin || since > recording->end)
		return false;
	/* Recording of what was there before begins at some moment, which its first gap tells. */
	return !task->before || since >= task->first;
}

static void take_stay(struct pass *pass, const struct history_event *event)
{
	struct recording *recording = pass->recording;
	const uint32_t tid = event->fields[0];
	const uint64_t since = recording_ns(recording, event->fields[1]);
	const uint64_t until = recording_ns(recording, event->fields[2]);
	const struct region *region = &pass->region;
	const uint64_t untraced = event->fields[3];
	/* At least the exception that ended it is missing then. */
	const bool off = !(pass->at.state.tracing == LOG_TRACED && pass->at.state.els & 1);
	struct recording_task *task = recording_task(recording, tid);
	struct recording_gap *gap;

	if (region->decoded && (region->mixed || region->mark != recording_mark(recording, tid)))
		recording_fail(recording, "CPU %u, item %zu: what task %u executed is another's in the "
			       "flow", pass->cpu, pass->at.item, tid);
	if (!is_ours(pass, task, since, until) || !(recording->modes & FLOWTAP_MODE_USER))
		return;
	recording->executed += region->executed + untraced;
	recording->decoded += region->decoded;
	recording->missing += region->missing + untraced;
	pass->stayed = true;
	pass->whole = !off && !untraced && !region->missing && region->decoded;
	pass->tid = tid;
	pass->since = since;
	pass->until = until;
	if (!off && !untraced && (!region->missing || region->overflow))
		return;
	gap = find_gap(pass, tid, since, until, off ? CAUSES_UNTRACED : CAUSES_BYTES,
		       off ? "what was not traced at EL0 is" :
			     "what was traced at EL0 and is not in the flow is");
	if (!gap)
		return;
	gap->stays += off;
	gap->missing += region->missing;
	gap->untraced += untraced;
}

/* The kernel's, between two times. */
static void take_kernel(struct pass *pass, const struct region *region, uint64_t time)
{
	struct recording_gap *gap;

	if (!region->missing || region->overflow || !in_window(pass, pass->time, time))
		return;
	gap = find_gap(pass, 0, pass->time, time, CAUSES_BYTES,
		       "instructions of the kernel that the flow has not are");
	if (gap)
		gap->missing += region->missing;
}

static void take_lost(struct pass *pass, uint64_t time)
{
	const struct region *region = &pass->region;
	struct recording_gap *gap;

	if (!in_window(pass, time, time))
		return;
	gap = find_gap(pass, 0, time, time, CAUSES_BYTES, "bytes that the trace buffer lost are");
	if (!gap)
		return;
	gap->losses++;
	gap->bytes += region->lost;
	pass->recording->losses++;
}

static void take_stop(struct pass *pass, uint64_t time)
{
	struct recording *recording = pass->recording;

	for (size_t i = 0; i < recording->ngaps; i++)
		if (recording->gaps[i].cpu == pass->cpu && recording->gaps[i].since <= time &&
		    time <= recording->gaps[i].until)
			recording->gaps[i].stops++;
}

static void take_time(struct pass *pass, uint64_t time)
{
	if (pass->region.losing)
		take_lost(pass, time);
	if (pass->region.stop)
		take_stop(pass, time);
	pass->region.losing = pass->region.stop = false;
	pass->region.lost = 0;
}

static void take_block(struct pass *pass, const struct log_block *block)
{
	struct region *region = &pass->region;
	const uint8_t mark = pass->covered[pass->at.item];
	const bool user = !pass->at.state.el;

	region->executed += block->n;
	if (mark) {
		region->decoded += block->n;
		region->last = region->elements = 0;
		region->mixed |= region->mark && region->mark != mark;
		region->mark = mark;
	} else if (history_traced(&pass->at.state) &&
		   (user || history_p0(&pass->history->config, block))) {
		/* Before the kernel's trace stops no P0 element may cover the last ones. */
		region->missing += block->n;
		region->last += block->n;
		region->elements += history_p0(&pass->history->config, block);
	}
}

/* It ends the stay, and may be lost where that is not, or where nothing was executed in it. */
static void take_exception(struct pass *pass)
{
	struct recording *recording = pass->recording;
	const bool lost = history_traced(&pass->at.state) && !pass->covered[pass->at.item];

	if (pass->whole && lost && !overflow_follows(pass, pass->at, 0))
		find_gap(pass, pass->tid, pass->since, pass->until, CAUSES_BYTES,
			 "an exception from EL0 that the flow has not is");
	for (size_t i = 0; pass->stayed && lost && i < recording->ngaps; i++) {
		struct recording_gap *gap = &recording->gaps[i];

		gap->exceptions += gap->cpu == pass->cpu && gap->tid == pass->tid &&
				   gap->since <= pass->since && pass->until <= gap->until;
	}
	pass->stayed = pass->whole = false;
}

static void take_event(struct pass *pass, const struct history_event *event)
{
	uint64_t time;

	switch (event->kind) {
	case LOG_EXCEPTION:
		take_exception(pass);
		break;
	case LOG_OVERFLOW:
		pass->region.overflow |= pass->covered[pass->at.item];
		break;
	case LOG_BUFFER:
		pass->region.stop |= event->fields[0] & TRBSR_S;
		break;
	case LOG_LOST:
		pass->region.losing = true;
		pass->region.lost += event->fields[0];
		break;
	case LOG_RETURN:
		if (event->fields[0])
			break;
		end_region(pass);
		pass->kernel = pass->region;
		pass->region = (struct region){ 0 };
		break;
	case LOG_TIME:
		time = recording_ns(pass->recording, event->fields[0]);
		take_time(pass, time);
		/* A stay goes on. */
		if (!pass->at.state.el)
			break;
		end_region(pass);
		take_kernel(pass, &pass->region, time);
		pass->time = time;
		pass->region = (struct region){ 0 };
		break;
	case LOG_STAY:
		time = recording_ns(pass->recording, event->fields[2]);
		take_time(pass, time);
		take_kernel(pass, &pass->kernel, recording_ns(pass->recording, event->fields[1]));
		end_region(pass);
		take_stay(pass, event);
		pass->time = time;
		pass->region = pass->kernel = (struct region){ 0 };
		break;
	}
}

static void pass_over(struct pass *pass)
{
	const struct history *history = pass->history;

	while (pass->at.item < history->n && !pass->recording->failed) {
		const struct history_event *event = history_event(history, &pass->at);
		const struct log_block *block = history_block(history, &pass->at);

		if (block) {
			take_block(pass, block);
			history_go(history, &pass->at, block->n);
			continue;
		}
		take_event(pass, event);
		history_pass(history, &pass->at);
	}
}

static void find_those_before(struct recording *recording, const struct history *history)
{
	for (size_t i = 0; i < history->nevents; i++) {
		const struct history_event *event = &history->events[i];
		struct recording_task *task;

		if (event->kind != LOG_STAY ||
		    recording_ns(recording, event->fields[2]) >= recording->begin)
			continue;
		task = recording_task(recording, event->fields[0]);
		if (task)
			task->before = true;
	}
}

void recording_losses(struct recording *recording)
{
	for (uint32_t cpu = 0; cpu < RECORDING_CPUS; cpu++)
		if (recording->histories[cpu])
			find_those_before(recording, recording->histories[cpu]);
	for (uint32_t cpu = 0; cpu < RECORDING_CPUS && !recording->failed; cpu++) {
		struct pass pass = {
			.recording = recording, .history = recording->histories[cpu], .cpu = cpu,
			.covered = recording->covered[cpu], .at = history_begin(),
		};

		if (pass.history)
			pass_over(&pass);
	}
	for (size_t i = 0; i < recording->ngaps && !recording->failed; i++) {
		const struct recording_gap *gap = &recording->gaps[i];

		if (gap->size != FLOWTAP_UNKNOWN && gap->bytes > gap->size)
			recording_fail(recording, "the gap %s of task %u on CPU %u from %" PRIx64 " to %"
				       PRIx64 " is of %" PRIu64 " bytes: the trace buffer lost %" PRIu64,
				       flowtap_gap_name(gap->cause), gap->tid, gap->cpu, gap->since,
				       gap->until, gap->size, gap->bytes);
		if (gap->losses || gap->missing || gap->stays || gap->exceptions)
			continue;
		if (gap->stops)
			recording->idle++;
		else
			recording_fail(recording, "the gap %s of task %u on CPU %u from %" PRIx64 " to %"
				       PRIx64 ": nothing was lost there", flowtap_gap_name(gap->cause),
				       gap->tid, gap->cpu, gap->since, gap->until);
	}
}
