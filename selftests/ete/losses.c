// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what is lost of a trace is said once, with its cause and at its place, and that all
 * else is as if nothing had been lost: regions that were cut out, traces that begin in their
 * middle or end there, bytes that were changed.
 *
 * FLOWTAP_SEED=N: the seed; FLOWTAP_RUNS=N: losses of each kind; FLOWTAP_KIND=N, FLOWTAP_ONLY=N:
 * only these; FLOWTAP_SAVE=DIR: writes the whole trace as an Arm snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoded.h"
#include "kinds.h"
#include "scenario.h"
#include "snapshot.h"

struct trace {
	struct scenario scenario;
	struct encoder encoder;
	struct execute execute;
	struct program *program;
	struct oracle oracle;
	struct flowtap_ete_config config;
	struct rng rng;
};

static void trace_new(struct trace *trace, uint64_t seed, unsigned int has)
{
	memset(trace, 0, sizeof(*trace));
	trace->rng.state = seed * 7919;
	scenario_random(&trace->scenario, seed, has);
	trace->scenario.encoder.sync_delay = false;
	trace->scenario.encoder.sync = 50 + rng_below(&trace->rng, 400);
	trace->scenario.execute.instructions = 6000;
	oracle_init(&trace->oracle);
	trace->program = program_new(&trace->scenario.program, seed);
	encoder_init(&trace->encoder, &trace->scenario.encoder, seed, &trace->oracle);
	execute_run(&trace->execute, &trace->scenario.execute, trace->program, &trace->encoder,
		    seed);
	encoder_config(&trace->scenario.encoder, &trace->config);
	if (getenv("FLOWTAP_SAVE"))
		snapshot_write(getenv("FLOWTAP_SAVE"), &trace->encoder, trace->program);
}

static void trace_free(struct trace *trace)
{
	encoder_free(&trace->encoder);
	program_free(trace->program);
	oracle_free(&trace->oracle);
}

/* The first place from which on decoding can begin at or after this byte; NULL: none. */
static const struct encoder_sync *next_sync(const struct trace *trace, size_t offset)
{
	for (size_t i = 0; i < trace->encoder.nsyncs; i++)
		if (trace->encoder.syncs[i].offset >= offset)
			return &trace->encoder.syncs[i];
	return NULL;
}

/* Where the A-sync that this byte is of is still one: K10.5.2.3 asks for eleven zeros. */
static const struct encoder_sync *within_sync(const struct trace *trace, size_t offset)
{
	const struct encoder_sync *sync = NULL;
	size_t end = offset;

	for (size_t i = 0; i < trace->encoder.nsyncs; i++)
		if (trace->encoder.syncs[i].offset < offset)
			sync = &trace->encoder.syncs[i];
	while (sync && !trace->encoder.bytes[end])
		end++;
	return sync && offset - sync->offset < 9 && end - offset >= 11 ? sync : NULL;
}

/*
 * Steps that are certain from the bytes before this one. An ETMv4's exception return has a packet of
 * its own after the atom, which may be behind them.
 */
static size_t certain(const struct trace *trace, size_t offset)
{
	size_t steps = 0;

	for (size_t i = 0; i < trace->encoder.npoints; i++)
		if (trace->encoder.points[i].offset <= offset)
			steps = trace->encoder.points[i].resolved;
	if (steps && trace->encoder.options.etm4 &&
	    trace->oracle.steps[steps - 1].kind == ORACLE_ERET)
		steps--;
	return steps;
}

static void begin(struct trace *trace, struct decoded *decoded)
{
	if (decoded_new(decoded, &trace->config, NULL, trace->program, 0))
		abort();
}

static bool bad(const char *what)
{
	printf("# %s\n", what);
	return false;
}

/*
 * What was decoded is the oracle up to the loss, one gap for that reason, and the oracle again from
 * the sync on. before: steps that must have come.
 */
static bool one_gap(const struct trace *trace, const struct decoded *decoded, size_t before,
		    enum flowtap_gap_reason reason, const struct encoder_sync *sync)
{
	const struct oracle *oracle = &trace->oracle, *got = &decoded->oracle;
	size_t reached, at = oracle_begin(oracle, got, &reached), end;

	if (reached < before) {
		printf("# %zu steps came, %zu are certain\n", reached, before);
		oracle_print(oracle, reached);
		printf("# got\n");
		oracle_print(got, at);
		return false;
	}
	if (at == got->n || got->steps[at].kind != ORACLE_GAP)
		return oracle_print(got, at), bad("no gap where the truth ends");
	if (got->steps[at].value != reason)
		return printf("# gap %llu, not %u: %s\n", (unsigned long long)got->steps[at].value,
			      reason, decoded->detail), false;
	end = oracle_end(oracle, sync ? sync->told : oracle->n, got, at + 1);
	if (end == SIZE_MAX)
		return false;
	while (at + 1 < end && got->steps[at + 1].kind == ORACLE_TRACE_ON)
		at++;
	if (end != at + 1) {
		oracle_print(got, at + 1);
		printf("# the last gap is %s\n", decoded->detail);
		return bad("more between the gap and the next sync");
	}
	return true;
}

