// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that readers of Tarmac find in it what was executed: Arm's tarmac-trace-utilities the calls
 * (lib/index.cpp: by the link register, and the stack pointer if there is one), gem5's parser the
 * instructions and registers (tarmac_parser.cc: words between blanks). Both are written anew here,
 * from what those do.
 *
 * A program of functions that call each other at random is executed; how deep each instruction is
 * in calls is known by that.
 */
#include <flowtap/arm.h>
#include <flowtap/riscv.h>
#include <flowtap/tarmac.h>

#include "support/random.h"
#include "support/sink.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "support/kselftest_harness.h"

#define FUNCTIONS	8
#define PARTS		3		/* of a function: up to a branch, up to a call, up to the return */
#define PLAIN		9		/* instructions before each of them */
#define HANDLER		(FUNCTIONS * PARTS)
#define BLOCKS		(HANDLER + PARTS)
#define BASE		0x210000U
#define STEP		0x1000U
#define VECTOR		0x7f0480U	/* IRQ of a lower EL using AArch64 */
#define DEPTH		6

/* --- The program --- */

struct insn {
	uint32_t opcode;
	uint8_t size;
	uint8_t class;
};

enum { NOTHING, SKIP, CALL, BACK, LEAVE };

static const struct insn code[][LEAVE + 1] = {
	[FLOWTAP_ISA_RV64] = {
		{ 0x0001, 2, 0 }, { 0x02050163, 4, FLOWTAP_TRANSFER_TAKEN },
		{ 0x000500e7, 4, FLOWTAP_TRANSFER_INDIRECT_CALL },
		{ 0x8082, 2, FLOWTAP_TRANSFER_RETURN },
		{ 0x10200073, 4, FLOWTAP_TRANSFER_TRAP_RETURN },
	},
	[FLOWTAP_ISA_A64] = {
		{ 0xd503201f, 4, 0 }, { 0xb4000160, 4, FLOWTAP_ARM_BRANCH },
		{ 0xd63f0000, 4, FLOWTAP_ARM_INDIRECT_CALL },
		{ 0xd65f03c0, 4, FLOWTAP_ARM_RETURN },
		{ 0xd69f03e0, 4, FLOWTAP_ARM_EXCEPTION_RETURN },
	},
	[FLOWTAP_ISA_A32] = {
		{ 0xe320f000, 4, 0 }, { 0x0a000009, 4, FLOWTAP_ARM_BRANCH },
		{ 0xe12fff30, 4, FLOWTAP_ARM_INDIRECT_CALL },
		{ 0xe12fff1e, 4, FLOWTAP_ARM_RETURN },
		{ 0xe1b0f00e, 4, FLOWTAP_ARM_EXCEPTION_RETURN },
	},
	[FLOWTAP_ISA_T32] = {
		{ 0xbf00, 2, 0 }, { 0xd008, 2, FLOWTAP_ARM_BRANCH },
		{ 0x4780, 2, FLOWTAP_ARM_INDIRECT_CALL }, { 0x4770, 2, FLOWTAP_ARM_RETURN },
		{ 0x8f00f3de, 4, FLOWTAP_ARM_EXCEPTION_RETURN },
	},
};

/* What was executed. */
struct step {
	uint64_t address;
	uint32_t opcode;
	uint32_t depth;
};

struct fixture {
	uint8_t isa;
	bool recursion, interrupts;
	struct flowtap_block blocks[BLOCKS];
	uint8_t bytes[BLOCKS * (PLAIN + 1) * 4];
	struct step *steps;
	size_t n, capacity;
	uint64_t random;
	struct flowtap_sink *sink;
	int error;
};

static uint32_t below(struct fixture *fixture, uint32_t limit)
{
	return random_below(&fixture->random, limit);
}

