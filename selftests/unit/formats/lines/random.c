// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that whatever flow the writers of Tarmac and QEMU4V are fed - any element at any place, any
 * ISA, addresses and targets that nothing can have - each instruction is in the file once and in
 * order, and a checker that is stricter than real readers finds nothing to complain of.
 *
 * FLOWTAP_SEED tries another seed.
 */
#include <flowtap/arm.h>
#include <flowtap/qemu4v.h>
#include <flowtap/riscv.h>
#include <flowtap/tarmac.h>

#include "support/random.h"
#include "support/sink.h"
#include "support/ttu.h"

#include <errno.h>
#include <inttypes.h>

#include "support/kselftest_harness.h"

#define BLOCKS	64
#define STEPS	3000
#define LONG	9000		/* instructions: more than is kept */

static uint64_t random_state;

static uint32_t below(uint32_t limit)
{
	return random_below(&random_state, limit);
}

static uint64_t any(void)
{
	uint64_t low = below(UINT32_MAX);

	switch (below(4)) {
	case 0:
		return low;
	case 1:
		return low & 0xfff;
	case 2:
		return UINT64_MAX - (low & 0xfff);
	default:
		return low << 32 | below(UINT32_MAX);
	}
}

static void seed(uint64_t value)
{
	const char *text = getenv("FLOWTAP_SEED");

	random_state = (text ? strtoull(text, NULL, 0) : value) | 1;
	printf("# seed %" PRIu64 "\n", random_state);
}

/* The last instruction of a block: opcode and what it does. */
struct end {
	uint8_t isa;
	uint8_t class;
	uint8_t size;
	bool direct, conditional, link;
	uint32_t opcode;	/* as in memory, little endian */
};

static const struct end ends[] = {
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_NONE, 2, 0, 0, 0, 0x0001 },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_TAKEN, 4, 1, 1, 0, 0xfeb51ee3 },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_DIRECT_CALL, 4, 1, 0, 0, 0x006000ef },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_INDIRECT_CALL, 2, 0, 0, 0, 0x9782 },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_RETURN, 2, 0, 0, 0, 0x8082 },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_EXCEPTION, 4, 0, 0, 0, 0x00000073 },
	{ FLOWTAP_ISA_RV64, FLOWTAP_TRANSFER_TRAP_RETURN, 4, 0, 0, 0, 0x10200073 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_OTHER, 4, 0, 0, 0, 0xd4000001 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_BRANCH, 4, 1, 1, 0, 0x54000040 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_CALL, 4, 1, 0, 1, 0x94000006 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_INDIRECT, 4, 0, 0, 0, 0xd61f0000 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_INDIRECT_CALL, 4, 0, 0, 1, 0xd63f0000 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_RETURN, 4, 0, 0, 0, 0xd65f03c0 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_EXCEPTION_RETURN, 4, 0, 0, 0, 0xd69f03e0 },
	{ FLOWTAP_ISA_A64, FLOWTAP_ARM_ISB, 4, 1, 0, 0, 0xd5033fdf },
	{ FLOWTAP_ISA_A32, FLOWTAP_ARM_OTHER, 4, 0, 0, 0, 0xe320f000 },
	{ FLOWTAP_ISA_A32, FLOWTAP_ARM_BRANCH, 4, 1, 1, 0, 0x1a000792 },
	{ FLOWTAP_ISA_A32, FLOWTAP_ARM_CALL, 4, 1, 0, 1, 0xeb000000 },
	{ FLOWTAP_ISA_A32, FLOWTAP_ARM_RETURN, 4, 0, 0, 0, 0xe12fff1e },
	{ FLOWTAP_ISA_A32, FLOWTAP_ARM_EXCEPTION_RETURN, 4, 0, 0, 0, 0xe1b0f00e },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_OTHER, 4, 0, 0, 0, 0x8000f3af },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_BRANCH, 2, 1, 1, 0, 0xb108 },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_BRANCH, 2, 1, 0, 0, 0xe002 },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_CALL, 4, 1, 0, 1, 0xf801f000 },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_INDIRECT_CALL, 2, 0, 0, 1, 0x4780 },
	{ FLOWTAP_ISA_T32, FLOWTAP_ARM_RETURN, 2, 0, 0, 0, 0x4770 },
};

static void put(uint8_t **code, uint32_t opcode, uint8_t size)
{
	memcpy(*code, &opcode, size);
	*code += size;
}

