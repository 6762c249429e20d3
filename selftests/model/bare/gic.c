// SPDX-License-Identifier: GPL-2.0-or-later
/* GICv3 with affinity routing: PPIs of each CPU, at one priority (IHI 0069). */
#include "bare.h"

#define GICD		0x08000000UL
#define GICR(cpu)	(0x080a0000UL + (cpu) * 0x20000UL)
#define GICD_CTLR	0x0
#define GICR_WAKER	0x14
#define SGI		0x10000UL
#define GICR_IGROUPR0	(SGI + 0x80)
#define GICR_ISENABLER0	(SGI + 0x100)
#define GICR_ICENABLER0	(SGI + 0x180)
#define GICR_ISPENDR0	(SGI + 0x200)
#define GICR_ICPENDR0	(SGI + 0x280)
#define GICR_IPRIORITYR	(SGI + 0x400)

static volatile u32 *reg(u64 address)
{
	return at(address);
}

void gic_init(void)
{
	*reg(GICD + GICD_CTLR) = 1 << 4 | 1 << 1;	/* ARE, group 1 */
}

void gic_init_cpu(unsigned int cpu)
{
	u64 base = GICR(cpu);

	*reg(base + GICR_WAKER) &= ~2U;
	while (*reg(base + GICR_WAKER) & 4)
		;
	*reg(base + GICR_IGROUPR0) = ~0U;
	*reg(base + GICR_ICENABLER0) = ~0U;
	for (unsigned int i = 0; i < 32; i += 4)
		*reg(base + GICR_IPRIORITYR + i) = 0xa0a0a0a0;
	WRITE(S3_0_C12_C12_5, 7);		/* ICC_SRE_EL1 */
	isb();
	WRITE(S3_0_C4_C6_0, 0xff);		/* ICC_PMR_EL1 */
	WRITE(S3_0_C12_C12_7, 1);		/* ICC_IGRPEN1_EL1 */
	isb();
}

void gic_enable(unsigned int cpu, unsigned int intid, bool on)
{
	*reg(GICR(cpu) + (on ? GICR_ISENABLER0 : GICR_ICENABLER0)) = 1U << intid;
	dsb();
	isb();
}

bool gic_pending(unsigned int cpu, unsigned int intid)
{
	return *reg(GICR(cpu) + GICR_ISPENDR0) >> intid & 1;
}

void gic_clear(unsigned int cpu, unsigned int intid)
{
	*reg(GICR(cpu) + GICR_ICPENDR0) = 1U << intid;
	dsb();
}

u32 gic_acknowledge(void)
{
	u32 intid = READ(S3_0_C12_C12_0);	/* ICC_IAR1_EL1 */

	dsb();
	return intid & 0xffffff;
}

void gic_end(u32 intid)
{
	WRITE(S3_0_C12_C12_1, intid);		/* ICC_EOIR1_EL1 */
	isb();
}
