// SPDX-License-Identifier: GPL-2.0-only
/* flowtap stat: what a trace consists of. */
#include "common/gaps.h"
#include "common/input_file.h"
#include "common/isa.h"
#include "common/json.h"
#include "common/names.h"
#include "common/parse_options.h"
#include "common/tool.h"
#include "common/tracefile.h"
#include "stat/statistics.h"

#include <errno.h>
#include <flowtap/disasm.h>
#include <flowtap/learned.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 10
#define MNEMONICS_SHOWN 40

static const char help[] =
	"usage: flowtap stat [OPTION...] FILE\n"
	"\n"
	"Counts what is in a trace: instructions by kind, instruction set, mode, thread and CPU;\n"
	"blocks; gaps by reason, exceptions. FILE is any trace that can be read; its first bytes\n"
	"say which; - is standard input.\n"
	"\n"
	"  -m, --mnemonics     instructions by mnemonic as well\n"
	"      --disassembler NAME\n"
	"                      for that: auto, llvm or capstone\n"
	"  -a, --all           every thread and mnemonic, not only the most frequent ones\n"
	"      --skip N        not the first N instructions; those of a .zstf are not even read\n"
	"      --count N       not more than N instructions\n"
	"  -q, --quiet         no progress\n"
	"      --json          as JSON, with all of them\n"
	"  -h, --help          this text\n"
	"\n"
	"Exit status: 0; 1 for an error; 2 for wrong usage; 3 if FILE is damaged, what is good of\n"
	"it was counted.\n";

struct stating {
	struct tracefile file;
	struct statistics stats;
	struct flowtap_disasm *disasm;
	bool mnemonics;
	bool all;
	bool json;
	struct tracefile_part part;
	bool quiet;
};

/* A trace is RISC-V's or Arm's. */
static const char *mode_name(const struct statistics *stats, unsigned int mode)
{
	return isa_mode_name(stats->isas[FLOWTAP_ISA_RV64] ? FLOWTAP_ISA_RV64 : FLOWTAP_ISA_A64,
			     mode);
}

/* --- For people. --- */

static void print_share(const struct statistics *stats, const char *name, uint64_t n)
{
	char number[32];

	if (n)
		printf("    %-24s %16s %5.1f%%\n", name, number_group(n, number),
		       100.0 * (double)n / (double)stats->instructions);
}

/* What the columns of a list are. */
#define OF_ALL "instructions, and their share of all"

static void print_mix(const struct statistics *stats)
{
	if (stats->instructions)
		puts("  kinds         " OF_ALL);
	for (unsigned int mix = 0; mix < MIX_KINDS; mix++)
		print_share(stats, mix_title((enum mix)mix), stats->mix[mix]);
}

static void print_modes(const struct statistics *stats)
{
	if (!stats->instructions)
		return;
	puts("  instruction sets: " OF_ALL);
	for (unsigned int isa = 0; isa < ISAS; isa++)
		print_share(stats, isa_name((enum flowtap_isa)isa), stats->isas[isa]);
	puts("  modes         " OF_ALL);
	for (unsigned int mode = 0; mode < ISA_MODES; mode++)
		print_share(stats, mode_name(stats, mode), stats->modes[mode]);
	print_share(stats, "not told", stats->no_mode);
}

/* Only where there is another than 0, which also means "not told". */
static void print_cpus(const struct statistics *stats)
{
	char name[32];
	bool heading = false;

	for (unsigned int cpu = 0; cpu < STATISTICS_CPUS; cpu++) {
		if (!stats->cpus[cpu] || (!cpu && stats->cpus[cpu] == stats->instructions))
			continue;
		if (!heading)
			puts("  CPUs          " OF_ALL);
		heading = true;
		snprintf(name, sizeof(name), "%u", cpu);
		print_share(stats, name, stats->cpus[cpu]);
	}
	if (stats->other_cpus && !heading)
		puts("  CPUs          " OF_ALL);
	print_share(stats, "others", stats->other_cpus);
}