static void make_block(struct fixture *fixture, int n, uint64_t address, int end)
{
	const struct insn *plain = &code[fixture->isa][NOTHING], *last = &code[fixture->isa][end];
	uint8_t *bytes = fixture->bytes + n * (PLAIN + 1) * 4;
	struct flowtap_block *block = &fixture->blocks[n];

	for (int i = 0; i < PLAIN; i++)
		memcpy(bytes + i * plain->size, &plain->opcode, plain->size);
	memcpy(bytes + PLAIN * plain->size, &last->opcode, last->size);
	*block = (struct flowtap_block){
		.address = address, .bytes = bytes, .size = PLAIN * plain->size + last->size,
		.instructions = PLAIN + 1, .last = PLAIN * plain->size, .isa = fixture->isa,
		.end = last->class, .link = end == CALL, .direct = end == SKIP,
		.conditional = end == SKIP, .target_isa = fixture->isa,
	};
}

static void make_function(struct fixture *fixture, int n, uint64_t address, int end)
{
	static const int ends[PARTS] = { SKIP, CALL };

	for (int part = 0; part < PARTS; part++) {
		make_block(fixture, n + part, address, part == 2 ? end : ends[part]);
		address += fixture->blocks[n + part].size;
	}
	fixture->blocks[n].target = fixture->blocks[n + 2].address;
}

static struct fixture *world_new(uint8_t isa, bool recursion, bool interrupts, uint64_t seed)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*fixture = (struct fixture){ .isa = isa, .recursion = recursion, .interrupts = interrupts,
				 .random = seed };
	for (int i = 0; i < FUNCTIONS; i++)
		make_function(fixture, i * PARTS, BASE + i * STEP, BACK);
	make_function(fixture, HANDLER, VECTOR, LEAVE);
	return fixture;
}

static void world_free(struct fixture *fixture)
{
	blocks_unrender(fixture->blocks, BLOCKS);
	free(fixture->steps);
	free(fixture);
}

static void put(struct fixture *fixture, int n, bool taken, uint64_t target, uint32_t depth)
{
	const struct flowtap_block *block = &fixture->blocks[n];
	int error = sink_block(fixture->sink, block, taken, target);
	size_t size;

	fixture->error = fixture->error ? fixture->error : error;
	for (size_t at = 0; at < block->size; at += size) {
		bool last = at == block->last;
		uint32_t opcode = 0;

		size = last ? block->size - block->last : code[fixture->isa][NOTHING].size;
		memcpy(&opcode, block->bytes + at, size);
		if (fixture->isa == FLOWTAP_ISA_T32 && size == 4)
			opcode = opcode << 16 | opcode >> 16;
		if (fixture->n == fixture->capacity) {
			fixture->capacity = 2 * fixture->capacity + 1024;
			fixture->steps = realloc(fixture->steps,
						 fixture->capacity * sizeof(*fixture->steps));
		}
		fixture->steps[fixture->n++] = (struct step){ block->address + at, opcode, depth };
	}
}

static void context(struct fixture *fixture, uint8_t mode)
{
	int error = sink_element(fixture->sink, (struct flowtap_element){
		.kind = FLOWTAP_ELEMENT_CONTEXT,
		.context = { .isa = fixture->isa, .mode = mode, .width = 64 },
	});

	fixture->error = fixture->error ? fixture->error : error;
}

static void call(struct fixture *fixture, int n, uint64_t back, uint32_t depth);

/* Not where a function returns to: the index takes the handler for a part of that function then. */
static void interrupt(struct fixture *fixture, uint64_t at, uint32_t depth)
{
	if (!fixture->interrupts || below(fixture, 4))
		return;
	sink_exception(fixture->sink, 14, at);
	context(fixture, 1);
	put(fixture, HANDLER, true, fixture->blocks[HANDLER + 2].address, depth);
	put(fixture, HANDLER + 2, true, at, depth);
	context(fixture, 0);
}

