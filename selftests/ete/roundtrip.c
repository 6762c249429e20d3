// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that what a trace unit says of any execution is decoded to that execution: instructions,
 * contexts, exceptions, cycles, times, events, all in their order. Random programs, executions and
 * trace units; every packet format must have occurred.
 *
 * FLOWTAP_SEED=N: the seed; FLOWTAP_RUNS=N: how many executions of each kind; FLOWTAP_GROUP=N and
 * FLOWTAP_ONLY=N: only that group, only that run of a group, with more said about it.
 * FLOWTAP_SAVE=DIR: writes it as an Arm snapshot.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decoded.h"
#include "kinds.h"
#include "scenario.h"
#include "snapshot.h"

/* Each exception type that DDI 0487 gives a meaning: 0 to 4, 6, 7, 10 to 12, 14 to 24. */
#define EXCEPTIONS	0x1ffdcdf
/* Those of the M profile: 1 to 7, 11, 12, 14 to 26, and interrupts from 8 on. */
#define M_EXCEPTIONS	0x107ffd8fe

struct totals {
	uint64_t counts[PACKETS];
	uint64_t exceptions;
	uint64_t m_exceptions;
	uint64_t instructions;
	uint64_t bytes;
};

static const struct {
	const char *name;
	unsigned int has;
	unsigned int share;	/* of the runs */
} groups[] = {
	{ "plain flow in A64", SCENARIO_SYNCS | SCENARIO_STACK, 1 },
	{ "exceptions and contexts", SCENARIO_EXCEPTIONS | SCENARIO_SYNCS | SCENARIO_STACK |
	  SCENARIO_RESET | SCENARIO_FILTER, 1 },
	{ "A32 and T32", SCENARIO_AARCH32 | SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_SYNCS,
	  1 },
	{ "events, timestamps, cycles, instrumentation", SCENARIO_TIMES | SCENARIO_ITE |
	  SCENARIO_EXCEPTIONS | SCENARIO_SYNCS | SCENARIO_STACK, 1 },
	{ "source addresses and Q", SCENARIO_SOURCE | SCENARIO_Q | SCENARIO_AARCH32 |
	  SCENARIO_STACK | SCENARIO_EXCEPTIONS | SCENARIO_SYNCS, 1 },
	{ "speculation", SCENARIO_SPECULATION | SCENARIO_STACK | SCENARIO_TIMES | SCENARIO_AARCH32 |
	  SCENARIO_EXCEPTIONS | SCENARIO_SYNCS, 2 },
	{ "transactions", SCENARIO_TRANSACTIONS | SCENARIO_STACK | SCENARIO_SPECULATION |
	  SCENARIO_EXCEPTIONS | SCENARIO_SYNCS, 1 },
	{ "code that differs by context and changes", SCENARIO_SPACES | SCENARIO_EXCEPTIONS |
	  SCENARIO_STACK | SCENARIO_SYNCS | SCENARIO_TIMES, 1 },
	{ "overflows and discards", SCENARIO_LOSSES | SCENARIO_SPECULATION | SCENARIO_STACK |
	  SCENARIO_SYNCS | SCENARIO_EXCEPTIONS | SCENARIO_TIMES, 1 },
	{ "everything at once", SCENARIO_ALL, 3 },
	{ "ETMv4", (SCENARIO_ALL & ~(SCENARIO_SOURCE | SCENARIO_TRANSACTIONS | SCENARIO_ITE)) |
	  SCENARIO_ETM4, 3 },
	{ "ETMv4 of the M profile", SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_SYNCS |
	  SCENARIO_RESET | SCENARIO_FILTER | SCENARIO_TIMES | SCENARIO_ETM4 | SCENARIO_M, 2 },
	{ "ETMv4 of the M profile, speculation and losses", SCENARIO_EXCEPTIONS | SCENARIO_STACK |
	  SCENARIO_SYNCS | SCENARIO_RESET | SCENARIO_FILTER | SCENARIO_TIMES | SCENARIO_LOSSES |
	  SCENARIO_SPECULATION | SCENARIO_ETM4 | SCENARIO_M, 2 },
};
#define GROUPS	(sizeof(groups) / sizeof(groups[0]))

static void add(struct totals *totals, const struct encoder *encoder,
		const struct execute *execute)
{
	for (unsigned int i = 0; i < PACKETS; i++)
		totals->counts[i] += encoder->counts[i];
	if (encoder->options.m_profile)
		totals->m_exceptions |= encoder->exceptions;
	else
		totals->exceptions |= encoder->exceptions;
	totals->instructions += execute->executed;
	totals->bytes += encoder->size;
}

