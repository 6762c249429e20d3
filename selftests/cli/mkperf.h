/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the programs that make perf.data files have in common: the tasks of the machine, what its two
 * CPUs executed, and how that is collected. mkperf.c has the programs that run, and makes their files.
 */
#ifndef FLOWTAP_SELFTESTS_CLI_MKPERF_H
#define FLOWTAP_SELFTESTS_CLI_MKPERF_H

#include <string.h>
#include <sys/mman.h>

#include "support/crafted.h"
#include "support/perffile_board.h"
#include "support/tinyelf.h"

#define NONE UINT32_MAX
#define RAW 0x100ULL
#define TRUNCATED 0x01ULL
#define PARTIAL 0x04ULL
#define COLLISION 0x08ULL
#define AT 0x400000ULL			/* where programs are mapped */
#define TEXT_SIZE 0x1000ULL

#define CONFIGR_TS (1 << 11)
#define CONFIGR_CID (1 << 6)
#define CONFIGR_VMID (1 << 7 | 1 << 15)

/* --- Tasks. --- */

static inline void map(struct perffile *file, uint32_t pid, uint64_t address, uint8_t seed,
		       const char *path)
{
	uint8_t id[20];

	tiny_build_id(id, seed);
	perffile_mmap2(file, pid, pid, address, TEXT_SIZE, TINY_CODE_OFFSET, PROT_READ | PROT_EXEC,
		       id, path);
}

/* Two processes at the same addresses, one of which executes another program. */
static inline void tasks(struct perffile *file)
{
	file->time = 0;
	file->pid = file->tid = 0;
	file->cpu = 0;
	perffile_comm(file, 100, 100, false, "one");
	map(file, 100, AT, 1, "/bin/one");
	perffile_comm(file, 200, 200, false, "two");
	/* A thread of it. */
	perffile_task(file, PERF_RECORD_FORK, PERF_RECORD_MISC_FORK_EXEC, 200, 200, 201, 200);
	map(file, 200, AT, 2, "/bin/two");
	file->time = 3000;
	perffile_comm(file, 200, 200, true, "three");
	map(file, 200, AT, 3, "/bin/three");
}

/* --- What was executed. --- */

/* Program one from its begin, twice around: 12 instructions, then the third call. */
static inline void run_one(struct stream *stream)
{
	for (int i = 0; i < 2; i++) {
		atoms(stream, "EE");
		to(stream, AT + 0x08);
		atoms(stream, "E");
	}
	atoms(stream, "E");
}

/* What CPU 0 did: three regions, the second with a lost end. `what` says where tids are. */
static inline void record(struct stream *stream, uint8_t what)
{
	memset(stream, 0, 3 * sizeof(*stream));
	start(&stream[0]);
	timestamp(&stream[0], 1000);
	at(&stream[0], AT, 0, what, 100, 100);
	run_one(&stream[0]);
	timestamp(&stream[0], 2000);
	trace_on(&stream[0]);
	/* Says that it was before the exec. */
	timestamp(&stream[0], 2100);
	at(&stream[0], AT, 0, what, 201, 201);
	atoms(&stream[0], "EEENE");
	timestamp(&stream[0], 3500);
	trace_on(&stream[0]);
	at(&stream[0], AT, 0, what, 200, 200);
	atoms(&stream[0], "EEE");

	start(&stream[1]);
	timestamp(&stream[1], 6000);
	at(&stream[1], AT, 0, what, 100, 100);
	atoms(&stream[1], "EE");
	/* The end of this packet is lost. */
	byte(&stream[1], 0x9a);
	byte(&stream[1], 0x02);

	start(&stream[2]);
	timestamp(&stream[2], 9500);
	at(&stream[2], AT + 0x10, 0, what, 201, 201);
	atoms(&stream[2], "EE");
}

/* The first of these regions, and what CPU 1 did meanwhile. */
static inline void record_both(struct stream source[2])
{
	struct stream stream[3];

	record(stream, CONTEXTID);
	source[0] = stream[0];
	source[1] = (struct stream){ .size = 0 };
	start(&source[1]);
	timestamp(&source[1], 1500);
	at(&source[1], AT + 0x10, 0, CONTEXTID, 0, 200);
	atoms(&source[1], "EEN");
}

/* A thread from where its program is mapped on. ticks: a timestamp before it, 0: none. */
static inline void run(struct stream *stream, uint64_t ticks, uint32_t tid, const char *executed)
{
	start(stream);
	if (ticks)
		timestamp(stream, ticks);
	at(stream, AT, 0, CONTEXTID, 0, tid);
	atoms(stream, executed);
}

/* --- How it is collected. --- */

/* A CPU's trace unit. */
static inline struct perffile_unit ete_unit(uint32_t cpu, uint32_t configr, uint32_t traceidr)
{
	return (struct perffile_unit) {
		.magic = PERFFILE_ETE,
		.cpu = cpu,
		.configr = configr | 1,
		.traceidr = traceidr,
		.idr0 = 0x28000ea1,
		.idr1 = 0x4100fff3,
		.idr2 = 0x20001088,
		.authstatus = 0xcc,
		.devarch = 0x47705a13,
		.ts_source = 1,
	};
}

/* AUX record and the bytes it is of, after those that came before; padded, as perf does. */
static inline void collect(struct perffile *file, uint64_t *offset, uint32_t cpu, uint64_t time,
			   const struct stream *stream, uint64_t flags)
{
	uint8_t padded[4096] = { 0 };

	memcpy(padded, stream->bytes, stream->size);
	file->cpu = cpu;
	file->time = time;
	perffile_aux(file, *offset, stream->size, flags);
	perffile_auxtrace(file, *offset, cpu, NONE, cpu, padded, (stream->size + 7) & ~7UL);
	*offset += stream->size;
}

/*
 * ROOT/NAME: two CPUs into one ETR, in frames. Their trace IDs are those of the metadata, from its
 * version 2 on those of HW_ID records; both are set here.
 */
static inline void write_etr(const char *root, const char *name, int version,
			     const struct perffile_unit *units, const struct stream source[2])
{
	struct perffile_unit cpus[2] = { units[0], units[1] };
	uint8_t ids[2] = { version > 1 ? 0x31 : 0x10, version > 1 ? 0x2f : 0x12 };
	struct stream framed = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	cpus[0].traceidr = version > 1 ? 0x80000010 : ids[0];
	cpus[1].traceidr = version > 1 ? 0x80000012 : ids[1];
	perffile_board(&file, version, 2, cpus);
	tasks(&file);
	for (uint32_t cpu = 0; cpu < 2 && version > 1; cpu++) {
		file.cpu = cpu;
		perffile_values(&file, 21, 0, 1, (uint64_t[]) { ids[cpu] });
	}
	framed.size = frames(framed.bytes, (struct source[]) {
		{ source[0].bytes, source[0].size, ids[0], 0 },
		{ source[1].bytes, source[1].size, ids[1], 0 },
	}, 2);
	collect(&file, &offset, 0, 5000, &framed, 0);
	perffile_board_write(&file, root, name);
}

#endif /* FLOWTAP_SELFTESTS_CLI_MKPERF_H */
