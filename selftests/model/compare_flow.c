// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Holds what flowtap decode wrote of a perf.data (--to flow) against the model's execution log: the
 * whole way from perf's file and the side band in it, with code out of the machine's files.
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "judge.h"

static const char usage[] =
	"Usage: compareflow [OPTIONS] PREFIX FLOW...\n"
	"Holds each FLOW, text of flowtap decode --to flow of a perf.data, against the log PREFIX.N of\n"
	"the PEs that its contexts name. Prints totals, a name and a number a line. Exit status: 0 all\n"
	"is equal, 1 something differs (the first difference of a file and PE is told), 2 it cannot be\n"
	"compared.\n"
	"  --gap REASON   such gaps are fine as well; may be given again. Always fine are truncated,\n"
	"                 ring_full, wrapped, unsynced and switch, which come of what perf lost or left\n"
	"                 out, and overflow, of which the log must have one\n"
	"  --each         a line \"FILE N\" for each file and PE, with its instructions\n"
	"  --help         this text\n";

#define PES 512
#define LINE 1024
#define REASONS 32

struct options {
	const char *prefix;
	const char *reasons[REASONS];
	unsigned int nreasons;
	bool each;
};

struct totals {
	struct judge_counts counts;
	uint64_t sessions;
	uint64_t gaps;		/* but overflows */
	uint64_t unsure;	/* of them, where code was mapped anew */
	uint64_t lines;
};

/* A file of text, for one PE. */
struct flow {
	const struct options *options;
	const char *path;
	struct judge judge;
	struct totals *totals;
	unsigned int pe;
	uint64_t number;	/* of the line */
	bool open;		/* the session's PE is known */
	bool ours;		/* and it is this one */
	bool trace_on;		/* before it was known */
	uint64_t timestamp;
	bool has_timestamp;
	bool malformed;
};

static const char *const losses[] = { "truncated", "ring_full", "wrapped", "unsynced", "switch" };

static bool allowed(const struct options *options, const char *reason)
{
	for (size_t i = 0; i < sizeof(losses) / sizeof(losses[0]); i++)
		if (!strcmp(reason, losses[i]))
			return true;
	for (unsigned int i = 0; i < options->nreasons; i++)
		if (!strcmp(reason, options->reasons[i]))
			return true;
	return false;
}

/* The value of "key=" among the words, hexadecimal. */
static bool field(const char *line, const char *key, uint64_t *value)
{
	size_t size = strlen(key);

	for (const char *at = line; (at = strstr(at, key)); at += size) {
		if ((at == line || at[-1] == ' ') && at[size] == '=') {
			*value = strtoull(at + size + 1, NULL, 16);
			return true;
		}
	}
	return false;
}

static void take_range(struct flow *flow, const char *line)
{
	uint64_t start, end;
	unsigned int n;
	char isa[8], executed;

	if (sscanf(line, "range %" SCNx64 " %" SCNx64 " %u %7s %c", &start, &end, &n, isa,
		   &executed) != 5 || strcmp(isa, "A64") || end - start != 4ULL * n || !n) {
		flow->malformed = true;
		return;
	}
	judge_instructions(&flow->judge, start, n, executed == 'N' ? JUDGE_NOT_TAKEN : JUDGE_TAKEN,
			   0);
}

static void take_context(struct flow *flow, const char *line)
{
	uint64_t contextid = 0, vmid = 0, cpu;
	struct judge_context context = { 0 };
	char isa[8], security[16];
	unsigned int el, width;

	if (sscanf(line, "context %7s EL%u %15s %u", isa, &el, security, &width) != 4 ||
	    !field(line, "cpu", &cpu)) {
		flow->malformed = true;
		return;
	}
	if (!flow->open) {
		flow->open = true;
		flow->ours = cpu == flow->pe;
		flow->totals->sessions += flow->ours;
		if (flow->ours && flow->trace_on)
			judge_trace_on(&flow->judge);
		if (flow->ours && flow->has_timestamp)
			judge_side(&flow->judge, JUDGE_TIMESTAMP, flow->timestamp);
	}
	if (!flow->ours)
		return;
	context.el = (uint8_t)el;
	context.nonsecure = !strcmp(security, "nonsecure");
	context.aarch64 = width == 64;
	context.has_contextid = field(line, "contextid", &contextid);
	context.has_vmid = field(line, "vmid", &vmid);
	context.contextid = (uint32_t)contextid;
	context.vmid = (uint32_t)vmid;
	judge_context(&flow->judge, &context);
}

