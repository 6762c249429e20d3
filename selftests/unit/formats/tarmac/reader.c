// SPDX-License-Identifier: GPL-2.0-only
/* Shows what the readers of Tarmac and QEMU4V make of each kind of line, and of damage. */
#include "unit/formats/tarmac/expect.h"

#include <errno.h>
#include <sys/resource.h>
#include <zlib.h>

#define CORPUS "../shared/corpus/tarmac/"

/* The program of the corpus, as it was executed there. */
#define PROGRAM											\
	"range 210800 210808 2 A64 E\n"								\
	"range 21081c 210824 2 A64 N\nrange 210824 21082c 2 A64 E\n"				\
	"range 21081c 210824 2 A64 N\nrange 210824 21082c 2 A64 E\n"				\
	"range 21081c 210824 2 A64 N\nrange 210824 21082c 2 A64 E\n"				\
	"range 21081c 210824 2 A64 E\n"								\
	"range 21082c 210834 2 A64 E\nrange 21082c 210834 2 A64 E\n"				\
	"range 21082c 210834 2 A64 E\nrange 21082c 210834 2 A64 E\n"				\
	"range 210808 21080c 1 A64 E\nrange 210834 21083c 2 A64 E\n"				\
	"range 21080c 210810 1 A64 E\nrange 21083c 210844 2 A64 E\n"				\
	"range 210834 21083c 2 A64 E\nrange 210844 21084c 2 A64 E\n"				\
	"range 210834 21083c 2 A64 E\nrange 210810 210814 1 A64 E\n"				\
	"exception 2 210814\nrange 210200 210208 2 A64 E\neret\n"				\
	"range 210814 210818 1 A64 E\nrange 210818 21081c 1 A64 E\n"

static const struct {
	const char *name;
	const char *flow;
	unsigned int instructions;
	unsigned int registers;
	unsigned int memory;
} samples[] = {
	{ "a64_es_recommended.tarmac", EL1 PROGRAM, 41, 27, 0 },
	{ "a64_es_full.tarmac", EL1 PROGRAM, 41, 33, 10 },
	{ "a64_it_recommended.tarmac", EL1 PROGRAM, 41, 27, 0 },
	{ "a32.tarmac", "context A32 EL1 secure 32\nrange 8000 8004 1 A32 E\n"
	  "range 8008 800c 1 A32 E\nrange 8004 8008 1 A32 E\n", 3, 1, 0 },
	{ "t32.tarmac", "context T32 EL1 secure 32\nrange 8000 8004 1 T32 E\n"
	  "range 8006 8008 1 T32 E\nrange 8004 8006 1 T32 E\n", 3, 1, 0 },
	{ "a64_es_events.tarmac", EL1 "range 210800 210808 2 A64 E\nexception 14 21081c\n"
	  "range 210200 210208 2 A64 E\neret\ngap overflow\nrange 210830 210834 1 A64 E\n"
	  "exception 11 210808\nrange 210200 210204 1 A64 E\n", 6, 1, 0 },
	{ "qemu4v_rv64.log", "context RV64 EL1 nonsecure 64 cpu=0 mode=S\n"
	  "range 80000000 80000006 2 RV64 E\n"
	  "range 80000008 8000000e 3 RV64 N\nrange 8000000e 80000014 2 RV64 E\n"
	  "range 80000008 8000000e 3 RV64 N\nrange 8000000e 80000014 2 RV64 E\n"
	  "range 80000008 8000000e 3 RV64 N\nrange 8000000e 80000014 2 RV64 E\n"
	  "range 80000008 8000000e 3 RV64 E\n"
	  "range 80000014 8000001a 3 RV64 E\nrange 80000014 8000001a 3 RV64 E\n"
	  "range 80000014 8000001a 3 RV64 E\nrange 80000014 8000001a 3 RV64 E\n"
	  "range 80000006 80000008 1 RV64 E\n", 33, 21, 0 },
};

TEST(samples_of_the_corpus_are_read_whole)
{
	if (access(CORPUS, R_OK))
		SKIP(return, "no " CORPUS);
	for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
		bool qemu4v = !strncmp(samples[i].name, "qemu4v", 6);
		char path[100], begin[200];
		struct text_read text;
		ssize_t size;
		int fd;

		snprintf(path, sizeof(path), CORPUS "%s", samples[i].name);
		fd = open(path, O_RDONLY);
		ASSERT_GE(fd, 0);
		size = pread(fd, begin, sizeof(begin), 0);
		EXPECT_EQ(qemu4v, flowtap_qemu4v_is(begin, size));
		EXPECT_EQ(!qemu4v, flowtap_tarmac_is(begin, size));
		text_read_fd(&text, qemu4v ? flowtap_qemu4v_read : flowtap_tarmac_read, fd);
		EXPECT_EQ(0, text.status);
		EXPECT_STREQ("", text.problems);
		EXPECT_STREQ(samples[i].flow, (const char *)text.output.bytes) {
			TH_LOG("%s", path);
		}
		EXPECT_EQ(samples[i].instructions, text.read.instructions);
		EXPECT_EQ(samples[i].registers, text.read.extra[FLOWTAP_READ_REGISTERS]);
		EXPECT_EQ(samples[i].memory, text.read.extra[FLOWTAP_READ_MEMORY]);
		EXPECT_FALSE(text.read.truncated);
		text_read_done(&text);
		close(fd);
	}
}

