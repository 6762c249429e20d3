// SPDX-License-Identifier: GPL-2.0-only
#include "summary.h"

#include "function.h"
#include "gaps.h"
#include "tool.h"

#include <flowtap/riscv.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 10

/* The value of KEY in the archive's INFO, "" if there is none. */
static const char *info(const struct summary *summary, const char *key, size_t *size)
{
	size_t length = strlen(key);

	for (const char *line = summary->info; *line;) {
		size_t whole = strcspn(line, "\n");

		if (whole > length && line[length] == '=' && !strncmp(line, key, length)) {
			*size = whole - length - 1;
			return line + length + 1;
		}
		line += whole + (line[whole] == '\n');
	}
	*size = 0;
	return "";
}

static double seconds(const struct summary *summary)
{
	const struct flowtap_replay_counts *counts = summary->replay;

	return (double)(counts->last_time - counts->first_time) / 1e9;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void heading(FILE *file, const struct summary *summary)
{
	size_t all, cgroup;
	/* A command beside these is only the time. */
	bool apart = (info(summary, "all", &all), all) || (info(summary, "cgroup", &cgroup), cgroup);
	const struct {
		const char *key, *before;
	} parts[] = {
		{ "cgroup", " recorded of cgroup " },
		{ "command", apart ? " while running " : " recorded of " },
		{ "pid", " recorded of PID " }, { "host", " on " },
		{ "kernel", ", Linux " }, { "arch", ", " },
	};

	print_plain(file, summary->input, strlen(summary->input));
	fputs(all ? ": recorded of all that ran" : ":", file);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t size;
		const char *value = info(summary, parts[i].key, &size);

		if (!size)
			continue;
		fputs(parts[i].before, file);
		print_plain(file, value, size < 200 ? size : 200);
	}
	fputc('\n', file);
}

static void print_transfers(FILE *file, const struct summary *summary)
{
	const struct flowtap_ctr_counts *counts = summary->ctr;
	char number[32];

	fprintf(file, "  transfers     %s\n", number_group(counts->entries, number));
	for (unsigned int type = 0; type < 16; type++)
		if (counts->transfers[type])
			fprintf(file, "    %-20s %14s %5.1f%%\n",
				type ? flowtap_transfer_name(type) : "type not reported",
				number_group(counts->transfers[type], number),
				percent(counts->transfers[type], counts->entries));
}

static void print_gaps(FILE *file, const struct summary *summary)
{
	gaps_print(file, summary->ctr->gaps);
	for (size_t i = 0; i < summary->tap->n_missing; i++) {
		const struct tap_missing *missing = &summary->tap->missing[i];

		fputs("      no code of ", file);
		/* Most reasons begin with the path. */
		if (strncmp(missing->reason, missing->path, strlen(missing->path))) {
			print_plain(file, missing->path, strlen(missing->path));
			fputs(": ", file);
		}
		print_plain(file, missing->reason, strlen(missing->reason));
		fputc('\n', file);
	}
	if (summary->tap->n_missing && !summary->sysroot)
		fputs("      --sysroot DIR names a copy of the recorded machine's files\n", file);
}

static void print_processes(FILE *file, const struct summary *summary)
{
	size_t n;
	const struct tap_process **list = tap_processes(summary->tap, &n);
	char number[32];

	if (n)
		fprintf(file, "  processes     %zu\n", n);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		fprintf(file, "    %7" PRIu32 " ", list[i]->pid);
		print_plain(file, list[i]->comm, strlen(list[i]->comm));
		fprintf(file, "%*s %14s instructions\n", (int)(16 - strlen(list[i]->comm)), "",
			number_group(list[i]->instructions, number));
	}
	free(list);
}

static void print_functions(FILE *file, const struct summary *summary)
{
	size_t n;
	struct function *list = functions_of(summary->blocks, summary->tap, &n);
	char number[32];

	if (n)
		fputs("  hottest functions: share of samples, instructions reconstructed\n", file);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const char *name = list[i].name ? list[i].name : "[no symbol]";
		const char *path = list[i].path ? list[i].path : "[unknown]";
		int pad = 28 - (int)strlen(name);

		fprintf(file, "    %5.1f%% %14s  ", percent(list[i].hits, summary->tap->n_hits),
			number_group(list[i].instructions, number));
		print_plain(file, name, strlen(name));
		fprintf(file, "%*s ", pad > 0 ? pad : 0, "");
		print_plain(file, path, strlen(path));
		fputc('\n', file);
	}
	free(list);
}

static void print_damage(FILE *file, const struct summary *summary)
{
	const struct flowtap_replay_counts *counts = summary->replay;
	char number[32];

	if (counts->damages)
		fprintf(file, "  damage        %" PRIu64 " places, %s not usable\n",
			counts->damages, number_bytes(counts->bad_bytes, number));
	if (counts->sideband_lost)
		fprintf(file, "  side band     %" PRIu64 " events lost: some code may be unknown\n",
			counts->sideband_lost);
	if (!counts->finalised)
		fputs("  unfinished    the recording was cut off; what came before is here\n",
		      file);
}

