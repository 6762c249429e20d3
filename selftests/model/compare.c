// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds the trace that software collected from the model against the model's execution log: what
 * two decoders make of the bytes must be what the PE executed.
 */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "decoders.h"
#include "input.h"

static const char usage[] =
	"Usage: compare [OPTIONS] PREFIX [FILE...]\n"
	"Holds trace against the log PREFIX.N, PREFIX.code of the model of ETE and TRBE. Each FILE is a\n"
	"perf.data (or the directory of perf record --kcore), or one PE's trace bytes as they were in\n"
	"its trace buffer, in the order of collection; without FILE the bytes are those of the log.\n"
	"Prints totals, a name and a number a line. Exit status: 0 all is equal, 1 something differs\n"
	"(the first difference is told), 2 it cannot be compared.\n"
	"  --pe N              only this PE (raw files belong to it; 0 if there is no other)\n"
	"  --opencsd, --flowtap  only this decoder\n"
	"  --config FILE       the trace unit's registers, instead of those in the log:\n"
	"                      TRCCONFIGR=0x... a line, likewise TRCTRACEIDR, TRCDEVARCH, TRCIDR0, 1, 2, 8\n"
	"  --chunks FILE       where the parts of a raw file begin: OFFSET LENGTH a line, hexadecimal\n"
	"  --missing           bytes that were stored may be missing in FILEs; in perf.data they always\n"
	"                      may beside a region of which its AUX records say that some were lost\n"
	"  --min-instructions N  at least so many have to be compared, by each decoder\n"
	"  --help              this text\n";

#define PES 512

struct options {
	const char *prefix;
	const char *config;
	const char *chunks;
	char **files;
	int nfiles;
	int pe;			/* -1: all */
	bool opencsd;
	bool flowtap;
	bool missing;
	uint64_t min_instructions;
};

struct totals {
	uint64_t pes;
	uint64_t logged;
	uint64_t stored;
	uint64_t bytes;
	uint64_t pieces;
	uint64_t lossy;
	uint64_t padding;
	uint64_t missing;
	uint64_t violations;
	struct {
		struct judge_counts counts;
	} of[2];
};

static const struct decoder *const decoders[] = { &decoder_flowtap, &decoder_opencsd };

static void add_counts(struct judge_counts *to, const struct judge_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;
	uint64_t *sum = (uint64_t *)to;

	for (size_t i = 0; i < sizeof(*counts) / sizeof(uint64_t); i++)
		sum[i] += from[i];
}

static void line(const char *what, const char *which, uint64_t n)
{
	printf("%s%s%s %" PRIu64 "\n", which, *which ? "-" : "", what, n);
}

static void print_counts(const char *decoder, const struct judge_counts *counts)
{
	line("instructions", decoder, counts->instructions);
	line("exceptions", decoder, counts->exceptions);
	line("exception-returns", decoder, counts->returns);
	line("contexts", decoder, counts->contexts);
	line("trace-ons", decoder, counts->trace_ons);
	line("timestamps", decoder, counts->sides[JUDGE_TIMESTAMP]);
	line("cycle-counts", decoder, counts->sides[JUDGE_CYCLES]);
	line("events", decoder, counts->sides[JUDGE_EVENT]);
	line("starts", decoder, counts->starts);
	line("gaps-explained", decoder, counts->gaps);
	line("instructions-in-gaps", decoder, counts->skipped);
	line("instructions-in-tails", decoder, counts->tails);
}

static int gather(const struct options *options, const struct history *history, unsigned int pe,
		  struct input *input)
{
	int err = 0;

	for (int i = 0; i < options->nfiles && !err; i++) {
		if (input_is_perf(options->files[i]))
			err = input_perf(input, options->files[i], pe);
		else if (options->pe < 0 && pe)
			continue;
		else
			err = input_raw(input, options->files[i], options->chunks);
	}
	if (options->nfiles || err)
		return err;
	/* What memory had, in the order of the stream. */
	for (size_t i = 0; i < history->nstored && !err; i++) {
		err = input_add(input, history->stored[i].bytes, history->stored[i].n, false);
	}
	return err;
}

static int judge_all(const struct options *options, const struct history *history,
		     const struct alignment *alignment, unsigned int pe, struct totals *totals)
{
	uint64_t instructions[2];
	unsigned int n = 0;
	int result = 0;

	for (unsigned int i = 0; i < 2; i++) {
		static struct judge judge;
		int err;

		if (!(i ? options->opencsd : options->flowtap))
			continue;
		err = decode(decoders[i], history, alignment, options->missing, &judge, NULL);
		if (err || judge.failed) {
			fprintf(stderr, "compare: PE %u\n", pe);
			if (judge.failed)
				judge_print(&judge, stderr);
			else
				fprintf(stderr, "%s: %s\n", decoders[i]->name, strerror(-err));
			result = 1;
		}
		add_counts(&totals->of[i].counts, &judge.counts);
		instructions[n++] = judge.counts.instructions;
	}
	if (!result && n == 2 && instructions[0] != instructions[1]) {
		fprintf(stderr, "compare: PE %u: libflowtap decoded %" PRIu64 " instructions, OpenCSD %"
			PRIu64 "\n", pe, instructions[0], instructions[1]);
		result = 1;
	}
	return result;
}

