// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the flow becomes STF and text: a walk over cached blocks of 6 instructions on average,
 * in CPU time, the best of several rounds. Every second block is taken, to any other, which is
 * harder than code: that goes the same ways again (HABIT), and its .zstf is smaller by far. Arm's
 * code is A64 in blocks of 5. For comparison the same records one by one through stdio, and zstd
 * alone on the same bytes. Of .zstf the thread that writes and the one that compresses are told
 * apart, too.
 */
#include "bench.h"

#include <flowtap/arm.h>
#include <flowtap/block.h>
#include <flowtap/riscv.h>
#include <flowtap/stf.h>
#include <flowtap/text.h>
#include <flowtap/zstf.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define STEPS	(1U << 20)
#define ROUNDS	7
#define REPEAT	4		/* of the walk in a round */
#define HABIT	32		/* of so many times that a block is left, one is not the usual way */

struct step {
	uint32_t block;
	bool taken;
};

struct walk {
	struct bench_block *blocks;
	uint8_t *code;
	uint32_t n;
	struct step *steps;
	uint64_t instructions;	/* of all steps */
	uint32_t gap_every;	/* steps, 0 none: as if each sample lost something */
};

/* One block after the other: 1 to 11 instructions, half of them of 2 bytes, then jalr or c.jr. */
static void make_block(struct walk *walk, uint32_t i, uint64_t address, uint8_t *code)
{
	struct flowtap_block *block = &walk->blocks[i].block;
	uint32_t n = 1 + below(11), at = 0;

	for (uint32_t k = 0; k < n; k++) {
		bool wide = below(2);
		uint32_t opcode = k + 1 < n ? wide ? 0x00500513 : 0x4585 : wide ? 0x8067 : 0x8082;

		block->last = at;
		memcpy(code + at, &opcode, wide ? 4 : 2);
		at += wide ? 4 : 2;
	}
	block->address = address;
	block->bytes = code;
	block->size = at;
	block->instructions = n;
	block->end = FLOWTAP_TRANSFER_INDIRECT_JUMP;
}

/* add x0, x0, x1, and ret at the end. */
static void make_arm_block(struct walk *walk, uint32_t i, uint64_t address, uint8_t *code)
{
	struct flowtap_block *block = &walk->blocks[i].block;

	for (uint32_t k = 0; k < 5; k++) {
		uint32_t opcode = k < 4 ? 0x8b010000 : 0xd65f03c0;

		memcpy(code + 4 * k, &opcode, 4);
	}
	*block = (struct flowtap_block){
		.address = address, .bytes = code, .size = 20, .last = 16, .instructions = 5,
		.isa = FLOWTAP_ISA_A64, .end = FLOWTAP_ARM_RETURN,
	};
}

/* Where it goes from block `at`, the last one of all always to another. */
static uint32_t step(const struct walk *walk, uint32_t at, bool *taken)
{
	*taken = below(2) || at + 1 == walk->n;
	return *taken ? below(walk->n) : at + 1;
}

/* Without a gap nearly always to the same ones; usual: of each block where it goes, 0 not known. */
static uint32_t habitual_step(const struct walk *walk, uint32_t *usual, uint32_t at, bool *taken)
{
	uint32_t next;

	if (!below(HABIT))
		return step(walk, at, taken);
	if (!usual[at])
		usual[at] = 1 + step(walk, at, taken);
	next = usual[at] - 1;
	*taken = next != at + 1;
	return next;
}

static struct walk make_walk(uint32_t n, uint32_t gap_every, enum flowtap_isa isa, bool habits)
{
	struct walk walk = { .n = n, .gap_every = gap_every };
	uint32_t *usual = calloc(n, sizeof(*usual)), at = 0;
	uint8_t *code;

	walk.blocks = bench_blocks_new(n);
	walk.code = code = malloc(48UL * n);
	walk.steps = calloc(STEPS, sizeof(*walk.steps));
	if (!walk.blocks || !code || !walk.steps || !usual)
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		if (isa == FLOWTAP_ISA_A64)
			make_arm_block(&walk, i, 0x10000 + (code - walk.code), code);
		else
			make_block(&walk, i, 0x10000 + (code - walk.code), code);
		code += walk.blocks[i].block.size;
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		walk.steps[i].block = at;
		walk.instructions += walk.blocks[at].block.instructions;
		at = habits ? habitual_step(&walk, usual, at, &walk.steps[i].taken) :
			      step(&walk, at, &walk.steps[i].taken);
	}
	free(usual);
	walk.steps[STEPS - 1].taken = true;
	return walk;
}

static void free_walk(struct walk *walk)
{
	bench_blocks_free(walk->blocks, walk->n);
	free(walk->code);
	free(walk->steps);
}