static void take_gap(struct flow *flow, const char *line)
{
	char reason[32] = "", what[200];

	sscanf(line, "%*s %31s", reason);
	if (!strncmp(line, "no_image", 8))
		snprintf(reason, sizeof(reason), "no_image");
	if (!strcmp(reason, "overflow")) {
		judge_overflow(&flow->judge);
		return;
	}
	flow->totals->gaps++;
	/*
	 * Said honestly, where a program came to where another one was. Decoding goes on without an
	 * A-sync, which the judge needs to find the place: the rest of the session is left out.
	 */
	if (!strcmp(reason, "no_code") && strstr(line, "it was mapped anew meanwhile")) {
		judge_break(&flow->judge, true);
		flow->ours = false;
		flow->totals->unsure++;
		return;
	}
	if (allowed(flow->options, reason)) {
		judge_break(&flow->judge, true);
		return;
	}
	snprintf(what, sizeof(what), "line %" PRIu64 ": %.150s", flow->number, line);
	judge_gap(&flow->judge, what);
}

/* A session's lines are one CPU's; which, its first context says. */
static void take_session(struct flow *flow)
{
	if (flow->ours)
		judge_break(&flow->judge, true);
	flow->open = flow->ours = flow->trace_on = flow->has_timestamp = false;
}

static void take_early(struct flow *flow, const char *line)
{
	if (!strcmp(line, "trace_on"))
		flow->trace_on = true;
	else if (sscanf(line, "timestamp %" SCNx64, &flow->timestamp) == 1)
		flow->has_timestamp = true;
	else if (!strncmp(line, "range ", 6) || !strncmp(line, "exception ", 10))
		flow->malformed = true;
}

static void take_line(struct flow *flow, const char *line)
{
	unsigned int number;
	uint64_t value;

	if (!strcmp(line, "session"))
		take_session(flow);
	else if (!strncmp(line, "context ", 8))
		take_context(flow, line);
	else if (!flow->open)
		take_early(flow, line);
	else if (!flow->ours)
		return;
	else if (!strncmp(line, "range ", 6))
		take_range(flow, line);
	else if (sscanf(line, "exception %u %" SCNx64, &number, &value) == 2)
		judge_exception(&flow->judge, number, value);
	else if (!strcmp(line, "eret"))
		judge_return(&flow->judge);
	else if (!strcmp(line, "trace_on"))
		judge_trace_on(&flow->judge);
	else if (sscanf(line, "timestamp %" SCNx64, &value) == 1)
		judge_side(&flow->judge, JUDGE_TIMESTAMP, value);
	else if (!strcmp(line, "cycles unknown"))
		judge_side(&flow->judge, JUDGE_CYCLES, 0);
	else if (sscanf(line, "cycles %" SCNu64, &value) == 1)
		judge_side(&flow->judge, JUDGE_CYCLES, value + 1);
	else if (sscanf(line, "event %" SCNu64, &value) == 1)
		judge_side(&flow->judge, JUDGE_EVENT, value);
	else if (!strncmp(line, "gap ", 4) || !strncmp(line, "no_image ", 9))
		take_gap(flow, line);
	else
		flow->malformed = true;
}

static void add(struct judge_counts *to, const struct judge_counts *counts)
{
	const uint64_t *from = (const uint64_t *)counts;

	for (size_t i = 0; i < sizeof(*counts) / sizeof(uint64_t); i++)
		((uint64_t *)to)[i] += from[i];
}

