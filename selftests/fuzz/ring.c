// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes at all can be read as a ring: control page, positions, records; and be drained, with an
 * AUX area of which nothing is read but what is in it.
 */
#include <flowtap/archive.h>
#include <flowtap/drain.h>
#include <flowtap/ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

static uint64_t touched;

static void walk(const struct flowtap_buffer part[2])
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
	struct flowtap_buffer part[2] = { 0 };
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

static void take(struct flowtap_reader *reader)
{
	struct flowtap_buffer part[2] = { 0 };
	uint64_t head;

	if (flowtap_reader_peek(reader, part, &head))
		return;
	walk(part);
	flowtap_reader_advance(reader, head);
	if (flowtap_reader_peek(reader, part, &head) || part[0].size || part[1].size)
		abort();
}

/* So that counts and places agree modulo 256. */
#define AUX_MIN 256U
#define AUX_MAX 65536U

/* An archive without damage; the bytes of AUX blocks are those that are counted so. */
static void judge(int fd)
{
	struct flowtap_archive_reader *reader;
	struct flowtap_archive_block block;
	uint64_t offset;
	int got;

	lseek(fd, 0, SEEK_SET);
	if (flowtap_archive_open(fd, &reader))
		abort();
	while ((got = flowtap_archive_next(reader, &block))) {
		if (got < 0)
			abort();
		if (block.type != FLOWTAP_ARCHIVE_AUX)
			continue;
		if (block.size <= sizeof(offset))
			abort();
		memcpy(&offset, block.payload, sizeof(offset));
		for (size_t i = sizeof(offset); i < block.size; i++)
			if (((const uint8_t *)block.payload)[i] !=
			    (uint8_t)(offset + i - sizeof(offset)))
				abort();
	}
	flowtap_archive_reader_free(reader);
}

static void drain_into(struct flowtap_reader *reader, int fd)
{
	const struct flowtap_drain_options options = { FLOWTAP_DRAIN_POLL, 1 };
	uint64_t tail = reader->ring->aux_tail, moved, dropped;
	struct flowtap_archive_writer *writer;
	struct flowtap_drain *drain;
	int number;

	if (flowtap_archive_create(fd, &writer) || flowtap_drain_open(&options, writer, &drain))
		abort();
	number = flowtap_drain_add(drain, fd, reader, 0);
	if (number < 0)
		abort();
	if (reader->overwrite)
		flowtap_drain_snapshot(drain, number, &moved, &dropped);
	else if (flowtap_drain_collect(drain, &moved))
		abort();
	if (flowtap_drain_flush(drain))
		abort();
	if (reader->aux && reader->ring->aux_tail - tail > reader->aux_size)
		abort();
	/* What it is told when it looks again is no other. */
	flowtap_drain_wait(drain, 0);
	flowtap_drain_close(drain);
	if (flowtap_archive_flush(writer))
		abort();
	flowtap_archive_writer_free(writer);
}

/* Of a size that the ring says, as far as there is room. */
static void drain_all(struct flowtap_reader *reader)
{
	uint64_t size = reader->ring->aux_size;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);
	uint8_t *aux = NULL;

	if (fd < 0)
		abort();
	if (size >= AUX_MIN && size <= AUX_MAX && !(size & (size - 1))) {
		aux = malloc(size);
		for (uint64_t i = 0; i < size; i++)
			aux[i] = (uint8_t)i;
		reader->aux = aux;
		reader->aux_size = size;
	}
	drain_into(reader, fd);
	judge(fd);
	close(fd);
	free(aux);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *ring = aligned_alloc(64, (size + 64) & ~63UL);
	struct flowtap_reader reader;

	if (!ring)
		abort();
	memcpy(ring, data, size);
	if (flowtap_reader_attach(&reader, ring, size)) {
		free(ring);
		return 0;
	}
	if (reader.overwrite)
		copy(&reader);
	else
		take(&reader);
	memcpy(ring, data, size);
	drain_all(&reader);
	free(ring);
	return 0;
}

/* Records of bytes that follow each other, after those of the seeds without. */
static size_t aux_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.flags = n % 2 ? FLOWTAP_OVERWRITE : 0,
		.data_offset = sizeof(ring),
		.data_size = 1024,
		.aux_size = 256U << n / 2,
	};
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
	};

	if (capacity < sizeof(ring) + ring.data_size)
		return 0;
	memset(buffer + sizeof(ring), 0, ring.data_size);
	ring.aux_tail = ring.aux_head = 40 * n;
	for (unsigned int i = 0; i < 12; i++) {
		record.offset = ring.aux_head + i % 3 * n;
		record.size = n + 5 * i;
		ring.aux_head = record.offset + record.size;
		memcpy(buffer + sizeof(ring) + ring.data_head, &record, sizeof(record));
		ring.data_head += sizeof(record);
	}
	memcpy(buffer, &ring, sizeof(ring));
	return sizeof(ring) + ring.data_size;
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	struct flowtap_ring ring = {
		.abi = FLOWTAP_ABI,
		.data_offset = sizeof(ring),
		.data_size = 256U << n / 2,
		.flags = n % 2 ? FLOWTAP_OVERWRITE : 0,
	};
	size_t at = 8 * (n * 13 + 5), end;

	if (n >= 10)
		return n < 20 ? aux_seed(buffer, capacity, n - 10) : 0;
	if (capacity < sizeof(ring) + ring.data_size)
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
