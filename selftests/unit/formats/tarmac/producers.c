// SPDX-License-Identifier: GPL-2.0-only
/*
 * Shows that Tarmac is read as others write it: Fast Models, RTL simulators, gem5. The lines are those
 * of Arm's tarmac-trace-utilities (tests/parsertest*.txt, issues 6, 13, 31, 36) with other numbers.
 */
#include "unit/formats/tarmac/expect.h"

#include "formats/tarmac/cpu_names.h"

#include <errno.h>

TEST(other_producers_forms)
{
	const char *flow = "context T32 EL1 secure 32\nrange 8000 8006 2 T32 E\n";

	/* Two physical addresses; ADDRESS:NUMBER; no mode; times without a blank or a unit. */
	EXPECT_TARMAC("1 clk cpu0 IT (1) 00008000:000000008000,000000008002_NS f04f0001 T svc_s : x\n"
		"2 clk cpu0 IT (2) 00008004:000000008004 bf00 T svc_s : NOP\n", flow);
	EXPECT_TARMAC("1ns IT (00008000:00000001) 00008000 f04f0001 T svc_s : MOV r0,#1\n"
		"2ns IT (00008004:00000002) 00008004 bf00 T svc_s : NOP\n", flow);
	EXPECT_TARMAC("1 clk IT (00008000) f04f0001 T svc_s : MOV r0,#1\n"
		"2 clk IF (00008004) bf00 T svc_s : NOP\n", flow);
	EXPECT_TARMAC("1 IT (00008000:00000001) 00008000 f04f0001 T32 MOV r0,#1\n"
		"2 IT (00008004:00000002) 00008004 bf00 T16 NOP\n",
		"context T32 EL1 nonsecure 32\nrange 8000 8006 2 T32 E\n");
	/* gem5 */
	EXPECT_TARMAC("500 clk IT (1) 00008000 f04f0001 T svc_s : MOVS R0, #1\n"
		"500 clk R r0 00000001\n500 clk MR4 00001000 00000000\n"
		"501 clk IT (2) 00008004 bf00 T svc_s : NOP\n", flow);
}

/* IT ADDRESS OPCODE TEXT; times with a point, and lines that name what writes them. */
TEST(rtl_of_cortex_m0_has_neither_instruction_set_nor_mode)
{
	EXPECT_TARMAC("354ns IT 00000350 490d        LDR      r1,[pc,#52]  ; [0x388]\n"
		"396ns IS 00000352 d0fe        BEQ      0x352\n"
		"417ns R r13 20001fff (MSP)\n"
		"438ns IT 00000354 f000f801    BL       0x35a\n"
		"480ns IT 0000035a bf00        NOP\n",
		"context T32 EL1 nonsecure 32\ntime 0.000000354\nrange 350 354 2 T32 N\n"
		"time 0.000000438\nrange 354 358 1 T32 E\n"
		"time 0.000000480\nrange 35a 35c 1 T32 E\n");
	EXPECT_TARMAC("CORTEXM0PLUS TARMAC 00000001\nhw_top.u_tarmac\n"
		"         10.356000us R PSR f1000003\n         10.356000us E HRESETn 0\n"
		"       1166.205000us MR2_I 0000010a b5100000\n"
		"       1166.214000us IT 0000010a b510        PUSH     {r4,lr}\n"
		"       1166.222500us IT 0000010c 4770        BX       lr\n"
		"       1167.000000us IT 00000200 bf00        NOP\n",
		"context T32 EL1 nonsecure 32\ntime 0.001166214\nrange 10a 10e 2 T32 E\n"
		"time 0.001167000\nrange 200 202 1 T32 E\n");
	/* A set that is missing where others have theirs, and times that nobody writes. */
	expect(_metadata, flowtap_tarmac_read, "1 clk IT (1) 00000350 490d LDR r1\n",
	       "gap bad_record size=unknown detail=the instruction set is missing (A, T, O)\n",
	       "1:the instruction set is missing (A, T, O); ");
	expect(_metadata, flowtap_tarmac_read, "1.5 clk IT 00000350 490d LDR r1\n",
	       "gap bad_record size=unknown detail=a line that is not known\n",
	       "1:a line that is not known; ");
	expect(_metadata, flowtap_tarmac_read, "1.0123456789ns IT 00000350 490d LDR r1\n",
	       "gap bad_record size=unknown detail=a line that is not known\n",
	       "1:a line that is not known; ");
}