/* One function up to its last part. */
static void run(struct fixture *fixture, int n, uint32_t depth)
{
	uint64_t middle = fixture->blocks[n + 1].address, end = fixture->blocks[n + 2].address;
	int function = n / PARTS, first = fixture->recursion ? 0 : function + 1;
	bool calls = depth < DEPTH && first < FUNCTIONS && below(fixture, 4);

	put(fixture, n, !calls, calls ? middle : end, depth);
	if (!calls)
		return;
	interrupt(fixture, middle, depth);
	function = first + below(fixture, FUNCTIONS - first);
	put(fixture, n + 1, true, BASE + function * STEP, depth);
	call(fixture, function * PARTS, end, depth + 1);
}

static void call(struct fixture *fixture, int n, uint64_t back, uint32_t depth)
{
	run(fixture, n, depth);
	put(fixture, n + 2, true, back, depth);
}

/* main(), which calls others for a while. */
static void execute(struct fixture *fixture)
{
	uint64_t again = fixture->blocks[0].address;

	context(fixture, 0);
	while (fixture->n < 4000) {
		run(fixture, 0, 0);
		put(fixture, 2, true, again, 0);
	}
}

/*
 * --- What tarmac-trace-utilities make of it: who is called, and how deep each instruction is. ---
 */

struct pending {
	uint64_t sp, back;
	size_t line;
};

struct index {
	uint64_t lr, sp;		/* as the lines say; sp: UINT64_MAX unknown */
	uint64_t seen_lr, seen_sp;	/* as they were before the last instruction's own lines */
	bool has_lr, seen_has_lr;
	uint64_t next;			/* what follows the last instruction */
	uint32_t since;			/* instructions since LR was written */
	struct pending pending[256];
	size_t n;
	int *marks;			/* of each instruction: 1 a call leads here, -1 a return */
};

static size_t find(const struct index *index, uint64_t sp, uint64_t back)
{
	size_t i = 0;

	while (i < index->n && (index->pending[i].sp != sp || index->pending[i].back != back))
		i++;
	return i;
}

static void arrive(struct index *index, size_t n, uint64_t pc, unsigned int size, bool thumb)
{
	uint64_t away, at = pc | thumb;
	size_t i;

	index->seen_lr = index->lr;
	index->seen_sp = index->sp;
	index->seen_has_lr = index->has_lr;
	index->since++;
	if ((at ^ index->next) >> 1) {
		i = find(index, index->seen_sp, at);
		away = index->seen_lr - (index->next | thumb);
		if (i < index->n) {
			index->marks[index->pending[i].line] = 1;
			index->marks[n] = -1;
			index->pending[i] = index->pending[--index->n];
		} else if (index->seen_has_lr && index->since < 8 && away + 63 < 127 &&
			   find(index, index->seen_sp, index->seen_lr) == index->n &&
			   index->n < 256) {
			index->pending[index->n++] = (struct pending){
				index->seen_sp, index->seen_lr, n };
		}
	}
	index->next = at + size;
}

static void write_register(struct index *index, const char *name, uint64_t value)
{
	if (!strcmp(name, "X30") || !strcmp(name, "LR") || !strncmp(name, "r14", 3)) {
		index->lr = value;
		index->has_lr = true;
		index->since = 0;
		return;
	}
	if (strncasecmp(name, "SP", 2) && strncmp(name, "r13", 3))
		return;
	index->sp = value;
	for (size_t i = 0; i < index->n; i++) {
		if (index->pending[i].sp < value)
			index->pending[i--] = index->pending[--index->n];
	}
}