static void put_plain(uint8_t **code, uint8_t isa)
{
	static const uint32_t plain[] = {
		[FLOWTAP_ISA_RV64] = 0x00500513, [FLOWTAP_ISA_A64] = 0xd503201f,
		[FLOWTAP_ISA_A32] = 0xe2800010, [FLOWTAP_ISA_T32] = 0x8000f3af,
	};

	if (isa == FLOWTAP_ISA_RV64 && below(2))
		put(code, 0x4585, 2);
	else if (isa == FLOWTAP_ISA_T32 && below(2))
		put(code, below(2) ? 0xbf00 : 0xbf18, 2);	/* or IT NE */
	else
		put(code, plain[isa], 4);
}

/* Some addresses are such that no instruction can be there. */
static void make(struct flowtap_block *block, uint8_t *code, uint32_t n)
{
	const struct end *end = &ends[below(sizeof(ends) / sizeof(ends[0]))];
	uint8_t *at = code;

	for (uint32_t i = 1; i < n; i++)
		put_plain(&at, end->isa);
	*block = (struct flowtap_block){
		.address = any(), .bytes = code, .instructions = n, .last = at - code,
		.isa = end->isa, .end = end->class, .direct = end->direct,
		.conditional = end->conditional, .link = end->link, .target = any() & ~1ULL,
		.target_isa = end->isa,
	};
	put(&at, end->opcode, end->size);
	block->size = at - code;
	if (below(16))
		block->address &= end->isa == FLOWTAP_ISA_T32 || end->isa == FLOWTAP_ISA_RV64 ?
				  ~1ULL : ~3ULL;
	if (end->isa >= FLOWTAP_ISA_A32 && below(8)) {
		block->address &= UINT32_MAX;
		block->target &= UINT32_MAX;
	}
	if (end->isa == FLOWTAP_ISA_A32 && end->class == FLOWTAP_ARM_CALL && below(2))
		block->target_isa = FLOWTAP_ISA_T32;
	if (end->class == FLOWTAP_ARM_ISB && end->isa == FLOWTAP_ISA_A64)
		block->target = block->address + block->size;
}

/* What has to be in the file. */
struct expected {
	uint64_t address;
	uint32_t opcode;
	char isa;
};

struct fixture {
	struct flowtap_block blocks[BLOCKS];
	uint8_t *code;
	struct expected *insns;
	size_t n, capacity, seen, wrong;
	bool qemu4v;
	bool names;
	uint64_t pc;
};

static void expect(struct fixture *fixture, const struct flowtap_block *block)
{
	static const char tarmac[] = "OOAT", qemu4v[] = "AAAT", names[] = "OOAT";
	const char *letters = !fixture->qemu4v ? tarmac : fixture->names ? names : qemu4v;
	size_t size;

	for (size_t at = 0; at < block->size; at += size) {
		const uint8_t *insn = block->bytes + at;
		uint32_t opcode = insn[0] | insn[1] << 8;

		size = block->isa == FLOWTAP_ISA_RV64 ? (insn[0] & 3) == 3 ? 4 : 2 :
		       block->isa == FLOWTAP_ISA_T32 ? insn[1] >= 0xe8 ? 4 : 2 : 4;
		if (size == 4 && block->isa == FLOWTAP_ISA_T32)
			opcode = opcode << 16 | insn[2] | insn[3] << 8;
		else if (size == 4)
			opcode |= (uint32_t)insn[2] << 16 | (uint32_t)insn[3] << 24;
		if (fixture->n == fixture->capacity) {
			fixture->capacity = 2 * fixture->capacity + 1024;
			fixture->insns = realloc(fixture->insns,
						 fixture->capacity * sizeof(fixture->insns[0]));
		}
		fixture->insns[fixture->n++] = (struct expected){
			block->address + at, opcode, letters[block->isa] };
	}
}

static void seen(struct fixture *fixture, uint64_t address, uint32_t opcode, char isa)
{
	const struct expected *want = &fixture->insns[fixture->seen++];

	if (fixture->seen > fixture->n || want->address != address || want->opcode != opcode ||
	    want->isa != isa)
		fixture->wrong++;
}

static void tarmac_instruction(struct ttu *ttu, uint64_t address, uint32_t opcode, char isa,
			       bool skipped)
{
	(void)skipped;
	seen(ttu->argument, address, opcode, isa);
}

static struct fixture *world_new(void)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint8_t *at = fixture->code = calloc(BLOCKS * 32 + 4 * LONG, 1);

	for (int i = 0; i < BLOCKS; i++) {
		make(&fixture->blocks[i], at, i ? 1 + below(8) : LONG);
		at += fixture->blocks[i].size;
	}
	return fixture;
}

static void world_free(struct fixture *fixture)
{
	blocks_unrender(fixture->blocks, BLOCKS);
	free(fixture->code);
	free(fixture->insns);
	free(fixture);
}

