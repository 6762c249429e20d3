/* SPDX-License-Identifier: GPL-2.0-only */
/* How architectures differ, apart from their sources. */
#ifndef FLOWTAP_KMOD_MACHINE_H
#define FLOWTAP_KMOD_MACHINE_H

#include <linux/types.h>

#ifdef CONFIG_ARM64
#include <asm/cpufeature.h>
#endif

/**
 * machine_overflows_are_nmis() - whether hardware counters overflow by an NMI
 *
 * What an overflow triggers writes to the ring, which an NMI must not.
 *
 * Context: any.
 * Return: they do.
 */
static inline bool machine_overflows_are_nmis(void)
{
#ifdef CONFIG_ARM64
	return system_uses_irq_prio_masking();
#else
	return IS_ENABLED(CONFIG_X86);
#endif
}

/**
 * machine_config_is_harmless() - whether callers may set perf_event_attr.config1 and config2
 *
 * Context: any.
 * Return: these fields say no more than what is counted.
 */
static inline bool machine_config_is_harmless(void)
{
	/* In riscv_pmu_sbi bit 0 of config1 turns what is excluded into the guests' modes. */
	return !IS_ENABLED(CONFIG_RISCV);
}

#endif /* FLOWTAP_KMOD_MACHINE_H */