/* Steps as the lines have them, depths as the index finds them. Their number. */
static size_t draw(char *text, struct step *steps, size_t capacity)
{
	struct index index = { .sp = UINT64_MAX, .next = UINT64_MAX, .since = 1000,
			       .marks = calloc(capacity + 1, sizeof(int)) };
	char name[32], opcode[16], *save, *line, *at, letter;
	uint64_t pc, value;
	uint32_t depth = 0;
	size_t n = 0;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if ((at = strstr(line, " ES  (")) &&
		    sscanf(at, " ES ( %" SCNx64 ":%15[0-9a-f] ) %c", &pc, opcode, &letter) != 3)
			continue;
		if (!at && ((at = strstr(line, " IT (")) || (at = strstr(line, " IS ("))))
			sscanf(at, " %*2s (%*u) %" SCNx64 " %15s %c", &pc, opcode, &letter);
		if (at && n < capacity) {
			arrive(&index, n, pc, strlen(opcode) / 2, letter == 'T');
			steps[n++] = (struct step){ pc, strtoul(opcode, NULL, 16), 0 };
		} else if (sscanf(line, " R %31s %*[(A-Z)] %" SCNx64, name, &value) == 2 ||
			   sscanf(line, " R %31s %" SCNx64, name, &value) == 2 ||
			   sscanf(line, "%*u clk R %31s %" SCNx64, name, &value) == 2) {
			write_register(&index, name, value);
		}
	}
	for (size_t i = 0; i < n; i++) {
		depth += index.marks[i];
		steps[i].depth = depth;
	}
	free(index.marks);
	return n;
}

/* --- What gem5's parser makes of it. --- */

/* The next word, or an empty one; at most 255 bytes are there for it. */
static const char *word(char **at, char *end, char buffer[256])
{
	size_t n = 0;

	while (*at < end && isspace((unsigned char)**at))
		++*at;
	while (*at < end && !isspace((unsigned char)**at) && n < 255)
		buffer[n++] = *(*at)++;
	buffer[n] = '\0';
	return buffer;
}

/* Up to 256 characters, and the end of the line is among them. */
static bool ignore(char **at, char *end)
{
	char *newline = memchr(*at, '\n', end - *at);

	if (!newline || newline - *at >= 256)
		return false;
	*at = newline + 1;
	return true;
}

/* A value in hexadecimal, and where it ends no digit that is none. */
static bool number(char **at, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(*at, &end, 16);
	if (end == *at || errno || !isspace((unsigned char)*end))
		return false;
	*at = end;
	return true;
}

static bool is_register(const char *name)
{
	static const char *const banks[] = { "_usr", "_svc", "_hyp", "_mon" };

	if (!strncmp(name, "SP_EL", 5))
		return name[5] >= '0' && name[5] <= '3' && !name[6];
	if (!strcmp(name, "X30"))
		return true;
	if (strncmp(name, "r13", 3) && strncmp(name, "r14", 3))
		return false;
	for (int i = 0; i < 4; i++) {
		if (!strcmp(name + 3, banks[i]))
			return true;
	}
	return false;
}

/* Steps without depths. Their number; SIZE_MAX: gem5 would have gone wrong. */
static size_t gem5(char *at, size_t size, struct step *steps, size_t capacity, size_t *registers)
{
	char *end = at + size, text[256], tag[256];
	size_t n = 0, sequence = 0;
	uint64_t value, opcode;

	while (at < end) {
		word(&at, end, text);
		word(&at, end, text);
		word(&at, end, tag);
		if (tag[0] == 'I') {
			word(&at, end, text);
			if (text[0] != '(' || (size_t)atoi(text + 1) <= sequence)
				return SIZE_MAX;
			sequence = atoi(text + 1);
			if (!number(&at, &value) || !number(&at, &opcode) ||
			    !strchr("ATO", *word(&at, end, text)) || n == capacity)
				return SIZE_MAX;
			steps[n++] = (struct step){ value, opcode, 0 };
		} else if (tag[0] == 'R') {
			if (!is_register(word(&at, end, text)) || !number(&at, &value))
				return SIZE_MAX;
			++*registers;
		} else if (strcmp(tag, "E") && strcmp(tag, "BR")) {
			return SIZE_MAX;
		}
		if (!ignore(&at, end))
			return SIZE_MAX;
	}
	return n;
}

/* --- Tests --- */

FIXTURE(program)
{
	struct fixture *fixture;
	struct output output;
	struct step *steps;
	size_t capacity;
};

FIXTURE_VARIANT(program)
{
	uint8_t isa;
	bool recursion, interrupts, sp;
};

