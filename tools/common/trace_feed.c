// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reads a file in pieces, and passes them on as they are or out of CoreSight frames (IHI 0029
 * D4), for one trace ID.
 */
#include "common/trace_feed.h"

#include <errno.h>
#include <flowtap/session.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIECE (1U << 20)

static ssize_t read_at(int fd, uint8_t *to, size_t size, uint64_t offset)
{
	ssize_t got;

	do
		got = pread(fd, to, size, (off_t)offset);
	while (got < 0 && errno == EINTR);
	return got < 0 ? -errno : got;
}

/*
 * A full sync cannot be within frames, but for the four in the place of one. Where another is, the
 * frames have syncs between them.
 */
static bool has_syncs(const uint8_t *bytes, size_t size)
{
	static const uint8_t sync[] = { 0xff, 0xff, 0xff, 0x7f };
	const uint8_t *at = bytes, *end = bytes + size;

	while ((at = memmem(at, (size_t)(end - at), sync, sizeof(sync)))) {
		size_t offset = (size_t)(at - bytes);

		if (offset % FLOWTAP_FRAME_SIZE)
			return true;
		if (end - at < FLOWTAP_FRAME_SIZE)
			return false;
		if (memcmp(at, at + 4, FLOWTAP_FRAME_SIZE - 4))
			return true;
		at += FLOWTAP_FRAME_SIZE;
	}
	return false;
}

static int take_data(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		     uint64_t offset)
{
	struct trace_feed *feed = frames->argument;

	(void)offset;
	feed->ids[id] += size;
	return id == feed->id ? feed->bytes(feed, bytes, size) : 0;
}

static int take_loss(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		     uint64_t size)
{
	struct trace_feed *feed = frames->argument;
	struct flowtap_gap gap = flowtap_frame_gap(loss, size);
	char detail[96];

	feed->damages += gap.reason == FLOWTAP_GAP_BAD_PACKET;
	snprintf(detail, sizeof(detail), "offset 0x%" PRIx64 ": %s", offset, gap.detail);
	gap.detail = detail;
	return feed->lost(feed, &gap);
}

static int run(struct trace_feed *feed, struct flowtap_frames *frames, uint8_t *piece)
{
	ssize_t got;
	int error;

	while ((got = read_at(feed->fd, piece, PIECE, feed->read)) > 0) {
		if (feed->wrapping == TRACE_FRAMES && has_syncs(piece, (size_t)got))
			frames->synced |= !feed->read;
		feed->read += (uint64_t)got;
		if (feed->wrapping == TRACE_RAW)
			error = feed->bytes(feed, piece, (size_t)got);
		else
			error = flowtap_frames_decode(frames, piece, (size_t)got);
		if (error)
			return error;
		if (feed->progress)
			feed->progress(feed, feed->read);
	}
	if (got < 0)
		return (int)got;
	return feed->wrapping == TRACE_RAW ? 0 : flowtap_frames_finish(frames);
}

int trace_feed(struct trace_feed *feed)
{
	struct flowtap_frames *frames = calloc(1, sizeof(*frames));
	uint8_t *piece = malloc(PIECE);
	int error = -ENOMEM;

	if (frames && piece) {
		frames->synced = feed->wrapping == TRACE_SYNCED_FRAMES;
		frames->data = take_data;
		frames->lost = take_loss;
		frames->argument = feed;
		error = run(feed, frames, piece);
	}
	free(frames);
	free(piece);
	return error;
}
