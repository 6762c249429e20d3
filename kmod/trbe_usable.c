// SPDX-License-Identifier: GPL-2.0-only
/*
 * Maps the kernel's errata capabilities to what they mean for the trace buffer, and names what
 * prevents its use.
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
} table[] = {
	{ ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE, TRBE_OVERWRITES_BASE },
	{ ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE, TRBE_PASSES_LIMIT },
	{ ARM64_WORKAROUND_2064142, TRBE_DRAINS_TWICE },
	{ ARM64_WORKAROUND_2038923, TRBE_ENABLES_LATE },
	{ ARM64_WORKAROUND_1902691, TRBE_CORRUPTS },
};

u32 trbe_errata(bool (*has)(unsigned int capability))
{
	u32 errata = 0, i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (has(table[i].capability))
			errata |= table[i].erratum;
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
