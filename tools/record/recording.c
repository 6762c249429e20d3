// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes INFO and the blocks that begin an archive, and drains rings, side band and kernel text
 * into it.
 */
#include "record/recording.h"

#include "common/tool.h"

#include <errno.h>
#include <inttypes.h>
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

static int write_info(struct recording *recording)
{
	const struct record_options *options = recording->options;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	int error;

	if (!file)
		return -ENOMEM;
	print_request(file, options, recording->streams.event);
	error = fclose(file) ? -ENOMEM : flowtap_session_inform(recording->writer, text);
	free(text);
	return error;
}

/* Says it once: after a failed write everything else fails, too. */
static int archive_problem(struct recording *recording, int error)
{
	if (recording->failed)
		return error;
	recording->failed = true;
	complain("cannot write '%s': %s", recording->output.path, strerror(-error));
	return error;
}

int recording_fork_command(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int error;

	/* Nothing else may be between the blocks of an archive. */
	recording->workload.to_stderr = !strcmp(options->path, "-");
	error = workload_fork(&recording->workload, options->command, &recording->watch.mask);
	if (error)
		complain("cannot fork: %s", strerror(-error));
	return error;
}

int recording_open_archive(struct recording *recording)
{
	const struct record_options *options = recording->options;
	int error = output_open_archive(&recording->output, options->path, options->force);

	if (error)
		return error;
	error = flowtap_archive_create(recording->output.fd, &recording->writer);
	if (!error)
		error = write_info(recording);
	if (!error)
		error = flowtap_session_describe(&recording->streams.session, recording->writer);
	/* So that the file says from the first moment what it is. */
	if (!error)
		error = flowtap_archive_flush(recording->writer);
	if (error)
		return archive_problem(recording, error);
	return streams_begin(&recording->streams, recording->writer);
}

int recording_open_sideband(struct recording *recording)
{
	const struct record_options *options = recording->options;
	bool command = options_trace_command(options);
	struct flowtap_sideband_options request = {
		.pids = command ? &recording->workload.pid : options->pids,
		.n_pids = command ? 1 : options->n_pids,
		.inherit = options->configure.flags & FLOWTAP_INHERIT,
		.stopped = command,
		.mapped = options->bundle ? bundle_mapped : NULL,
	};
	int error = 0;

	if (options->bundle) {
		request.argument = recording->bundle = flowtap_bundle_new();
		error = recording->bundle ? 0 : -ENOMEM;
	}
	if (!error)
		error = flowtap_sideband_open(&request, recording->writer, &recording->sideband);
	if (!error)
		error = flowtap_sideband_start(recording->sideband);
	if (error == -ESRCH)
		complain("a process has ended");
	else if (error)
		complain("cannot follow mappings and tasks: %s", strerror(-error));
	return error;
}

int recording_open_kernel(struct recording *recording)
{
	int error = 0;

	if (recording->options->configure.modes & FLOWTAP_MODE_KERNEL)
		error = kernel_start(&recording->kernel);
	if (!error)
		error = flowtap_kernel_follower_write(&recording->kernel, recording->sideband,
						      recording->writer);
	return error ? archive_problem(recording, error) : 0;
}

static bool overwrites(const struct recording *recording)
{
	return recording->options->configure.flags & FLOWTAP_OVERWRITE;
}

/* What there is beside the rings. */
static int drain_others(struct recording *recording)
{
	int error = flowtap_sideband_drain(recording->sideband);

	return error ? error : flowtap_kernel_follower_drain(&recording->kernel, recording->writer);
}

int recording_drain(struct recording *recording)
{
	int error = drain_others(recording);

	/* Whatever happens to us, the file has what was there. */
	if (!error)
		error = streams_drain(&recording->streams);
	return error ? archive_problem(recording, error) : 0;
}

int recording_snapshot(struct recording *recording)
{
	int error = overwrites(recording) ? streams_copy(&recording->streams, true) : 0;

	if (!error)
		error = flowtap_archive_flush(recording->writer);
	return error ? archive_problem(recording, error) : 0;
}

int recording_finalise(struct recording *recording)
{
	struct flowtap_archive_writer *writer = recording->writer;
	int error = drain_others(recording);

	if (!error)
		error = streams_settle(&recording->streams);
	if (!error && overwrites(recording))
		error = streams_copy(&recording->streams, false);
	if (!error)
		error = kernel_finish(&recording->kernel, writer);
	if (!error && recording->bundle)
		error = bundle_store(recording->bundle, writer);
	if (!error)
		error = flowtap_session_conclude(&recording->streams.session, writer);
	if (error)
		return archive_problem(recording, error);
	return streams_whole(&recording->streams) ? 0 : -EPROTO;
}
