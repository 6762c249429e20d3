// SPDX-License-Identifier: GPL-2.0-only
/*
 * Connects the streams, the side band and the kernel's code with one archive, and moves them on
 * from an archive that is finished to the next one.
 */
#include "collect.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/common/device_report.h"
#include "../tools/common/tool.h"
#include "leftover.h"
#include "rules.h"

/*
 * A piece of trace or a task's history may begin as long as this before the next record: the roster
 * keeps what was there then.
 */
#define MARGIN_NS 10000000000ULL

/* --- What is asked for. --- */

static const uint32_t source_numbers[] = { FLOWTAP_SOURCE_NONE, FLOWTAP_SOURCE_CTR,
					   FLOWTAP_SOURCE_ETE, FLOWTAP_SOURCE_SOFT };

/* Each source has options of its own: which one it will be. CONF_SOURCE_AUTO: nobody knows yet. */
static enum conf_source find_source(const struct conf *conf)
{
	struct flowtap_query *queries = NULL;
	enum conf_source found = conf->source;
	size_t cpus = 0;

	if (found != CONF_SOURCE_AUTO || device_query(0, &queries, &cpus))
		return found;
	for (size_t cpu = 0; cpu < cpus; cpu++)
		for (uint32_t i = CONF_SOURCE_CTR; i <= CONF_SOURCE_ETE; i++)
			if (queries[cpu].source == source_numbers[i])
				found = i;
	free(queries);
	return found;
}

/* Whole CPUs without some tasks, or tasks that come and go: samples at each switch in any case. */
static void choose_flags(struct flowtap_configure *configure, bool wide)
{
	if (wide) {
		configure->flags |= FLOWTAP_EXCLUDE | FLOWTAP_INHERIT;
		return;
	}
	configure->flags &= ~FLOWTAP_CPU_WIDE;
	configure->flags |= FLOWTAP_ENDLESS | FLOWTAP_INHERIT;
	configure->triggers |= FLOWTAP_TRIGGER_SWITCH;
}

static uint32_t modes_of(const struct conf *conf)
{
	return (conf->modes != CONF_MODES_KERNEL ? FLOWTAP_MODE_USER : 0) |
	       (conf->modes != CONF_MODES_USER ? FLOWTAP_MODE_KERNEL : 0);
}

/* Where pages are large, at least so many. */
static uint32_t pages_of(uint64_t size, uint32_t least)
{
	const uint64_t pages = size / (uint64_t)sysconf(_SC_PAGESIZE);

	return pages > least ? (uint32_t)pages : least;
}

static void make_options(struct collect *collect)
{
	const struct conf *conf = collect->conf;
	const enum conf_source source = find_source(conf);
	struct record_options *options = &collect->options;
	struct flowtap_configure *configure = &options->configure;

	options_init(options);
	options->all = true;
	options->pages_given = true;
	configure->ring_pages = pages_of(conf->ring_size, 1);
	configure->source = source_numbers[source];
	configure->modes = modes_of(conf);
	if (conf->overwrite)
		configure->flags |= FLOWTAP_OVERWRITE;
	if (source == CONF_SOURCE_CTR || source == CONF_SOURCE_SOFT)
		configure->period = conf->period;
	if (source == CONF_SOURCE_ETE) {
		options->ete.aux_pages = pages_of(conf->aux_size, 2);
		options->ete.aux_given = true;
		options->ete.ete.strobe_on_ns = conf->strobe_on;
		options->ete.ete.strobe_off_ns = conf->strobe_off;
	}
	options_complete(options);
	choose_flags(configure, rules_wide(conf));
}

int collect_open(struct collect *collect, const struct conf *conf)
{
	int error;

	*collect = (struct collect){ .conf = conf, .images = collect->images };
	make_options(collect);
	error = streams_open(&collect->streams, &collect->options);
	if (error)
		return error;
	collect->cpus = calloc(collect->streams.session.n, sizeof(*collect->cpus));
	collect->stats = calloc(collect->streams.session.n, sizeof(*collect->stats));
	if (collect->cpus && collect->stats)
		return 0;
	complain("no memory");
	return -ENOMEM;
}

