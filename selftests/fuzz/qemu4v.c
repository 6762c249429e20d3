// SPDX-License-Identifier: GPL-2.0-only
/* The same as fuzz/tarmac, of QEMU4V. */
#include "text_reader.h"

#include <flowtap/qemu4v.h>

static const char *const seeds[] = {
	"1 clk 0 IT (1) 0000000080000000 450d A svc_ns : li a0,3\n"
	"2 clk 0 IT (2) 0000000080000002 006000ef A svc_ns : jal 80000008\n"
	"2 clk R ra 0000000080000006\n3 clk 0 IT (3) 0000000080000008 1141 A usr_ns : add sp,sp,-16\n"
	"10 clk MR8 00103fc4 0010400000000000\n5 clk 1 IS (5) 000000008000000c c501 A mon_s : beqz\n",
	"1 clk 0 IT (1) 00000004 3c080001 A svc : lui t0,0x1\n"
	"2 clk 0 IT (2) 00000008 eafffffe A usr : b 8\n3 clk 0 IT (4) 00000008 bf00 T usr : nop\n",
	"1 clk 0 IT (1) 0000000000001000 54000040 A svc_ns : b.eq 1008\n"
	"2 clk 0 IT (2) 0000000000001008 d69f03e0 A svc_ns : eret\n",
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return fuzz_text(flowtap_qemu4v_read, data, size);
}

size_t flowtap_fuzz_seed(uint8_t *buffer, size_t capacity, unsigned int n)
{
	return fuzz_text_seed(seeds, sizeof(seeds) / sizeof(seeds[0]), buffer, capacity, n);
}
