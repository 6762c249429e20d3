// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that GNU objdump says the same of hundreds of thousands of instructions: of each T32 one of
 * two bytes, and of random ones of the rest, most of them from where the branches are.
 *
 * FLOWTAP_SEED=N tries others.
 */
#include <flowtap/arm.h>
#include <unistd.h>

#include "support/kselftest_harness.h"
#include "support/random.h"
#include "support/seed.h"
#include "unit/isa/arm_judge.h"

#define OBJDUMP64 "aarch64-linux-gnu-objdump"
#define OBJDUMP32 "arm-linux-gnueabihf-objdump"
#define CAPACITY	(4U << 20)

/* Random bits, but for those of the mask. */
struct family {
	uint32_t mask;
	uint32_t value;
};

static const struct family families64[] = {
	{ 0, 0 },
	{ 0x1c000000, 0x14000000 },			/* branches, exceptions, system */
	{ 0x7c000000, 0x14000000 }, { 0xff000000, 0x54000000 }, { 0x7c000000, 0x34000000 },
	{ 0x7e000000, 0x74000000 }, { 0xff00001f, 0x5500001f },
	{ 0xff000000, 0xd4000000 }, { 0xfe000000, 0xd6000000 }, { 0xfe1f0000, 0xd61f0000 },
	{ 0xfe1ff000, 0xd61f0000 }, { 0xfe1ff01f, 0xd61f001f }, { 0xfe1ffc1f, 0xd61f0000 },
	{ 0xfe1ff3ff, 0xd61f03e0 }, { 0xfe1ff3ff, 0xd61f03ff }, { 0xff1ff800, 0xd71f0800 },
	{ 0xff000000, 0xd5000000 }, { 0xffff0000, 0xd5030000 }, { 0xfffff01f, 0xd503201f },
	{ 0xfffff01f, 0xd503301f }, { 0xfffff000, 0xd5031000 }, { 0xfffff000, 0xd5233000 },
	{ 0xfffffe00, 0xd5233000 },
};

static const struct family families_a32[] = {
	{ 0, 0 }, { 0xf0000000, 0xf0000000 },
	{ 0x0e000000, 0x00000000 }, { 0x0e000000, 0x02000000 }, { 0x0e000000, 0x04000000 },
	{ 0x0e000000, 0x06000000 }, { 0x0e000000, 0x08000000 }, { 0x0e000000, 0x0a000000 },
	{ 0x0e000000, 0x0e000000 },
	{ 0x0e00f000, 0x0000f000 }, { 0x0e00f010, 0x0000f000 }, { 0x0e00f000, 0x0200f000 },
	{ 0x0e00f000, 0x0400f000 }, { 0x0e00f010, 0x0600f000 }, { 0x0e108000, 0x08108000 },
	{ 0x0fff0000, 0x08bd0000 }, { 0x0fff0000, 0x049d0000 }, { 0x0ff00ff0, 0x01a00000 },
	{ 0x0ff0ffff, 0x01a0f00e }, { 0x0fffff00, 0x012fff00 }, { 0x0ff00000, 0x01200000 },
	{ 0x0ffffff0, 0x01600060 }, { 0x0fffffff, 0x0160006e }, { 0x0fffff00, 0x0320f000 },
	{ 0x0ffffff0, 0x0320f000 },
	{ 0x0f000f10, 0x0e000f10 }, { 0x0fff0f1f, 0x0e070f15 }, { 0xfe000000, 0xfa000000 },
	{ 0xfe50ffff, 0xf8100a00 }, { 0xfe000000, 0xf8000000 }, { 0xffffff00, 0xf57ff000 },
};

