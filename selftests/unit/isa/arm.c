// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows what class each form of branch of A64, A32 and T32 has and where it goes, and that what
 * looks like one is none.
 */
#include <errno.h>
#include <flowtap/arm.h>
#include <stdlib.h>

#include "support/kselftest_harness.h"
#include "unit/isa/arm_lines.h"

#define A64_PLACE	0x0000aaaabbbb0000
#define A32_PLACE	0x8000f000

/* Little endian, as memory has it; how many bytes. */
static size_t put(enum flowtap_isa isa, uint32_t insn, uint8_t *bytes)
{
	if (isa == FLOWTAP_ISA_T32 && insn < 0x10000) {
		bytes[0] = insn;
		bytes[1] = insn >> 8;
		return 2;
	}
	if (isa == FLOWTAP_ISA_T32)
		insn = insn << 16 | insn >> 16;
	for (int i = 0; i < 4; i++)
		bytes[i] = insn >> 8 * i;
	return 4;
}

static int classify(enum flowtap_isa isa, uint64_t address, uint8_t it, uint32_t insn,
		    struct flowtap_arm_insn *out)
{
	uint8_t bytes[4];
	size_t length = put(isa, insn, bytes);

	memset(out, 0xa5, sizeof(*out));
	return flowtap_arm_classify(isa, address, it, bytes, length, out);
}

static void check(struct __test_metadata *_metadata, enum flowtap_isa isa, uint64_t address,
		  const struct line *line)
{
	bool direct = line->way == GOES || line->way == MAY_GO || line->way == SWITCHES;
	bool conditional = line->way == MAY_GO || line->way == MAY_INDIRECTLY;
	enum flowtap_isa other = isa == FLOWTAP_ISA_A32 ? FLOWTAP_ISA_T32 : FLOWTAP_ISA_A32;
	struct flowtap_arm_insn insn;

	ASSERT_EQ(classify(isa, address, 0, line->insn, &insn), 0);
	EXPECT_EQ(insn.length, isa == FLOWTAP_ISA_T32 && line->insn < 0x10000 ? 2 : 4);
	EXPECT_EQ(insn.kind, line->class)
		TH_LOG("%s", line->text);
	EXPECT_EQ(insn.direct, direct)
		TH_LOG("%s", line->text);
	EXPECT_EQ(insn.conditional, conditional)
		TH_LOG("%s", line->text);
	EXPECT_EQ(insn.link, line->class == CALL || line->class == ICALL)
		TH_LOG("%s", line->text);
	EXPECT_EQ(insn.target, direct ? address + line->offset : 0)
		TH_LOG("%s", line->text);
	EXPECT_EQ(insn.target_isa, line->way == SWITCHES ? other : isa)
		TH_LOG("%s", line->text);
}

TEST(each_form_of_a64_has_its_class_and_target)
{
	for (size_t i = 0; i < ARRAY_SIZE(a64); i++)
		check(_metadata, FLOWTAP_ISA_A64, A64_PLACE, &a64[i]);
}

TEST(each_form_of_a32_has_its_class_and_target)
{
	for (size_t i = 0; i < ARRAY_SIZE(a32); i++)
		check(_metadata, FLOWTAP_ISA_A32, A32_PLACE, &a32[i]);
}

TEST(each_form_of_t32_has_its_class_and_target)
{
	for (size_t i = 0; i < ARRAY_SIZE(t32); i++)
		check(_metadata, FLOWTAP_ISA_T32, A32_PLACE, &t32[i]);
}

TEST(every_condition_but_al_and_nv_makes_a_branch_conditional)
{
	struct flowtap_arm_insn insn;

	for (uint32_t condition = 0; condition < 16; condition++) {
		for (uint32_t consistent = 0; consistent < 2; consistent++) {
			EXPECT_EQ(classify(FLOWTAP_ISA_A64, 0, 0,
					   0x54000040 | consistent << 4 | condition, &insn), 0);
			EXPECT_EQ(insn.kind, BRANCH);
			EXPECT_EQ(insn.conditional, condition < 14);
		}
		EXPECT_EQ(classify(FLOWTAP_ISA_A32, 0, 0, condition << 28 | 0x012fff1e, &insn), 0);
		EXPECT_EQ(insn.kind, condition < 15 ? RETURN : OTHER);
		EXPECT_EQ(insn.conditional, condition < 14);
	}
}

TEST(addresses_of_32_bits_wrap_and_those_of_64_do_as_well)
{
	struct flowtap_arm_insn insn;

	ASSERT_EQ(classify(FLOWTAP_ISA_A64, UINT64_MAX - 3, 0, 0x14000002, &insn), 0);
	EXPECT_EQ(insn.target, 4U);
	ASSERT_EQ(classify(FLOWTAP_ISA_A64, 0, 0, 0x17ffffff, &insn), 0);
	EXPECT_EQ(insn.target, UINT64_MAX - 3);
	ASSERT_EQ(classify(FLOWTAP_ISA_A32, 0xfffffffc, 0, 0xea000000, &insn), 0);
	EXPECT_EQ(insn.target, 4U);
	ASSERT_EQ(classify(FLOWTAP_ISA_A32, 0, 0, 0xeafffffd, &insn), 0);
	EXPECT_EQ(insn.target, 0xfffffffcU);
	ASSERT_EQ(classify(FLOWTAP_ISA_A32, 0xfffffffc, 0, 0xf57ff06f, &insn), 0);
	EXPECT_EQ(insn.target, 0U);
	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0xfffffffe, 0, 0xe000, &insn), 0);
	EXPECT_EQ(insn.target, 2U);
	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, 0, 0xe7fd, &insn), 0);
	EXPECT_EQ(insn.target, 0xfffffffeU);
}