/* --- One archive after the other. --- */

static int write_info(const struct collect *collect, struct flowtap_archive_writer *writer)
{
	const char *event = collect->streams.event ? collect->options.event.name : NULL;
	char text[256];

	snprintf(text, sizeof(text), "%s%.64s%s%s%s", event ? "event=" : "", event ? event : "",
		 event ? "\n" : "", rules_wide(collect->conf) ? "all=1\n" : "", collect->gap);
	return flowtap_session_inform(writer, text);
}

/* What an archive begins with. */
static int describe(struct collect *collect, struct flowtap_archive_writer *writer)
{
	int error = write_info(collect, writer);

	if (!error)
		error = flowtap_session_describe(&collect->streams.session, writer);
	/* So that the file says from the first moment what it is. */
	return error ? error : flowtap_archive_flush(writer);
}

/* Each archive has all of the kernel's code. */
static int begin_kernel(struct collect *collect)
{
	int error = 0;

	flowtap_kernel_follower_free(&collect->kernel);
	collect->looked = false;
	if (!(collect->options.configure.modes & FLOWTAP_MODE_KERNEL) || !collect->conf->kernel_text)
		return 0;
	error = kernel_start(&collect->kernel);
	return error ? error : flowtap_kernel_follower_write(&collect->kernel, collect->sideband,
							     collect->writer);
}

/* The rest of the budget is for what is recorded. */
static uint32_t poll_share(const struct collect *collect)
{
	return collect->conf->cpu / 2;
}

static int begin_first(struct collect *collect, struct flowtap_archive_writer *writer)
{
	const struct flowtap_sideband_options request = {
		.keep = COLLECT_KEEP(collect->conf->memory),
		.poll_share = poll_share(collect),
		.mapped = collect->images ? images_mapped : NULL,
		.argument = collect->images,
	};
	int error = describe(collect, writer);

	if (!error)
		error = streams_begin(&collect->streams, writer);
	if (!error)
		error = flowtap_sideband_open(&request, &collect->sideband);
	if (!error)
		error = flowtap_sideband_start(collect->sideband, writer);
	if (!error)
		error = flowtap_session_watch_sideband(&collect->streams.session,
						       collect->sideband);
	if (!error)
		error = begin_kernel(collect);
	return error;
}

static void read_stats(struct collect *collect)
{
	struct flowtap_stats now;

	for (size_t i = 0; i < collect->streams.session.n; i++)
		if (!leftover_stats(&collect->streams.session.streams[i], &now))
			collect->stats[i] = now;
}

/* What the archive has, now that the streams are off. */
static void count_records(struct collect *collect)
{
	struct flowtap_stats now;

	collect->records = collect->lost = 0;
	for (size_t i = 0; i < collect->streams.session.n; i++) {
		if (leftover_stats(&collect->streams.session.streams[i], &now))
			continue;
		collect->records += now.records - collect->stats[i].records;
		collect->lost += now.lost_records - collect->stats[i].lost_records;
	}
}

/*
 * Where this archive is not the streams' first one. What rings that overwrite have can be from
 * before it.
 */
static int write_begun(const struct collect *collect, struct flowtap_archive_writer *writer)
{
	const struct flowtap_session *session = &collect->streams.session;
	int error = 0;

	if (collect->conf->overwrite)
		return 0;
	for (size_t i = 0; i < session->n && !error; i++)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_BEGUN,
					      session->streams[i].configure.cpu, number_now(),
					      &collect->stats[i], sizeof(collect->stats[i]), NULL, 0);
	return error;
}

