// SPDX-License-Identifier: GPL-2.0-only
/* Prints the summary of a decoded Arm trace as lines and as JSON, a line for each CPU. */
#include "decode/trace_summary.h"

#include "common/gaps.h"
#include "common/input_file.h"
#include "common/tool.h"

#include <inttypes.h>
#include <string.h>
#include <sys/resource.h>

/* Of this process so far, in bytes. */
static uint64_t peak_memory(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_maxrss * 1024;
}

static double seconds(const struct trace_decoding *decoding)
{
	return (double)(number_now() - decoding->began) / 1e9;
}

static void print_count(FILE *file, uint64_t count, const char *what)
{
	char number[32];

	if (count)
		fprintf(file, "    %-14s %12s\n", what, number_group(count, number));
}

static void print_trace(FILE *file, const struct trace_decoding *decoding)
{
	const struct flowtap_ete_counts *counts = &decoding->counts;
	char bytes[32], packets[32], number[32];

	fprintf(file, "  trace         %s, %s packet%s, %" PRIu64 " session%s\n",
		number_bytes(counts->bytes, bytes), number_group(counts->packets, packets),
		plural(counts->packets), decoding->sessions, plural(decoding->sessions));
	print_count(file, counts->atoms, "atoms");
	print_count(file, counts->exceptions, "exceptions");
	print_count(file, counts->timestamps, "timestamps");
	print_count(file, counts->cycles, "cycles");
	print_count(file, counts->cancelled, "cancelled");
	print_count(file, counts->failed, "failed");
	print_count(file, counts->unresolved, "unresolved");
	print_count(file, decoding->frame_damages, "bad frames");
	fprintf(file, "  instructions  %s, in %s block%s",
		number_group(counts->instructions, number), number_group(counts->blocks, packets),
		plural(counts->blocks));
	if (!decoding->evicted)
		fprintf(file, " (%s distinct)", number_group(decoding->distinct, number));
	fputc('\n', file);
	if (counts->inferred)
		fprintf(file, "    %s more in Q elements, by a way that is not told\n",
			number_group(counts->inferred, number));
}

static void print_gaps(FILE *file, const struct trace_decoding *decoding)
{
	gaps_print(file, decoding->counts.gaps, NULL);
	for (size_t i = 0; i < decoding->n_missing; i++)
		fprintf(file, "      no code in the page at 0x%" PRIx64 "\n",
			decoding->missing[i].page);
	if (decoding->more_missing)
		fputs("      and in others\n", file);
	if (decoding->n_missing && !decoding->options->sysroot)
		fputs("      --memory FILE@ADDRESS or --elf FILE adds code\n", file);
}

static void print_output(FILE *file, const struct trace_decoding *decoding,
			 const struct trace_cpu *cpu)
{
	bool last = cpu == &decoding->cpus[decoding->n_cpus - 1];
	char number[32];

	/* Standard output is told once, for all. */
	if (!cpu->output || (!last && !strcmp(cpu->output, "-")))
		return;
	fputs("  written       ", file);
	/* To a pipe nobody counts. */
	if (cpu->bytes)
		fprintf(file, "%s of ", number_bytes(cpu->bytes, number));
	fprintf(file, "%s to ", decoding->options->format.kind->name);
	if (strcmp(cpu->output, "-"))
		print_plain(file, cpu->output, strlen(cpu->output));
	else
		fputs("standard output", file);
	fputc('\n', file);
}

static void print_cpus(FILE *file, const struct trace_decoding *decoding)
{
	char number[32];

	for (size_t i = 0; i < decoding->n_cpus && decoding->several; i++) {
		if (decoding->cpus[i].unsupported)
			continue;
		fputs("  CPU           ", file);
		print_plain(file, decoding->cpus[i].name, strlen(decoding->cpus[i].name));
		fprintf(file, " (cpu=%" PRIu32 ") %s instruction%s\n", decoding->cpus[i].number,
			number_group(decoding->cpus[i].instructions, number),
			plural(decoding->cpus[i].instructions));
	}
	for (size_t i = 0; i < decoding->n_cpus; i++)
		print_output(file, decoding, &decoding->cpus[i]);
}

