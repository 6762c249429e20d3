// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that AUX records of two CPUs and tasks that move between them become each task's own flow,
 * instruction for instruction, and that each loss is exactly one gap, in which it lies: random
 * programs, executions, time slices, streams cut into records, programs executed, and losses.
 *
 * FLOWTAP_SEED=N: the seed; FLOWTAP_RUNS=N: recordings of each kind; FLOWTAP_KIND=N,
 * FLOWTAP_ONLY=N: only these.
 */
#include <stdio.h>

#include "aux.h"
#include "kinds.h"

/* --- Judgement. --- */

static bool bad(const struct task *task, const char *what)
{
	printf("# tid %u: %s\n", task->tid, what);
	return false;
}

static bool gaps_equal(const struct task *task)
{
	for (size_t i = 0; i < task->n_expected || i < task->n_got; i++) {
		const struct loss *loss = &task->expected[i];
		const struct flowtap_gap *gap = &task->got[i];

		if (i == task->n_got || i == task->n_expected || loss->reason != gap->reason) {
			printf("# tid %u, gap %zu: wanted %s, got %s: %s\n", task->tid, i,
			       i < task->n_expected ? flowtap_gap_name(loss->reason) : "none",
			       i < task->n_got ? flowtap_gap_name(gap->reason) : "none",
			       i < task->n_got ? task->details[i] : "");
			return false;
		}
		if (loss->since != ANY && (gap->since > loss->since || gap->until < loss->until))
			return printf("# tid %u: %s lost in [%llu, %llu], gap [%llu, %llu]: %s\n",
				      task->tid, flowtap_gap_name(gap->reason),
				      (unsigned long long)loss->since, (unsigned long long)loss->until,
				      (unsigned long long)gap->since, (unsigned long long)gap->until,
				      task->details[i]), false;
	}
	return true;
}

/* Steps that are certain from the bytes before this one. */
static size_t certain(const struct piece *piece, size_t offset)
{
	size_t steps = 0;

	for (size_t i = 0; i < piece->encoder.npoints; i++)
		if (piece->encoder.points[i].offset <= offset)
			steps = piece->encoder.points[i].resolved;
	return steps;
}

static const struct encoder_sync *next_sync(const struct piece *piece, size_t offset)
{
	for (size_t i = 0; i < piece->encoder.nsyncs; i++)
		if (piece->encoder.syncs[i].offset >= offset)
			return &piece->encoder.syncs[i];
	return NULL;
}

/* All that is certain of the bytes before the loss came, and nothing else after it but `after`. */
static bool piece_equal(struct piece *piece, const struct task *task)
{
	const struct oracle *oracle = &piece->oracle, *got = &piece->got.oracle;
	const struct encoder_sync *sync;
	size_t reached, at;

	if (piece->what == INTACT)
		return oracle_equal(oracle, &piece->got.oracle, false);
	at = oracle_begin(oracle, got, &reached);
	if (reached < certain(piece, piece->from))
		return bad(task, "not all that is certain came");
	if (piece->what == HOLE) {
		if (at == got->n || got->steps[at].value != FLOWTAP_GAP_BAD_RECORD)
			return bad(task, "no gap where the hole is");
		sync = next_sync(piece, piece->to);
		return oracle_end(oracle, sync ? sync->told : oracle->n, got, at + 1) != SIZE_MAX;
	}
	for (; at < got->n; at++)
		if (got->steps[at].kind == ORACLE_INSN)
			return bad(task, "more than was executed");
	return true;
}

static bool judge(struct recording *recording)
{
	bool good = true;

	for (int i = 0; i < TASKS; i++) {
		const struct task *task = &recording->tasks[i];

		good &= gaps_equal(task);
		if (task->reached != task->n_sessions)
			good = bad(task, "not as many sessions as there were");
		for (size_t k = 0; k < task->n_sessions && good; k++)
			good = piece_equal(task->sessions[k], task);
	}
	if (recording->nobodys != recording->nobodys_expected)
		good = bad(&recording->tasks[0], "not as many gaps of nobody as there were");
	if (recording->foreign)
		good = bad(&recording->tasks[0], "something came that is no task's");
	return good;
}

/* --- */

static bool run(uint64_t seed, unsigned int has, bool losses)
{
	static struct recording recording;
	bool good;
	int err;

	recording_set_up(&recording, seed, has);
	recording_make(&recording, seed, losses);
	err = recording_decode(&recording);
	if (err)
		printf("# flowtap_aux_decode: %d\n", err);
	good = !err && judge(&recording);
	recording_tear_down(&recording);
	return good;
}

#define FLOW (SCENARIO_STACK | SCENARIO_SYNCS | SCENARIO_TIMES)

static const struct {
	const char *name;
	unsigned int has;
	bool losses;
} kinds[] = {
	{ "user mode: each task's flow is what it executed", FLOW | SCENARIO_AARCH32, false },
	{ "user mode and kernel", FLOW | SCENARIO_EXCEPTIONS | SCENARIO_FILTER, false },
	{ "speculation and transactions", FLOW | SCENARIO_EXCEPTIONS | SCENARIO_SPECULATION |
	  SCENARIO_TRANSACTIONS, false },
	{ "user mode: each loss is one gap", FLOW | SCENARIO_AARCH32, true },
	{ "user mode and kernel: each loss is one gap", FLOW | SCENARIO_EXCEPTIONS, true },
	{ "speculation: each loss is one gap", FLOW | SCENARIO_EXCEPTIONS | SCENARIO_SPECULATION,
	  true },
};
#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

static const char *name_of(unsigned int kind)
{
	return kinds[kind].name;
}

static bool run_kind(unsigned int kind, uint64_t seed)
{
	return run(seed, kinds[kind].has, kinds[kind].losses);
}

int main(void)
{
	return kinds_run(&(struct kinds){ KINDS, 60, name_of, run_kind });
}