FIXTURE_VARIANT_ADD(program, a64) { FLOWTAP_ISA_A64, false, false, false };
FIXTURE_VARIANT_ADD(program, a64_interrupts) { FLOWTAP_ISA_A64, false, true, false };
FIXTURE_VARIANT_ADD(program, a64_sp) { FLOWTAP_ISA_A64, true, false, true };
FIXTURE_VARIANT_ADD(program, a64_sp_interrupts) { FLOWTAP_ISA_A64, true, true, true };
FIXTURE_VARIANT_ADD(program, a32) { FLOWTAP_ISA_A32, false, false, false };
FIXTURE_VARIANT_ADD(program, a32_sp) { FLOWTAP_ISA_A32, true, false, true };
FIXTURE_VARIANT_ADD(program, t32) { FLOWTAP_ISA_T32, false, false, false };
FIXTURE_VARIANT_ADD(program, t32_sp) { FLOWTAP_ISA_T32, true, false, true };
FIXTURE_VARIANT_ADD(program, rv64) { FLOWTAP_ISA_RV64, false, false, false };
FIXTURE_VARIANT_ADD(program, rv64_sp) { FLOWTAP_ISA_RV64, true, false, true };

FIXTURE_SETUP(program)
{
	const char *seed = getenv("FLOWTAP_SEED");
	uint64_t value = (seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15) | 1;

	printf("# seed %" PRIu64 "\n", value);
	self->fixture = world_new(variant->isa, variant->recursion, variant->interrupts, value);
	self->output = output_new();
}

FIXTURE_TEARDOWN(program)
{
	free(self->steps);
	output_free(&self->output);
	world_free(self->fixture);
}

/* Executes it, and reads what was written of it. 0 or the first error. */
static int written(struct fixture *fixture, struct output *output, struct step **steps,
		   size_t *capacity, enum flowtap_tarmac_dialect dialect, bool sp)
{
	const struct flowtap_tarmac_options options = {
		.dialect = dialect, .riscv = true, .lines = { .synthetic_sp = sp },
	};
	struct flowtap_tarmac *tarmac;
	int error = flowtap_tarmac_new(output->fd, &options, &tarmac);

	if (error)
		return error;
	fixture->sink = flowtap_tarmac_sink(tarmac);
	execute(fixture);
	error = flowtap_tarmac_finish(tarmac);
	flowtap_tarmac_free(tarmac);
	output_read(output);
	*capacity = fixture->n + 1;
	*steps = calloc(*capacity, sizeof(**steps));
	return fixture->error ? fixture->error : error;
}

static size_t wrong_depths(const struct fixture *fixture, const struct step *steps)
{
	size_t wrong = 0;

	for (size_t i = 0; i < fixture->n; i++) {
		if (wrong++ < 3 && steps[i].depth != fixture->steps[i].depth)
			printf("# %zu: %" PRIx64 " is %u deep, not %u\n", i, steps[i].address,
			       fixture->steps[i].depth, steps[i].depth);
		wrong -= steps[i].depth == fixture->steps[i].depth;
	}
	return wrong;
}

static uint32_t deepest(const struct fixture *fixture)
{
	uint32_t most = 0;

	for (size_t i = 0; i < fixture->n; i++)
		most = fixture->steps[i].depth > most ? fixture->steps[i].depth : most;
	return most;
}

static size_t wrong_steps(const struct fixture *fixture, const struct step *steps)
{
	size_t wrong = 0;

	for (size_t i = 0; i < fixture->n; i++)
		wrong += steps[i].address != fixture->steps[i].address ||
			 steps[i].opcode != fixture->steps[i].opcode;
	return wrong;
}

TEST_F(program, has_its_calls_in_es)
{
	ASSERT_EQ(0, written(self->fixture, &self->output, &self->steps, &self->capacity,
			     FLOWTAP_TARMAC_ES, variant->sp));
	ASSERT_EQ(self->fixture->n, draw((char *)self->output.bytes, self->steps, self->capacity));
	EXPECT_EQ(0, wrong_steps(self->fixture, self->steps));
	EXPECT_EQ(0, wrong_depths(self->fixture, self->steps));
	EXPECT_LT(2, deepest(self->fixture));
}

