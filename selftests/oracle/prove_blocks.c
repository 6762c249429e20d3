// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compares a sample with a drain: header, entries, sequence, and that no transfer between two
 * entries is missing.
 */
#include "prove_blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "opcode.h"

/* The kernel's addresses are hidden from whoever may see user mode only. */
static uint64_t shown(const struct drain *drain, uint64_t address)
{
	return oracle_is_kernel(address) && !(drain->control & ORACLE_CONTROL_S) ? 0 : address;
}

static bool same_entry(const struct drain *drain, const struct flowtap_entry *entry,
		       const struct entry *oracle)
{
	return entry->source == (shown(drain, oracle->source) | 1) &&
	       (entry->target & ~1ULL) == shown(drain, oracle->target) &&
	       ((entry->data & 15) == oracle->data || !(entry->data & 15));
}

/* The first entry that differs, nr if none does. */
static uint32_t first_difference(const struct run *run)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint32_t i = 0, nr = run->sample->record->nr;

	while (i < nr && same_entry(run->drain, &entries[i], &run->drain->entries[i]))
		i++;
	return i;
}

static bool same_ip(const struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	const struct drain *drain = run->drain;
	bool user = record->header.misc & FLOWTAP_MISC_USER;
	bool kernel = record->header.misc & FLOWTAP_MISC_KERNEL;

	if (user && kernel)
		return false;
	if (drain->by_overflow && record->trigger == FLOWTAP_TRIGGER_OVERFLOW)
		return user == drain->from_user && (!(user || kernel) || record->ip == drain->ip);
	/* A system call goes on after its ecall. */
	if (user)
		return record->ip == drain->user_pc || record->ip == drain->user_pc + 4 ||
		       record->ip == drain->user_pc + 2;
	return !kernel || oracle_is_kernel(record->ip);
}

/* The sample's chain, NULL: it begins one. */
static struct chain *find_chain(const struct run *run)
{
	const struct sample *sample = run->sample;
	bool wide = sample->record->header.misc & FLOWTAP_MISC_CPU_WIDE;
	uint32_t tid = wide ? sample->cpu : sample->record->tid;

	for (size_t i = run->n_chains; i--;)
		if (run->chains[i].tid == tid && run->chains[i].cpu_wide == wide &&
		    run->chains[i].archive == sample->archive)
			return &run->chains[i];
	return NULL;
}

/* Empty buffers are all alike: whose this was, tells which. */
static bool same_owner(const struct run *run)
{
	const struct chain *chain = find_chain(run);

	return run->sample->record->control == run->drain->control &&
	       (!chain || chain->task == NO_TASK || run->drain->task == NO_TASK ||
		chain->task == run->drain->task ||
		run->machine.tasks[chain->task].heir == run->drain->task);
}

bool prove_fits(const struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;

	if (!record->nr && !same_owner(run))
		return false;
	/* What was put aside a moment before looks the same. */
	if (record->trigger == FLOWTAP_TRIGGER_OVERFLOW && !run->drain->by_overflow)
		return false;
	return record->nr == run->drain->nr && record->depth == run->drain->depth &&
	       same_ip(run) && first_difference(run) == record->nr;
}

bool prove_resembles(const struct run *run)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint32_t nr = run->sample->record->nr, same = 0;

	/* What was put aside is full of the same loops. */
	if (nr != run->drain->nr || run->drain->by_overflow !=
	    (run->sample->record->trigger == FLOWTAP_TRIGGER_OVERFLOW))
		return false;
	for (uint32_t i = 0; i < nr; i++)
		same += same_entry(run->drain, &entries[i], &run->drain->entries[i]);
	return same && 4 * same >= 3 * nr;
}

static void tell_entries(struct run *run, uint32_t at)
{
	const struct flowtap_entry *entries = sample_entries(run->sample);
	uint32_t nr = run->sample->record->nr;

	for (uint32_t i = at > 2 ? at - 2 : 0; i < nr && i < at + 3; i++) {
		const struct entry *oracle = &run->drain->entries[i];

		tell(run->check, "  %c %3u  sample %012" PRIx64 " -> %012" PRIx64 " type %2u"
		     "   log %012" PRIx64 " -> %012" PRIx64 " type %2u", i == at ? '>' : ' ', i,
		     (uint64_t)entries[i].source, (uint64_t)entries[i].target,
		     (unsigned int)entries[i].data & 15, oracle->source, oracle->target,
		     (unsigned int)oracle->data);
	}
}

