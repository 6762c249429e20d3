// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes a snapshot directory of a random program's execution, for benchmarks and for comparing
 * decoders: code like a compiler's by default, any legal packets with --random.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "execute.h"
#include "scenario.h"
#include "snapshot.h"

static const char usage[] =
	"usage: make_stream [--instructions N] [--seed S] [--maxspec N] [--functions N]\n"
	"                   [--cycles] [--timestamps] [--exceptions N] [--random KIND]\n"
	"                   [--etm4 MINOR] [--m-profile] [--classic] [--truth] OUTDIR\n"
	"--etm4: an ETMv4.MINOR instead of an ETE; --m-profile: one of the M profile\n"
	"--classic: only what OpenCSD 1.5.5 can read\n"
	"KIND: bits of what random streams may have beside the plain flow (scenario.h)\n";

static void print_oracle(const struct oracle *oracle)
{
	char line[200];

	for (size_t i = 0; i < oracle->n; i++)
		puts(oracle_line(oracle, &oracle->steps[i], line, sizeof(line)));
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "instructions", required_argument, NULL, 'n' },
		{ "seed", required_argument, NULL, 's' },
		{ "maxspec", required_argument, NULL, 'm' },
		{ "functions", required_argument, NULL, 'f' },
		{ "exceptions", required_argument, NULL, 'e' },
		{ "random", required_argument, NULL, 'r' },
		{ "etm4", required_argument, NULL, '4' },
		{ "m-profile", no_argument, NULL, 'M' },
		{ "cycles", no_argument, NULL, 'c' },
		{ "timestamps", no_argument, NULL, 't' },
		{ "classic", no_argument, NULL, 'C' },
		{ "truth", no_argument, NULL, 'T' },
		{ 0 },
	};
	struct scenario scenario;
	struct execute execute;
	struct encoder encoder;
	struct program *program;
	struct oracle oracle;
	uint64_t seed = 1, instructions = 10000000;
	long random = -1, etm4 = -1;
	bool print = false, classic = false, m_profile = false;
	int c, err;

	oracle_init(&oracle);
	scenario_plain(&scenario);
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'n':
			instructions = strtoull(optarg, NULL, 0);
			break;
		case 's':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			scenario.encoder.maxspec = strtoul(optarg, NULL, 0);
			scenario.execute.wrong = 20;
			break;
		case 'f':
			scenario.program.functions = strtoul(optarg, NULL, 0);
			break;
		case 'e':
			scenario.execute.exception = strtoul(optarg, NULL, 0);
			break;
		case 'r':
			random = strtol(optarg, NULL, 0);
			break;
		case '4':
			etm4 = strtol(optarg, NULL, 0);
			break;
		case 'M':
			m_profile = true;
			break;
		case 'c':
			scenario.encoder.cycles = true;
			scenario.encoder.threshold = 16;
			break;
		case 't':
			scenario.encoder.timestamps = true;
			scenario.execute.timestamp = 1000;
			break;
		case 'C':
			classic = true;
			break;
		case 'T':
			print = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (optind != argc - 1 || scenario.program.functions < 2 ||
	    scenario.encoder.maxspec > ENCODER_MAXSPEC || etm4 > 6 || (m_profile && etm4 < 0)) {
		fputs(usage, stderr);
		return 2;
	}
	if (random >= 0)
		scenario_random(&scenario, seed, random);
	if (etm4 >= 0)
		scenario_etm4(&scenario, seed, etm4);
	if (m_profile)
		scenario_m(&scenario);
	scenario.program.classic = classic;
	scenario.encoder.sync_delay &= !classic;
	scenario.encoder.sync_exact = classic;
	scenario.encoder.classic = classic;
	if (classic)
		scenario.execute.reset = 0;
	scenario.execute.instructions = instructions;
	program = program_new(&scenario.program, seed);
	encoder_init(&encoder, &scenario.encoder, seed, print ? &oracle : NULL);
	execute_run(&execute, &scenario.execute, program, &encoder, seed);
	err = snapshot_write(argv[optind], &encoder, program);
	if (err)
		fprintf(stderr, "make_stream: %s: %s\n", argv[optind], strerror(-err));
	else if (print)
		print_oracle(&oracle);
	else
		printf("%llu instructions, %zu bytes\n", (unsigned long long)execute.executed,
		       encoder.size);
	oracle_free(&oracle);
	encoder_free(&encoder);
	program_free(program);
	return err ? 1 : 0;
}
