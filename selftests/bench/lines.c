// SPDX-License-Identifier: GPL-2.0-only
/*
 * How fast the flow becomes Tarmac and QEMU4V: a walk over cached blocks of A64 (QEMU4V: RV64), of
 * 6 instructions on average that end as those of programs do, in CPU time, the best of several
 * rounds. Beside it a writer that has the same texts at hand and writes each line by
 * fprintf; what it writes is the same, byte for byte, or this fails.
 */
#include "bench.h"

#include <flowtap/arm.h>
#include <flowtap/block.h>
#include <flowtap/qemu4v.h>
#include <flowtap/riscv.h>
#include <flowtap/tarmac.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STEPS	(1U << 18)
#define ROUNDS	7
#define BASE	0x400000U

struct walk {
	struct bench_block *blocks;
	uint8_t *code;
	uint32_t n;
	uint32_t *steps;		/* blocks; each goes on to the next one, by a branch or so */
	uint64_t instructions;
	enum flowtap_isa isa;
};

static void die(const char *what, int error)
{
	fprintf(stderr, "%s: %s\n", what, strerror(-error));
	exit(1);
}

/* How blocks end, of ten: conditional branches, direct calls, calls by a register, returns. */
enum { BRANCH, CALL, CALLR, RETURN };
static const uint8_t kinds[] = {
	BRANCH, BRANCH, BRANCH, BRANCH, BRANCH, BRANCH, CALL, CALL, CALLR, RETURN,
};

static const struct {
	uint32_t opcode;
	uint8_t end;
} ends[2][4] = {
	{ { 0x00b50463, FLOWTAP_TRANSFER_TAKEN }, { 0x008000ef, FLOWTAP_TRANSFER_DIRECT_CALL },
	  { 0x000500e7, FLOWTAP_TRANSFER_INDIRECT_CALL }, { 0x00008067, FLOWTAP_TRANSFER_RETURN } },
	{ { 0x54000040, FLOWTAP_ARM_BRANCH }, { 0x94000002, FLOWTAP_ARM_CALL },
	  { 0xd63f0000, FLOWTAP_ARM_INDIRECT_CALL }, { 0xd65f03c0, FLOWTAP_ARM_RETURN } },
};

static bool calls(const struct flowtap_block *block)
{
	bool arm = block->isa == FLOWTAP_ISA_A64;

	return block->end == ends[arm][CALL].end || block->end == ends[arm][CALLR].end;
}

/* 1 to 11 instructions. */
static void make_block(struct walk *walk, uint32_t i, uint64_t address, uint8_t *code)
{
	static const uint32_t plain[2] = { 0x00500513, 0x8b010000 };
	bool arm = walk->isa == FLOWTAP_ISA_A64;
	uint32_t n = 1 + below(11), kind = kinds[below(10)];

	for (uint32_t k = 0; k < n; k++)
		memcpy(code + 4 * k, k + 1 < n ? &plain[arm] : &ends[arm][kind].opcode, 4);
	walk->blocks[i].block = (struct flowtap_block){
		.address = address, .bytes = code, .size = 4 * n, .last = 4 * n - 4,
		.instructions = n, .isa = walk->isa, .target_isa = walk->isa,
		.end = ends[arm][kind].end, .link = arm && (kind == CALL || kind == CALLR),
		.conditional = kind == BRANCH, .direct = kind == BRANCH || kind == CALL,
	};
}

/* Where blocks lead, as a cache of blocks finds it out. */
static void join_blocks(struct walk *walk)
{
	for (uint32_t i = 0; i < walk->n; i++) {
		struct flowtap_block *block = &walk->blocks[i].block;

		if (block->conditional && i + 1 < walk->n)
			block->next = block + 1;
		if (block->direct) {
			block->taken = &walk->blocks[below(walk->n)].block;
			block->target = block->taken->address;
		}
	}
}