/* Where both differ if the newest are beside each other. */
static void tell_numbers(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	const struct flowtap_entry *entries = sample_entries(run->sample);
	const struct drain *drain = run->drain;
	uint32_t back = 1;

	tell(run->check, "  %u entries in the sample (depth %u), %u in the registers (depth %u)",
	     record->nr, record->depth, drain->nr, drain->depth);
	while (back <= record->nr && back <= drain->nr &&
	       same_entry(drain, &entries[record->nr - back], &drain->entries[drain->nr - back]))
		back++;
	for (; back <= record->nr && back <= drain->nr; back = record->nr + 1) {
		const struct flowtap_entry *entry = &entries[record->nr - back];
		const struct entry *oracle = &drain->entries[drain->nr - back];

		tell(run->check, "  %u before the end: sample %012" PRIx64 " -> %012" PRIx64
		     " type %2u   log %012" PRIx64 " -> %012" PRIx64 " type %2u", back - 1,
		     (uint64_t)entry->source, (uint64_t)entry->target,
		     (unsigned int)entry->data & 15, oracle->source, oracle->target,
		     (unsigned int)oracle->data);
	}
}

static void compare_entries(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	uint32_t different;

	if (record->nr != run->drain->nr || record->depth != run->drain->depth) {
		if (mismatch(run))
			tell_numbers(run);
		return;
	}
	different = first_difference(run);
	if (different < record->nr && mismatch(run))
		tell_entries(run, different);
	run->check->counts.transfers += different;
	for (uint32_t i = 0; i < different; i++)
		run->sample->archive->types[run->drain->entries[i].data & 15]++;
	for (uint32_t i = 0; i < different; i++)
		run->check->counts.kernel_transfers +=
			oracle_is_kernel(run->drain->entries[i].source) ||
			oracle_is_kernel(run->drain->entries[i].target);
	if (!run->drain->ordered)
		wrong(run, "the entries were not read in the order of their number");
}

static void compare_header(struct run *run)
{
	const struct flowtap_record_sample *record = run->sample->record;
	const struct flowtap_context *context = &run->sample->context;
	const struct drain *drain = run->drain;

	if (!same_ip(run))
		wrong(run, "ip 0x%" PRIx64 " misc %x, interrupted was %s 0x%" PRIx64,
		      (uint64_t)record->ip, record->header.misc,
		      !drain->by_overflow || drain->from_user ? "user mode at" : "the kernel at",
		      drain->by_overflow ? drain->ip : drain->user_pc);
	if (record->control != drain->control)
		wrong(run, "control %" PRIx64 ", sctrctl was %" PRIx64, (uint64_t)record->control,
		      drain->control);
	if (record->cpu != run->sample->cpu)
		wrong(run, "in the ring of CPU %u, but cpu %u", run->sample->cpu, record->cpu);
	if (run->sample->n && (context->pid != record->pid || context->tid != record->tid ||
			       context->cpu != record->cpu || context->isa != FLOWTAP_ISA_RV64 ||
			       (context->mode != FLOWTAP_PRIVILEGE_U &&
				!(drain->control & ORACLE_CONTROL_S))))
		wrong(run, "decoded as pid %u tid %u cpu %u mode %u isa %u", context->pid,
		      context->tid, context->cpu, context->mode, context->isa);
	if (!drain->window->one_task)
		wrong(run, "what was recorded is of more than one task");
	if (drain->again && !(drain->control & ORACLE_CONTROL_RASEMU))
		wrong(run, "there are entries in it that a sample before had already");
	run->check->counts.across_exec += !drain->window->one_satp;
}

/* A transfer is between two entries (or an entry and an end) and should have been recorded. */
static void missing(struct run *run, const struct history *history, uint64_t from, uint64_t to,
		    const char *where, bool user)
{
	uint64_t at;

	if (from >= to)
		return;
	at = history_find(history, from, to, run->drain->control, user, !user);
	if (at < to)
		wrong(run, "transfer %" PRIu64 " of %s, of type %u, is missing %s", at,
		      user ? "the task" : "the hart", history->list[at] & 15, where);
}

/* Entry b follows entry a. */
static void follow(struct run *run, const struct entry *a, const struct entry *b)
{
	const struct origin *x = &a->origin, *y = &b->origin;
	struct machine *machine = &run->machine;
	uint64_t marked;

	if (x->hart == y->hart && x->in_hart >= y->in_hart)
		wrong(run, "an entry (0x%" PRIx64 ") is not younger than the one before",
		      b->source);
	if (!(run->drain->control & ORACLE_CONTROL_S))
		return;
	marked = history_marked(&machine->harts[y->hart].history, y->in_hart);
	if (x->hart == y->hart && x->in_hart >= marked) {
		missing(run, &machine->harts[x->hart].history, x->in_hart + 1, y->in_hart,
			"between entries", false);
		return;
	}
	missing(run, &machine->harts[x->hart].history, x->in_hart + 1,
		machine->harts[x->hart].history.n, "before a pause", false);
	missing(run, &machine->harts[y->hart].history, marked, y->in_hart, "after a pause", false);
}

