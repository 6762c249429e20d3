// SPDX-License-Identifier: GPL-2.0-only
/* Any bytes at all can be read as a ring: control page, positions, records. */
#include <flowtap/ring.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t room, unsigned int n);

static uint64_t touched;

static void walk(const struct flowtap_stretch part[2])
{
	void *copy = malloc(FLOWTAP_RECORD_MAX);
	const struct flowtap_record *record;

	if (!copy)
		abort();
	for (size_t at = 0; !flowtap_record_in(part, at, copy, &record); at += record->size)
		for (size_t i = 0; i < record->size; i++)
			touched += ((const uint8_t *)record)[i];
	free(copy);
}

static void copy(const struct flowtap_reader *reader)
{
	struct flowtap_stretch part[2] = { 0 };
	uint64_t head, dropped;
	void *buffer = malloc(reader->size);

	if (!buffer)
		abort();
	if (!flowtap_reader_copy(reader, buffer, &part[0], &head, &dropped)) {
		/* Nobody writes it. */
		if (dropped || part[0].size > reader->size)
			abort();
		walk(part);
	}
	free(buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *ring = aligned_alloc(64, (size + 64) & ~63UL);
	struct flowtap_stretch part[2] = { 0 };
	struct flowtap_reader reader;
	uint64_t head;

	if (!ring)
		abort();
	memcpy(ring, data, size);
	if (flowtap_reader_attach(&reader, ring, size)) {
		free(ring);
		return 0;
	}
	if (reader.overwrite) {
		copy(&reader);
	} else if (!flowtap_reader_peek(&reader, part, &head)) {
		walk(part);
		flowtap_reader_advance(&reader, head);
		if (flowtap_reader_peek(&reader, part, &head) || part[0].size || part[1].size)
			abort();
	}
	free(ring);
	return 0;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t room, unsigned int n)
{
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.data_offset = sizeof(ring),
		.data_size = 256U << n / 2,
		.flags = n % 2 ? FLOWTAP_OVERWRITE : 0,
	};
	size_t at = 8 * (n * 13 + 5), end;

	if (n >= 10 || room < sizeof(ring) + ring.data_size)
		return 0;
	end = at + ring.data_size - 16 * n;
	ring.data_tail = ring.data_oldest = at;
	memset(buffer + sizeof(ring), 0, ring.data_size);
	while (at < end) {
		struct flowtap_record record = { (uint32_t)n, 0, (uint16_t)(8 + 8 * (at / 8 % 7)) };

		if (record.size > end - at)
			record.size = (uint16_t)(end - at);
		memcpy(buffer + sizeof(ring) + at % ring.data_size, &record, sizeof(record));
		at += record.size;
	}
	ring.data_head = end;
	memcpy(buffer, &ring, sizeof(ring));
	return sizeof(ring) + ring.data_size;
}