static int feed(const struct walk *walk, struct flowtap_sink *sink)
{
	const struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP,
		.gap = { .reason = FLOWTAP_GAP_WRAPPED, .since = 1000000, .until = 2000000,
			 .size = UINT64_MAX },
	};
	uint32_t left = walk->gap_every;
	int error = 0;

	for (uint32_t i = 0; i < STEPS && !error; i++) {
		const struct flowtap_block *block = &walk->blocks[walk->steps[i].block].block;
		const struct step *next = &walk->steps[(i + 1) % STEPS];

		error = sink->block(sink, block, walk->steps[i].taken,
				    walk->blocks[next->block].block.address);
		if (left && !--left) {
			left = walk->gap_every;
			error = sink->element(sink, &gap);
		}
	}
	return error;
}

static double report(const char *what, double seconds, uint64_t instructions, uint64_t bytes)
{
	printf("%-58s %7.1f M instructions/s %7.0f MB/s %5.2f bytes each\n", what,
	       instructions / seconds * 1e-6, bytes / seconds * 1e-6,
	       (double)bytes / instructions);
	return instructions / seconds * 1e-6;
}

static double measure(const char *what, struct walk *walk, const char *path, bool text_sink)
{
	const struct flowtap_stf_options options = { .generator = 0xff };
	double best = 1e9, begin;
	uint64_t bytes = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), error;
		struct flowtap_text *text = NULL;
		struct flowtap_stf *stf = NULL;

		error = text_sink ? flowtap_text_new(fd, NULL, &text) :
				    flowtap_stf_new(fd, &options, &stf);
		begin = cpu_seconds();
		for (int i = 0; i < REPEAT && !error; i++)
			error = feed(walk, text ? flowtap_text_sink(text) : flowtap_stf_sink(stf));
		if (!error)
			error = text ? flowtap_text_finish(text) : flowtap_stf_finish(stf);
		begin = cpu_seconds() - begin;
		if (error) {
			fprintf(stderr, "%s: %s\n", path, strerror(-error));
			exit(1);
		}
		best = begin < best ? begin : best;
		bytes = stf ? flowtap_stf_counts(stf)->bytes : (uint64_t)lseek(fd, 0, SEEK_CUR);
		flowtap_stf_free(stf);
		flowtap_text_free(text);
		close(fd);
	}
	return report(what, best, REPEAT * walk->instructions, bytes);
}

/* Both threads, by CPU time of each; and the size against that of the plain trace. */
static double measure_packed(const char *what, struct walk *walk, const char *path, int level)
{
	const struct flowtap_zstf_options zstf = { .level = level };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	double best = 1e9, best_own = 1e9, speed;
	uint64_t bytes = 0, instructions = REPEAT * walk->instructions;
	off_t size = 0;

	for (int round = 0; round < 3; round++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		double begin = cpu_seconds(), own = thread_seconds();
		struct flowtap_stf *stf = NULL;
		int error = flowtap_stf_new(fd, &options, &stf);

		for (int i = 0; i < REPEAT && !error; i++)
			error = feed(walk, flowtap_stf_sink(stf));
		if (!error)
			error = flowtap_stf_finish(stf);
		own = thread_seconds() - own;
		begin = cpu_seconds() - begin;
		if (error) {
			fprintf(stderr, "%s: %s\n", path, strerror(-error));
			exit(1);
		}
		best = begin < best ? begin : best;
		best_own = own < best_own ? own : best_own;
		bytes = flowtap_stf_counts(stf)->bytes;
		size = lseek(fd, 0, SEEK_END);
		flowtap_stf_free(stf);
		close(fd);
	}
	speed = report(what, best, instructions, (uint64_t)size);
	printf("  of that the writing thread %.1f, the compressing one %.1f M instructions/s; "
	       "%.1f times smaller\n", instructions / best_own * 1e-6,
	       instructions / (best - best_own) * 1e-6, (double)bytes / size);
	return speed;
}

/* zstd by itself on the bytes of the file, which is the plain trace of this walk. */
static double measure_zstd(const char *what, const struct walk *walk, const char *path, int level)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t size = (size_t)lseek(fd, 0, SEEK_END), capacity = ZSTD_compressBound(size),
	       packed = 0;
	uint8_t *from = malloc(size), *to = malloc(capacity);
	double best = 1e9, begin;

	if (!from || !to || pread(fd, from, size, 0) != (ssize_t)size)
		exit(1);
	for (int round = 0; round < 3; round++) {
		begin = cpu_seconds();
		packed = ZSTD_compress(to, capacity, from, size, level);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
	}
	if (ZSTD_isError(packed))
		exit(1);
	free(from);
	free(to);
	close(fd);
	return report(what, best, REPEAT * walk->instructions, packed);
}

