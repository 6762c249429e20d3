// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adds up the streams' statistics, and prints losses by cause with the option that would lose
 * less.
 */
#include "record/record_summary.h"

#include "common/device_report.h"
#include "common/event.h"
#include "common/json.h"
#include "common/names.h"
#include "common/tool.h"
#include "recording/explain_error.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Losses that are in the nature of recording; decode counts them. */
#define NATURAL	(1U << FLOWTAP_CAUSE_START | 1U << FLOWTAP_CAUSE_WRAPPED | \
		 1U << FLOWTAP_CAUSE_SWITCH | 1U << FLOWTAP_CAUSE_DISABLED | \
		 1U << FLOWTAP_CAUSE_STROBE | 1U << FLOWTAP_CAUSE_EXCLUDED)

static bool live;

/* What triggers samples, in words. */
static void describe_trigger(const struct streams *streams, const struct record_options *options,
			     char *text, size_t capacity)
{
	char number[32];

	if (streams->session.source == FLOWTAP_SOURCE_ETE)
		snprintf(text, capacity, "every instruction by %s",
			 name_of(source_names, streams->session.source));
	else if (options->frequency)
		snprintf(text, capacity, "%s sample%s a second",
			 number_group(options->frequency, number), plural(options->frequency));
	else
		snprintf(text, capacity, "a sample every %s %s%s",
			 number_group(streams->session.streams[0].configure.period, number),
			 event_unit(options->event.name, strlen(options->event.name)),
			 options->event.name);
}

void record_summary_begin(const struct streams *streams, const struct record_options *options)
{
	char trigger[96];

	describe_trigger(streams, options, trigger, sizeof(trigger));
	complain("recording %son %zu CPU%s, %s; Ctrl-C ends it",
		 options->all ? "all that runs, this flowtap included, " : "", streams->session.n,
		 plural(streams->session.n), trigger);
}

/* What the streams recorded so far. */
static void describe(FILE *file, const struct streams *streams, const struct flowtap_stats *sum)
{
	char count[32], amount[32];

	number_group(sum->samples, count);
	if (streams->session.source == FLOWTAP_SOURCE_ETE)
		fprintf(file, "%s of trace in %s record%s", number_bytes(sum->aux_bytes, amount),
			count, plural(sum->samples));
	else
		fprintf(file, "%s sample%s with %s transfer%s", count, plural(sum->samples),
			number_group(sum->entries, amount), plural(sum->entries));
}

/* Gaps of all causes but those that are in the nature of a recording. */
static uint64_t gaps(const struct flowtap_stats *sum)
{
	uint64_t n = 0;

	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (!(NATURAL & 1U << cause))
			n += sum->losses[cause];
	return n;
}

void record_summary_live(const struct streams *streams, const struct record_summary *summary)
{
	bool traces = streams->session.source == FLOWTAP_SOURCE_ETE;
	char lost[32], bytes[32];
	struct flowtap_stats sum;

	flowtap_session_sum(&streams->session, &sum);
	fprintf(stderr, "\r%.1f s  ", (double)summary->nanoseconds / 1e9);
	describe(stderr, streams, &sum);
	fprintf(stderr, traces ? "  %s gaps  %s   " : "  %s lost  %s   ",
		number_group(traces ? gaps(&sum) : sum.lost_entries, lost),
		number_bytes(summary->bytes, bytes));
	live = true;
}

void record_summary_live_end(void)
{
	if (live)
		fputc('\n', stderr);
	live = false;
}

/* Which options would lose less. */
static const char *remedy(uint32_t source, uint32_t cause)
{
	if (source != FLOWTAP_SOURCE_ETE)
		return cause == FLOWTAP_CAUSE_RING_FULL ?
			       "a greater --ring-pages or period (-c) loses less" : NULL;
	if (cause == FLOWTAP_CAUSE_RING_FULL || cause == FLOWTAP_CAUSE_HARDWARE)
		return "a greater --aux-pages loses less, and so do --strobe and --address";
	return NULL;
}

/*
 * No ring was full: they are GAP records of tasks on CPUs without a stream, which a CPU that has one
 * writes so often only (flowtap.h, contiguity of samples).
 */
static bool are_unwritten_gaps(const struct streams *streams, const struct flowtap_stats *sum)
{
	uint64_t pages;

	if (!sum->lost_records || sum->lost_samples)
		return false;
	pages = streams->session.streams[0].configure.ring_pages;
	return sum->high_water < pages * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
}

