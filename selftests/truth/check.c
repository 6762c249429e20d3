// SPDX-License-Identifier: GPL-2.0-only
#include "check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Which kernel task a tid was. */
struct task {
	const struct archive *archive;
	uint32_t pid;
	uint32_t tid;
	uint64_t task;			/* 0 not known yet */
	uint64_t from, until;		/* times of its samples */
	uint64_t sequence;		/* of its newest sample: */
	uint32_t cpu;
	bool known;			/* the log knows that that was of this task */
};

struct run {
	struct check *check;
	const struct samples *samples;
	struct truth_code code;
	struct transfers transfers;
	struct task *tasks;
	size_t n_tasks, room_tasks;
	/* What is being compared. */
	unsigned int hart;
	const struct sample *sample;
	const struct drain *drain;
};

static void tell(struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void tell(struct check *check, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	check->tell(check, line);
}

/* Counts a mismatch; true if it is to be told, and then where it is has been. */
static bool mismatch(struct run *run)
{
	struct check *check = run->check;

	if (run->sample)
		run->sample->archive->mismatches++;
	if (check->counts.mismatches++ >= check->tell_most)
		return false;
	if (run->sample)
		tell(check, "%s: sample %zu of CPU %u, tid %u, sequence %" PRIu64 ", %u entries:",
		     run->sample->archive->path, run->sample->number, run->sample->cpu,
		     run->sample->record->tid, (uint64_t)run->sample->record->sequence,
		     run->sample->record->nr);
	if (run->drain)
		tell(check, "  drain of hart %u at 0x%zx of its log, %zu steps, %zu transfers:",
		     run->hart, run->drain->offset, run->drain->n, run->transfers.n);
	return true;
}

#define wrong(run, ...) do { if (mismatch(run)) tell((run)->check, "  " __VA_ARGS__); } while (0)

/* The sample's entry i is the log's transfer expected(i). */
static size_t expected(const struct run *run, uint32_t i)
{
	return run->transfers.n - run->sample->record->nr + i;
}

static bool same_entry(const struct flowtap_entry *entry, const struct transfer *transfer)
{
	uint8_t type = entry->data & 15;

	return entry->source == (transfer->source | 1) &&
	       (entry->target & ~1ULL) == transfer->target &&
	       (type == transfer->type || !type);
}

static bool same_number(const struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	size_t want = run->transfers.n < record->depth ? run->transfers.n : record->depth;

	return record->nr == want && run->drain->reads == want + (want < record->depth);
}

/* The first entry that differs, nr if none does. */
static uint32_t first_difference(const struct run *run)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint32_t i = 0, nr = run->sample->record->nr;

	while (i < nr && same_entry(&entries[i], &run->transfers.list[expected(run, i)]))
		i++;
	return i;
}

static bool same_ip(const struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;

	if (!run->drain->from_user)
		return !(record->header.misc & FLOWTAP_MISC_USER);
	return record->header.misc & FLOWTAP_MISC_USER && run->drain->n &&
	       record->ip == run->drain->steps[run->drain->n - 1].pc;
}

/* Whether this sample can be this drain's: for finding the way after a lost one. */
static bool fits(const struct run *run)
{
	return same_number(run) && same_ip(run) &&
	       first_difference(run) == run->sample->record->nr;
}

static void tell_entries(struct run *run, uint32_t at)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint32_t nr = run->sample->record->nr;

	for (uint32_t i = at > 2 ? at - 2 : 0; i < nr && i < at + 3; i++) {
		const struct transfer *transfer = &run->transfers.list[expected(run, i)];

		tell(run->check, "  %c %3u  sample %012" PRIx64 " -> %012" PRIx64 " type %2u"
		     "   log %012" PRIx64 " -> %012" PRIx64 " type %2u", i == at ? '>' : ' ', i,
		     (uint64_t)entries[i].source, (uint64_t)entries[i].target,
		     (unsigned int)entries[i].data & 15, transfer->source, transfer->target,
		     transfer->type);
	}
}

static void compare_entries(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	uint32_t different;

	if (!same_number(run)) {
		wrong(run, "%u entries in the sample (depth %u, %u read), %zu in the log",
		      record->nr, record->depth, run->drain->reads, run->transfers.n);
		return;
	}
	different = first_difference(run);
	if (different < record->nr && mismatch(run))
		tell_entries(run, different);
	run->check->counts.transfers += different;
	if (!run->drain->ordered)
		wrong(run, "the entries were not read in the order of their number");
}

