// SPDX-License-Identifier: GPL-2.0-only
/* flowtap doctor: what this machine has, what is missing and the exact fix. */
#include "common/device_report.h"
#include "common/parse_options.h"
#include "common/tool.h"
#include "doctor/report.h"

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
	"Exit status: 0 only if recording works here, else 1; 2 for wrong usage.\n";

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
	bool as_json = false;
	const struct command_option options[] = {
		OPTION_FLAG(0, "json", &as_json),
		OPTION_HELP(help),
		OPERANDS_NONE
	};
	struct report report = { .json = NULL };
	struct json json = { .file = stdout };
	int status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	if (as_json) {
		report.json = &json;
		json_open(&json, NULL, '{');
		json_open(&json, "checks", '[');
	}
	examine(&report);
	if (as_json) {
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
