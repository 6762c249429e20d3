// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads the flow: each line goes to the judge of the CPU that the context before names. */
#include "recording.h"

#include <errno.h>
#include <flowtap/flow.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "judge_internal.h"

#define LINE 9000

struct reader {
	struct recording *recording;
	struct judge *judge;		/* NULL: no context yet */
	uint32_t cpu;
	uint32_t tid;
	bool session;			/* begun, and its context has not come yet */
	bool trace_on;			/* after that */
	const struct recording_piece *piece;	/* whose time came, not its context yet */
	bool malformed;
};

/* A hexadecimal or decimal number after blanks. */
static bool number(const char **at, unsigned int base, uint64_t *value)
{
	const char *from;

	while (**at == ' ')
		(*at)++;
	from = *at;
	*value = 0;
	for (;; (*at)++) {
		unsigned int digit = **at >= '0' && **at <= '9' ? (unsigned int)(**at - '0') :
				     **at >= 'a' && **at <= 'f' ? (unsigned int)(**at - 'a') + 10 :
				     base;

		if (digit >= base)
			return *at > from;
		*value = *value * base + digit;
	}
}

/* Where the value of "key=" among the words begins, or NULL. */
static const char *value_of(const char *line, const char *key)
{
	size_t size = strlen(key);

	for (const char *at = line; (at = strstr(at, key)); at += size)
		if ((at == line || at[-1] == ' ') && at[size] == '=')
			return at + size + 1;
	return NULL;
}

static bool field(const char *line, const char *key, unsigned int base, uint64_t *value)
{
	const char *at = value_of(line, key);

	return at && number(&at, base, value);
}

/* S.NNNNNNNNN in nanoseconds. */
static bool seconds(const char *at, uint64_t *ns)
{
	uint64_t whole, part;
	const char *point;

	if (!number(&at, 10, &whole) || *at != '.')
		return false;
	point = at++;
	if (!number(&at, 10, &part) || at - point != 10)
		return false;
	*ns = whole * 1000000000 + part;
	return true;
}

static void time_field(const char *line, const char *key, uint64_t *ns)
{
	const char *at = value_of(line, key);

	if (at)
		seconds(at, ns);
}

static bool word(const char **at, const char *what)
{
	size_t size = strlen(what);

	while (**at == ' ')
		(*at)++;
	if (strncmp(*at, what, size) || ((*at)[size] && (*at)[size] != ' '))
		return false;
	*at += size;
	return true;
}

static void take_range(struct reader *reader, const char *at)
{
	uint64_t start, end, n;
	bool taken;

	if (!number(&at, 16, &start) || !number(&at, 16, &end) || !number(&at, 10, &n) ||
	    !word(&at, "A64") || end - start != 4 * n || !n) {
		reader->malformed = true;
		return;
	}
	taken = word(&at, "E");
	if (!taken && !word(&at, "N"))
		reader->malformed = true;
	judge_instructions(reader->judge, start, n, taken ? JUDGE_TAKEN : JUDGE_NOT_TAKEN, 0);
}

static bool stamp(const struct recording *recording, const struct history_event *event,
		  uint64_t *ns)
{
	if (event->kind != LOG_TIME && event->kind != LOG_STAY)
		return false;
	*ns = recording_ns(recording, event->fields[event->kind == LOG_TIME ? 0 : 2]);
	return true;
}

/* What comes next in the log is not from before that time. Only where what is passed is lost. */
static void advance(struct recording *recording, struct judge *judge, uint64_t since)
{
	const struct history *history = judge->history;
	struct history_place at = judge->place;
	uint64_t skipped = 0, ns;

	while (at.item < history->n) {
		const struct history_event *event = history_event(history, &at);
		const struct log_block *block = history_block(history, &at);

		if (block) {
			if (history_traced(&at.state))
				skipped += block->n - at.within;
			history_go(history, &at, block->n - at.within);
			continue;
		}
		if (stamp(recording, event, &ns)) {
			if (ns + RECORDING_SLACK >= since)
				break;
			judge->place = at;
			judge->counts.skipped += skipped;
			skipped = 0;
		}
		history_pass(history, &at);
	}
}

