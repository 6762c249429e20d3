// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the flow becomes STF and text: a walk over cached blocks of 6 instructions on average,
 * every second one taken, in CPU time, the best of several rounds. Arm's code is A64 in blocks of
 * 5. For comparison the same records one by one through stdio. Of .zstf the thread that writes and
 * the one that compresses are told apart, too.
 */
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
#include <time.h>
#include <unistd.h>

#define STEPS	(1U << 20)
#define ROUNDS	7
#define REPEAT	4		/* of the walk in a round */

struct step {
	uint32_t block;
	bool taken;
};

struct walk {
	struct flowtap_block *blocks;
	uint8_t *code;
	uint32_t n;
	struct step *steps;
	uint64_t instructions;	/* of all steps */
	uint32_t gap_every;	/* steps, 0 none: as if each sample lost something */
};

static uint64_t state = 0x9e3779b97f4a7c15;

static uint32_t below(uint32_t limit)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16) % limit;
}

/* One block after the other: 1 to 11 instructions, half of them of 2 bytes, then jalr or c.jr. */
static void make_block(struct walk *walk, uint32_t i, uint64_t address, uint8_t *code)
{
	struct flowtap_block *block = &walk->blocks[i];
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
	struct flowtap_block *block = &walk->blocks[i];

	for (uint32_t k = 0; k < 5; k++) {
		uint32_t opcode = k < 4 ? 0x8b010000 : 0xd65f03c0;

		memcpy(code + 4 * k, &opcode, 4);
	}
	*block = (struct flowtap_block){
		.address = address, .bytes = code, .size = 20, .last = 16, .instructions = 5,
		.isa = FLOWTAP_ISA_A64, .end = FLOWTAP_ARM_RETURN,
	};
}

static struct walk make_walk(uint32_t n, uint32_t gap_every, enum flowtap_isa isa)
{
	struct walk walk = { .n = n, .gap_every = gap_every };
	uint8_t *code;
	uint32_t at = 0;

	walk.blocks = calloc(n, sizeof(*walk.blocks));
	walk.code = code = malloc(48UL * n);
	walk.steps = calloc(STEPS, sizeof(*walk.steps));
	if (!walk.blocks || !code || !walk.steps)
		exit(1);
	for (uint32_t i = 0; i < n; i++) {
		if (isa == FLOWTAP_ISA_A64)
			make_arm_block(&walk, i, 0x10000 + (code - walk.code), code);
		else
			make_block(&walk, i, 0x10000 + (code - walk.code), code);
		code += walk.blocks[i].size;
	}
	for (uint32_t i = 0; i < STEPS; i++) {
		walk.steps[i].block = at;
		walk.steps[i].taken = at + 1 == n || i + 1 == STEPS || below(2);
		walk.instructions += walk.blocks[at].instructions;
		at = walk.steps[i].taken ? below(n) : at + 1;
	}
	walk.steps[STEPS - 1].taken = true;
	return walk;
}

static void free_walk(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->n; i++) {
		for (int r = 0; r < FLOWTAP_RENDER_SLOTS; r++)
			free(walk->blocks[i].render[r].bytes);
	}
	free(walk->blocks);
	free(walk->code);
	free(walk->steps);
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
}

static double thread_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec * 1e-9;
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
		const struct flowtap_block *block = &walk->blocks[walk->steps[i].block];
		const struct step *next = &walk->steps[(i + 1) % STEPS];

		error = sink->block(sink, block, walk->steps[i].taken,
				    walk->blocks[next->block].address);
		if (left && !--left) {
			left = walk->gap_every;
			error = sink->element(sink, &gap);
		}
	}
	return error;
}

static void report(const char *what, double seconds, uint64_t instructions, uint64_t bytes)
{
	printf("%-58s %7.1f M instructions/s %7.0f MB/s %5.2f bytes each\n", what,
	       instructions / seconds * 1e-6, bytes / seconds * 1e-6,
	       (double)bytes / instructions);
}

static void measure(const char *what, struct walk *walk, const char *path, bool text_sink)
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
	report(what, best, REPEAT * walk->instructions, bytes);
}

/* Both threads, by CPU time of each; and the size against that of the plain trace. */
static void measure_packed(const char *what, struct walk *walk, const char *path, int level)
{
	const struct flowtap_zstf_options zstf = { .level = level };
	const struct flowtap_stf_options options = { .generator = 0xff, .zstf = &zstf };
	double best = 1e9, best_own = 1e9;
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
	report(what, best, instructions, (uint64_t)size);
	printf("  of that the writing thread %.1f, the compressing one %.1f M instructions/s; "
	       "%.1f times smaller\n", instructions / best_own * 1e-6,
	       instructions / (best - best_own) * 1e-6, (double)bytes / size);
}

/* What a writer does that looks at each instruction. */
static uint64_t put_plainly(const struct walk *walk, FILE *file)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < STEPS; i++) {
		const struct flowtap_block *block = &walk->blocks[walk->steps[i].block];
		uint64_t target = walk->blocks[walk->steps[(i + 1) % STEPS].block].address;

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

static void measure_plain(const char *what, const struct walk *walk)
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
	report(what, best, walk->instructions, bytes);
}

int main(void)
{
	char path[] = "/tmp/flowtap-bench-XXXXXX";
	struct walk hot = make_walk(500, 0, FLOWTAP_ISA_RV64);
	struct walk wide = make_walk(20000, 0, FLOWTAP_ISA_RV64);
	struct walk sampled = make_walk(20000, 32, FLOWTAP_ISA_RV64);
	struct walk arm = make_walk(20000, 0, FLOWTAP_ISA_A64);
	struct walk hot_arm = make_walk(500, 0, FLOWTAP_ISA_A64);
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	measure("STF, 500 blocks, /dev/null", &hot, "/dev/null", false);
	measure("STF, 20000 blocks, /dev/null", &wide, "/dev/null", false);
	measure("STF, 20000 blocks, a gap after every 32, /dev/null", &sampled, "/dev/null", false);
	measure("STF, A64, 500 blocks of 5, /dev/null", &hot_arm, "/dev/null", false);
	measure("STF, A64, 20000 blocks of 5, /dev/null", &arm, "/dev/null", false);
	measure("STF, 20000 blocks, file in /tmp", &wide, path, false);
	measure_packed("zstf, level 1, 20000 blocks, file in /tmp", &wide, path, 1);
	measure_packed("zstf, level 3, 20000 blocks, file in /tmp", &wide, path, 3);
	measure_packed("zstf, level 3, 500 blocks, file in /tmp", &hot, path, 3);
	measure("text, 20000 blocks, file in /tmp", &wide, path, true);
	measure("text, A64, 20000 blocks of 5, /dev/null", &arm, "/dev/null", true);
	measure_plain("STF records one by one through stdio, 20000 blocks, /dev/null", &wide);
	unlink(path);
	free_walk(&hot);
	free_walk(&wide);
	free_walk(&sampled);
	free_walk(&arm);
	free_walk(&hot_arm);
	return 0;
}
