// SPDX-License-Identifier: GPL-2.0-only
/*
 * AUX records, what they name and what describes their CPUs, changed: the decoder survives, reads
 * nothing beyond them, ends in a time that goes with their size, and what it says makes an STF.
 *
 * Input: 8 bytes of options, struct flowtap_query, struct flowtap_configure, 4 bytes: how many
 * bytes of the areas (the same for both CPUs) follow; then them, then records, of CPU 0 and 1 by
 * their type's bit 31.
 */
#include <errno.h>
#include <flowtap/arm.h>
#include <flowtap/aux.h>
#include <flowtap/stf.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "support/crafted.h"

#define CODE 0x400000ULL
#define KERNEL 0xffff800080010000ULL
#define SECOND 1000000000ULL
#define SEEDS 8
#define PID 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n);

struct head {
	uint8_t options[8];
	struct flowtap_query query;
	struct flowtap_configure configure;
	uint32_t area;
};

struct input {
	const uint8_t *area;
	size_t size;
	uint64_t hole[2];
};

static struct flowtap_address_map *map;

/* Code that is there all the time, code that changes, another program, and a kernel. */
static void make_map(void)
{
	static const uint32_t two[] = { 0xd503201f, 0x17ffffff }, three[] = { 0xd503201f, 0xd503201f,
									     0x17fffffe };
	struct flowtap_mapping mapping = {
		.start = CODE, .size = sizeof(two), .pid = PID, .executable = true, .path = "two",
	};
	const struct flowtap_kernel_text text = {
		.time = 1, .until = 2, .start = KERNEL, .size = sizeof(two),
		.part_size = sizeof(two), .name = "kernel",
	};

	map = flowtap_address_map_new("/none");
	if (!map || flowtap_address_map_add_bytes(map, &mapping, two) ||
	    flowtap_address_map_add_kernel(map, &text, two))
		abort();
	mapping.time = 12 * SECOND;
	mapping.size = sizeof(three);
	mapping.path = "three";
	if (flowtap_address_map_add_bytes(map, &mapping, three) ||
	    flowtap_address_map_exec(map, PID, 15 * SECOND))
		abort();
	mapping.time = 15 * SECOND + 1;
	if (flowtap_address_map_add_bytes(map, &mapping, three))
		abort();
}

static long read_area(void *argument, uint32_t cpu, uint64_t offset, void *buffer, size_t size)
{
	const struct input *input = argument;
	uint64_t end = offset < input->hole[0] ? input->hole[0] : input->size;

	(void)cpu;
	if (end > input->size)
		end = input->size;
	if (offset >= end || (offset >= input->hole[0] && offset < input->hole[1]))
		return 0;
	size = size < end - offset ? size : end - offset;
	memcpy(buffer, input->area + offset, size);
	return (long)size;
}

static uint64_t next_area(void *argument, uint32_t cpu, uint64_t offset)
{
	const struct input *input = argument;

	(void)cpu;
	if (offset >= input->hole[0] && offset < input->hole[1])
		offset = input->hole[1];
	return offset < input->size ? offset : UINT64_MAX;
}

static int describe(struct flowtap_aux *aux, const struct head *head)
{
	int err = 0;

	for (uint32_t cpu = 0; cpu < 2 && err != -ENOMEM; cpu++) {
		err = flowtap_aux_query(aux, cpu, &head->query, sizeof(head->query));
		if (err != -ENOMEM)
			err = flowtap_aux_configure(aux, cpu, &head->configure,
						    sizeof(head->configure));
	}
	return err == -ENOMEM ? err : 0;
}

static int decode(struct flowtap_aux *aux, const uint8_t *data, size_t size)
{
	struct flowtap_record header;
	int err = 0;

	for (size_t at = 0, n; at + sizeof(header) <= size && !err; at += n) {
		struct flowtap_record *copy;
		uint32_t cpu;

		memcpy(&header, data + at, sizeof(header));
		cpu = header.type >> 31;
		header.type &= 0x7fffffff;
		n = header.size < sizeof(header) ? sizeof(header) : header.size;
		if (n > size - at)
			n = size - at;
		/* Of exactly that size: what is read beyond is found. */
		copy = malloc(n);
		if (!copy)
			abort();
		memcpy(copy, data + at, n);
		copy->type = header.type;
		err = flowtap_aux_decode(aux, cpu, copy, n);
		free(copy);
	}
	return err ? err : flowtap_aux_finish(aux);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct flowtap_ete_options ete = { .transaction_capacity = 256 };
	struct flowtap_aux_options options = { .read = read_area, .ete = &ete };
	struct flowtap_stf_options wish = { .comment = "" };
	struct flowtap_stf *stf;
	struct flowtap_aux *aux;
	struct input input;
	struct head head;
	int fd, err;

	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	data += sizeof(head);
	size -= sizeof(head);
	input.area = data;
	input.size = head.area < size ? head.area : size;
	input.hole[0] = head.options[1] * 4;
	input.hole[1] = input.hole[0] + head.options[2];
	if (!map)
		make_map();
	fd = memfd_create("stf", MFD_CLOEXEC);
	options.map = map;
	options.argument = &input;
	options.next = head.options[0] & 1 ? next_area : NULL;
	options.blocks = flowtap_blocks_new(head.options[0] & 2 ? flowtap_arm_block_wfx :
								  flowtap_arm_block, 1 << 16);
	wish.blocks = options.blocks;
	if (fd < 0 || !options.blocks || flowtap_stf_new(fd, &wish, &stf))
		abort();
	options.sink = flowtap_stf_sink(stf);
	if (flowtap_aux_new(&options, &aux))
		abort();
	err = describe(aux, &head);
	if (!err)
		err = decode(aux, data + input.size, size - input.size);
	if (err && err != -EOPNOTSUPP && err != -EINVAL)
		abort();
	if (!err && flowtap_stf_finish(stf) && flowtap_aux_counts(aux)->ete.instructions)
		abort();
	flowtap_aux_free(aux);
	flowtap_stf_free(stf);
	flowtap_blocks_free(options.blocks);
	close(fd);
	return 0;
}

