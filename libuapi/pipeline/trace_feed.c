// SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
/*
 * Reads a file in pieces, and passes them on as they are or out of CoreSight frames (IHI 0029
 * D4), for one trace ID.
 */
#include <flowtap/trace_session.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/read_at.h"

#define PIECE (1U << 20)
/* A DSTREAM's file: the last bytes of each block are a footer. */
#define BLOCK 512U
#define BLOCK_TRACE 504U
_Static_assert(PIECE % BLOCK == 0, "each piece begins with a block");

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

/* Neither can a half sync be at an even offset, where an ID would be: ff is none. */
static bool has_half_syncs(const uint8_t *bytes, size_t size)
{
	static const uint8_t full[] = { 0xff, 0xff, 0xff, 0x7f };

	for (size_t at = 0; at + 1 < size; at += 2)
		if (bytes[at] == 0xff && bytes[at + 1] == 0x7f &&
		    (at < 2 || memcmp(bytes + at - 2, full, sizeof(full))))
			return true;
	return false;
}

static int handle_data(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		       uint64_t offset)
{
	struct flowtap_trace_feed *feed = frames->argument;

	(void)offset;
	feed->ids[id] += size;
	return id == feed->id ? feed->bytes(feed, bytes, size) : 0;
}

static int handle_loss(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		       uint64_t size)
{
	struct flowtap_trace_feed *feed = frames->argument;
	struct flowtap_gap gap = flowtap_frame_gap(loss, size);
	char detail[96];

	feed->damages += gap.reason == FLOWTAP_GAP_BAD_PACKET;
	if (feed->dstream)
		offset = offset / BLOCK_TRACE * BLOCK + offset % BLOCK_TRACE;
	snprintf(detail, sizeof(detail), "offset 0x%" PRIx64 ": %s", offset, gap.detail);
	gap.detail = detail;
	return feed->lost(feed, &gap);
}

/* Whole blocks, but for the last one of the file. What is left. */
static size_t drop_footers(uint8_t *piece, size_t size)
{
	size_t left = 0;

	for (size_t at = 0; at < size; at += BLOCK) {
		size_t n = size - at < BLOCK_TRACE ? size - at : BLOCK_TRACE;

		memmove(piece + left, piece + at, n);
		left += n;
	}
	return left;
}

static int handle_piece(struct flowtap_trace_feed *feed, struct flowtap_frames *frames,
			uint8_t *piece, size_t size)
{
	if (feed->dstream)
		size = drop_footers(piece, size);
	return feed->framed ? flowtap_frames_decode(frames, piece, size) :
			      feed->bytes(feed, piece, size);
}

static size_t read_piece(const struct flowtap_trace_feed *feed, uint8_t *piece, uint64_t at,
			 int *failed)
{
	size_t got = flowtap_read_at(feed->fd, piece, PIECE, at, failed);

	return got && feed->dstream ? drop_footers(piece, got) : got;
}

/*
 * Before anything is decoded: a trace port may send half syncs for long until its first full sync
 * comes. What begins without them is taken as frames end to end, damaged or not. 0 or -errno.
 */
static int find_syncs(const struct flowtap_trace_feed *feed, struct flowtap_frames *frames,
		      uint8_t *piece)
{
	int failed = 0;
	size_t size;

	for (uint64_t at = 0; (size = read_piece(feed, piece, at, &failed)) && !failed; at += PIECE) {
		frames->synced = has_syncs(piece, size);
		if (frames->synced || (!at && !has_half_syncs(piece, size)))
			break;
	}
	return failed;
}

static int run(struct flowtap_trace_feed *feed, struct flowtap_frames *frames, uint8_t *piece)
{
	int err = feed->framed ? find_syncs(feed, frames, piece) : 0, failed = 0;
	size_t got = 1;

	while (!err && !failed && got) {
		got = flowtap_read_at(feed->fd, piece, PIECE, feed->read, &failed);
		if (got)
			err = handle_piece(feed, frames, piece, got);
		feed->read += got;
		if (got && !err && feed->progress)
			feed->progress(feed, got);
	}
	err = err ? err : failed;
	return err || !feed->framed ? err : flowtap_frames_finish(frames);
}

int flowtap_trace_feed(struct flowtap_trace_feed *feed)
{
	struct flowtap_frames *frames = calloc(1, sizeof(*frames));
	uint8_t *piece = malloc(PIECE);
	int saved = errno, err = -ENOMEM;

	if (frames && piece) {
		frames->data = handle_data;
		frames->lost = handle_loss;
		frames->argument = feed;
		err = run(feed, frames, piece);
	}
	free(frames);
	free(piece);
	errno = saved;
	return err;
}