TEST(the_specification_s_example)
{
	EXPECT_TARMAC(HEADER
		"     1715 ns IT (00000000:e59ff038) A svc:            LDR      pc,{pc}+0x40 ; 0x40\n"
		"                LD 00000040  ........ ........ ........ 00001c98  S:0000000040/20 SO\n"
		"                BR (00001c98) A\n"
		"     2225 ns IT (00001c98:e10f0000) A svc:            MRS      r0,APSR ; formerly CPSR\n"
		"                R R0 (USR) 000001d3\n"
		"     2225 ns IT (00001c9c:e200001f) A svc:            AND      r0,r0,#0x1f\n"
		"                R R0 (USR) 00000013\n"
		"     2415 ns IT (00001ca0:1a00000e) A svc:            BNE      {pc}+0x40 ; 0x1ce0\n"
		"                BR (00001ce0) A\n"
		"    10625 ns IT (00001ce0:ef000002) A svc:            SVC      #0x2\n"
		"                EXC [0x08] System Call\n"
		"                R LR (SVC) 0000d804\n"
		"                BR (00000008) A\n"
		"    10975 ns IT (00000008:e59ff038) A svc:            LDR      pc,{pc}+0x40 ; 0x48\n",
		"context A32 EL1 secure 32\ntime 0.000001715\nrange 0 4 1 A32 E\n"
		"time 0.000002225\nrange 1c98 1ca4 3 A32 E\ntime 0.000010625\n"
		"range 1ce0 1ce4 1 A32 E\nexception 2 1ce4\ntime 0.000010975\n"
		"range 8 c 1 A32 E\n");
}

TEST(modes_and_states_become_contexts)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:d503201f) O el0t_ns:        NOP\n"
		"          2 clk ES  (0000000000001004:d4000001) O el0t_ns:        SVC      #0\n"
		"                    EXC [0x400] Synchronous Lower EL using AArch64\n"
		"                    BR (ffff000000000400) O\n"
		"          3 clk ES  (ffff000000000400:d69f03e0) O el1h_ns:        ERET\n"
		"                    BR (0000000000001008) O\n"
		"          4 clk ES  (0000000000001008:d503201f) O el0t_ns:        NOP\n"
		"          5 clk ES  EXC [0x480] IRQ/vIRQ Lower EL using AArch64\n"
		"                    BR (0000000000004480) O\n"
		"          6 clk ES  (0000000000004480:d503201f) O el3h_s:        NOP\n"
		"          7 clk ES  (0000000000004484:d69f03e0) O el3h_s:        ERET\n"
		"                    BR (0000000000000100) O\n"
		"          8 clk ES  (0000000000000100:d69f03e0) O el2t_realm:        ERET\n"
		"          9 clk ES  (00000200:e320f000) A hyp ns:        NOP\n"
		"         10 clk ES  (00000204:e1b0f00e) A hyp ns:        MOVS     pc, lr\n"
		"         11 clk ES  (00000300:bf00)     T usr_ns:        NOP\n",
		"context A64 EL0 nonsecure 64\nrange 1000 1008 2 A64 E\nexception 2 1008\n"
		"context A64 EL1 nonsecure 64\nrange ffff000000000400 ffff000000000404 1 A64 E\n"
		"eret\ncontext A64 EL0 nonsecure 64\nrange 1008 100c 1 A64 E\nexception 14 100c\n"
		"context A64 EL3 secure 64\nrange 4480 4488 2 A64 E\neret\n"
		"context A64 EL2 realm 64\nrange 100 104 1 A64 E\neret\n"
		"context A32 EL2 nonsecure 32\nrange 200 208 2 A32 E\n"
		"context T32 EL0 nonsecure 32\nrange 300 302 1 T32 E\n");
}

/* Thread and handler mode, as models and RTL simulators write them; an IRQ and its return. */
TEST(code_of_the_m_profile)
{
	EXPECT_TARMAC(
		"0 clk cpu0 R cpsr 01000000\n"
		"0 clk cpu0 E 00001000 00000001 CoreEvent_RESET\n"
		"1 clk cpu0 IT (1) 00001000 bf00 T thread_s : NOP\n"
		"2 clk cpu0 IT (2) 00001002 f000f87d T thread_s : BL       0x1100\n"
		"2 clk cpu0 R r14 00001007\n"
		"2 clk cpu0 E 00000000 handler 00000019 CoreEvent_ModeChange\n"
		"2 clk cpu0 INFO_EXCEPTION_REASON: PHASE=ACTIVATE PC=0x1100 VECTOR=EXT_INT3\n"
		"2 clk cpu0 E 00001100 00000013 CoreEvent_EXT_INT3\n"
		"3 clk cpu0 IT (3) 00002000 2204 T handler_s : MOVS     r2,#4\n"
		"4 clk cpu0 IT (4) 00002002 4770 T handler_s : BX       lr\n"
		"4 clk cpu0 E 00000000 thread 00000019 CoreEvent_ModeChange\n"
		"5 clk cpu0 IT (5) 00001100 bf00 T thread_s : NOP\n",
		"exception 0 1000\ncontext T32 EL0 secure 32\nrange 1000 1006 2 T32 E\n"
		"exception 14 1100\ncontext T32 EL3 secure 32\nrange 2000 2004 2 T32 E\n"
		"context T32 EL0 secure 32\nrange 1100 1102 1 T32 E\n");
	EXPECT_TARMAC(
		"1 cyc IT (00001000:00000001) 00001000     bf00 T16 NOP\n"
		"1 cyc MNR4O__I 00001004 bf00bf00\n1 cyc MNW4___D 20001000 00000000\n"
		"2 cyc IT (00001002:00000002) 00001002     bf00 T16 NOP\n",
		"context T32 EL1 nonsecure 32\nrange 1000 1004 2 T32 E\n");
	EXPECT_TARMAC("Tarmac Text Rev 3t\n"
		"          1 tic ES  (00001000:bf00)     T thrd_s:         NOP\n",
		"context T32 EL0 secure 32\nrange 1000 1002 1 T32 E\n");
	/* Of Linux, of which nothing tells the mode. */
	EXPECT_TARMAC("1 cs IT (0000000000001000) d503201f O  ---_- :        nop\n",
		EL1 "range 1000 1004 1 A64 E\n");
}

