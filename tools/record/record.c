// SPDX-License-Identifier: GPL-2.0-only
/* flowtap record: from the rings and the side band into an archive. */
#include "common/event.h"
#include "common/filter.h"
#include "common/names.h"
#include "common/tool.h"
#include "record/explain_error.h"
#include "record/recording.h"
#include "record/record_summary.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct record_summary summary_of(const struct recording *recording)
{
	return (struct record_summary){
		.path = recording->output.path,
		.bytes = flowtap_archive_size(recording->writer),
		.nanoseconds = number_now() - recording->began,
		.sideband_lost = flowtap_sideband_lost(recording->sideband),
		.sideband_polled = flowtap_sideband_polled(recording->sideband),
		.drain = flowtap_drain_method_name(
			flowtap_drain_method(recording->streams.session.drain)),
	};
}

/* What triggers samples, in words. */
static void describe_trigger(const struct recording *recording, char *text, size_t capacity)
{
	const struct record_options *options = recording->options;
	char number[32];

	if (recording->streams.session.source == FLOWTAP_SOURCE_ETE)
		snprintf(text, capacity, "every instruction by %s",
			 name_of(source_names, recording->streams.session.source));
	else if (options->frequency)
		snprintf(text, capacity, "%s sample%s a second",
			 number_group(options->frequency, number), plural(options->frequency));
	else
		snprintf(text, capacity, "a sample every %s %s%s",
			 number_group(recording->streams.session.streams[0].configure.period,
				      number),
			 event_unit(options->event.name, strlen(options->event.name)),
			 options->event.name);
}

/* What decode will be able to make of it. */
static void warn_of_filter(const struct record_options *options)
{
	if (!options->filter)
		return;
	if (!filter_keeps_blocks(options->types))
		advise("types of transfers are left out: decode gives transfers only, no blocks and "
		       "no STF");
	else if (options->configure.ctr.flags & FLOWTAP_CTR_NO_TRAPS)
		advise("traps are left out: decode cannot know what is between two transfers");
}

static void announce(const struct recording *recording)
{
	const struct record_options *options = recording->options;
	const struct streams *streams = &recording->streams;
	const struct flowtap_session_stream *first = &streams->session.streams[0];
	char trigger[96];

	if (options->quiet)
		return;
	describe_trigger(recording, trigger, sizeof(trigger));
	complain("recording %son %zu CPU%s, %s; Ctrl-C ends it",
		 options->all ? "all that runs, this flowtap included, " : "", streams->session.n,
		 plural(streams->session.n), trigger);
	if (first->configure.source == FLOWTAP_SOURCE_SOFT)
		advise("the source is soft: the transfers are made up, for tests of flowtap");
	for (size_t cpu = 0; cpu < streams->session.cpus; cpu++)
		if (streams->session.skips[cpu] && options_cpu(options, cpu))
			advise("not CPU %zu: %s", cpu, explain_skip(&streams->session, cpu));
	if (first->configure.ring_pages < options->configure.ring_pages)
		advise("with rings of %u page%s: more may not be locked (ulimit -l)",
		       first->configure.ring_pages, plural(first->configure.ring_pages));
	if (first->configure.aux_pages && first->configure.aux_pages < options->ete.aux_pages)
		advise("with AUX areas of %u pages: more may not be locked (ulimit -l)",
		       first->configure.aux_pages);
	if (flowtap_sideband_polled(recording->sideband))
		advise("perf_event_paranoid denies side-band events: what is mapped for a moment "
		       "only will be missed");
	warn_of_filter(options);
}

/*
 * A child that sleeps to the end: with it in the set the streams do not take an empty cgroup for
 * the end of all tasks.
 */
static int open_anchor(struct recording *recording)
{
	int error = workload_fork(&recording->anchor, NULL, &recording->watch.mask);

	if (error)
		complain("cannot fork: %s", strerror(-error));
	return error ? error : streams_add(&recording->streams, recording->anchor.pid);
}

/* Whose transfers these will be. 0 or an error. */
static int choose_tasks(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct streams *streams = &recording->streams;
	int error = 0;

	if (options->command)
		error = recording_fork_command(recording);
	if (!error && options_trace_command(options))
		error = streams_add(streams, recording->workload.pid);
	for (size_t i = 0; i < options->n_pids && !error; i++)
		error = streams_add(streams, options->pids[i]);
	if (!error && options->cgroup)
		error = cgroup_open(&recording->cgroup, options->cgroup);
	if (!error && options->cgroup)
		error = open_anchor(recording);
	return error ? error : cgroup_follow(&recording->cgroup, streams);
}

/*
 * flowtapd lets go of the hardware, until our connection is closed: by us, or because we are not
 * there any more. 0 or an exit status.
 */
