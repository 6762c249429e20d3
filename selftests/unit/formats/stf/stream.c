// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whatever random flow the STF writer is fed, the checker reads back instruction by
 * instruction; and that it gets everything through slow, small, interrupted and full outputs.
 */
#include <flowtap/stf.h>

#include "stfcheck/stfcheck.h"
#include "support/random.h"
#include "support/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

static const struct flowtap_stf_options options = { .generator = 0xff };

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
	return random_below(&random_state, limit);
}

/*
 * A random program: code, where its instructions begin, and the block that begins at each. The
 * encoder is the test's own, so what a block says about its last instruction is independent of
 * the library's decoder.
 */
#define CODE 4096	/* what a branch can reach */
#define BASE 0x7fff00000000ULL

struct program {
	uint8_t code[CODE];
	uint16_t begins[CODE / 2];	/* offsets of instructions */
	unsigned int n;
	struct flowtap_block blocks[CODE];	/* by offset; instructions 0: not made yet */
};

enum made_kind { MADE_PLAIN, MADE_BRANCH, MADE_JUMP, MADE_INDIRECT, MADE_ECALL };

struct made {
	uint8_t size;
	uint8_t kind;
	int32_t offset;
};

static struct made made[CODE];		/* by offset */

static uint32_t branch_opcode(int32_t offset)
{
	uint32_t u = offset;

	return 0x63 | (u >> 12 & 1) << 31 | (u >> 5 & 63) << 25 | (u >> 1 & 15) << 8 |
	       (u >> 11 & 1) << 7 | below(32) << 15 | below(32) << 20;
}

static uint32_t jump_opcode(int32_t offset)
{
	uint32_t u = offset;

	return 0x6f | (u >> 20 & 1) << 31 | (u >> 1 & 0x3ff) << 21 | (u >> 11 & 1) << 20 |
	       (u >> 12 & 0xff) << 12 | below(2) << 7;
}

static uint32_t make_opcode(struct made *insn, int32_t offset)
{
	static const uint16_t plain[] = { 0x0001, 0x4585, 0x8096, 0x952e, 0x0505, 0xe006 };
	static const uint32_t wide[] = { 0x13, 0x00500513, 0x00013603, 0x100000f, 0x30200513 };
	uint32_t roll = below(24);

	insn->size = roll < 14 ? 2 : 4;
	insn->offset = offset;
	if (roll < 10)
		return plain[below(6)];
	if (roll < 12) {
		insn->kind = MADE_INDIRECT;
		return roll == 10 ? 0x8082 : 0x9782;
	}
	if (roll < 14) {
		insn->kind = MADE_INDIRECT;
		insn->size = 4;
		return 0x67 | below(32) << 15;
	}
	if (roll < 19)
		return wide[below(5)];
	if (roll == 19) {
		insn->kind = MADE_ECALL;
		return 0x73;
	}
	insn->kind = roll == 20 ? MADE_JUMP : MADE_BRANCH;
	return insn->kind == MADE_JUMP ? jump_opcode(offset) : branch_opcode(offset);
}

/* Sizes first, so that a branch can go to where an instruction begins. */
static void make_program(struct program *program)
{
	uint64_t begin = random_state;
	unsigned int at = 0, n;

	memset(program, 0, sizeof(*program));
	memset(made, 0, sizeof(made));
	for (int pass = 0; pass < 2; pass++) {
		random_state = begin;
		n = program->n;
		program->n = 0;
		for (at = 0; at < CODE - 4; at += made[at].size) {
			uint32_t to = pass ? program->begins[(at * 7919U + 13) % n] : at;
			uint32_t opcode;

			made[at].kind = MADE_PLAIN;
			opcode = make_opcode(&made[at], (int32_t)to - (int32_t)at);
			memcpy(program->code + at, &opcode, made[at].size);
			program->begins[program->n++] = at;
		}
	}
}

static uint8_t end_of(const struct made *insn)
{
	switch (insn->kind) {
	case MADE_BRANCH:
		return FLOWTAP_TRANSFER_TAKEN;
	case MADE_JUMP:
		return FLOWTAP_TRANSFER_DIRECT_JUMP;
	case MADE_INDIRECT:
		return FLOWTAP_TRANSFER_INDIRECT_JUMP;
	case MADE_ECALL:
		return FLOWTAP_TRANSFER_EXCEPTION;
	default:
		return FLOWTAP_TRANSFER_NONE;
	}
}

