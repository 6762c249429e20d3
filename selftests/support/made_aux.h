/* SPDX-License-Identifier: GPL-2.0-only */
/* Rings with an AUX area as the kernel would make them, and what is to come out of an archive. */
#ifndef FLOWTAP_SELFTESTS_SUPPORT_MADE_AUX_H
#define FLOWTAP_SELFTESTS_SUPPORT_MADE_AUX_H

#include <flowtap/archive.h>
#include <stdlib.h>

#include "support/made_ring.h"

#define AUX_PAD 0x70
#define PIECES_MAX 65536

/* A made ring with an area, and what its records say. */
struct made_aux {
	struct made made;
	uint8_t *area;
	size_t size;
	uint32_t cpu;
	uint64_t records;		/* AUX records so far */
	uint64_t most;			/* bytes of a record */
	uint64_t count;			/* what aux_producer shall add */
};

static inline bool make_aux(struct made_aux *aux, size_t ring, size_t size)
{
	memset(aux, 0, sizeof(*aux));
	aux->area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (!make(&aux->made, ring) || aux->area == MAP_FAILED)
		return false;
	aux->size = size;
	aux->most = size / 16;
	aux->made.reader.aux = aux->area;
	aux->made.reader.aux_size = size;
	return true;
}

static inline void unmake_aux(struct made_aux *aux)
{
	if (!aux->area)
		return;
	munmap(aux->area, aux->size);
	unmake(&aux->made);
	aux->area = NULL;
}

/* The byte that is counted `at`. */
static inline uint8_t aux_byte(uint64_t at)
{
	return (uint8_t)(at * 0x9e3779b97f4a7c15ULL >> 56);
}

/* Bytes [at, at + size), or pads. */
static inline void aux_fill(struct made_aux *aux, uint64_t at, uint64_t size, bool pad)
{
	for (uint64_t i = at; i < at + size; i++)
		aux->area[i & (aux->size - 1)] = pad ? AUX_PAD : aux_byte(i);
}

/* A record of the ring, whatever it says. */
static inline void aux_put(struct made_aux *aux, const void *record, size_t size)
{
	uint64_t head = aux->made.ring->data_head;

	put(&aux->made, head, record, size);
	__atomic_store_n(&aux->made.ring->data_head, head + size, __ATOMIC_RELEASE);
}

/* Bytes after a pad, and their record. */
static inline void aux_add(struct made_aux *aux, uint64_t pad, uint64_t size)
{
	struct flowtap_ring *ring = aux->made.ring;
	uint64_t head = ring->aux_head;
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
		.time = 1000 + aux->records,
		.offset = head + pad,
		.size = size,
		.cpu = aux->cpu,
		.since = 999 + aux->records,
		.sequence = 1 + aux->records,
		.tid = 1 + aux->cpu,
	};

	aux_fill(aux, head, pad, true);
	aux_fill(aux, head + pad, size, false);
	__atomic_store_n(&ring->aux_head, head + pad + size, __ATOMIC_RELEASE);
	aux_put(aux, &record, sizeof(record));
	aux->records++;
}

static inline uint64_t aux_mix(uint64_t n)
{
	n = (n + 1) * 0x9e3779b97f4a7c15ULL;
	return n ^ n >> 29;
}

/* The next record's size, and the pad before it: a region does not go round the area's end. */
static inline uint64_t aux_next(const struct made_aux *aux, uint64_t *pad)
{
	uint64_t n = aux_mix(aux->records), head = aux->made.ring->aux_head, size, left;

	/* Little most of the time. */
	size = 1 + (n >> 8) % (n % 4 ? 300 : aux->most);
	*pad = n % 3 ? 0 : (n >> 40) % 2100;
	left = aux->size - ((head + *pad) & (aux->size - 1));
	if (size > left)
		*pad += left;
	return size;
}

/* Whether the reader has left so much room; the clock and the record need 24 + 80 bytes. */
static inline bool aux_fits(const struct made_aux *aux, uint64_t bytes)
{
	const struct flowtap_ring *ring = aux->made.ring;
	uint64_t data_tail = __atomic_load_n(&ring->data_tail, __ATOMIC_ACQUIRE);
	uint64_t aux_tail = __atomic_load_n(&ring->aux_tail, __ATOMIC_ACQUIRE);

	return ring->data_head + 104 - data_tail <= aux->made.size &&
	       ring->aux_head + bytes - aux_tail <= aux->size;
}

