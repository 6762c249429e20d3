// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that the STF of a trace has the instructions that were executed, each at its address, in
 * its ISA and exception level, and that the PC is forced only where the trace is not continuous.
 * Random programs in A64, A32 and T32, executions and trace units.
 *
 * FLOWTAP_SEED=N: the seed; FLOWTAP_RUNS=N: how many executions of each kind; FLOWTAP_SAVE=DIR:
 * writes the first that is bad as an Arm snapshot.
 */
#include <errno.h>
#include <flowtap/learned.h>
#include <flowtap/stf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "decoded.h"
#include "kinds.h"
#include "scenario.h"
#include "snapshot.h"
#include "stfcheck/stfcheck.h"
#include "support/madeflow.h"

static const struct {
	const char *name;
	unsigned int has;
} groups[] = {
	{ "A64", SCENARIO_SYNCS | SCENARIO_STACK | SCENARIO_EXCEPTIONS | SCENARIO_TIMES },
	{ "A32 and T32", SCENARIO_AARCH32 | SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_ITE },
	{ "speculation and transactions", SCENARIO_SPECULATION | SCENARIO_TRANSACTIONS |
	  SCENARIO_EXCEPTIONS | SCENARIO_STACK },
	{ "source addresses", SCENARIO_SOURCE | SCENARIO_AARCH32 | SCENARIO_STACK |
	  SCENARIO_EXCEPTIONS },
	{ "all but Q", SCENARIO_ALL & ~SCENARIO_Q },
	{ "ETMv4", (SCENARIO_ALL & ~(SCENARIO_Q | SCENARIO_SOURCE)) | SCENARIO_ETM4 },
	{ "ETMv4 of the M profile", SCENARIO_EXCEPTIONS | SCENARIO_STACK | SCENARIO_SYNCS |
	  SCENARIO_RESET | SCENARIO_FILTER | SCENARIO_LOSSES | SCENARIO_SPECULATION |
	  SCENARIO_ETM4 | SCENARIO_M },
};
#define GROUPS	(sizeof(groups) / sizeof(groups[0]))

/* Between the decoder and what takes it apart: the STF sink hears the same. */
static struct {
	int (*block)(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target);
	int (*element)(struct flowtap_sink *sink, const struct flowtap_element *element);
	struct flowtap_sink *stf;
	struct flowtap_sink *text;
} tee;

static int tee_block(struct flowtap_sink *sink, const struct flowtap_block *block, bool taken,
		     uint64_t target)
{
	int error = tee.block(sink, block, taken, target);

	if (!error)
		error = tee.text->block(tee.text, block, taken, target);
	return error ? error : tee.stf->block(tee.stf, block, taken, target);
}

static int tee_element(struct flowtap_sink *sink, const struct flowtap_element *element)
{
	int error = tee.element(sink, element);

	if (!error)
		error = tee.text->element(tee.text, element);
	return error ? error : tee.stf->element(tee.stf, element);
}

static void tee_between(struct decoded *decoded, struct flowtap_stf *stf,
			struct flowtap_text *text)
{
	tee.block = decoded->sink.block;
	tee.element = decoded->sink.element;
	tee.stf = flowtap_stf_sink(stf);
	tee.text = flowtap_text_sink(text);
	decoded->sink.block = tee_block;
	decoded->sink.element = tee_element;
}

struct comparison {
	const struct oracle *oracle;
	size_t at;		/* step */
	bool broken;		/* the flow, before it */
	uint64_t instructions;
	uint64_t forced;
	bool differs;
};

/*
 * What may force a PC. Of the M profile an exception return is any branch, and none that may change
 * the mode by itself.
 */
static bool breaks(const struct oracle *oracle, const struct oracle_step *step)
{
	return step->kind != ORACLE_INSN && (step->kind != ORACLE_ERET || oracle->erets);
}