/* A piece of this CPU begins. */
static void begin(struct reader *reader)
{
	struct recording *recording = reader->recording;
	struct judge *judge = reader->judge;

	recording->sessions++;
	/* What was executed before the recording is another's; what came after a gap is lost. */
	judge_break(judge, !recording->begun[reader->cpu]);
	if (judge->explained && reader->piece)
		advance(recording, judge, reader->piece->since);
	recording->begun[reader->cpu] = true;
}

/* The piece is the one whose time was told, and comes after the task's one before. */
static void check_piece(struct reader *reader, bool open)
{
	struct recording *recording = reader->recording;
	const struct recording_piece *piece = reader->piece;
	struct recording_task *task = recording_task(recording, reader->tid);

	if (!task || !piece || piece->cpu != reader->cpu || piece->tid != reader->tid) {
		recording_fail(recording, "line %" PRIu64 ": a piece of task %u on CPU %u; the archive "
			       "has none there%s", recording->lines, reader->tid, reader->cpu,
			       open ? "" : ", or its time is not told");
		return;
	}
	reader->piece = NULL;
	/* Each CPU has one of that number. */
	if (!task->tid)
		return;
	if (piece->since < task->time)
		recording_fail(recording, "line %" PRIu64 ": the piece of task %u begins at %" PRIx64
			       ", before its piece before", recording->lines, reader->tid, piece->since);
	if (task->time)
		recording->moves += task->cpu != reader->cpu;
	else if (recording->wide ? !recording->started[reader->cpu] :
		 !task->started || task->cpu != reader->cpu)
		recording_fail(recording, "line %" PRIu64 ": no gap tells that task %u begins on CPU %u",
			       recording->lines, reader->tid, reader->cpu);
	task->cpu = reader->cpu;
	task->time = piece->since;
}

/* The session is of the CPU and the task that the last context was of. */
static void enter(struct reader *reader)
{
	begin(reader);
	check_piece(reader, false);
	if (reader->trace_on)
		judge_trace_on(reader->judge);
	reader->session = reader->trace_on = false;
}

static void take_context(struct reader *reader, const char *at)
{
	struct recording *recording = reader->recording;
	struct judge_context context = { .nonsecure = true, .aarch64 = true };
	uint64_t contextid = 0, vmid = 0, tid = 0, cpu, width;
	const char *line = at;
	bool other;

	if (!word(&at, "A64") || at[0] != ' ' || at[1] != 'E' || at[2] != 'L' || at[3] < '0' ||
	    at[3] > '3' || !field(line, "cpu", 10, &cpu)) {
		reader->malformed = true;
		return;
	}
	/* Without: the idle task. */
	field(line, "tid", 10, &tid);
	context.el = at[3] - '0';
	at += 4;
	context.nonsecure = word(&at, "nonsecure");
	context.aarch64 = context.nonsecure && number(&at, 10, &width) && width == 64;
	if (cpu >= RECORDING_CPUS || !recording->histories[cpu]) {
		recording_fail(recording, "line %" PRIu64 ": there is no log of CPU %" PRIu64,
			       recording->lines, cpu);
		return;
	}
	other = !reader->judge || reader->cpu != cpu || reader->tid != tid;
	if (other && reader->judge && reader->judge->lost)
		judge_flush(reader->judge);
	reader->cpu = cpu;
	reader->tid = tid;
	reader->judge = &recording->judges[cpu];
	if (reader->session)
		enter(reader);
	else if (reader->piece)
		check_piece(reader, true);
	reader->judge->mark = recording_mark(recording, tid);
	context.has_contextid = field(line, "contextid", 16, &contextid);
	context.has_vmid = field(line, "vmid", 16, &vmid);
	context.contextid = (uint32_t)contextid;
	context.vmid = (uint32_t)vmid;
	judge_context(reader->judge, &context);
}

/* Where a piece begins. */
static void take_time(struct reader *reader, uint64_t ns)
{
	struct recording *recording = reader->recording;

	reader->piece = NULL;
	for (size_t i = 0; i < recording->npieces; i++)
		if (recording->pieces[i].since == ns)
			reader->piece = &recording->pieces[i];
	if (!reader->piece)
		recording_fail(recording, "line %" PRIu64 ": %" PRIu64 " ns is the time of no piece",
			       recording->lines, ns);
}

