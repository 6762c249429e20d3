// SPDX-License-Identifier: GPL-2.0-or-later
/* The first C, with the MMU off: which mode, the translation tables. Only relative addresses. */
#include "bare.h"

struct boot boot;

#define SCTLR_RES1	0x30d00800UL	/* with SPAN: PAN stays as it is */
#define SCTLR_M		(1UL << 0)
#define SCTLR_C		(1UL << 2)
#define SCTLR_I		(1UL << 12)
#define SCTLR_KEYS	(1UL << 31 | 1UL << 30 | 1UL << 27 | 1UL << 13)	/* EnIA EnIB EnDA EnDB */
#define SCTLR_EL0	(1UL << 14 | 1UL << 15 | 1UL << 16 | 1UL << 18 | 1UL << 26)
			/* DZE, UCT, nTWI, nTWE, UCI: EL0 may */

static u64 translation_control(u32 granule)
{
	u64 tg0 = granule == 12 ? 0 : granule == 14 ? 2 : 1;
	u64 tg1 = granule == 12 ? 2 : granule == 14 ? 1 : 3;
	u64 half = 16 | 1 << 8 | 1 << 10 | 3 << 12;	/* 48 bits, cacheable, inner shareable */

	return half | tg0 << 14 | half << 16 | tg1 << 30 | 2UL << 32;
}

static void map_all(u64 *low, u64 *high)
{
	mmu_map(high, KERNEL + RAM, RAM, RAM_SIZE, ACCESS_KERNEL, false);
	mmu_map(high, KERNEL + 0x08000000, 0x08000000, 0x02000000, ACCESS_DEVICE, false);
	for (u64 cpu = 0; cpu < CPUS; cpu++) {
		u64 offset = cpu * TRACE_WINDOW_CPU, trace = TRACE_MEMORY + cpu * TRACE_ROOM;

		mmu_map(high, TRACE_WINDOW + offset, trace, TRACE_ROOM, ACCESS_KERNEL, true);
		mmu_map(low, TRACE_LOW + offset, trace, TRACE_ROOM, ACCESS_KERNEL, true);
	}
	/* Until the MMU is on, we execute here. */
	mmu_map(low, RAM, RAM, 0x02000000, ACCESS_KERNEL, false);
}

void boot_early(void)
{
	u64 *low, *high;

	semihost_command_line(boot.command, sizeof(boot.command));
	boot.mode = MODE_EL1;
	if ((READ(CurrentEL) >> 2 & 3) == 2)
		boot.mode = option_is("el", "nvhe") ? MODE_NVHE : MODE_VHE;
	boot.granule = option_is("granule", "64") ? 16 : option_is("granule", "16") ? 14 : 12;
	mmu_boot();
	low = mmu_new_root();
	high = mmu_new_root();
	map_all(low, high);
	boot.ttbr0 = (u64)low;
	boot.ttbr1 = (u64)high;
	boot.tcr = translation_control(boot.granule);
	boot.mair = 0xff | 0x00 << 8 | 0x44 << 16;
	boot.sctlr = SCTLR_RES1 | SCTLR_M | SCTLR_C | SCTLR_I | SCTLR_KEYS | SCTLR_EL0;
	dsb();
}
