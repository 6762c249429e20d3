// SPDX-License-Identifier: GPL-2.0-only
/* The command: proves archives against an oracle log (check.h), or compares two archives. */
#include <errno.h>
#include <fcntl.h>
#include <flowtap/replay.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "stf.h"

/* FLOWTAP_TRIGGER_ by bit. */
static const char *const triggers[4] = { "snapshot", "overflow", "timer", "switch" };

static const char usage[] =
"usage: compare [OPTION...] LOG ARCHIVE...\n"
"       compare --same ARCHIVE ARCHIVE\n"
"\n"
"Proves each sample of the archives, and the flow decoded from it, against the log that the truth\n"
"plugin wrote with out=LOG. All archives of the run must be given, in any order.\n"
"\n"
"  --sysroot DIR          where the code is\n"
"  --min-logged N         fail below N user instructions executed while recording was on\n"
"  --min-reconstructed N  fail below N instructions of the flow found in the log\n"
"  --cpuinfo FILE         the guest's /proc/cpuinfo: which hart is which CPU (else the same)\n"
"  --whole NAME           NAME.ftap holds every transfer of its tasks\n"
"  --forbid NAME:FROM-TO  no address of a sample in NAME.ftap may be in there (hexadecimal)\n"
"  --stf                  beside each NAME.ftap there is NAME.stf, made from it with --to stf\n"
"  --same                 the archives hold the same records, byte for byte\n"
"\n"
"Exit status: 0 all is proven; 1 it is not; 2 it could not be checked.\n";

#define FORBIDS 8

struct forbid {
	char name[32];
	uint64_t from, to;
};

#define WHOLES 32

struct options {
	const char *cpuinfo;
	const char *whole[WHOLES];
	int wholes;
	uint64_t min_logged;
	uint64_t min_reconstructed;
	const char *sysroot;
	struct forbid forbid[FORBIDS];
	int forbids;
	bool stf;
	bool same;
};

static void tell(struct check *check, const char *line)
{
	(void)check;
	printf("%s\n", line);
}

static int fail(const char *what, int err, const char *why)
{
	fprintf(stderr, "compare: %s: %s\n", what, why ? why : strerror(-err));
	return 2;
}

static void figure(const char *name, uint64_t value)
{
	printf("%-24s %12" PRIu64 "\n", name, value);
}

static void print_entry_cost(const char *what, const struct entry_cost *cost)
{
	if (cost->pairs)
		printf("kernel instructions %s: %" PRIu64 " (%" PRIu64 " to %" PRIu64 ")\n", what,
		       (cost->kernel + cost->pairs / 2) / cost->pairs, cost->least, cost->most);
}

static void print_cost(const struct machine_counts *log)
{
	uint64_t entries;

	print_entry_cost("per entry put back", &log->put_back);
	if (!log->samples || !log->read.pairs)
		return;
	print_entry_cost("per entry", &log->read);
	printf("per sample, from the LCOFI to the return: %" PRIu64 " kernel, of them %" PRIu64
	       " in modules, and %" PRIu64 " firmware, at %" PRIu64 " entries read\n",
	       log->cost.kernel / log->samples, log->cost.module / log->samples,
	       log->cost.machine / log->samples, log->entries_read / log->samples);
	entries = log->entries_read * log->read.kernel / log->read.pairs;
	printf("per sample without its entries: %" PRIu64 " kernel, of them %" PRIu64
	       " in modules\n",
	       (log->cost.kernel - entries) / log->samples,
	       (log->cost.module - entries) / log->samples);
}

static void print_each(const struct samples *samples)
{
	for (const struct archive *archive = samples->archives; archive; archive = archive->next)
		printf("%s: %" PRIu64 " samples of %" PRIu64 " tasks, %" PRIu64 " in a row, %"
		       PRIu64 " instructions, %" PRIu64 " mismatches\n", archive->path,
		       archive->samples, archive->tasks, archive->run, archive->reconstructed,
		       archive->mismatches);
	for (const struct archive *archive = samples->archives; archive; archive = archive->next) {
		printf("%s: types", archive->path);
		for (int i = 1; i < 16; i++)
			printf(" %d:%" PRIu64, i, archive->types[i]);
		putchar('\n');
	}
	for (int i = 0; i < 16; i++)
		if (samples->depths[i])
			printf("samples of depth %-7u %12" PRIu64 "\n", 1U << i,
			       samples->depths[i]);
	for (int i = 0; i < 4; i++)
		if (samples->triggers[i])
			printf("triggered by %-11s %12" PRIu64 "\n", triggers[i],
			       samples->triggers[i]);
}