/* Only `-` and `_` say that it is not known. */
TEST(a_mode_of_null_bytes_is_none)
{
	static const char input[] = "1 cs IT (0000000000001000) d503201f O  \0\0\0_\0 :        nop\n";
	struct text_read text;

	text_read_bytes(&text, flowtap_tarmac_read, input, sizeof(input) - 1);
	EXPECT_EQ(0, text.status);
	EXPECT_NE(NULL, strstr(text.problems, "a mode that is none"));
	text_read_done(&text);
}

TEST(an_instruction_set_of_a_null_byte_is_none)
{
	static const char input[] = "1 clk IT (1) 00008000 e1a00000 \0 svc : MOV\n";
	struct text_read text;

	text_read_bytes(&text, flowtap_tarmac_read, input, sizeof(input) - 1);
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ("1:the instruction set is missing (A, T, O); ", text.problems);
	text_read_done(&text);
}

/* Where an Arm's trace begins no instruction has told yet that it is one. */
TEST(a_reset_before_the_first_instruction)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  EXC Reset\n"
		"                    BR (0000000000001000) O\n"
		"          2 clk ES  (0000000000001000:d503201f) O el3h_s:         NOP\n",
		"exception 0 0\ncontext A64 EL3 secure 64\nrange 1000 1004 1 A64 E\n");
	EXPECT_TARMAC("0 clk E 00001000 00000001 CoreEvent_Reset\n"
		"1 clk IT (1) 00001000 e320f000 A svc_s : NOP\n",
		"exception 0 1000\ncontext A32 EL1 secure 32\nrange 1000 1004 1 A32 E\n");
	EXPECT_TARMAC("Tarmac Text Rev 3t (RV64)\n"
		"          1 clk ES  EXC IRQ/vIRQ at 0000000000002000\n"
		"          2 clk ES  (0000000000001000:00000013) O el1h_ns:        nop\n",
		"exception -1 2000 interrupt target=1000\n"
		"context RV64 EL1 nonsecure 64 cpu=0 mode=S\nrange 1000 1004 1 RV64 E\n");
}

TEST(a_branch_goes_where_the_next_instruction_is)
{
	EXPECT_TARMAC(
		"1 clk IT (1) 00001000 54000040 O EL0t_n : B.EQ     1008\n"
		"2 clk IT (2) 00001008 d65f03c0 O EL0t_n : RET\n"
		"3 clk IT (3) 00002000 b4000060 O EL0t_n : CBZ      x0, 200c\n"
		"4 clk IS (4) 00002004 54000040 O EL0t_n : B.EQ     200c\n"
		"5 clk IT (5) 00002008 d503201f O EL0t_n : NOP\n"
		"6 clk IT (6) 00003000 d503201f O EL0t_n : NOP\n",
		"context A64 EL0 nonsecure 64\nrange 1000 1004 1 A64 E\nrange 1008 100c 1 A64 E\n"
		"range 2000 2004 1 A64 N\nrange 2004 2008 1 A64 N\nrange 2008 200c 1 A64 E\n"
		"gap impossible size=unknown address=2008 detail=the next instruction is elsewhere\n"
		"range 3000 3004 1 A64 E\n");
	/* Where the flow breaks off, BR says it. */
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:54000040) O el0t_ns:        B.EQ     1008\n"
		"                    BR (0000000000001008) O\n"
		"          2 clk E DebugEvent_TraceGap overflow\n"
		"          3 clk ES  (0000000000001000:54000040) O el0t_ns:        B.EQ     1008\n"
		"          4 clk E DebugEvent_TraceGap overflow\n",
		"context A64 EL0 nonsecure 64\nrange 1000 1004 1 A64 E\ngap overflow\n"
		"range 1000 1004 1 A64 N\ngap overflow\n");
}

