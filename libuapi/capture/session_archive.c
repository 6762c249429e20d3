// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Writes what the streams of a session are, hold and counted into an archive. */
#include "capture/clock.h"

#include <errno.h>
#include <flowtap/session.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* A command line may be long; what INFO says of it is for people. */
#define INFO_MAX	(1U << 20)

int flowtap_session_inform(struct flowtap_archive_writer *writer, const char *more)
{
	const size_t size = strlen(more);
	struct timespec wall;
	struct utsname name;
	char text[512];
	int n;

	uname(&name);
	clock_gettime(CLOCK_REALTIME, &wall);
	n = snprintf(text, sizeof(text),
		     "flowtap=" FLOWTAP_VERSION "\nhost=%s\nkernel=%s\narch=%s\npage=%ld\n"
		     "began=%lld.%09ld\n", name.nodename, name.release, name.machine,
		     sysconf(_SC_PAGESIZE), (long long)wall.tv_sec, wall.tv_nsec);
	return flowtap_archive_write(writer, FLOWTAP_ARCHIVE_INFO, 0, clock_now(), text, (size_t)n,
				     more, size < INFO_MAX - (size_t)n ? size : INFO_MAX - (size_t)n);
}

int flowtap_session_describe(const struct flowtap_session *session,
			     struct flowtap_archive_writer *writer)
{
	int error = 0;

	for (size_t cpu = 0; cpu < session->cpus && !error; cpu++) {
		const struct flowtap_query *query = &session->queries[cpu];

		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_QUERY, (uint32_t)cpu, clock_now(),
					      query, sizeof(*query), NULL, 0);
	}
	for (size_t i = 0; i < session->n && !error; i++) {
		const struct flowtap_configure *configure = &session->streams[i].configure;

		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_CONFIGURE, configure->cpu,
					      clock_now(), configure, sizeof(*configure), NULL, 0);
	}
	return error;
}

int flowtap_session_begin(struct flowtap_session *session, enum flowtap_drain_method method,
			  struct flowtap_archive_writer *writer)
{
	const struct flowtap_drain_options options = {
		.method = method,
		.streams = (unsigned int)session->n,
	};
	int error = flowtap_drain_open(&options, writer, &session->drain);

	for (size_t i = 0; i < session->n && !error; i++) {
		struct flowtap_session_stream *stream = &session->streams[i];

		stream->number = flowtap_drain_add(session->drain, stream->fd, &stream->reader,
						   stream->configure.cpu);
		if (stream->number < 0)
			error = stream->number;
	}
	return error;
}

int flowtap_session_watch_sideband(struct flowtap_session *session,
				   const struct flowtap_sideband *sideband)
{
	int n = flowtap_sideband_fds(sideband, NULL, 0), number = 0;
	int *fds = calloc((size_t)n + 1, sizeof(*fds));

	if (!fds)
		return -ENOMEM;
	flowtap_sideband_fds(sideband, fds, n);
	for (int i = 0; i < n && number >= 0; i++)
		number = flowtap_drain_watch(session->drain, fds[i], POLLIN);
	free(fds);
	return number < 0 ? number : 0;
}

int flowtap_session_drain(struct flowtap_session *session)
{
	uint64_t moved;

	return flowtap_drain_collect(session->drain, &moved);
}

static int fail(struct flowtap_session_problem *problem, enum flowtap_session_cause cause, int error)
{
	if (error) {
		problem->cause = cause;
		problem->error = error;
	}
	return error;
}

int flowtap_session_flush(struct flowtap_session *session, struct flowtap_session_problem *problem)
{
	int error;

	*problem = (struct flowtap_session_problem){ 0 };
	error = fail(problem, FLOWTAP_SESSION_ARCHIVE, flowtap_drain_flush(session->drain));
	/* A full ring had no space for the record of its last loss. */
	if (!error)
		error = fail(problem, FLOWTAP_SESSION_DISABLE, flowtap_session_disable(session));
	if (!error)
		error = fail(problem, FLOWTAP_SESSION_ARCHIVE, flowtap_drain_flush(session->drain));
	return error;
}

int flowtap_session_copy(struct flowtap_session *session, bool running,
			 void (*unread)(void *argument, const struct flowtap_session_stream *stream,
					int error),
			 void *argument, struct flowtap_session_problem *problem)
{
	/* The trace buffer writes its area with no regard to readers. */
	bool stop = running && session->source == FLOWTAP_SOURCE_ETE;
	int error = 0, after;

	*problem = (struct flowtap_session_problem){ 0 };
	if (stop)
		error = fail(problem, FLOWTAP_SESSION_DISABLE, flowtap_session_disable(session));
	for (size_t i = 0; i < session->n && !error; i++) {
		const struct flowtap_session_stream *stream = &session->streams[i];
		uint64_t moved, dropped;

		error = flowtap_drain_snapshot(session->drain, stream->number, &moved, &dropped);
		if (error == -EPROTO || error == -EAGAIN) {
			unread(argument, stream, error);
			error = 0;
		}
		fail(problem, FLOWTAP_SESSION_ARCHIVE, error);
	}
	after = stop ? flowtap_session_enable(session) : 0;
	return fail(problem, FLOWTAP_SESSION_ENABLE, after) && !error ? -EIO : error;
}

const struct flowtap_session_stream *
flowtap_session_contradicting(const struct flowtap_session *session)
{
	for (size_t i = 0; i < session->n; i++)
		if (flowtap_drain_error(session->drain, session->streams[i].number))
			return &session->streams[i];
	return NULL;
}

int flowtap_session_conclude(const struct flowtap_session *session,
			     struct flowtap_archive_writer *writer)
{
	int error = 0;

	for (size_t i = 0; i < session->n && !error; i++) {
		const struct flowtap_session_stream *stream = &session->streams[i];
		struct flowtap_stats stats;

		if (!flowtap_session_stats(stream, &stats))
			error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_STATS,
						      stream->configure.cpu, clock_now(), &stats,
						      sizeof(stats), NULL, 0);
	}
	if (!error)
		error = flowtap_archive_write(writer, FLOWTAP_ARCHIVE_END, 0, clock_now(), NULL, 0,
					      NULL, 0);
	return error ? error : flowtap_archive_flush(writer);
}