/* A run as `seed` says; size: instructions. */
static bool run(uint64_t seed, unsigned int has, uint64_t size, struct totals *totals, bool talk)
{
	struct flowtap_ete_options options = { 0 };
	struct flowtap_ete_config config;
	struct rng rng = { ~seed };
	struct scenario scenario;
	struct execute execute;
	struct encoder encoder;
	struct decoded decoded;
	struct program *program;
	struct oracle oracle;
	bool good = false;
	int err;

	scenario_random(&scenario, seed, has);
	scenario.execute.instructions = size;
	options.keep_failed_transactions = rng_one_in(&rng, 2);
	oracle_init(&oracle);
	program = program_new(&scenario.program, seed);
	encoder_init(&encoder, &scenario.encoder, seed, &oracle);
	encoder.keep_failed = options.keep_failed_transactions;
	execute_run(&execute, &scenario.execute, program, &encoder, seed);
	encoder_config(&scenario.encoder, &config);
	err = decoded_new(&decoded, &config, &options, program, execute.modified);
	if (err) {
		printf("# flowtap_ete_new: %d\n", err);
		goto out;
	}
	err = decoded_feed(&decoded, encoder.bytes, encoder.size, &rng);
	err = err ? err : flowtap_ete_finish(decoded.ete);
	if (err)
		printf("# flowtap_ete_decode: %d\n", err);
	/* Of a transaction that was discarded at its begin, more or less may be told. */
	good = !err && oracle_equal(&oracle, &decoded.oracle,
				    scenario.execute.overflow || scenario.execute.discard);
	if (!good)
		printf("# last gap: %s\n", decoded.detail);
	if (talk || !good)
		printf("# configr %x idr0 %x idr2 %x maxspec %u %zu bytes %llu instructions\n",
		       config.configr, config.idr0, config.idr2, config.idr8, encoder.size,
		       (unsigned long long)execute.executed);
	if (talk && getenv("FLOWTAP_SAVE"))
		snapshot_write(getenv("FLOWTAP_SAVE"), &encoder, program);
	add(totals, &encoder, &execute);
	decoded_free(&decoded);
out:
	encoder_free(&encoder);
	program_free(program);
	oracle_free(&oracle);
	return good;
}

static bool group(unsigned int i, uint64_t seed, uint64_t runs, struct totals *totals)
{
	uint64_t only = number("FLOWTAP_ONLY", UINT64_MAX);
	unsigned int bad = 0;

	for (uint64_t n = 0; n < runs * groups[i].share; n++) {
		uint64_t one = kinds_seed(seed, GROUPS, i, n);
		/* Short ones too: a bug in them is soon found. */
		uint64_t size = n % 4 ? 20000 : 500 + n % 1000;

		if (only != UINT64_MAX && n != only)
			continue;
		if (!run(one, groups[i].has, size, totals, only != UINT64_MAX) && ++bad)
			printf("# bad: FLOWTAP_SEED=%llu FLOWTAP_GROUP=%u FLOWTAP_ONLY=%llu\n",
			       (unsigned long long)seed, i, (unsigned long long)n);
	}
	if (bad)
		printf("# %u of %llu are bad\n", bad, (unsigned long long)runs * groups[i].share);
	return !bad;
}

static bool all_occurred(const struct totals *totals)
{
	bool all = true;

	for (unsigned int i = 0; i < PACKETS; i++) {
		printf("# %10llu %s\n", (unsigned long long)totals->counts[i],
		       encoder_packet_names[i]);
		all &= totals->counts[i] != 0;
	}
	printf("# exception numbers: 0x%llx, of the M profile 0x%llx\n",
	       (unsigned long long)totals->exceptions, (unsigned long long)totals->m_exceptions);
	return all && totals->exceptions == EXCEPTIONS && totals->m_exceptions == M_EXCEPTIONS;
}

int main(void)
{
	uint64_t seed = number("FLOWTAP_SEED", 1), runs = number("FLOWTAP_RUNS", 50);
	uint64_t only = number("FLOWTAP_GROUP", GROUPS);
	struct totals totals = { 0 };
	unsigned int failed = 0;
	bool all;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%zu\n# FLOWTAP_SEED=%llu\n", GROUPS + 1,
	       (unsigned long long)seed);
	for (unsigned int i = 0; i < GROUPS; i++) {
		bool good = only < GROUPS && i != only ? true : group(i, seed, runs, &totals);

		failed += !good;
		printf("%sok %u %s\n", good ? "" : "not ", i + 1, groups[i].name);
	}
	all = all_occurred(&totals);
	failed += !all;
	printf("%sok %zu every packet format and exception type occurred\n", all ? "" : "not ",
	       GROUPS + 1);
	printf("# %llu instructions, %llu bytes\n", (unsigned long long)totals.instructions,
	       (unsigned long long)totals.bytes);
	return failed ? 1 : 0;
}