/* The first halfword above the second. */
static const struct family families_t32[] = {
	{ 0xf8000000, 0xe8000000 }, { 0xf8000000, 0xf0000000 }, { 0xf8000000, 0xf8000000 },
	{ 0xf800d000, 0xf0008000 }, { 0xf800d000, 0xf0009000 }, { 0xf800d000, 0xf000c000 },
	{ 0xf800d001, 0xf000c000 }, { 0xf800d000, 0xf000d000 },
	{ 0xff80d000, 0xf3808000 }, { 0xff80ff00, 0xf3808f00 }, { 0xfff0ff00, 0xf3d08f00 },
	{ 0xfffff0f0, 0xf3b08000 }, { 0xffffff00, 0xf3bf8f00 }, { 0xfffff8f0, 0xf3af8000 },
	{ 0xfffffffc, 0xf3af8000 },
	{ 0xff80d000, 0xf7808000 }, { 0xffcff001, 0xf00fc001 }, { 0xff80f001, 0xf000c001 },
	{ 0xfe108000, 0xe8108000 }, { 0xffff0000, 0xe8bd0000 }, { 0xffd0ffff, 0xe810c000 },
	{ 0xffd0ffff, 0xe990c000 }, { 0xfff0fff0, 0xe8d0f000 }, { 0xfff0ffe0, 0xe8d0f000 },
	{ 0xff70f000, 0xf850f000 }, { 0xffdff000, 0xf85ff000 }, { 0xfff0ffc0, 0xf850f000 },
	{ 0xfff0f800, 0xf850f800 }, { 0xfffff800, 0xf85df800 }, { 0xff000f10, 0xee000f10 },
	{ 0xffff0f1f, 0xee070f15 }, { 0xfe00f000, 0xf800f000 }, { 0xffff0000, 0xe89f0000 },
	{ 0xfff00ff0, 0xfb500f10 },
};

/*
 * Bits that should be 0 or 1, without which objdump does not know the instruction while we do:
 * CONSTRAINED UNPREDICTABLE, and a branch all the same if it is anything.
 */
static const struct {
	enum flowtap_isa isa;
	uint32_t mask, value;	/* which instruction */
	uint32_t bits, should;
} should_be[] = {
	{ FLOWTAP_ISA_A32, 0x0ff000f0, 0x01200010, 0x000fff00, 0x000fff00 },	/* BX */
	{ FLOWTAP_ISA_A32, 0x0ff000f0, 0x01200020, 0x000fff00, 0x000fff00 },	/* BXJ */
	{ FLOWTAP_ISA_A32, 0x0ff000f0, 0x01200030, 0x000fff00, 0x000fff00 },	/* BLX */
	{ FLOWTAP_ISA_A32, 0x0ff000f0, 0x01600060, 0x000fff0f, 0x0000000e },	/* ERET */
	{ FLOWTAP_ISA_A32, 0x0fff00fe, 0x03200002, 0x0000ff00, 0x0000f000 },	/* WFE, WFI */
	{ FLOWTAP_ISA_A32, 0x0fa0f010, 0x01a0f000, 0x000f0000, 0 },		/* MOV, MVN */
	{ FLOWTAP_ISA_A32, 0x0fa0f000, 0x03a0f000, 0x000f0000, 0 },
	{ FLOWTAP_ISA_A32, 0xfff000f0, 0xf5700060, 0x000fff00, 0x000ff000 },	/* ISB */
	{ FLOWTAP_ISA_A32, 0xfe500000, 0xf8100000, 0x0000ffff, 0x00000a00 },	/* RFE */
	{ FLOWTAP_ISA_T32, 0xffffff80, 0x00004700, 0x00000007, 0 },		/* BX */
	{ FLOWTAP_ISA_T32, 0xffffff80, 0x00004780, 0x00000007, 0 },		/* BLX */
	{ FLOWTAP_ISA_T32, 0xfff0d000, 0xf3c08000, 0x00002fff, 0x00000f00 },	/* BXJ */
	{ FLOWTAP_ISA_T32, 0xfff0d000, 0xf3d08000, 0x000f2f00, 0x000e0f00 },	/* SUBS PC, LR */
	{ FLOWTAP_ISA_T32, 0xfff0d7fe, 0xf3a08002, 0x000f2800, 0x000f0000 },	/* WFE, WFI */
	{ FLOWTAP_ISA_T32, 0xfff0d0f0, 0xf3b08060, 0x000f2f00, 0x000f0f00 },	/* ISB */
	{ FLOWTAP_ISA_T32, 0xffd00000, 0xe8100000, 0x0000ffff, 0x0000c000 },	/* RFE */
	{ FLOWTAP_ISA_T32, 0xffd00000, 0xe9900000, 0x0000ffff, 0x0000c000 },	/* RFE */
	{ FLOWTAP_ISA_T32, 0xfff000e0, 0xe8d00000, 0x0000ff00, 0x0000f000 },	/* TBB, TBH */
};