static uint32_t next_step(const struct walk *walk, uint32_t step)
{
	const struct flowtap_block *block = &walk->blocks[step].block;

	if (block->next && below(2))
		return step + 1;
	if (!block->direct)
		return below(walk->n);
	return (uint32_t)((struct bench_block *)block->taken - walk->blocks);
}

static struct walk make_walk(uint32_t n, enum flowtap_isa isa)
{
	struct walk walk = { .n = n, .isa = isa };
	uint8_t *code;

	walk.blocks = bench_blocks_new(n);
	walk.code = code = malloc(48UL * n);
	walk.steps = calloc(STEPS + 1, sizeof(*walk.steps));
	if (!walk.blocks || !code || !walk.steps)
		die("memory", -ENOMEM);
	for (uint32_t i = 0; i < n; i++) {
		make_block(&walk, i, BASE + (code - walk.code), code);
		code += walk.blocks[i].block.size;
	}
	join_blocks(&walk);
	for (uint32_t i = 0; i < STEPS; i++) {
		walk.steps[i + 1] = next_step(&walk, walk.steps[i]);
		walk.instructions += walk.blocks[walk.steps[i]].block.instructions;
	}
	return walk;
}

static bool is_taken(const struct walk *walk, uint32_t step)
{
	const struct flowtap_block *block = &walk->blocks[walk->steps[step]].block;

	return !block->conditional || walk->steps[step + 1] != walk->steps[step] + 1;
}

static void free_walk(struct walk *walk)
{
	bench_blocks_free(walk->blocks, walk->n);
	free(walk->code);
	free(walk->steps);
}

/* As long as what a disassembler says. Made ahead, so that nobody is charged for it. */
static const char *text_of(uint64_t address)
{
	static const char *const texts[] = {
		"ADD      x0, x0, x1", "LDR      x8, [x19, #0x48]", "MOV      w0, #0x3",
		"STP      x29, x30, [sp, #-0x20]!", "CMP      w8, w9",
	};

	return texts[address / 4 % 5];
}

static size_t disassemble(void *argument, enum flowtap_isa isa, uint8_t it, uint64_t address,
			  const uint8_t *bytes, size_t size, char *text, size_t capacity)
{
	(void)argument, (void)isa, (void)it, (void)bytes, (void)size;
	return (size_t)snprintf(text, capacity, "%s", text_of(address));
}

/* --- One line after the other, by fprintf. --- */

enum form { ES, FVP, QEMU4V };

static void print_line(FILE *file, enum form form, uint64_t time, uint64_t address, uint32_t opcode)
{
	switch (form) {
	case ES:
		fprintf(file, "%11" PRIu64 " clk ES  (%016" PRIx64 ":%08" PRIx32 ") O el0t_ns:"
			"        %s\n", time, address, opcode, text_of(address));
		break;
	case FVP:
		fprintf(file, "%" PRIu64 " clk IT (%" PRIu64 ") %016" PRIx64 " %08" PRIx32
			" O EL0t_n : %s\n", time, time, address, opcode, text_of(address));
		break;
	case QEMU4V:
		fprintf(file, "%" PRIu64 " clk 0 IT (%" PRIu64 ") %016" PRIx64 " %08" PRIx32
			" A svc_ns : %s\n", time, time, address, opcode, text_of(address));
		break;
	}
}

static void print_suffix(FILE *file, enum form form, uint64_t time, bool call, uint64_t after,
			 uint64_t target)
{
	if (call && form == ES)
		fprintf(file, "%20sR X30 %016" PRIx64 "\n", "", after);
	else if (call)
		fprintf(file, "%" PRIu64 " clk R %s %016" PRIx64 "\n", time,
			form == FVP ? "X30" : "ra", after);
	if (form == ES)
		fprintf(file, "%20sBR (%016" PRIx64 ") O\n", "", target);
}