/* A region is missing, and whoever collected the trace says so. */
static bool cut(struct trace *trace)
{
	struct flowtap_gap gap = { .reason = FLOWTAP_GAP_RING_FULL, .size = UINT64_MAX };
	size_t size = trace->encoder.size, from = 13 + rng_below(&trace->rng, size - 13);
	size_t to = from + rng_below(&trace->rng, size - from < 600 ? size - from : 600);
	const struct encoder_sync *within = within_sync(trace, to);
	struct decoded decoded;
	bool good;

	begin(trace, &decoded);
	good = !decoded_feed(&decoded, trace->encoder.bytes, from, &trace->rng) &&
	       !flowtap_ete_gap(decoded.ete, &gap) &&
	       !decoded_feed(&decoded, trace->encoder.bytes + to, size - to, &trace->rng) &&
	       !flowtap_ete_finish(decoded.ete) &&
	       one_gap(trace, &decoded, certain(trace, from), FLOWTAP_GAP_RING_FULL,
		       within ? within : next_sync(trace, to));
	if (!good)
		printf("# bytes %zu to %zu of %zu were cut\n", from, to, size);
	decoded_free(&decoded);
	return good;
}

/* The buffer was circular: the trace begins anywhere. */
static bool wrapped(struct trace *trace)
{
	size_t size = trace->encoder.size, from = 1 + rng_below(&trace->rng, size - 1);
	const struct encoder_sync *within = within_sync(trace, from);
	const struct encoder_sync *sync = within ? within : next_sync(trace, from);
	struct decoded decoded;
	size_t lost;
	bool good;

	begin(trace, &decoded);
	lost = within ? 0 : (sync ? sync->offset : size) - from;
	good = !decoded_feed(&decoded, trace->encoder.bytes + from, size - from, &trace->rng) &&
	       !flowtap_ete_finish(decoded.ete);
	/* The zeros before the sync may be taken for its own: nothing is missing. */
	if (good && sync && lost < 9 && !decoded.gaps)
		good = oracle_end(&trace->oracle, sync->told, &decoded.oracle, 0) != SIZE_MAX;
	else if (good)
		good = one_gap(trace, &decoded, 0, FLOWTAP_GAP_UNSYNCED, sync);
	if (good && decoded.gaps && decoded.gap_size + 9 < lost)
		good = bad("the gap is too small");
	if (good && decoded.gap_size > lost)
		good = bad("the gap is too large");
	if (!good)
		printf("# begins at byte %zu of %zu; %zu bytes to the next sync, gap of %llu\n",
		       from, size, lost, (unsigned long long)decoded.gap_size);
	decoded_free(&decoded);
	return good;
}

/* The trace ends anywhere: all that is certain came, nothing else. */
static bool ends(struct trace *trace)
{
	size_t size = 13 + rng_below(&trace->rng, trace->encoder.size - 13), reached, at;
	struct decoded decoded;
	bool good;

	begin(trace, &decoded);
	good = !decoded_feed(&decoded, trace->encoder.bytes, size, &trace->rng) &&
	       !flowtap_ete_finish(decoded.ete);
	at = oracle_begin(&trace->oracle, &decoded.oracle, &reached);
	if (good && reached < certain(trace, size))
		good = bad("not all that is certain came");
	if (good && decoded.gaps > 1)
		good = bad("more than one gap");
	while (good && at < decoded.oracle.n) {
		if (decoded.oracle.steps[at].kind != ORACLE_GAP &&
		    decoded.oracle.steps[at].kind != ORACLE_TRACE_ON &&
		    decoded.oracle.steps[at].kind != ORACLE_TRANSACTION) {
			oracle_print(&decoded.oracle, at);
			good = bad("more than was executed");
		}
		at++;
	}
	if (!good)
		printf("# ends at byte %zu of %zu; gap: %s\n", size, trace->encoder.size,
		       decoded.detail);
	decoded_free(&decoded);
	return good;
}

static void damage(struct trace *trace, uint8_t *bytes, size_t size)
{
	bool flips = rng_one_in(&trace->rng, 2);

	for (size_t i = 0; i < size; i++)
		bytes[i] = flips ? bytes[i] ^ 1 << rng_below(&trace->rng, 8) :
				   rng_next(&trace->rng);
}

/*
 * The first n steps without those of the last P0 element: what was changed may say of it that it
 * was mispredicted, also where it cannot have been. A Trace On with nothing after it does not count.
 */