static void print_losses(const struct streams *streams, const struct flowtap_stats *sum)
{
	char records[32], samples[32], entries[32];
	const char *fix = NULL;

	if (are_unwritten_gaps(streams, sum)) {
		advise("lost %s record%s: gaps of tasks that ended on CPUs that are not recorded; "
		       "-C with those CPUs loses less",
		       number_group(sum->lost_records, records), plural(sum->lost_records));
	} else if (sum->lost_records && streams->session.source == FLOWTAP_SOURCE_ETE) {
		advise("lost %s record%s: %s; a greater --ring-pages loses less",
		       number_group(sum->lost_records, records), plural(sum->lost_records),
		       cause_meaning(FLOWTAP_CAUSE_RING_FULL));
	} else if (sum->lost_records) {
		advise("lost %s record%s, among them %s sample%s with %s transfer%s: %s",
		       number_group(sum->lost_records, records), plural(sum->lost_records),
		       number_group(sum->lost_samples, samples), plural(sum->lost_samples),
		       number_group(sum->lost_entries, entries), plural(sum->lost_entries),
		       cause_meaning(FLOWTAP_CAUSE_RING_FULL));
		advise("%s", remedy(streams->session.source, FLOWTAP_CAUSE_RING_FULL));
	}
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		/* Samples that did not fit: above. */
		if (NATURAL & 1U << cause || !sum->losses[cause] ||
		    (cause == FLOWTAP_CAUSE_RING_FULL && streams->session.source != FLOWTAP_SOURCE_ETE))
			continue;
		advise("%s gap%s %s: %s", number_group(sum->losses[cause], records),
		       plural(sum->losses[cause]), cause_name(cause), cause_meaning(cause));
		fix = fix ? fix : remedy(streams->session.source, cause);
	}
	if (fix)
		advise("%s", fix);
}

/* Who records all that runs on a CPU of ours, at this moment: their tasks come first there. */
static bool find_holder(const struct streams *streams, struct flowtap_query *query)
{
	for (size_t i = 0; i < streams->session.n; i++) {
		const uint32_t cpu = streams->session.streams[i].configure.cpu;

		if (!flowtap_session_query_cpu(&streams->session, cpu, query) &&
		    query->holder_comm[0] && query->holder_pid != (uint32_t)getpid())
			return true;
	}
	return false;
}

static void print_holder(const struct streams *streams)
{
	struct flowtap_query query;
	char name[64], unit[64];

	if (!find_holder(streams, &query))
		return;
	if (device_daemon(&query, unit))
		advise("CPU %u is held by flowtapd (PID %u): with --borrow it lets go meanwhile",
		       query.cpu, query.holder_pid);
	else
		advise("CPU %u is held by %s: record when that has ended, or on other CPUs (-C)",
		       query.cpu, device_holder(&query, name));
}

void record_summary_print(const struct streams *streams, const struct record_summary *summary)
{
	char text[128] = "", bytes[32], time[32];
	struct flowtap_stats sum;
	FILE *file = fmemopen(text, sizeof(text), "w");

	flowtap_session_sum(&streams->session, &sum);
	if (file) {
		describe(file, streams, &sum);
		fclose(file);
	}
	complain("%s from %zu CPU%s in %s, %s in %s", text, streams->session.n,
		 plural(streams->session.n), number_time(summary->nanoseconds, time),
		 number_bytes(summary->bytes, bytes),
		 strcmp(summary->path, "-") ? summary->path : "standard output");
	print_losses(streams, &sum);
	if (sum.losses[FLOWTAP_CAUSE_DISPLACED])
		print_holder(streams);
	if (summary->sideband_lost)
		advise("lost %s side-band event%s: some code may be unknown",
		       number_group(summary->sideband_lost, bytes), plural(summary->sideband_lost));
	if (!sum.samples && streams->session.source == FLOWTAP_SOURCE_ETE)
		advise("no trace: it slept, or ran on a CPU without source, or never within "
		       "--address");
	else if (!sum.samples && !sum.losses[FLOWTAP_CAUSE_DISPLACED])
		advise("no sample: it slept, ran too short for the period (a smaller -c, or "
		       "--switch), or on a CPU without source");
}