/*
 * T32 of which objdump and the manual say different things; the first that matches counts. What
 * writes the PC in data processing is UNPREDICTABLE, and then no branch for us, see isa/arm_a32.c.
 */
static const struct {
	uint32_t mask, value;
	unsigned int class;
} deviations[] = {
	{ 0xfe000f00, 0xea000f00, FLOWTAP_ARM_OTHER },	/* data processing with registers */
	{ 0xf8008f00, 0xf0000f00, FLOWTAP_ARM_OTHER },	/* and with immediates */
	{ 0xff80ff00, 0xfa00ff00, FLOWTAP_ARM_OTHER },	/* shifts by registers */
	{ 0xffff0000, 0xe89f0000, FLOWTAP_ARM_OTHER },	/* CLRM, or an LDM from the PC */
	/* BXAUT, which objdump has as SMMULR or SMMLAR to the PC. */
	{ 0xffff0ff0, 0xfb5e0f10, FLOWTAP_ARM_RETURN },
	{ 0xfff00ff0, 0xfb500f10, FLOWTAP_ARM_INDIRECT },
	{ 0xff7ff000, 0xf85ff000, FLOWTAP_ARM_INDIRECT },	/* LDR (literal), never LDRT */
	{ 0xfff0ffc0, 0xf850f000, FLOWTAP_ARM_INDIRECT },	/* LDR (register) */
	{ 0xffffffff, 0xf85df900, FLOWTAP_ARM_INDIRECT },	/* [SP], #-0: no POP */
	{ 0xfff0f800, 0xf850f000, FLOWTAP_ARM_OTHER },	/* with bits 10:6: not allocated */
};

static uint64_t state;

static uint32_t next_random(void)
{
	return random_u32(&state);
}

static void sow(void)
{
	state = seeded(0x9e3779b97f4a7c15);
}

FIXTURE(sweep) {
	uint8_t *bytes;
	size_t size;
};

FIXTURE_SETUP(sweep)
{
	self->bytes = malloc(CAPACITY);
	ASSERT_NE(self->bytes, NULL);
	sow();
}

FIXTURE_TEARDOWN(sweep)
{
	free(self->bytes);
}

static void put(FIXTURE_DATA(sweep) *self, enum flowtap_isa isa, uint32_t insn)
{
	unsigned int length = isa == FLOWTAP_ISA_T32 && insn < 0x10000 ? 2 : 4;

	if (self->size + length > CAPACITY)
		abort();
	if (isa == FLOWTAP_ISA_T32 && length == 4)
		insn = insn << 16 | insn >> 16;
	for (unsigned int i = 0; i < length; i++)
		self->bytes[self->size++] = insn >> 8 * i;
}

/* Half of them with one bit of the family's own turned over. */
static uint32_t member(const struct family *family)
{
	uint32_t insn = (next_random() & ~family->mask) | family->value;

	if (next_random() & 1)
		insn ^= 1U << next_random() % 32;
	return insn;
}

static void put_families(FIXTURE_DATA(sweep) *self, enum flowtap_isa isa,
			 const struct family *families, size_t n, unsigned int each)
{
	uint32_t insn;

	for (size_t i = 0; i < n; i++) {
		for (unsigned int k = 0; k < each; k++) {
			do {
				insn = member(&families[i]);
				/*
				 * Four bytes, and none of which objdump takes the second half for
				 * IT.
				 */
			} while (isa == FLOWTAP_ISA_T32 &&
				 (insn < 0xe8000000 || (insn & 0xff00) == 0xbf00));
			put(self, isa, insn);
		}
	}
}

