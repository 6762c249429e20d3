// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shows that the plugin takes each A64 instruction for what flowtap's own table, which was made
 * apart from it, takes it for; which condition holds; and what becomes of a translated block.
 */
#include <flowtap/arm.h>
#include <string.h>

#include "ete/rng.h"
#include "plugin.h"
#include "sysreg.h"
#include "support/kselftest_harness.h"

/* The model's hub has no part in it. */
bool pe_replaces(uint32_t reg)
{
	return reg == SYSREG_TRFCR_EL1;
}

bool pe_owns(uint32_t reg)
{
	return reg == SYSREG_TRFCR_EL1 || reg == SYSREG_CONTEXTIDR_EL1;
}

static uint32_t pieces;

uint32_t log_code(struct log_set *set, uint64_t address, const uint32_t *opcodes, uint32_t n)
{
	return ++pieces;
}

static unsigned int kind_of(const struct flowtap_arm_insn *insn)
{
	switch (insn->kind) {
	case FLOWTAP_ARM_BRANCH:
	case FLOWTAP_ARM_CALL:
		return INSN_DIRECT;
	case FLOWTAP_ARM_INDIRECT:
	case FLOWTAP_ARM_INDIRECT_CALL:
	case FLOWTAP_ARM_RETURN:
	case FLOWTAP_ARM_EXCEPTION_RETURN:
		return INSN_INDIRECT;
	case FLOWTAP_ARM_ISB:
		return INSN_ISB;
	case FLOWTAP_ARM_WFX:
		return INSN_WFX;
	}
	return INSN_OTHER;
}

/* FEAT_TME, which QEMU has not: TEXIT and TSTART. */
static bool is_transaction(uint32_t opcode)
{
	return (opcode & 0xfffffbff) == 0xd6ff03e0 || (opcode & 0xffffffe0) == 0xd5233060;
}

static bool same(uint32_t opcode)
{
	struct flowtap_arm_insn other;
	struct insn insn;
	uint8_t bytes[4];

	memcpy(bytes, &opcode, 4);
	insn_classify(opcode, &insn);
	if (flowtap_arm_classify(FLOWTAP_ISA_A64, 0x10000000, 0, bytes, 4, &other))
		return false;
	if ((insn_is_p0(&insn) ? insn.kind : INSN_OTHER) != kind_of(&other))
		return false;
	if (!insn_is_p0(&insn))
		return true;
	/* AL and NV always hold, and are looked at as others. */
	if (insn.conditional != other.conditional && (opcode & 0xff00000e) != 0x5400000e)
		return false;
	if (insn.kind == INSN_DIRECT && 0x10000000ULL + insn.distance != other.target)
		return false;
	return insn.link == other.link &&
	       insn.eret == (other.kind == FLOWTAP_ARM_EXCEPTION_RETURN);
}

TEST(instructions_are_what_the_decoder_takes_them_for)
{
	struct rng rng = { 1 };
	unsigned int wrong = 0;

	/* Each upper half, with lower halves at the edges and anywhere. */
	for (uint32_t upper = 0; upper < 0x10000; upper++) {
		static const uint16_t edges[] = { 0, 0x1f, 0x3e0, 0x3ff, 0x81f, 0xbff, 0xfff,
						  0xffff };

		for (unsigned int i = 0; i < 32; i++) {
			uint32_t opcode = upper << 16 |
					  (i < 8 ? edges[i] : (uint16_t)rng_below(&rng, 0x10000));

			if (!is_transaction(opcode) && !same(opcode) && wrong++ < 8)
				TH_LOG("0x%08x is taken for something else", opcode);
		}
	}
	/* System instructions and indirect branches: each lower half. */
	for (uint32_t lower = 0; lower < 0x10000; lower++) {
		static const uint16_t uppers[] = { 0xd503, 0xd61f, 0xd63f, 0xd65f, 0xd69f, 0xd71f,
						   0xd73f, 0xd4e0, 0xd523 };

		for (unsigned int i = 0; i < sizeof(uppers) / sizeof(uppers[0]); i++) {
			uint32_t opcode = (uint32_t)uppers[i] << 16 | lower;

			if (!is_transaction(opcode) && !same(opcode) && wrong++ < 8)
				TH_LOG("0x%08x is taken for something else", opcode);
		}
	}
	EXPECT_EQ(0, wrong);
}

