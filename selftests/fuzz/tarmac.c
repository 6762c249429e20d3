// SPDX-License-Identifier: GPL-2.0-only
/*
 * Any bytes at all can be Tarmac: what is in them becomes a flow that is well formed, each problem
 * is told, and the same bytes packed by gzip become the same flow.
 */
#include "text_reader.h"

#include <flowtap/tarmac.h>

static const char *const seeds[] = {
	"Tarmac Text Rev 3t\n"
	"          1 clk ES  (0000000000210800:d2800060) O el1h_ns:        MOV      x0, #0x3\n"
	"                    R SP_EL1 0000000000400000\n"
	"          2 clk ES  (0000000000210804:94000006) O el1h_ns:        BL       21081c\n"
	"                    R X30 0000000000210808\n                    BR (000000000021081c) O\n"
	"          3 clk ES  EXC [0x280] IRQ/vIRQ Current EL with SP_ELx (14)\n"
	"                    BR (0000000000210200) O\n"
	"          4 clk ES  (0000000000210200:d69f03e0) O el1h_ns:        ERET\n"
	"          6 clk E DebugEvent_TraceGap wrapped since=0.000000001 size=unknown detail=x\n"
	"                    E DebugEvent_TraceNote context A64 EL1 nonsecure 64 pid=1 tid=2 cpu=3\n"
	"          8 clk ES  (0000000000210808:--------) O el1h_ns:\n"
	"                    EXC [0x200] Synchronous Current EL with SP_ELx\n"
	"                    LD 00000040  ........ ........ ........ 00001c98  S:0000000040/20 SO\n",
	"0 clk cpu0 R cpsr 000003cd\n"
	"1 clk cpu0 IT (1) 000a7238:0000100a7238_NS d4000121 O EL0t_n : SVC      #9\n"
	"1 clk cpu0 E 000a7238:0000100a7238_NS 00000088 CoreEvent_LOWER_64_SYNC\n"
	"2 clk cpu0 IS (2) 00000400 54000081 O EL1h_s : B.NE     0x410\n"
	"101 clk cpu1 IT (1) 00008000 f04f0001 T svc_s : MOV      r0,#1\n"
	"15 clk cpu0 MR8 10310040:000010310040 00000000_163a0bd0\n"
	"TUBE CPU0: text\nWarning: x\n   y\n"
	"1 clk cluster1.cpu0 IT (1) 00008000 d503201f O EL1h_s : NOP\n",
	"CORTEXM0PLUS TARMAC 1\n  10.356000us R PSR f1000003\n  11.5us IT 0000010a b510 PUSH {r4}\n"
	"12us BNR4___I 00000000 00800320\n13us MCR4___R (0:0) TRANSFER 0\n",
	"     1715 ns IT (00000000:e59ff038) A svc:    LDR      pc,{pc}+0x40 ; 0x40\n"
	"                BR (00001c98) A\n     2225 ns IS (00001c98:1a00000e) A svc: CCFAIL BNE x\n"
	"----------- IT (00001c9c:eafffffe) A hyp ns: B {pc}\n",
	"Tarmac Text Rev 3t (RV64)\n1 clk ES  (0000000080000000:450d) O el3h_s: li a0,3\n"
	"2 clk ES  (0000000080000002:00000073) O el3h_s: ecall\n"
	"                    EXC [0x200] Synchronous Current EL with SP_ELx\n",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_text(flowtap_tarmac_read, data, size);
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), buffer, capacity, n);
}
