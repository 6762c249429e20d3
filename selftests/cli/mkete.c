// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes what the tests of the command read of ETE: DIR/ete.ftap, a recording of two processes on
 * two CPUs, and DIR/root/bin/made, the program that they ran:
 *
 *	0x400000 mov w0, #3	0x400008 subs w0, w0, #1	0x400014 add x1, x1, #1
 *	0x400004 bl 0x400014	0x40000c b.ne 0x400004		0x400018 ret
 *
 * Each record is 12 instructions: twice around, and the third call. Thread 100 has one on CPU 0 and
 * one on CPU 1, thread 101 of the same process one on CPU 1. Process 200 has on CPU 0 one whose end
 * the hardware lost, one after that, and one that continues it with one branch more (5
 * instructions). CPU 1's ring was too small for 3 records at the end. MORE further records of 300
 * follow each other on CPU 1.
 *
 * usage: mkete DIR [MORE [mixed | wfx]]
 *	mixed	a CPU was recorded by CTR as well
 *	wfx	on CPU 1 WFE and WFI are P0 instructions, on CPU 0 they are not
 */
#include <linux/flowtap.h>
#include <stddef.h>
#include <string.h>

#include "support/crafted.h"
#include "support/made_archive.h"

#define AT 0x400000ULL
#define TS (1U << 11)

static struct flowtap_stats stats[2];
static uint64_t heads[2];
static uint64_t sequences[400];		/* by tid */

static void make_program(const char *dir)
{
	static uint8_t bytes[TINY_ROOM];
	size_t n = tiny_make(bytes, 1);
	uint16_t machine = EM_AARCH64;

	memcpy(bytes + offsetof(Elf64_Ehdr, e_machine), &machine, sizeof(machine));
	memset(bytes + TINY_CODE_OFFSET, 0, TINY_CODE_SIZE);
	memcpy(bytes + TINY_CODE_OFFSET, crafted_program,
	       sizeof(crafted_program));
	save_program(dir, bytes, n);
}

static void put_cpu(uint32_t cpu, uint32_t source, bool wfx)
{
	struct flowtap_query query = {
		.cpu = cpu,
		.abi = FLOWTAP_ABI,
		.cpus = 2,
		.source = source,
		.modes = FLOWTAP_MODE_USER | FLOWTAP_MODE_KERNEL,
		.ete = {
			.trcidr = { 0x28000ea1, 0x4100fff3, 0x10001088 | (uint32_t)wfx << 31, 0x0f7b0004 },
			.trcdevarch = 0x47735a13,
			.trbidr = 0x26,
			.counter_frequency = SECOND,
			.settable = 0x1818,
			.address_ranges = 4,
			.exception_level = 1,
		},
	};
	struct flowtap_configure configure = {
		.source = source,
		.cpu = cpu,
		.modes = FLOWTAP_MODE_USER,
		.ring_pages = 16,
		.aux_pages = 64,
		.ete = {
			.config = TS,
			.sync_period = 12,
			.address_start = { 0x1000 },
			.address_end = { 0xffffff },
			.address_ranges = 1,
			.strobe_on_ns = 1000000,
			.strobe_off_ns = 9000000,
		},
	};

	if (source != FLOWTAP_SOURCE_ETE) {
		configure.aux_pages = 0;
		memset(&configure.ete, 0, sizeof(configure.ete));
	}
	block(FLOWTAP_ARCHIVE_QUERY, cpu, &query, sizeof(query));
	block(FLOWTAP_ARCHIVE_CONFIGURE, cpu, &configure, sizeof(configure));
}

static void put_process(uint32_t pid, const char *comm)
{
	put_task(pid, comm);
	put_mapping(pid, AT);
}

static void put_record(uint32_t cpu, const void *record, size_t size)
{
	stats[cpu].records++;
	stats[cpu].bytes += size;
	block(FLOWTAP_ARCHIVE_RING, cpu, record, size);
}

/* Bytes of the area, then the record that names them: half a second from `since` on. */
static void put_aux(uint32_t cpu, uint32_t pid, uint32_t tid, uint64_t since,
		    const struct stream *stream, uint32_t loss, uint32_t flags)
{
	struct flowtap_record_aux record = {
		.header = { .type = FLOWTAP_RECORD_AUX, .size = sizeof(record) },
		.time = since + SECOND / 2,
		.counter = since + SECOND / 2,
		.offset = heads[cpu],
		.size = stream->size,
		.flags = flags,
		.pid = pid,
		.tid = tid,
		.cpu = cpu,
		.since = since,
		.sequence = sequences[tid] += loss ? 2 : 1,
		.loss = loss,
	};
	uint8_t bytes[8 + sizeof(stream->bytes)];

	memcpy(bytes, &heads[cpu], 8);
	memcpy(bytes + 8, stream->bytes, stream->size);
	block(FLOWTAP_ARCHIVE_AUX, cpu, bytes, 8 + stream->size);
	heads[cpu] += stream->size;
	stats[cpu].samples++;
	stats[cpu].aux_bytes += stream->size;
	put_record(cpu, &record, sizeof(record));
}

