// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Opens a stream on each CPU, and all of them again with smaller rings where memory is short. */
#include "capture/device.h"

#include <errno.h>
#include <flowtap/session.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RING_PAGES_MIN 8
#define AUX_PAGES_MIN 8

#define GONE 1			/* the CPU went offline */
#define TOO_MUCH 2		/* memory: all over again with less */

static int fail(struct flowtap_session_problem *problem, enum flowtap_session_cause cause, int error)
{
	problem->cause = cause;
	problem->error = error;
	return error;
}

static bool has_source(const struct flowtap_query *query)
{
	return query->source != FLOWTAP_SOURCE_NONE;
}

int flowtap_session_query(struct flowtap_session *session, uint32_t want,
			  struct flowtap_session_problem *problem)
{
	int error;

	*session = (struct flowtap_session){ 0 };
	*problem = (struct flowtap_session_problem){ 0 };
	error = flowtap_device_query(want, &session->queries, &session->cpus);
	if (error)
		return fail(problem, FLOWTAP_SESSION_DEVICE, error);
	/* One for all; soft only where there is nothing else. */
	for (size_t cpu = 0; cpu < session->cpus; cpu++)
		if (has_source(&session->queries[cpu]) &&
		    (!session->source || session->source == FLOWTAP_SOURCE_SOFT))
			session->source = session->queries[cpu].source;
	if (session->source)
		return 0;
	problem->query = session->queries[0];
	return fail(problem, FLOWTAP_SESSION_NO_SOURCES, -ENODEV);
}

/* Since it was asked what it has. */
static bool is_gone(const struct flowtap_session_stream *stream)
{
	struct flowtap_query query = {
		.cpu = stream->configure.cpu,
		.want = stream->configure.source,
	};

	return !flowtap_device_call(stream->fd, FLOWTAP_IOC_QUERY, &query) && !has_source(&query);
}

/*
 * The greater one first: a trace's records are few, they take no more than its bytes. False: it is
 * the least.
 */
static bool shrink(const struct flowtap_session_request *request, struct flowtap_configure *common)
{
	uint32_t *const ring = &common->ring_pages, *const aux = &common->aux_pages;
	bool less_ring = *ring > RING_PAGES_MIN && !request->ring_fixed;
	bool less_aux = *aux > AUX_PAGES_MIN && !request->aux_fixed;

	if (less_aux && (!less_ring || *aux > *ring))
		*aux /= 2;
	else if (less_ring)
		*ring /= 2;
	else
		return false;
	return true;
}

static enum flowtap_session_cause cause_of_any(int error)
{
	switch (-error) {
	case EINVAL:
		return FLOWTAP_SESSION_RING_SMALL;
	case EBUSY:
		return FLOWTAP_SESSION_HELD;
	case EACCES:
		return FLOWTAP_SESSION_DENIED;
	case EPERM:
		return FLOWTAP_SESSION_LOCKED_MEMORY;
	case ENOMEM:
		return FLOWTAP_SESSION_KERNEL_MEMORY;
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
		return FLOWTAP_SESSION_NO_EVENT;
	default:
		return FLOWTAP_SESSION_CONFIGURE;
	}
}

/* What a trace unit's stream is refused for, where that is not as any other's. */
static enum flowtap_session_cause cause_of_trace(const struct flowtap_configure *configure, int error)
{
	switch (-error) {
	case EACCES:
		return configure->ete.config & (FLOWTAP_TRCCONFIGR_CID | FLOWTAP_TRCCONFIGR_VMID) &&
			       !(configure->flags & FLOWTAP_CPU_WIDE) &&
			       !(configure->modes & FLOWTAP_MODE_KERNEL) ?
			       FLOWTAP_SESSION_DENIED_CONTEXT : FLOWTAP_SESSION_DENIED;
	case EINVAL:
	case ENODEV:
	case EOPNOTSUPP:
		return FLOWTAP_SESSION_REFUSED;
	default:
		return cause_of_any(error);
	}
}

static int fail_stream(const struct flowtap_session_stream *stream, enum flowtap_session_cause cause,
		       int error, struct flowtap_session_problem *problem)
{
	struct flowtap_query now = { .cpu = stream->configure.cpu };

	problem->cpu = stream->configure.cpu;
	problem->query = stream->query;
	problem->configure = stream->configure;
	if (cause == FLOWTAP_SESSION_HELD) {
		if (flowtap_device_call(stream->fd, FLOWTAP_IOC_QUERY, &now))
			now = (struct flowtap_query){ .cpu = stream->configure.cpu };
		problem->query = now;
	}
	return fail(problem, cause, error);
}

/* 0 or -errno. */
static int map(struct flowtap_session_stream *stream, struct flowtap_session_problem *problem)
{
	const struct flowtap_configure *configure = &stream->configure;
	int error = flowtap_reader_map(&stream->reader, stream->fd, configure->ring_pages,
				       configure->flags);

	if (!error && configure->aux_pages)
		error = flowtap_reader_map_aux(&stream->reader, stream->fd, configure->aux_pages);
	return error ? fail_stream(stream, FLOWTAP_SESSION_MAP, error, problem) : 0;
}

/* 0, GONE, TOO_MUCH (and `common` is less) or -errno. */
static int open_stream(struct flowtap_session_stream *stream,
		       const struct flowtap_session_request *request,
		       struct flowtap_configure *common, struct flowtap_session_problem *problem)
{
	int error;

