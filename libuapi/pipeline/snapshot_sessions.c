// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* The sessions of a snapshot, one after the other, each with the memory that its processor saw. */
#include <flowtap/trace_session.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void clear_memory(struct flowtap_snapshot_sessions *sessions)
{
	if (!sessions->memory)
		return;
	sessions->code_bytes += flowtap_memory_held(sessions->memory);
	sessions->next_key = flowtap_memory_next_key(sessions->memory);
	flowtap_memory_free(sessions->memory);
	sessions->memory = NULL;
}

/* What a processor saw is the same in each buffer of its own. */
static bool is_remembered(const struct flowtap_snapshot_sessions *sessions,
			  const struct flowtap_snapshot_source *source)
{
	const struct flowtap_snapshot_source *last = sessions->source;

	return sessions->memory && !strcmp(last->core, source->core) &&
	       (last->buffer == source->buffer ||
		(last->buffer->format == FLOWTAP_SNAPSHOT_RAW &&
		 source->buffer->format == FLOWTAP_SNAPSHOT_RAW));
}

static int remember_memory(struct flowtap_snapshot_sessions *sessions,
			   const struct flowtap_snapshot_source *source)
{
	int err;

	if (is_remembered(sessions, source))
		return 0;
	clear_memory(sessions);
	sessions->source = source;
	sessions->step = FLOWTAP_SNAPSHOT_MEMORY;
	err = flowtap_snapshot_memory(sessions->snapshot, source, &sessions->memory);
	if (err)
		return err;
	flowtap_memory_set_first_key(sessions->memory, sessions->next_key);
	sessions->step = FLOWTAP_SNAPSHOT_IMAGES;
	err = sessions->images ? sessions->images(sessions, sessions->memory) : 0;
	/* Half of what was there is no memory to go on with. */
	if (err)
		clear_memory(sessions);
	return err;
}

int flowtap_snapshot_session(struct flowtap_snapshot_sessions *sessions,
			     const struct flowtap_snapshot_source *source)
{
	struct flowtap_trace_session *session = &sessions->session;
	int saved = errno, err = remember_memory(sessions, source);

	if (err)
		return err;
	sessions->step = FLOWTAP_SNAPSHOT_BUFFER;
	session->config = source->config;
	session->memory = sessions->memory;
	session->cpu = source->core_number;
	session->framed = source->buffer->format != FLOWTAP_SNAPSHOT_RAW;
	session->dstream = source->buffer->format == FLOWTAP_SNAPSHOT_DSTREAM;
	session->id = source->config.traceidr & 0x7f;
	session->fd = flowtap_snapshot_open_buffer(sessions->snapshot, source->buffer);
	if (session->fd < 0)
		return session->fd;
	sessions->step = FLOWTAP_SNAPSHOT_SESSION;
	err = flowtap_trace_session(session);
	close(session->fd);
	session->fd = -1;
	errno = saved;
	return err;
}

void flowtap_snapshot_sessions_end(struct flowtap_snapshot_sessions *sessions)
{
	clear_memory(sessions);
	sessions->source = NULL;
}