TEST(blx_goes_from_the_aligned_address_to_a32_and_by_halfwords_to_t32)
{
	struct flowtap_arm_insn insn;

	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0x1002, 0, 0xf000e800, &insn), 0);	/* blx .+2 */
	EXPECT_EQ(insn.target, 0x1004U);
	EXPECT_EQ(insn.target_isa, FLOWTAP_ISA_A32);
	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0x1002, 0, 0xf000f800, &insn), 0);	/* bl .+4 */
	EXPECT_EQ(insn.target, 0x1006U);
	EXPECT_EQ(insn.target_isa, FLOWTAP_ISA_T32);
	ASSERT_EQ(classify(FLOWTAP_ISA_A32, 0x1000, 0, 0xfb000000, &insn), 0);	/* blx .+10 */
	EXPECT_EQ(insn.target, 0x100aU);
	EXPECT_EQ(insn.target_isa, FLOWTAP_ISA_T32);
}

/* `it` and how many instructions follow in its block. */
static const struct {
	uint32_t insn;
	unsigned int n;
	const char *text;
} its[] = {
	{ 0xbf08, 1, "it eq" }, { 0xbf04, 2, "itt eq" }, { 0xbf0c, 2, "ite eq" },
	{ 0xbf12, 3, "itee ne" }, { 0xbf16, 3, "itet ne" }, { 0xbfc1, 4, "itttt gt" },
	{ 0xbfcf, 4, "iteee gt" }, { 0xbfd5, 4, "itete le" },
};

TEST(what_stands_in_an_it_block_is_conditional_and_nothing_after_it)
{
	static const uint32_t insns[] = { 0x4770, 0xf000f800, 0xbd00, 0xe8bd8001, 0xbf20, 0x46f7 };
	struct flowtap_arm_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(its); i++) {
		ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, 0, its[i].insn, &insn), 0);
		for (unsigned int n = 0; n < 6; n++) {
			ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, insn.it, insns[n], &insn), 0);
			EXPECT_EQ(insn.conditional, n < its[i].n)
				TH_LOG("%s, instruction %u", its[i].text, n);
			EXPECT_NE(insn.kind, OTHER);
		}
		EXPECT_EQ(insn.it, 0);
	}
	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, 0, 0xbfe4, &insn), 0);	/* itt al */
	for (int n = 0; n < 3; n++) {
		ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, insn.it, 0x4770, &insn), 0);
		EXPECT_FALSE(insn.conditional);
	}
	ASSERT_EQ(classify(FLOWTAP_ISA_T32, 0, 0x08, 0xbf00, &insn), 0);	/* nop is no it */
	EXPECT_EQ(insn.it, 0);
	ASSERT_EQ(classify(FLOWTAP_ISA_A32, 0, 0x08, 0xe12fff1e, &insn), 0);
	EXPECT_FALSE(insn.conditional);
	EXPECT_EQ(insn.it, 0);
}

TEST(nothing_is_read_beyond_what_is_there)
{
	static const enum flowtap_isa isas[] = { FLOWTAP_ISA_A64, FLOWTAP_ISA_A32, FLOWTAP_ISA_T32 };
	struct flowtap_arm_insn insn;

	for (size_t i = 0; i < ARRAY_SIZE(isas); i++) {
		for (size_t size = 0; size < 4; size++) {
			uint8_t *bytes = malloc(size ? size : 1);

			memset(bytes, 0xf0, size);
			EXPECT_EQ(flowtap_arm_classify(isas[i], 0, 0, bytes, size, &insn), -ENODATA);
			if (size >= 2)
				bytes[1] = 0xbf;
			if (isas[i] == FLOWTAP_ISA_T32 && size >= 2)
				EXPECT_EQ(flowtap_arm_classify(isas[i], 0, 0, bytes, size, &insn), 0);
			free(bytes);
		}
	}
	EXPECT_EQ(flowtap_arm_classify(FLOWTAP_ISA_RV64, 0, 0, (const uint8_t *)"four", 4, &insn),
		  -EINVAL);
}

TEST(every_class_has_a_name)
{
	for (unsigned int i = 0; i < FLOWTAP_ARM_CLASSES; i++)
		EXPECT_NE(flowtap_arm_class_name(i), NULL);
	EXPECT_STREQ(flowtap_arm_class_name(BRANCH), "branch");
	EXPECT_STREQ(flowtap_arm_class_name(ICALL), "indirect call");
	EXPECT_STREQ(flowtap_arm_class_name(TSTART), "transaction start");
	EXPECT_EQ(flowtap_arm_class_name(FLOWTAP_ARM_CLASSES), NULL);
	EXPECT_EQ(flowtap_arm_class_name(~0U), NULL);
}

TEST_HARNESS_MAIN