static int compare(void *argument, const struct stfcheck_insn *insn)
{
	static const uint8_t arms[] = { [FLOWTAP_ISA_A64] = 64, [FLOWTAP_ISA_A32] = 32,
					[FLOWTAP_ISA_T32] = 16 };
	struct comparison *comparison = argument;
	const struct oracle *oracle = comparison->oracle;
	const struct oracle_step *step;
	unsigned int el;

	while (comparison->at < oracle->n && oracle->steps[comparison->at].kind != ORACLE_INSN)
		comparison->broken |= breaks(oracle, &oracle->steps[comparison->at++]);
	if (comparison->at == oracle->n)
		return -1;
	step = &oracle->steps[comparison->at++];
	el = step->context == UINT32_MAX ? insn->mode : oracle->contexts[step->context].el;
	if (insn->pc != step->address || insn->size != step->size ||
	    insn->arm != arms[step->isa] || insn->mode != el ||
	    (insn->forced && !comparison->broken)) {
		printf("# instruction %llu: %llx of %u bytes, ISA %u, mode %u%s; executed %llx of %u "
		       "bytes, ISA %u, EL%u\n", (unsigned long long)insn->index,
		       (unsigned long long)insn->pc, insn->size, insn->arm, insn->mode,
		       insn->forced ? ", forced" : "", (unsigned long long)step->address,
		       step->size, arms[step->isa], el);
		return -1;
	}
	comparison->forced += insn->forced;
	comparison->instructions++;
	comparison->broken = false;
	return 0;
}

/* False after a word about it. */
static bool check(const struct oracle *oracle, int fd, struct comparison *comparison)
{
	struct stfcheck stfcheck = { .strict = true, .insn = compare, .argument = comparison };
	struct stfcheck_file file;
	uint64_t executed = 0;
	int error = stfcheck_open(fd, &file);

	for (size_t i = 0; i < oracle->n; i++)
		executed += oracle->steps[i].kind == ORACLE_INSN;
	*comparison = (struct comparison){ .oracle = oracle, .broken = true };
	error = error ? error : stfcheck_run_file(&stfcheck, &file);
	if (error)
		printf("# stfcheck: %d %s\n", error, stfcheck.reason);
	else if (comparison->instructions != executed)
		printf("# %llu instructions, %llu were executed\n",
		       (unsigned long long)comparison->instructions, (unsigned long long)executed);
	stfcheck_close(&file);
	return !error && comparison->instructions == executed;
}

/*
 * What no STF has: nor an exception return of A32 and T32, of which an ETMv4 tells by a packet; of A64
 * it is the instruction itself.
 */
static const char *const not_written[] = { "timestamp", "cycles", "marker", NULL };
static const char *const not_written_32[] = { "timestamp", "cycles", "marker", "eret", NULL };

/* Whether the STF is read as the flow that it was made of: text. left_out: lines of neither. */
static bool comes_back(int fd, struct output *text, const char *const *left_out)
{
	struct flowtap_read read = { .learned = flowtap_learned_new(0) };
	struct output output = output_new();
	struct flowtap_text *lines;
	char *a, *b, *differs;
	int error;

	if (!read.learned ||
	    flowtap_text_new(output.fd, flowtap_learned_blocks(read.learned), &lines))
		abort();
	read.sink = flowtap_text_sink(lines);
	lseek(fd, 0, SEEK_SET);
	error = flowtap_stf_read(&read, fd);
	if (!error)
		error = flowtap_text_finish(lines);
	output_read(&output);
	output_read(text);
	a = made_lines((const char *)text->bytes, left_out);
	b = made_lines((const char *)output.bytes, left_out);
	differs = made_differs(a, b);
	error = error || read.problems || differs;
	if (error)
		printf("# read back: %llu problems, %s\n", (unsigned long long)read.problems,
		       differs ? differs : "the same");
	free(differs);
	free(a);
	free(b);
	flowtap_text_free(lines);
	flowtap_learned_free(read.learned);
	output_free(&output);
	return !error;
}

