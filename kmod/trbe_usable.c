// SPDX-License-Identifier: GPL-2.0-only
/*
 * Says which errata a CPU's trace buffer has, by the CPU's number and by the kernel's capabilities,
 * and names what prevents its use.
 */
#ifdef __KERNEL__
#include <linux/kernel.h>
#include <asm/cpucaps.h>
#endif
#include <linux/flowtap.h>

#include "trbe_registers.h"
#include "trbe_usable.h"
#include "trbe_window.h"

/* ARM64_WORKAROUND_TSB_FLUSH_FAILURE is tsb_csync()'s. */
static const struct {
	unsigned int capability;
	u32 erratum;
} workarounds[] = {
	{ ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE, TRBE_OVERWRITES_BASE },
	{ ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE, TRBE_PASSES_LIMIT },
	{ ARM64_WORKAROUND_2064142, TRBE_DRAINS_TWICE },
	{ ARM64_WORKAROUND_2038923, TRBE_ENABLES_LATE },
	{ ARM64_WORKAROUND_1902691, TRBE_CORRUPTS },
};

/* MIDR_EL1: implementer 31:24, variant 23:20, part number 15:4, revision 3:0. */
#define PART(implementer, part)	((u32)(implementer) << 24 | (part) << 4)
#define PART_MASK	0xff00fff0U
#define VERSION(midr)	(((midr) >> 16 & 0xf0) | ((midr) & 0xf))

/*
 * A kernel without CONFIG_CORESIGHT_TRBE has none of these capabilities (arch/arm64/Kconfig), the
 * CPU has the errata all the same. Versions up to and with @last, as Linux has them.
 */
static const struct {
	u32 part;
	u8 last;
	u32 errata;
} parts[] = {
	{ PART(0x41, 0xd46), 0x02, TRBE_DRAINS_TWICE | TRBE_ENABLES_LATE },	/* Cortex-A510 */
	{ PART(0x41, 0xd46), 0x01, TRBE_CORRUPTS },
	{ PART(0x41, 0xd47), 0xff, TRBE_OVERWRITES_BASE | TRBE_PASSES_LIMIT },	/* Cortex-A710 */
	{ PART(0x41, 0xd48), 0x20, TRBE_OVERWRITES_BASE | TRBE_PASSES_LIMIT },	/* Cortex-X2 */
	{ PART(0x41, 0xd49), 0xff, TRBE_OVERWRITES_BASE | TRBE_PASSES_LIMIT },	/* Neoverse N2 */
	/* Azure Cobalt 100, made of it */
	{ PART(0x6d, 0xd49), 0xff, TRBE_OVERWRITES_BASE | TRBE_PASSES_LIMIT },
};

u32 trbe_errata(u32 midr, bool (*has)(unsigned int capability))
{
	u32 errata = 0, i;

	for (i = 0; i < sizeof(workarounds) / sizeof(workarounds[0]); i++)
		if (has(workarounds[i].capability))
			errata |= workarounds[i].erratum;
	for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if ((midr & PART_MASK) == parts[i].part && VERSION(midr) <= parts[i].last)
			errata |= parts[i].errata;
	return errata;
}

/*
 * TRBIDR_EL1.F does not matter: the area's pages are mapped as accessed and dirty. Where EA says
 * that external aborts are not reported, nobody can report them.
 */
static const char *obstacle(const struct trbe_cpu *cpu)
{
	if (cpu->idr & IDR_P)
		return "a higher exception level owns it (TRBIDR_EL1.P)";
	if ((cpu->idr & IDR_ALIGN) > ALIGN_MAX)
		return "it wants an alignment that is reserved (TRBIDR_EL1.Align)";
	/* Its writes go through the page tables of EL0 while that runs, which lack the area. */
	if (cpu->hidden)
		return "the kernel is not mapped while user programs run (KPTI: kpti=off)";
	if (cpu->errata & TRBE_CORRUPTS)
		return "erratum 1902691 of this CPU corrupts the trace";
	if (cpu->kvm_faults)
		return "KVM of Linux 6.14 to 6.17 wants a kernel at EL2 for it (VHE)";
	return NULL;
}

u32 trbe_usable(const struct trbe_cpu *cpu, const char **why)
{
	*why = obstacle(cpu);
	if (*why)
		return FLOWTAP_REASON_UNUSABLE;
	if (!(cpu->limitr & LIMITR_E))
		return FLOWTAP_REASON_NONE;
	*why = "somebody uses it (TRBLIMITR_EL1.E)";
	return FLOWTAP_REASON_OWNED;
}

u32 trbe_alignment(u64 idr)
{
	return 1U << (idr & IDR_ALIGN);
}
