// SPDX-License-Identifier: GPL-2.0-only
/*
 * What flowtap doctor says of the things that not every CPU, module or user can do. The module is
 * asked for a stream of each kind: what it answers is what record would get.
 */
#include "common/device_report.h"
#include "common/filter.h"
#include "common/user_privileges.h"
#include "doctor/report.h"
#include "doctor/selftest.h"
#include "recording/explain_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct capability {
	const char *name;
	const char *can;
	struct flowtap_configure request;
	enum { ANY, OF_SAMPLES, OF_TRACES } of;
} capabilities[] = {
	{ "mode", "kernel mode can be recorded (record --kernel)",
	  { .modes = FLOWTAP_MODE_KERNEL }, ANY },
	{ "wide", "all that runs on a CPU can be recorded (record -a)",
	  { .modes = FLOWTAP_MODE_USER, .flags = FLOWTAP_CPU_WIDE }, ANY },
	{ "timer", "a timer can trigger samples (record -F)",
	  { .modes = FLOWTAP_MODE_USER, .triggers = FLOWTAP_TRIGGER_TIMER,
	    .timer_ns = 1000000 }, OF_SAMPLES },
	{ "switch", "task switches can trigger samples (record --switch)",
	  { .modes = FLOWTAP_MODE_USER, .triggers = FLOWTAP_TRIGGER_SWITCH }, OF_SAMPLES },
	{ "ras", "call stacks can be recorded (record --ras)",
	  { .modes = FLOWTAP_MODE_USER, .ctr.control = FLOWTAP_SCTRCTL_RASEMU }, OF_SAMPLES },
	{ "freeze", "breakpoints can stop recording (record --freeze-on-breakpoint)",
	  { .modes = FLOWTAP_MODE_USER, .ctr.control = FLOWTAP_SCTRCTL_BPFRZ }, OF_SAMPLES },
	{ "overwrite", "rings can keep the newest (record --overwrite)",
	  { .modes = FLOWTAP_MODE_USER, .flags = FLOWTAP_OVERWRITE }, ANY },
#define TRACE(...) { .modes = FLOWTAP_MODE_USER, .ete = { __VA_ARGS__ } }, OF_TRACES
	{ "time", "traces have timestamps (on unless record --no-timestamps)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_TS) },
	{ "cycles", "cycles can be counted (record --cycles)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_CCI) },
	{ "broadcast", "branches can be broadcast (record --branch-broadcast)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_BB) },
	{ "stack", "returns can be left out (unless record --no-return-stack)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_RS) },
	{ "context", "context identifiers can be traced (record --context)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_CID) },
	{ "vmid", "virtual machines can be told apart (record --vmid)",
	  TRACE(.config = FLOWTAP_TRCCONFIGR_VMID) },
	{ "address", "ranges of addresses can be chosen (record --address)",
	  TRACE(.address_ranges = 1, .address_end = { 4096 }) },
	{ "strobe", "tracing can rest at times (record --strobe)",
	  TRACE(.strobe_on_ns = 1000000, .strobe_off_ns = 1000000) },
#undef TRACE
};

static void deny(struct report *report, const struct capability *capability,
		 const struct flowtap_query *query, int error)
{
	char fix[256], name[64];
	const char *problem = NULL;

	if (error == -EACCES)
		problem = user_privileges_problem(&capability->request, fix, sizeof(fix));
	if (problem)
		report_add(report, GRADE_NOTE, capability->name, fix, "%s", problem);
	else if (error == -EBUSY)
		report_add(report, GRADE_NOTE, capability->name, "end that recording first",
			   "CPU %u is held by %s", query->cpu, selftest_holder(query->cpu, name));
	else
		report_add(report, GRADE_WARN, capability->name, NULL, "the module refuses it: %s",
			   strerror(-error));
}

static void check_capability(struct report *report, const struct capability *capability,
			     const struct flowtap_query *query)
{
	struct flowtap_configure request = capability->request;
	const char *unable;
	int error;

	/* Where the kernel runs at EL2 its PIDs are in CONTEXTIDR_EL2. */
	if (request.ete.config == FLOWTAP_TRCCONFIGR_CID && query->ete.exception_level == 2)
		request.ete.config = FLOWTAP_TRCCONFIGR_VMID | FLOWTAP_TRCCONFIGR_VMIDOPT;
	unable = explain_unsupported(query, &request);

	if (unable) {
		report_add(report, GRADE_NOTE, capability->name, NULL, "CPU %u: %s", query->cpu,
			   unable);
		return;
	}
	error = selftest_configure(query, &request);
	if (error)
		deny(report, capability, query, error);
	else
		report_add(report, GRADE_OK, capability->name, NULL, "%s", capability->can);
}

/* Which transfers record --filter can do without, or add. */
static void check_filter(struct report *report, const struct flowtap_query *query)
{
	uint32_t types = filter_types(query->ctr.settable);
	char text[512] = "";
	FILE *file = fmemopen(text, sizeof(text) - 1, "w");

	if (file) {
		filter_print(file, types);
		fclose(file);
	}
	if (types == (filter_default() | filter_types(~0ULL)))
		report_add(report, GRADE_OK, "filter", NULL,
			   "every type of transfers can be chosen (record --filter)");
	else if (types)
		report_add(report, GRADE_NOTE, "filter", NULL,
			   "record --filter can choose only of: %s", text);
	else
		report_add(report, GRADE_NOTE, "filter", NULL,
			   "this CPU cannot choose types of transfers (record --filter)");
}

void capabilities_check(struct report *report)
{
	const struct flowtap_query *query = NULL;

	for (size_t cpu = 0; cpu < report->cpus && !query; cpu++)
		if (has_source(&report->queries[cpu]))
			query = &report->queries[cpu];
	if (!query)
		return;
	for (size_t i = 0; i < sizeof(capabilities) / sizeof(capabilities[0]); i++)
		if (capabilities[i].of == ANY ||
		    (capabilities[i].of == OF_TRACES) == (query->source == FLOWTAP_SOURCE_ETE))
			check_capability(report, &capabilities[i], query);
	if (query->source == FLOWTAP_SOURCE_CTR)
		check_filter(report, query);
}