static void print(const struct check *check, const struct samples *samples)
{
	const struct check_counts *counts = &check->counts;

	print_each(samples);
	for (unsigned int hart = 0; hart < counts->harts; hart++)
		printf("hart %u is CPU %u\n", hart, check->cpu_of[hart]);
	figure("instructions logged", counts->log.recorded);
	figure("  of all user programs", counts->log.instructions);
	figure("  of the kernel", counts->log.kernel);
	figure("drains", counts->log.drains);
	figure("  put aside", counts->saved);
	figure("  entries put back", counts->log.restored);
	figure("samples", counts->samples);
	figure("  lost by the ring", counts->lost);
	figure("  bytes each", counts->samples ? samples->bytes / counts->samples : 0);
	figure("  contiguous", counts->contiguous);
	figure("  across an exec", counts->across_exec);
	figure("tasks", counts->tasks);
	figure("  whole", counts->whole);
	figure("transfers compared", counts->transfers);
	figure("  from or to the kernel", counts->kernel_transfers);
	figure("call stacks", counts->callstacks);
	figure("  frames", counts->frames);
	figure("reconstructed", counts->reconstructed);
	figure("  in user mode", counts->user);
	figure("  without a hole", counts->complete);
	figure("  unknown after traps", counts->skipped);
	figure("  hidden, lacking code", counts->hidden);
	for (int i = 0; i < FLOWTAP_GAP_REASONS; i++)
		if (samples->gaps[i])
			printf("gaps %-19s %12" PRIu64 "\n", flowtap_gap_name(i), samples->gaps[i]);
	figure("other interrupts", counts->log.interrupts);
	figure("  that look at CTR", counts->log.looked);
	print_cost(&counts->log);
	figure("mismatches", counts->mismatches);
}

/*
 * 0; 1: an STF file differs; below 0 and *what: it cannot be read. There is none of an archive
 * without instructions.
 */
static int compare_stf(const struct samples *samples, const char **what)
{
	uint64_t instructions, sum = 0;
	int status = 0, err;

	for (const struct archive *archive = samples->archives; archive; archive = archive->next) {
		static char path[4096];
		char why[256];

		if (!archive->reconstructed)
			continue;
		snprintf(path, sizeof(path), "%.*s.stf",
			 (int)(strlen(archive->path) - strlen(".ftap")), archive->path);
		err = stf_compare(path, &archive->flow, &instructions, why, sizeof(why));
		if (err == -EBADMSG) {
			fprintf(stderr, "%s: %s\n", path, why);
			status = 1;
		} else if (err) {
			*what = path;
			return err;
		}
		sum += instructions;
	}
	figure("instructions in STF", sum);
	return status;
}

/* The archive's name without directory and .ftap. */
static bool is_named(const struct archive *archive, const char *name)
{
	const char *base = strrchr(archive->path, '/');
	size_t size = strlen(name);

	base = base ? base + 1 : archive->path;
	return !strncmp(base, name, size) && !strcmp(base + size, ".ftap");
}

/* false: there is no such archive. */
static bool forbid(const struct samples *samples, const struct forbid *forbid)
{
	for (struct archive *archive = samples->archives; archive; archive = archive->next) {
		if (is_named(archive, forbid->name)) {
			archive->forbid_from = forbid->from;
			archive->forbid_to = forbid->to;
			return true;
		}
	}
	return false;
}

/* false: there is no such archive. */
static bool want_whole(const struct samples *samples, const char *name)
{
	for (struct archive *archive = samples->archives; archive; archive = archive->next) {
		if (is_named(archive, name)) {
			archive->whole = true;
			return true;
		}
	}
	return false;
}

/* Lines "processor : N", each followed by one "hart : N". */
static int read_cpus(struct check *check, const char *path)
{
	unsigned int cpu = 0, number;
	char line[256];
	FILE *file;

	for (unsigned int i = 0; i < MACHINE_HARTS; i++)
		check->cpu_of[i] = i;
	if (!path)
		return 0;
	file = fopen(path, "r");
	if (!file)
		return -errno;
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "processor : %u", &number) == 1)
			cpu = number;
		else if (sscanf(line, "hart : %u", &number) == 1 && number < MACHINE_HARTS)
			check->cpu_of[number] = cpu;
	}
	fclose(file);
	return 0;
}