/* Writes the STF of what the encoder made. 0 or -errno; -EBADMSG: it was not decoded right. */
static int write_stf(int fd, const struct program *program, const struct encoder *encoder,
		     const struct flowtap_ete_config *config, uint64_t modified,
		     const struct oracle *oracle, struct rng *rng, int text_fd)
{
	const struct flowtap_zstf_options zstf = { .markers = 1000, .level = 1 };
	struct flowtap_stf_options options = { .generator = 0xff };
	struct decoded decoded;
	struct flowtap_text *text = NULL;
	struct flowtap_stf *stf;
	int error;

	error = decoded_new(&decoded, config, NULL, program, modified);
	if (error)
		return error;
	options.blocks = decoded.blocks;
	options.zstf = rng_one_in(rng, 3) ? &zstf : NULL;
	error = flowtap_stf_new(fd, &options, &stf);
	error = error ? error : flowtap_text_new(text_fd, decoded.blocks, &text);
	if (!error) {
		tee_between(&decoded, stf, text);
		error = decoded_feed(&decoded, encoder->bytes, encoder->size, rng);
	}
	error = error ? error : flowtap_ete_finish(decoded.ete);
	error = error ? error : flowtap_stf_finish(stf);
	error = error ? error : flowtap_text_finish(text);
	if (!error && !oracle_equal(oracle, &decoded.oracle, true))
		error = -EBADMSG;
	flowtap_stf_free(stf);
	flowtap_text_free(text);
	decoded_free(&decoded);
	return error;
}

static bool run(uint64_t seed, unsigned int has, uint64_t size, struct comparison *comparison)
{
	int fd = memfd_create("stf", MFD_CLOEXEC), error;
	struct output text = output_new();
	struct flowtap_ete_config config;
	struct rng rng = { ~seed };
	struct scenario scenario;
	struct execute execute;
	struct encoder encoder;
	struct program *program;
	struct oracle oracle;
	bool good;

	scenario_random(&scenario, seed, has);
	scenario.execute.instructions = size;
	oracle_init(&oracle);
	program = program_new(&scenario.program, seed);
	encoder_init(&encoder, &scenario.encoder, seed, &oracle);
	execute_run(&execute, &scenario.execute, program, &encoder, seed);
	encoder_config(&scenario.encoder, &config);
	error = write_stf(fd, program, &encoder, &config, execute.modified, &oracle, &rng,
			  text.fd);
	if (error)
		printf("# decoding: %d\n", error);
	good = !error && check(&oracle, fd, comparison);
	/* Of source addresses and waits as P0 instructions ranges depend, which no STF tells. */
	if (good && !(has & SCENARIO_SOURCE) && !flowtap_ete_wfx_is_p0(&config))
		good = comes_back(fd, &text, scenario.encoder.etm4 && scenario.program.aarch32 ?
				  not_written_32 : not_written);
	output_free(&text);
	if (!good && getenv("FLOWTAP_SAVE")) {
		snapshot_write(getenv("FLOWTAP_SAVE"), &encoder, program);
		exit(1);
	}
	encoder_free(&encoder);
	program_free(program);
	oracle_free(&oracle);
	close(fd);
	return good;
}

int main(void)
{
	uint64_t seed = number("FLOWTAP_SEED", 1), runs = number("FLOWTAP_RUNS", 10);
	uint64_t instructions = 0, forced = 0;
	struct comparison comparison;
	unsigned int failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("TAP version 13\n1..%zu\n# FLOWTAP_SEED=%llu\n", GROUPS, (unsigned long long)seed);
	for (unsigned int i = 0; i < GROUPS; i++) {
		unsigned int bad = 0;

		for (uint64_t n = 0; n < runs; n++) {
			uint64_t one = kinds_seed(seed, GROUPS, i, n);
			bool good = run(one, groups[i].has, n % 3 ? 20000 : 700, &comparison);

			if (!good && ++bad)
				printf("# bad: run %llu, its seed %llu\n", (unsigned long long)n,
				       (unsigned long long)one);
			instructions += comparison.instructions;
			forced += comparison.forced;
		}
		failed += !!bad;
		printf("%sok %u %s\n", bad ? "not " : "", i + 1, groups[i].name);
	}
	printf("# %llu instructions, %llu times forced\n", (unsigned long long)instructions,
	       (unsigned long long)forced);
	return failed ? 1 : 0;
}