static struct stream run(void)
{
	struct stream stream = { .size = 0 };

	start(&stream);
	at(&stream, AT, 0, 0, 0, 0);
	for (int i = 0; i < 2; i++) {
		atoms(&stream, "EE");
		to(&stream, AT + 0x08);
		atoms(&stream, "E");
	}
	atoms(&stream, "E");
	return stream;
}

static void put_records(void)
{
	const uint32_t begin = 1U << FLOWTAP_CAUSE_START, hardware = 1U << FLOWTAP_CAUSE_HARDWARE;
	const struct flowtap_record_clock clock = {
		.header = { .type = FLOWTAP_RECORD_CLOCK, .size = sizeof(clock) },
		.time = SECOND,
		.counter = SECOND,
	};
	const struct flowtap_record_itrace_start itrace = {
		.header = { .type = FLOWTAP_RECORD_ITRACE_START, .size = sizeof(itrace) },
		.time = SECOND, .pid = 100, .tid = 100,
	};
	const struct flowtap_record_gap gap = {
		.header = { .type = FLOWTAP_RECORD_GAP, .size = sizeof(gap) },
		.since = 3 * SECOND,
		.time = 4 * SECOND,
		.size = FLOWTAP_UNKNOWN,
		.pid = 200,
		.tid = 200,
		.cause = FLOWTAP_CAUSE_HARDWARE,
	};
	const struct flowtap_record_lost lost = {
		.header = { .type = FLOWTAP_RECORD_LOST, .size = sizeof(lost) },
		.since = 6 * SECOND,
		.time = 7 * SECOND,
		.records = 3,
		.bytes = 240,
		.total_records = 3,
		.total_bytes = 240,
	};
	struct stream whole = run(), cut = run(), more = { .size = 0 };

	byte(&cut, 0x85);
	to(&more, AT + 0x14);
	atoms(&more, "E");
	to(&more, AT + 0x08);
	atoms(&more, "EE");
	put_record(0, &clock, sizeof(clock));
	put_record(0, &itrace, sizeof(itrace));
	put_aux(0, 100, 100, SECOND, &whole, begin, 0);
	put_aux(1, 100, 101, SECOND + SECOND / 4, &whole, begin, 0);
	put_aux(1, 100, 100, 2 * SECOND, &whole, 0, 0);
	put_aux(0, 200, 200, 3 * SECOND, &cut, begin, FLOWTAP_AUX_TRUNCATED);
	put_record(0, &gap, sizeof(gap));
	put_aux(0, 200, 200, 4 * SECOND, &whole, hardware, 0);
	put_aux(0, 200, 200, 5 * SECOND, &more, 0, FLOWTAP_AUX_CONTINUES);
	put_record(1, &lost, sizeof(lost));
	stats[1].lost_records = lost.records;
	stats[1].lost_bytes = lost.bytes;
}

int main(int argc, char **argv)
{
	static const char info[] =
		"flowtap=0.1\nhost=maker\nkernel=6.12-made\narch=aarch64\ncommand=made twice\n";
	struct stream whole = run();
	const char *kind = argc > 3 ? argv[3] : "";
	int fd;

	if (argc < 2) {
		fprintf(stderr, "usage: mkete DIR [MORE [mixed | wfx]]\n");
		return 2;
	}
	make_program(argv[1]);
	fd = open_archive(argv[1], "ete.ftap");
	block(FLOWTAP_ARCHIVE_INFO, 0, info, sizeof(info) - 1);
	put_cpu(0, FLOWTAP_SOURCE_ETE, false);
	put_cpu(1, FLOWTAP_SOURCE_ETE, !strcmp(kind, "wfx"));
	if (!strcmp(kind, "mixed"))
		put_cpu(2, FLOWTAP_SOURCE_CTR, false);
	put_process(100, "made");
	put_process(200, "other");
	put_process(300, "more");
	put_records();
	for (int i = 0, n = argc > 2 ? atoi(argv[2]) : 0; i < n; i++)
		put_aux(1, 300, 300, (8 + i) * SECOND, &whole, i ? 0 : 1U << FLOWTAP_CAUSE_START, 0);
	for (uint32_t cpu = 0; cpu < 2; cpu++)
		block(FLOWTAP_ARCHIVE_STATS, cpu, &stats[cpu], sizeof(stats[cpu]));
	close_archive(fd);
	return 0;
}
