// SPDX-License-Identifier: GPL-2.0-or-later
/* CPUs by PSCI (DEN 0022): HVC where QEMU is what is under us, SMC where EL2 is ours. */
#include "bare.h"

enum { CPU_OFF = 0x84000002, CPU_ON = 0xc4000003, AFFINITY_INFO = 0xc4000004,
       SYSTEM_OFF = 0x84000008 };

struct cpu cpus[CPUS];

static u64 psci(u64 function, u64 a, u64 b, u64 c)
{
	register u64 x0 __asm__("x0") = function;
	register u64 x1 __asm__("x1") = a;
	register u64 x2 __asm__("x2") = b;
	register u64 x3 __asm__("x3") = c;

	if (boot.mode == MODE_EL1)
		__asm__ volatile("hvc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3) : "memory");
	else
		__asm__ volatile("smc #0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
}

u64 hypercall(enum hypercall call, u64 value)
{
	register u64 x0 __asm__("x0") = call;
	register u64 x1 __asm__("x1") = value;

	__asm__ volatile("hvc #0" : "+r"(x0) : "r"(x1) : "x30", "memory");
	return x0;
}

void cpu_init(unsigned int index)
{
	cpus[index].index = index;
	WRITE(tpidr_el1, &cpus[index]);
	isb();
	/* Keys of pointer authentication: any. */
	WRITE(S3_0_C2_C1_0, 0x1234567890abcdef);
	WRITE(S3_0_C2_C1_1, 0xfedcba0987654321);
	WRITE(S3_0_C2_C1_2, 0x0f1e2d3c4b5a6978);
	WRITE(S3_0_C2_C1_3, 0x8796a5b4c3d2e1f0);
	isb();
	task_init(index);
}

void cpu_start(unsigned int index, void (*work)(unsigned int cpu))
{
	u64 err;

	cpus[index].work = work;
	dsb();
	err = psci(CPU_ON, index, physical((void *)secondary_start), index);
	if (err)
		panic("CPU_ON %u: %ld", index, err);
}

void cpu_wait(unsigned int index, enum cpu_state state)
{
	while (cpus[index].state != state)
		__asm__ volatile("wfe");
}

void cpu_off(void)
{
	panic("CPU_OFF: %ld", psci(CPU_OFF, 0, 0, 0));
}

bool cpu_is_off(unsigned int index)
{
	return psci(AFFINITY_INFO, index, 0, 0) == 1;
}

void system_off(void)
{
	for (;;)
		psci(SYSTEM_OFF, 0, 0, 0);
}