static int borrow(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int error = control_open(&recording->lender, options->borrow);

	if (error == -ENOENT || error == -ECONNREFUSED) {
		control_close(&recording->lender);
		if (!options->quiet)
			complain("nothing to be borrowed: no flowtapd listens at '%s'",
				 options->borrow);
		return 0;
	}
	if (error)
		control_complain(&recording->lender, error);
	else
		error = control_ask(&recording->lender, "borrow", CONTROL_BORROW_SECONDS, true);
	return error ? STATUS_ERROR : 0;
}

/* Everything until the first transfer can be recorded. 0 or an exit status. */
static int prepare(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct streams *streams = &recording->streams;
	int error = streams_open(streams, options);

	if (!error)
		error = choose_tasks(recording);
	if (!error)
		error = recording_open_archive(recording);
	if (!error)
		error = recording_open_sideband(recording);
	if (!error)
		error = recording_open_kernel(recording);
	if (!error)
		error = watch_open(&recording->watch, streams, recording->sideband,
				   recording->workload.pid ? recording->workload.pidfd : -1,
				   options->duration);
	return error ? STATUS_ERROR : 0;
}

static int start(struct recording *recording)
{
	const struct record_options *options = recording->options;

	recording->began = number_now();
	announce(recording);
	/* Else the exec of the command enables. */
	if (!options_trace_command(options) && streams_enable(&recording->streams))
		return STATUS_ERROR;
	flowtap_kernel_follower_enabled(&recording->kernel);
	return options->command ? workload_start(&recording->workload, options->command[0]) : 0;
}

static int run(struct recording *recording)
{
	bool live = !recording->options->quiet && isatty(STDERR_FILENO);
	bool tick = live || flowtap_sideband_polled(recording->sideband) || recording->cgroup.followed.path;
	uint64_t shown = 0;
	int error;

	while (!watch_wait(&recording->watch, tick)) {
		error = cgroup_follow(&recording->cgroup, &recording->streams);
		if (!error)
			error = recording_drain(recording);
		if (!error && recording->watch.asked)
			error = recording_snapshot(recording);
		recording->watch.asked = false;
		if (error)
			return error;
		if (live && number_now() - shown > 200000000) {
			struct record_summary summary = summary_of(recording);

			record_summary_live(&recording->streams, &summary);
			shown = number_now();
		}
	}
	return 0;
}

static int conclude(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int error, status = STATUS_OK;
	struct record_summary summary;

	record_summary_live_end();
	error = streams_disable(&recording->streams);
	summary = summary_of(recording);
	/* From here on a further signal ends us at once; what is in the file stays good. */
	watch_release(&recording->watch);
	error = recording_finalise(recording) ? -EIO : error;
	summary.bytes = flowtap_archive_size(recording->writer);
	error = output_commit(&recording->output) ? -EIO : error;
	if (options->command) {
		bool stopped = workload_stop(&recording->workload);

		/* One that we stopped after --duration did not fail. */
		status = stopped && recording->watch.elapsed ? STATUS_OK :
				workload_status(&recording->workload);
	}
	summary.command = options->command;
	summary.status = status;
	if (!options->quiet)
		record_summary_print(&recording->streams, &summary);
	if (options->json)
		record_summary_json(&recording->streams, &summary);
	return error ? STATUS_ERROR : status;
}

static void clean_up(struct recording *recording)
{
	workload_stop(&recording->workload);
	workload_stop(&recording->anchor);
	watch_close(&recording->watch);
	flowtap_sideband_free(recording->sideband);
	flowtap_kernel_follower_free(&recording->kernel);
	flowtap_bundle_free(recording->bundle);
	cgroup_close(&recording->cgroup);
	/* Waits for pending writes. */
	streams_close(&recording->streams);
	flowtap_archive_writer_free(recording->writer);
	/* After the streams: then it can be taken back. */
	control_close(&recording->lender);
}

int record_command(int argc, char **argv)
{
	struct record_options options;
	struct recording recording = {
		.options = &options,
		.output = { .fd = -1 },
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
		.anchor = { .pidfd = -1, .go = -1, .report = -1 },
		.lender = { .fd = -1 },
	};
	int status;

	status = options_parse(argc, argv, &options);
	if (status != OPTIONS_TAKEN)
		return status;
	status = options.command ? workload_check(options.command[0]) : 0;
	if (status)
		return status;
	signal(SIGPIPE, SIG_IGN);
	/* Signals still end us: that gives it back as well. */
	status = options.borrow ? borrow(&recording) : 0;
	if (status) {
		control_close(&recording.lender);
		return status;
	}
	watch_block(&recording.watch, options.configure.flags & FLOWTAP_OVERWRITE);

	status = prepare(&recording);
	if (!status)
		status = start(&recording);
	if (status) {
		output_discard(&recording.output, 0);
		clean_up(&recording);
		return status;
	}
	status = run(&recording) ? STATUS_ERROR : 0;
	status = conclude(&recording) ?: status;
	clean_up(&recording);
	return status;
}