/* In an IT block, or in what is left of one after an interrupt, which the opcodes do not say. */
TEST(a_branch_that_failed_its_condition_was_not_taken)
{
	static const unsigned int branches[] = { 0x4770, 0x4798, 0xbd00, 0xe010 };
	char input[600];

	EXPECT_TARMAC(HEADER
		"          1 clk ES  (00008000:bf08)     T svc_s:          IT       EQ\n"
		"          2 clk ES  (00008002:e010)     T svc_s:  CCFAIL  BEQ      8026\n"
		"          3 clk ES  EXC [0x18] IRQ Interrupt\n"
		"                    BR (00000018) A\n"
		"          4 clk ES  (00000018:e320f000) A irq_s:          NOP\n",
		"context T32 EL1 secure 32\nrange 8000 8004 2 T32 N\nexception 14 8004\n"
		"range 18 1c 1 A32 E\n");
	for (size_t i = 0; i < ARRAY_SIZE(branches); i++) {
		snprintf(input, sizeof(input),
			 "1 clk cpu0 IT (1) 00008000 bf08 T svc_s : IT       EQ\n"
			 "2 clk cpu0 E 00008002 00000007 CoreEvent_IRQ\n"
			 "3 clk cpu0 IT (2) 00000018 e25ef004 A irq_s : SUBS     pc, lr, #4\n"
			 "4 clk cpu0 IS (3) 00008002 %04x T svc_s : x\n"
			 "5 clk cpu0 IT (4) 00008004 bf00 T svc_s : NOP\n", branches[i]);
		EXPECT_TARMAC(input,
			"context T32 EL1 secure 32\nrange 8000 8002 1 T32 E\nexception 14 8002\n"
			"range 18 1c 1 A32 E\nrange 8002 8004 1 T32 N\nrange 8004 8006 1 T32 E\n");
	}
	EXPECT_TARMAC("1 clk IS (1) 00008002 4770 T svc_s : BXEQ     lr\n"
		"2 clk IT (2) 00009000 bf00 T svc_s : NOP\n",
		"context T32 EL1 secure 32\nrange 8002 8004 1 T32 N\ngap impossible size=unknown "
		"address=8002 detail=the next instruction is elsewhere\nrange 9000 9002 1 T32 E\n");
}

TEST(exceptions_of_models_say_where_they_came)
{
	EXPECT_TARMAC(
		"1 clk cpu0 IT (1) 000a7238:0000100a7238_NS d4000121 O EL0t_n : SVC      #9\n"
		"1 clk cpu0 E 000a7238:0000100a7238_NS EL1h 00000019 CoreEvent_ModeChange\n"
		"1 clk cpu0 E 000a7238:0000100a7238_NS 00000088 CoreEvent_LOWER_64_SYNC\n"
		"1 clk cpu0 R cpsr 620003c5\n"
		"2 clk cpu0 IT (2) 00038400 d503201f O EL1h_n : NOP\n"
		"3 clk cpu0 IT (3) 00038404 54000080 O EL1h_n : B.EQ     0x38414\n"
		"4 clk cpu0 E 00038414 00000085 CoreEvent_CURRENT_SPx_IRQ\n"
		"5 clk cpu0 IT (4) 00038280 d503201f O EL1h_n : NOP\n",
		"context A64 EL0 nonsecure 64\nrange a7238 a723c 1 A64 E\nexception 2 a723c\n"
		EL1 "range 38400 38408 2 A64 E\nexception 14 38414\nrange 38280 38284 1 A64 E\n");
}

TEST(exceptions_of_no_known_vector_have_their_address_too)
{
	EXPECT_TARMAC(
		"1 clk IT (1) 00038404 54000080 O EL1h_n : B.EQ     0x38414\n"
		"2 clk E DebugEvent_Exception IRQ/vIRQ at 0000000000038414 (9)\n"
		"3 clk IT (2) 00038280 d503201f O EL1h_n : NOP\n",
		EL1 "range 38404 38408 1 A64 E\nexception 9 38414\nrange 38280 38284 1 A64 E\n");
}

TEST(an_instruction_that_an_abort_ended_was_not_executed)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:d503201f) O el1h_ns:        NOP\n"
		"          2 clk ES  (0000000000001004:f9400000) O el1h_ns:        LDR      x0, [x0]\n"
		"                    EXC [0x200] Synchronous Current EL with SP_ELx\n"
		"                    BR (0000000000008200) O\n"
		"          3 clk ES  (0000000000008200:d503201f) O el1h_ns:        NOP\n"
		"          4 clk ES  (0000000000008204:--------) O el1h_ns:\n"
		"                    EXC [0x200] Synchronous Current EL with SP_ELx (12)\n"
		"          5 clk ES  (0000000000008200:d503201f) O el1h_ns:        NOP\n",
		EL1 "range 1000 1004 1 A64 E\nexception -1 1004\nrange 8200 8204 1 A64 E\n"
		"exception 12 8204\nrange 8200 8204 1 A64 E\n");
}

TEST(a_call_that_is_undefined_was_not_executed)
{
	const char *undefined = "context A32 EL0 nonsecure 32\nrange 8000 8004 1 A32 E\n"
		"exception 3 8004\ncontext A32 EL1 nonsecure 32\nrange 4 8 1 A32 E\n";

	EXPECT_TARMAC(HEADER
		"          1 clk ES  (00008000:e320f000) A usr_ns:         NOP\n"
		"          2 clk ES  (00008004:e1400070) A usr_ns:         HVC      #0\n"
		"                    EXC [0x04] Undefined Instruction\n"
		"                    BR (00000004) A\n"
		"          3 clk ES  (00000004:e320f000) A und_ns:         NOP\n", undefined);
	EXPECT_TARMAC(
		"1 clk cpu0 IT (1) 00008000 e320f000 A usr_ns : NOP\n"
		"2 clk cpu0 IT (2) 00008004 e1400070 A usr_ns : HVC      #0\n"
		"2 clk cpu0 E 00008004 00000002 CoreEvent_UndefinedInstr\n"
		"3 clk cpu0 IT (3) 00000004 e320f000 A und_ns : NOP\n", undefined);
	/* A call, and UDF.W, which is none. */
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (00008000:f7e08000) T svc_ns:         HVC      #0\n"
		"                    EXC [0x14] Hypervisor Trap\n"
		"                    BR (00000014) A\n"
		"          2 clk ES  (00000014:e320f000) A hyp_ns:         NOP\n",
		"context T32 EL1 nonsecure 32\nrange 8000 8004 1 T32 E\nexception 2 8004\n"
		"context A32 EL2 nonsecure 32\nrange 14 18 1 A32 E\n");
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (00008000:bf00)     T usr_ns:         NOP\n"
		"          2 clk ES  (00008002:f7f0a018) T usr_ns:         UDF.W    #24\n"
		"                    EXC [0x14] Hypervisor Trap\n"
		"                    BR (00000014) A\n"
		"          3 clk ES  (00000014:e320f000) A hyp_ns:         NOP\n",
		"context T32 EL0 nonsecure 32\nrange 8000 8002 1 T32 E\nexception 3 8002\n"
		"context A32 EL2 nonsecure 32\nrange 14 18 1 A32 E\n");
}

