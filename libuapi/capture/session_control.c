// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* Sets whom the streams of a session record and when, and adds up what they count. */
#include "capture/device.h"

#include <flowtap/session.h>
#include <poll.h>
#include <string.h>

static int change(struct flowtap_session *session, unsigned long command, pid_t pid, uint32_t flags)
{
	struct flowtap_task task = { .pid = (uint32_t)pid, .flags = flags };

	return flowtap_device_call(session->streams[0].fd, command, &task);
}

int flowtap_session_add_task(struct flowtap_session *session, pid_t pid, uint32_t flags)
{
	return change(session, FLOWTAP_IOC_ADD_TASK, pid, flags);
}

int flowtap_session_remove_task(struct flowtap_session *session, pid_t pid, uint32_t flags)
{
	return change(session, FLOWTAP_IOC_REMOVE_TASK, pid, flags);
}

/* All of them: one group, or each by itself. */
static int switch_all(struct flowtap_session *session, unsigned long command)
{
	struct flowtap_enable enable = { .flags = session->wide ? 0 : FLOWTAP_ENABLE_GROUP };
	size_t n = session->wide ? session->n : 1;
	int error = 0;

	for (size_t i = 0; i < n && !error; i++)
		error = flowtap_device_call(session->streams[i].fd, command, &enable);
	return error;
}

int flowtap_session_enable(struct flowtap_session *session)
{
	return switch_all(session, FLOWTAP_IOC_ENABLE);
}

int flowtap_session_disable(struct flowtap_session *session)
{
	return switch_all(session, FLOWTAP_IOC_DISABLE);
}

int flowtap_session_snapshot(const struct flowtap_session *session)
{
	int error = 0;

	for (size_t i = 0; i < session->n; i++) {
		struct flowtap_snapshot snapshot = { 0 };
		int one = flowtap_device_call(session->streams[i].fd, FLOWTAP_IOC_SNAPSHOT, &snapshot);

		error = error ? error : one;
	}
	return error;
}

int flowtap_session_query_cpu(const struct flowtap_session *session, uint32_t cpu,
			      struct flowtap_query *query)
{
	int error;

	*query = (struct flowtap_query){ .cpu = cpu };
	error = flowtap_device_call(session->streams[0].fd, FLOWTAP_IOC_QUERY, query);
	if (error)
		*query = (struct flowtap_query){ .cpu = cpu };
	return error;
}

int flowtap_session_key(const struct flowtap_session *session, uint64_t *key)
{
	struct flowtap_key request = { 0 };
	int error = flowtap_device_call(session->streams[0].fd, FLOWTAP_IOC_KEY, &request);

	if (!error)
		*key = request.key;
	return error;
}

int flowtap_session_stats(const struct flowtap_session_stream *stream, struct flowtap_stats *stats)
{
	return flowtap_device_call(stream->fd, FLOWTAP_IOC_STATS, stats);
}

bool flowtap_session_ended(struct flowtap_session *session)
{
	bool all = true;

	for (size_t i = 0; i < session->n; i++) {
		struct flowtap_session_stream *stream = &session->streams[i];

		/* The drain reports each once. */
		if (flowtap_drain_events(session->drain, stream->number) &
		    (POLLHUP | POLLERR | POLLNVAL))
			stream->ended = true;
		all &= stream->ended;
	}
	return all;
}

static void add(struct flowtap_stats *sum, const struct flowtap_stats *one)
{
	sum->samples += one->samples;
	sum->entries += one->entries;
	sum->records += one->records;
	sum->bytes += one->bytes;
	sum->lost_samples += one->lost_samples;
	sum->lost_entries += one->lost_entries;
	sum->lost_records += one->lost_records;
	sum->lost_bytes += one->lost_bytes;
	for (size_t cause = 0; cause < sizeof(sum->losses) / sizeof(sum->losses[0]); cause++)
		sum->losses[cause] += one->losses[cause];
	sum->triggers += one->triggers;
	sum->switches += one->switches;
	sum->wakeups += one->wakeups;
	sum->aux_bytes += one->aux_bytes;
	sum->interrupts += one->interrupts;
	if (one->high_water > sum->high_water)
		sum->high_water = one->high_water;
}

void flowtap_session_sum(const struct flowtap_session *session, struct flowtap_stats *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (size_t i = 0; i < session->n; i++) {
		struct flowtap_stats one;

		if (!flowtap_session_stats(&session->streams[i], &one))
			add(sum, &one);
	}
}