/* All entries come from transfers of one task, in order, and no other lies between them. */
static void compare_origins(struct run *run)
{
	const struct drain *drain = run->drain;
	const struct history *history = NULL;
	const struct origin *before = NULL;
	bool exact = !(drain->control & ORACLE_CONTROL_S);

	for (unsigned int i = 0; i < drain->nr; i++) {
		const struct entry *entry = &drain->entries[i];
		const struct origin *origin = &entry->origin;

		if (entry->written) {
			wrong(run, "entry %u (0x%" PRIx64 ") was put in by the driver", i,
			      entry->source);
			return;
		}
		if (i && !drain->entries[i - 1].written)
			follow(run, entry - 1, entry);
		if (origin->task == NO_TASK)
			continue;
		if (origin->task != drain->task) {
			wrong(run, "entry %u (0x%" PRIx64 ") is of another task", i, entry->source);
			return;
		}
		history = &run->machine.tasks[origin->task].history;
		if (before)
			missing(run, history, before->in_task + 1, origin->in_task,
				"between entries", true);
		before = origin;
	}
	if (before)
		missing(run, history, before->in_task + 1, drain->in_task, "after the last entry",
			true);
	if (drain->nr && !exact)
		missing(run, &run->machine.harts[drain->hart].history,
			drain->entries[drain->nr - 1].origin.in_hart + 1, drain->in_hart,
			"after the last entry", false);
}

static struct chain *chain_of(struct run *run)
{
	const struct sample *sample = run->sample;
	bool wide = sample->record->header.misc & FLOWTAP_MISC_CPU_WIDE;
	struct chain *chain = find_chain(run);

	if (chain)
		return chain;
	if (run->n_chains == run->room_chains) {
		size_t capacity = run->room_chains ? 2 * run->room_chains : 64;
		struct chain *more = reallocarray(run->chains, capacity, sizeof(*more));

		if (!more)
			return NULL;
		run->chains = more;
		run->room_chains = capacity;
	}
	run->chains[run->n_chains] = (struct chain){
		.archive = sample->archive,
		.cpu_wide = wide,
		.pid = sample->record->pid,
		.tid = wide ? sample->cpu : sample->record->tid,
		.task = NO_TASK,
		.from = sample->record->time,
	};
	run->check->counts.tasks += !wide;
	sample->archive->tasks += !wide;
	return &run->chains[run->n_chains++];
}

/* From where on the sample has to have everything; UINT64_MAX: it need not. */
static uint64_t begins(const struct run *run, const struct chain *chain, bool in_hart)
{
	const struct flowtap_record_sample *record = run->sample->record;

	if (chain->any && !record->loss)
		return in_hart ? chain->in_hart : chain->in_task;
	if (!chain->any && chain->archive->whole && !in_hart && run->drain->task != NO_TASK &&
	    !run->drain->unsure && run->machine.tasks[run->drain->task].began != UINT64_MAX)
		return run->machine.tasks[run->drain->task].began_at;
	return UINT64_MAX;
}

/* No transfer lies between the sample before and this one's first entry. */
static void compare_begin(struct run *run, const struct chain *chain)
{
	const struct drain *drain = run->drain;
	uint64_t begin = begins(run, chain, chain->cpu_wide), end;

	if (begin == UINT64_MAX || drain->control & ORACLE_CONTROL_RASEMU)
		return;
	if (chain->cpu_wide) {
		end = drain->nr ? drain->entries[0].origin.in_hart : drain->in_hart;
		missing(run, &run->machine.harts[drain->hart].history, begin, end,
			"before the first entry", true);
		return;
	}
	if (drain->task == NO_TASK)
		return;
	end = drain->in_task;
	for (unsigned int i = drain->nr; i--;)
		if (drain->entries[i].origin.task != NO_TASK)
			end = drain->entries[i].origin.in_task;
	missing(run, &run->machine.tasks[drain->task].history, begin, end,
		"before the first entry", true);
}

/* Contiguity is a CPU's or a task's, and so is what breaks it. */
static bool *dropped_flag(struct run *run, const struct chain *chain)
{
	if (chain->cpu_wide)
		return &run->machine.harts[run->drain->hart].dropped;
	return run->drain->task == NO_TASK ? NULL : &run->machine.tasks[run->drain->task].dropped;
}

static void compare_contiguity(struct run *run, struct chain *chain)
{
	const struct flowtap_record_sample *record = run->sample->record;
	bool none = false, *dropped = dropped_flag(run, chain);

	if (!dropped)
		dropped = &none;
	if (chain->any && !record->loss) {
		run->check->counts.contiguous++;
		if (record->sequence != chain->sequence + 1)
			wrong(run, "sequence %" PRIu64 " after %" PRIu64 ", but no loss is told",
			      (uint64_t)record->sequence, chain->sequence);
		if (*dropped)
			wrong(run, "claims to follow the sample before without loss, but entries"
			      " were cleared away in between");
	}
	if (!record->loss && (record->nr == record->depth || !chain->any) &&
	    !(run->drain->control & ORACLE_CONTROL_RASEMU))
		wrong(run, "no loss is told before it, %s", chain->any ?
		      "though the buffer was full" : "though it is the first one");
	if (chain->any && record->loss && chain->archive->whole)
		wrong(run, "a loss (%x) in what has to be whole", record->loss);
	*dropped = false;
	compare_begin(run, chain);
}

