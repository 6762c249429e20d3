// SPDX-License-Identifier: GPL-2.0-only
#include "tally.h"

#include "json.h"
#include "names.h"
#include "tool.h"

#include <inttypes.h>
#include <string.h>

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
	if (tally->sideband_lost)
		advise("%" PRIu64 " side-band events were lost: some code may be unknown",
		       tally->sideband_lost);
	if (!sum.samples)
		advise("no sample: it slept, ran too short for the period (a smaller -c, or "
		       "--on-switch), or on a CPU without source");
}

static void json_cpu(struct json *json, const struct stream *stream)
{
	json_open(json, NULL, '{');
	json_number(json, "cpu", stream->configure.cpu);
	json_string(json, "source", name_of(source_names, stream->configure.source));
	if (stream->query.ctr.depth_max)
		json_number(json, "depth",
			    stream->configure.ctr.depth ? stream->configure.ctr.depth
							: stream->query.ctr.depth_max);
	json_number(json, "period", stream->configure.period);
	json_number(json, "ring_pages", stream->configure.ring_pages);
	json_close(json, '}');
}

void tally_json(const struct streams *streams, const struct tally *tally)
{
	struct json json = { .file = stdout, .flat = true };
	struct flowtap_stats sum;

	streams_sum(streams, &sum);
	json_open(&json, NULL, '{');
	json_string(&json, "file", tally->path);
	json_number(&json, "bytes", tally->bytes);
	json_real(&json, "seconds", (double)tally->nanoseconds / 1e9);
	json_string(&json, "event", streams->event);
	json_number(&json, "samples", sum.samples);
	json_number(&json, "transfers", sum.entries);
	json_number(&json, "records", sum.records);
	json_number(&json, "lost_records", sum.lost_records);
	json_number(&json, "lost_samples", sum.lost_samples);
	json_number(&json, "lost_transfers", sum.lost_entries);
	json_number(&json, "lost_bytes", sum.lost_bytes);
	json_number(&json, "high_water", sum.high_water);
	json_open(&json, "gaps", '{');
	for (uint32_t cause = 0; cause < FLOWTAP_CAUSE_MAX; cause++)
		if (sum.losses[cause])
			json_number(&json, cause_name(cause), sum.losses[cause]);
	json_close(&json, '}');
	json_bool(&json, "sideband_polled", tally->sideband_polled);
	json_number(&json, "sideband_lost", tally->sideband_lost);
	json_open(&json, "cpus", '[');
	for (size_t i = 0; i < streams->n; i++)
		json_cpu(&json, &streams->all[i]);
	json_close(&json, ']');
	if (tally->command)
		json_number(&json, "status", (uint64_t)tally->status);
	json_close(&json, '}');
}