/* Of all that came when there was no more space. */
static bool is_others(const struct statistics_thread *thread)
{
	return thread->pid == UINT32_MAX && thread->tid == UINT32_MAX;
}

static void thread_name(const struct statistics_thread *thread, char *name, size_t size)
{
	if (is_others(thread))
		snprintf(name, size, "others");
	else if (!thread->pid && !thread->tid)
		snprintf(name, size, "not told");
	else
		snprintf(name, size, "pid %" PRIu32 " tid %" PRIu32, thread->pid, thread->tid);
}

static void print_threads(const struct stating *stating)
{
	size_t n;
	const struct statistics_thread **list = statistics_threads(&stating->stats, &n);
	char name[48], number[32];

	printf("  threads       %s%s\n", number_group(n, number), n ? ": " OF_ALL : "");
	for (size_t i = 0; i < n && (stating->all || i < SHOWN); i++) {
		thread_name(list[i], name, sizeof(name));
		print_share(&stating->stats, name, list[i]->instructions);
	}
	if (n > SHOWN && !stating->all)
		printf("    and %zu more; --all shows them\n", n - SHOWN);
	free(list);
}

static void print_mnemonics(const struct stating *stating)
{
	const struct statistics *stats = &stating->stats;
	size_t i = 0;

	if (!stating->mnemonics)
		return;
	printf("  mnemonics     by %s: " OF_ALL "\n", flowtap_disasm_version(stating->disasm));
	for (; i <= STATISTICS_MNEMONICS && stats->mnemonics[i].n; i++)
		if (stating->all || i < MNEMONICS_SHOWN)
			print_share(stats, stats->mnemonics[i].name, stats->mnemonics[i].n);
	if (i > MNEMONICS_SHOWN && !stating->all)
		printf("    and %zu more; --all shows them\n", i - MNEMONICS_SHOWN);
}

static void print_gap(unsigned int reason, const struct statistics_gap *gap)
{
	char number[32];

	printf("    %-12s %14s", flowtap_gap_name((enum flowtap_gap_reason)reason),
	       number_group(gap->n, number));
	if (gap->ns)
		printf(" %12.6f s", (double)gap->ns / 1e9);
	if (gap->sized)
		printf(" %s transfer%s or byte%s%s", number_group(gap->size, number),
		       plural(gap->size), plural(gap->size), gap->sized < gap->n ? " at least" : "");
	printf("  %s\n", cause_meaning(reason));
}

static void print_gaps(const struct statistics *stats)
{
	uint64_t all = 0;
	char number[32];

	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		all += stats->gaps[reason].n;
	printf("  gaps          %s\n", number_group(all, number));
	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++)
		if (stats->gaps[reason].n)
			print_gap(reason, &stats->gaps[reason]);
}

static void print_exceptions(const struct statistics *stats)
{
	uint64_t all = stats->other_exceptions + stats->interrupts;
	char number[32];

	for (unsigned int i = 0; i < STATISTICS_EXCEPTIONS; i++)
		all += stats->exceptions[i];
	if (!all)
		return;
	printf("  exceptions    %s\n", number_group(all, number));
	for (unsigned int i = 0; i < STATISTICS_EXCEPTIONS; i++)
		if (stats->exceptions[i])
			printf("    number %-5u %14s\n", i,
			       number_group(stats->exceptions[i], number));
	if (stats->interrupts)
		printf("    interrupts   %14s\n", number_group(stats->interrupts, number));
	if (stats->other_exceptions)
		printf("    not told     %14s\n", number_group(stats->other_exceptions, number));
}

