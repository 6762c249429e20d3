// SPDX-License-Identifier: GPL-2.0-only
/* Shows that each line of the flow as text is read back to the element that it was made of. */
#include "flow/flow_line.h"

#include <flowtap/riscv.h>
#include <stdlib.h>
#include <string.h>

#include "support/kselftest_harness.h"

static struct flowtap_element element;
static struct flowtap_line_parts parts;

static bool parse(const char *line)
{
	return flowtap_line_parse(line, strlen(line), &element, &parts);
}

/* Whether the line comes back as it was. */
static bool comes_back(const char *line)
{
	char text[FLOWTAP_LINE_CAPACITY];
	size_t size;

	if (!parse(line))
		return false;
	size = flowtap_line_element(text, &element);
	return size == strlen(line) && !memcmp(text, line, size);
}

TEST(each_line_of_the_grammar_comes_back)
{
	static const char *const lines[] = {
		"session", "eret", "trace_on", 
		"context A64 EL1 nonsecure 64", "context A32 EL0 secure 32",
		"context A64 EL3 root 64 vmid=12 contextid=ffffffffffffffff",
		"context T32 EL2 realm 32 vmid=0 contextid=0 cpu=7",
		"context RV64 EL0 nonsecure 64 pid=1234 tid=1235 cpu=0 mode=U",
		"context RV64 EL2 nonsecure 64 cpu=3 mode=H",
		"exception 2 a723c", "exception -1 0", "exception 9 ffffffff80000000 interrupt",
		"exception 14 9b0ac interrupt target=ffff800008010a80",
		"gap wrapped", "gap overflow since=0.000000018 until=0.000000052 size=unknown",
		"gap no_code size=16 address=4000 detail=/usr/lib/a file with blanks: it=is size=3",
		"gap no_image since=0.000000001 address=4000", "no_image 4000", "no_image 0",
								"transfer 1000 2000 indirect_call", "transfer 0 ffffffffffffffff taken_branch",
		"transfer 1000 2000 function_return mispredicted", "transfer 1000 2000 reserved",
		"callstack", "callstack 1", "callstack 10 20 ffffffff80000000",
		"q_range 1000 0 17", "q_range 0 0 0",
		"transaction start", "transaction commit", "transaction fail",
		"event 5", "event 4294967295", "ite EL0 0", "ite EL3 ffffffffffffffff",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_TRUE(comes_back(lines[i]))
			TH_LOG("%s", lines[i]);
	}
}

TEST(each_reason_of_a_gap_and_each_type_of_a_transfer_comes_back)
{
	struct flowtap_element one = { .kind = FLOWTAP_ELEMENT_GAP };
	char text[FLOWTAP_LINE_CAPACITY];
	size_t size;

	for (unsigned int r = 0; r < FLOWTAP_GAP_REASONS; r++) {
		one.gap.reason = r;
		size = flowtap_line_element(text, &one);
		EXPECT_TRUE(flowtap_line_parse(text, size, &element, &parts));
		EXPECT_EQ(FLOWTAP_ELEMENT_GAP, element.kind);
		EXPECT_EQ(r, element.gap.reason);
	}
	one = (struct flowtap_element){ .kind = FLOWTAP_ELEMENT_TRANSFER };
	for (unsigned int t = 0; t <= FLOWTAP_TRANSFER_RECORDING; t++) {
		one.transfer.type = t;
		size = flowtap_line_element(text, &one);
		EXPECT_TRUE(flowtap_line_parse(text, size, &element, &parts));
		EXPECT_STREQ(flowtap_transfer_name(t),
			     flowtap_transfer_name(element.transfer.type));
	}
}

TEST(a_detail_does_nothing_to_a_terminal)
{
	static const struct {
		const char *detail, *want;
	} texts[] = {
		{ "a\nb\x1b[2Jc\x7f", "gap no_code detail=a?b?[2Jc?" },
		/* C1: U+0080 and U+009B are, U+00A0 and U+00DB are not; nor is half of one. */
		{ "\xc2\x80x\xc2\x9b" "2J", "gap no_code detail=?x?2J" },
		{ "\xc2\xa0\xc3\x9b\xc2", "gap no_code detail=\xc2\xa0\xc3\x9b\xc2" },
	};
	struct flowtap_element gap = {
		.kind = FLOWTAP_ELEMENT_GAP, .gap.reason = FLOWTAP_GAP_NO_CODE,
	};
	char text[FLOWTAP_LINE_CAPACITY];

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		gap.gap.detail = texts[i].detail;
		text[flowtap_line_element(text, &gap)] = '\0';
		EXPECT_STREQ(texts[i].want, text);
	}
}

TEST(what_is_no_such_line_is_refused)
{
	static const char *const lines[] = {
		"", " ", "range 0 4 1 A64 E", "eret 1", "Eret", "context", "context A64",
		"context A16 EL1 nonsecure 64", "context A64 EL4 nonsecure 64",
		"context A64 EL1 nonsecure 63", "context A64 EL1 nonsecure 64 pid=4886718345",
		"context A64 EL1 nonsecure 64 pid=", "context A64 EL1 nonsecure 64 x=1",
		"context RV64 EL1 nonsecure 64 mode=X", "context A64 ELx nonsecure 64",
		"exception", "exception x 1", "exception 1", "exception 99999999999 1",
		"exception 1 1 target=", "exception - 1", "exception 1 1 interrupts",
		"gap", "gap nothing", "gap wrapped since", "gap wrapped since=g",
		"gap wrapped since=20988295476.557333863", "gap wrapped since=1",
		"gap wrapped since=1.5", "gap wrapped since=1.0000000001", "gap wrapped until=.000000001",
		"gap wrapped until=18446744073.709551616", "gap wrapped size=f", "timestamp", "timestamp 1 cycle 2",
		"timestamp 1 cycles", "cycles", "cycles -1", "cycles 1 at", "cycles a",
		"cycles 18446744073709551616", "transfer 1 2", "transfer 1 2 call",
		"transfer 1 2 direct_cal", "transfer 1 2 direct_calls", "transfer 1 2 function_return x",
		"callstack x", "q_range 1 2", "q_range 1 2 a", "transaction", "transaction began",
		"event", "event 4294967296", "ite 1 1", "ite EL1", "marker 1",
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		EXPECT_FALSE(parse(lines[i]))
			TH_LOG("%s", lines[i]);
	}
}

TEST_HARNESS_MAIN
