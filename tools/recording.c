// SPDX-License-Identifier: GPL-2.0-only
#include "recording.h"

#include "tool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

static int write_info(struct recording *recording)
{
	const struct record_options *options = recording->options;
	char *text = NULL;
	size_t size = 0;
	FILE *file = open_memstream(&text, &size);
	struct timespec wall;
	struct utsname name;
	int error;

	if (!file)
		return -ENOMEM;
	uname(&name);
	clock_gettime(CLOCK_REALTIME, &wall);
	fprintf(file, "flowtap=" FLOWTAP_VERSION "\nhost=%s\nkernel=%s\narch=%s\n", name.nodename,
		name.release, name.machine);
	fprintf(file, "page=%ld\nevent=%s\nbegan=%lld.%09ld\n", sysconf(_SC_PAGESIZE),
		options->event.name, (long long)wall.tv_sec, wall.tv_nsec);
	if (options->pid)
		fprintf(file, "pid=%d", options->pid);
	else
		fprintf(file, "command=");
	for (char **word = options->command; word && *word; word++) {
		fputs(word == options->command ? "" : " ", file);
		print_plain(file, *word, strlen(*word));
	}
	fputc('\n', file);
	if (fclose(file))
		return -ENOMEM;
	/* A command line may be long; what it says here is for people. */
	size = size < 1 << 20 ? size : 1 << 20;
	error = flowtap_archive_write(recording->writer, FLOWTAP_ARCHIVE_INFO, 0, number_now(),
				      text, size, NULL, 0);
	free(text);
	return error;
}

/* Says it once: after a failed write everything else fails, too. */
static int archive_problem(struct recording *recording, int error)
{
	if (recording->failed)
		return error;
	recording->failed = true;
	if (error == -EPROTO)
		complain("a ring contradicts itself: module and command are not of one version?");
	else
		complain("cannot write '%s': %s", recording->output.path, strerror(-error));
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
		error = streams_describe(&recording->streams, recording->writer);
	/* So that the file says from the first moment what it is. */
	if (!error)
		error = flowtap_archive_flush(recording->writer);
	return error ? archive_problem(recording, error) : 0;
}

int recording_open_sideband(struct recording *recording)
{
	const struct record_options *options = recording->options;
	struct flowtap_sideband_options wish = {
		.pid = options->pid ? options->pid : recording->workload.pid,
		.inherit = options->configure.flags & FLOWTAP_INHERIT,
		.stopped = options->command,
	};
	int error = flowtap_sideband_open(&wish, recording->writer, &recording->sideband);

	if (!error)
		error = flowtap_sideband_start(recording->sideband);
	if (error == -ESRCH)
		complain("there is no process %d", wish.pid);
	else if (error)
		complain("cannot follow mappings and tasks: %s", strerror(-error));
	return error;
}

int recording_drain(struct recording *recording)
{
	uint64_t moved;
	int error = flowtap_sideband_drain(recording->sideband);

	if (!error)
		error = streams_drain(&recording->streams, recording->writer, &moved);
	/* Whatever happens to us, the file has what was there. */
	if (!error)
		error = flowtap_archive_flush(recording->writer);
	return error ? archive_problem(recording, error) : 0;
}

int recording_finalise(struct recording *recording)
{
	struct flowtap_archive_writer *writer = recording->writer;
	uint64_t lost = flowtap_sideband_lost(recording->sideband);
	int error = recording_drain(recording);

	if (error)
		return error;
	if (lost)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_LOST, 0, number_now(), &lost,
					      sizeof(lost), NULL, 0);
	if (!error)
		error = streams_conclude(&recording->streams, writer);
	if (!error)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, number_now(), NULL, 0,
					      NULL, 0);
	if (!error)
		error = flowtap_archive_flush(writer);
	return error ? archive_problem(recording, error) : 0;
}