/* A register that a coprocessor has, accesses on the bus, and no mode. */
TEST(rtl_of_cortex_r5_and_m4_says_what_passes_on_the_bus)
{
	EXPECT_TARMAC("948756 ns IT (00000000:00000000) 00000000 ea000000 A :            B pc+0\n"
		"988838 ns R      r1 00e50878\n"
		"988922 ns IT (00000008:00000006) 00000008 ee111f10 A :            MRC p15,0x0,r1,c1,c0\n"
		"988922 ns MCR4___R (00000008:00000006) TRANSFER 00e50878\n"
		"989672 ns MCW4___R (00000008:00000006) TRANSFER 00e50878\n"
		"989672 ns BNR4___I 00000010 00800320\n989672 ns BNW4____ 00000010 00800320\n"
		"989672 ns FD (2) 00000008 00000010 A\n"
		"989755 ns IT (0000000c:00000008) 0000000c e3a00000 A :            MOV r0,#0\n",
		"context A32 EL1 nonsecure 32\ntime 0.000948756\nrange 0 4 1 A32 E\n"
		"time 0.000988922\nrange 8 10 2 A32 E\n");
}

/* Fast Models name those of the M profile by their vectors. */
TEST(each_exception_of_models_has_its_kind)
{
	static const struct {
		const char *name, *exception;
	} events[] = {
		{ "SVC", "exception 2 1002" }, { "SVC_S", "exception 2 1002" },
		{ "NMI", "exception -1 1002" }, { "PENDSV", "exception -1 1002" },
		{ "SYSTICK", "exception -1 1002" },
		{ "SysTick_NS", "exception -1 1002" },
		{ "EXT_INT0", "exception 14 1002" }, { "HARD_FAULT", "exception -1 1002" },
		{ "HardFault", "exception -1 1002" }, { "MEM_MANAGE", "exception -1 1002" },
		{ "BUS_FAULT", "exception -1 1002" }, { "USAGE_FAULT", "exception -1 1002" },
		{ "SECURE_FAULT", "exception -1 1002" }, { "DEBUG_MONITOR", "exception -1 1002" },
		{ "ImpDataAbort", "exception 4 1002" },
	};
	char input[512], flow[512];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		snprintf(input, sizeof(input),
			 "1 clk cpu0 IT (1) 00001000 %s T thread_s : x\n"
			 "1 clk cpu0 E 00000000 handler 00000019 CoreEvent_ModeChange\n"
			 "1 clk cpu0 E 00001002 0000000b CoreEvent_%s\n"
			 "2 clk cpu0 IT (2) 00002000 bf00 T handler_s : NOP\n",
			 strncmp(events[i].name, "SVC", 3) ? "bf00" : "df00", events[i].name);
		snprintf(flow, sizeof(flow), "context T32 EL0 secure 32\nrange 1000 1002 1 T32 E\n"
			 "%s\ncontext T32 EL3 secure 32\nrange 2000 2002 1 T32 E\n",
			 events[i].exception);
		EXPECT_TARMAC(input, flow);
	}
	/* What is none of them is no exception. */
	EXPECT_TARMAC("1 clk cpu0 IT (1) 00001000 bf00 T thread_s : NOP\n"
		"1 clk cpu0 E 00001002 0000000b CoreEvent_HARD\n"
		"1 clk cpu0 E 00001002 0000000b CoreEvent_\n"
		"2 clk cpu0 IT (2) 00001002 bf00 T thread_s : NOP\n",
		"context T32 EL0 secure 32\nrange 1000 1004 2 T32 E\n");
}