TEST(asynchronous_events_as_the_specification_has_them)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:d503201f) O el1h:        NOP\n"
		"          2 clk ES  IRQ\n"
		"                    EXC [0x280] IRQ/vIRQ Current EL with SP_ELx\n"
		"                    BR (0000000000008280) O\n"
		"          3 clk ES  (0000000000008280:d503201f) O el1h:        NOP\n"
		"          4 clk ES  System Error (Abort)\n"
		"          5 clk ES  (0000000000008380:d503201f) O el1h:        NOP\n"
		"          6 clk ES  Reset\n"
		"          7 clk ES  (0000000000000000:d503201f) O el3h:        NOP\n",
		"context A64 EL1 secure 64\nrange 1000 1004 1 A64 E\nexception 14 1004\n"
		"range 8280 8284 1 A64 E\nexception 4 8284\nrange 8380 8384 1 A64 E\n"
		"exception 0 8384\ncontext A64 EL3 secure 64\nrange 0 4 1 A64 E\n");
}

TEST(flowtap_s_own_lines_come_back)
{
	EXPECT_TARMAC(HEADER
		"          1 clk E DebugEvent_TraceGap trace_on\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 vmid=7 pid=1234 tid=1235 cpu=2\n"
		"          2 clk ES  (0000000000001000:d503201f) O el1h_ns:        NOP\n"
		"                    E DebugEvent_TraceNote event 5\n"
		"                    E DebugEvent_TraceNote transaction start\n"
		"          3 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n"
		"          4 clk E DebugEvent_TraceGap wrapped since=0.000000018 until=0.000000052 size=unknown address=56 detail=a b\n"
		"          5 clk E DebugEvent_TraceGap q_range 1000 0 17\n"
		"          6 clk E DebugEvent_TraceGap transfer 1000 2000 direct_call\n"
		"          7 clk E DebugEvent_TraceGap callstack 10 20\n"
		"          8 clk E DebugEvent_TraceGap no_image 4000\n"
		"          9 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n"
		"         10 clk E DebugEvent_TraceGap unexplained\n"
		"         11 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n"
		"         12 clk E DebugEvent_TraceGap stopped by the user\n",
		"trace_on\ncontext A64 EL1 nonsecure 64 vmid=7 pid=1234 tid=1235 cpu=2\n"
		"range 1000 1004 1 A64 E\nevent 5\ntransaction start\nrange 1004 1008 1 A64 E\n"
		"gap wrapped since=0.000000018 until=0.000000052 size=unknown address=56 detail=a b\n"
		"q_range 1000 0 17\ntransfer 1000 2000 direct_call\ncallstack 10 20\n"
		"no_image 4000\nrange 1004 1008 1 A64 E\ngap impossible size=unknown\n"
		"range 1004 1008 1 A64 E\ngap disabled size=unknown detail=stopped by the user\n");
}

/* Lines without a CPU, until a note names another one: what is there follows on nothing. */
TEST(a_note_of_another_cpu_is_no_gap)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:d503201f) O el1h_ns:        NOP\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=1\n"
		"          2 clk ES  (0000000000005000:d503201f) O el1h_ns:        NOP\n"
		"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 cpu=0\n"
		"          3 clk ES  (0000000000001004:d503201f) O el1h_ns:        NOP\n",
		EL1 "range 1000 1004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=1\nrange 5000 5004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=0\nrange 1004 1008 1 A64 E\n");
}

TEST(times_that_are_no_index_come_back_where_blocks_end)
{
	EXPECT_TARMAC(HEADER
		"          1 clk ES  (0000000000001000:d503201f) O el1h_ns:        NOP\n"
		"         22 clk ES  (0000000000001004:14000001) O el1h_ns:        B        1008\n"
		"         23 clk ES  (0000000000001008:14000001) O el1h_ns:        B        100c\n"
		"        100 clk ES  (000000000000100c:d503201f) O el1h_ns:        NOP\n",
		EL1 "range 1000 1008 2 A64 E\ncycles 23\nrange 1008 100c 1 A64 E\ncycles 77\n"
		"range 100c 1010 1 A64 E\n");
	EXPECT_TARMAC(HEADER
		"    1000000 ps ES  (0000000000001000:14000001) O el1h_ns:        B        1004\n"
		"    1000001 ps ES  (0000000000001004:14000001) O el1h_ns:        B        1008\n"
		"    2000000 ps ES  (0000000000001008:d503201f) O el1h_ns:        NOP\n"
		"-----------    ES  (000000000000100c:d503201f) O el1h_ns:        NOP\n",
		EL1 "time 0.000001000\nrange 1000 1004 1 A64 E\nrange 1004 1008 1 A64 E\n"
		"time 0.000002000\nrange 1008 1010 2 A64 E\n");
}

