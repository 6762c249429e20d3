// SPDX-License-Identifier: GPL-2.0-only
/* flowtap record: from the rings and the side band into an archive. */
#include "common/filter.h"
#include "common/tool.h"
#include "record/record_summary.h"
#include "record/recorder.h"
#include "recording/explain_error.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct record_summary summary_of(const struct recorder *recorder)
{
	return (struct record_summary){
		.path = recorder->output.path,
		.bytes = flowtap_archive_size(recorder->writer),
		.nanoseconds = number_now() - recorder->began,
		.sideband_lost = flowtap_sideband_lost(recorder->sideband),
		.sideband_polled = flowtap_sideband_polled(recorder->sideband),
		.drain = flowtap_drain_method_name(
			flowtap_drain_method(recorder->streams.session.drain)),
	};
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

static void announce(const struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	const struct streams *streams = &recorder->streams;
	const struct flowtap_session_stream *first = &streams->session.streams[0];

	if (options->quiet)
		return;
	record_summary_begin(streams, options);
	if (first->configure.source == FLOWTAP_SOURCE_SOFT)
		advise("the source is soft: the transfers are made up, for tests of flowtap");
	for (size_t cpu = 0; cpu < streams->session.cpus; cpu++)
		if (streams->session.skips[cpu] && options_cpu(options, cpu))
			advise("not CPU %zu: %s", cpu, explain_skip(&streams->session, cpu));
	for (size_t cpu = streams->session.cpus; options->cpus_given && cpu < OPTIONS_CPUS_MAX; cpu++)
		if (options_cpu(options, cpu))
			advise("not CPU %zu: this machine has none of that number", cpu);
	if (first->configure.ring_pages < options->configure.ring_pages)
		advise("with rings of %u page%s: more may not be locked (ulimit -l)",
		       first->configure.ring_pages, plural(first->configure.ring_pages));
	if (first->configure.aux_pages && first->configure.aux_pages < options->ete.aux_pages)
		advise("with AUX areas of %u pages: more may not be locked (ulimit -l)",
		       first->configure.aux_pages);
	if (flowtap_sideband_polled(recorder->sideband))
		advise("%s: what is mapped for a moment only will be missed",
		       explain_polling(flowtap_sideband_denied(recorder->sideband)));
	warn_of_filter(options);
}

/*
 * A child that sleeps to the end: with it in the set the streams do not take an empty cgroup for
 * the end of all tasks.
 */
static int open_anchor(struct recorder *recorder)
{
	int error = workload_fork(&recorder->anchor, NULL, &recorder->watch.mask);

	if (error)
		complain("cannot fork: %s", strerror(-error));
	return error;
}

/* Children, which wait. 0 or an error. */
static int fork_all(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int error = 0;

	if (options->cgroup)
		error = cgroup_open(&recorder->cgroup, options->cgroup);
	/* Before the command: what keeps that one waiting is not to be inherited. */
	if (!error && options->cgroup)
		error = open_anchor(recorder);
	return !error && options->command ? recorder_fork_command(recorder) : error;
}

/* Whose transfers these will be. 0 or an error. */
static int choose_tasks(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	struct streams *streams = &recorder->streams;
	int error = 0;

	if (recorder->anchor.pid)
		error = streams_add(streams, recorder->anchor.pid);
	if (!error && options_trace_command(options))
		error = streams_add(streams, recorder->workload.pid);
	for (size_t i = 0; i < options->n_pids && !error; i++)
		error = streams_add(streams, options->pids[i]);
	return error ? error : cgroup_follow(&recorder->cgroup, streams);
}

/*
 * flowtapd lets go of the hardware, until our connection is closed: by us, or because we are not
 * there any more. 0 or an exit status.
 */
static int borrow(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int error = control_open(&recorder->lender, options->borrow);

	if (error == -ENOENT || error == -ECONNREFUSED) {
		control_close(&recorder->lender);
		if (!options->quiet)
			complain("nothing to be borrowed: no flowtapd listens at '%s'",
				 options->borrow);
		return 0;
	}
	if (error)
		control_complain(&recorder->lender, error);
	else
		error = control_ask(&recorder->lender, "borrow", CONTROL_BORROW_SECONDS, true);
	return error ? STATUS_ERROR : 0;
}

/* Everything until the first transfer can be recorded. 0 or an exit status. */
static int prepare(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	struct streams *streams = &recorder->streams;
	int error = streams_open(streams, options);

	if (!error)
		error = fork_all(recorder);
	/* What a task forks from the moment on that it is recorded has a side band, too. */
	if (!error)
		error = recorder_open_sideband(recorder);
	if (!error)
		error = choose_tasks(recorder);
	/* What can be refused was not: the archive that is there becomes .old. */
	if (!error)
		error = recorder_open_archive(recorder);
	if (!error)
		error = recorder_start_sideband(recorder);
	if (!error)
		error = recorder_open_kernel(recorder);
	if (!error)
		error = watch_open(&recorder->watch, streams, recorder->sideband,
				   recorder->workload.pid ? recorder->workload.pidfd : -1,
				   options->duration);
	return error ? STATUS_ERROR : 0;
}

static int start(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int status;

	recorder->began = number_now();
	announce(recorder);
	/* Else the exec of the command enables. */
	if (!options_trace_command(options) && streams_enable(&recorder->streams))
		return STATUS_ERROR;
	flowtap_kernel_follower_enabled(&recorder->kernel);
	if (!options->command)
		return 0;
	status = workload_start(&recorder->workload, options->command[0]);
	/* It may have ended before the next look at /proc. */
	if (!status && recorder_look(recorder))
		status = STATUS_ERROR;
	return status;
}

static int run(struct recorder *recorder)
{
	bool live = !recorder->options->quiet && isatty(STDERR_FILENO);
	bool tick = live || flowtap_sideband_polled(recorder->sideband) ||
		    options_want_looks(recorder->options);
	uint64_t shown = 0;
	int error;

	while (!watch_wait(&recorder->watch, tick)) {
		error = cgroup_follow(&recorder->cgroup, &recorder->streams);
		if (!error)
			error = recorder_drain(recorder);
		if (!error && recorder->watch.asked)
			error = recorder_snapshot(recorder);
		recorder->watch.asked = false;
		if (error)
			return error;
		if (live && number_now() - shown > 200000000) {
			struct record_summary summary = summary_of(recorder);

			record_summary_live(&recorder->streams, &summary);
			shown = number_now();
		}
	}
	return 0;
}

/* The command is no task of the set any more: it ends, or it goes on without us. */
static void await_command(struct recorder *recorder)
{
	if (workload_ends(&recorder->workload))
		return;
	complain("the command goes on and is not recorded: it executed a program that you may not "
		 "trace (set-user-ID, capabilities, not readable), or takes long to end");
	advise("flowtap waits for its end; Ctrl-C ends that");
	workload_reap(&recorder->workload, true);
}

static int conclude(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int error, status = STATUS_OK;
	struct record_summary summary;

	record_summary_live_end();
	error = streams_disable(&recorder->streams);
	summary = summary_of(recorder);
	/* From here on a further signal ends us at once; what is in the file stays good. */
	watch_release(&recorder->watch);
	error = recorder_finalise(recorder) ? -EIO : error;
	summary.bytes = flowtap_archive_size(recorder->writer);
	/* The last of it came with the last records. */
	summary.sideband_lost = flowtap_sideband_lost(recorder->sideband);
	error = output_commit(&recorder->output) ? -EIO : error;
	if (options->command) {
		bool stopped;

		if (recorder->watch.abandoned && options_trace_command(options))
			await_command(recorder);
		stopped = workload_stop(&recorder->workload);

		/* One that we stopped after --duration did not fail. */
		status = stopped && recorder->watch.elapsed && !recorder->workload.left ?
				STATUS_OK : workload_status(&recorder->workload);
	}
	/* One that goes on has none. */
	summary.command = options->command && !recorder->workload.left;
	summary.status = status;
	if (!options->quiet)
		record_summary_print(&recorder->streams, &summary);
	if (options->json)
		record_summary_json(&recorder->streams, &summary);
	return error ? STATUS_ERROR : status;
}

static void clean_up(struct recorder *recorder)
{
	workload_stop(&recorder->workload);
	workload_stop(&recorder->anchor);
	watch_close(&recorder->watch);
	flowtap_sideband_free(recorder->sideband);
	flowtap_kernel_follower_free(&recorder->kernel);
	flowtap_bundle_free(recorder->bundle);
	cgroup_close(&recorder->cgroup);
	/* Waits for pending writes. */
	streams_close(&recorder->streams);
	flowtap_archive_writer_free(recorder->writer);
	/* After the streams: then it can be taken back. */
	control_close(&recorder->lender);
}

int record_command(int argc, char **argv)
{
	struct record_options options;
	struct recorder recorder = {
		.options = &options,
		.output = { .fd = -1 },
		.workload = { .pidfd = -1, .go = -1, .report = -1 },
		.anchor = { .pidfd = -1, .go = -1, .report = -1 },
		.lender = { .fd = -1 },
	};
	int status, ended;

	status = options_parse(argc, argv, &options);
	if (status != OPTIONS_TAKEN)
		return status;
	status = options.command ? workload_check(options.command[0]) : 0;
	if (status)
		return status;
	signal(SIGPIPE, SIG_IGN);
	/* A limit of the size of files is an error of write, with a message. */
	signal(SIGXFSZ, SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
	/* Signals still end us: that gives it back as well. */
	status = options.borrow ? borrow(&recorder) : 0;
	if (status) {
		control_close(&recorder.lender);
		return status;
	}
	watch_block(&recorder.watch, options.configure.flags & FLOWTAP_OVERWRITE);

	status = prepare(&recorder);
	if (!status)
		status = start(&recorder);
	if (status) {
		output_discard(&recorder.output, 0);
		clean_up(&recorder);
		return status;
	}
	status = run(&recorder) ? STATUS_ERROR : 0;
	ended = conclude(&recorder);
	clean_up(&recorder);
	return status ? status : ended;
}