static uint64_t any_target(struct fixture *fixture)
{
	switch (below(8)) {
	case 0:
		return 0;
	case 1:
		return any();
	default:
		return fixture->blocks[below(BLOCKS)].address;
	}
}

static struct flowtap_element any_context(void)
{
	struct flowtap_element element = { .kind = FLOWTAP_ELEMENT_CONTEXT };

	element.context = (struct flowtap_context){
		.pid = below(3), .tid = below(3), .cpu = below(2) ? below(4) : any(),
		.isa = below(4), .mode = below(4), .security = below(4), .has_vmid = below(2),
		.has_contextid = below(2), .has_cpu = below(2), .vmid = below(2),
		.contextid = any(),
	};
	return element;
}

static struct flowtap_element any_element(struct fixture *fixture)
{
	static const uint64_t frames[] = { 0, UINT64_MAX, 0x10 };
	static const char *const details[] = { NULL, "", "\n", "; // *", "a\rb\x7f\xff", "IT (1)" };
	struct flowtap_element element = { .kind = below(FLOWTAP_ELEMENT_SOURCE + 1) };

	switch (element.kind) {
	case FLOWTAP_ELEMENT_CONTEXT:
		return any_context();
	case FLOWTAP_ELEMENT_EXCEPTION:
		element.exception = (struct flowtap_exception){
			.number = below(8) ? (int)below(32) - 1 : (int)any(),
			.interrupt = below(2),
			.address = below(2) ? fixture->pc : any_target(fixture),
			.target = below(2) ? 0 : any_target(fixture),
		};
		break;
	case FLOWTAP_ELEMENT_GAP:
		element.gap = (struct flowtap_gap){
			.reason = below(FLOWTAP_GAP_REASONS + 2), .since = any(), .until = any(),
			.size = any(), .address = any(), .detail = details[below(6)],
		};
		break;
	case FLOWTAP_ELEMENT_TRANSFER:
		element.transfer = (struct flowtap_transfer){ any(), any(), below(256), below(2) };
		break;
	case FLOWTAP_ELEMENT_CALLSTACK:
		element.callstack.frames = frames;
		element.callstack.n = below(4);
		break;
	case FLOWTAP_ELEMENT_TIMESTAMP:
		element.timestamp = (struct flowtap_timestamp){ any(), any(), below(2) };
		break;
	case FLOWTAP_ELEMENT_Q:
		element.q = (struct flowtap_q){ any(), any(), any() };
		break;
	case FLOWTAP_ELEMENT_TRANSACTION:
		element.transaction = below(3);
		break;
	case FLOWTAP_ELEMENT_CYCLES:
		element.cycles.count = any();
		element.cycles.unknown = below(2);
		break;
	case FLOWTAP_ELEMENT_INSTRUMENTATION:
		element.instrumentation.value = any();
		element.instrumentation.mode = below(4);
		break;
	default:
		element.time = below(2) ? below(1000000) : any();
	}
	return element;
}

/* The first error that is no refusal of what cannot be. */
static int feed(struct fixture *fixture, struct flowtap_sink *sink)
{
	for (int i = 0; i < STEPS; i++) {
		struct flowtap_block *block = &fixture->blocks[below(BLOCKS)];
		bool taken = block->end && (!block->conditional || below(2));
		uint64_t target;
		int error;

		/* Often what the flow comes to, else anything. */
		for (int k = 0; k < BLOCKS && below(8); k++) {
			if (fixture->blocks[k].address == fixture->pc)
				block = &fixture->blocks[k];
		}
		if (block == fixture->blocks && below(64))
			block++;
		taken = block->end && (!block->conditional || below(2));
		target = !taken ? block->address + block->size :
			 block->direct && below(8) ? block->target : any_target(fixture);
		error = sink_block(sink, block, taken, target);
		if (!error) {
			expect(fixture, block);
			fixture->pc = target;
		} else if (error != -EINVAL) {
			return error;
		}
		while (!below(3)) {
			error = sink_element(sink, any_element(fixture));
			if (error && error != -EINVAL)
				return error;
		}
	}
	return 0;
}

static struct flowtap_lines_options any_options(void)
{
	return (struct flowtap_lines_options){
		.time = below(FLOWTAP_LINES_TIMES), .since = below(2) ? any() : 0,
		.frequency = below(2) ? any() : 0, .synthetic_sp = below(2),
		.untaken_skipped = below(2),
	};
}