/* Ticks of the trace. */
static void take_timestamp(struct reader *reader, uint64_t value)
{
	struct recording *recording = reader->recording;
	struct recording_task *task;

	if (!reader->judge) {
		reader->malformed = true;
		return;
	}
	if (reader->session)
		enter(reader);
	task = recording_task(recording, reader->tid);
	if (task && task->tid && value < task->ticks)
		recording_fail(recording, "line %" PRIu64 ": task %u was at %" PRIx64 " and is at %"
			       PRIx64 " now", recording->lines, reader->tid, task->ticks, value);
	if (task)
		task->ticks = value;
	judge_side(reader->judge, JUDGE_TIMESTAMP, value);
}

static void take_start(struct reader *reader)
{
	struct recording *recording = reader->recording;
	struct recording_task *task = recording_task(recording, reader->tid);

	if (!task || (recording->wide ? recording->started[reader->cpu] : task->started))
		recording_fail(recording, "line %" PRIu64 ": task %u begins %s", recording->lines,
			       reader->tid, task ? "twice" : "and is none of the archive's");
	if (task) {
		task->started = true;
		task->cpu = reader->cpu;
	}
	recording->started[reader->cpu] = true;
	recording->starts++;
}

/* The record that tells of it, once. */
static bool told(struct recording *recording, const struct recording_gap *gap)
{
	for (size_t i = 0; i < recording->nrecords; i++) {
		struct recording_gap *record = &recording->records[i];

		if (record->told || record->cpu != gap->cpu || record->tid != gap->tid ||
		    record->cause != gap->cause || record->since != gap->since ||
		    record->until != gap->until || record->size != gap->size)
			continue;
		return record->told = true;
	}
	return recording_fail(recording, "line %" PRIu64 ": no record tells of this gap (CPU %u, task "
			      "%u, %s, from %" PRIx64 " to %" PRIx64 "), or it comes twice",
			      recording->lines, gap->cpu, gap->tid, flowtap_gap_name(gap->cause),
			      gap->since, gap->until);
}

static void take_loss(struct reader *reader, const char *line, uint32_t cause)
{
	struct recording *recording = reader->recording;
	struct recording_gap gap = { .cpu = reader->cpu, .tid = reader->tid, .cause = cause };
	const char *size = value_of(line, "size");

	time_field(line, "since", &gap.since);
	time_field(line, "until", &gap.until);
	if (size && !strncmp(size, "unknown", 7))
		gap.size = FLOWTAP_UNKNOWN;
	else
		field(line, "size", 10, &gap.size);
	if (!gap.since && gap.until)
		gap.since = recording->begin;
	if (!told(recording, &gap))
		return;
	if (!(recording->ngaps & (recording->ngaps - 1))) {
		void *more = realloc(recording->gaps, (recording->ngaps ? 2 * recording->ngaps : 1) *
				     sizeof(gap));

		if (!more) {
			recording_fail(recording, "no memory");
			return;
		}
		recording->gaps = more;
	}
	recording->gaps[recording->ngaps++] = gap;
	if (recording->begun[reader->cpu])
		judge_break(reader->judge, true);
}

/*
 * What waits for a Commit then, contexts as well, is gone: this may be the first that a session
 * says. The judge stands where the piece begins at the latest, or where decoding was: what was not
 * decoded from there on has the overflow in it.
 */
static void take_overflow(struct reader *reader)
{
	if (reader->session)
		enter(reader);
	judge_flush(reader->judge);
	reader->judge->overflowed |= reader->judge->lost;
	judge_overflow(reader->judge);
}

static void take_gap(struct reader *reader, const char *line)
{
	struct recording *recording = reader->recording;
	const char *at = line;

	if (!reader->judge) {
		recording_fail(recording, "line %" PRIu64 ": whose gap is this?", recording->lines);
		return;
	}
	if (word(&at, "overflow")) {
		take_overflow(reader);
	} else if (word(&at, "recorder")) {
		recording->recorder++;
		if (!(recording->modes & FLOWTAP_MODE_KERNEL))
			recording_fail(recording, "line %" PRIu64 ": only user mode was recorded",
				       recording->lines);
	} else if (word(&at, "start")) {
		take_start(reader);
	} else {
		for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
			if (!word(&at, flowtap_gap_name(cause)))
				continue;
			take_loss(reader, line, cause);
			return;
		}
		recording_fail(recording, "line %" PRIu64 ": the decoder cannot go on: gap %.200s",
			       recording->lines, line);
	}
}

