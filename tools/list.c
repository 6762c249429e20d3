// SPDX-License-Identifier: GPL-2.0-only
/* flowtap list: the sources of each CPU, what they can do, and the events that can trigger. */
#include "common/device_report.h"
#include "common/ete_options.h"
#include "common/event.h"
#include "common/filter.h"
#include "common/json.h"
#include "common/names.h"
#include "common/parse_options.h"
#include "common/tool.h"

#include <errno.h>
#include <flowtap/riscv.h>
#include <flowtap/session.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
	"usage: flowtap list [--json]\n"
	"\n"
	"Shows which CPUs have a source of control flow, what it can do, and the events that can\n"
	"trigger a sample where it takes samples.\n"
	"\n"
	"      --json   the same as JSON\n"
	"  -h, --help   this text\n";

static uint64_t depths(const struct flowtap_query *query, unsigned int index)
{
	return query->ctr.depths & 1U << index ? 16ULL << index : 0;
}

/* All but the number is the same. */
static bool alike(const struct flowtap_query *one, const struct flowtap_query *other)
{
	struct flowtap_query a = *one, b = *other;

	a.cpu = b.cpu = 0;
	return !memcmp(&a, &b, sizeof(a));
}

/* TRBIDR_EL1.Align. */
static unsigned int alignment(const struct flowtap_query *query)
{
	return 1U << (query->ete.trbidr & 15);
}

static void print_ete(const struct flowtap_query *query)
{
	/* TRCDEVARCH.REVISION counts the minor versions. */
	printf("  ete       1.%u, the kernel at EL%u\n", query->ete.trcdevarch >> 16 & 15,
	       query->ete.exception_level);
	printf("  settable  ");
	print_bits(stdout, config_bits, query->ete.settable, " ");
	printf("\n  ranges    %u\n", query->ete.address_ranges);
	if (query->ete.settable & 1ULL << 4)
		printf("  cycles    counted from %u on\n", flowtap_session_cycles_least(&query->ete));
	printf("  counter   %" PRIu64 " Hz\n", (uint64_t)query->ete.counter_frequency);
	printf("  buffer    aligned to %u byte%s\n", alignment(query),
	       plural(alignment(query)));
}

static bool is_held(const struct flowtap_query *query)
{
	return query->holder_pid || query->holder_comm[0];
}

static void print_source(const struct flowtap_query *query)
{
	printf("  modes     ");
	print_bits(stdout, mode_bits, query->modes, " ");
	printf("\n  triggers  ");
	print_bits(stdout, trigger_bits, query->triggers, " ");
	printf("\n  flags     ");
	print_bits(stdout, flag_bits, query->flags, " ");
	printf("\n");
	if (query->triggers & FLOWTAP_TRIGGER_OVERFLOW)
		printf("  period    at least %" PRIu64 "\n", (uint64_t)query->period_min);
	if (query->ctr.depths) {
		printf("  depths   ");
		for (unsigned int i = 0; i < 5; i++)
			if (depths(query, i))
				printf(" %" PRIu64, depths(query, i));
		printf("\n  sctrctl   ");
		print_bits(stdout, control_bits, query->ctr.control, " ");
		printf("\n  settable  ");
		print_bits(stdout, control_bits, query->ctr.settable, " ");
		printf("\n  filters   ");
		filter_print(stdout, filter_types(query->ctr.settable));
		printf("\n  ctrdata   ");
		print_bits(stdout, data_bits, query->ctr.data, " ");
		printf("\n  MISP      %s\n", query->ctr.target & 1 ? "reported" : "not reported");
	}
	if (query->source == FLOWTAP_SOURCE_ETE)
		print_ete(query);
	if (is_held(query)) {
		printf("  held by   %u (", query->holder_pid);
		print_plain(stdout, (const char *)query->holder_comm,
			    strnlen((const char *)query->holder_comm, sizeof(query->holder_comm)));
		printf(")\n");
	}
}

static void print_cpus(const struct flowtap_query *queries, size_t n)
{
	for (size_t cpu = 0, next; cpu < n; cpu = next) {
		const struct flowtap_query *query = &queries[cpu];

		for (next = cpu + 1; next < n && alike(query, &queries[next]);)
			next++;
		if (next > cpu + 1)
			printf("CPU %zu-%zu: ", cpu, next - 1);
		else
			printf("CPU %zu: ", cpu);
		if (query->source == FLOWTAP_SOURCE_NONE) {
			printf("no source: %s\n", device_reason(query));
			continue;
		}
		printf("%s", name_of(source_names, query->source));
		for (unsigned int source = 1; source < 64; source++)
			if (query->sources & 1ULL << source && source != query->source)
				printf(" (and %s)", name_of(source_names, source));
		printf("\n");
		print_source(query);
	}
}

static const char *availability(const struct event *event)
{
	int error = event_probe(event, event->period);

	if (!error)
		return "yes";
	return error == -EACCES || error == -EPERM ? "unknown" : "no";
}

/* The greatest of the least periods: what record takes where an event's own is smaller. */
static uint64_t least_period(const struct flowtap_query *queries, size_t cpus)
{
	uint64_t least = 0;

	for (size_t cpu = 0; cpu < cpus; cpu++)
		if (queries[cpu].period_min > least)
			least = queries[cpu].period_min;
	return least;
}