static int read_flow(struct flow *flow, FILE *file)
{
	char line[LINE];

	while (fgets(line, sizeof(line), file)) {
		flow->number++;
		line[strcspn(line, "\n")] = 0;
		take_line(flow, line);
		if (flow->malformed) {
			fprintf(stderr, "compareflow: %s: line %" PRIu64 ": what is this: %s\n",
				flow->path, flow->number, line);
			return 2;
		}
		if (flow->judge.failed)
			break;
	}
	if (!flow->judge.failed)
		judge_end(&flow->judge, false);
	return ferror(file) ? 2 : 0;
}

static int compare_file(const struct options *options, const struct history *history,
			unsigned int pe, const char *path, struct totals *totals)
{
	static struct flow flow;
	FILE *file = fopen(path, "r");
	int result;

	if (!file) {
		fprintf(stderr, "compareflow: %s: %s\n", path, strerror(errno));
		return 2;
	}
	flow = (struct flow){ .options = options, .path = path, .pe = pe, .totals = totals };
	judge_init(&flow.judge, history, "flowtap decode");
	/* What else was traced since the PE was switched on is in other files. */
	judge_break(&flow.judge, true);
	result = read_flow(&flow, file);
	fclose(file);
	if (flow.judge.failed) {
		fprintf(stderr, "compareflow: %s, PE %u, about line %" PRIu64 "\n", path, pe,
			flow.number);
		judge_print(&flow.judge, stderr);
		result = result ? result : 1;
	}
	if (options->each)
		printf("%s %" PRIu64 "\n", path, flow.judge.counts.instructions);
	add(&totals->counts, &flow.judge.counts);
	totals->lines += pe ? 0 : flow.number;
	return result;
}

static int compare_pe(const struct options *options, unsigned int pe, char **flows,
		      struct totals *totals)
{
	struct history history;
	int result = 0;

	if (history_read(&history, options->prefix, pe, NULL)) {
		fprintf(stderr, "compareflow: PE %u: %s\n", pe, history.error);
		result = 2;
	}
	for (; result < 2 && *flows; flows++) {
		int one = compare_file(options, &history, pe, *flows, totals);

		result = one > result ? one : result;
	}
	history_free(&history);
	log_unmap(&history.code_file);
	log_unmap(&history.pe_file);
	return result;
}

static int compare(const struct options *options, char **flows)
{
	struct totals totals = { 0 };
	unsigned int pes = 0;
	char path[4096];
	int result = 0;

	for (unsigned int pe = 0; pe < PES; pe++) {
		int one;

		snprintf(path, sizeof(path), "%s.%u", options->prefix, pe);
		if (access(path, F_OK))
			continue;
		pes++;
		one = compare_pe(options, pe, flows, &totals);
		result = one > result ? one : result;
	}
	if (!pes) {
		fprintf(stderr, "compareflow: there is no log %s.0\n", options->prefix);
		return 2;
	}
	printf("flow-unsure %" PRIu64 "\n", totals.unsure);
	printf("flow-lines %" PRIu64 "\nflow-sessions %" PRIu64 "\nflow-gaps %" PRIu64 "\n"
	       "flow-instructions %" PRIu64 "\nflow-exceptions %" PRIu64 "\nflow-contexts %" PRIu64
	       "\nflow-timestamps %" PRIu64 "\nflow-cycle-counts %" PRIu64 "\n"
	       "flow-gaps-explained %" PRIu64 "\nflow-instructions-in-gaps %" PRIu64 "\n",
	       totals.lines, totals.sessions, totals.gaps, totals.counts.instructions,
	       totals.counts.exceptions, totals.counts.contexts,
	       totals.counts.sides[JUDGE_TIMESTAMP], totals.counts.sides[JUDGE_CYCLES],
	       totals.counts.gaps, totals.counts.skipped);
	return result;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "gap", 1, NULL, 'g' }, { "each", 0, NULL, 'e' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	struct options options = { 0 };
	int c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c == 'e') {
			options.each = true;
			continue;
		}
		if (c != 'g' || options.nreasons == REASONS) {
			fputs(usage, stderr);
			return 2;
		}
		options.reasons[options.nreasons++] = optarg;
	}
	if (argc - optind < 2) {
		fputs(usage, stderr);
		return 2;
	}
	options.prefix = argv[optind];
	return compare(&options, argv + optind + 1);
}