static void compare_owner(struct run *run, struct chain *chain)
{
	const struct flowtap_record_sample *record = run->sample->record;
	uint32_t task = run->drain->task;

	if (chain->task == NO_TASK) {
		/* A first sample without entries: what it was paired with may have been a look at another. */
		if (!record->nr)
			return;
		chain->task = task;
	} else if (run->machine.tasks[chain->task].heir == task) {
		/* It was in the kernel until now: nothing in user mode was before. */
		chain->task = task;
		chain->in_task = chain->user = 0;
	}
	if (task != NO_TASK && chain->task != task)
		wrong(run, "tid %u was task %" PRIx64 " before, is task %" PRIx64, record->tid,
		      run->machine.tasks[chain->task].pointer, run->machine.tasks[task].pointer);
	if (chain->pid != record->pid)
		wrong(run, "tid %u was of pid %u before, is of pid %u", record->tid, chain->pid,
		      record->pid);
}

/* With both modes recorded it is known all the time where user mode goes on. */
static void compare_user(struct run *run, const struct chain *chain, const struct flow_match *match)
{
	const uint64_t both = ORACLE_CONTROL_S | ORACLE_CONTROL_U;
	uint64_t all = run->drain->user - chain->user;

	if (!chain->any || run->sample->record->loss || chain->cpu_wide || match->hidden ||
	    (run->drain->control & both) != both || !match->whole)
		return;
	run->check->counts.complete += all;
	if (match->user != all)
		wrong(run, "%" PRIu64 " instructions were executed in user mode, the flow has %"
		      PRIu64, all, match->user);
}

static int compare_chain(struct run *run, const struct flow_match *match)
{
	const struct flowtap_record_sample *record = run->sample->record;
	struct chain *chain = chain_of(run);

	if (!chain)
		return -ENOMEM;
	if (!chain->cpu_wide)
		compare_owner(run, chain);
	compare_contiguity(run, chain);
	compare_user(run, chain, match);
	chain->run = chain->any && !record->loss ? chain->run + 1 : 1;
	if (chain->run > chain->archive->run)
		chain->archive->run = chain->run;
	chain->any = true;
	chain->sequence = record->sequence;
	chain->in_task = run->drain->in_task;
	chain->in_hart = run->drain->in_hart;
	chain->control = run->drain->control;
	chain->user = run->drain->user;
	if (record->time < chain->from)
		chain->from = record->time;
	if (record->time > chain->until)
		chain->until = record->time;
	return 0;
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

int prove_sample(struct run *run)
{
	struct flow_match match;

	run->check->counts.samples++;
	run->sample->archive->samples++;
	compare_entries(run);
	compare_header(run);
	if (!(run->drain->control & ORACLE_CONTROL_RASEMU))
		compare_origins(run);
	prove_flow(run, &match);
	compare_forbidden(run);
	return compare_chain(run, &match);
}

/* A kernel task has one tid, though its memory may be another's later on. */
static void compare_tids(struct run *run)
{
	for (size_t i = 0; i < run->n_chains; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct chain *a = &run->chains[i], *b = &run->chains[j];

			if (a->task != NO_TASK && a->task == b->task && a->tid != b->tid &&
			    !a->cpu_wide && !b->cpu_wide && a->from < b->until &&
			    b->from < a->until)
				wrong(run, "task %" PRIx64 " was tid %u and tid %u at once",
				      run->machine.tasks[a->task].pointer, a->tid, b->tid);
		}
	}
}

static void compare_whole(struct run *run, const struct chain *chain)
{
	const struct task *task = &run->machine.tasks[chain->task];
	uint64_t at = history_find(&task->history, chain->in_task, task->history.n, chain->control,
				   true, false);
	uint64_t before = run->check->counts.mismatches;

	if (at < task->history.n)
		wrong(run, "tid %u: after its last sample %" PRIu64 " more transfers follow",
		      chain->tid, task->history.n - at);
	run->check->counts.whole += run->check->counts.mismatches == before;
}

void prove_end(struct run *run)
{
	run->sample = NULL;
	run->drain = NULL;
	compare_tids(run);
	for (size_t i = 0; i < run->n_chains; i++)
		if (run->chains[i].archive->whole && run->chains[i].task != NO_TASK)
			compare_whole(run, &run->chains[i]);
}