/* --- Seeds. --- */

static size_t put(uint8_t *to, const void *record, size_t size)
{
	memcpy(to, record, size);
	return size;
}

static struct stream make_stream(unsigned int n)
{
	struct stream stream = { .size = 0 };

	start(&stream);
	at(&stream, n & 1 ? KERNEL : CODE, n & 1, 0, 0, 0);
	atoms(&stream, "EEE");
	timestamp(&stream, 11 * SECOND + n * SECOND);
	trace_on(&stream);
	at(&stream, CODE, 0, 0, 0, 0);
	atoms(&stream, "EE");
	return stream;
}

static size_t put_records(uint8_t *to, const struct stream *stream, unsigned int n)
{
	const struct flowtap_record_gap gap = {
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(gap) },
		.since = 12 * SECOND, .time = 13 * SECOND, .size = FLOWTAP_UNKNOWN, .pid = PID,
		.tid = PID, .cause = n & 2 ? FLOWTAP_CAUSE_HARDWARE : FLOWTAP_CAUSE_RING_FULL,
	};
	const struct flowtap_record_lost lost = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(lost) },
		.since = 12 * SECOND, .time = 13 * SECOND, .records = 2,
	};
	const struct flowtap_record_clock clock = {
		.header = { .type = FLOWTAP_RECORD_CLOCK, .size = sizeof(clock) },
		.time = 10 * SECOND, .counter = 10 * SECOND,
	};
	struct flowtap_record_aux record = {
		.header = { .type = FLOWTAP_RECORD_AUX, .size = sizeof(record),
			    .misc = n & 4 ? FLOWTAP_MISC_CPU_WIDE : 0 },
		.since = 11 * SECOND, .time = 12 * SECOND, .counter = 12 * SECOND,
		.size = stream->size / 2, .flags = n & 2 ? FLOWTAP_AUX_TRUNCATED : 0,
		.pid = PID, .tid = PID, .sequence = 2, .loss = 1U << FLOWTAP_CAUSE_START,
	};
	size_t used = put(to, &clock, sizeof(clock));

	used += put(to + used, &record, sizeof(record));
	if (n & 2)
		used += put(to + used, &lost, sizeof(lost));
	if (n & 3)
		used += put(to + used, &gap, sizeof(gap));
	record.offset = record.size;
	record.size = stream->size - record.offset;
	record.since += 2 * SECOND;
	record.time += 3 * SECOND;
	record.loss = n & 3 ? 1U << gap.cause : 0;
	record.sequence += record.loss ? 2 : 1;
	record.flags = n & 3 ? FLOWTAP_AUX_OVERWRITE : FLOWTAP_AUX_CONTINUES;
	used += put(to + used, &record, sizeof(record));
	record.header.type |= 1U << 31;
	record.cpu = 1;
	record.offset = 0;
	record.size = stream->size;
	record.since += 3 * SECOND;
	record.time += 3 * SECOND;
	record.sequence++;
	record.loss = 0;
	record.flags = 0;
	return used + put(to + used, &record, sizeof(record));
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	const struct stream stream = make_stream(n);
	const struct head head = {
		.options = { n, n & 4 ? 8 : 255, n },
		.query = {
			.source = FLOWTAP_SOURCE_ETE,
			.ete = {
				.trcidr = { 0x28000ea1, 0x4100fff3, 0x10001088 },
				.trcdevarch = 0x47735a13,
				.counter_frequency = SECOND,
				.exception_level = 1,
			},
		},
		.configure = {
			.source = FLOWTAP_SOURCE_ETE,
			.flags = n & 4 ? FLOWTAP_OVERWRITE : 0,
			.modes = FLOWTAP_MODE_USER | (n & 1 ? FLOWTAP_MODE_KERNEL : 0),
			.ete = { .config = 1U << 11 },
		},
		.area = (uint32_t)stream.size,
	};
	size_t used;

	if (n >= SEEDS || capacity < sizeof(head) + stream.size + 1024)
		return 0;
	used = put(buffer, &head, sizeof(head));
	used += put(buffer + used, stream.bytes, stream.size);
	return used + put_records(buffer + used, &stream, n);
}
