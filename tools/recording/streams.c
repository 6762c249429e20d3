// SPDX-License-Identifier: GPL-2.0-only
/* Asks the session for what the options say, and complains about what fails. */
#include "recording/streams.h"

#include "common/tool.h"
#include "recording/descriptors.h"
#include "recording/explain_error.h"
#include "recording/fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int query(struct streams *streams, uint32_t want)
{
	struct flowtap_session_problem problem;
	int error = flowtap_session_query(&streams->session, want, &problem);

	if (error)
		explain_query_problem(&problem, want);
	return error;
}

int streams_open(struct streams *streams, const struct record_options *options)
{
	struct flowtap_session_request request = {
		.configure = options->configure,
		.cpus = options->cpus_given ? options->cpus : NULL,
		.cpus_max = OPTIONS_CPUS_MAX,
		.ring_fixed = options->pages_given,
		.aux_fixed = options->ete.aux_given,
	};
	struct flowtap_session_problem problem;
	int error = query(streams, options->configure.source);

	if (!error)
		error = fit_options(streams, options, &request.configure);
	if (error)
		return error;
	descriptors_raise();
	error = flowtap_session_open(&streams->session, &request, &problem);
	if (error)
		explain_open_problem(streams, &problem);
	return error;
}

int streams_add(struct streams *streams, pid_t pid)
{
	int error = flowtap_session_add_task(&streams->session, pid, 0);

	if (error)
		explain_task_error(pid, streams->event, error);
	return error;
}

int streams_enable(struct streams *streams)
{
	int error = flowtap_session_enable(&streams->session);

	if (error)
		explain_switch_error(FLOWTAP_SESSION_ENABLE, error);
	return error;
}

int streams_disable(struct streams *streams)
{
	int error = flowtap_session_disable(&streams->session);

	if (error)
		explain_switch_error(FLOWTAP_SESSION_DISABLE, error);
	return error;
}

int streams_snapshot(const struct streams *streams)
{
	int error = flowtap_session_snapshot(&streams->session);

	if (error)
		complain("cannot take what the hardware has: %s", strerror(-error));
	return error;
}

/*
 * By FLOWTAP_DRAIN. Else a block is one request: into the page cache, where we write, registered
 * memory gains nothing, and one that is killed between two requests leaves half a block.
 * False: there is no such method.
 */
static bool choose_method(enum flowtap_drain_method *method)
{
	const char *wanted = getenv("FLOWTAP_DRAIN");

	*method = FLOWTAP_DRAIN_URING;
	if (!wanted)
		return true;
	for (*method = FLOWTAP_DRAIN_FIXED; *method < FLOWTAP_DRAIN_METHODS; ++*method)
		if (!strcmp(wanted, flowtap_drain_method_name(*method)))
			return true;
	return false;
}

int streams_begin(struct streams *streams, struct flowtap_archive_writer *writer)
{
	enum flowtap_drain_method method;
	int error;

	if (!choose_method(&method)) {
		complain("FLOWTAP_DRAIN is '%s'", getenv("FLOWTAP_DRAIN"));
		advise("it can be io_uring-fixed, io_uring or poll; or unset it");
		return -EINVAL;
	}
	error = flowtap_session_begin(&streams->session, method, writer);
	if (error)
		complain("cannot drain the rings: %s", strerror(-error));
	return error;
}

static void check_rings(struct streams *streams)
{
	const struct flowtap_session_stream *stream =
		streams->contradicts ? NULL : flowtap_session_contradicting(&streams->session);

	if (!stream)
		return;
	complain("CPU %u: its ring contradicts itself and is not read any more",
		 stream->configure.cpu);
	advise("are module and command of one version?");
	streams->contradicts = true;
}

int streams_drain(struct streams *streams)
{
	int error = flowtap_session_drain(&streams->session);

	check_rings(streams);
	return error;
}

int streams_flush(struct streams *streams)
{
	struct flowtap_session_problem problem;
	int error = flowtap_session_flush(&streams->session, &problem);

	if (error)
		explain_switch_error(problem.cause, problem.error);
	check_rings(streams);
	return error;
}

bool streams_whole(const struct streams *streams)
{
	return !streams->contradicts;
}

static void unread(void *argument, const struct flowtap_session_stream *stream, int error)
{
	struct streams *streams = argument;

	complain("CPU %u: its ring cannot be read: %s", stream->configure.cpu,
		 error == -EPROTO ? "it contradicts itself" :
		 "it is overwritten faster than it is copied");
	streams->contradicts |= error == -EPROTO;
}

int streams_copy(struct streams *streams, bool running)
{
	struct flowtap_session_problem problem;
	int error = flowtap_session_copy(&streams->session, running, unread, streams, &problem);

	if (error)
		explain_switch_error(problem.cause, problem.error);
	return error;
}

void streams_close(struct streams *streams)
{
	flowtap_session_close(&streams->session);
	memset(streams, 0, sizeof(*streams));
}