static void compare_header(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	const struct flowtap_context *context = &run->sample->context;

	if (!same_ip(run))
		wrong(run, "ip 0x%" PRIx64 " misc %x, interrupted was %s 0x%" PRIx64,
		      (uint64_t)record->ip, record->header.misc,
		      run->drain->from_user ? "user mode at" : "the kernel, before",
		      run->drain->n ? run->drain->steps[run->drain->n - 1].pc : 0);
	if (record->control != run->drain->control)
		wrong(run, "control %" PRIx64 ", sctrctl was %" PRIx64, (uint64_t)record->control,
		      run->drain->control);
	if (record->cpu != run->sample->cpu)
		wrong(run, "in the ring of CPU %u, but cpu %u", run->sample->cpu, record->cpu);
	if (run->sample->n && (context->pid != record->pid || context->tid != record->tid ||
			       context->cpu != record->cpu || context->mode != FLOWTAP_MODE_U ||
			       context->isa != FLOWTAP_ISA_RV64))
		wrong(run, "decoded as pid %u tid %u cpu %u mode %u isa %u", context->pid,
		      context->tid, context->cpu, context->mode, context->isa);
	if (!run->drain->one_task)
		wrong(run, "what was recorded is of more than one task");
	run->check->counts.across_exec += !run->drain->one_satp;
}

static struct task *task_of(struct run *run)
{
	const struct sample *sample = run->sample;

	for (size_t i = run->n_tasks; i--;)
		if (run->tasks[i].tid == sample->record->tid &&
		    run->tasks[i].archive == sample->archive)
			return &run->tasks[i];
	if (run->n_tasks == run->room_tasks) {
		size_t room = run->room_tasks ? 2 * run->room_tasks : 64;
		struct task *more = reallocarray(run->tasks, room, sizeof(*more));

		if (!more)
			return NULL;
		run->tasks = more;
		run->room_tasks = room;
	}
	run->tasks[run->n_tasks] = (struct task){
		.archive = sample->archive,
		.pid = sample->record->pid,
		.tid = sample->record->tid,
		.task = run->drain->task,
		.from = sample->record->time,
		.until = sample->record->time,
		.sequence = UINT64_MAX,
	};
	run->check->counts.tasks++;
	sample->archive->tasks++;
	return &run->tasks[run->n_tasks++];
}

static int compare_task(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	struct task *task = task_of(run);

	if (!task)
		return -ENOMEM;
	if (!task->task)
		task->task = run->drain->task;
	if (run->drain->task && task->task != run->drain->task)
		wrong(run, "tid %u was task %" PRIx64 " before, is task %" PRIx64, record->tid,
		      task->task, run->drain->task);
	if (task->pid != record->pid)
		wrong(run, "tid %u was of pid %u before, is of pid %u", record->tid, task->pid,
		      record->pid);
	if (!record->loss && task->cpu == record->cpu && task->sequence + 1 == record->sequence &&
	    task->known) {
		run->check->counts.contiguous++;
		if (run->drain->lost || run->transfers.n > record->nr)
			wrong(run, "claims to follow the sample before without loss, but %s",
			      run->drain->lost ? "the task was not recorded in between" :
			      "the buffer lost its oldest transfers");
	}
	task->sequence = record->sequence;
	task->cpu = record->cpu;
	/* Where nothing was executed the log cannot tell whose buffer was drained. */
	task->known = run->drain->task;
	if (record->time < task->from)
		task->from = record->time;
	if (record->time > task->until)
		task->until = record->time;
	return 0;
}

/* A kernel task has one tid, though its memory may be another's later on. */
static void compare_tids(struct run *run)
{
	for (size_t i = 0; i < run->n_tasks; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct task *a = &run->tasks[i], *b = &run->tasks[j];

			if (a->task && a->task == b->task && a->tid != b->tid &&
			    a->from < b->until && b->from < a->until)
				wrong(run, "task %" PRIx64 " was tid %u and tid %u at once",
				      a->task, a->tid, b->tid);
		}
	}
}

