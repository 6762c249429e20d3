/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Traces and code made by hand, and the flow that sessions of them are: what tests of the pipeline
 * share.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_PIPELINE_TRACE_SESSION_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_PIPELINE_TRACE_SESSION_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <flowtap/trace_session.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/crafted.h"
#include "support/flow_lines.h"
#include "support/kselftest_harness.h"

#define CODE 0x1000ULL
#define TWO "range 1000 1008 2 A64 E\n"
#define USER "context A64 EL0 nonsecure 64\n"
#define WFXMODE (1U << 31)	/* TRCIDR2 */

static const uint32_t __attribute__((unused)) two[] = { 0xd503201f, 0x17ffffff };	/* nop; b -4 */

static const struct flowtap_ete_config config = {
	.configr = 1, .traceidr = 0x10, .devarch = 0x47705a13, .idr0 = 0x28000ea1, .idr2 = 0x40001088,
};

/* A trace that begins at CODE and goes once around for each atom. */
static inline struct stream rounds(const char *which)
{
	struct stream stream = { .size = 0 };

	start(&stream);
	at(&stream, CODE, 0, 0, 0, 0);
	atoms(&stream, which);
	return stream;
}

static inline int file_of(const void *bytes, size_t size)
{
	int fd = memfd_create("made", MFD_CLOEXEC);

	if (fd < 0 || write(fd, bytes, size) != (ssize_t)size)
		abort();
	return fd;
}

/* In frames, with the trace of another source between. How many bytes. */
static inline size_t frame_both(uint8_t out[16384], const struct stream *one, uint8_t id,
				const struct stream *other, uint8_t other_id)
{
	struct source sources[] = {
		{ one->bytes, one->size, id, 0 }, { other->bytes, other->size, other_id, 0 },
	};

	return frames(out, sources, 2);
}

/* A DSTREAM's file of what it took: the number of bytes, 512 for each 504. */
static inline size_t add_footers(uint8_t *to, const uint8_t *bytes, size_t size)
{
	size_t used = 0;

	for (size_t at = 0; at < size; at += 504) {
		size_t n = size - at < 504 ? size - at : 504;

		memcpy(to + used, bytes + at, n);
		used += n;
		if (n == 504)
			memcpy(to + used, "\x02\0\0\0\x7e\x10\xfd\x0f", 8);
		used += n == 504 ? 8 : 0;
	}
	return used;
}

#endif /* FLOWTAP_SELFTESTS_UNIT_PIPELINE_TRACE_SESSION_FIXTURE_H */
