// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/* One session: its file's bytes through a decoder of ETE, with the memory it saw, to a sink. */
#include <flowtap/trace_session.h>

#include <errno.h>
#include <string.h>

#include "ete/unit_blocks.h"

/* A session that runs. */
struct running {
	struct flowtap_trace_session *session;
	struct flowtap_ete *ete;
};

static const struct flowtap_code *find(void *argument, const struct flowtap_context *context,
				       uint64_t address)
{
	struct running *running = argument;
	struct flowtap_trace_session *session = running->session;
	const struct flowtap_code *code = flowtap_memory_find(session->memory, context, address);

	if (session->missing && (!code || !code->bytes))
		session->missing(session, address);
	return code;
}

static void identify(void *argument, struct flowtap_context *context)
{
	const struct running *running = argument;

	context->cpu = running->session->cpu;
	context->has_cpu = true;
}

static int handle_bytes(struct flowtap_trace_feed *feed, const uint8_t *bytes, size_t size)
{
	struct running *running = feed->argument;

	return flowtap_ete_decode(running->ete, bytes, size);
}

static int handle_loss(struct flowtap_trace_feed *feed, const struct flowtap_gap *gap)
{
	struct running *running = feed->argument;

	return flowtap_ete_gap(running->ete, gap);
}

static void handle_progress(struct flowtap_trace_feed *feed, size_t bytes)
{
	struct running *running = feed->argument;
	struct flowtap_trace_session *session = running->session;

	session->read = feed->read;
	if (session->progress)
		session->progress(session, bytes);
}

static int run(struct running *running)
{
	struct flowtap_trace_session *session = running->session;
	struct flowtap_trace_feed feed = {
		.fd = session->fd,
		.framed = session->framed,
		.dstream = session->dstream,
		.id = session->id,
		.bytes = handle_bytes,
		.lost = handle_loss,
		.progress = handle_progress,
		.argument = running,
	};
	int err = flowtap_ete_session(running->ete);

	if (!err)
		err = flowtap_trace_feed(&feed);
	if (!err)
		err = flowtap_ete_finish(running->ete);
	session->damages = feed.damages;
	memcpy(session->ids, feed.ids, sizeof(session->ids));
	return err;
}

int flowtap_trace_session(struct flowtap_trace_session *session)
{
	struct running running = { .session = session };
	const struct flowtap_ete_images images = {
		.find = find,
		.identify = session->has_cpu ? identify : NULL,
		.argument = &running,
	};
	int err;

	session->read = 0;
	session->damages = 0;
	memset(&session->counts, 0, sizeof(session->counts));
	memset(session->ids, 0, sizeof(session->ids));
	if (flowtap_ete_wfx_is_p0(&session->config) != session->wfx)
		return -EPROTOTYPE;
	err = flowtap_ete_new(&session->config, session->ete, &images, session->blocks,
			      session->sink, &running.ete);
	if (err)
		return err == -EINVAL ? -ENODEV : err;
	err = run(&running);
	session->counts = *flowtap_ete_counts(running.ete);
	flowtap_ete_free(running.ete);
	return err;
}

bool flowtap_trace_session_is_empty(const struct flowtap_trace_session *session)
{
	return session->framed && (session->id > FLOWTAP_FRAME_LAST || !session->ids[session->id]);
}

struct flowtap_blocks *flowtap_trace_session_blocks(const struct flowtap_ete_config *config,
						    size_t limit)
{
	return flowtap_blocks_new(flowtap_ete_block_decode(flowtap_ete_wfx_is_p0(config)), limit);
}
