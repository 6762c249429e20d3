/* SPDX-License-Identifier: GPL-2.0-only */
/* A trace unit's bytes and CoreSight frames, crafted by hand (DDI 0487, K10.5.2; IHI 0029, D4). */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_CRAFTED_H
#define FLOWTAP_SELFTESTS_SUPPORT_CRAFTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A program of A64: three calls of a function, then a system call. */
static const uint32_t crafted_program[] = {
	0x52800060,	/* 00 mov w0, #3 */
	0x94000004,	/* 04 bl 14 */
	0x71000400,	/* 08 subs w0, w0, #1 */
	0x54ffffc1,	/* 0c b.ne 04 */
	0xd4000001,	/* 10 svc #0 */
	0x91000421,	/* 14 add x1, x1, #1 */
	0xd65f03c0,	/* 18 ret */
};

struct stream {
	uint8_t bytes[4096];
	size_t size;
};

static inline void byte(struct stream *stream, uint8_t value)
{
	stream->bytes[stream->size++] = value;
}

static inline void bytes_of(struct stream *stream, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		byte(stream, (uint8_t)(value >> 8 * i));
}

/* Alignment Sync, Trace Info, Trace On: as a trace unit begins. */
static inline void start(struct stream *stream)
{
	for (int i = 0; i < 11; i++)
		byte(stream, 0);
	byte(stream, 0x80);
	byte(stream, 0x01);
	byte(stream, 0x01);
	byte(stream, 0x00);
	byte(stream, 0x04);
}

static inline void trace_on(struct stream *stream)
{
	byte(stream, 0x04);
}

/* Target Address with Context, 64-bit IS0; which of VMID and CONTEXTIDR there are is in `what`. */
#define CONTEXTID 0x80
#define VMID 0x40
static inline void at(struct stream *stream, uint64_t address, uint8_t level, uint8_t what,
		      uint32_t vmid, uint32_t contextid)
{
	byte(stream, 0x85);
	byte(stream, address >> 2 & 0x7f);
	byte(stream, address >> 9 & 0x7f);
	bytes_of(stream, address >> 16, 6);
	byte(stream, 0x30 | level | what);
	if (what & VMID)
		bytes_of(stream, vmid, 4);
	if (what & CONTEXTID)
		bytes_of(stream, contextid, 4);
}

/* Target Address, 32-bit IS0. */
static inline void to(struct stream *stream, uint64_t address)
{
	byte(stream, 0x9a);
	byte(stream, address >> 2 & 0x7f);
	byte(stream, address >> 9 & 0x7f);
	bytes_of(stream, address >> 16, 2);
}

/* "ENE": one atom each. */
static inline void atoms(struct stream *stream, const char *which)
{
	for (; *which; which++)
		byte(stream, *which == 'E' ? 0xf7 : 0xf6);
}

static inline void timestamp(struct stream *stream, uint64_t ticks)
{
	byte(stream, 0x02);
	for (int i = 0; i < 8; i++)
		byte(stream, 0x80 | (ticks >> 7 * i & 0x7f));
	byte(stream, (uint8_t)(ticks >> 56));
}

/* --- Frames: after so many bytes of one source the next one has its turn. --- */
#define TURN 23

struct source {
	const uint8_t *bytes;
	size_t size;
	uint8_t id;
	size_t used;	/* 0 */
};

static inline int next_source(const struct source *sources, int n, int current)
{
	for (int i = 1; i <= n; i++) {
		int next = (current + i + n) % n;

		if (sources[next].used < sources[next].size)
			return next;
	}
	return -1;
}

/*
 * Returns how many bytes were made: at most twice as many as there are, and a frame more for each
 * source. What is left of the last frame is ID 0, padding.
 */
static inline size_t frames(uint8_t *out, struct source *sources, int n)
{
	int current = -1, turn = 0;
	size_t size = 0;

	while (next_source(sources, n, current) >= 0) {
		uint8_t *frame = out + size;

		memset(frame, 0, 16);
		for (int i = 0; i < 15; i++) {
			bool more = current >= 0 && sources[current].used < sources[current].size;
			uint8_t value = 0;

			if (i % 2 == 0 && (!more || turn >= TURN)) {
				current = next_source(sources, n, current);
				value = current < 0 ? 0 : sources[current].id;
				frame[i] = (uint8_t)(value << 1 | 1);
				turn = 0;
				continue;
			}
			if (more)
				value = sources[current].bytes[sources[current].used++];
			turn++;
			frame[i] = i % 2 ? value : value & 0xfe;
			frame[15] |= (i % 2 ? 0 : value & 1) << i / 2;
		}
		size += 16;
	}
	return size;
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_CRAFTED_H */