/* Others that are told: as the assembler writes them. */
TEST(barriers_calls_and_register_accesses_are_known)
{
	static const struct {
		uint32_t opcode;
		unsigned int kind;
	} cases[] = {
		{ 0xd5033f9f, INSN_DSB },	/* dsb sy */
		{ 0xd503379f, INSN_DSB },	/* dsb nsh */
		{ 0xd503323f, INSN_DSB },	/* dsb oshnxs */
		{ 0xd5033d9f, INSN_OTHER },	/* dsb ld: stores need not be complete */
		{ 0xd503359f, INSN_OTHER },	/* dsb nshld */
		{ 0xd5033e9f, INSN_OTHER },	/* dsb st */
		{ 0xd503309f, INSN_OTHER },	/* ssbb */
		{ 0xd503349f, INSN_OTHER },	/* pssbb */
		{ 0xd5033fbf, INSN_OTHER },	/* dmb sy */
		{ 0xd503225f, INSN_TSB_CSYNC },
		{ 0xd503221f, INSN_OTHER },	/* hint #16, esb */
		{ 0xd4000002, INSN_CALL },	/* hvc #0 */
		{ 0xd4000003, INSN_CALL },	/* smc #0 */
		{ 0xd4000001, INSN_OTHER },	/* svc #0 */
		{ 0xd45e0000, INSN_HLT },	/* hlt #0xf000 */
		{ 0xd5381220, INSN_MRS },	/* mrs x0, trfcr_el1 */
		{ 0xd5181221, INSN_MSR },	/* msr trfcr_el1, x1 */
		{ 0xd5033fdf, INSN_ISB },
	};
	struct insn insn;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		insn_classify(cases[i].opcode, &insn);
		EXPECT_EQ(cases[i].kind, insn.kind)
			TH_LOG("0x%08x", cases[i].opcode);
	}
	insn_classify(0xd5181221, &insn);
	EXPECT_EQ(SYSREG_TRFCR_EL1, insn.reg);
	EXPECT_EQ(1, insn.rt);
}

TEST(conditions_hold_as_the_flags_say)
{
	/* By NZCV as a number: the bits for which it holds (C1.2.4). */
	static const uint16_t even[] = { 0xf0f0, 0xcccc, 0xff00, 0xaaaa, 0x0c0c, 0xaa55, 0x0a05 };

	for (unsigned int nzcv = 0; nzcv < 16; nzcv++) {
		for (unsigned int i = 0; i < 7; i++) {
			EXPECT_EQ(even[i] >> nzcv & 1, insn_taken(0x54000020 | 2 * i, nzcv, 0, 0));
			EXPECT_NE(even[i] >> nzcv & 1,
				  insn_taken(0x54000021 | 2 * i, nzcv, 0, 0));
		}
		EXPECT_TRUE(insn_taken(0x5400002e, nzcv, 0, 0));
		EXPECT_TRUE(insn_taken(0x5400002f, nzcv, 0, 0));
	}
}

TEST(compares_and_tests_are_taken_as_their_operands_say)
{
	const uint64_t high = 1ULL << 32;

	EXPECT_TRUE(insn_taken(0x34000020, 0, high, 0));	/* cbz w0 */
	EXPECT_FALSE(insn_taken(0xb4000020, 0, high, 0));	/* cbz x0 */
	EXPECT_FALSE(insn_taken(0x35000020, 0, high, 0));	/* cbnz w0 */
	EXPECT_TRUE(insn_taken(0xb5000020, 0, high, 0));	/* cbnz x0 */
	EXPECT_TRUE(insn_taken(0x36080020, 0, ~2ULL, 0));	/* tbz w0, #1 */
	EXPECT_FALSE(insn_taken(0x36080020, 0, 2, 0));
	EXPECT_TRUE(insn_taken(0xb7000020, 0, high, 0));	/* tbnz x0, #32 */
	EXPECT_FALSE(insn_taken(0xb6000020, 0, high, 0));	/* tbz x0, #32 */
	EXPECT_TRUE(insn_taken(0xf4010020, 0, 1, -1ULL));	/* cbgt x0, x1 */
	EXPECT_FALSE(insn_taken(0xf4410020, 0, 1, -1ULL));	/* cbhi x0, x1 */
	EXPECT_TRUE(insn_taken(0x74018020, 0, 0x101, 0x200));	/* cbbgt w0, w1 */
	EXPECT_FALSE(insn_taken(0x7401c020, 0, 0x101, 0x200));	/* cbhgt w0, w1 */
	EXPECT_TRUE(insn_taken(0x75000020, 0, 1, 0));		/* cbgt w0, #0 */
	EXPECT_TRUE(insn_taken(0x75200020, 0, -1ULL, 0));	/* cblt w0, #0 */
	EXPECT_FALSE(insn_taken(0x75600020, 0, -1ULL, 0));	/* cblo w0, #0 */
	EXPECT_TRUE(insn_taken(0x75c18020, 0, 3 | high, 0));	/* cbeq w0, #3 */
	EXPECT_FALSE(insn_taken(0xf5c18020, 0, 3 | high, 0));	/* cbeq x0, #3 */
	EXPECT_TRUE(insn_taken(0xf5e18020, 0, 3 | high, 0));	/* cbne x0, #3 */
}

