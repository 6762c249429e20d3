// SPDX-License-Identifier: GPL-2.0-only
/*
 * Makes perf.data files in which something is missing: bytes, records, or what a trace unit is. The
 * programs are those of mkperf.c, in whose directory these are made.
 *
 * usage: mkperf_losses DIR
 */
#include <stdio.h>

#include "cli/mkperf.h"

/* The second of three regions has no AUX record. */
static void make_unnamed(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream[3];
	struct perffile file;
	uint64_t offset = 0;

	record(stream, CONTEXTID);
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &stream[0], RAW);
	perffile_auxtrace(&file, offset, 0, NONE, 0, stream[1].bytes, (stream[1].size + 7) & ~7UL);
	offset += stream[1].size;
	collect(&file, &offset, 0, 10000, &stream[2], RAW);
	perffile_board_write(&file, root, "unnamed.data");
}

/* Two CPUs, of the second of which nothing is known; or only that. */
static void make_unknown(const char *root, const char *name, uint32_t first)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct perffile file;

	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	for (uint32_t i = first; i < 2; i++) {
		struct stream stream = { 0 };
		uint64_t offset = 0;

		run(&stream, 1000, 200, "EE");
		collect(&file, &offset, i, 1100 + i, &stream, RAW);
	}
	perffile_board_write(&file, root, name);
}

/* AUX records that tell of losses: without bytes, and of a frame in which no unit has any. */
static void make_losses(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	const struct stream none = { 0 }, frame = { .size = 16 };
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1000, 200, "EE");
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 1100, &stream, RAW);
	collect(&file, &offset, 0, 1200, &none, RAW | COLLISION);
	collect(&file, &offset, 0, 1300, &none, RAW | PARTIAL);
	collect(&file, &offset, 0, 1400, &frame, COLLISION | PARTIAL);
	perffile_board_write(&file, root, "losses.data");
}

/*
 * Two CPUs. Of the first the kernel says, without RAW, that its buffer ended for good; of the
 * second nothing is lost. Or nothing but losses is there of the first.
 */
static void make_of_one(const char *root, const char *name, bool has_trace, uint64_t flags)
{
	struct perffile_unit cpus[2] = {
		ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10),
		ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0x12),
	};
	uint64_t offset[2] = { 0, 0 };
	struct perffile file;

	perffile_board(&file, 2, 2, cpus);
	tasks(&file);
	for (uint32_t i = !has_trace; i < 2; i++) {
		struct stream stream = { 0 };

		run(&stream, 1000, 200, "EE");
		collect(&file, &offset[i], i, 1100 + i, &stream, RAW);
	}
	file.cpu = 0;
	file.time = 1200;
	perffile_aux(&file, offset[0], has_trace ? 0 : 1000, flags);
	perffile_board_write(&file, root, name);
}

/* All AUX records of the first CPU are lost. */
static void make_unsaid(const char *root)
{
	struct perffile_unit cpus[2] = {
		ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10),
		ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0x12),
	};
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1000, 200, "EE");
	perffile_board(&file, 2, 2, cpus);
	tasks(&file);
	collect(&file, &offset, 1, 1100, &stream, RAW);
	perffile_auxtrace(&file, 0, 0, NONE, 0, stream.bytes, 40);
	perffile_board_write(&file, root, "unsaid.data");
}

/* As perf reads a buffer: in pieces. Nothing is known of its CPU. */
static void make_pieces(const char *root)
{
	struct perffile_unit cpu = ete_unit(1, CONFIGR_CID | CONFIGR_TS, 0x12);
	static const uint8_t bytes[1000];
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1000, 200, "EE");
	perffile_board(&file, 2, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 1, 1100, &stream, RAW);
	file.cpu = 0;
	file.time = 1200;
	perffile_aux(&file, 0, 3 * sizeof(bytes), RAW | TRUNCATED);
	for (unsigned int i = 0; i < 3; i++)
		perffile_auxtrace(&file, i * sizeof(bytes), 0, NONE, 0, bytes, sizeof(bytes));
	perffile_board_write(&file, root, "pieces.data");
}

/* An ETR that wrapped: a barrier, the rest of what was written over, then what can be decoded. */
static void make_barrier(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 }, framed = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	to(&stream, AT + 0x08);
	atoms(&stream, "EEEE");
	run(&stream, 1000, 200, "EE");
	for (int i = 0; i < 4; i++)
		bytes_of(&framed, 0x7fffffff, 4);
	framed.size += frames(framed.bytes + 16, &(struct source) {
		stream.bytes, stream.size, 0x10, 0,
	}, 1);
	perffile_board(&file, 1, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &framed, TRUNCATED);
	perffile_board_write(&file, root, "barrier.data");
}

/* As make_switched, but that the record of what perf ran was lost: program two was exec's second. */
static void make_lost(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 600, 200, "EEENE");
	perffile_board(&file, 2, 1, &cpu);
	perffile_on_exec(&file);
	file.time = 400;
	perffile_values(&file, PERF_RECORD_LOST, 0, 2, (uint64_t[]) { 100, 1 });
	file.time = 500;
	map(&file, 200, AT, 2, "/bin/two");
	file.time = 3000;
	perffile_comm(&file, 200, 200, true, "three");
	map(&file, 200, AT, 3, "/bin/three");
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "lost.data");
}

/* The second file of perf record --switch-output: what perf ran began in the first one. */
static void make_switched(const char *root)
{
	struct perffile_unit cpu = ete_unit(0, CONFIGR_CID | CONFIGR_TS, 0x10);
	struct stream stream = { 0 };
	struct perffile file;
	uint64_t offset = 0;

	run(&stream, 1500, 200, "EEENE");
	timestamp(&stream, 2000);
	perffile_board(&file, 2, 1, &cpu);
	perffile_on_exec(&file);
	tasks(&file);
	file.time = 1000;
	perffile_aux(&file, offset, 0, RAW);
	collect(&file, &offset, 0, 5000, &stream, RAW);
	perffile_board_write(&file, root, "switched.data");
}

/* A board of before ETMv4. */
static void make_etmv3(const char *root)
{
	struct perffile_unit cpu = { .magic = 0x3030303030303030ULL };
	struct stream stream = { .size = 16 };
	struct perffile file;
	uint64_t offset = 0;

	perffile_board(&file, 1, 1, &cpu);
	tasks(&file);
	collect(&file, &offset, 0, 5000, &stream, 0);
	perffile_board_write(&file, root, "etmv3.data");
}

int main(int argc, char **argv)
{
	const char *root = argv[1];

	if (argc != 2) {
		fprintf(stderr, "usage: mkperf_losses DIR\n");
		return 2;
	}
	make_etmv3(root);
	make_unnamed(root);
	make_barrier(root);
	make_switched(root);
	make_unknown(root, "unknown.data", 0);
	make_unknown(root, "nobodys.data", 1);
	make_losses(root);
	make_lost(root);
	make_of_one(root, "ended.data", true, TRUNCATED);
	make_of_one(root, "gone.data", false, RAW);
	make_pieces(root);
	make_unsaid(root);
	return 0;
}