static void compare_flow(struct run *run)
{
	const struct sample *sample = run->sample;
	struct flow_match match;
	size_t at;

	if (sample->record->nr > run->transfers.n)
		return;
	if (!flow_match(&match, sample->archive->flow.items + sample->first, sample->n, run->drain,
			&run->transfers, sample->record->nr) && mismatch(run)) {
		tell(run->check, "  %s", match.problem);
		at = match.step > 2 ? match.step - 2 : 0;
		for (size_t i = at; i < run->drain->n && i < at + 6; i++)
			tell(run->check, "  %c step %zu: %s 0x%" PRIx64 " %08x",
			     i == match.step ? '>' : ' ', i,
			     run->drain->steps[i].kind == STEP_INSN ? "executed" :
			     run->drain->steps[i].kind == STEP_TRAP ? "trap at" : "break",
			     run->drain->steps[i].pc, run->drain->steps[i].opcode);
	}
	run->check->counts.reconstructed += match.instructions;
	sample->archive->reconstructed += match.instructions;
	run->check->counts.skipped += match.skipped;
	run->check->counts.hidden += match.hidden;
}

static void compare_forbidden(struct run *run)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint64_t from = run->sample->archive->forbid_from;
	uint64_t size = run->sample->archive->forbid_to - from;

	for (uint32_t i = 0; i < run->sample->record->nr; i++) {
		if (entries[i].source - from < size || entries[i].target - from < size) {
			wrong(run, "entry %u, %" PRIx64 " -> %" PRIx64 ", is in the forbidden range",
			      i, (uint64_t)entries[i].source, (uint64_t)entries[i].target);
			return;
		}
	}
}

static int compare(struct run *run)
{
	run->check->counts.samples++;
	run->sample->archive->samples++;
	compare_entries(run);
	compare_header(run);
	compare_flow(run);
	compare_forbidden(run);
	return compare_task(run);
}

static int expect_of(struct run *run, const struct drain *drain, const char **why)
{
	size_t bad;
	int err;

	run->drain = drain;
	err = transfers_make(&run->transfers, drain, &bad);
	if (err != -EBADMSG)
		return err;
	run->sample = NULL;
	if (mismatch(run))
		tell(run->check, "  step %zu at 0x%" PRIx64 " cannot be followed by 0x%" PRIx64,
		     bad, drain->steps[bad].pc, bad + 1 < drain->n ? drain->steps[bad + 1].pc : 0);
	*why = "the log contradicts itself: the plugin is wrong";
	return err;
}

/* Drains and samples in lockstep; a drain without its sample must be one that the ring lost. */
static int check_hart(struct run *run, struct steps *steps, const struct sample *sample,
		      const struct sample *end, const char **why)
{
	struct drain drain;
	int more, err;

	while ((more = steps_next(steps, &drain)) > 0) {
		err = expect_of(run, &drain, why);
		if (err)
			return err;
		run->sample = sample < end ? sample : NULL;
		if ((!run->sample || !fits(run)) && run->check->counts.lost < run->samples->lost) {
			run->check->counts.lost++;
			continue;
		}
		if (!run->sample) {
			wrong(run, "no sample of this drain, and none was reported as lost");
			continue;
		}
		err = compare(run);
		if (err)
			return err;
		sample++;
	}
	run->drain = NULL;
	for (; sample < end; sample++) {
		run->sample = sample;
		wrong(run, "there is no such drain in the log");
	}
	if (more == -EBADMSG)
		*why = "a hart's log is damaged";
	return more;
}

/* Harts and CPUs are numbered each on its own: the first sample tells who is who. */
static int find_hart(struct run *run, const bool taken[CHECK_HARTS], const struct sample *sample,
		     const char **why)
{
	struct check *check = run->check;
	int only = -1, candidates = 0;

	for (unsigned int hart = 0; hart < check->counts.harts; hart++) {
		struct steps steps;
		struct drain drain;
		int err;

		if (taken[hart])
			continue;
		err = steps_open(&steps, &run->code, check->prefix, hart);
		if (err < 0)
			return err;
		err = steps_next(&steps, &drain);
		if (err > 0) {
			only = hart;
			candidates++;
			run->hart = hart;
			err = expect_of(run, &drain, why);
			run->sample = sample;
			if (!err && fits(run)) {
				steps_close(&steps);
				return hart;
			}
		}
		steps_close(&steps);
		if (err == -EBADMSG && !*why)
			*why = "a hart's log is damaged";
		if (err < 0)
			return err;
	}
	if (candidates == 1)
		return only;
	*why = "no hart's first drain is the first sample of a CPU";
	return -EBADMSG;
}

