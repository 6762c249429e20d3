// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast STF is read into the flow: a random walk over blocks of 11 instructions on average, most
 * of them ending with a conditional branch, in CPU time, the best of several rounds. For comparison
 * a loop that looks at each record and only follows the PC, and zstd's own decompression.
 */
#include "bench.h"

#include <flowtap/block.h>
#include <flowtap/learned.h>
#include <flowtap/riscv.h>
#include <flowtap/stf.h>
#include <flowtap/text.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define STEPS	(4U << 20)
#define ROUNDS	5
#define BLOCK	32U		/* bytes of code from one block's begin to the next one's */

static void fail(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(1);
}

/* bne x10, x11 by so many bytes. */
static uint32_t branch(int32_t offset)
{
	uint32_t o = (uint32_t)offset;

	return (o >> 12 & 1) << 31 | (o >> 5 & 0x3f) << 25 | 11 << 20 | 10 << 15 | 1 << 12 |
	       (o >> 1 & 0xf) << 8 | (o >> 11 & 1) << 7 | 0x63;
}

/*
 * n blocks, of which every fourth ends with a return, and the others with a branch to a near one.
 */
static uint8_t *make_code(uint32_t n)
{
	uint8_t *code = malloc((size_t)n * BLOCK);

	if (!code)
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		uint8_t *at = code + (size_t)i * BLOCK, *last = at + BLOCK - 4;
		bool returns = below(4) == 0 || i + 1 == n;
		int32_t to = (int32_t)(i / 100 * 100 + below(100 < n - i / 100 * 100 ?
							     100 : n - i / 100 * 100));
		uint32_t opcode;

		for (; at < last; at += 4) {
			opcode = 0x00500513;
			memcpy(at, &opcode, 4);
			if (below(2) && at + 4 <= last) {
				opcode = 0x45854585;
				memcpy(at, &opcode, 4);
			}
		}
		opcode = returns ? 0x8067 : branch((to - (int32_t)i) * (int32_t)BLOCK -
						   (int32_t)(BLOCK - 4));
		memcpy(last, &opcode, 4);
	}
	return code;
}

/* The trace of a walk, into a file. Returns its instructions. */
static uint64_t write_trace(int fd, uint32_t n, const struct flowtap_zstf_options *zstf)
{
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = zstf };
	struct flowtap_blocks *blocks = flowtap_blocks_new(flowtap_riscv_block, 0);
	uint8_t *bytes = make_code(n);
	struct flowtap_code code = { .start = 0x10000, .end = 0x10000 + (uint64_t)n * BLOCK,
				     .bytes = bytes };
	uint64_t address = code.start, instructions;
	struct flowtap_stf *stf;
	int error = flowtap_stf_new(fd, &options, &stf);

	for (uint32_t i = 0; i < STEPS && !error; i++) {
		struct flowtap_block *block;
		bool taken;

		error = flowtap_blocks_get(blocks, &code, FLOWTAP_ISA_RV64, address, 0, &block);
		if (error)
			break;
		taken = !block->conditional || below(2);
		address = block->address + block->size;
		if (taken)
			address = block->direct ? block->target :
						  code.start + (uint64_t)below(n) * BLOCK;
		error = flowtap_stf_sink(stf)->block(flowtap_stf_sink(stf), block, taken, address);
	}
	error = error ? error : flowtap_stf_finish(stf);
	if (error)
		fail("writing the trace", error);
	instructions = flowtap_stf_counts(stf)->instructions;
	flowtap_stf_free(stf);
	flowtap_blocks_free(blocks);
	free(bytes);
	return instructions;
}

static double report(const char *what, double seconds, uint64_t instructions, uint64_t bytes)
{
	double speed = instructions / seconds * 1e-6;

	printf("%-58s %7.1f M instructions/s %7.0f MB/s\n", what, speed, bytes / seconds * 1e-6);
	return speed;
}

static void tell_problem(struct flowtap_read *read, uint64_t offset, uint64_t line,
			 const char *reason)
{
	(void)line;
	fprintf(stderr, "offset %llu: %s\n", (unsigned long long)offset, reason);
	if (read->problems > 3)
		exit(1);
}