static uint64_t print_walk(const struct walk *walk, enum form form, FILE *file)
{
	uint64_t time = 0, lines = 0;

	if (form == ES)
		fprintf(file, "Tarmac Text Rev 3t\n");
	for (uint32_t i = 0; i < STEPS; i++) {
		const struct flowtap_block *block = &walk->blocks[walk->steps[i]].block;
		bool call = calls(block);
		uint32_t opcode;

		for (uint32_t at = 0; at < block->size; at += 4) {
			memcpy(&opcode, block->bytes + at, 4);
			print_line(file, form, ++time, block->address + at, opcode);
		}
		lines += block->instructions;
		if (!is_taken(walk, i))
			continue;
		print_suffix(file, form, time, call, block->address + block->size,
			     walk->blocks[walk->steps[i + 1]].block.address);
		lines += call + (form == ES);
	}
	/* In rows the next instruction says where a branch went, and after the last one is none. */
	if (form == FVP && is_taken(walk, STEPS - 1))
		fprintf(file, "%" PRIu64 " clk BR (%016" PRIx64 ") O\n", time,
			walk->blocks[walk->steps[STEPS]].block.address);
	return lines;
}

/* --- The sinks. --- */

static int feed(const struct walk *walk, struct flowtap_sink *sink)
{
	const struct flowtap_element context = {
		.kind = FLOWTAP_ELEMENT_CONTEXT, .context = { .isa = walk->isa },
	};
	int error = sink->element(sink, &context);

	for (uint32_t i = 0; i < STEPS && !error; i++)
		error = sink->block(sink, &walk->blocks[walk->steps[i]].block, is_taken(walk, i),
				    walk->blocks[walk->steps[i + 1]].block.address);
	return error;
}

/* Returns the bytes. seconds: NULL, or what it took, all blocks being rendered already. */
static uint64_t write_walk(const struct walk *walk, enum form form, int fd, double *seconds)
{
	const struct flowtap_lines_options lines = { .disassemble = disassemble };
	const struct flowtap_tarmac_options tarmac_options = {
		.lines = lines, .dialect = form == ES ? FLOWTAP_TARMAC_ES : FLOWTAP_TARMAC_FVP,
	};
	const struct flowtap_qemu4v_options qemu4v_options = { .lines = lines };
	struct flowtap_tarmac *tarmac = NULL;
	struct flowtap_qemu4v *qemu4v = NULL;
	struct flowtap_sink *sink = NULL;
	uint64_t bytes;
	int error = form == QEMU4V ? flowtap_qemu4v_new(fd, &qemu4v_options, &qemu4v) :
				     flowtap_tarmac_new(fd, &tarmac_options, &tarmac);

	if (!error)
		sink = tarmac ? flowtap_tarmac_sink(tarmac) : flowtap_qemu4v_sink(qemu4v);
	if (!error && seconds) {
		error = feed(walk, sink);
		*seconds = cpu_seconds();
	}
	if (!error)
		error = feed(walk, sink);
	if (!error)
		error = tarmac ? flowtap_tarmac_finish(tarmac) : flowtap_qemu4v_finish(qemu4v);
	if (error)
		die("sink", error);
	bytes = tarmac ? flowtap_tarmac_counts(tarmac)->bytes :
			 flowtap_qemu4v_counts(qemu4v)->bytes;
	if (seconds) {
		*seconds = cpu_seconds() - *seconds;
		bytes /= 2;
	}
	flowtap_tarmac_free(tarmac);
	flowtap_qemu4v_free(qemu4v);
	return bytes;
}

static int open_output(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0)
		die(path, -errno);
	return fd;
}

static void report(const char *what, double seconds, uint64_t lines, uint64_t bytes)
{
	printf("%-52s %7.1f M lines/s %7.0f MB/s\n", what, lines / seconds * 1e-6,
	       bytes / seconds * 1e-6);
}

static double measure(const char *what, const struct walk *walk, enum form form, const char *path,
		      uint64_t lines)
{
	double best = 1e9, seconds;
	uint64_t bytes = 0;

	for (int round = 0; round < ROUNDS; round++) {
		int fd = open_output(path);

		bytes = write_walk(walk, form, fd, &seconds);
		best = seconds < best ? seconds : best;
		close(fd);
	}
	report(what, best, lines, bytes);
	return best;
}