TEST(tarmac_of_any_flow_is_what_readers_take)
{
	seed(0x9e3779b97f4a7c15);
	for (int round = 0; round < 12; round++) {
		struct flowtap_tarmac_options options = {
			.lines = any_options(), .dialect = round % FLOWTAP_TARMAC_DIALECTS,
			.riscv = true,
		};
		struct fixture *fixture = world_new();
		struct output output = output_new();
		struct flowtap_tarmac *tarmac;
		struct ttu ttu = {
			.rows = options.dialect == FLOWTAP_TARMAC_FVP, .argument = fixture,
			.spelled = options.dialect == FLOWTAP_TARMAC_STRICT,
			.instruction = tarmac_instruction,
		};

		ASSERT_EQ(0, flowtap_tarmac_new(output.fd, &options, &tarmac));
		ASSERT_EQ(0, feed(fixture, flowtap_tarmac_sink(tarmac)));
		ASSERT_EQ(0, flowtap_tarmac_finish(tarmac));
		output_read(&output);
		ASSERT_TRUE(ttu_check(&ttu, (char *)output.bytes, output.size));
		EXPECT_EQ(fixture->n, ttu.instructions);
		EXPECT_EQ(fixture->n, fixture->seen);
		EXPECT_EQ(0, fixture->wrong);
		EXPECT_EQ(fixture->n, flowtap_tarmac_counts(tarmac)->instructions);
		EXPECT_EQ(output.size, flowtap_tarmac_counts(tarmac)->bytes);
		/* That it was about something. */
		EXPECT_LT(1000, fixture->n);
		EXPECT_LT(50, ttu.gaps);
		EXPECT_LT(20, ttu.exceptions);
		EXPECT_LT(20, ttu.registers);
		flowtap_tarmac_free(tarmac);
		output_free(&output);
		world_free(fixture);
	}
}

/* Lines as the specification has them: of instructions and of registers, and no others. */
static bool is_qemu4v(struct fixture *fixture, const char *line, uint64_t *time, uint64_t *id)
{
	char letter, mode[16], name[8], value[20], unit[4], address[20], opcode[12], tag[3];
	uint64_t now, number;
	uint32_t cpu;
	int end = 0;

	if (sscanf(line, "%" SCNu64 " %3s R %7[a-z0-9] %16[0-9a-f]%n", &now, unit, name, value,
		   &end) == 4 && end && !line[end])
		return now == *time && (strlen(value) == 16 || strlen(value) == 8);
	end = 0;
	if (sscanf(line, "%" SCNu64 " %3s %" SCNu32 " %2s (%" SCNu64 ") %16[0-9a-f] %8[0-9a-f] %c "
		   "%15[a-z_] : %n", &now, unit, &cpu, tag, &number, address, opcode, &letter, mode,
		   &end) != 9 || !end || !line[end])
		return false;
	if (now <= *time || number <= *id || (strcmp(unit, "clk") && strcmp(unit, "ps")) ||
	    (strcmp(tag, "IT") && strcmp(tag, "IS")))
		return false;
	*time = now;
	*id = number;
	seen(fixture, strtoull(address, NULL, 16), strtoul(opcode, NULL, 16), letter);
	return true;
}

static bool check_qemu4v(struct fixture *fixture, char *text)
{
	uint64_t time = 0, id = 0;
	char *save, *line;

	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (!is_qemu4v(fixture, line, &time, &id)) {
			printf("# %s\n", line);
			return false;
		}
	}
	return true;
}

TEST(qemu4v_of_any_flow_is_as_specified_and_by_cpu_names_what_readers_take)
{
	seed(0x123456789);
	for (int round = 0; round < 12; round++) {
		struct flowtap_qemu4v_options options = {
			.lines = any_options(), .modes = below(2), .cpu_names = round & 1,
		};
		struct fixture *fixture = world_new();
		struct output output = output_new();
		struct flowtap_qemu4v *qemu4v;
		struct ttu ttu = {
			.rows = true, .argument = fixture, .instruction = tarmac_instruction,
		};

		fixture->qemu4v = true;
		fixture->names = options.cpu_names;
		ASSERT_EQ(0, flowtap_qemu4v_new(output.fd, &options, &qemu4v));
		ASSERT_EQ(0, feed(fixture, flowtap_qemu4v_sink(qemu4v)));
		ASSERT_EQ(0, flowtap_qemu4v_finish(qemu4v));
		output_read(&output);
		if (options.cpu_names) {
			ttu.riscv = true;
			ASSERT_TRUE(ttu_check(&ttu, (char *)output.bytes, output.size));
		} else {
			ASSERT_TRUE(check_qemu4v(fixture, (char *)output.bytes));
		}
		EXPECT_EQ(fixture->n, fixture->seen);
		EXPECT_EQ(0, fixture->wrong);
		EXPECT_LT(1000, fixture->n);
		flowtap_qemu4v_free(qemu4v);
		output_free(&output);
		world_free(fixture);
	}
}

TEST_HARNESS_MAIN
