// SPDX-License-Identifier: GPL-2.0-or-later
/* Holds what flowtap record and flowtap decode made against the model's execution log. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "recording.h"

static const char usage[] =
	"Usage: comparerecord [--each] PREFIX ARCHIVE FLOW [ARCHIVE FLOW]...\n"
	"Holds each FLOW, text of flowtap decode --to flow of the ARCHIVE of flowtap record, against\n"
	"the log PREFIX.N, which the model wrote with times=1: every instruction is what was executed,\n"
	"in the task that executed it; each task's parts are in the order of time; every instruction\n"
	"that is not there, also of tasks that traced ones forked, and all bytes that the trace buffer\n"
	"lost, lie in exactly one gap, whose cause can be theirs; and each gap has such. Prints totals,\n"
	"a name and a number a line. Exit status: 0 so it is, 1 something differs (the first difference\n"
	"of a file is told), 2 it cannot be compared.\n"
	"  --each         a line \"FLOW N\" for each, with its instructions\n"
	"  --help         this text\n";

struct totals {
	uint64_t lines, sessions, gaps, idle, losses, starts, recorder, moves, tasks, followed;
	uint64_t executed, decoded, missing;
	struct judge_counts counts;
};

static struct history histories[RECORDING_CPUS];
static bool has_log[RECORDING_CPUS];

static int read_logs(const char *prefix)
{
	unsigned int n = 0;
	char path[4096];

	for (unsigned int cpu = 0; cpu < RECORDING_CPUS; cpu++) {
		snprintf(path, sizeof(path), "%s.%u", prefix, cpu);
		if (access(path, F_OK))
			continue;
		if (history_read(&histories[cpu], prefix, cpu, NULL)) {
			fprintf(stderr, "comparerecord: CPU %u: %s\n", cpu, histories[cpu].error);
			return 2;
		}
		has_log[cpu] = true;
		n++;
	}
	if (!n)
		fprintf(stderr, "comparerecord: there is no log %s.0\n", prefix);
	return n ? 0 : 2;
}

static void add(struct totals *totals, const struct recording *recording)
{
	totals->lines += recording->lines;
	totals->sessions += recording->sessions;
	totals->gaps += recording->ngaps;
	totals->idle += recording->idle;
	totals->losses += recording->losses;
	totals->starts += recording->starts;
	totals->recorder += recording->recorder;
	totals->moves += recording->moves;
	totals->tasks += recording->ntasks;
	totals->followed += recording->followed;
	totals->executed += recording->executed;
	totals->decoded += recording->decoded;
	totals->missing += recording->missing;
	for (int cpu = 0; cpu < RECORDING_CPUS; cpu++) {
		const uint64_t *from = (const uint64_t *)&recording->judges[cpu].counts;

		for (size_t i = 0; i < sizeof(totals->counts) / sizeof(uint64_t); i++)
			((uint64_t *)&totals->counts)[i] += from[i];
	}
}

static uint64_t instructions(const struct recording *recording)
{
	uint64_t n = 0;

	for (int cpu = 0; cpu < RECORDING_CPUS; cpu++)
		n += recording->judges[cpu].counts.instructions;
	return n;
}

static int compare(const char *archive, const char *path, struct totals *totals, bool each)
{
	static struct recording recording;
	FILE *flow = fopen(path, "r");
	int err;

	memset(&recording, 0, sizeof(recording));
	if (!flow) {
		fprintf(stderr, "comparerecord: %s: %s\n", path, strerror(errno));
		return 2;
	}
	for (int cpu = 0; cpu < RECORDING_CPUS; cpu++) {
		recording.histories[cpu] = has_log[cpu] ? &histories[cpu] : NULL;
		recording.covered[cpu] = has_log[cpu] ? calloc(histories[cpu].n + 1, 1) : NULL;
		if (has_log[cpu] && !recording.covered[cpu])
			recording_fail(&recording, "no memory");
	}
	err = recording_read(&recording, archive);
	if (!err && !recording.failed)
		err = recording_flow(&recording, flow);
	fclose(flow);
	if (!err && !recording.failed)
		recording_losses(&recording);
	if (recording.failed) {
		fprintf(stderr, "comparerecord: %s: %s\n", path, recording.message);
		for (int cpu = 0; cpu < RECORDING_CPUS; cpu++)
			if (recording.judges[cpu].failed)
				judge_print(&recording.judges[cpu], stderr);
	}
	if (each)
		printf("%s %" PRIu64 "\n", path, instructions(&recording));
	add(totals, &recording);
	err = err ? 2 : recording.failed;
	recording_free(&recording);
	return err;
}

static void print(const struct totals *totals)
{
	const struct {
		const char *name;
		uint64_t value;
	} lines[] = {
		{ "flow-lines", totals->lines },
		{ "flow-sessions", totals->sessions },
		{ "archive-tasks", totals->tasks },
		{ "archive-tasks-followed", totals->followed },
		{ "flow-moves", totals->moves },
		{ "flow-instructions", totals->counts.instructions },
		{ "flow-exceptions", totals->counts.exceptions },
		{ "flow-timestamps", totals->counts.sides[JUDGE_TIMESTAMP] },
		{ "flow-gaps", totals->gaps },
		{ "flow-gaps-recorder", totals->recorder },
		{ "flow-gaps-start", totals->starts },
		{ "flow-gaps-of-stopped-buffers-only", totals->idle },
		{ "log-losses", totals->losses },
		{ "log-user-instructions", totals->executed },
		{ "log-user-instructions-in-flow", totals->decoded },
		{ "log-user-instructions-in-gaps", totals->missing },
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		printf("%s %" PRIu64 "\n", lines[i].name, lines[i].value);
}

int main(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "each", 0, NULL, 'e' }, { "help", 0, NULL, 'h' }, { 0 },
	};
	struct totals totals = { 0 };
	bool each = false;
	int result, c;

	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage, stdout);
			return 0;
		}
		if (c != 'e') {
			fputs(usage, stderr);
			return 2;
		}
		each = true;
	}
	if (argc - optind < 3 || (argc - optind) % 2 == 0) {
		fputs(usage, stderr);
		return 2;
	}
	result = read_logs(argv[optind]);
	for (int i = optind + 1; result < 2 && i < argc; i += 2) {
		int one = compare(argv[i], argv[i + 1], &totals, each);

		result = one > result ? one : result;
	}
	for (int cpu = 0; cpu < RECORDING_CPUS; cpu++) {
		if (!has_log[cpu])
			continue;
		history_free(&histories[cpu]);
		log_unmap(&histories[cpu].code_file);
		log_unmap(&histories[cpu].pe_file);
	}
	print(&totals);
	return result;
}