/* The block at an offset, up to its transfer or the end of the code. */
static struct flowtap_block *block_at(struct program *program, unsigned int offset)
{
	struct flowtap_block *block = &program->blocks[offset];
	unsigned int at = offset;

	if (block->instructions)
		return block;
	block->address = BASE + offset;
	block->bytes = program->code + offset;
	do {
		block->last = at - offset;
		block->instructions++;
		block->end = end_of(&made[at]);
		block->conditional = made[at].kind == MADE_BRANCH;
		at += made[at].size;
	} while (!block->end && at < CODE - 4);
	block->size = at - offset;
	return block;
}

/* What the checker has to find. */
struct expected {
	uint64_t pc;
	uint64_t target;
	uint32_t opcode;
	uint32_t tid;
	uint8_t cpu;
	bool taken;
	bool forced;
};

struct expectations {
	struct expected *insns;
	size_t n, capacity;
	size_t wrong;
	uint32_t tid, cpu;
	bool force;
};

static void expect_block(struct expectations *all, const struct flowtap_block *block, bool taken,
			 uint64_t target)
{
	for (unsigned int at = 0, size; at < block->size; at += size) {
		struct expected *insn = &all->insns[all->n++];
		bool last = at == block->last;

		size = made[block->address - BASE + at].size;
		memset(insn, 0, sizeof(*insn));
		insn->pc = block->address + at;
		memcpy(&insn->opcode, block->bytes + at, size);
		insn->tid = all->tid;
		insn->cpu = all->cpu;
		insn->forced = !at && all->force;
		insn->taken = last && taken && block->end != FLOWTAP_TRANSFER_EXCEPTION;
		insn->target = insn->taken ? target : 0;
	}
	all->force = false;
}

static int compare(void *argument, const struct stfcheck_insn *insn)
{
	struct expectations *all = argument;
	const struct expected *want = &all->insns[insn->index];

	if (insn->index >= all->n || insn->pc != want->pc || insn->opcode != want->opcode ||
	    insn->taken != want->taken || insn->target != want->target ||
	    insn->forced != want->forced || insn->tid != want->tid || insn->pid != 77 ||
	    insn->hw != want->cpu || insn->mode || insn->trapped)
		all->wrong++;
	return 0;
}

/* Executes the program at random, now and then with a gap or another thread. */
static int walk(struct program *program, struct flowtap_sink *sink, struct expectations *all,
		size_t instructions)
{
	unsigned int at = program->begins[below(program->n)], go;
	int error = sink_context(sink, 77, all->tid = 1, all->cpu = 0, 0);

	while (!error && all->n < instructions) {
		struct flowtap_block *block = block_at(program, at);
		const struct made *last = &made[at + block->last];
		bool taken = block->end && (!block->conditional || below(2));
		uint64_t target = block->address + block->size;

		go = at + block->size;
		if (taken)
			go = last->kind == MADE_INDIRECT ? program->begins[below(program->n)] :
							   at + block->last + last->offset;
		if (taken && last->kind != MADE_ECALL)
			target = BASE + go;
		expect_block(all, block, taken, target);
		error = sink_block(sink, block, taken, last->kind == MADE_ECALL ? 0 : target);
		if (!error && (last->kind == MADE_ECALL || go >= CODE - 4 || !below(40))) {
			go = program->begins[below(program->n)];
			error = sink_gap(sink, below(FLOWTAP_GAP_REASONS));
			all->force = true;
		}
		if (!error && !below(50)) {
			uint32_t tid = 1 + below(3);

			all->force |= tid != all->tid;
			error = sink_context(sink, 77, all->tid = tid, all->cpu = below(4), 0);
		}
		at = go;
	}
	return error;
}

#define INSNS 300000
#define INSNS_ROOM (INSNS + CODE)

static struct program program;
static struct expectations all;

static int write_walk(int fd, size_t instructions, struct flowtap_stf **stf)
{
	int error;

	make_program(&program);
	memset(&all, 0, sizeof(all));
	all.insns = calloc(INSNS_ROOM, sizeof(*all.insns));
	error = flowtap_stf_new(fd, &options, stf);
	if (!error)
		error = walk(&program, flowtap_stf_sink(*stf), &all, instructions);
	if (!error)
		error = flowtap_stf_finish(*stf);
	return error;
}

static void end_walk(struct flowtap_stf *stf)
{
	blocks_unrender(program.blocks, CODE);
	free(all.insns);
	flowtap_stf_free(stf);
}