static void print_all(const struct stating *stating)
{
	const struct statistics *stats = &stating->stats;
	const char *name = input_name(stating->file.path);
	char one[32], other[32], third[32];

	print_plain(stdout, name, strlen(name));
	printf(": %s\n", stating->file.kind->title);
	printf("  instructions  %s in %s block%s (%s distinct, %s of code)\n",
	       number_group(stats->instructions, one), number_group(stats->executed, other),
	       plural(stats->executed),
	       number_group(stats->distinct, third), number_bytes(stats->bytes, (char[32]){ 0 }));
	if (stats->last_time > stats->first_time)
		printf("  time          %.6f s\n",
		       (double)(stats->last_time - stats->first_time) / 1e9);
	print_mix(stats);
	print_modes(stats);
	print_cpus(stats);
	print_threads(stating);
	print_mnemonics(stating);
	print_gaps(stats);
	print_exceptions(stats);
	if (stats->trace_on)
		printf("  trace on      %s\n", number_group(stats->trace_on, one));
	if (stats->transfers)
		printf("  transfers     %s outside of blocks\n",
		       number_group(stats->transfers, one));
	tracefile_print_extra(stdout, &stating->file);
}

/* --- For programs. --- */

static void json_counts(struct json *json, const struct statistics *stats)
{
	json_open(json, "mix", '{');
	for (unsigned int mix = 0; mix < MIX_KINDS; mix++)
		json_number(json, mix_name((enum mix)mix), stats->mix[mix]);
	json_close(json, '}');
	json_open(json, "instruction_sets", '{');
	for (unsigned int isa = 0; isa < ISAS; isa++)
		if (stats->isas[isa])
			json_number(json, isa_name((enum flowtap_isa)isa), stats->isas[isa]);
	json_close(json, '}');
	json_open(json, "modes", '{');
	for (unsigned int mode = 0; mode < ISA_MODES; mode++)
		if (stats->modes[mode])
			json_number(json, mode_name(stats, mode), stats->modes[mode]);
	if (stats->no_mode)
		json_number(json, "unknown", stats->no_mode);
	json_close(json, '}');
}