/* again: it is written again, to nowhere. */
static double measure(const char *what, int fd, uint64_t instructions, bool again)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	double best = 1e9, begin;
	struct stat stat;

	fstat(fd, &stat);
	for (int round = 0; round < ROUNDS; round++) {
		struct flowtap_read read = { .problem = tell_problem };
		int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), error = 0;
		struct flowtap_stf *stf = NULL;

		lseek(fd, 0, SEEK_SET);
		begin = cpu_seconds();
		read.learned = flowtap_learned_new(0);
		if (again)
			error = flowtap_stf_new(nowhere, &options, &stf);
		if (again && !error)
			read.sink = flowtap_stf_sink(stf);
		error = error ? error : flowtap_stf_read(&read, fd);
		if (stf && !error)
			error = flowtap_stf_finish(stf);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
		if (error || read.problems || read.instructions != instructions)
			fail("reading the trace", error ? error : -EBADMSG);
		flowtap_stf_free(stf);
		flowtap_learned_free(read.learned);
		close(nowhere);
	}
	return report(what, best, instructions, (uint64_t)stat.st_size);
}

/* What a reader does that looks at each record. */
static uint64_t follow(const uint8_t *at, size_t size, uint64_t *sum)
{
	static const uint8_t sizes[256] = {
		[0x01] = 4, [0x02] = 9, [0x04] = 3, [0x05] = 3, [0x07] = 9, [0x08] = 13,
		[0x09] = 9, [0x13] = 1, [0x1f] = 9, [0x64] = 18, [0xf0] = 5, [0xf1] = 3,
	};
	const uint8_t *end = at + size;
	uint64_t pc = 0, target = 0, instructions = 0;
	uint32_t length;

	for (; at < end; at += size) {
		size = sizes[*at];
		if (*at == 0x03 || *at == 0x06) {
			memcpy(&length, at + (*at == 0x03 ? 1 : 5), 4);
			size = *at == 0x03 ? 5 + length : 7 + (length & 0xffff);
		} else if (*at == 0x09) {
			memcpy(&pc, at + 1, 8);
		} else if (*at == 0x1f) {
			memcpy(&target, at + 1, 8);
		} else if (*at >= 0xf0) {
			*sum += pc;
			pc = target ? target : pc + size - 1;
			target = 0;
			instructions++;
		}
	}
	return instructions;
}

static double measure_each(int fd, uint64_t instructions)
{
	double best = 1e9, begin;
	struct stat stat;
	uint8_t *bytes;
	uint64_t sum = 0, n = 0;

	fstat(fd, &stat);
	bytes = malloc((size_t)stat.st_size);
	for (int round = 0; round < ROUNDS; round++) {
		begin = cpu_seconds();
		if (pread(fd, bytes, (size_t)stat.st_size, 0) != stat.st_size)
			exit(1);
		n = follow(bytes, (size_t)stat.st_size, &sum);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
	}
	free(bytes);
	if (n != instructions || !sum)
		fail("following each record", -EBADMSG);
	return report("  each record by itself, following the PC only", best, instructions,
		      (uint64_t)stat.st_size);
}

/* zstd alone on the same bytes, in one piece. */
static double measure_zstd(int plain, uint64_t instructions)
{
	double best = 1e9, begin;
	struct stat stat;
	uint8_t *bytes, *packed;
	size_t size, capacity;

	fstat(plain, &stat);
	capacity = ZSTD_compressBound((size_t)stat.st_size);
	bytes = malloc((size_t)stat.st_size);
	packed = malloc(capacity);
	if (pread(plain, bytes, (size_t)stat.st_size, 0) != stat.st_size)
		exit(1);
	size = ZSTD_compress(packed, capacity, bytes, (size_t)stat.st_size, 3);
	for (int round = 0; round < ROUNDS; round++) {
		begin = cpu_seconds();
		if (ZSTD_isError(ZSTD_decompress(bytes, (size_t)stat.st_size, packed, size)))
			exit(1);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
	}
	free(bytes);
	free(packed);
	return report("  zstd alone, decompressing these records", best, instructions, size);
}

static int temporary(void)
{
	char path[] = "/tmp/flowtap-bench-XXXXXX";
	int fd = mkstemp(path);

	if (fd < 0)
		exit(1);
	unlink(path);
	return fd;
}

static void run(uint32_t n)
{
	const struct flowtap_zstf_options zstf = { .level = 3 };
	int plain = temporary(), packed = temporary();
	uint64_t seed = state, instructions = write_trace(plain, n, NULL);
	double fast, each, unpacked, alone;

	state = seed;
	write_trace(packed, n, &zstf);
	printf("%u blocks, %.1f instructions each\n", n, (double)instructions / STEPS);
	fast = measure("STF into the flow", plain, instructions, false);
	each = measure_each(plain, instructions);
	measure("STF into the flow and into STF again", plain, instructions, true);
	unpacked = measure(".zstf into the flow", packed, instructions, false);
	alone = measure_zstd(plain, instructions);
	printf("  %.2f times the loop over each record; .zstf at %.2f of zstd alone\n", fast / each,
	       unpacked / alone);
	close(plain);
	close(packed);
}

int main(void)
{
	run(500);
	run(20000);
	return 0;
}