/* RASEMU's and the filter's bits are sctrctl's (Smctr 2.1). */
static void json_request(struct json *json, const struct streams *streams)
{
	const struct flowtap_configure *configure = &streams->session.streams[0].configure;

	json_string(json, "event", streams->event);
	if (configure->period)
		json_number(json, "period", configure->period);
	if (configure->timer_ns)
		json_number(json, "timer_ns", configure->timer_ns);
	json_bits(json, "modes", mode_bits, configure->modes);
	json_bits(json, "triggers", trigger_bits, configure->triggers);
	json_bits(json, "flags", flag_bits, configure->flags);
	json_bits(json, "sctrctl", control_bits, configure->ctr.control);
	if (configure->source == FLOWTAP_SOURCE_ETE)
		json_bits(json, "trcconfigr", config_bits, configure->ete.config);
}

static void json_losses(struct json *json, const struct flowtap_stats *stats)
{
	json_number(json, "samples", stats->samples);
	json_number(json, "transfers", stats->entries);
	json_number(json, "records", stats->records);
	json_number(json, "lost_records", stats->lost_records);
	json_number(json, "lost_samples", stats->lost_samples);
	json_number(json, "lost_transfers", stats->lost_entries);
	json_number(json, "lost_bytes", stats->lost_bytes);
	json_number(json, "high_water_bytes", stats->high_water);
	json_number(json, "aux_bytes", stats->aux_bytes);
	json_number(json, "interrupts", stats->interrupts);
	json_open(json, "gaps", '{');
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (stats->losses[cause])
			json_number(json, cause_name(cause), stats->losses[cause]);
	json_close(json, '}');
}

static void json_cpu(struct json *json, const struct flowtap_session_stream *stream)
{
	const struct flowtap_configure *configure = &stream->configure;
	struct flowtap_stats stats;

	json_open(json, NULL, '{');
	json_number(json, "cpu", configure->cpu);
	json_string(json, "source", name_of(source_names, configure->source));
	if (stream->query.ctr.depth_max)
		json_number(json, "depth", configure->ctr.depth ? configure->ctr.depth
								: stream->query.ctr.depth_max);
	json_number(json, "ring_pages", configure->ring_pages);
	if (configure->aux_pages)
		json_number(json, "aux_pages", configure->aux_pages);
	if (!flowtap_session_stats(stream, &stats))
		json_losses(json, &stats);
	json_close(json, '}');
}

static void json_skips(struct json *json, const struct streams *streams)
{
	json_open(json, "skipped", '[');
	for (size_t cpu = 0; cpu < streams->session.cpus; cpu++) {
		if (!streams->session.skips[cpu])
			continue;
		json_open(json, NULL, '{');
		json_number(json, "cpu", cpu);
		json_string(json, "reason", skip_name(&streams->session, cpu));
		json_string(json, "detail", explain_skip(&streams->session, cpu));
		json_close(json, '}');
	}
	json_close(json, ']');
}

void record_summary_json(const struct streams *streams, const struct record_summary *summary)
{
	struct json json = { .file = stdout, .flat = true };
	struct flowtap_query holder;
	struct flowtap_stats sum;

	flowtap_session_sum(&streams->session, &sum);
	json_open(&json, NULL, '{');
	json_string(&json, "file", summary->path);
	json_number(&json, "bytes", summary->bytes);
	json_seconds(&json, "seconds", summary->nanoseconds);
	json_request(&json, streams);
	json_losses(&json, &sum);
	if (sum.losses[FLOWTAP_CAUSE_DISPLACED] && find_holder(streams, &holder)) {
		json_number(&json, "holder_pid", holder.holder_pid);
		json_bytes(&json, "holder_comm", (const char *)holder.holder_comm,
			   strnlen((const char *)holder.holder_comm, sizeof(holder.holder_comm)));
	}
	json_bool(&json, "sideband_polled", summary->sideband_polled);
	json_number(&json, "sideband_lost", summary->sideband_lost);
	json_string(&json, "drain", summary->drain);
	json_number(&json, "streams", streams->session.n);
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < streams->session.n; i++)
		json_cpu(&json, &streams->session.streams[i]);
	json_close(&json, ']');
	json_skips(&json, streams);
	if (summary->command)
		json_number(&json, "exit_status", (uint64_t)summary->status);
	json_close(&json, '}');
}
