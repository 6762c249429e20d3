// SPDX-License-Identifier: GPL-2.0-only
/* Shows that both checkers of STF know the rules of Arm's traces. */
#include <flowtap/arm.h>
#include <flowtap/check.h>

#include "stfcheck/opcode.h"
#include "stfcheck/sample.h"
#include "stfcheck/stfcheck.h"
#include "support/hex.h"
#include "support/random.h"
#include "support/sink.h"

#include <errno.h>

#include "support/kselftest_harness.h"
#include "support/seed.h"

#define HEADER	"01 'STF' 02 01000000 05000000 03 #'arm' 04 0200 05 0000 06 ff 000000 0000 " \
		"07 0804080000000000 08 000000000000000000000000 09 0010000000000000 13 "
#define PID	"08 000000000000000000000000 "
#define MODE(n)	"64 0000000000000040 01 0" #n "00000000000000 "
#define A64	"03 #'context A64 EL0 nonsecure 64' "
#define A64_EL1	"03 #'context A64 EL1 nonsecure 64' "
#define A32	"03 #'context A32 EL0 nonsecure 32' "
#define T32	"03 #'context T32 EL0 nonsecure 32' "
#define START	HEADER PID
#define AFTER	"03 #'after the next instruction' "
#define TO(n)	"1f " n "000000000000 "
#define NOP	"f0 1f2003d5 "
#define ADD	"f0 0000018b "
#define B_40	"f0 10000014 "		/* b +0x40 */
#define FORCE	"09 0010000000000000 "
#define FORCE_2	"09 0210000000000000 "

struct rule {
	const char *trace;
	const char *reason;	/* of stfcheck, how it begins; NULL: it is right */
	const char *problem;	/* of `flowtap check`; NULL: it is right */
	bool strict;		/* for stfcheck */
};

static const struct rule rules[] = {
	{ START A64 MODE(0) NOP, NULL, NULL, true },
	{ START A64 TO("4010") MODE(0) B_40, NULL, NULL, true },
	{ START A64 TO("4410") MODE(0) B_40, "INST_PC_TARGET 0x1044, but", "INST_PC_TARGET 0x1044, but",
	  false },
	{ START A64 MODE(0) B_40, "unconditional jump", "a jump without", false },
	{ START A64 TO("0410") MODE(0) ADD, "INST_PC_TARGET on", "INST_PC_TARGET of an", false },
	{ START A64 TO("0410") MODE(0) "f0 df3f03d5", "INST_PC_TARGET on", "INST_PC_TARGET of an",
	  false },					/* isb */
	{ START A64 TO("0010") MODE(0) "f0 1f2003d4", "INST_PC_TARGET on", NULL, false },
	{ START A64 MODE(0) "f1 00bf", "opcode 0xbf00 in a record of 2", "opcode 0xbf00 is not", false },
	{ START A64 MODE(0) NOP A64 FORCE_2 NOP, "opcode 0xd503201f in", "PC 0x1002 is not", false },
	{ START A64 MODE(0) "f0 c0035fd6" NOP, "no FORCE_PC", "no FORCE_PC after a branch", false },
	{ START A64 MODE(0) "f0 c0035fd6" A64 FORCE NOP, NULL, NULL, true },
	/* Modes. */
	{ START A64 MODE(0) NOP A64_EL1 MODE(1) NOP, "a switch to mode 1", "a switch to mode 1", false },
	{ START A64_EL1 MODE(1) NOP A64 MODE(0) NOP, "a switch to user", "a switch to user", false },
	{ START A64_EL1 TO("0010") MODE(1) MODE(0) "f0 e0039fd6" A64 NOP, NULL, NULL, true },
	{ START A64 MODE(1) NOP, "mode 1, but EL0", NULL, true },
	{ START A64 MODE(0) NOP A64_EL1 NOP, "mode 0, but EL1", NULL, true },
	{ START MODE(0) NOP, "no comment says", NULL, true },
	{ START A64 MODE(0) "64 0200000000000000 01 0000000000000000 " NOP, "an EVENT with a cause",
	  NULL, true },
	/* The other two. */
	{ START A32 TO("0010") MODE(0) "f0 feffffea", NULL, NULL, true },
	{ START A32 TO("0410") MODE(0) "f0 feffffea", "INST_PC_TARGET 0x1004", "INST_PC_TARGET 0x1004",
	  false },
	{ START A32 MODE(0) "f0 feffffea", "unconditional jump", "a jump without", false },
	{ START A32 MODE(0) "f0 feffff0a", NULL, NULL, true },
	{ START A32 TO("0810") MODE(0) "f0 000000fa", NULL, NULL, true },	/* blx */
	{ START A32 TO("0a10") MODE(0) "f0 000000fb", NULL, NULL, true },	/* blx, H */
	{ START A32 MODE(0) "f1 00bf", "opcode", "opcode 0xbf00 is not", false },
	{ START T32 MODE(0) "f0 0080aff3 f1 00bf", NULL, NULL, true },
	{ START T32 MODE(0) "f0 aff30080", "opcode 0x8000f3af in", "opcode 0x8000f3af is not", false },
	{ START T32 MODE(0) "f1 aff3", "opcode 0xf3af in", "opcode 0xf3af is not", false },
	{ START T32 TO("1010") MODE(0) "f1 06e0", NULL, NULL, true },		/* b.n +16 */
	{ START T32 TO("1210") MODE(0) "f1 06e0", "INST_PC_TARGET", "INST_PC_TARGET", false },
	{ START T32 TO("0e10") MODE(0) "f1 2bb1", NULL, NULL, true },		/* cbz +14 */
	{ START T32 TO("f40f") MODE(0) "f0 f8af7ff4", NULL, NULL, true },	/* bne.w -12 */
	{ START T32 TO("0410") MODE(0) "f0 00f800f0", NULL, NULL, true },	/* bl */
	{ START T32 TO("f00f") MODE(0) "f0 f6fffff7", NULL, NULL, true },	/* bl -16 */
	{ START T32 TO("f20f") MODE(0) "f0 f6fffff7", "INST_PC_TARGET", "INST_PC_TARGET", false },
	{ START T32 MODE(0) "f1 00bf" TO("0410") "f0 00e800f0", NULL, NULL, true }, /* blx @1002 */
	{ START T32 MODE(0) "f1 00bf" TO("0610") "f0 00e800f0", "INST_PC_TARGET", "INST_PC_TARGET",
	  false },
	/* What holds after the last instruction. */
	{ START A64 MODE(0) AFTER T32 NOP, NULL, NULL, true },
	{ START A64 MODE(0) T32 NOP, "opcode", "opcode", false },
	/* What another tool says of nothing is not judged. */
	{ START TO("0410") MODE(0) "f0 c0035fd6 f1 c003", NULL, NULL, false },
};