static void add_counts(struct steps_counts *sum, const struct steps_counts *counts)
{
	sum->instructions += counts->instructions;
	sum->recorded += counts->recorded;
	sum->drains += counts->drains;
	sum->entries += counts->entries;
	sum->uncleared += counts->uncleared;
	sum->strays += counts->strays;
	sum->samples += counts->samples;
	sum->cost.kernel += counts->cost.kernel;
	sum->cost.module += counts->cost.module;
	sum->cost.machine += counts->cost.machine;
	sum->entries_read += counts->entries_read;
	sum->entry_pairs += counts->entry_pairs;
	sum->entry_cost += counts->entry_cost;
	if (!sum->entry_least || counts->entry_least < sum->entry_least)
		sum->entry_least = counts->entry_least;
	if (counts->entry_most > sum->entry_most)
		sum->entry_most = counts->entry_most;
}

static int check_one(struct run *run, unsigned int hart, const struct sample *first,
		     const struct sample *end, const char **why)
{
	struct steps steps;
	int err = steps_open(&steps, &run->code, run->check->prefix, hart);

	if (err < 0)
		return err;
	run->hart = hart;
	err = check_hart(run, &steps, first, end, why);
	add_counts(&run->check->counts.log, &steps.counts);
	steps_close(&steps);
	return err;
}

static int check_all(struct run *run, const char **why)
{
	const struct sample *list = run->samples->list;
	bool taken[CHECK_HARTS] = { false };
	size_t first, end;
	int err = 0;

	for (first = 0; first < run->samples->n && err >= 0; first = end) {
		for (end = first; end < run->samples->n && list[end].cpu == list[first].cpu;)
			end++;
		err = find_hart(run, taken, &list[first], why);
		if (err < 0)
			break;
		taken[err] = true;
		run->check->cpu_of[err] = list[first].cpu;
		err = check_one(run, err, &list[first], &list[end], why);
	}
	/* Harts that no sample is of must have drained nothing either. */
	for (unsigned int hart = 0; hart < run->check->counts.harts && err >= 0; hart++)
		if (!taken[hart])
			err = check_one(run, hart, NULL, NULL, why);
	return err;
}

static int count_harts(struct run *run)
{
	struct truth_hart hart;
	int err;

	while (run->check->counts.harts < CHECK_HARTS) {
		err = truth_hart_open(&hart, &run->code, run->check->prefix,
				      run->check->counts.harts);
		if (err)
			return err == -ENOENT && run->check->counts.harts ? 0 : err;
		truth_hart_close(&hart);
		run->check->counts.harts++;
	}
	return 0;
}

static void compare_totals(struct run *run)
{
	const struct check_counts *counts = &run->check->counts;

	run->sample = NULL;
	run->drain = NULL;
	compare_tids(run);
	if (counts->log.uncleared)
		wrong(run, "after %" PRIu64 " drains the buffer was not cleared",
		      counts->log.uncleared);
	if (counts->log.strays)
		wrong(run, "recording went on into another task %" PRIu64 " times",
		      counts->log.strays);
	if (counts->lost != run->samples->lost)
		wrong(run, "%" PRIu64 " samples were reported as lost, %" PRIu64 " are missing",
		      run->samples->lost, counts->lost);
}

int check_run(struct check *check, const struct samples *samples, const char **why)
{
	struct run run = { .check = check, .samples = samples };
	int err;

	memset(&check->counts, 0, sizeof(check->counts));
	for (int i = 0; i < CHECK_HARTS; i++)
		check->cpu_of[i] = -1;
	*why = NULL;
	err = truth_code_open(&run.code, check->prefix);
	if (err)
		return err;
	err = count_harts(&run);
	if (!err)
		err = check_all(&run, why);
	if (!err)
		compare_totals(&run);
	transfers_free(&run.transfers);
	free(run.tasks);
	truth_code_close(&run.code);
	return err;
}
