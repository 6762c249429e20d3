/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Archives made by hand: a process that goes around two instructions, recorded of an ETE or of CTR.
 */
#ifndef FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_RECORDING_H
#define FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_RECORDING_H

#include <flowtap/archive.h>
#include <linux/flowtap.h>
#include <string.h>

#include "unit/pipeline/trace_session_fixture.h"

#define PID 100
#define DIRECT_JUMP 11		/* ctrdata.TYPE */
#define SECOND 1000000000ULL

/* c.nop; c.j -2 */
static const uint16_t __attribute__((unused)) around[] = { 0x0001, 0xbffd };

static inline void put_block(struct flowtap_archive_writer *writer, uint32_t type, const void *bytes,
			     size_t size)
{
	if (flowtap_archive_write(writer, type, 0, SECOND, bytes, size, NULL, 0))
		abort();
}

/* What CPU 0 is, and that it was recorded. */
static inline void put_cpu(struct flowtap_archive_writer *writer, uint32_t source)
{
	struct flowtap_query query = { .abi = FLOWTAP_ABI, .cpus = 1, .source = source };
	struct flowtap_configure configure = { .source = source, .modes = FLOWTAP_MODE_USER };

	if (source == FLOWTAP_SOURCE_ETE) {
		query.ete.trcidr[0] = config.idr0;
		query.ete.trcidr[2] = config.idr2;
		query.ete.trcdevarch = config.devarch;
		query.ete.counter_frequency = SECOND;
	}
	put_block(writer, FLOWTAP_ARCHIVE_QUERY, &query, sizeof(query));
	put_block(writer, FLOWTAP_ARCHIVE_CONFIGURE, &configure, sizeof(configure));
}

/* Code that is mapped at CODE in PID. */
static inline void put_code(struct flowtap_archive_writer *writer, const void *code, size_t size)
{
	struct {
		struct flowtap_archive_mapping mapping;
		char path[8];		/* and what pads it */
		uint8_t code[32];
	} whole = {
		.mapping = {
			.start = CODE, .size = size, .pid = PID, .tid = PID, .executable = 1,
			.path_size = 4,
		},
		.path = "made",
	};

	memcpy(whole.code, code, size);
	put_block(writer, FLOWTAP_ARCHIVE_BYTES, &whole,
		  sizeof(whole.mapping) + sizeof(whole.path) + size);
}

static inline void put_aux(struct flowtap_archive_writer *writer, const struct stream *stream)
{
	struct flowtap_record_aux record = {
		.header = { FLOWTAP_RECORD_AUX, 0, sizeof(record) },
		.time = 2 * SECOND, .counter = 2 * SECOND, .since = SECOND, .size = stream->size,
		.pid = PID, .tid = PID, .sequence = 1, .loss = 1U << FLOWTAP_CAUSE_START,
	};
	uint8_t bytes[8 + sizeof(stream->bytes)] = { 0 };

	memcpy(bytes + 8, stream->bytes, stream->size);
	put_block(writer, FLOWTAP_ARCHIVE_AUX, bytes, 8 + stream->size);
	put_block(writer, FLOWTAP_ARCHIVE_RING, &record, sizeof(record));
}

/* One that has been around once more than `times`. */
static inline void put_sample(struct flowtap_archive_writer *writer, unsigned int times)
{
	struct {
		struct flowtap_record_sample head;
		struct flowtap_entry entries[16];
	} sample = {
		.head = {
			.header = { .type = FLOWTAP_RECORD_SAMPLE }, .time = 2 * SECOND,
			.sequence = 1, .control = 0x101, .pid = PID, .tid = PID,
			.trigger = FLOWTAP_TRIGGER_OVERFLOW, .depth = 16, .nr = times + 1,
			.loss = 1U << FLOWTAP_CAUSE_START,
		},
	};

	for (unsigned int i = 0; i <= times; i++)
		sample.entries[i] = (struct flowtap_entry){ (CODE + 2) | 1, CODE, DIRECT_JUMP };
	sample.head.header.size = sizeof(sample.head) + (times + 1) * sizeof(sample.entries[0]);
	put_block(writer, FLOWTAP_ARCHIVE_RING, &sample, sample.head.header.size);
}

#endif /* FLOWTAP_SELFTESTS_UNIT_PIPELINE_MADE_RECORDING_H */