struct first {
	char reason[200];
};

static void keep_first(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct first *first = check->argument;

	if (check->problems == 1)
		snprintf(first->reason, sizeof(first->reason), "%s", problem->reason);
}

static int check_bytes(const uint8_t *bytes, size_t size, struct first *first, uint64_t *problems)
{
	struct flowtap_check check = { .problem = keep_first, .argument = first };
	int fd = memfd_create("checked", MFD_CLOEXEC), error;

	error = write(fd, bytes, size) == (ssize_t)size ? flowtap_check_file(&check, fd) : -EIO;
	close(fd);
	*problems = check.problems;
	return error;
}

static bool begins(const char *text, const char *how)
{
	return how ? !strncmp(text, how, strlen(how)) : !*text;
}

TEST(both_name_the_rule_that_is_broken)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
		const struct rule *rule = &rules[i];
		struct stfcheck ours = { .strict = rule->strict };
		struct first first = { .reason = "" };
		struct hex trace = { .size = 0 };
		uint64_t problems;

		hex_add(&trace, rule->trace);
		EXPECT_EQ(rule->reason ? -EBADMSG : 0,
			  stfcheck_run(&ours, trace.bytes, trace.size));
		EXPECT_TRUE(begins(ours.reason, rule->reason))
			TH_LOG("rule %zu, stfcheck: \"%s\"", i, ours.reason);
		EXPECT_EQ(0, check_bytes(trace.bytes, trace.size, &first, &problems));
		EXPECT_EQ(rule->problem ? 1 : 0, problems);
		EXPECT_TRUE(begins(first.reason, rule->problem))
			TH_LOG("rule %zu, check: \"%s\"", i, first.reason);
	}
}

static int add_pc(void *argument, const struct stfcheck_insn *insn)
{
	struct hex *list = argument;

	hex_put(list, insn->arm);
	hex_put(list, insn->pc & 0xff);
	return 0;
}

/* Made by hand, strictly right, and each instruction where the sample says it is. */
TEST(both_take_the_sample)
{
	static const uint8_t want[] = { 64, 0x00, 64, 0x0c, 64, 0x00, 64, 0x04, 64, 0x10, 16, 0x02,
					16, 0x06, 16, 0x08, 32, 0x0c, 32, 0x0c };
	struct hex list = { .size = 0 };
	struct stfcheck ours = { .strict = true, .insn = add_pc, .argument = &list };
	struct first first = { .reason = "" };
	uint64_t problems;

	EXPECT_EQ(0, stfcheck_run(&ours, sample_isas, sizeof(sample_isas)));
	EXPECT_STREQ("", ours.reason);
	ASSERT_EQ(sizeof(want), list.size);
	EXPECT_EQ(0, memcmp(want, list.bytes, sizeof(want)));
	EXPECT_EQ(0, check_bytes(sample_isas, sizeof(sample_isas), &first, &problems));
	EXPECT_EQ(0, problems) TH_LOG("%s", first.reason);
}

