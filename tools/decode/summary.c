// SPDX-License-Identifier: GPL-2.0-only
/* Prints the summary of a decoded archive twice: as lines for people, as JSON for programs. */
#include "decode/summary.h"

#include "common/event.h"
#include "common/gaps.h"
#include "common/tool.h"
#include "decode/summary_lists.h"

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

static uint64_t duration(const struct summary *summary)
{
	const struct flowtap_replay_counts *counts = summary->replay;

	return counts->last_time - counts->first_time;
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

static const uint64_t *gaps_of(const struct summary *summary)
{
	return summary->aux ? summary->aux->gaps : summary->ctr->gaps;
}

/*
 * Of trace, for each instruction; 0 where that would say nothing: each atom is a block and more
 * where all of it could be reconstructed.
 */
static double bits(const struct summary *summary)
{
	const struct flowtap_ete_counts *ete = &summary->aux->ete;
	uint64_t dropped = ete->cancelled + ete->failed + ete->unresolved;
	uint64_t atoms = ete->atoms > dropped ? ete->atoms - dropped : 0;

	if (!ete->instructions || ete->blocks < atoms - atoms / 10)
		return 0;
	return 8.0 * (double)summary->aux->bytes / (double)ete->instructions;
}

static void print_trace(FILE *file, const struct summary *summary)
{
	const struct flowtap_aux_counts *counts = summary->aux;
	char number[32], records[32], time[32];

	fprintf(file, "  trace         %s in %s record%s, %s from %u CPU%s\n",
		number_bytes(counts->bytes, number), number_group(counts->records, records),
		plural(counts->records), number_time(duration(summary), time), summary->cpus,
		plural(summary->cpus));
	if (counts->missing)
		fprintf(file, "    %s more were not kept\n",
			number_bytes(counts->missing, number));
	fprintf(file, "  instructions  %s reconstructed, in %s block%s",
		number_group(counts->ete.instructions, number),
		number_group(counts->ete.blocks, records), plural(counts->ete.blocks));
	if (bits(summary) > 0)
		fprintf(file, ", of %.2f bits each", bits(summary));
	fputc('\n', file);
}

static void print_pick(FILE *file, const struct pick *pick)
{
	if (!pick_some(pick))
		return;
	fputs("  only         ", file);
	if (pick->tid)
		fprintf(file, " thread %" PRIu32, pick->tid);
	if (pick->one_cpu)
		fprintf(file, "%s CPU %" PRIu32, pick->tid ? " on" : "", pick->cpu);
	fputc('\n', file);
}

static void print_gaps(FILE *file, const struct summary *summary)
{
	gaps_print(file, gaps_of(summary), summary->aux ? summary->profile->gap_ns : NULL);
	for (size_t i = 0; i < summary->profile->n_missing; i++) {
		const struct flowtap_profile_missing *missing = &summary->profile->missing[i];

		fputs("      no code of ", file);
		/* Most reasons begin with the path. */
		if (strncmp(missing->reason, missing->path, strlen(missing->path))) {
			print_plain(file, missing->path, strlen(missing->path));
			fputs(": ", file);
		}
		print_plain(file, missing->reason, strlen(missing->reason));
		fputc('\n', file);
	}
	if (!summary->profile->n_missing)
		return;
	if (summary->sysroot)
		fputs("      below --sysroot they must be at the paths that they had, as they were "
		      "recorded\n", file);
	else
		fputs("      --sysroot DIR names a copy of the recorded machine's files\n", file);
}

static uint64_t instructions(const struct summary *summary)
{
	return summary->aux ? summary->aux->ete.instructions : summary->ctr->instructions;
}

/* Of samples; where all was traced, or none came by event or time, of all that was executed. */
static double share(const struct summary *summary, const struct flowtap_function *function)
{
	if (!summary->profile->n_hits)
		return percent(function->instructions, instructions(summary));
	return percent(function->hits, summary->profile->n_hits);
}

/* "15 at task switches, 1 that was asked for": those that there are. */
static void print_parts_of(FILE *file, const uint64_t numbers[], const char *const names[][2],
			   size_t n)
{
	const char *before = "";
	char number[32];

	for (size_t i = 0; i < n; i++) {
		if (!numbers[i])
			continue;
		fprintf(file, "%s%s %s", before, number_group(numbers[i], number),
			names[i][numbers[i] > 1]);
		before = ", ";
	}
}

/* Of what the shares of functions are, and which samples are not in it. */
static void print_whole(FILE *file, const struct summary *summary)
{
	/* Of one, and of more. */
	static const char *const names[][2] = {
		{ "at a task switch", "at task switches" },
		{ "that was asked for", "that were asked for" },
		{ "in a mode that is not recorded", "in a mode that is not recorded" },
	};
	const struct flowtap_profile_samples *samples = &summary->profile->samples;
	const uint64_t others[] = { samples->switches, samples->asked, samples->nowhere };
	char number[32];

	if (!summary->profile->n_hits) {
		fprintf(file, "  hottest functions: share of the %s instruction%s reconstructed, "
			"and how many\n", number_group(instructions(summary), number),
			plural(instructions(summary)));
		return;
	}
	fprintf(file, "  hottest functions: share of %s sample%s ",
		number_group(summary->profile->n_hits, number), plural(summary->profile->n_hits));
	fputs(!samples->timer ? "by event" : !samples->event ? "by time" : "by event or time", file);
	if (others[0] || others[1] || others[2]) {
		fputs(" (not of ", file);
		print_parts_of(file, others, names, 3);
		fputc(')', file);
	}
	fputs(", instructions reconstructed\n", file);
}

static void print_functions(FILE *file, const struct summary *summary)
{
	size_t n;
	struct flowtap_function *list =
		flowtap_profile_functions(summary->profile, summary->blocks, &n);
	char number[32];

	if (n)
		print_whole(file, summary);
	for (size_t i = 0; i < n && i < SHOWN; i++) {
		const char *name = list[i].name ? list[i].name : "[no symbol]";
		const char *path = list[i].path ? list[i].path : "[unknown]";
		int pad = 28 - (int)strlen(name);

		fprintf(file, "    %5.1f%% %14s  ", share(summary, &list[i]),
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
		fprintf(file, "  damage        %" PRIu64 " place%s, %s not usable\n",
			counts->damages, plural(counts->damages),
			number_bytes(counts->bad_bytes, number));
	if (counts->sideband_lost)
		fprintf(file, "  side band     %" PRIu64 " event%s lost: some code may be unknown\n",
			counts->sideband_lost, plural(counts->sideband_lost));
	if (!counts->finalised)
		fputs("  unfinished    the recording was cut off; what came before is here\n",
		      file);
	summary_print_unverified(file, summary->profile);
}

/* What the samples stand for. */
static void print_trigger(FILE *file, const struct summary *summary)
{
	size_t size;
	const char *event = info(summary, "event", &size);
	char number[32];

	if (summary->period) {
		fprintf(file, ", one every %s %s", number_group(summary->period, number),
			event_unit(event, size));
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

/* Three digits of it: the rest is not known. */
static uint64_t rounded(uint64_t value)
{
	uint64_t unit = 1;

	while (value / unit >= 1000)
		unit *= 10;
	return (value / unit + (value % unit >= unit - unit / 2)) * unit;
}

/* How much of what was executed is in the flow, and in which pieces. */
static void print_coverage(FILE *file, const struct summary *summary)
{
	const struct flowtap_profile_pieces *pieces = &summary->profile->pieces;
	uint64_t known = summary->ctr->instructions;
	double part = percent(known, summary->executed);
	char number[32];

	if (!pieces->n)
		return;
	fprintf(file, "  coverage      %s ", number_group(known, number));
	/* Of all there is, the period gives less than that. */
	if (summary->executed > known) {
		fprintf(file, "of about %s ", number_group(rounded(summary->executed), number));
		fprintf(file, part < 0.05 ? "instructions, under 0.1%%," : "instructions, %.1f%%,",
			part);
	} else {
		fputs("instructions", file);
	}
	fprintf(file, " in %s piece%s", number_group(pieces->n, number),
		plural(pieces->n));
	fprintf(file, ": median %s", number_group(flowtap_profile_median(pieces), number));
	fprintf(file, ", longest %s\n", number_group(pieces->longest, number));
}

static void print_samples(FILE *file, const struct summary *summary)
{
	const struct flowtap_ctr_counts *counts = summary->ctr;
	char number[32], blocks[32], time[32];

	fprintf(file, "  samples       %s in %s from %u CPU%s",
		number_group(counts->samples, number), number_time(duration(summary), time), summary->cpus,
		plural(summary->cpus));
	print_trigger(file, summary);
	fputc('\n', file);
	print_transfers(file, summary);
	fprintf(file, "  instructions  %s reconstructed, in %s block%s\n",
		number_group(counts->instructions, number), number_group(counts->blocks, blocks),
		plural(counts->blocks));
	print_coverage(file, summary);
}

static void print_written(FILE *file, const char *format, const char *path, uint64_t bytes)
{
	char number[32];

	fputs("  written       ", file);
	/* To a pipe nobody counts. */
	if (bytes)
		fprintf(file, "%s of ", number_bytes(bytes, number));
	fprintf(file, "%s to ", format);
	if (strcmp(path, "-"))
		print_plain(file, path, strlen(path));
	else
		fputs("standard output", file);
	fputc('\n', file);
}

static void print_parts(FILE *file, const struct summary *summary)
{
	const struct split *split = summary->split;
	size_t without = 0;

	for (size_t i = 0; i < split->n; i++) {
		if (split->list[i]->written)
			print_written(file, summary->format, split->list[i]->path,
				      split->list[i]->bytes);
		else
			without++;
	}
	if (without)
		fprintf(file, "    and none for %zu without an instruction\n", without);
}

void summary_print(FILE *file, const struct summary *summary)
{
	heading(file, summary);
	print_pick(file, summary->pick);
	triggers_print(file, summary->triggers);
	if (summary->aux)
		print_trace(file, summary);
	else
		print_samples(file, summary);
	print_gaps(file, summary);
	print_damage(file, summary);
	summary_print_processes(file, summary->profile);
	print_functions(file, summary);
	left_out_summary(file, summary->left_out);
	if (summary->output && summary->split)
		print_parts(file, summary);
	else if (summary->output)
		print_written(file, summary->format, summary->output, summary->output_bytes);
}

/* --- JSON --- */

/* Digits of `text`, in which a newline or 0 follows `size`; false: it is anything else. */
static bool is_number(const char *text, size_t size)
{
	return size && size < 20 && strspn(text, "0123456789") == size;
}

static void json_pids(struct json *json, const struct summary *summary)
{
	size_t size, length;
	const char *value = info(summary, "pid", &size), *end = value + size;

	if (!size)
		return;
	json_open(json, "pids", '[');
	for (; value < end; value += length + 1) {
		length = strcspn(value, ",\n");
		if (is_number(value, length))
			json_number(json, NULL, strtoull(value, NULL, 10));
	}
	json_close(json, ']');
}

/* SECONDS.NANOSECONDS since 1970. */
static void json_began(struct json *json, const struct summary *summary)
{
	size_t size, length;
	const char *value = info(summary, "began", &size);

	length = size > 10 ? size - 10 : 0;
	if (length <= 10 && is_number(value, length) && value[length] == '.' &&
	    is_number(value + length + 1, 9))
		json_seconds(json, "began_seconds", strtoull(value, NULL, 10) * 1000000000 +
						    strtoull(value + length + 1, NULL, 10));
}

static void json_numbers(struct json *json, const struct summary *summary)
{
	size_t size;
	const char *value = info(summary, "frequency", &size);

	if (is_number(value, size))
		json_number(json, "frequency_hz", strtoull(value, NULL, 10));
	json_pids(json, summary);
	info(summary, "all", &size);
	json_bool(json, "all", size);
	json_began(json, summary);
}

static void json_info(struct json *json, const struct summary *summary)
{
	static const char *const keys[] = {
		"command", "cgroup", "host", "kernel", "arch", "event", "filter",
	};

	json_open(json, "recording", '{');
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		size_t size;
		const char *value = info(summary, keys[i], &size);

		if (size)
			json_bytes(json, keys[i], value, size);
	}
	json_numbers(json, summary);
	if (summary->period)
		json_number(json, "period", summary->period);
	json_number(json, "cpu_count", summary->cpus);
	json_seconds(json, "seconds", duration(summary));
	json_bool(json, "finalised", summary->replay->finalised);
	json_close(json, '}');
}

static void json_triggers(struct json *json, const struct flowtap_profile *profile)
{
	json_open(json, "samples_by_trigger", '{');
	json_number(json, "overflow", profile->samples.event);
	json_number(json, "timer", profile->samples.timer);
	json_number(json, "switch", profile->samples.switches);
	json_number(json, "snapshot", profile->samples.asked);
	json_close(json, '}');
	json_number(json, "samples_in_functions", profile->n_hits);
}

static void json_coverage(struct json *json, const struct summary *summary)
{
	const struct flowtap_profile_pieces *pieces = &summary->profile->pieces;

	json_open(json, "coverage", '{');
	if (summary->executed > summary->ctr->instructions)
		json_number(json, "executed_about", summary->executed);
	json_number(json, "pieces", pieces->n);
	json_number(json, "median", flowtap_profile_median(pieces));
	json_number(json, "longest", pieces->longest);
	json_close(json, '}');
}

static void json_samples(struct json *json, const struct summary *summary)
{
	const struct flowtap_ctr_counts *counts = summary->ctr;

	json_number(json, "samples", counts->samples);
	json_triggers(json, summary->profile);
	json_number(json, "transfers", counts->entries);
	json_open(json, "transfers_by_type", '{');
	for (unsigned int type = 0; type < 16; type++)
		if (counts->transfers[type])
			json_number(json, type ? flowtap_transfer_name(type) : "none",
				    counts->transfers[type]);
	json_close(json, '}');
	json_number(json, "instructions", counts->instructions);
	json_number(json, "blocks", counts->blocks);
	json_coverage(json, summary);
	gaps_json(json, counts->gaps, NULL);
	json_number(json, "bad_records", counts->bad_records);
}

static void json_trace(struct json *json, const struct summary *summary)
{
	const struct flowtap_aux_counts *counts = summary->aux;
	const struct flowtap_ete_counts *ete = &counts->ete;

	json_number(json, "records", counts->records);
	json_number(json, "bytes", counts->bytes);
	json_number(json, "missing_bytes", counts->missing);
	json_number(json, "packets", ete->packets);
	json_number(json, "atoms", ete->atoms);
	json_number(json, "exceptions", ete->exceptions);
	json_number(json, "timestamps", ete->timestamps);
	json_number(json, "cycles", ete->cycles);
	json_number(json, "cancelled", ete->cancelled);
	json_number(json, "failed", ete->failed);
	json_number(json, "unresolved", ete->unresolved);
	json_number(json, "instructions", ete->instructions);
	json_number(json, "blocks", ete->blocks);
	if (bits(summary) > 0)
		json_real(json, "bits_per_instruction", bits(summary));
	gaps_json(json, counts->gaps, summary->profile->gap_ns);
	json_number(json, "bad_records", counts->bad_records);
	json_number(json, "bad_packets", ete->bad_packets);
}

static void json_counts(struct json *json, const struct summary *summary)
{
	if (summary->aux)
		json_trace(json, summary);
	else
		json_samples(json, summary);
	json_number(json, "damages", summary->replay->damages);
	json_number(json, "bad_bytes", summary->replay->bad_bytes);
	json_number(json, "sideband_lost", summary->replay->sideband_lost);
	triggers_json(json, summary->triggers);
}

static void json_functions(struct json *json, const struct summary *summary)
{
	struct flowtap_function *functions;
	size_t n;

	functions = flowtap_profile_functions(summary->profile, summary->blocks, &n);
	json_open(json, "functions", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(json, NULL, '{');
		json_string(json, "name", functions[i].name);
		json_string(json, "file", functions[i].path);
		if (!summary->aux)
			json_number(json, "samples", functions[i].hits);
		json_number(json, "instructions", functions[i].instructions);
		json_close(json, '}');
	}
	json_close(json, ']');
	free(functions);
}

static void json_parts(struct json *json, const struct split *split)
{
	static const char *const keys[] = {
		[SPLIT_THREAD] = "tid", [SPLIT_PROCESS] = "pid", [SPLIT_CPU] = "cpu",
	};

	json_open(json, "outputs", '[');
	for (size_t i = 0; i < split->n; i++) {
		const struct split_part *part = split->list[i];

		json_open(json, NULL, '{');
		json_number(json, keys[split->options->split], part->number);
		json_number(json, "instructions", part->instructions);
		json_string(json, "output", part->written ? part->path : NULL);
		json_number(json, "output_bytes", part->bytes);
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
	if (summary->split)
		json_parts(&json, summary->split);
	json_info(&json, summary);
	if (summary->pick->tid)
		json_number(&json, "tid", summary->pick->tid);
	if (summary->pick->one_cpu)
		json_number(&json, "cpu", summary->pick->cpu);
	json_counts(&json, summary);
	left_out_json(&json, summary->left_out);
	summary_json_processes(&json, summary->profile);
	json_functions(&json, summary);
	summary_json_missing(&json, summary->profile);
	json_close(&json, '}');
}