TEST_F(program, has_its_calls_in_fvp)
{
	ASSERT_EQ(0, written(self->fixture, &self->output, &self->steps, &self->capacity,
			     FLOWTAP_TARMAC_FVP, variant->sp));
	ASSERT_EQ(self->fixture->n, draw((char *)self->output.bytes, self->steps, self->capacity));
	EXPECT_EQ(0, wrong_steps(self->fixture, self->steps));
	EXPECT_EQ(0, wrong_depths(self->fixture, self->steps));
	EXPECT_LT(2, deepest(self->fixture));
}

TEST_F(program, is_what_gem5_reads_of_fvp)
{
	size_t registers = 0;

	ASSERT_EQ(0, written(self->fixture, &self->output, &self->steps, &self->capacity,
			     FLOWTAP_TARMAC_FVP, variant->sp));
	ASSERT_EQ(self->fixture->n, gem5((char *)self->output.bytes, self->output.size, self->steps,
					 self->capacity, &registers));
	EXPECT_EQ(0, wrong_steps(self->fixture, self->steps));
	EXPECT_LT(10, registers);
}

/* Without the lines of LR all would be of one depth, and this file would show nothing. */
TEST(calls_are_found_by_the_link_register)
{
	struct fixture *fixture = world_new(FLOWTAP_ISA_A64, false, false, 1);
	struct output output = output_new();
	struct step *steps;
	size_t capacity;

	ASSERT_EQ(0, written(fixture, &output, &steps, &capacity, FLOWTAP_TARMAC_ES, false));
	for (char *at = (char *)output.bytes; (at = strstr(at, "R X30")); at++)
		memcpy(at, "R X29", 5);
	ASSERT_EQ(fixture->n, draw((char *)output.bytes, steps, capacity));
	EXPECT_LT(1000, wrong_depths(fixture, steps));
	free(steps);
	output_free(&output);
	world_free(fixture);
}

#define GOLDEN "selftests/corpus/lines/"

/* What unit/formats/tarmac/writer_refused.c holds the writer to gem5 reads: nothing derails it. */
TEST(gem5_reads_every_line_of_fvp)
{
	static const struct {
		const char *name;
		size_t instructions;
		size_t registers;
	} files[] = {
		{ "calls", 1, 1 }, { "exceptions", 1, 0 }, { "narrow", 1, 1 }, { "narrow-sp", 1, 1 },
		{ "gaps", 1, 0 }, { "riscv", 1, 1 }, { "recursion", 1, 1 }, { "times", 1, 1 },
		{ "times-time", 1, 1 }, { "times-cycles", 1, 1 }, { "calls-skipped", 1, 1 },
	};
	static char text[65536];
	struct step steps[200];

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		size_t registers = 0, n;
		char path[200];
		ssize_t size;
		int fd;

		snprintf(path, sizeof(path), GOLDEN "%s.fvp", files[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		size = read(fd, text, sizeof(text) - 1);
		ASSERT_LT(0, size) TH_LOG("%s", path);
		text[size] = '\0';
		close(fd);
		n = gem5(text, size, steps, 200, &registers);
		EXPECT_NE(SIZE_MAX, n) TH_LOG("%s", path);
		EXPECT_LE(files[i].instructions, n) TH_LOG("%s", path);
		EXPECT_LE(files[i].registers, registers) TH_LOG("%s", path);
		snprintf(path, sizeof(path), GOLDEN "%s.es", files[i].name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		size = read(fd, text, sizeof(text) - 1);
		close(fd);
		/* The form for tarmac-trace-utilities is none for gem5. */
		EXPECT_EQ(SIZE_MAX, gem5(text, size, steps, 200, &registers));
	}
}

TEST_HARNESS_MAIN
