// SPDX-License-Identifier: GPL-2.0-only
/* Records as the driver makes them of what tasks execute, and what is lost on the way. */
#include <stdlib.h>
#include <string.h>

#include "aux.h"

/* --- Losses as they are to be told. --- */

void recording_expect(struct task *task, enum flowtap_gap_reason reason, uint64_t since,
		      uint64_t until)
{
	if (task->n_expected == GAPS)
		abort();
	task->expected[task->n_expected++] = (struct loss){ reason, since, until };
}

static struct item *item(struct recording *recording, unsigned int cpu, uint64_t time)
{
	struct item *item = &recording->items[recording->n_items];

	if (recording->n_items == ITEMS)
		abort();
	*item = (struct item){ .time = time, .cpu = cpu, .index = recording->n_items++ };
	return item;
}

/*
 * What the ring had no room for is said before the next record that it has: it is part of that
 * one's ring_full, or nobody's.
 */
static void tell_lost(struct recording *recording, unsigned int cpu, uint64_t time, bool ring_full)
{
	struct flowtap_record_lost *lost = &recording->lost[cpu];

	if (!lost->records)
		return;
	lost->header = (struct flowtap_record){ FLOWTAP_RECORD_LOST, 0, sizeof(*lost) };
	lost->time = time;
	item(recording, cpu, time)->record.lost = *lost;
	lost->records = 0;
	recording->nobodys_expected += !ring_full;
}

static void put_gap(struct recording *recording, struct task *task, unsigned int cpu, uint32_t cause,
		    uint64_t since, uint64_t time)
{
	tell_lost(recording, cpu, time, cause == FLOWTAP_CAUSE_RING_FULL);
	item(recording, cpu, time)->record.gap = (struct flowtap_record_gap){
		.header = { FLOWTAP_RECORD_GAP, 0, sizeof(struct flowtap_record_gap) },
		.time = time,
		.since = since,
		.size = FLOWTAP_UNKNOWN,
		.pid = task->pid,
		.tid = task->tid,
		.cpu = cpu,
		.cause = cause,
	};
	recording_expect(task, FLOWTAP_GAP_START + cause, since, time);
	task->told |= 1U << cause;
	if (cause == FLOWTAP_CAUSE_HARDWARE || cause == FLOWTAP_CAUSE_RING_FULL)
		task->cut = 0;
}

static void lose(struct task *task, uint32_t cause, uint64_t since)
{
	if (!(task->loss & 1U << cause))
		task->since[cause] = since;
	task->loss |= 1U << cause;
}

/* The gaps that come with a record. */
static void expect_before(struct recording *recording, struct task *task, const struct piece *piece,
			  uint64_t since)
{
	uint32_t untold = task->loss & ~task->told;

	tell_lost(recording, piece->cpu, since, untold & 1U << FLOWTAP_CAUSE_RING_FULL);
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (untold & 1U << cause)
			recording_expect(task, FLOWTAP_GAP_START + cause, task->since[cause], since);
	if (task->missing)
		recording_expect(task, FLOWTAP_GAP_RING_FULL, task->ended, since);
	else if (!task->loss && recording->kernel)
		recording_expect(task, FLOWTAP_GAP_RECORDER, ANY, ANY);
	task->missing = false;
	task->cut = 0;
}

/* --- Records. --- */

static void put_aux(struct recording *recording, struct piece *piece, size_t from, size_t to,
		    uint64_t since, uint64_t time)
{
	struct task *task = &recording->tasks[piece->task];

	expect_before(recording, task, piece, since);
	task->sequence += task->loss ? 2 : 1;
	item(recording, piece->cpu, time)->record.aux = (struct flowtap_record_aux){
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(struct flowtap_record_aux) },
		.time = time,
		.counter = time / TICK,
		.offset = piece->offset + from,
		.size = to - from,
		.flags = (from ? FLOWTAP_AUX_CONTINUES : 0) |
			 (piece->what == CUT ? FLOWTAP_AUX_TRUNCATED : 0),
		.pid = task->pid,
		.tid = task->tid,
		.cpu = piece->cpu,
		.since = since,
		.sequence = task->sequence,
		.loss = task->loss,
	};
	task->loss = task->told = 0;
	task->ended = time;
}