static double measure_print(const char *what, const struct walk *walk, enum form form,
			    uint64_t *lines, uint64_t bytes)
{
	FILE *file = fopen("/dev/null", "w");
	double best = 1e9, begin;

	setvbuf(file, NULL, _IOFBF, 256 << 10);
	for (int round = 0; round < 3; round++) {
		begin = cpu_seconds();
		*lines = print_walk(walk, form, file);
		begin = cpu_seconds() - begin;
		best = begin < best ? begin : best;
	}
	fclose(file);
	report(what, best, *lines, bytes);
	return best;
}

/* The bytes that both write; they are the same. */
static uint64_t compare(const struct walk *walk, enum form form)
{
	int ours = memfd_create("ours", MFD_CLOEXEC), theirs = memfd_create("theirs", MFD_CLOEXEC);
	FILE *file = fdopen(dup(theirs), "w");
	struct stat a, b;
	void *x, *y;

	write_walk(walk, form, ours, NULL);
	print_walk(walk, form, file);
	fclose(file);
	if (fstat(ours, &a) || fstat(theirs, &b) || a.st_size != b.st_size)
		die("the two writers differ", -EINVAL);
	x = mmap(NULL, (size_t)a.st_size, PROT_READ, MAP_SHARED, ours, 0);
	y = mmap(NULL, (size_t)a.st_size, PROT_READ, MAP_SHARED, theirs, 0);
	if (x == MAP_FAILED || y == MAP_FAILED || memcmp(x, y, (size_t)a.st_size))
		die("the two writers differ", -EINVAL);
	munmap(x, (size_t)a.st_size);
	munmap(y, (size_t)a.st_size);
	close(ours);
	close(theirs);
	return (uint64_t)a.st_size;
}

static void beside(const char *name, struct walk *walk, const struct walk *hot, enum form form,
		   const char *path)
{
	uint64_t bytes = compare(walk, form), lines, hot_lines;
	double printed, written;
	char what[100];

	compare(hot, form);
	snprintf(what, sizeof(what), "%s by fprintf, 20000 blocks, /dev/null", name);
	printed = measure_print(what, walk, form, &lines, bytes);
	snprintf(what, sizeof(what), "%s, 20000 blocks, /dev/null", name);
	written = measure(what, walk, form, "/dev/null", lines);
	printf("  %.1f times as fast, the same %" PRIu64 " bytes\n", printed / written, bytes);
	snprintf(what, sizeof(what), "%s, 20000 blocks, file in /tmp", name);
	measure(what, walk, form, path, lines);
	snprintf(what, sizeof(what), "%s by fprintf, 500 blocks, /dev/null", name);
	printed = measure_print(what, hot, form, &hot_lines, compare(hot, form));
	snprintf(what, sizeof(what), "%s, 500 blocks, /dev/null", name);
	written = measure(what, hot, form, "/dev/null", hot_lines);
	printf("  %.1f times as fast\n", printed / written);
}

int main(void)
{
	char path[] = "/tmp/flowtap-bench-XXXXXX";
	struct walk arm = make_walk(20000, FLOWTAP_ISA_A64);
	struct walk hot_arm = make_walk(500, FLOWTAP_ISA_A64);
	struct walk riscv = make_walk(20000, FLOWTAP_ISA_RV64);
	struct walk hot_riscv = make_walk(500, FLOWTAP_ISA_RV64);
	int fd = mkstemp(path);

	if (fd < 0)
		return 1;
	close(fd);
	beside("Tarmac (es)", &arm, &hot_arm, ES, path);
	beside("Tarmac (fvp)", &arm, &hot_arm, FVP, path);
	beside("QEMU4V", &riscv, &hot_riscv, QEMU4V, path);
	unlink(path);
	free_walk(&arm);
	free_walk(&hot_arm);
	free_walk(&riscv);
	free_walk(&hot_riscv);
	return 0;
}
