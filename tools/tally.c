// SPDX-License-Identifier: GPL-2.0-only
#include "tally.h"

#include "device.h"
#include "json.h"
#include "names.h"
#include "tool.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool live;

void tally_live(const struct streams *streams, const struct tally *tally)
{
	char samples[32], entries[32], lost[32], bytes[32];
	struct flowtap_stats sum;

	streams_sum(streams, &sum);
	fprintf(stderr, "\r%.1f s  %s samples  %s transfers  %s lost  %s   ",
		(double)tally->nanoseconds / 1e9, number_group(sum.samples, samples),
		number_group(sum.entries, entries), number_group(sum.lost_entries, lost),
		number_bytes(tally->bytes, bytes));
	live = true;
}

void tally_live_end(void)
{
	if (live)
		fputc('\n', stderr);
	live = false;
}

static void print_losses(const struct flowtap_stats *sum)
{
	char records[32], samples[32], entries[32];

	if (sum->lost_records) {
		advise("lost %s records, among them %s samples with %s transfers: %s",
		       number_group(sum->lost_records, records),
		       number_group(sum->lost_samples, samples),
		       number_group(sum->lost_entries, entries),
		       cause_meaning(FLOWTAP_CAUSE_RING_FULL));
		advise("a greater --ring-pages or period (-c) loses less");
	}
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++) {
		/* Those that are in the nature of samples; decode counts them. */
		const uint32_t natural = 1U << FLOWTAP_CAUSE_START | 1U << FLOWTAP_CAUSE_WRAPPED |
					 1U << FLOWTAP_CAUSE_SWITCH | 1U << FLOWTAP_CAUSE_DISABLED;

		if (natural & 1U << cause || cause == FLOWTAP_CAUSE_RING_FULL ||
		    !sum->losses[cause])
			continue;
		advise("%s gaps %s: %s", number_group(sum->losses[cause], records),
		       cause_name(cause), cause_meaning(cause));
	}
}

/* Who records all that runs on a CPU of ours, at this moment: their tasks come first there. */
static bool find_rival(const struct streams *streams, struct flowtap_query *query)
{
	for (size_t i = 0; i < streams->n; i++) {
		*query = (struct flowtap_query){ .cpu = streams->all[i].configure.cpu };
		if (!ioctl(streams->all[i].fd, FLOWTAP_IOC_QUERY, query) &&
		    query->holder_comm[0] && query->holder_pid != (uint32_t)getpid())
			return true;
	}
	return false;
}

static void print_rival(const struct streams *streams)
{
	struct flowtap_query query;
	char name[64];

	if (find_rival(streams, &query))
		advise("CPU %u is held by %s: record when that has ended, or on other CPUs (-C)",
		       query.cpu, device_holder(&query, name));
}

void tally_print(const struct streams *streams, const struct tally *tally)
{
	char samples[32], entries[32], bytes[32];
	struct flowtap_stats sum;

	streams_sum(streams, &sum);
	complain("%s samples with %s transfers from %zu CPU%s in %.1f s, %s in %s",
		 number_group(sum.samples, samples), number_group(sum.entries, entries), streams->n,
		 streams->n == 1 ? "" : "s", (double)tally->nanoseconds / 1e9,
		 number_bytes(tally->bytes, bytes),
		 strcmp(tally->path, "-") ? tally->path : "standard output");
	print_losses(&sum);
	if (sum.losses[FLOWTAP_CAUSE_DISPLACED])
		print_rival(streams);
	if (tally->sideband_lost)
		advise("%" PRIu64 " side-band events were lost: some code may be unknown",
		       tally->sideband_lost);
	if (!sum.samples && !sum.losses[FLOWTAP_CAUSE_DISPLACED])
		advise("no sample: it slept, ran too short for the period (a smaller -c, or "
		       "--switch), or on a CPU without source");
}

/* RASEMU's and the filter's bits are sctrctl's (Smctr 2.1). */
static void json_wish(struct json *json, const struct streams *streams)
{
	const struct flowtap_configure *configure = &streams->all[0].configure;

	json_string(json, "event", streams->event);
	if (configure->period)
		json_number(json, "period", configure->period);
	if (configure->timer_ns)
		json_number(json, "timer_ns", configure->timer_ns);
	json_bits(json, "modes", mode_bits, configure->modes);
	json_bits(json, "triggers", trigger_bits, configure->triggers);
	json_bits(json, "flags", flag_bits, configure->flags);
	json_bits(json, "sctrctl", control_bits, configure->ctr.control);
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
	json_number(json, "high_water", stats->high_water);
	json_open(json, "gaps", '{');
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (stats->losses[cause])
			json_number(json, cause_name(cause), stats->losses[cause]);
	json_close(json, '}');
}

static void json_cpu(struct json *json, const struct stream *stream)
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
	if (!ioctl(stream->fd, FLOWTAP_IOC_STATS, &stats))
		json_losses(json, &stats);
	json_close(json, '}');
}

static void json_skips(struct json *json, const struct streams *streams)
{
	json_open(json, "skipped", '[');
	for (size_t cpu = 0; cpu < streams->cpus; cpu++) {
		if (!streams->skips[cpu].name)
			continue;
		json_open(json, NULL, '{');
		json_number(json, "cpu", cpu);
		json_string(json, "reason", streams->skips[cpu].name);
		json_string(json, "detail", streams->skips[cpu].text);
		json_close(json, '}');
	}
	json_close(json, ']');
}

void tally_json(const struct streams *streams, const struct tally *tally)
{
	struct json json = { .file = stdout, .flat = true };
	struct flowtap_query rival;
	struct flowtap_stats sum;

	streams_sum(streams, &sum);
	json_open(&json, NULL, '{');
	json_string(&json, "file", tally->path);
	json_number(&json, "bytes", tally->bytes);
	json_real(&json, "seconds", (double)tally->nanoseconds / 1e9);
	json_wish(&json, streams);
	json_losses(&json, &sum);
	if (sum.losses[FLOWTAP_CAUSE_DISPLACED] && find_rival(streams, &rival)) {
		json_number(&json, "holder_pid", rival.holder_pid);
		json_bytes(&json, "holder_comm", (const char *)rival.holder_comm,
			   strnlen((const char *)rival.holder_comm, sizeof(rival.holder_comm)));
	}
	json_bool(&json, "sideband_polled", tally->sideband_polled);
	json_number(&json, "sideband_lost", tally->sideband_lost);
	json_string(&json, "drain", tally->drain);
	json_number(&json, "streams", streams->n);
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < streams->n; i++)
		json_cpu(&json, &streams->all[i]);
	json_close(&json, ']');
	json_skips(&json, streams);
	if (tally->command)
		json_number(&json, "status", (uint64_t)tally->status);
	json_close(&json, '}');
}