static const struct code *block(uint64_t address, unsigned int el, const uint32_t *opcodes,
				uint32_t n)
{
	return code_get(NULL, address, el, opcodes, n);
}

TEST(code_is_kept_once)
{
	static const uint32_t a[] = { 0xd503201f, 0xd65f03c0 }, b[] = { 0xd503201f, 0xd61f0000 };
	const struct code *code = block(0x1000, 1, a, 2);

	EXPECT_EQ(code, block(0x1000, 1, a, 2));
	EXPECT_NE(code, block(0x2000, 1, a, 2));
	EXPECT_NE(code, block(0x1000, 0, a, 2));
	EXPECT_NE(code, block(0x1000, 1, b, 2));
	EXPECT_NE(code, block(0x1000, 1, a, 1));
	EXPECT_EQ(5, pieces);
}

TEST(a_branch_into_its_own_block_has_its_end_watched)
{
	static const uint32_t nop = 0xd503201f;
	const uint32_t first[] = { nop, nop, 0x17fffffe }, middle[] = { nop, nop, 0x17ffffff },
		itself[] = { nop, nop, 0x14000000 }, before[] = { nop, nop, 0x17fffffd },
		after[] = { nop, nop, 0x14000001 }, away[] = { nop, nop, 0xd65f03c0 },
		plain[] = { nop, nop, nop };

	EXPECT_TRUE(block(0x3000, 1, first, 3)->watched_end);
	EXPECT_TRUE(block(0x3000, 1, middle, 3)->watched_end);
	EXPECT_TRUE(block(0x3000, 1, itself, 3)->watched_end);
	EXPECT_FALSE(block(0x3000, 1, before, 3)->watched_end);
	EXPECT_FALSE(block(0x3000, 1, after, 3)->watched_end);
	EXPECT_TRUE(block(0x3000, 1, away, 3)->watched_end);
	EXPECT_FALSE(block(0x3000, 1, plain, 3)->watched_end);
}

TEST(points_are_what_the_model_takes_part_in)
{
	static const uint32_t opcodes[] = {
		0xd503201f,	/* nop */
		0xd5381220,	/* mrs x0, trfcr_el1: replaced */
		0xd538d020,	/* mrs x0, contextidr_el1: not looked at */
		0xd518d020,	/* msr contextidr_el1, x0: watched */
		0xd503205f,	/* wfe, inside */
		0xd5033f9f,	/* dsb sy */
		0x54000020,	/* b.eq .+4 */
	};
	const struct code *code = block(0x4ff0, 2, opcodes, 7);

	ASSERT_EQ(4, code->n_points);
	EXPECT_EQ(1, code->points[0].index);
	EXPECT_EQ(3, code->points[1].index);
	EXPECT_EQ(5, code->points[2].index);
	EXPECT_EQ(6, code->points[3].index);
	EXPECT_EQ(code, code->points[3].code);
	EXPECT_TRUE(code->inner);
	EXPECT_EQ(0xff0, code->offset);
	EXPECT_EQ(INSN_DIRECT, code->last.kind);
}

TEST_HARNESS_MAIN
