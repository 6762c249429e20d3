// SPDX-License-Identifier: GPL-2.0-only
/* Shows that the check finds what is wrong with Tarmac and QEMU4V, and nothing in what is right. */
#include "support/kselftest_harness.h"

#include <errno.h>
#include <fcntl.h>
#include <flowtap/check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define TARMAC "../shared/corpus/tarmac/"
#define HEADER "Tarmac Text Rev 3t\n"
#define FIRST "          1 clk ES  (0000000000001000:d503201f) O el1h_ns:        NOP\n"

struct found {
	struct flowtap_check check;
	char text[1024];
};

static void take(struct flowtap_check *check, const struct flowtap_check_problem *problem)
{
	struct found *found = check->argument;
	size_t length = strlen(found->text);

	snprintf(found->text + length, sizeof(found->text) - length, "%llu:%s; ",
		 (unsigned long long)problem->line, problem->reason);
}

static int check_fd(struct found *found, int fd)
{
	memset(found, 0, sizeof(*found));
	found->check.problem = take;
	found->check.argument = found;
	return flowtap_check_file(&found->check, fd);
}

static int check_bytes(struct found *found, const char *input)
{
	int fd = memfd_create("input", MFD_CLOEXEC), status;

	if (fd < 0 || write(fd, input, strlen(input)) != (ssize_t)strlen(input))
		abort();
	status = check_fd(found, fd);
	close(fd);
	return status;
}

TEST(what_is_right_has_no_problem)
{
	static const struct {
		const char *path;
		unsigned int format, instructions;
	} files[] = {
		{ TARMAC "a64_es_recommended.tarmac", FLOWTAP_CHECK_TARMAC, 41 },
		{ TARMAC "a64_es_full.tarmac", FLOWTAP_CHECK_TARMAC, 41 },
		{ TARMAC "a64_it_recommended.tarmac", FLOWTAP_CHECK_TARMAC, 41 },
		{ TARMAC "a64_es_events.tarmac", FLOWTAP_CHECK_TARMAC, 6 },
		{ TARMAC "a32.tarmac", FLOWTAP_CHECK_TARMAC, 3 },
		{ TARMAC "t32.tarmac", FLOWTAP_CHECK_TARMAC, 3 },
		{ TARMAC "qemu4v_rv64.log", FLOWTAP_CHECK_QEMU4V, 33 },
		{ "../shared/corpus/ete/002-ack_test_scr/test_TARMAC.gz", FLOWTAP_CHECK_TARMAC, 28008 },
	};
	struct found found;

	if (access(TARMAC, R_OK))
		SKIP(return, "no " TARMAC);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		int fd = open(files[i].path, O_RDONLY);

		ASSERT_GE(fd, 0);
		EXPECT_EQ(0, check_fd(&found, fd));
		EXPECT_STREQ("", found.text) {
			TH_LOG("%s", files[i].path);
		}
		EXPECT_EQ(files[i].format, found.check.format);
		EXPECT_EQ(files[i].instructions, found.check.instructions);
		close(fd);
	}
}