TEST(rv64_is_known_by_its_opcodes_or_by_what_the_file_says)
{
	const char *rv64 = "context RV64 EL0 nonsecure 64 cpu=0 mode=U\nrange 1000 1008 2 RV64 E\n";

	EXPECT_TARMAC("Tarmac Text Rev 3t (RV64)\n"
		"          1 clk ES  (0000000000001000:00000013) O el0t_ns:        nop\n"
		"          2 clk ES  (0000000000001004:00000013) O el0t_ns:        nop\n", rv64);
	EXPECT_TARMAC("0 clk E DebugEvent_RV64\n"
		"1 clk IT (1) 0000000000001000 00000013 O EL0t_n : nop\n"
		"2 clk IT (2) 0000000000001004 00000013 O EL0t_n : nop\n", rv64);
	EXPECT_TARMAC("1 clk IT (1) 0000000000001000 00000013 O EL0t_n : nop\n"
		"2 clk IT (2) 0000000000001004 00000013 O EL0t_n : nop\n"
		"3 clk IT (3) 0000000000001008 0001 O EL0t_n : nop\n",
		"context RV64 EL0 nonsecure 64 cpu=0 mode=U\nrange 1000 100a 3 RV64 E\n");
	EXPECT_QEMU4V("1 clk 0 IT (1) 0000000000001000 d503201f A usr_ns : nop\n",
		"context A64 EL0 nonsecure 64\nrange 1000 1004 1 A64 E\n");
	EXPECT_QEMU4V("1 clk 3 IT (1) 0000000000001000 00000073 A usr_ns : ecall\n"
		"2 clk 3 MR8 0000000000001000 0010400000000000\n2 clk 3 R a0 0000000000000000\n"
		"3 clk 3 IT (3) 0000000000002000 30200073 A mon_ns : mret\n",
		"context RV64 EL0 nonsecure 64 cpu=3 mode=U\nrange 1000 1004 1 RV64 E\n"
		"gap disabled size=unknown detail=the number of an instruction is missing\n"
		"context RV64 EL3 nonsecure 64 cpu=3 mode=M\nrange 2000 2004 1 RV64 E\neret\n");
}

TEST(rv64_after_a_vendor_s_instruction_and_after_mnret)
{
	EXPECT_TARMAC("Tarmac Text Rev 3t (RV64)\n"
		"          1 clk ES  (0000000000001000:0000000b) O el0t_ns:        x\n"
		"          2 clk ES  EXC [0x480] IRQ/vIRQ Lower EL using AArch64\n"
		"                    BR (0000000000002000) O\n"
		"          3 clk ES  (0000000000002000:00000013) O el1h_ns:        nop\n",
		"context RV64 EL0 nonsecure 64 cpu=0 mode=U\nrange 1000 1004 1 RV64 N\n"
		"exception -1 1004 interrupt target=2000\n"
		"context RV64 EL1 nonsecure 64 cpu=0 mode=S\nrange 2000 2004 1 RV64 E\n");
	EXPECT_QEMU4V("1 clk 0 IT (1) 0000000000001000 70200073 A mon_ns : mnret\n"
		"2 clk 0 IT (2) 0000000000002000 00000013 A svc_ns : nop\n",
		"context RV64 EL3 nonsecure 64 cpu=0 mode=M\nrange 1000 1004 1 RV64 E\neret\n"
		"context RV64 EL1 nonsecure 64 cpu=0 mode=S\nrange 2000 2004 1 RV64 E\n");
}

TEST(cpus_that_take_turns_each_go_on_where_they_were)
{
	EXPECT_TARMAC(
		"1 clk cpu0 IT (1) 00001000 54000040 O EL1h_n : B.EQ     1008\n"
		"2 clk cpu1 IT (1) 00005000 d503201f O EL1h_n : NOP\n"
		"3 clk cpu1 IT (2) 00005004 d65f03c0 O EL1h_n : RET\n"
		"2 clk cpu0 IT (2) 00001008 d503201f O EL1h_n : NOP\n"
		"4 clk cpu1 IT (3) 00006000 d503201f O EL1h_n : NOP\n"
		"3 clk cpu0 IT (3) 0000100c d503201f O EL1h_n : NOP\n",
		EL1 "context A64 EL1 nonsecure 64 cpu=1\nrange 5000 5004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=0\nrange 1000 1004 1 A64 E\n"
		"range 1008 100c 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=1\nrange 5004 5008 1 A64 E\n"
		"range 6000 6004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=0\nrange 100c 1010 1 A64 E\n");
}