static size_t without_last(const struct oracle *oracle, size_t n)
{
	while (n && oracle->steps[n - 1].kind != ORACLE_INSN)
		n--;
	if (n)
		n--;
	while (n && oracle->steps[n - 1].kind == ORACLE_INSN && !oracle->steps[n - 1].branch)
		n--;
	while (n && oracle->steps[n - 1].kind == ORACLE_TRACE_ON)
		n--;
	return n;
}

/*
 * Bytes were changed. What comes of them cannot be known, but nothing before them changes, nor
 * after the sync after the longest packet that they may begin, and one after that: a packet may
 * have swallowed the first.
 */
static bool corrupt(struct trace *trace)
{
	size_t size = trace->encoder.size, from = 13 + rng_below(&trace->rng, size - 13);
	size_t n = 1 + rng_below(&trace->rng, rng_one_in(&trace->rng, 2) ? 3 : 100);
	const struct encoder_sync *sync;
	struct decoded decoded;
	size_t reached;
	bool good;

	if (n > size - from)
		n = size - from;
	sync = next_sync(trace, from + n + 64);
	damage(trace, trace->encoder.bytes + from, n);
	begin(trace, &decoded);
	good = !decoded_feed(&decoded, trace->encoder.bytes, size, &trace->rng) &&
	       !flowtap_ete_finish(decoded.ete);
	oracle_begin(&trace->oracle, &decoded.oracle, &reached);
	if (good && reached < without_last(&trace->oracle, certain(trace, from))) {
		printf("# %zu steps came, %zu are certain; gap: %s\n", reached,
		       certain(trace, from), decoded.detail);
		oracle_print(&trace->oracle, reached);
		printf("# got\n");
		oracle_print(&decoded.oracle,
			     oracle_begin(&trace->oracle, &decoded.oracle, &reached));
		good = bad("what came before changed");
	}
	if (good && sync &&
	    oracle_end(&trace->oracle, sync->told, &decoded.oracle, 0) == SIZE_MAX)
		good = false;
	if (!good) {
		printf("# bytes %zu to %zu of %zu were changed; goes on at %zu:", from, from + n,
		       size, sync ? sync->offset : size);
		for (size_t i = 0; i < n && i < 16; i++)
			printf(" %02x", trace->encoder.bytes[from + i]);
		puts("");
	}
	decoded_free(&decoded);
	return good;
}

#define FLOW	(SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_AARCH32 | SCENARIO_FILTER | \
		 SCENARIO_TIMES | SCENARIO_SYNCS | SCENARIO_SOURCE)
/* Of an ETMv4, while it is speculative. */
#define ETM4	((FLOW & ~SCENARIO_SOURCE) | SCENARIO_SPECULATION | SCENARIO_ETM4)

#define M_PROFILE (ETM4 | SCENARIO_M)

static const struct {
	const char *name;
	unsigned int has;
	bool (*test)(struct trace *trace);
} kinds[] = {
	{ "a region is missing: one gap, as it was announced", FLOW, cut },
	{ "a region is missing while the trace is speculative", FLOW | SCENARIO_SPECULATION, cut },
	{ "the trace begins in its middle: one gap, unsynced", FLOW, wrapped },
	{ "the trace begins while it is speculative", FLOW | SCENARIO_SPECULATION, wrapped },
	{ "the trace ends anywhere", FLOW, ends },
	{ "the trace ends while it is speculative", FLOW | SCENARIO_SPECULATION, ends },
	{ "bytes were changed: all else is as it was", FLOW, corrupt },
	{ "bytes were changed while it is speculative", FLOW | SCENARIO_SPECULATION, corrupt },
	{ "ETMv4: a region is missing", ETM4, cut },
	{ "ETMv4: the trace begins in its middle", ETM4, wrapped },
	{ "ETMv4: the trace ends anywhere", ETM4, ends },
	{ "ETMv4: bytes were changed", ETM4, corrupt },
	{ "M profile: a region is missing", M_PROFILE, cut },
	{ "M profile: the trace begins in its middle", M_PROFILE, wrapped },
	{ "M profile: the trace ends anywhere", M_PROFILE, ends },
	{ "M profile: bytes were changed", M_PROFILE, corrupt },
};
#define KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const char *name_of(unsigned int kind)
{
	return kinds[kind].name;
}

static bool run_kind(unsigned int kind, uint64_t seed)
{
	struct trace trace;
	bool good;

	trace_new(&trace, seed, kinds[kind].has);
	good = kinds[kind].test(&trace);
	trace_free(&trace);
	return good;
}

int main(void)
{
	return kinds_run(&(struct kinds){ KINDS, 150, name_of, run_kind });
}