/* What a writer does that looks at each instruction. */
static uint64_t put_plainly(const struct walk *walk, FILE *file)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < STEPS; i++) {
		const struct flowtap_block *block = &walk->blocks[walk->steps[i].block].block;
		uint64_t target = walk->blocks[walk->steps[(i + 1) % STEPS].block].block.address;

		for (uint32_t at = 0, size; at < block->size; at += size) {
			size = (block->bytes[at] & 3) == 3 ? 4 : 2;
			if (at == block->last && walk->steps[i].taken) {
				putc_unlocked(0x1f, file);
				fwrite_unlocked(&target, 1, 8, file);
				bytes += 9;
			}
			putc_unlocked(size == 4 ? 0xf0 : 0xf1, file);
			fwrite_unlocked(block->bytes + at, 1, size, file);
			bytes += 1 + size;
		}
	}
	return bytes;
}

static double measure_plain(const char *what, const struct walk *walk)
{
	FILE *file = fopen("/dev/null", "w");
	double best = 1e9, begin;
	uint64_t bytes = 0;

	setvbuf(file, NULL, _IOFBF, 256 << 10);
	for (int round = 0; round < ROUNDS; round++) {
		begin = cpu_seconds();
		bytes = put_plainly(walk, file);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
	}
	fclose(file);
	return report(what, best, walk->instructions, bytes);
}

/* Everything about the .zstf of a walk. The speed with level 1, and in *alone of zstd. */
static double measure_zstf(const char *name, struct walk *walk, const char *path, double *alone)
{
	char what[96];
	double speed = 0;

	snprintf(what, sizeof(what), "STF, %s, file in /tmp", name);
	measure(what, walk, path, false);
	for (int level = 3; level > 0; level -= 2) {
		snprintf(what, sizeof(what), "zstd level %d alone on that file, in one piece", level);
		*alone = measure_zstd(what, walk, path, level);
	}
	for (int level = 3; level > 0; level -= 2) {
		char packed[96];

		snprintf(packed, sizeof(packed), "%s.zstf", path);
		snprintf(what, sizeof(what), "zstf, level %d, %s, file in /tmp", level, name);
		speed = measure_packed(what, walk, packed, level);
		unlink(packed);
	}
	return speed;
}

int main(void)
{
	char path[] = "/tmp/flowtap-bench-XXXXXX";
	struct walk hot = make_walk(500, 0, FLOWTAP_ISA_RV64, false);
	struct walk wide = make_walk(20000, 0, FLOWTAP_ISA_RV64, false);
	struct walk usual = make_walk(20000, 0, FLOWTAP_ISA_RV64, true);
	struct walk sampled = make_walk(20000, 32, FLOWTAP_ISA_RV64, false);
	struct walk arm = make_walk(20000, 0, FLOWTAP_ISA_A64, false);
	struct walk hot_arm = make_walk(500, 0, FLOWTAP_ISA_A64, false);
	struct walk usual_arm = make_walk(20000, 0, FLOWTAP_ISA_A64, true);
	double raw, packed, plain, zstd;
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	measure("STF, 500 blocks, /dev/null", &hot, "/dev/null", false);
	raw = measure("STF, 20000 blocks, /dev/null", &wide, "/dev/null", false);
	measure("STF, 20000 blocks with habits, /dev/null", &usual, "/dev/null", false);
	measure("STF, 20000 blocks, a gap after every 32, /dev/null", &sampled, "/dev/null", false);
	measure("STF, A64, 500 blocks of 5, /dev/null", &hot_arm, "/dev/null", false);
	measure("STF, A64, 20000 blocks of 5, /dev/null", &arm, "/dev/null", false);
	measure("STF, A64, 20000 blocks of 5 with habits, /dev/null", &usual_arm, "/dev/null",
		false);
	measure_zstf("500 blocks", &hot, path, &zstd);
	measure_zstf("20000 blocks with habits", &usual, path, &zstd);
	packed = measure_zstf("20000 blocks", &wide, path, &zstd);
	measure("text, 20000 blocks, file in /tmp", &wide, path, true);
	measure("text, A64, 20000 blocks of 5, /dev/null", &arm, "/dev/null", true);
	plain = measure_plain("STF records one by one through stdio, 20000 blocks, /dev/null",
			      &wide);
	printf("20000 blocks: STF is %.1f times the records through stdio; zstf, level 1, %.2f of "
	       "zstd alone\n", raw / plain, packed / zstd);
	unlink(path);
	free_walk(&hot);
	free_walk(&wide);
	free_walk(&usual);
	free_walk(&sampled);
	free_walk(&arm);
	free_walk(&hot_arm);
	free_walk(&usual_arm);
	return 0;
}
