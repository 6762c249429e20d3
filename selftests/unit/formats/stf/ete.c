// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whatever an ETE trace says, damaged ones too, its STF is right by both checkers, has
 * the instructions that were decoded, and does not depend on the pieces that the trace came in nor
 * on how small the cache of blocks is.
 *
 * FLOWTAP_SEED and STF_ETE_ROUNDS set what is tried.
 */
#include <flowtap/check.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <flowtap/text.h>

#include "stfcheck/stfcheck.h"
#include "support/corpus.h"
#include "support/madeflow.h"
#include "support/random.h"
#include "support/sink.h"

#include <errno.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#define ROUNDS	6		/* of each trace */
#define CACHE	(128U << 10)	/* small enough to be emptied now and then */

static uint64_t state;

static size_t below(size_t limit)
{
	return (size_t)(random_next(&state) >> 11) % limit;
}

struct outcome {
	struct output stf, text;
	uint64_t instructions;
	uint64_t gaps;
	int finished;		/* of the STF: -ENODATA without instructions */
};

static void outcome_free(struct outcome *outcome)
{
	output_free(&outcome->stf);
	output_free(&outcome->text);
}

static int feed(struct flowtap_ete *ete, const uint8_t *bytes, size_t size, bool pieces)
{
	int error = flowtap_ete_session(ete);

	for (size_t at = 0, piece; !error && at < size; at += piece) {
		piece = pieces ? 1 + below(90) : size;
		piece = piece < size - at ? piece : size - at;
		/* In memory of its own: a byte read beyond is found. */
		uint8_t *copy = malloc(piece);

		memcpy(copy, bytes + at, piece);
		error = flowtap_ete_decode(ete, copy, piece);
		free(copy);
	}
	return error ? error : flowtap_ete_finish(ete);
}

static int decode(const struct corpus *corpus, const struct flowtap_ete_config *config,
		  const uint8_t *bytes, size_t size, bool small, struct outcome *outcome)
{
	const struct flowtap_ete_images images = {
		.find = flowtap_memory_find, .argument = corpus->memory,
	};
	struct flowtap_blocks *blocks = flowtap_blocks_new(flowtap_ete_wfx_is_p0(config) ?
							   flowtap_arm_block_wfx : flowtap_arm_block,
							   small ? CACHE : 0);
	const struct flowtap_stf_options options = { .generator = 0xff, .blocks = blocks };
	struct sink_pair both = { { sink_pair_block, sink_pair_element }, NULL, NULL };
	struct flowtap_ete *ete = NULL;
	struct flowtap_text *text;
	struct flowtap_stf *stf;
	int error;

	*outcome = (struct outcome){ .stf = output_new(), .text = output_new() };
	error = flowtap_stf_new(outcome->stf.fd, &options, &stf);
	error = error ? error : flowtap_text_new(outcome->text.fd, blocks, &text);
	if (error)
		return error;
	both.first = flowtap_stf_sink(stf);
	both.second = flowtap_text_sink(text);
	error = flowtap_ete_new(config, NULL, &images, blocks, &both.sink, &ete);
	if (!error)
		error = feed(ete, bytes, size, small);
	if (!error) {
		outcome->finished = flowtap_stf_finish(stf);
		error = flowtap_text_finish(text);
		outcome->instructions = flowtap_ete_counts(ete)->instructions;
		for (int i = 0; i < FLOWTAP_GAP_REASONS; i++)
			outcome->gaps += flowtap_ete_counts(ete)->gaps[i];
	}
	output_read(&outcome->stf);
	output_read(&outcome->text);
	flowtap_ete_free(ete);
	flowtap_stf_free(stf);
	flowtap_text_free(text);
	flowtap_blocks_free(blocks);
	return error;
}