/* What the samples stand for. */
static void print_trigger(FILE *file, const struct summary *summary)
{
	size_t size;
	const char *event = info(summary, "event", &size);
	char number[32];

	if (summary->period) {
		fprintf(file, ", one every %s ", number_group(summary->period, number));
		print_plain(file, size ? event : "events", size ? size : 6);
		return;
	}
	event = info(summary, "frequency", &size);
	if (!size)
		return;
	fputs(", ", file);
	print_plain(file, event, size);
	fputs(" a second", file);
}

void summary_print(FILE *file, const struct summary *summary)
{
	const struct flowtap_ctr_counts *counts = summary->ctr;
	char number[32], blocks[32];

	heading(file, summary);
	fprintf(file, "  samples       %s in %.1f s from %u CPU%s",
		number_group(counts->samples, number), seconds(summary), summary->cpus,
		summary->cpus == 1 ? "" : "s");
	print_trigger(file, summary);
	fputc('\n', file);
	print_transfers(file, summary);
	fprintf(file, "  instructions  %s reconstructed, in %s blocks\n",
		number_group(counts->instructions, number), number_group(counts->blocks, blocks));
	print_gaps(file, summary);
	print_damage(file, summary);
	print_processes(file, summary);
	print_functions(file, summary);
	if (!summary->output)
		return;
	/* To a pipe nobody counts. */
	if (summary->output_bytes)
		fprintf(file, "  written       %s of %s to ",
			number_bytes(summary->output_bytes, number), summary->format);
	else
		fprintf(file, "  written       %s to ", summary->format);
	if (strcmp(summary->output, "-"))
		print_plain(file, summary->output, strlen(summary->output));
	else
		fputs("standard output", file);
	fputc('\n', file);
}

/* --- JSON --- */

static void json_info(struct json *json, const struct summary *summary)
{
	static const char *const keys[] = {
		"command", "pid", "all", "cgroup", "host", "kernel", "arch", "event", "frequency",
		"filter", "began",
	};

	json_open(json, "recording", '{');
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t size;
		const char *value = info(summary, keys[i], &size);

		if (size)
			json_bytes(json, keys[i], value, size);
	}
	json_number(json, "period", summary->period);
	json_number(json, "cpus", summary->cpus);
	json_real(json, "seconds", seconds(summary));
	json_bool(json, "finalised", summary->replay->finalised);
	json_close(json, '}');
}

static void json_counts(struct json *json, const struct summary *summary)
{
	const struct flowtap_ctr_counts *counts = summary->ctr;

	json_number(json, "samples", counts->samples);
	json_number(json, "transfers", counts->entries);
	json_open(json, "transfers_by_type", '{');
	for (unsigned int type = 0; type < 16; type++)
		if (counts->transfers[type])
			json_number(json, type ? flowtap_transfer_name(type) : "none",
				    counts->transfers[type]);
	json_close(json, '}');
	json_number(json, "instructions", counts->instructions);
	json_number(json, "blocks", counts->blocks);
	gaps_json(json, counts->gaps);
	json_number(json, "bad_records", counts->bad_records);
	json_number(json, "damages", summary->replay->damages);
	json_number(json, "bad_bytes", summary->replay->bad_bytes);
	json_number(json, "sideband_lost", summary->replay->sideband_lost);
}

static void json_lists(struct json *json, const struct summary *summary)
{
	size_t n;
	const struct tap_process **processes = tap_processes(summary->tap, &n);
	struct function *functions;

	json_open(json, "processes", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_number(json, "pid", processes[i]->pid);
		json_string(json, "comm", processes[i]->comm);
		json_number(json, "instructions", processes[i]->instructions);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(processes);

	functions = functions_of(summary->blocks, summary->tap, &n);
	json_open(json, "functions", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", functions[i].name);
		json_string(json, "file", functions[i].path);
		json_number(json, "samples", functions[i].hits);
		json_number(json, "instructions", functions[i].instructions);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(functions);

	json_open(json, "missing", '[');
	for (size_t i = 0; i < summary->tap->n_missing; i++) {
		json_open(json, NULL, '{');
		json_string(json, "file", summary->tap->missing[i].path);
		json_string(json, "reason", summary->tap->missing[i].reason);
		json_number(json, "gaps", summary->tap->missing[i].gaps);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void summary_json(FILE *file, const struct summary *summary)
{
	struct json json = { .file = file };

	json_open(&json, NULL, '{');
	json_string(&json, "input", summary->input);
	json_string(&json, "output", summary->output);
	json_string(&json, "format", summary->format);
	json_number(&json, "output_bytes", summary->output_bytes);
	json_info(&json, summary);
	json_counts(&json, summary);
	json_lists(&json, summary);
	json_close(&json, '}');
}