TEST(reads_back_what_was_written)
{
	for (uint64_t seed = 1; seed <= 8; seed++) {
		struct stfcheck check = { .strict = true, .insn = compare, .argument = &all };
		struct output output = output_new();
		struct flowtap_stf *stf;

		random_state = seeded(seed * 0x9e3779b97f4a7c15);
		ASSERT_EQ(0, write_walk(output.fd, seed == 1 ? INSNS : 1000, &stf));
		output_read(&output);
		EXPECT_EQ(0, stfcheck_run(&check, output.bytes, output.size))
			TH_LOG("seed %llu: %s at %llu", (unsigned long long)seed, check.reason,
			       (unsigned long long)check.offset);
		EXPECT_EQ(all.n, check.counts.instructions);
		EXPECT_EQ(0, all.wrong);
		EXPECT_EQ(all.n, flowtap_stf_counts(stf)->instructions);
		EXPECT_EQ(check.counts.forced, flowtap_stf_counts(stf)->forced);
		EXPECT_EQ(output.size, flowtap_stf_counts(stf)->bytes);
		EXPECT_LT(all.n / 20, check.counts.taken);
		EXPECT_LT(all.n / 100, check.counts.not_taken);
		end_walk(stf);
		output_free(&output);
	}
}

struct reader {
	int fd;
	uint8_t *bytes;
	size_t size;
	pthread_t writer;
	bool interrupts;
};

/* Reads in pieces of odd sizes, and with signals for who waits at the other end. */
static void *read_all(void *argument)
{
	struct reader *reader = argument;
	unsigned int reads = 0;
	ssize_t n;

	reader->bytes = malloc(8 << 20);
	while ((n = read(reader->fd, reader->bytes + reader->size, 1 + reader->size % 6007)) > 0) {
		reader->size += n;
		if (reader->interrupts && ++reads % 8 == 0)
			pthread_kill(reader->writer, SIGUSR1);
	}
	return NULL;
}

static unsigned int signals;

static void count_signal(int signal)
{
	(void)signal;
	signals++;
}

static int write_to_pipe(int flags, bool interrupts, struct reader *reader)
{
	struct flowtap_stf *stf;
	pthread_t thread;
	int pipes[2], error;

	if (pipe2(pipes, flags) || fcntl(pipes[1], F_SETPIPE_SZ, 4096) < 0)
		return -errno;
	fcntl(pipes[0], F_SETFL, 0);
	*reader = (struct reader){ .fd = pipes[0], .writer = pthread_self(),
				   .interrupts = interrupts };
	pthread_create(&thread, NULL, read_all, reader);
	random_state = 5;
	error = write_walk(pipes[1], INSNS / 2, &stf);
	close(pipes[1]);
	pthread_join(thread, NULL);
	close(pipes[0]);
	end_walk(stf);
	return error;
}

static int write_to_memory(struct output *output)
{
	struct flowtap_stf *stf;
	int error;

	random_state = 5;
	error = write_walk(output->fd, INSNS / 2, &stf);
	output_read(output);
	end_walk(stf);
	return error;
}

TEST(gets_everything_through_a_small_pipe_that_signals_interrupt)
{
	struct sigaction action = { .sa_handler = count_signal };
	struct output output = output_new();
	struct reader reader;

	ASSERT_EQ(0, write_to_memory(&output));
	EXPECT_LT(256 << 10, output.size);
	sigaction(SIGUSR1, &action, NULL);
	EXPECT_EQ(0, write_to_pipe(O_CLOEXEC, true, &reader));
	EXPECT_LT(0, signals);
	EXPECT_EQ(output.size, reader.size);
	EXPECT_EQ(0, memcmp(output.bytes, reader.bytes, output.size));
	free(reader.bytes);
	output_free(&output);
}

TEST(waits_for_a_pipe_that_does_not_block)
{
	struct output output = output_new();
	struct reader reader;

	ASSERT_EQ(0, write_to_memory(&output));
	EXPECT_EQ(0, write_to_pipe(O_CLOEXEC | O_NONBLOCK, false, &reader));
	EXPECT_EQ(output.size, reader.size);
	EXPECT_EQ(0, memcmp(output.bytes, reader.bytes, output.size));
	free(reader.bytes);
	output_free(&output);
}

