// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes at all can be CoreSight frames: the same data and losses come out however they are cut,
 * and no more than went in.
 *
 * Input: 2 bytes of options (with syncs or not, how the pieces are cut), then the frames.
 */
#include <flowtap/frame.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

struct counts {
	uint64_t bytes[128];
	uint64_t hash[128];
	uint64_t lost[FLOWTAP_FRAME_LOSSES];
	uint64_t size;
};

static void check(bool condition)
{
	if (!condition)
		abort();
}

static int take(struct flowtap_frames *frames, uint8_t id, const uint8_t *bytes, size_t size,
		uint64_t offset)
{
	struct counts *counts = frames->argument;

	check(id >= FLOWTAP_FRAME_FIRST && id <= FLOWTAP_FRAME_LAST && size);
	check(offset < counts->size);
	for (size_t i = 0; i < size; i++)
		counts->hash[id] = (counts->hash[id] + bytes[i] + 1) * 0x9e3779b97f4a7c15;
	counts->bytes[id] += size;
	return 0;
}

static int lose(struct flowtap_frames *frames, enum flowtap_frame_loss loss, uint64_t offset,
		uint64_t size)
{
	struct counts *counts = frames->argument;

	check(loss < FLOWTAP_FRAME_LOSSES && flowtap_frame_loss_text(loss));
	check(offset + size <= counts->size);
	counts->lost[loss] += size;
	return 0;
}

static void decode(bool synced, const uint8_t *bytes, size_t size, size_t piece,
		   struct counts *counts)
{
	struct flowtap_frames frames = {
		.synced = synced, .data = take, .lost = lose, .argument = counts,
	};
	uint64_t sum = 0;

	memset(counts, 0, sizeof(*counts));
	counts->size = size;
	for (size_t at = 0; at < size; at += piece) {
		size_t n = piece < size - at ? piece : size - at;
		uint8_t *copy = malloc(n);

		memcpy(copy, bytes + at, n);
		check(flowtap_frames_decode(&frames, copy, n) == 0);
		free(copy);
	}
	check(flowtap_frames_finish(&frames) == 0);
	check(frames.bytes == size);
	for (int i = 0; i < 128; i++)
		sum += counts->bytes[i];
	check(sum <= size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct counts whole, pieces;

	if (size < 2)
		return 0;
	decode(data[0] & 1, data + 2, size - 2, size, &whole);
	decode(data[0] & 1, data + 2, size - 2, 1 + data[1] % 40, &pieces);
	check(!memcmp(&whole, &pieces, sizeof(whole)));
	return 0;
}

/* Two sources that take turns, with a sync before every n-th frame. */
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	static const uint8_t sync[] = { 0xff, 0xff, 0xff, 0x7f };
	size_t at = 2;

	if (n >= 4 || capacity < 1024)
		return 0;
	buffer[0] = n & 1;
	buffer[1] = n * 7;
	for (unsigned int frame = 0; frame < 12; frame++) {
		if ((n & 1) && frame % 3 == 0) {
			memcpy(buffer + at, sync, sizeof(sync));
			at += sizeof(sync);
		}
		if (n == 2 && frame == 5) {
			for (int i = 0; i < 4; i++, at += sizeof(sync))
				memcpy(buffer + at, sync, sizeof(sync));
		}
		for (unsigned int i = 0; i < 15; i++)
			buffer[at + i] = (frame * 15 + i) * 2;
		buffer[at] = (0x10 + frame % 2) << 1 | 1;
		if (frame % 4 == 2)
			buffer[at + 6] = 0x11 << 1 | 1;
		buffer[at + 15] = frame * 37;
		at += FLOWTAP_FRAME_SIZE;
	}
	return at;
}