static int compare_pe(const struct options *options, unsigned int pe,
		      const struct flowtap_ete_config *config, struct totals *totals)
{
	struct alignment alignment = { 0 };
	struct input input = { 0 };
	struct history history;
	int result = 2;

	if (history_read(&history, options->prefix, pe, config)) {
		fprintf(stderr, "compare: PE %u: %s\n", pe, history.error);
	} else if (gather(options, &history, pe, &input)) {
		fprintf(stderr, "compare: %s\n", input.error);
	} else if (align(&alignment, &history, input.pieces, input.n)) {
		fprintf(stderr, "compare: PE %u: %s\n", pe, alignment.error);
		result = 1;
	} else {
		totals->pes++;
		totals->logged += history.instructions;
		totals->stored += history.stored_bytes;
		totals->violations += history.violations;
		totals->bytes += input.bytes;
		totals->pieces += input.n;
		totals->lossy += input.lossy;
		totals->padding += alignment.padding;
		totals->missing += alignment.missing;
		result = judge_all(options, &history, &alignment, pe, totals);
		if (!options->missing && alignment.unexcused) {
			fprintf(stderr, "compare: PE %u: %" PRIu64 " bytes that were stored are not in "
				"what was collected\n", pe, alignment.unexcused);
			result = 1;
		}
	}
	align_free(&alignment);
	input_free(&input);
	history_free(&history);
	log_unmap(&history.code_file);
	log_unmap(&history.pe_file);
	return result;
}

static bool there(const struct options *options, unsigned int pe)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s.%u", options->prefix, pe);
	return !access(path, F_OK);
}

static int report(const struct options *options, const struct totals *totals, int result)
{
	printf("opencsd-version %s\n", decoder_opencsd.version());
	line("pes", "", totals->pes);
	line("instructions", "log", totals->logged);
	line("bytes-stored", "log", totals->stored);
	line("violations", "log", totals->violations);
	line("bytes", "", totals->bytes);
	line("pieces", "", totals->pieces);
	line("pieces-with-loss", "", totals->lossy);
	line("bytes-padding", "", totals->padding);
	line("bytes-missing", "", totals->missing);
	for (unsigned int i = 0; i < 2; i++) {
		if (!(i ? options->opencsd : options->flowtap))
			continue;
		print_counts(decoders[i]->name, &totals->of[i].counts);
		if (totals->of[i].counts.instructions >= options->min_instructions)
			continue;
		fprintf(stderr, "compare: %s: fewer than %" PRIu64 " instructions\n",
			decoders[i]->name, options->min_instructions);
		result = result > 1 ? result : 1;
	}
	return result;
}

static int compare(const struct options *options)
{
	struct flowtap_ete_config config;
	struct totals totals = { 0 };
	char error[256];
	int result = 0;

	if (options->config && input_config(options->config, &config, error)) {
		fprintf(stderr, "compare: %s\n", error);
		return 2;
	}
	for (unsigned int pe = 0; pe < PES; pe++) {
		int one;

		if (options->pe >= 0 ? (unsigned int)options->pe != pe : !there(options, pe))
			continue;
		one = compare_pe(options, pe, options->config ? &config : NULL, &totals);
		result = one > result ? one : result;
	}
	if (!totals.pes && !result) {
		fprintf(stderr, "compare: there is no log %s.0; the plugin's option out= names it\n",
			options->prefix);
		return 2;
	}
	return report(options, &totals, result);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pe", 1, NULL, 'p' }, { "opencsd", 0, NULL, 'o' }, { "flowtap", 0, NULL, 'f' },
		{ "config", 1, NULL, 'c' }, { "chunks", 1, NULL, 'k' }, { "missing", 0, NULL, 'm' },
		{ "min-instructions", 1, NULL, 'n' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	struct options options = { .pe = -1 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		switch (c) {
		case 'p':
			options.pe = atoi(optarg);
			break;
		case 'o':
			options.opencsd = true;
			break;
		case 'f':
			options.flowtap = true;
			break;
		case 'c':
			options.config = optarg;
			break;
		case 'k':
			options.chunks = optarg;
			break;
		case 'm':
			options.missing = true;
			break;
		case 'n':
			options.min_instructions = strtoull(optarg, NULL, 0);
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!options.opencsd && !options.flowtap)
		options.opencsd = options.flowtap = true;
	if (optind == argc || options.pe >= PES) {
		fputs(usage, stderr);
		return 2;
	}
	options.prefix = argv[optind++];
	options.files = argv + optind;
	options.nfiles = argc - optind;
	return compare(&options);
}
