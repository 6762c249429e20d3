// SPDX-License-Identifier: GPL-2.0-only
/* flowtap doctor: what this machine has, what is missing and the exact fix. */
#include "common/device.h"
#include "common/tool.h"
#include "doctor/report.h"

#include <getopt.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: flowtap doctor [--json]\n"
	"\n"
	"Looks at everything that recording needs, says what is missing and how to get it, and\n"
	"records itself for a moment to be sure.\n"
	"\n"
	"      --json   the same as JSON\n"
	"  -h, --help   this text\n"
	"\n"
	"Exit status: 0 only if recording works here.\n";

void report_add(struct report *report, enum grade grade, const char *name, const char *fix,
		const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "warn", "FAIL" };
	static const char *const json_words[] = { "ok", "note", "warn", "fail" };
	char detail[512];
	va_list list;

	va_start(list, format);
	vsnprintf(detail, sizeof(detail), format, list);
	va_end(list);
	report->failures += grade == GRADE_FAIL;
	if (report->json) {
		json_open(report->json, NULL, '{');
		json_string(report->json, "name", name);
		json_string(report->json, "status", json_words[grade]);
		json_string(report->json, "detail", detail);
		json_string(report->json, "fix", fix);
		json_close(report->json, '}');
		return;
	}
	printf("%-5s %-9s ", words[grade], name);
	print_plain(stdout, detail, strlen(detail));
	printf("\n");
	if (fix)
		printf("      %-9s fix: %s\n", "", fix);
}

static void print_verdict(const struct report *report)
{
	if (report->failures)
		printf("\nRecording does not work here yet: %u thing%s to fix.\n",
		       report->failures, plural(report->failures));
	else
		printf("\nRecording works here: flowtap record -- COMMAND\n");
}

static void examine(struct report *report)
{
	machine_read(&report->machine);
	report->device = device_query(0, &report->queries, &report->cpus);
	for (size_t cpu = 0; cpu < report->cpus; cpu++)
		report->source |= has_source(&report->queries[cpu]);
	checks_run(report);
}

int doctor_command(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct report report = { .json = NULL };
	struct json json = { .file = stdout };
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			report.json = &json;
			break;
		case 'h':
			fputs(help, stdout);
			return STATUS_OK;
		default:
			return usage_hint(argv[0]);
		}
	}
	if (optind < argc)
		return misused(argv[0], "takes no argument, not '%s'", argv[optind]);

	if (report.json) {
		json_open(&json, NULL, '{');
		json_open(&json, "checks", '[');
	}
	examine(&report);
	if (report.json) {
		json_close(&json, ']');
		json_bool(&json, "works", !report.failures);
		json_close(&json, '}');
	} else {
		print_verdict(&report);
	}
	machine_free(&report.machine);
	free(report.queries);
	return report.failures ? STATUS_ERROR : STATUS_OK;
}