/* Of A64, what binutils 2.44 does not know: FEAT_PAuth_LR, FEAT_CMPBR, FEAT_TEV. */
static unsigned int newer(uint32_t insn)
{
	uint32_t cc = insn >> 21 & 7;
	bool allocated = cc != 4 && cc != 5;

	if ((insn & 0xfffffbff) == 0xd6ff03e0)
		return FLOWTAP_ARM_EXCEPTION_RETURN;
	if ((insn & 0xfffffbe0) == 0xd65f0be0)
		return FLOWTAP_ARM_RETURN;
	if (insn >> 24 == 0x55)
		return cc < 2 && (insn & 0x1f) == 0x1f ? FLOWTAP_ARM_RETURN : FLOWTAP_ARM_OTHER;
	if ((insn >> 24 & 0x7f) == 0x75)
		return allocated && !(insn & 0x4000) ? FLOWTAP_ARM_BRANCH : FLOWTAP_ARM_OTHER;
	if ((insn >> 24 & 0x7f) != 0x74 || !allocated)
		return FLOWTAP_ARM_OTHER;
	switch (insn >> 14 & 3) {
	case 0:
		return FLOWTAP_ARM_BRANCH;
	case 1:
		return FLOWTAP_ARM_OTHER;
	default:
		return insn >> 31 ? FLOWTAP_ARM_OTHER : FLOWTAP_ARM_BRANCH;
	}
}

static uint32_t opcode(enum flowtap_isa isa, const uint8_t *bytes, unsigned int length)
{
	uint32_t low = bytes[0] | bytes[1] << 8, high;

	if (length == 2)
		return low;
	high = bytes[2] | (uint32_t)bytes[3] << 8;
	return isa == FLOWTAP_ISA_T32 ? low << 16 | high : high << 16 | low;
}

/* The class that it has with all bits as they should be; OTHER where it is nothing of the kind. */
static unsigned int tidy_class(enum flowtap_isa isa, uint32_t insn)
{
	struct flowtap_arm_insn tidy;
	uint8_t bytes[4];

	for (size_t i = 0; i < ARRAY_SIZE(should_be); i++) {
		if (should_be[i].isa != isa || (insn & should_be[i].mask) != should_be[i].value)
			continue;
		if ((insn & should_be[i].bits) == should_be[i].should)
			return FLOWTAP_ARM_OTHER;
		insn = (insn & ~should_be[i].bits) | should_be[i].should;
		if (isa == FLOWTAP_ISA_T32 && insn > 0xffff)
			insn = insn << 16 | insn >> 16;
		for (int n = 0; n < 4; n++)
			bytes[n] = insn >> 8 * n;
		if (!flowtap_arm_classify(isa, 0, 0, bytes, sizeof(bytes), &tidy))
			return tidy.kind;
	}
	return FLOWTAP_ARM_OTHER;
}

/* The class by the list of deviations, or one that is none. */
static unsigned int deviation(enum flowtap_isa isa, uint32_t insn)
{
	for (size_t i = 0; i < ARRAY_SIZE(deviations) && isa == FLOWTAP_ISA_T32; i++)
		if ((insn & deviations[i].mask) == deviations[i].value)
			return deviations[i].class;
	return FLOWTAP_ARM_CLASSES;
}

