/* SPDX-License-Identifier: GPL-2.0-only */
/* AUX records and their bytes, made by hand, and the flow that comes of them. */
#ifndef FLOWTAP_SELFTESTS_UNIT_ETE_AUX_FIXTURE_H
#define FLOWTAP_SELFTESTS_UNIT_ETE_AUX_FIXTURE_H

#include <errno.h>
#include <fcntl.h>
#include <flowtap/arm.h>
#include <flowtap/aux.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/crafted.h"
#include "support/flow_lines.h"
#include "support/kselftest_harness.h"

#define CODE 0x400000ULL
#define KERNEL 0xffff800080010000ULL
#define MS 1000000ULL
#define SECOND 1000000000ULL
#define PID 0x64
#define AREA 65536

/* TRCCONFIGR. */
#define TS (1U << 11)
#define RS (1U << 12)

static const uint32_t __attribute__((unused)) two[] = { 0xd503201f, 0x17ffffff };	/* nop; b -4 */
static const uint32_t __attribute__((unused)) three[] = { 0xd503201f, 0xd503201f, 0x17fffffe };	/* nop; nop; b -8 */
static const uint32_t __attribute__((unused)) wfi[] = { 0xd503207f, 0x17ffffff };	/* wfi; b -4 */

FIXTURE(aux)
{
	struct flowtap_address_map *map;
	struct flowtap_blocks *blocks;
	struct flowtap_aux *aux;
	uint8_t area[2][AREA];
	uint64_t head[2];	/* bytes in each area */
	uint64_t hole[2][2];	/* offsets [0], [1]) that are not there */
	uint64_t clock;		/* when the next record begins */
	uint64_t sequence;
	uint64_t reached;	/* what options.time told last */
	int error;		/* what read returns */
	struct flow out;
	struct flowtap_record_aux last;
	struct flowtap_query query;
	struct flowtap_configure configure;
};

static inline long read_area(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size)
{
	FIXTURE_DATA(aux) *self = argument;
	const uint64_t *hole = self->hole[cpu];
	uint64_t end = offset < hole[0] ? hole[0] : self->head[cpu];

	if (self->error)
		return self->error;
	if (hole[0] == hole[1])
		end = self->head[cpu];
	else if (offset >= hole[0] && offset < hole[1])
		return 0;
	if (offset >= end)
		return 0;
	size = size < end - offset ? size : end - offset;
	memcpy(buffer, self->area[cpu] + offset, size);
	return (long)size;
}

static inline uint64_t next_area(void *argument, uint32_t cpu, uint64_t offset)
{
	FIXTURE_DATA(aux) *self = argument;

	if (offset >= self->hole[cpu][0] && offset < self->hole[cpu][1])
		offset = self->hole[cpu][1];
	return offset < self->head[cpu] ? offset : UINT64_MAX;
}

static inline void reached(void *argument, uint64_t time)
{
	FIXTURE_DATA(aux) *self = argument;

	self->reached = time;
}

static inline void describe(FIXTURE_DATA(aux) *self, uint32_t cpu)
{
	if (flowtap_aux_query(self->aux, cpu, &self->query, sizeof(self->query)) ||
	    flowtap_aux_configure(self->aux, cpu, &self->configure, sizeof(self->configure)))
		abort();
}

static inline void map_code(FIXTURE_DATA(aux) *self, uint64_t time, uint64_t address, const void *code,
		     size_t size, const char *path)
{
	const struct flowtap_mapping mapping = {
		.time = time, .start = address, .size = size, .pid = PID, .executable = true,
		.path = path,
	};

	if (flowtap_address_map_add_bytes(self->map, &mapping, code))
		abort();
}

static inline void map_kernel(FIXTURE_DATA(aux) *self)
{
	const struct flowtap_kernel_text text = {
		.time = 1, .until = 2, .start = KERNEL, .size = sizeof(two),
		.part_size = sizeof(two), .name = "kernel",
	};
	struct flowtap_kernel_text later = text;

	later.time = 1000 * SECOND;
	later.until = later.time + 1;
	later.part_size = 0;
	if (flowtap_address_map_add_kernel(self->map, &text, two) ||
	    flowtap_address_map_add_kernel(self->map, &later, NULL))
		abort();
}

static inline void make(FIXTURE_DATA(aux) *self, bool next)
{
	const struct flowtap_aux_options options = {
		.map = self->map,
		.blocks = self->blocks,
		.sink = flowtap_text_sink(self->out.text),
		.read = read_area,
		.next = next ? next_area : NULL,
		.time = reached,
		.argument = self,
	};

	flowtap_aux_free(self->aux);
	if (flowtap_aux_new(&options, &self->aux))
		abort();
}