static uint64_t ranges(const struct output *text)
{
	uint64_t sum = 0, n;

	for (const char *line = (const char *)text->bytes; *line;) {
		const char *end = strchr(line, '\n');

		if (sscanf(line, "range %*x %*x %llu", (unsigned long long *)&n) == 1)
			sum += n;
		line = end + 1;
	}
	return sum;
}

static void keep_problem(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	if (check->problems == 1)
		snprintf(check->argument, 200, "%s", problem->reason);
}

/* False after a word about what is wrong. */
static bool right(const struct outcome *outcome)
{
	struct stfcheck strict = { .strict = true };
	char reason[200] = "";
	struct flowtap_check rules = { .problem = keep_problem, .argument = reason };

	if (ranges(&outcome->text) != outcome->instructions) {
		printf("# the text has %llu instructions of %llu\n",
		       (unsigned long long)ranges(&outcome->text),
		       (unsigned long long)outcome->instructions);
		return false;
	}
	if (outcome->finished == -ENODATA)
		return !outcome->instructions;
	if (outcome->finished || stfcheck_run(&strict, outcome->stf.bytes, outcome->stf.size) ||
	    strict.counts.instructions != outcome->instructions) {
		printf("# stfcheck: %s, %llu instructions of %llu\n", strict.reason,
		       (unsigned long long)strict.counts.instructions,
		       (unsigned long long)outcome->instructions);
		return false;
	}
	if (flowtap_check_file(&rules, outcome->stf.fd) || rules.problems)
		printf("# check: %s\n", reason);
	return !rules.problems;
}

static uint64_t came_back;	/* instructions */

/* What no STF has. */
static const char *const not_written[] = { "timestamp", "cycles", "marker", NULL };

/* Whether the STF is read as the flow that it was made of. */
static bool comes_back(const struct outcome *outcome)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0) };
	struct output output = output_new();
	char *a, *b, *differs = NULL;
	struct flowtap_text *text;
	int error;

	if (outcome->finished)
		return true;
	if (!read.learned ||
	    flowtap_text_new(output.fd, flowtap_learned_blocks(read.learned), &text))
		abort();
	read.sink = flowtap_text_sink(text);
	lseek(outcome->stf.fd, 0, SEEK_SET);
	error = flowtap_stf_read(&read, outcome->stf.fd);
	if (!error)
		error = flowtap_text_finish(text);
	output_read(&output);
	a = made_lines((const char *)outcome->text.bytes, not_written);
	b = made_lines((const char *)output.bytes, not_written);
	differs = made_differs(a, b);
	if (error || read.problems || differs)
		printf("# read back: error %d, %llu problems, %s\n", error,
		       (unsigned long long)read.problems, differs ? differs : "the same");
	error = error || read.problems || differs;
	came_back += read.instructions;
	free(differs);
	free(a);
	free(b);
	flowtap_text_free(text);
	flowtap_learned_free(read.learned);
	output_free(&output);
	return !error;
}

static bool same(const struct outcome *one, const struct outcome *other)
{
	bool text = output_differs(&one->text, other->text.bytes, other->text.size) < 0;
	bool stf = output_differs(&one->stf, other->stf.bytes, other->stf.size) < 0;

	if (!text || !stf)
		printf("# in pieces %s\n", text ? "the STF differs" : "the text differs");
	return text && stf;
}

/* Whole and with a large cache, in pieces and with a small one. */
static bool try(const struct corpus *corpus, const struct flowtap_ete_config *config,
		const uint8_t *bytes, size_t size, uint64_t *gaps)
{
	struct outcome whole, pieces;
	int errors[] = {
		decode(corpus, config, bytes, size, false, &whole),
		decode(corpus, config, bytes, size, true, &pieces),
	};
	bool good = !errors[0] && !errors[1] && right(&whole) && same(&whole, &pieces);

	if (errors[0] || errors[1])
		printf("# error %d, in pieces %d\n", errors[0], errors[1]);
	*gaps += whole.gaps;
	outcome_free(&whole);
	outcome_free(&pieces);
	return good;
}