TEST(what_is_no_line_is_told_becomes_a_gap_and_reading_goes_on)
{
	static const struct {
		const char *line;
		const char *reason;
	} lines[] = {
		{ "garbage", "a line that is not known" },
		{ "12 garbage", "a line that is not known" },
		{ "99999999999999999999 clk ES  (0000000000001004:d503201f) O el1h_ns: NOP",
		  "a line that is not known" },
		{ "2 clk ES  (0000000000001004:d503201f", "`)` is missing after the opcode" },
		{ "2 clk ES  (0000000000001004 d503201f) O el1h_ns: NOP",
		  "`:` is missing between address and opcode" },
		{ "2 clk ES  (00000000000010040:d503201f) O el1h_ns: NOP",
		  "an address has up to 16 digits" },
		{ "2 clk IT (10000000000008000:e1a00000) A svc: MOV",
		  "an address has up to 16 digits" },
		{ "2 clk IT (10000000000008000) e1a00000 A svc: MOV",
		  "an address has up to 16 digits" },
		{ "2 clk ES  (0000000000001004:d5032) O el1h_ns: NOP",
		  "an opcode has 4 or 8 digits" },
		{ "2 clk ES  (0000000000001004:d503) O el1h_ns: NOP",
		  "the opcode's size is none of its instruction set" },
		{ "2 clk ES  (0000000000001006:d503201f) O el1h_ns: NOP",
		  "there can be no instruction at this address" },
		{ "2 clk ES  (0000000000001004:d503201f) Q el1h_ns: NOP",
		  "the instruction set is missing (A, T, O)" },
		{ "2 clk ES  (0000000000001004:d503201f) O el1h_ns NOP",
		  "`:` is missing after the mode" },
		{ "2 clk ES  (00001004:d503201f) E svc: NOP", "ThumbEE is not supported" },
		{ "2 clk ES  Nothing", "an event that is not known" },
		{ "2 clk IT (x) 1000 d503201f O EL1h_n : NOP", "a number in brackets is missing" },
		{ "2 clk cpu256 IT (1) 00001000 d503201f O EL1h_n : NOP",
		  "a CPU's number above 255" },
	};
	char input[512], flow[512], problems[128];

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		snprintf(input, sizeof(input), HEADER
			 "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n%s\n"
			 "2 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n", lines[i].line);
		snprintf(flow, sizeof(flow), EL1 "range 1000 1004 1 A64 E\n"
			 "gap bad_record size=unknown detail=%s\nrange 1000 1004 1 A64 E\n",
			 lines[i].reason);
		snprintf(problems, sizeof(problems), "3:%s; ", lines[i].reason);
		expect(_metadata, flowtap_tarmac_read, input, flow, problems);
	}
}

TEST(what_says_nothing_of_the_flow_is_counted)
{
	static const char input[] = HEADER
		"1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n"
		"        R X0 0000000000000003\n        R SP_EL1 00000000003ffff0\n"
		"        ST 00000000003ffff0  00000000 00210808 00000000 00000000  NS:00003ffff0\n"
		"           0000000000400000  ........ ........ 00000000 00000000\n"
		"1 clk TTW ITLB LPAE 1:0 000060430000 0000000061060003 : TABLE\n"
		"1 clk CACHE cpu.cpu0.l1dcache LINE 0000 ALLOC 0x000060430000\n"
		"1 clk SIGNAL: SIGNAL=DebugReset STATE=N\n"
		"TUBE CPU0: text\nWarning: something\n    went wrong\n// comment\n; comment\n* comment\n"
		"1 clk ES  (EDITR:d503201f) O el1h_ns: NOP\n\n"
		"1 clk E 00000000 EL2h 00000019 CoreEvent_ModeChange\n"
		"2 clk ES  (0000000000001004:d503201f) O el1h_ns: NOP\n";
	struct text_read text;

	text_read_bytes(&text, flowtap_tarmac_read, input, sizeof(input) - 1);
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ("", text.problems);
	EXPECT_STREQ(EL1 "range 1000 1008 2 A64 E\n", (const char *)text.output.bytes);
	EXPECT_EQ(2, text.read.instructions);
	EXPECT_EQ(2, text.read.extra[FLOWTAP_READ_REGISTERS]);
	EXPECT_EQ(2, text.read.extra[FLOWTAP_READ_MEMORY]);
	EXPECT_EQ(1, text.read.extra[FLOWTAP_READ_PAGE_TABLES]);
	EXPECT_EQ(6, text.read.extra[FLOWTAP_READ_COMMENTS]);
	EXPECT_EQ(4, text.read.extra[FLOWTAP_READ_OTHER]);
	EXPECT_EQ(19, text.read.records);
	text_read_done(&text);
}

/* Lines that were passed over without a word. */
TEST(each_line_that_is_not_used_is_told)
{
	expect(_metadata, flowtap_tarmac_read, HEADER
	       "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n"
	       "        BR (0000000000005000) O\n"
	       "2 clk ES  (0000000000001004:14000002) O el1h_ns: B 100c\n"
	       "        BR (0000000000006000) O\n"
	       "3 clk ES  (000000000000100c:d503201f) O el1h_ns: NOP\n",
	       EL1 "range 1000 1008 2 A64 E\nrange 100c 1010 1 A64 E\n",
	       "3:a target (BR) to which no branch before it can lead; "
	       "5:a target (BR) to which no branch before it can lead; ");
	/* What QEMU4V has of an exception. */
	expect(_metadata, flowtap_tarmac_read,
	       "1 clk cpu0 IT (1) 0000000000001000 d503201f O EL1h_n : NOP\n"
	       "1 clk cpu0 BR (0000000000005000) O\n",
	       EL1 "range 1000 1004 1 A64 E\n", "");
	expect(_metadata, flowtap_tarmac_read, HEADER
	       "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n"
	       "2 clk ES  (0000000000001004:--------) O el1h_ns:\n"
	       "3 clk ES  (0000000000001008:d503201f) O el1h_ns: NOP\n"
	       "4 clk ES  (000000000000100c:--------) O el1h_ns:\n",
	       EL1 "range 1000 1004 1 A64 E\n"
	       "gap bad_record size=unknown detail=an instruction without opcode, and no exception says why\n"
	       "range 1008 100c 1 A64 E\n"
	       "gap bad_record size=unknown detail=an instruction without opcode, and no exception says why\n",
	       "3:an instruction without opcode, and no exception says why; "
	       "5:an instruction without opcode, and no exception says why; ");
	expect(_metadata, flowtap_tarmac_read, HEADER
	       "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n" HEADER
	       "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\n",
	       EL1 "range 1000 1004 1 A64 E\n"
	       "gap bad_record size=unknown detail=a header that is not the first line\n"
	       "range 1000 1004 1 A64 E\n",
	       "3:a header that is not the first line; ");
}