FIXTURE_SETUP(aux)
{
	self->map = flowtap_address_map_new(NULL);
	self->blocks = flowtap_blocks_new(flowtap_arm_block, 1 << 20);
	if (!self->map || !self->blocks)
		abort();
	flow_open(&self->out, self->blocks);
	self->query = (struct flowtap_query){
		.source = FLOWTAP_SOURCE_ETE,
		.ete = {
			.trcidr = { [0] = 0x28000ea1, [1] = 0x4100fff3, [2] = 0x10001088 },
			.trcdevarch = 0x47735a13,
			.counter_frequency = SECOND,
			.exception_level = 1,
		},
	};
	self->configure = (struct flowtap_configure){
		.source = FLOWTAP_SOURCE_ETE,
		.modes = FLOWTAP_MODE_USER,
		.ete = { .config = TS },
	};
	make(self, true);
	describe(self, 0);
	describe(self, 1);
	map_code(self, 0, CODE, two, sizeof(two), "two");
	self->clock = 10 * SECOND;
}

FIXTURE_TEARDOWN(aux)
{
	flowtap_aux_free(self->aux);
	flow_close(&self->out);
	flowtap_blocks_free(self->blocks);
	flowtap_address_map_free(self->map);
}

/* The flow since it was asked last. */
static inline const char *flow(FIXTURE_DATA(aux) *self)
{
	return flow_lines(&self->out);
}

static inline int decode(FIXTURE_DATA(aux) *self, uint32_t cpu, const void *record, size_t size)
{
	void *copy = malloc(size);		/* of exactly that size, aligned */
	int result;

	memcpy(copy, record, size);
	result = flowtap_aux_decode(self->aux, cpu, copy, size);
	free(copy);
	return result;
}

/* The next record of a task: half a second of these bytes; the sequence goes on. */
static inline struct flowtap_record_aux *next(FIXTURE_DATA(aux) *self, uint32_t cpu, uint32_t tid,
				       const struct stream *stream)
{
	struct flowtap_record_aux *record = &self->last;

	*record = (struct flowtap_record_aux){
		.header = { .type = FLOWTAP_RECORD_AUX, .size = sizeof(*record) },
		.since = self->clock,
		.time = self->clock + SECOND / 2,
		.counter = self->clock + SECOND / 2,
		.offset = self->head[cpu],
		.size = stream->size,
		.pid = PID,
		.tid = tid,
		.cpu = cpu,
		.sequence = ++self->sequence,
	};
	memcpy(self->area[cpu] + self->head[cpu], stream->bytes, stream->size);
	self->head[cpu] += stream->size;
	self->clock += SECOND;
	return record;
}

static inline int put(FIXTURE_DATA(aux) *self, const struct flowtap_record_aux *record)
{
	return decode(self, record->cpu, record, record->header.size);
}

/* A loss before the record: its causes, and a number left out. */
static inline struct flowtap_record_aux *lost(FIXTURE_DATA(aux) *self, struct flowtap_record_aux *record,
				       uint32_t loss)
{
	record->loss = loss;
	record->sequence++;
	self->sequence++;
	return record;
}

static inline int gap(FIXTURE_DATA(aux) *self, uint32_t cpu, uint32_t tid, uint32_t cause)
{
	struct flowtap_record_gap record = {
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(record) },
		.since = self->clock,
		.time = self->clock + SECOND / 2,
		.size = FLOWTAP_UNKNOWN,
		.pid = PID,
		.tid = tid,
		.cpu = cpu,
		.cause = cause,
	};

	self->clock += SECOND;
	return decode(self, cpu, &record, sizeof(record));
}

static inline int lost_records(FIXTURE_DATA(aux) *self, uint32_t cpu, uint64_t n)
{
	struct flowtap_record_lost record = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(record) },
		.since = self->clock,
		.time = self->clock + SECOND / 4,
		.records = n,
		.bytes = 80 * n,
	};

	return decode(self, cpu, &record, sizeof(record));
}

/* From CODE on, so many times round. */
static inline struct stream rounds(const char *which)
{
	struct stream stream = { .size = 0 };

	start(&stream);
	at(&stream, CODE, 0, 0, 0, 0);
	atoms(&stream, which);
	return stream;
}

/* A task has begun: its first record is out of the way. */
static inline void begin(FIXTURE_DATA(aux) *self, uint32_t cpu, uint32_t tid)
{
	struct stream stream = rounds("E");
	struct flowtap_record_aux *record = next(self, cpu, tid, &stream);

	record->loss = 1U << FLOWTAP_CAUSE_START;
	if (put(self, record))
		abort();
	flow(self);
}

#define EXPECT_FLOW(text) EXPECT_STREQ(text, flow(self))
#define USER "context A64 EL0 nonsecure 64 pid=100 tid=100 cpu=0\n"
#define ROUND "range 400000 400008 2 A64 E\n"

#endif /* FLOWTAP_SELFTESTS_UNIT_ETE_AUX_FIXTURE_H */