/* What waited is in the archive, and nothing follows: the streams are off. */
static int end_archive(struct collect *collect, uint64_t *ended_at)
{
	struct flowtap_archive_writer *writer = collect->writer;
	int error = flowtap_sideband_drain(collect->sideband), rings;

	*ended_at = number_now();
	/* In any case: then no write into this file is pending. */
	rings = streams_flush(&collect->streams);
	if (!error)
		error = rings;
	if (!error && collect->saves)
		error = streams_copy(&collect->streams, false);
	collect->saves = false;
	count_records(collect);
	/* Who did what up to then, for what was taken last. */
	if (!error)
		error = flowtap_sideband_look(collect->sideband);
	if (!error)
		error = kernel_finish(&collect->kernel, writer);
	return error ? error : flowtap_session_conclude(&collect->streams.session, writer);
}

/*
 * How far back a record may reach when it comes, of which who is there and with which code has to
 * be known: what waits in rings that overwrite may be as old as what an archive has.
 */
static uint64_t margin(const struct collect *collect)
{
	return collect->conf->overwrite && collect->conf->time > MARGIN_NS ? collect->conf->time :
									     MARGIN_NS;
}

/* The archive knows who was there from this time on. */
static void limit_snapshots(const struct collect *collect, uint64_t since)
{
	const struct flowtap_session *session = &collect->streams.session;

	for (size_t i = 0; i < session->n && collect->conf->overwrite; i++)
		flowtap_drain_limit(session->drain, session->streams[i].number, since,
				    collect->conf->snapshot_size);
}

static int begin_next(struct collect *collect, struct flowtap_archive_writer *writer,
		      uint64_t ended_at)
{
	struct flowtap_archive_writer *before = collect->writer;
	/* While nothing was recorded the roster went on. */
	const uint64_t last = ended_at > collect->advanced ? ended_at : collect->advanced;
	const uint64_t since = last > margin(collect) ? last - margin(collect) : 0;
	int error = describe(collect, writer), switched;
	bool moved;

	read_stats(collect);
	if (!error)
		error = write_begun(collect, writer);
	switched = flowtap_drain_switch(collect->streams.session.drain, writer);
	moved = !switched;
	if (!error)
		error = switched;
	flowtap_sideband_advance(collect->sideband, since);
	limit_snapshots(collect, since);
	switched = flowtap_sideband_switch(collect->sideband, writer);
	if (!error)
		error = switched;
	collect->writer = writer;
	/* Else the drain has it still. */
	if (moved)
		flowtap_archive_writer_free(before);
	return error ? error : begin_kernel(collect);
}

int collect_switch_on(struct collect *collect, bool on)
{
	int error = 0;

	if (on != collect->enabled)
		error = on ? streams_enable(&collect->streams) : streams_disable(&collect->streams);
	if (error)
		return error;
	/* What enabling has patched, once: it is off and on again many times a second. */
	if (on && !collect->looked)
		flowtap_kernel_follower_enabled(&collect->kernel);
	collect->looked |= on;
	collect->enabled = on;
	return 0;
}

/* So that what is counted is what is there; and a trace unit's next bytes can be read. */
static int end_recording(struct collect *collect, uint64_t *ended_at)
{
	int error = collect_switch_on(collect, false);

	return error ? error : end_archive(collect, ended_at);
}

int collect_prepare(struct collect *collect, int fd)
{
	flowtap_archive_writer_free(collect->next);
	collect->next = NULL;
	return flowtap_archive_create(fd, &collect->next);
}

int collect_begin(struct collect *collect)
{
	struct flowtap_archive_writer *writer = collect->next;
	uint64_t ended_at = 0;
	int error, ended = 0;

	collect->next = NULL;
	if (collect->sideband) {
		if (collect->paused)
			ended_at = collect->paused;
		else
			ended = end_recording(collect, &ended_at);
		collect->paused = 0;
		error = begin_next(collect, writer, ended_at);
	} else {
		collect->writer = writer;
		error = begin_first(collect, writer);
		if (!error)
			limit_snapshots(collect, 0);
	}
	collect->gap[0] = 0;
	collect->began = number_now();
	collect->first = flowtap_archive_size(collect->writer);
	return ended ? ended : error;
}

/* --- In between. --- */

