/* SPDX-License-Identifier: GPL-2.0-only */
/* The bytes of one trace unit out of a file, in pieces, whatever they are wrapped in. */
#ifndef TRACE_FEED_H
#define TRACE_FEED_H

#include <flowtap/flow.h>
#include <flowtap/frame.h>
#include <stdbool.h>
#include <stdint.h>

enum trace_wrapping {
	TRACE_RAW,
	TRACE_FRAMES,		/* frame syncs are seen by themselves */
	TRACE_SYNCED_FRAMES,
};

struct trace_feed {
	/* Set by the caller; zeros below. */
	int fd;				/* read from its beginning by pread */
	enum trace_wrapping wrapping;
	uint8_t id;			/* of frames: which source */
	/* Each returns 0, or below 0 to stop. `lost` is called for frames, with what is missing. */
	int (*bytes)(struct trace_feed *feed, const uint8_t *bytes, size_t size);
	int (*lost)(struct trace_feed *feed, const struct flowtap_gap *gap);
	/* May be NULL: so many bytes of the file were read. */
	void (*progress)(struct trace_feed *feed, uint64_t read);
	void *argument;

	/* Current. */
	uint64_t read;			/* of the file */
	uint64_t damages;		/* of frames */
	uint64_t ids[FLOWTAP_FRAME_LAST + 1];	/* bytes of each source */
};

/* The whole file. 0, -errno of reading, or what a call returned below 0. */
int trace_feed(struct trace_feed *feed);

#endif /* TRACE_FEED_H */