TEST(an_error_of_write_stays)
{
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC), pipes[2];
	struct flowtap_stf *stf;
	struct flowtap_block *block;

	ASSERT_LE(0, fd);
	random_state = 9;
	errno = 1234;
	EXPECT_EQ(-ENOSPC, write_walk(fd, INSNS, &stf));
	EXPECT_EQ(1234, errno);
	block = block_at(&program, program.begins[0]);
	EXPECT_EQ(-ENOSPC, sink_block(flowtap_stf_sink(stf), block, false, 0));
	EXPECT_EQ(-ENOSPC, sink_gap(flowtap_stf_sink(stf), FLOWTAP_GAP_START));
	EXPECT_EQ(-ENOSPC, flowtap_stf_finish(stf));
	EXPECT_EQ(0, flowtap_stf_counts(stf)->bytes);
	end_walk(stf);
	close(fd);

	signal(SIGPIPE, SIG_IGN);
	ASSERT_EQ(0, pipe2(pipes, O_CLOEXEC));
	close(pipes[0]);
	EXPECT_EQ(-EPIPE, write_walk(pipes[1], 100, &stf));
	end_walk(stf);
	close(pipes[1]);
}

/* Nothing is kept of a block that is longer than the buffer. */
TEST(writes_blocks_of_any_length)
{
	enum { LONG = 400000 };
	struct stfcheck check = { .strict = true };
	struct output output = output_new();
	uint8_t *code = malloc(LONG);
	struct flowtap_block block = {
		.address = 0x10000, .bytes = code, .size = LONG, .last = LONG - 2,
		.instructions = LONG / 2, .end = FLOWTAP_TRANSFER_RETURN,
	};
	struct flowtap_stf *stf;

	for (int i = 0; i < LONG; i += 2)
		memcpy(code + i, i == LONG - 2 ? "\x82\x80" : "\x01\x00", 2);
	ASSERT_EQ(0, flowtap_stf_new(output.fd, &options, &stf));
	EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &block, true, 0x10000));
	EXPECT_EQ(0, sink_block(flowtap_stf_sink(stf), &block, true, 0x10000));
	EXPECT_EQ(0, flowtap_stf_finish(stf));
	EXPECT_EQ(NULL, block.render[0].bytes);
	output_read(&output);
	EXPECT_EQ(0, stfcheck_run(&check, output.bytes, output.size));
	EXPECT_STREQ("", check.reason);
	EXPECT_EQ(LONG, check.counts.instructions);
	EXPECT_EQ(2, check.counts.taken);
	flowtap_stf_free(stf);
	output_free(&output);
	free(code);
}

/* Blocks out of the cache of the library, which is emptied again and again. */
TEST(writes_the_same_from_a_cache_that_overflows)
{
	struct output output = output_new(), small = output_new();
	struct flowtap_stf_options charged = options;
	struct flowtap_code code = { .bytes = program.code, .key = 1 };
	struct flowtap_stf *stf;
	unsigned int emptied = 0;

	ASSERT_EQ(0, write_to_memory(&output));
	make_program(&program);
	code.start = BASE;
	code.end = BASE + CODE;
	for (int pass = 0; pass < 2; pass++) {
		struct output *to = pass ? &small : &output;
		struct flowtap_blocks *blocks =
			flowtap_blocks_new(flowtap_riscv_block, pass ? 100 << 10 : 0);
		struct flowtap_block *block;

		ASSERT_EQ(0, ftruncate(to->fd, 0));
		ASSERT_EQ(0, lseek(to->fd, 0, SEEK_SET));
		charged.blocks = blocks;
		ASSERT_EQ(0, flowtap_stf_new(to->fd, &charged, &stf));
		for (unsigned int i = 0; i < 4 * program.n; i++) {
			unsigned int at = program.begins[i % program.n];

			flowtap_blocks_trim(blocks);
			ASSERT_EQ(0, flowtap_blocks_get(blocks, &code, FLOWTAP_ISA_RV64, BASE + at,
							0, &block));
			emptied += pass && i >= program.n && !block->render[0].bytes;
			ASSERT_EQ(0, sink_block(flowtap_stf_sink(stf), block,
						block->end && !block->conditional,
						block->direct ? block->target : BASE));
		}
		EXPECT_EQ(0, flowtap_stf_finish(stf));
		flowtap_stf_free(stf);
		flowtap_blocks_free(blocks);
		output_read(to);
	}
	EXPECT_LT(100, emptied);
	EXPECT_EQ(-1, output_differs(&small, output.bytes, output.size));
	output_free(&output);
	output_free(&small);
}

TEST_HARNESS_MAIN
