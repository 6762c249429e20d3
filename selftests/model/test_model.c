// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole model without QEMU: a random program traced by a driver that keeps to the rules, with
 * every option and against every adversary. What two decoders make of what the driver collected is
 * what the log says; no rule is found broken; each loss has its reason in the log.
 * FLOWTAP_SEEDS=FIRST:N tries others; FLOWTAP_KEEP=DIRECTORY keeps the last log there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoders.h"
#include "simulation.h"

#define SEEDS 200

/* Seeds of what went wrong once, whatever else is tried. */
static const uint64_t known[] = {
	2734,	/* after the last A-sync a timestamp, an overflow, and nothing that was resolved */
};

struct sums {
	uint64_t logged;
	uint64_t decoded[2];
	uint64_t exceptions;
	uint64_t gaps;
	uint64_t lost;
	uint64_t truncated;
	uint64_t stopped;
	uint64_t triggered;
	uint64_t faults;
	uint64_t interrupts;
	uint64_t sides[JUDGE_SIDES];
	uint64_t adversary[ADVERSARY_BITS];
	uint64_t filtered;	/* seeds with an address range, of what was fine */
};

static char directory[] = "/tmp/test_model.XXXXXX";
static char prefix[256];

static void describe(uint64_t seed, const struct simulation_options *options)
{
	printf("# seed %llu: configr 0x%x syncpr %u levels %u%s%s%s%s mode %u watermark %u%s "
	       "pages %u align %u maxspec %u%s adversary 0x%x\n", (unsigned long long)seed,
	       options->configr, options->syncpr, options->levels, options->by_victlr ? " by VICTLR" : "",
	       options->filter ? options->exclude ? " exclude" : " include" : "",
	       options->el2 ? " el2" : "", options->host ? " host" : "", options->mode,
	       options->watermark, options->stop ? " stop" : "", options->pages,
	       options->buffer.align, options->unit.maxspec,
	       options->unit.wfx ? " wfx" : "", options->adversary.what);
}

/*
 * OpenCSD 1.5.5 cannot read all that is legal (trace_unit.c: start_encoder); and where Cycle Count
 * packets commit speculative elements it stops to say anything, without an error.
 */
static bool can_decode(unsigned int which, const struct simulation_options *options)
{
	if (!which)
		return true;
	return !(options->adversary.what & ADVERSARY(PACKETS)) &&
	       !(options->configr & 1 << 4 && options->unit.maxspec && !options->unit.commopt);
}

/* Going around overwrites what was stored. */
static bool may_miss(const struct simulation *sim)
{
	return sim->options.mode || sim->discarded;
}

static bool decode_both(const struct simulation *sim, const struct history *history,
			const struct alignment *alignment, struct sums *sums)
{
	static const struct decoder *const decoders[] = { &decoder_flowtap, &decoder_opencsd };
	static struct judge judge;
	uint64_t instructions = 0;

	for (unsigned int i = 0; i < 2; i++) {
		int err;

		if (!can_decode(i, &sim->options))
			continue;
		err = decode(decoders[i], history, alignment, may_miss(sim), &judge, NULL);
		if (judge.failed) {
			judge_print(&judge, stdout);
			return false;
		}
		if (err) {
			printf("# %s: %s\n", decoders[i]->name, strerror(-err));
			return false;
		}
		if (i && judge.counts.instructions != instructions) {
			printf("# OpenCSD decoded %llu instructions, libflowtap %llu\n",
			       (unsigned long long)judge.counts.instructions,
			       (unsigned long long)instructions);
			return false;
		}
		instructions = judge.counts.instructions;
		sums->decoded[i] += instructions;
		if (i)
			continue;
		sums->exceptions += judge.counts.exceptions;
		sums->gaps += judge.counts.gaps;
		for (int side = 0; side < JUDGE_SIDES; side++)
			sums->sides[side] += judge.counts.sides[side];
	}
	return true;
}

static bool check(const struct simulation *sim, struct sums *sums)
{
	struct alignment alignment = { 0 };
	struct history history;
	bool fine = false;

	if (history_read(&history, prefix, 0, NULL)) {
		printf("# %s\n", history.error);
	} else if (align(&alignment, &history, sim->collected, sim->ncollected)) {
		printf("# %s\n", alignment.error);
	} else if (!may_miss(sim) && alignment.missing) {
		printf("# %llu bytes were stored and not collected\n",
		       (unsigned long long)alignment.missing);
	} else if (history.violations) {
		printf("# a violation, and the driver keeps to the rules\n");
	} else {
		fine = decode_both(sim, &history, &alignment, sums);
	}
	sums->logged += history.instructions;
	for (size_t i = 0; i < history.nlost; i++)
		sums->lost += history.lost[i].n;
	align_free(&alignment);
	history_free(&history);
	log_unmap(&history.code_file);
	log_unmap(&history.pe_file);
	return fine;
}

