// SPDX-License-Identifier: GPL-2.0-only
/* flowtap doctor: what this machine has, what is missing and the exact fix. */
#include "common/device.h"
#include "common/tool.h"
#include "doctor/patient.h"

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

void report(struct patient *patient, enum grade grade, const char *name, const char *fix,
	    const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "warn", "FAIL" };
	static const char *const json_words[] = { "ok", "note", "warn", "fail" };
	char detail[512];
	va_list list;

	va_start(list, format);
	vsnprintf(detail, sizeof(detail), format, list);
	va_end(list);
	patient->failures += grade == GRADE_FAIL;
	if (patient->json) {
		json_open(patient->json, NULL, '{');
		json_string(patient->json, "name", name);
		json_string(patient->json, "status", json_words[grade]);
		json_string(patient->json, "detail", detail);
		json_string(patient->json, "fix", fix);
		json_close(patient->json, '}');
		return;
	}
	printf("%-5s %-9s ", words[grade], name);
	print_plain(stdout, detail, strlen(detail));
	printf("\n");
	if (fix)
		printf("      %-9s fix: %s\n", "", fix);
}

static void print_verdict(const struct patient *patient)
{
	if (patient->failures)
		printf("\nRecording does not work here yet: %u thing%s to fix.\n",
		       patient->failures, plural(patient->failures));
	else
		printf("\nRecording works here: flowtap record -- COMMAND\n");
}

static void examine(struct patient *patient)
{
	machine_read(&patient->machine);
	patient->device = device_query(0, &patient->queries, &patient->cpus);
	for (size_t cpu = 0; cpu < patient->cpus; cpu++)
		patient->source |= patient_source(&patient->queries[cpu]);
	checks_run(patient);
}

int doctor_command(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 }
	};
	struct patient patient = { .json = NULL };
	struct json json = { .file = stdout };
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		switch (option) {
		case 'j':
			patient.json = &json;
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

	if (patient.json) {
		json_open(&json, NULL, '{');
		json_open(&json, "checks", '[');
	}
	examine(&patient);
	if (patient.json) {
		json_close(&json, ']');
		json_bool(&json, "works", !patient.failures);
		json_close(&json, '}');
	} else {
		print_verdict(&patient);
	}
	machine_free(&patient.machine);
	free(patient.queries);
	return patient.failures ? STATUS_ERROR : STATUS_OK;
}