/* Bits flipped, bytes changed, left out, repeated. Returns the new size, at most twice the old. */
static size_t damage(uint8_t *bytes, size_t size)
{
	for (size_t n = 1 + below(12); n && size > 64; n--) {
		size_t at = below(size), many = 1 + below(40);

		many = many < size - at ? many : size - at;
		switch (below(4)) {
		case 0:
			bytes[at] ^= 1 << below(8);
			break;
		case 1:
			bytes[at] = (uint8_t)below(256);
			break;
		case 2:
			memmove(bytes + at, bytes + at + many, size - at - many);
			size -= many;
			break;
		default:
			memmove(bytes + at + many, bytes + at, size - at);
			size += many;
			break;
		}
	}
	return size;
}

/* Other trace units would have made other things of the same bytes. */
static void change_config(struct flowtap_ete_config *config)
{
	static const uint32_t speculation[] = { 0, 0, 1, 8, 255 };

	config->idr8 = below(2) ? config->idr8 : speculation[below(5)];
	config->configr ^= below(4) ? 0 : 1U << 12;	/* the return stack */
	config->idr0 ^= below(4) ? 0 : 1U << 29;	/* COMMOPT */
	config->idr2 ^= below(4) ? 0 : 1U << 31;	/* WFXMODE */
}

static unsigned long long setting(const char *name, unsigned long long otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void try_trace(struct __test_metadata *_metadata, const struct corpus *corpus,
		      uint64_t rounds)
{
	uint8_t *bytes = malloc(2 * corpus->size + 512);
	uint64_t seed = state, gaps = 0;
	size_t size;

	EXPECT_TRUE(try(corpus, &corpus->config, corpus->bytes, corpus->size, &gaps))
		TH_LOG("%s as it is", corpus->name);
	/* Of source addresses and waits as P0 instructions ranges depend, which no STF tells. */
	if (!strstr(corpus->name, "src_addr") && !flowtap_ete_wfx_is_p0(&corpus->config)) {
		struct outcome outcome;

		EXPECT_EQ(0, decode(corpus, &corpus->config, corpus->bytes, corpus->size, false,
				    &outcome));
		EXPECT_TRUE(comes_back(&outcome))
			TH_LOG("%s", corpus->name);
		outcome_free(&outcome);
	}
	for (uint64_t round = 0; round < rounds; round++) {
		struct flowtap_ete_config config = corpus->config;

		seed = state;
		change_config(&config);
		memcpy(bytes, corpus->bytes, corpus->size);
		size = damage(bytes, corpus->size);
		EXPECT_TRUE(try(corpus, &config, bytes, size, &gaps))
			TH_LOG("%s, round %llu, state %llu", corpus->name,
			       (unsigned long long)round, (unsigned long long)seed);
	}
	/* Damage that is never noticed would be none. */
	if (corpus->size > 1000 && rounds)
		EXPECT_LT(0, gaps);
	free(bytes);
}

TEST(the_stf_of_any_trace_is_right)
{
	uint64_t rounds = setting("STF_ETE_ROUNDS", ROUNDS);
	struct corpus corpus;
	char path[300];
	size_t tried = 0;

	state = test_seed * 0x9e3779b97f4a7c15 | 1;
	for (size_t i = 0; i < CORPUS_NAMES; i++) {
		snprintf(path, sizeof(path), CORPUS_DIRECTORY "/%s", corpus_names[i]);
		for (size_t source = 0; !corpus_load(&corpus, path, source); source++) {
			try_trace(_metadata, &corpus, rounds);
			tried++;
			corpus_free(&corpus);
		}
	}
	EXPECT_TRUE(!tried || came_back > 1000)
		TH_LOG("%llu instructions came back", (unsigned long long)came_back);
	if (!tried)
		SKIP(return, "no public traces in " CORPUS_DIRECTORY);
}

TEST_HARNESS_MAIN