int collect_trigger(struct collect *collect, const struct flowtap_archive_trigger *trigger,
		    const char *text)
{
	struct flowtap_archive_trigger head = *trigger;

	head.text_size = (uint32_t)strlen(text);
	collect->saves = true;
	/*
	 * Whoever did it may still be running: what led there is in no ring yet. Without it the
	 * rest is.
	 */
	streams_snapshot(&collect->streams);
	return flowtap_archive_write(collect->writer, FLOWTAP_ARCHIVE_TRIGGER, 0, number_now(), &head,
				     sizeof(head), text, head.text_size);
}

int collect_wait(struct collect *collect, int timeout_ms)
{
	return flowtap_drain_wait(collect->streams.session.drain, timeout_ms);
}

int collect_watch(struct collect *collect, int fd)
{
	int number = flowtap_drain_watch(collect->streams.session.drain, fd, POLLIN);

	return number < 0 ? number : 0;
}

int collect_take(struct collect *collect)
{
	const uint64_t before = number_now();
	int error = flowtap_sideband_drain(collect->sideband);

	/* What nothing refers to any more takes no memory. */
	if (!error && before - collect->advanced > margin(collect)) {
		flowtap_sideband_advance(collect->sideband, before - margin(collect));
		collect->advanced = before;
	}
	if (!error && !collect->paused)
		error = flowtap_kernel_follower_drain(&collect->kernel, collect->writer);
	return error || collect->paused ? error : streams_drain(&collect->streams);
}

void collect_limit(struct collect *collect)
{
	if (collect->sideband)
		flowtap_sideband_limit(collect->sideband, poll_share(collect));
}

uint64_t collect_size(const struct collect *collect)
{
	return collect->writer && !collect->paused ? flowtap_archive_size(collect->writer) : 0;
}

/* --- Figures. --- */

size_t collect_measure(struct collect *collect)
{
	const struct flowtap_session *session = &collect->streams.session;
	struct flowtap_stats now;

	for (size_t i = 0; i < session->n; i++) {
		const struct flowtap_configure *configure = &session->streams[i].configure;
		struct metrics_cpu *cpu = &collect->cpus[i];

		if (flowtap_session_stats(&session->streams[i], &now))
			continue;
		*cpu = (struct metrics_cpu){
			.cpu = configure->cpu,
			.bytes = now.bytes + now.aux_bytes,
			.records = now.records,
			.ring_size = (uint64_t)configure->ring_pages *
				     (uint64_t)sysconf(_SC_PAGESIZE),
			.ring_high = now.high_water,
		};
		memcpy(cpu->losses, now.losses, sizeof(cpu->losses));
		cpu->lost_bytes[FLOWTAP_CAUSE_RING_FULL] = now.lost_bytes;
	}
	return session->n;
}

/* --- The end. --- */

int collect_end(struct collect *collect)
{
	uint64_t ended_at;

	return collect->sideband && !collect->paused ? end_recording(collect, &ended_at) : 0;
}

int collect_pause(struct collect *collect)
{
	int error = end_recording(collect, &collect->paused);

	if (!collect->paused)
		collect->paused = number_now();
	/* The next segment knows who is there. */
	flowtap_sideband_switch(collect->sideband, NULL);
	return error;
}

uint64_t collect_waiting(const struct collect *collect)
{
	const struct flowtap_session *session = &collect->streams.session;
	struct flowtap_stats all, taken;
	uint64_t records = 0;

	for (size_t i = 0; i < session->n; i++)
		if (!flowtap_session_stats(&session->streams[i], &all) &&
		    !leftover_stats(&session->streams[i], &taken))
			records += all.records - taken.records;
	return records;
}

void collect_close(struct collect *collect)
{
	flowtap_sideband_free(collect->sideband);
	flowtap_kernel_follower_free(&collect->kernel);
	streams_close(&collect->streams);
	flowtap_archive_writer_free(collect->writer);
	flowtap_archive_writer_free(collect->next);
	free(collect->cpus);
	free(collect->stats);
	*collect = (struct collect){ .images = collect->images };
}