	stream->fd = flowtap_device_open();
	if (stream->fd < 0)
		return fail(problem, FLOWTAP_SESSION_DEVICE, stream->fd);
	error = flowtap_device_configure(stream->fd, &stream->configure);
	if (!error)
		return map(stream, problem);
	if (error == -ENODEV && is_gone(stream))
		return GONE;
	if ((error == -EPERM || error == -ENOMEM) && shrink(request, common))
		return TOO_MUCH;
	return fail_stream(stream, stream->configure.source == FLOWTAP_SOURCE_ETE ?
			   cause_of_trace(&stream->configure, error) : cause_of_any(error), error,
			   problem);
}

static bool is_asked(const struct flowtap_session_request *request, size_t cpu)
{
	return !request->cpus ||
	       (cpu < request->cpus_max && request->cpus[cpu / 64] >> (cpu % 64) & 1);
}

static enum flowtap_session_skip skip_of(const struct flowtap_session *session,
					 const struct flowtap_session_request *request, size_t cpu)
{
	const struct flowtap_query *query = &session->queries[cpu];
	uint64_t bits;

	if (!is_asked(request, cpu))
		return FLOWTAP_SESSION_NOT_ASKED;
	if (!has_source(query))
		return FLOWTAP_SESSION_NO_SOURCE;
	if (query->source != session->source)
		return FLOWTAP_SESSION_OTHER_SOURCE;
	return flowtap_session_lack(query, &request->configure, &bits) ? FLOWTAP_SESSION_UNABLE :
									 FLOWTAP_SESSION_HAS_STREAM;
}

/* Nobody can do what is asked for, or it was asked of CPUs that are none. */
static int fail_all(const struct flowtap_session *session, struct flowtap_session_problem *problem)
{
	for (size_t cpu = 0; cpu < session->cpus; cpu++) {
		if (session->skips[cpu] == FLOWTAP_SESSION_NOT_ASKED)
			continue;
		problem->cpu = (uint32_t)cpu;
		return fail(problem, FLOWTAP_SESSION_NONE_ABLE, -EOPNOTSUPP);
	}
	return fail(problem, FLOWTAP_SESSION_NO_SUCH_CPU, -EINVAL);
}

/* The next one, which the others' tasks are its as well. */
static struct flowtap_session_stream *new_stream(struct flowtap_session *session,
						 const struct flowtap_configure *common, size_t cpu)
{
	struct flowtap_session_stream *stream = &session->streams[session->n];

	*stream = (struct flowtap_session_stream){
		.query = session->queries[cpu],
		.configure = *common,
	};
	stream->configure.cpu = (uint32_t)cpu;
	stream->configure.source = session->source;
	if (session->n && session->grouped) {
		stream->configure.flags |= FLOWTAP_GROUP;
		stream->configure.group_fd = (uint32_t)session->streams[0].fd;
	}
	session->n++;
	return stream;
}

/* A stream on each CPU that can. 0, TOO_MUCH (and `common` is less) or -errno. */
static int open_all(struct flowtap_session *session, const struct flowtap_session_request *request,
		    struct flowtap_configure *common, struct flowtap_session_problem *problem)
{
	for (size_t cpu = 0; cpu < session->cpus; cpu++) {
		struct flowtap_session_stream *stream;
		int error;

		session->skips[cpu] = skip_of(session, request, cpu);
		if (session->skips[cpu])
			continue;
		stream = new_stream(session, common, cpu);
		error = open_stream(stream, request, common, problem);
		if (error != GONE && error)
			return error;
		if (error == GONE) {
			session->n--;
			close(stream->fd);
			session->skips[cpu] = FLOWTAP_SESSION_WENT_OFFLINE;
		}
	}
	return 0;
}

static void close_all(struct flowtap_session *session)
{
	for (size_t i = 0; i < session->n; i++) {
		if (session->streams[i].reader.ring)
			flowtap_reader_unmap(&session->streams[i].reader);
		if (session->streams[i].fd >= 0)
			close(session->streams[i].fd);
	}
	session->n = 0;
}

int flowtap_session_open(struct flowtap_session *session, const struct flowtap_session_request *request,
			 struct flowtap_session_problem *problem)
{
	struct flowtap_configure common = request->configure;
	int error;

	*problem = (struct flowtap_session_problem){ 0 };
	session->request = common;
	session->wide = common.flags & FLOWTAP_CPU_WIDE;
	session->grouped = !session->wide || common.flags & FLOWTAP_EXCLUDE;
	session->streams = calloc(session->cpus, sizeof(*session->streams));
	session->skips = calloc(session->cpus, sizeof(*session->skips));
	if (!session->streams || !session->skips)
		return fail(problem, FLOWTAP_SESSION_NO_MEMORY, -ENOMEM);
	/* All have rings of one size. */
	while ((error = open_all(session, request, &common, problem)) == TOO_MUCH)
		close_all(session);
	return error || session->n ? error : fail_all(session, problem);
}

void flowtap_session_close(struct flowtap_session *session)
{
	flowtap_drain_close(session->drain);
	close_all(session);
	free(session->streams);
	free(session->skips);
	free(session->queries);
	*session = (struct flowtap_session){ 0 };
}