static void json_threads(struct json *json, const struct statistics *stats)
{
	size_t n;
	const struct statistics_thread **list = statistics_threads(stats, &n);
	char name[16];

	json_open(json, "threads", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		if (is_others(list[i])) {
			json_bool(json, "others", true);
		} else {
			json_number(json, "pid", list[i]->pid);
			json_number(json, "tid", list[i]->tid);
		}
		json_number(json, "instructions", list[i]->instructions);
		json_number(json, "turns", list[i]->turns);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(list);
	json_open(json, "cpus", '{');
	for (unsigned int cpu = 0; cpu < STATISTICS_CPUS; cpu++) {
		snprintf(name, sizeof(name), "%u", cpu);
		if (stats->cpus[cpu])
			json_number(json, name, stats->cpus[cpu]);
	}
	if (stats->other_cpus)
		json_number(json, "others", stats->other_cpus);
	json_close(json, '}');
}

static void json_gaps(struct json *json, const struct statistics *stats)
{
	uint64_t n[FLOWTAP_GAP_REASONS], ns[FLOWTAP_GAP_REASONS];
	uint64_t size[FLOWTAP_GAP_REASONS], sized[FLOWTAP_GAP_REASONS];

	for (unsigned int reason = 0; reason < FLOWTAP_GAP_REASONS; reason++) {
		n[reason] = stats->gaps[reason].n;
		ns[reason] = stats->gaps[reason].ns;
		size[reason] = stats->gaps[reason].size;
		sized[reason] = stats->gaps[reason].sized;
	}
	gaps_json(json, n, ns);
	gaps_json_of(json, "gap_sizes", size);
	gaps_json_of(json, "gaps_with_size", sized);
}

static void json_exceptions(struct json *json, const struct statistics *stats)
{
	char name[16];

	json_open(json, "exceptions", '{');
	for (unsigned int i = 0; i < STATISTICS_EXCEPTIONS; i++) {
		snprintf(name, sizeof(name), "%u", i);
		if (stats->exceptions[i])
			json_number(json, name, stats->exceptions[i]);
	}
	json_number(json, "interrupts", stats->interrupts);
	json_number(json, "unknown", stats->other_exceptions);
	json_close(json, '}');
}

static void print_json(const struct stating *stating)
{
	const struct statistics *stats = &stating->stats;
	struct json json = { .file = stdout };

	json_open(&json, NULL, '{');
	json_string(&json, "file", input_name(stating->file.path));
	json_string(&json, "format", stating->file.kind->name);
	json_number(&json, "instructions", stats->instructions);
	json_number(&json, "blocks", stats->executed);
	json_number(&json, "distinct_blocks", stats->distinct);
	json_number(&json, "code_bytes", stats->bytes);
	if (stats->last_time) {
		json_number(&json, "first_time_ns", stats->first_time);
		json_number(&json, "last_time_ns", stats->last_time);
	}
	json_counts(&json, stats);
	json_threads(&json, stats);
	if (stating->mnemonics) {
		json_string(&json, "disassembler", flowtap_disasm_version(stating->disasm));
		json_open(&json, "mnemonics", '{');
		for (size_t i = 0; i <= STATISTICS_MNEMONICS && stats->mnemonics[i].n; i++)
			json_number(&json, stats->mnemonics[i].name, stats->mnemonics[i].n);
		json_close(&json, '}');
	}
	json_gaps(&json, stats);
	json_exceptions(&json, stats);
	json_number(&json, "trace_on", stats->trace_on);
	json_number(&json, "transfers", stats->transfers);
	tracefile_json(&json, &stating->file);
	json_close(&json, '}');
}

/* --- The command. --- */

static int stat_file(struct stating *stating, const char *path)
{
	int error, status = STATUS_ERROR;

	if (tracefile_open(&stating->file, path, -1, NULL, stating->quiet))
		return status;
	stating->file.part = stating->part;
	stating->file.progress.doing = stating->quiet ? NULL : "counting";
	error = statistics_init(&stating->stats, flowtap_learned_blocks(stating->file.learned),
				stating->disasm);
	stating->stats.mode_unknown = &stating->file.read.mode_unknown;
	if (!error)
		error = tracefile_read(&stating->file, &stating->stats.sink);
	if (error) {
		tracefile_complain(&stating->file, error);
	} else {
		statistics_sort_mnemonics(&stating->stats);
		if (stating->json)
			print_json(stating);
		else
			print_all(stating);
		status = tracefile_status(&stating->file);
	}
	statistics_free(&stating->stats);
	tracefile_close(&stating->file);
	return status;
}

/* 0, or an exit status after a complaint. */
static int open_disasm(struct stating *stating, enum flowtap_disasm_backend backend)
{
	const struct flowtap_disasm_options options = {
		.backend = backend,
		.style = FLOWTAP_DISASM_PLAIN,
	};
	int error = flowtap_disasm_new(&options, &stating->disasm);

	if (!error && flowtap_disasm_backend(stating->disasm) != FLOWTAP_DISASM_NONE)
		return 0;
	complain("%s", error == -ENOMEM ? "no memory" : flowtap_disasm_missing(options.backend));
	return STATUS_ERROR;
}

int stat_command(int argc, char **argv)
{
	struct stating stating = { .mnemonics = false };
	enum flowtap_disasm_backend disassembler = FLOWTAP_DISASM_AUTO;
	const char *of_mnemonics = NULL;
	const struct command_option options[] = {
		OPTION_FLAG('m', "mnemonics", &stating.mnemonics),
		OPTION(0, "disassembler", required_argument, option_disassembler, &disassembler,
		       .most = FLOWTAP_DISASM_CAPSTONE, .wanted = "auto, llvm or capstone",
		       .first = &of_mnemonics),
		OPTION_FLAG('a', "all", &stating.all),
		OPTIONS_PART(&stating.part),
		OPTION_FLAG('q', "quiet", &stating.quiet),
		OPTION_FLAG(0, "json", &stating.json),
		OPTION_HELP(help),
		OPERAND("FILE")
	};
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	if (of_mnemonics && !stating.mnemonics)
		return misused(argv[0], "--%s is for --mnemonics", of_mnemonics);
	status = stating.mnemonics ? open_disasm(&stating, disassembler) : 0;
	if (!status)
		status = stat_file(&stating, argv[optind]);
	flowtap_disasm_free(stating.disasm);
	return status;
}