static void take_flow(struct reader *reader, const char *line)
{
	struct judge *judge = reader->judge;
	const char *at = line;
	uint64_t value, address;

	if (word(&at, "range")) {
		take_range(reader, at);
	} else if (word(&at, "exception") && number(&at, 10, &value) &&
		   number(&at, 16, &address)) {
		judge_exception(judge, value, address);
	} else if (word(&at, "eret")) {
		judge_return(judge);
	} else if (word(&at, "trace_on")) {
		judge_trace_on(judge);
	} else if (word(&at, "cycles") && number(&at, 10, &value)) {
		judge_side(judge, JUDGE_CYCLES, value + 1);
	} else if (word(&at, "event") && number(&at, 10, &value)) {
		judge_side(judge, JUDGE_EVENT, value);
	} else {
		reader->malformed = true;
	}
}

static void take_line(struct reader *reader, const char *line)
{
	const char *at = line;
	uint64_t value;

	if (word(&at, "session")) {
		if (reader->judge && reader->judge->lost)
			judge_flush(reader->judge);
		reader->session = true;
		reader->trace_on = false;
		reader->piece = NULL;
	} else if (word(&at, "context")) {
		take_context(reader, at);
	} else if (word(&at, "time") && seconds(at, &value)) {
		take_time(reader, value);
	} else if (word(&at, "timestamp") && number(&at, 16, &value)) {
		take_timestamp(reader, value);
	} else if (word(&at, "gap")) {
		while (*at == ' ')
			at++;
		take_gap(reader, at);
	} else if (reader->session && word(&at, "trace_on")) {
		reader->trace_on = true;
	} else if (!reader->judge || reader->session) {
		reader->malformed = true;
	} else {
		take_flow(reader, line);
	}
}

static void init_judges(struct recording *recording)
{
	for (int i = 0; i < RECORDING_CPUS; i++) {
		if (!recording->histories[i])
			continue;
		judge_init(&recording->judges[i], recording->histories[i], "flowtap decode");
		recording->judges[i].covered = recording->covered[i];
		judge_break(&recording->judges[i], true);
		advance(recording, &recording->judges[i], recording->begin);
		recording->judges[i].counts.skipped = 0;
	}
}

/* Which line it is. */
static bool judge_failed(struct reader *reader)
{
	struct recording *recording = reader->recording;

	for (int i = 0; i < RECORDING_CPUS; i++)
		if (recording->histories[i] && recording->judges[i].failed)
			return !recording_fail(recording, "CPU %d, about line %" PRIu64 ": %.300s", i,
					       recording->lines, recording->judges[i].message);
	return recording->failed;
}

int recording_flow(struct recording *recording, FILE *flow)
{
	struct reader reader = { .recording = recording };
	static char line[LINE];

	init_judges(recording);
	while (!reader.malformed && fgets(line, sizeof(line), flow)) {
		recording->lines++;
		line[strcspn(line, "\n")] = 0;
		take_line(&reader, line);
		if (recording->failed || (reader.judge && reader.judge->failed))
			break;
	}
	if (reader.malformed)
		recording_fail(recording, "line %" PRIu64 ": what is this: %.200s", recording->lines,
			       line);
	for (int i = 0; i < RECORDING_CPUS && !judge_failed(&reader); i++)
		if (recording->histories[i])
			judge_end(&recording->judges[i], false);
	judge_failed(&reader);
	for (size_t i = 0; i < recording->nrecords && !recording->failed; i++)
		if (!recording->records[i].told)
			recording_fail(recording, "the gap %s of task %u on CPU %u from %" PRIx64 " to %"
				       PRIx64 " is not in the flow",
				       flowtap_gap_name(recording->records[i].cause),
				       recording->records[i].tid, recording->records[i].cpu,
				       recording->records[i].since, recording->records[i].until);
	return ferror(flow) ? -EIO : reader.malformed ? -EBADMSG : 0;
}
