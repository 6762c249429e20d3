// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes INFO and the blocks that begin an archive, and drains rings, side band and kernel text
 * into it.
 */
#include "record/recorder.h"

#include "common/tool.h"
#include "recording/explain_error.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* What was asked for, in lines of KEY=VALUE. */
static void print_request(FILE *file, const struct record_options *options, bool event)
{
	if (options->frequency)
		fprintf(file, "frequency=%" PRIu64 "\n", options->frequency);
	else if (event)
		fprintf(file, "event=%s\n", options->event.name);
	if (options->filter)
		fprintf(file, "filter=%s\n", options->filter);
	if (options->all)
		fprintf(file, "all=1\n");
	if (options->cgroup) {
		fputs("cgroup=", file);
		print_plain(file, options->cgroup, strlen(options->cgroup));
		fputc('\n', file);
	}
	for (size_t i = 0; i < options->n_pids; i++)
		fprintf(file, "%s%d%s", i ? "," : "pid=", options->pids[i],
			i + 1 == options->n_pids ? "\n" : "");
	for (char **word = options->command; word && *word; word++) {
		fputs(word == options->command ? "command=" : " ", file);
		print_plain(file, *word, strlen(*word));
		if (!word[1])
			fputc('\n', file);
	}
}

static int write_info(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error;

	if (!file)
		return -ENOMEM;
	print_request(file, options, recorder->streams.event);
	error = fclose(file) ? -ENOMEM : flowtap_session_inform(recorder->writer, text);
	free(text);
	return error;
}

/* Says it once: after a failed write everything else fails, too. */
static int archive_problem(struct recorder *recorder, int error)
{
	if (recorder->failed)
		return error;
	recorder->failed = true;
	complain("cannot write '%s': %s", recorder->output.path, strerror(-error));
	advise_write(error);
	return error;
}

int recorder_fork_command(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int error;

	/* Nothing else may be between the blocks of an archive. */
	recorder->workload.to_stderr = !strcmp(options->path, "-");
	error = workload_fork(&recorder->workload, options->command, &recorder->watch.mask);
	if (error)
		complain("cannot fork: %s", strerror(-error));
	return error;
}

int recorder_open_archive(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	int error = output_open_archive(&recorder->output, options->path, options->force);

	if (error)
		return error;
	error = flowtap_archive_create(recorder->output.fd, &recorder->writer);
	if (!error)
		error = write_info(recorder);
	if (!error)
		error = flowtap_session_describe(&recorder->streams.session, recorder->writer);
	/* So that the file says from the first moment what it is. */
	if (!error)
		error = flowtap_archive_flush(recorder->writer);
	if (error)
		return archive_problem(recorder, error);
	return streams_begin(&recorder->streams, recorder->writer);
}

/* 0, or the error after a complaint. */
static int sideband_problem(const struct recorder *recorder, int error)
{
	const struct record_options *options = recorder->options;

	if (error && error != -ESRCH)
		complain("cannot follow mappings and tasks: %s", strerror(-error));
	if (error != -ESRCH)
		return error;
	for (size_t i = 0; i < options->n_pids; i++)
		if (kill(options->pids[i], 0) && errno == ESRCH) {
			explain_task_error(options->pids[i], NULL, error);
			return error;
		}
	complain("a process has ended");
	return error;
}

int recorder_open_sideband(struct recorder *recorder)
{
	const struct record_options *options = recorder->options;
	bool command = options_trace_command(options);
	struct flowtap_sideband_options request = {
		.pids = command ? &recorder->workload.pid : options->pids,
		.n_pids = command ? 1 : options->n_pids,
		.inherit = options->configure.flags & FLOWTAP_INHERIT,
		.stopped = command,
		.mapped = options->bundle ? bundle_mapped : NULL,
	};
	int error = 0;

	if (options->bundle) {
		request.argument = recorder->bundle = flowtap_bundle_new();
		error = recorder->bundle ? 0 : -ENOMEM;
	}
	if (!error)
		error = flowtap_sideband_open(&request, &recorder->sideband);
	return sideband_problem(recorder, error);
}

int recorder_start_sideband(struct recorder *recorder)
{
	return sideband_problem(recorder, flowtap_sideband_start(recorder->sideband, recorder->writer));
}

int recorder_open_kernel(struct recorder *recorder)
{
	int error = 0;

	if (recorder->options->configure.modes & FLOWTAP_MODE_KERNEL)
		error = kernel_start(&recorder->kernel);
	if (!error)
		error = flowtap_kernel_follower_write(&recorder->kernel, recorder->sideband,
						      recorder->writer);
	return error ? archive_problem(recorder, error) : 0;
}

static bool overwrites(const struct recorder *recorder)
{
	return recorder->options->configure.flags & FLOWTAP_OVERWRITE;
}

/* What there is beside the rings. */
static int drain_others(struct recorder *recorder)
{
	int error = flowtap_sideband_drain(recorder->sideband);

	return error ? error : flowtap_kernel_follower_drain(&recorder->kernel, recorder->writer);
}

int recorder_drain(struct recorder *recorder)
{
	int error = drain_others(recorder);

	/* Whatever happens to us, the file has what was there. */
	if (!error)
		error = streams_drain(&recorder->streams);
	return error ? archive_problem(recorder, error) : 0;
}

int recorder_look(struct recorder *recorder)
{
	int error = flowtap_sideband_look(recorder->sideband);

	return error ? archive_problem(recorder, error) : 0;
}

int recorder_snapshot(struct recorder *recorder)
{
	int error = overwrites(recorder) ? streams_copy(&recorder->streams, true) : 0;

	if (!error)
		error = flowtap_archive_flush(recorder->writer);
	return error ? archive_problem(recorder, error) : 0;
}

int recorder_finalise(struct recorder *recorder)
{
	struct flowtap_archive_writer *writer = recorder->writer;
	int error = flowtap_sideband_look(recorder->sideband);

	if (!error)
		error = flowtap_kernel_follower_drain(&recorder->kernel, writer);
	if (!error)
		error = streams_flush(&recorder->streams);
	if (!error && overwrites(recorder))
		error = streams_copy(&recorder->streams, false);
	if (!error)
		error = kernel_finish(&recorder->kernel, writer);
	if (!error && recorder->bundle)
		error = bundle_store(recorder->bundle, writer);
	if (!error)
		error = flowtap_session_conclude(&recorder->streams.session, writer);
	if (error)
		return archive_problem(recorder, error);
	return streams_whole(&recorder->streams) ? 0 : -EPROTO;
}