static bool agree(enum flowtap_isa isa, const struct judged *judged, uint32_t insn,
		  const struct flowtap_arm_insn *ours)
{
	uint64_t target = judged->target;

	if (ours->length != judged->length)
		return false;
	if (isa == FLOWTAP_ISA_A64 && judged->undefined)
		return ours->kind == newer(insn);
	if (deviation(isa, insn) < FLOWTAP_ARM_CLASSES)
		return ours->kind == deviation(isa, insn);
	if (judged->unpredictable && ours->kind == FLOWTAP_ARM_OTHER)
		return true;
	if (judged->class == FLOWTAP_ARM_OTHER && ours->kind != FLOWTAP_ARM_OTHER)
		return ours->kind == tidy_class(isa, insn);
	if (isa != FLOWTAP_ISA_A64)
		target = (uint32_t)target;
	return ours->kind == judged->class && ours->direct == judged->direct &&
	       ours->conditional == judged->conditional &&
	       (!ours->direct || ours->target == target) &&
	       (ours->target_isa != isa) == judged->switches;
}

struct outcome {
	size_t compared, branches, undefined, wrong;
	size_t classes[FLOWTAP_ARM_CLASSES];
};

static void count(struct outcome *outcome, enum flowtap_isa isa, const struct judged *judged,
		  uint32_t insn, const struct flowtap_arm_insn *ours)
{
	outcome->compared++;
	outcome->undefined += judged->undefined;
	outcome->branches += judged->class != FLOWTAP_ARM_OTHER;
	outcome->classes[judged->class]++;
	if (agree(isa, judged, insn, ours) || outcome->wrong++ >= 20)
		return;
	ksft_print_msg("%#llx: %s: ours is %s%s%s to %#llx\n", (unsigned long long)judged->address,
		       judged->text, flowtap_arm_class_name(ours->kind),
		       ours->direct ? ", direct" : "", ours->conditional ? ", conditional" : "",
		       (unsigned long long)ours->target);
}

