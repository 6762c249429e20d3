// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes perf.data files of a board with ETMv4 (IHI 0064), two CPUs into one ETR: what they executed is
 * what those of mkperf.c did, in whose directory these are made.
 *
 * usage: mkperf_etm4 DIR
 */
#include <stdio.h>

#include "cli/mkperf.h"

#define CONFIGR_COND (7 << 8)

static struct perffile_unit unit(uint32_t cpu, uint32_t configr)
{
	return (struct perffile_unit) {
		.magic = PERFFILE_ETMV4,
		.cpu = cpu,
		.configr = configr | CONFIGR_CID | CONFIGR_TS | 1,
		.idr0 = 0x28000ea1,
		.idr1 = 0x4100f400,
		.idr2 = 0x488,	/* a VMID of 8 bits, which no ETE has */
		.authstatus = 0xcc,
		.ts_source = 1,
	};
}

/* configr: more of CPU 1's. */
static void make(const char *root, const char *name, int version, uint32_t configr)
{
	const struct perffile_unit cpus[2] = { unit(0, 0), unit(1, configr) };
	struct stream source[2];

	record_both(source);
	write_etr(root, name, version, cpus, source);
}

/*
 * The metadata that perf wrote first, which do not say what timestamps are of: process 100 alone,
 * which executes nothing else meanwhile.
 */
static void make_first(const char *root)
{
	const struct perffile_unit cpus[2] = { unit(0, 0), unit(1, 0) };
	struct stream source[2] = { 0 };

	start(&source[0]);
	timestamp(&source[0], 1000);
	at(&source[0], AT, 0, CONTEXTID, 0, 100);
	run_one(&source[0]);
	start(&source[1]);
	timestamp(&source[1], 1500);
	at(&source[1], AT, 0, CONTEXTID, 0, 100);
	atoms(&source[1], "EE");
	write_etr(root, "etm4-0.data", 0, cpus, source);
}

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: mkperf_etm4 DIR\n");
		return 2;
	}
	make_first(argv[1]);
	make(argv[1], "etm4-1.data", 1, 0);
	make(argv[1], "etm4-2.data", 2, 0);
	make(argv[1], "etm4-cond.data", 2, CONFIGR_COND);
	return 0;
}