void trace_summary_print(FILE *file, const struct trace_decoding *decoding)
{
	const char *input = input_name(decoding->options->input);
	char number[32], code[32];

	print_plain(file, input, strlen(input));
	fprintf(file, ": %s\n", decoding->kind);
	print_trace(file, decoding);
	print_gaps(file, decoding);
	left_out_summary(file, &decoding->left_out);
	print_cpus(file, decoding);
	fprintf(file, "  took          %.2f s, at most %s of memory, %s of it code\n",
		seconds(decoding), number_bytes(peak_memory(), number),
		number_bytes(decoding->code_bytes, code));
}

/* --- JSON --- */

static void json_counts(struct json *json, const struct trace_decoding *decoding)
{
	const struct flowtap_ete_counts *counts = &decoding->counts;

	json_number(json, "bytes", counts->bytes);
	json_number(json, "packets", counts->packets);
	json_number(json, "sessions", decoding->sessions);
	json_number(json, "syncs", counts->syncs);
	json_number(json, "atoms", counts->atoms);
	json_number(json, "instructions", counts->instructions);
	json_number(json, "blocks", counts->blocks);
	if (decoding->evicted)
		json_string(json, "distinct_blocks", NULL);
	else
		json_number(json, "distinct_blocks", decoding->distinct);
	json_number(json, "inferred", counts->inferred);
	json_number(json, "exceptions", counts->exceptions);
	json_number(json, "timestamps", counts->timestamps);
	json_number(json, "cycles", counts->cycles);
	json_number(json, "cancelled", counts->cancelled);
	json_number(json, "failed", counts->failed);
	json_number(json, "unresolved", counts->unresolved);
	gaps_json(json, counts->gaps, NULL);
	json_number(json, "bad_packets", counts->bad_packets);
	json_number(json, "bad_frames", decoding->frame_damages);
}

static void json_cpus(struct json *json, const struct trace_decoding *decoding)
{
	json_open(json, "cpus", '[');
	for (size_t i = 0; i < decoding->n_cpus; i++) {
		const struct trace_cpu *cpu = &decoding->cpus[i];

		json_open(json, NULL, '{');
		json_string(json, "name", cpu->name);
		json_number(json, "cpu", cpu->number);
		json_number(json, "instructions", cpu->instructions);
		json_string(json, "output", cpu->output);
		json_number(json, "output_bytes", cpu->bytes);
		json_close(json, '}');
	}
	json_close(json, ']');
}

static void json_missing(struct json *json, const struct trace_decoding *decoding)
{
	json_open(json, "missing", '[');
	for (size_t i = 0; i < decoding->n_missing; i++) {
		json_open(json, NULL, '{');
		json_hex(json, "page", decoding->missing[i].page);
		json_number(json, "looks", decoding->missing[i].looks);
		json_close(json, '}');
	}
	json_close(json, ']');
	json_bool(json, "more_missing", decoding->more_missing);
}

void trace_summary_json(FILE *file, const struct trace_decoding *decoding)
{
	struct json json = { .file = file };

	json_open(&json, NULL, '{');
	json_string(&json, "input", input_name(decoding->options->input));
	json_string(&json, "kind", decoding->kind);
	json_string(&json, "format", decoding->options->format.kind->name);
	json_counts(&json, decoding);
	left_out_json(&json, &decoding->left_out);
	json_cpus(&json, decoding);
	if (decoding->json_lists)
		decoding->json_lists(&json, decoding);
	else
		json_missing(&json, decoding);
	json_number(&json, "code_bytes", decoding->code_bytes);
	json_number(&json, "peak_memory_bytes", peak_memory());
	json_seconds(&json, "seconds", number_now() - decoding->began);
	json_close(&json, '}');
}