/*
 * The stream in one record, or cut anywhere into some. The last one begins before its task executes
 * another program (50 ns before its end).
 */
static void put_records(struct recording *recording, struct piece *piece, size_t size)
{
	struct task *task = &recording->tasks[piece->task];
	bool whole = recording->scenario.encoder.maxspec || piece->what != INTACT;
	size_t from = 0, to;
	uint64_t since = piece->since, time;

	piece->offset = recording->heads[piece->cpu] += rng_below(&recording->rng, 64);
	recording->heads[piece->cpu] += piece->encoder.size;
	task->sessions[task->n_sessions++] = piece;
	while (from < size) {
		to = whole || piece->time - since < 1000 || rng_one_in(&recording->rng, 3) ? size :
		     from + 1 + rng_below(&recording->rng, size - from);
		time = to == size ? piece->time : since + (piece->time - since) / 2;
		put_aux(recording, piece, from, to, since, time);
		from = to;
		since = time;
	}
}

static void put_cut(struct recording *recording, struct piece *piece)
{
	struct task *task = &recording->tasks[piece->task];

	piece->from = 13 + rng_below(&recording->rng, piece->encoder.size - 13);
	put_records(recording, piece, piece->from);
	lose(task, FLOWTAP_CAUSE_HARDWARE, piece->time);
	task->cut = piece->since;
	/* The kernel knows the record's begin. Where the ring has no room nobody says it. */
	if (!rng_one_in(&recording->rng, 4))
		put_gap(recording, task, piece->cpu, FLOWTAP_CAUSE_HARDWARE, piece->since,
			piece->time + 1);
}

static void put_hole(struct recording *recording, struct piece *piece)
{
	size_t size = piece->encoder.size;

	piece->from = rng_below(&recording->rng, size);
	piece->to = piece->from + 1 + rng_below(&recording->rng, size - piece->from);
	put_records(recording, piece, size);
	recording_expect(&recording->tasks[piece->task], FLOWTAP_GAP_BAD_RECORD, piece->since, piece->time);
}

static void drop(struct recording *recording, struct piece *piece)
{
	struct flowtap_record_lost *lost = &recording->lost[piece->cpu];
	struct task *task = &recording->tasks[piece->task];

	if (!lost->records++)
		lost->since = piece->time;
	lose(task, FLOWTAP_CAUSE_RING_FULL, piece->since);
	if (rng_one_in(&recording->rng, 2))
		put_gap(recording, task, piece->cpu, FLOWTAP_CAUSE_RING_FULL, piece->since,
			piece->time + 1);
}

/* What happens to a task while it is not recorded. */
void recording_pass_time(struct recording *recording, struct task *task, unsigned int cpu)
{
	static const uint8_t causes[] = { FLOWTAP_CAUSE_DISABLED, FLOWTAP_CAUSE_STROBE,
					  FLOWTAP_CAUSE_NO_STREAM, FLOWTAP_CAUSE_OFFLINE };
	uint64_t since = task->clock, until = recording->clocks[cpu];

	if (since > until)
		until = since;
	until += 3 + rng_below(&recording->rng, 100000);
	if (rng_one_in(&recording->rng, 6))
		lose(task, causes[rng_below(&recording->rng, sizeof(causes))], since + 1);
	if (rng_one_in(&recording->rng, 8)) {
		lose(task, FLOWTAP_CAUSE_DISPLACED, since + 1);
		put_gap(recording, task, cpu, FLOWTAP_CAUSE_DISPLACED, since + 1, until - 1);
	}
	task->clock = recording->clocks[cpu] = until;
}

void recording_put(struct recording *recording, struct piece *piece)
{
	struct task *task = &recording->tasks[piece->task];

	switch (piece->what) {
	case CUT:
		put_cut(recording, piece);
		break;
	case HOLE:
		put_hole(recording, piece);
		break;
	case DROPPED:
		drop(recording, piece);
		break;
	case VANISHED:
		task->sequence++;
		task->missing = true;
		break;
	default:
		put_records(recording, piece, piece->encoder.size);
	}
}