/* What was executed is known all the same; the word is told once. */
TEST(a_mode_that_nobody_knows_takes_no_instruction_away)
{
	static const char qemu4v[] = "1 clk 0 IT (1) 0000000080000000 450d A hs_ns : li a0,3\n";
	struct text_read text;

	expect(_metadata, flowtap_tarmac_read,
		"1 clk cpu0 IT (1) 00001000 d503201f O EL2h_n : NOP\n"
		"2 clk cpu0 IT (2) 00001004 d503201f O Unsupported_ns : NOP\n"
		"3 clk cpu0 IT (3) 00001008 d503201f O Unsupported_ns : NOP\n"
		"4 clk cpu0 IT (4) 0000100c d503201f O EL2h_n : NOP\n",
		"context A64 EL2 nonsecure 64\nrange 1000 1004 1 A64 E\n"
		EL1 "range 1004 100c 2 A64 E\n"
		"context A64 EL2 nonsecure 64\nrange 100c 1010 1 A64 E\n",
		"2:a mode that is none (el1h_ns, svc ...) is taken for EL1 or S; ");
	/* Nor is it a mode that OUT of a conversion could have. */
	text_read_bytes(&text, flowtap_qemu4v_read, qemu4v, sizeof(qemu4v) - 1);
	EXPECT_TRUE(text.read.mode_unknown);
	EXPECT_STREQ("1:a mode that is none (el1h_ns, svc ...) is taken for EL1 or S; ", text.problems);
	text_read_done(&text);
}

/* Models of several clusters name CPUs by where they are: two of one number are two. */
TEST(cpus_of_clusters_have_numbers_of_their_own)
{
	char input[600], name[80];

	EXPECT_TARMAC(
		"1 clk cluster0.cpu1 IT (1) 00001000 d503201f O EL1h_n : NOP\n"
		"1 clk cluster0.cpu1 R X0 0000000000000000\n"
		"1 clk cluster1.cpu1 IT (1) 00005000 d503201f O EL1h_n : NOP\n"
		"2 clk cluster0.cpu1 IT (2) 00001004 d503201f O EL1h_n : NOP\n"
		"2 clk css.cluster1.cpu3 MR8 00001000:0081f8e97ffc_NS,0081f8e99000_NS 00000000_00000000\n"
		"2 clk cpu2.thread2 IT (1) 00006000 d503201f O EL1h_n : NOP\n",
		"context A64 EL1 nonsecure 64 cpu=1\nrange 1000 1004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=0\nrange 5000 5004 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=1\nrange 1004 1008 1 A64 E\n"
		"context A64 EL1 nonsecure 64 cpu=2\nrange 6000 6004 1 A64 E\n");
	EXPECT_TRUE(flowtap_tarmac_is("1 clk cluster0.cpu0 IT (1) 1030\n", 32));
	memset(name, 'a', sizeof(name));
	snprintf(input, sizeof(input), "1 clk %.60s.cpu IT (1) 00001000 d503201f O EL1h_n : NOP\n"
		 "2 clk %.61s.cpu IT (1) 00001000 d503201f O EL1h_n : NOP\n", name, name);
	expect(_metadata, flowtap_tarmac_read, input,
	       EL1 "range 1000 1004 1 A64 E\ngap bad_record size=unknown detail=a CPU's name of more "
	       "than 64 characters, or more than 256 CPUs\n",
	       "2:a CPU's name of more than 64 characters, or more than 256 CPUs; ");
}

TEST(names_of_more_cpus_than_there_are_numbers_are_told)
{
	struct tarmac_cpu_names names = { 0 };
	char name[32];

	for (unsigned int i = 0; i < 256; i++) {
		snprintf(name, sizeof(name), "cluster%u.cpu%u", i / 4, i % 4);
		EXPECT_EQ((int)i, tarmac_cpu_number(&names, name, strlen(name), i % 4));
	}
	for (unsigned int i = 256; i--; ) {
		snprintf(name, sizeof(name), "cluster%u.cpu%u", i / 4, i % 4);
		EXPECT_EQ((int)i, tarmac_cpu_number(&names, name, strlen(name), i % 4));
	}
	EXPECT_EQ(-EINVAL, tarmac_cpu_number(&names, "cluster64.cpu0", 14, 0));
	memset(&names, 0, sizeof(names));
	EXPECT_EQ(255, tarmac_cpu_number(&names, "a.cpu255", 8, 255));
	EXPECT_EQ(0, tarmac_cpu_number(&names, "a.cpu256", 8, 256));
}

TEST_HARNESS_MAIN