/* In memory of exactly that size, so that a byte read beyond is found. */
TEST(survives_every_cut_and_every_flipped_bit)
{
	uint8_t *copy = malloc(sizeof(sample_isas));
	unsigned int found = 0;

	for (size_t bit = 0; bit < 8 * sizeof(sample_isas); bit++) {
		struct stfcheck check = { .strict = bit & 1 };

		memcpy(copy, sample_isas, sizeof(sample_isas));
		copy[bit / 8] ^= 1 << bit % 8;
		found += stfcheck_run(&check, copy, sizeof(sample_isas)) < 0;
	}
	EXPECT_LT(1000, found);
	free(copy);
	for (size_t size = 1; size < sizeof(sample_isas); size++) {
		struct stfcheck check = { .strict = true };

		copy = malloc(size);
		memcpy(copy, sample_isas, size);
		stfcheck_run(&check, copy, size);
		EXPECT_LE(check.offset, size);
		free(copy);
	}
}

/* Among the encodings of branches more often than anywhere. */
static uint32_t random_opcode(enum flowtap_isa isa, uint64_t *state)
{
	static const uint32_t tops[] = { 0x54000000, 0x74000000, 0x75000000 };
	uint32_t opcode = random_u32(state);

	if (isa == FLOWTAP_ISA_A64 && *state & 1)
		return (opcode & 0x80ffffff) | tops[(*state >> 1 & 0x7fff) % 3];
	if (isa == FLOWTAP_ISA_A64 && *state & 2)
		return (opcode & 0x01e00fff) | 0xd61f0000;
	if (isa == FLOWTAP_ISA_T32 && *state & 1)
		return (opcode & 0x07ffffff) | 0xf0000000 | (*state & 2 ? 0x8000 : 0);
	return opcode;
}

/* Whether what the library says of it is what the checker does. */
static bool agree(enum opcode_kind kind, uint64_t target, const struct flowtap_arm_insn *insn,
		  enum flowtap_isa isa)
{
	bool branch = insn->kind >= FLOWTAP_ARM_BRANCH &&
		      insn->kind <= FLOWTAP_ARM_EXCEPTION_RETURN;
	bool returns = insn->kind == FLOWTAP_ARM_EXCEPTION_RETURN;

	switch (kind) {
	case OPCODE_PLAIN:
		return !branch;
	case OPCODE_BRANCH:
		return branch && insn->direct && insn->target == target &&
		       (insn->conditional || isa == FLOWTAP_ISA_T32);
	case OPCODE_JUMP:
		return branch && insn->direct && insn->target == target && !insn->conditional;
	case OPCODE_INDIRECT:
		return branch && !insn->direct && !returns;
	case OPCODE_RETURN:
		return returns;
	case OPCODE_ANY:
		return !(branch && insn->direct);
	default:
		return false;
	}
}

TEST(opcodes_are_to_the_checker_what_they_are_to_the_library)
{
	static const enum opcode_arm arms[] = { [FLOWTAP_ISA_A64] = ARM_A64,
						[FLOWTAP_ISA_A32] = ARM_A32,
						[FLOWTAP_ISA_T32] = ARM_T32 };
	uint64_t state = seeded(0x9e3779b97f4a7c15), kinds[OPCODE_ANY + 1] = { 0 };

	for (unsigned int i = 0; i < 3000000; i++) {
		enum flowtap_isa isa = FLOWTAP_ISA_A64 + i % 3;
		uint32_t opcode = random_opcode(isa, &state), memory = opcode, size = 4;
		uint64_t pc = isa == FLOWTAP_ISA_A64 ? state & ~3ULL : (uint32_t)state & ~3U, target;
		struct flowtap_arm_insn insn;
		enum opcode_kind kind;

		if (isa == FLOWTAP_ISA_T32) {
			memory = opcode << 16 | opcode >> 16;
			size = opcode >> 16 < 0xe800 ? 2 : 4;
			opcode >>= size == 2 ? 16 : 0;
		}
		ASSERT_EQ(0, flowtap_arm_classify(isa, pc, 0, (const uint8_t *)&memory, 4, &insn));
		kind = opcode_arm_kind(arms[isa], opcode, size, pc, &target);
		kinds[kind]++;
		ASSERT_TRUE(insn.length == size && agree(kind, target, &insn, isa))
			TH_LOG("ISA %u, opcode %x", isa, opcode);
	}
	EXPECT_LT(1000, kinds[OPCODE_JUMP]);
	EXPECT_LT(1000, kinds[OPCODE_BRANCH]);
	EXPECT_LT(1000, kinds[OPCODE_INDIRECT]);
}

TEST_HARNESS_MAIN