static FILE *disassemble(FIXTURE_DATA(sweep) *self, enum flowtap_isa isa, char *path)
{
	static const char *const commands[] = {
		[FLOWTAP_ISA_A64] = OBJDUMP64 " -D -z -b binary -m aarch64 ",
		[FLOWTAP_ISA_A32] = OBJDUMP32 " -D -z -b binary -m arm ",
		[FLOWTAP_ISA_T32] = OBJDUMP32 " -D -z -b binary -m arm -M force-thumb ",
	};
	char command[256];
	bool written;
	int fd;

	strcpy(path, "/tmp/flowtap-arm-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0)
		return NULL;
	written = write(fd, self->bytes, self->size) == (ssize_t)self->size;
	close(fd);
	if (!written)
		return NULL;
	snprintf(command, sizeof(command), "%s%s", commands[isa], path);
	return popen(command, "r");
}

static struct outcome compare(FIXTURE_DATA(sweep) *self, enum flowtap_isa isa)
{
	struct outcome outcome = { 0 };
	struct flowtap_arm_insn ours = { 0 };
	char path[64] = "", line[512];
	FILE *lines = disassemble(self, isa, path);
	struct judged judged;
	size_t at = 0;

	while (lines && fgets(line, sizeof(line), lines)) {
		if (!judge(isa, line, &judged))
			continue;
		if (judged.address != at || at >= self->size ||
		    flowtap_arm_classify(isa, at, ours.it, self->bytes + at, self->size - at,
					 &ours)) {
			ksft_print_msg("lost at %#zx\n", at);
			outcome.wrong++;
			break;
		}
		count(&outcome, isa, &judged, opcode(isa, self->bytes + at, ours.length), &ours);
		at += judged.length;
	}
	if (!lines || pclose(lines) || at != self->size)
		outcome.wrong++;
	unlink(path);
	ksft_print_msg("%zu compared, %zu branches, %zu not known to objdump\n", outcome.compared,
		       outcome.branches, outcome.undefined);
	return outcome;
}

/* A bit for each class of which there were too few to say much. */
static unsigned int rare(const struct outcome *outcome)
{
	unsigned int bits = 0;

	for (unsigned int i = 0; i < FLOWTAP_ARM_CLASSES; i++)
		bits |= (outcome->classes[i] < 100) << i;
	return bits;
}

static bool have(const char *objdump)
{
	char command[64];

	snprintf(command, sizeof(command), "%s --version >/dev/null 2>&1", objdump);
	return system(command) == 0;
}

TEST_F(sweep, a64)
{
	struct outcome outcome;

	if (!have(OBJDUMP64))
		SKIP(return, "no " OBJDUMP64);
	put_families(self, FLOWTAP_ISA_A64, families64, ARRAY_SIZE(families64), 10000);
	outcome = compare(self, FLOWTAP_ISA_A64);
	EXPECT_EQ(outcome.wrong, 0);
	EXPECT_EQ(rare(&outcome), 0);
}

TEST_F(sweep, a32)
{
	struct outcome outcome;

	if (!have(OBJDUMP32))
		SKIP(return, "no " OBJDUMP32);
	put_families(self, FLOWTAP_ISA_A32, families_a32, ARRAY_SIZE(families_a32), 8000);
	outcome = compare(self, FLOWTAP_ISA_A32);
	EXPECT_EQ(outcome.wrong, 0);
	EXPECT_EQ(rare(&outcome), 1U << FLOWTAP_ARM_TSTART);
}

TEST_F(sweep, t32_of_four_bytes)
{
	struct outcome outcome;

	if (!have(OBJDUMP32))
		SKIP(return, "no " OBJDUMP32);
	put_families(self, FLOWTAP_ISA_T32, families_t32, ARRAY_SIZE(families_t32), 8000);
	outcome = compare(self, FLOWTAP_ISA_T32);
	EXPECT_EQ(outcome.wrong, 0);
	EXPECT_EQ(rare(&outcome), 1U << FLOWTAP_ARM_TSTART | 1U << FLOWTAP_ARM_INDIRECT_CALL);
}

TEST_F(sweep, every_t32_of_two_bytes)
{
	struct outcome outcome;

	if (!have(OBJDUMP32))
		SKIP(return, "no " OBJDUMP32);
	for (uint32_t insn = 0; insn < 0xe800; insn++)
		if ((insn & 0xff00) != 0xbf00 || !(insn & 0xf))		/* IT: below */
			put(self, FLOWTAP_ISA_T32, insn);
	outcome = compare(self, FLOWTAP_ISA_T32);
	EXPECT_EQ(outcome.wrong, 0);
	EXPECT_EQ(outcome.compared, 0xe800 - 16 * 15);
	/*
	 * B.cond and B; CBZ and CBNZ; BX and BLX, with bits 1:0 not looked at; MOV PC and ADD PC;
	 * POP; WFE and WFI.
	 */
	EXPECT_EQ(outcome.branches, 14 * 256 + 2048 + 4 * 256 + 2 * 64 + 2 * 16 + 256 + 2);
}

TEST_F(sweep, t32_in_it_blocks)
{
	static const uint32_t insns[] = {
		0x2001, 0x4770, 0x4718, 0x47a0, 0x46f7, 0x469f, 0x449f, 0xbd10, 0xbf20, 0xbf00,
		0xe7fe, 0xf000f800, 0xf7fffffe, 0xf000e800, 0xf000b801, 0xe8bd8010, 0xf85dfb04,
		0xf8d0f004, 0xe8dff001, 0xf3de8f04, 0xf3af8002, 0xf3c38f00, 0xf04f0001, 0xee070f95,
	};
	struct outcome outcome;

	if (!have(OBJDUMP32))
		SKIP(return, "no " OBJDUMP32);
	for (int n = 0; n < 20000; n++) {
		uint32_t condition = next_random() % 14, mask = 1 + next_random() % 15;

		put(self, FLOWTAP_ISA_T32, 0xbf00 | condition << 4 | mask);
		/* In the block and after it. */
		for (int k = 0; k < 6; k++)
			put(self, FLOWTAP_ISA_T32, insns[next_random() % ARRAY_SIZE(insns)]);
	}
	outcome = compare(self, FLOWTAP_ISA_T32);
	EXPECT_EQ(outcome.compared, 20000 * 7);
	EXPECT_EQ(outcome.wrong, 0);
}

TEST_HARNESS_MAIN