static bool takes_events(const struct flowtap_query *queries, size_t cpus)
{
	for (size_t cpu = 0; cpu < cpus; cpu++)
		if (queries[cpu].triggers & FLOWTAP_TRIGGER_OVERFLOW)
			return true;
	return false;
}

static void print_events(uint64_t least)
{
	size_t n;
	const struct event *events = event_table(&n);

	printf("Events (-e), their default period (-c) and whether perf would sample them here:\n");
	for (size_t i = 0; i < n; i++)
		printf("  %-24s %9" PRIu64 "  %s\n", events[i].name,
		       events[i].period > least ? events[i].period : least,
		       availability(&events[i]));
	printf("  cache events as perf spells them (L1-dcache-load-misses), raw ones as rHEX\n");
}

static void json_ctr(struct json *json, const struct flowtap_query *query)
{
	json_open(json, "depths", '[');
	for (unsigned int i = 0; i < 5; i++)
		if (depths(query, i))
			json_number(json, NULL, depths(query, i));
	json_close(json, ']');
	json_bits(json, "sctrctl", control_bits, query->ctr.control);
	json_bits(json, "settable", control_bits, query->ctr.settable);
	json_open(json, "filters", '[');
	for (unsigned int type = 0; type < 16; type++)
		if (filter_types(query->ctr.settable) & 1U << type)
			json_string(json, NULL, flowtap_transfer_name(type));
	json_close(json, ']');
	json_bits(json, "ctrdata", data_bits, query->ctr.data);
	json_bool(json, "misp", query->ctr.target & 1);
}

static void json_ete(struct json *json, const struct flowtap_query *query)
{
	json_open(json, "trcidr", '[');
	for (unsigned int i = 0; i < 14; i++)
		json_hex(json, NULL, query->ete.trcidr[i]);
	json_close(json, ']');
	json_hex(json, "trcdevarch", query->ete.trcdevarch);
	json_hex(json, "trbidr", query->ete.trbidr);
	json_number(json, "counter_frequency_hz", query->ete.counter_frequency);
	json_number(json, "exception_level", query->ete.exception_level);
	json_bits(json, "settable", config_bits, query->ete.settable);
	json_number(json, "cycles_min", flowtap_session_cycles_least(&query->ete));
	json_number(json, "address_ranges", query->ete.address_ranges);
}

static void json_holder(struct json *json, const struct flowtap_query *query)
{
	const char *comm = (const char *)query->holder_comm;

	if (!is_held(query))
		return;
	json_number(json, "holder_pid", query->holder_pid);
	json_bytes(json, "holder_comm", comm, strnlen(comm, sizeof(query->holder_comm)));
}

static void json_cpu(struct json *json, const struct flowtap_query *query)
{
	json_open(json, NULL, '{');
	json_number(json, "cpu", query->cpu);
	json_string(json, "source", name_of(source_names, query->source));
	if (query->source == FLOWTAP_SOURCE_NONE) {
		json_string(json, "reason", name_of(reason_names, query->reason));
	} else {
		json_open(json, "sources", '[');
		for (unsigned int source = 1; source < 64; source++)
			if (query->sources & 1ULL << source)
				json_string(json, NULL, name_of(source_names, source));
		json_close(json, ']');
		json_bits(json, "modes", mode_bits, query->modes);
		json_bits(json, "triggers", trigger_bits, query->triggers);
		json_bits(json, "flags", flag_bits, query->flags);
		json_number(json, "period_min", query->period_min);
		if (query->ctr.depths)
			json_ctr(json, query);
		if (query->source == FLOWTAP_SOURCE_ETE)
			json_ete(json, query);
		json_holder(json, query);
	}
	json_close(json, '}');
}

static void json_all(const struct flowtap_query *queries, size_t cpus)
{
	struct json json = { .file = stdout };
	uint64_t least = least_period(queries, cpus);
	size_t n;
	const struct event *events = event_table(&n);

	json_open(&json, NULL, '{');
	json_number(&json, "abi", cpus ? queries[0].abi : 0);
	json_open(&json, "cpus", '[');
	for (size_t cpu = 0; cpu < cpus; cpu++)
		json_cpu(&json, &queries[cpu]);
	json_close(&json, ']');
	json_open(&json, "events", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&json, NULL, '{');
		json_string(&json, "name", events[i].name);
		json_string(&json, "type", name_of(event_type_names, events[i].type));
		json_number(&json, "period", events[i].period > least ? events[i].period : least);
		json_string(&json, "available", availability(&events[i]));
		json_close(&json, '}');
	}
	json_close(&json, ']');
	json_close(&json, '}');
}

int list_command(int argc, char **argv)
{
	bool json = false;
	const struct command_option options[] = {
		OPTION_FLAG(0, "json", &json),
		OPTION_HELP(help),
		OPERANDS_NONE
	};
	struct flowtap_query *queries;
	size_t n;
	int error, status = parse_options(argc, argv, options);

	if (status != OPTIONS_TAKEN)
		return status;
	error = device_query(0, &queries, &n);
	if (error) {
		char fix[256];

		complain("%s", device_open_problem(error, fix, sizeof(fix)));
		advise("%s", fix);
		return STATUS_ERROR;
	}
	if (json) {
		json_all(queries, n);
	} else {
		print_cpus(queries, n);
		if (takes_events(queries, n))
			print_events(least_period(queries, n));
	}
	free(queries);
	return STATUS_OK;
}