/* After LD and ST: a time of eight digits in a wide column is no address. */
TEST(an_instruction_below_a_row_of_memory_is_none_of_it)
{
	EXPECT_TARMAC(HEADER
		"        12345678 clk ES  (0000000000001000:f9400001) O el1h_ns: LDR x1,[x0]\n"
		"        LD 00000000003ffff0  00000000 00210808 00000000 00000000  NS:00003ffff0\n"
		"           0000000000400000  ######## ........ 00000000 00000000\n"
		"                   00400010  FD ........ 00000000 00000000\n"
		"        12345679 clk ES  (0000000000001004:d503201f) O el1h_ns: NOP\n",
		EL1 "range 1000 1008 2 A64 E\n");
}

TEST(a_last_line_without_end_is_told_and_taken_if_it_is_whole)
{
	struct text_read text;
	static const char input[] = HEADER "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP";

	text_read_bytes(&text, flowtap_tarmac_read, input, sizeof(input) - 1);
	EXPECT_TRUE(text.read.truncated);
	EXPECT_STREQ("2:the last line has no end; ", text.problems);
	EXPECT_STREQ(EL1 "range 1000 1004 1 A64 E\n"
		     "gap bad_record size=unknown detail=the last line has no end\n",
		     (const char *)text.output.bytes);
	text_read_done(&text);
}

TEST(lines_end_with_cr_lf_too_and_gzip_is_unpacked)
{
	static const char input[] = HEADER "1 clk ES  (0000000000001000:d503201f) O el1h_ns: NOP\r\n"
		"                    BR (0000000000001004) O\r\n";
	uint8_t packed[512];
	z_stream stream = { .next_in = (uint8_t *)input, .avail_in = sizeof(input) - 1,
			    .next_out = packed, .avail_out = sizeof(packed) };
	struct text_read text;

	EXPECT_TARMAC(input, EL1 "range 1000 1004 1 A64 E\n");
	deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
	deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	EXPECT_TRUE(flowtap_tarmac_is((char *)packed, sizeof(packed) - stream.avail_out));
	text_read_bytes(&text, flowtap_tarmac_read, packed, sizeof(packed) - stream.avail_out);
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ("", text.problems);
	EXPECT_STREQ(EL1 "range 1000 1004 1 A64 E\n", (const char *)text.output.bytes);
	text_read_done(&text);
	/* Cut. */
	text_read_bytes(&text, flowtap_tarmac_read, packed, sizeof(packed) - stream.avail_out - 9);
	EXPECT_EQ(0, text.status);
	EXPECT_TRUE(text.read.truncated);
	EXPECT_NE(NULL, strstr(text.problems, "the gzip data ends too early"));
	text_read_done(&text);
}

/* More than 32 bits count; in memory, where a hole has no page: on a disk each is read into one. */
TEST(five_gigabytes_of_nothing_are_one_line_that_is_too_long)
{
	static const char line[] = "\n1 clk IT (1) 00001000 d503201f O EL1h_n : NOP\n";
	const off_t end = 5LL << 30;
	struct rusage before, after;
	struct text_read text;
	int fd = memfd_create("input", MFD_CLOEXEC);

	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ftruncate(fd, end));
	ASSERT_EQ(sizeof(line) - 1, pwrite(fd, line, sizeof(line) - 1, end - 100));
	ASSERT_EQ(1, pwrite(fd, "\n", 1, end - 1));
	getrusage(RUSAGE_SELF, &before);
	text_read_fd(&text, flowtap_tarmac_read, fd);
	getrusage(RUSAGE_SELF, &after);
	EXPECT_EQ(0, text.status);
	EXPECT_STREQ("1:a line of more than 65536 bytes; 3:a line that is not known; ",
		     text.problems);
	EXPECT_EQ(1, text.read.instructions);
	/* Kilobytes: the file's own pages are none of ours. */
	EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10);
	text_read_done(&text);
	close(fd);
}

TEST(what_reading_and_the_sink_return_is_handed_on)
{
	struct text_read text;

	text_read_fd(&text, flowtap_tarmac_read, -1);
	EXPECT_EQ(-EBADF, text.status);
	text_read_done(&text);
}

TEST(what_is_neither_is_not_taken_for_it)
{
	static const char *const others[] = {
		"", "\n\n", "FLOWTAP archive", "context A64 EL1 nonsecure 64\nrange 0 4 1 A64 E\n",
		"STF", "Tarmac", "Tarmac Ext", "1 2 3\n", "IT is a word\n", "1 clk\n",
		"\x1f\x8b\x08", "\x7f" "ELF\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		EXPECT_FALSE(flowtap_tarmac_is(others[i], strlen(others[i]))) {
			TH_LOG("%s", others[i]);
		}
		EXPECT_FALSE(flowtap_qemu4v_is(others[i], strlen(others[i])));
	}
	EXPECT_TRUE(flowtap_tarmac_is("0 clk cpu0 R cpsr 000003cd\n1 clk cpu0 IT (1) 1030", 48));
}

TEST_HARNESS_MAIN