/* Adds records as there is room, and wakes the reader as the kernel does. False: it was stopped. */
static inline bool aux_produce(struct made_aux *aux, uint64_t count)
{
	struct flowtap_record_clock clock = { { FLOWTAP_RECORD_CLOCK, 0, sizeof(clock) }, 0, 0 };
	struct made *made = &aux->made;
	uint64_t told = made->ring->aux_head, told_data = made->ring->data_head;

	while (count--) {
		uint64_t pad, size = aux_next(aux, &pad);

		while (!aux_fits(aux, pad + size)) {
			if (told != made->ring->aux_head || told_data != made->ring->data_head)
				kick(made);
			told = made->ring->aux_head;
			told_data = made->ring->data_head;
			if (__atomic_load_n(&made->stop, __ATOMIC_RELAXED))
				return false;
			sched_yield();
		}
		if (aux->records % 5 == 0)
			aux_put(aux, &clock, sizeof(clock));
		aux_add(aux, pad, size);
		if (made->ring->aux_head - told >= aux->size / 4) {
			kick(made);
			told = made->ring->aux_head;
		}
	}
	return true;
}

static inline void *aux_producer(void *argument)
{
	struct made_aux *aux = argument;

	aux_produce(aux, aux->count);
	kick(&aux->made);
	return NULL;
}

/* What an archive holds of one stream. */
struct aux_content {
	uint64_t records;		/* AUX, each the one after its predecessor but for `skipped` */
	uint64_t skipped;
	uint64_t bytes;			/* that they name */
	uint64_t missing;		/* of them */
	uint64_t wrong;			/* of them, another than should be there */
	uint64_t pads;			/* in blocks, and named by no record */
	unsigned int rings;		/* blocks */
	unsigned int blocks;		/* of AUX */
	uint64_t sequence;
	size_t n;
	struct {
		uint64_t offset;
		uint64_t size;
		uint8_t *bytes;
	} pieces[PIECES_MAX];
};

static inline void aux_keep(struct aux_content *content, const struct flowtap_archive_block *block)
{
	uint64_t size = block->size - 8;

	content->blocks++;
	if (content->n == PIECES_MAX || block->size < 8)
		abort();
	memcpy(&content->pieces[content->n].offset, block->payload, 8);
	content->pieces[content->n].size = size;
	content->pieces[content->n].bytes = malloc(size + 1);
	memcpy(content->pieces[content->n].bytes, (const uint8_t *)block->payload + 8, size);
	content->pads += size;
	content->n++;
}

/* The kept byte, or NULL. */
static inline const uint8_t *aux_kept(const struct aux_content *content, uint64_t at)
{
	static size_t last;

	for (size_t tries = 0; tries < content->n; tries++) {
		size_t i = (last + tries) % content->n;

		if (at - content->pieces[i].offset >= content->pieces[i].size)
			continue;
		last = i;
		return content->pieces[i].bytes + (at - content->pieces[i].offset);
	}
	return NULL;
}

static inline void aux_judge(struct aux_content *content, const struct flowtap_record_aux *record)
{
	content->skipped += record->sequence - content->sequence - 1;
	content->sequence = record->sequence;
	content->records++;
	content->bytes += record->size;
	content->pads -= record->size;
	for (uint64_t at = record->offset; at < record->offset + record->size; at++) {
		const uint8_t *byte = aux_kept(content, at);

		content->missing += !byte;
		content->wrong += byte && *byte != aux_byte(at);
	}
}

static inline void aux_see(struct aux_content *content, const struct flowtap_archive_block *block)
{
	const struct flowtap_record *record;

	content->rings++;
	for (size_t at = 0; !flowtap_record_at(block->payload, block->size, at, &record);
	     at += record->size)
		if (record->type == FLOWTAP_RECORD_AUX)
			aux_judge(content, (const void *)record);
}

#endif /* FLOWTAP_SELFTESTS_SUPPORT_MADE_AUX_H */