static int prove(struct check *check, const struct options *options, char **archives, int n)
{
	struct samples samples = { 0 };
	const char *why = NULL, *what = check->prefix;
	int err = 0, differs = 0;

	for (int i = 0; i < n && !err; i++) {
		what = archives[i];
		err = samples_add(&samples, archives[i], options->sysroot, &why);
	}
	for (int i = 0; i < options->forbids && !err; i++) {
		what = options->forbid[i].name;
		err = forbid(&samples, &options->forbid[i]) ? 0 : -ENOENT;
	}
	for (int i = 0; i < options->wholes && !err; i++) {
		what = options->whole[i];
		err = want_whole(&samples, what) ? 0 : -ENOENT;
	}
	if (!err && options->cpuinfo)
		what = options->cpuinfo;
	if (!err)
		err = read_cpus(check, options->cpuinfo);
	if (!err) {
		samples_sort(&samples);
		what = check->prefix;
		err = check_run(check, &samples, &why);
		print(check, &samples);
	}
	if (!err && options->stf) {
		differs = compare_stf(&samples, &what);
		err = differs < 0 ? differs : 0;
	}
	samples_free(&samples);
	if (err)
		return fail(what, err, why);
	if (check->counts.mismatches || differs)
		return 1;
	if (check->counts.log.recorded < options->min_logged ||
	    check->counts.reconstructed < options->min_reconstructed) {
		printf("too little: wanted are %" PRIu64 " logged and %" PRIu64 " reconstructed\n",
		       options->min_logged, options->min_reconstructed);
		return 1;
	}
	return 0;
}

/* All records of an archive, one after the other. */
struct records {
	uint8_t *bytes;
	size_t size, capacity;
};

static int on_record(struct flowtap_replay *replay, uint32_t cpu,
		     const struct flowtap_record *record, size_t size)
{
	struct records *records = replay->argument;

	(void)cpu;
	if (records->capacity - records->size < size) {
		size_t capacity = 2 * records->capacity + (1 << 20);
		uint8_t *more = realloc(records->bytes, capacity);

		if (!more)
			return -ENOMEM;
		records->bytes = more;
		records->capacity = capacity;
	}
	memcpy(records->bytes + records->size, record, size);
	records->size += size;
	return 0;
}

static int load(const char *path, struct records *records)
{
	struct flowtap_replay replay = { .record = on_record, .argument = records };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0)
		return -errno;
	err = flowtap_replay(&replay, fd, NULL);
	close(fd);
	return err;
}

static int same(char **archives)
{
	struct records records[2] = { 0 };
	size_t size, at = 0;
	int err = 0, status = 0;

	for (int i = 0; i < 2 && !err; i++) {
		err = load(archives[i], &records[i]);
		if (err)
			status = fail(archives[i], err, NULL);
	}
	if (!err) {
		size = records[0].size < records[1].size ? records[0].size : records[1].size;
		while (at < size && records[0].bytes[at] == records[1].bytes[at])
			at++;
		status = at < records[0].size || at < records[1].size || !size;
		printf("%zu and %zu bytes of records, %s", records[0].size, records[1].size,
		       !size ? "nothing to compare\n" : status ? "different " : "the same\n");
		if (status && size)
			printf("from byte %zu on\n", at);
	}
	free(records[0].bytes);
	free(records[1].bytes);
	return status;
}

static bool add_forbid(struct options *options, const char *text)
{
	struct forbid *forbid = &options->forbid[options->forbids];

	return options->forbids++ < FORBIDS &&
	       sscanf(text, "%31[^:]:%" SCNx64 "-%" SCNx64, forbid->name, &forbid->from,
		      &forbid->to) == 3;
}

int main(int argc, char **argv)
{
	enum { SYSROOT = 1, MIN_LOGGED, MIN_RECONSTRUCTED, CPUINFO, WHOLE, FORBID, STF, SAME };
	static const struct option names[] = {
		{ "sysroot", required_argument, NULL, SYSROOT },
		{ "min-logged", required_argument, NULL, MIN_LOGGED },
		{ "min-reconstructed", required_argument, NULL, MIN_RECONSTRUCTED },
		{ "cpuinfo", required_argument, NULL, CPUINFO },
		{ "whole", required_argument, NULL, WHOLE },
		{ "forbid", required_argument, NULL, FORBID },
		{ "stf", no_argument, NULL, STF },
		{ "same", no_argument, NULL, SAME },
		{ 0 }
	};
	struct check check = { .tell = tell, .tell_most = 5 };
	struct options options = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) >= 0) {
		switch (option) {
		case SYSROOT:
			options.sysroot = optarg;
			break;
		case MIN_LOGGED:
			options.min_logged = strtoull(optarg, NULL, 0);
			break;
		case MIN_RECONSTRUCTED:
			options.min_reconstructed = strtoull(optarg, NULL, 0);
			break;
		case CPUINFO:
			options.cpuinfo = optarg;
			break;
		case WHOLE:
			if (options.wholes == WHOLES) {
				fputs(usage, stderr);
				return 2;
			}
			options.whole[options.wholes++] = optarg;
			break;
		case FORBID:
			if (!add_forbid(&options, optarg)) {
				fputs(usage, stderr);
				return 2;
			}
			break;
		case STF:
			options.stf = true;
			break;
		case SAME:
			options.same = true;
			break;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (options.same ? argc - optind != 2 : argc - optind < 2) {
		fputs(usage, stderr);
		return 2;
	}
	if (options.same)
		return same(argv + optind);
	check.prefix = argv[optind];
	return prove(&check, &options, argv + optind + 1, argc - optind - 1);
}