static bool run(uint64_t seed, struct sums *sums, bool verbose)
{
	struct simulation_options options;
	struct simulation *sim;
	bool fine;
	int err;

	simulation_choose(&options, seed);
	if (verbose)
		describe(seed, &options);
	sim = simulation_new(&options, seed, prefix);
	simulation_run(sim);
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++)
		sums->adversary[i] += sim->pe.adversary.counts[i];
	/* That is no single thing that it does. */
	sums->adversary[ADVERSARY_BIT_PACKETS] += adversary_has(&sim->pe.adversary,
								ADVERSARY_BIT_PACKETS);
	err = simulation_end(sim);
	if (err)
		printf("# the log: %s\n", strerror(-err));
	fine = !err && check(sim, sums);
	if (!fine && !verbose)
		describe(seed, &options);
	sums->truncated += sim->truncated;
	sums->stopped += sim->stopped;
	sums->triggered += sim->triggered;
	sums->faults += sim->faults;
	sums->interrupts += sim->interrupts;
	sums->filtered += fine && options.filter;
	simulation_free(sim);
	return fine;
}

static void clean(void)
{
	static const char *const suffixes[] = { "code", "report", "0" };
	char path[300];

	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s.%s", prefix, suffixes[i]);
		unlink(path);
	}
	rmdir(directory);
}

static bool say(int number, bool fine, const char *what)
{
	printf("%sok %d %s\n", fine ? "" : "not ", number, what);
	return fine;
}

/* Of all seeds together; of some that were asked for only the first. */
static bool judge_sums(const struct sums *sums, bool equal, bool adversary, bool some)
{
	bool fine;

	fine = say(1, equal, "what both decoders make of the trace is what was executed");
	fine &= say(2, some || adversary, "the adversary did each of its things");
	fine &= say(3, some || (sums->gaps && sums->truncated && sums->exceptions &&
				sums->sides[JUDGE_TIMESTAMP] && sums->sides[JUDGE_CYCLES] &&
				sums->decoded[1] && sums->filtered),
		    "losses, exceptions, times and filters were there");
	fine &= say(4, some || (sums->stopped && sums->triggered),
		    "triggers stopped the buffer, and were told while it went on");
	return fine;
}

int main(void)
{
	const char *seeds = getenv("FLOWTAP_SEEDS");
	unsigned long long first = 1, n = SEEDS, failed = 0;
	struct sums sums = { 0 };
	bool all = true;

	if (seeds && sscanf(seeds, "%llu:%llu", &first, &n) < 1)
		return 2;
	if (!getenv("FLOWTAP_KEEP") && !mkdtemp(directory))
		return 2;
	snprintf(prefix, sizeof(prefix), "%s/log",
		 getenv("FLOWTAP_KEEP") ? getenv("FLOWTAP_KEEP") : directory);
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..4\n");
	for (unsigned long long i = 0; i < n; i++)
		failed += !run(first + i, &sums, n == 1);
	for (size_t i = 0; !seeds && i < sizeof(known) / sizeof(known[0]); i++)
		failed += !run(known[i], &sums, false);
	if (!getenv("FLOWTAP_KEEP"))
		clean();
	printf("# %llu seeds, %llu failed; %llu instructions in the log, %llu decoded by libflowtap, "
	       "%llu by OpenCSD %s\n", n, failed, (unsigned long long)sums.logged,
	       (unsigned long long)sums.decoded[0], (unsigned long long)sums.decoded[1],
	       decoder_opencsd.version());
	printf("# %llu exceptions, %llu timestamps, %llu cycle counts; %llu gaps, %llu bytes lost, "
	       "%llu times full, %llu stopped by a trigger, %llu only told of one, %llu faults, "
	       "%llu interrupts\n", (unsigned long long)sums.exceptions,
	       (unsigned long long)sums.sides[0], (unsigned long long)sums.sides[1],
	       (unsigned long long)sums.gaps, (unsigned long long)sums.lost,
	       (unsigned long long)sums.truncated, (unsigned long long)sums.stopped,
	       (unsigned long long)sums.triggered, (unsigned long long)sums.faults,
	       (unsigned long long)sums.interrupts);
	for (unsigned int i = 0; i < ADVERSARY_BITS; i++) {
		printf("# %s: %llu\n", adversary_word(i), (unsigned long long)sums.adversary[i]);
		all &= sums.adversary[i] > 0;
	}
	return !judge_sums(&sums, !failed, all, seeds);
}