TEST(each_kind_of_problem_is_found)
{
	static const struct {
		const char *lines;	/* after HEADER FIRST */
		const char *problems;
	} cases[] = {
		{ "", "" },
		{ "          0 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n",
		  "3:the time 0 is before the last one, 1; " },
		{ "          2 clk ES  (0000000000001008:d503201f) O el1h_ns:        NOP\n"
		  "          3 clk ES  (000000000000100c:d503201f) O el1h_ns:        NOP\n",
		  "3:0x1008 does not follow on 0x1000, and no gap is told; " },
		{ "          2 clk ES  (0000000000001004:14000002) O el1h_ns:        B        100c\n"
		  "                    BR (000000000000100c) O\n"
		  "          3 clk ES  (0000000000001010:d503201f) O el1h_ns:        NOP\n",
		  "5:0x1010 does not follow on 0x1004, and no gap is told; " },
		{ "          2 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n"
		  "          3 clk E 0000000000002000 00000085 CoreEvent_CURRENT_SPx_IRQ\n",
		  "4:this does not follow on 0x1004, and no gap is told; " },
		{ "          2 clk cpu1 ES  (0000000000004000:d503201f) O el1h_ns:        NOP\n"
		  "          3 clk cpu0 ES  (0000000000001008:d503201f) O el1h_ns:        NOP\n"
		  "          4 clk cpu1 ES  (0000000000004004:d503201f) O el1h_ns:        NOP\n"
		  "          5 clk cpu0 ES  (000000000000100c:d503201f) O el1h_ns:        NOP\n",
		  "4:0x1008 does not follow on 0x1000, and no gap is told; " },
		{ "          2 clk ES  (0000000000001004:d50320) O el1h_ns:        NOP\n",
		  "3:an opcode has 4 or 8 digits; " },
		{ "          2 clk ES  (0000000000001004:d503) O el1h_ns:        NOP\n",
		  "3:the opcode's size is none of its instruction set; " },
		{ "          2 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP",
		  "3:the last line has no end; " },
		{ "          2 ms ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n",
		  "3:Arm's tools drop lines with this unit of time (clk, ns, ps are known); " },
		{ "          2.5ns ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n",
		  "3:Arm's tools drop lines with a time that has a fraction; " },
		{ "          2 clk cpu0 BNR4___I 00000000 00800320\n"
		  "          2 clk FI (1) 00001000 00001004 O\n", "" },
		{ "-----------    ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n",
		  "3:Arm's tools drop instructions without a time; " },
		{ "          2 clk IT (00001004:d503201f) O el1h_ns:        NOP\n",
		  "3:`IT (address:opcode)` ends Arm's tools with an error; " },
		{ "          2 clk ES  (0000000000001004:d503201f) O el1h ns:        NOP\n",
		  "3:a mode of two words ends Arm's tools with an error; " },
		{ "          2 clk ES  (0000000000001004:d503201f) O el1h_ns:        {nop}\n",
		  "3:a disassembly that begins like this ends Arm's tools with an error; " },
		{ "                    LD 00000040  ........ ........ 00001c98  S:0000000040/20 SO\n",
		  "3:a row of memory that has not 16 places ends Arm's tools with an error; " },
		{ "                    LD 00000040  ........ ........ ........ 00001c98  S:0000000040/20 SO\n",
		  "" },
		{ "                    R X0 1\n",
		  "3:a register's value that is too short ends Arm's tools with an error; " },
		{ "                    R X0 0000000000000001\n                    R W3 00000000\n", "" },
		{ "          2 clk ES  IRQ\n                    EXC [0x280] IRQ/vIRQ Current EL with SP_ELx\n",
		  "3:an asynchronous event without EXC in its line ends Arm's tools with an error; " },
		{ "\n", "" },
		{ "; comment\n", "3:a comment ends Arm's tools with an error; " },
		{ HEADER, "3:a header that is not the first line; " },
		{ "nonsense\n", "3:a line that is not known; " },
		{ "          2 clk E DebugEvent_TraceGap overflow\n"
		  "          3 clk ES  (0000000000002000:d503201f) O el1h_ns:        NOP\n", "" },
		/* As a conversion writes what was found when it was read. */
		{ "          2 clk E DebugEvent_TraceGap impossible size=unknown address=1000 "
		  "detail=the next instruction is elsewhere\n"
		  "          3 clk ES  (0000000000002000:d503201f) O el1h_ns:        NOP\n"
		  "          4 clk ES  (0000000000003000:d503201f) O el1h_ns:        NOP\n"
		  "          5 clk ES  (0000000000003004:d503201f) O el1h_ns:        NOP\n",
		  "5:0x3000 does not follow on 0x2000, and no gap is told; " },
		/* What does not follow is handed on by the line of a gap that is another one. */
		{ "          2 clk ES  (0000000000002000:d503201f) O el1h_ns:        NOP\n"
		  "          3 clk E DebugEvent_TraceGap overflow\n"
		  "          4 clk ES  (0000000000003000:d503201f) O el1h_ns:        NOP\n",
		  "3:0x2000 does not follow on 0x1000, and no gap is told; " },
		{ "          2 clk ES  (0000000000002000:d503201f) O el1h_ns:        NOP\n"
		  "          3 clk E DebugEvent_TraceGap impossible size=unknown address=2000 "
		  "detail=the next instruction is elsewhere\n"
		  "          4 clk ES  (0000000000003000:d503201f) O el1h_ns:        NOP\n",
		  "3:0x2000 does not follow on 0x1000, and no gap is told; " },
	};
	struct found found;
	char input[1024];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		snprintf(input, sizeof(input), HEADER FIRST "%s", cases[i].lines);
		EXPECT_EQ(0, check_bytes(&found, input));
		EXPECT_EQ(FLOWTAP_CHECK_TARMAC, found.check.format);
		EXPECT_STREQ(cases[i].problems, found.text) {
			TH_LOG("of %s", cases[i].lines);
		}
	}
}

TEST(a_line_without_instruction_set_is_for_who_knows_it)
{
	struct found found;

	EXPECT_EQ(0, check_bytes(&found, "354ns IT 00000350 bf00        NOP\n"));
	EXPECT_EQ(FLOWTAP_CHECK_TARMAC, found.check.format);
	EXPECT_EQ(1, found.check.instructions);
	EXPECT_STREQ("1:without its instruction set a line ends Arm's tools with an error, unless "
		     "they are told of one; ", found.text);
}

TEST(qemu4v_s_numbers_ascend)
{
	struct found found;

	EXPECT_EQ(0, check_bytes(&found,
		"1 clk 0 IT (1) 0000000080000000 450d A svc_ns : li a0,3\n"
		"2 clk 0 IT (1) 0000000080000002 450d A svc_ns : li a0,3\n"
		"3 clk 0 IT (3) 0000000090000000 450d A svc_ns : li a0,3\n"));
	EXPECT_EQ(FLOWTAP_CHECK_QEMU4V, found.check.format);
	EXPECT_STREQ("2:the number of an instruction is not above the one before; ", found.text);
	EXPECT_EQ(3, found.check.instructions);
	EXPECT_EQ(3, found.check.records);
}

TEST(a_trace_of_nothing_is_told_and_what_is_no_trace_is_none)
{
	struct found found;

	EXPECT_EQ(0, check_bytes(&found, HEADER));
	EXPECT_STREQ("1:there is no instruction in it; ", found.text);
	EXPECT_EQ(-EBADMSG, check_bytes(&found, "context A64 EL1 nonsecure 64\n"));
}

TEST_HARNESS_MAIN
