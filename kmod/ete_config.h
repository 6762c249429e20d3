/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of a trace unit's configuration: what may be asked for, and which values of
 * registers it becomes. Nothing here touches hardware: the host's unit tests compile it as well.
 */
#ifndef FLOWTAP_KMOD_ETE_CONFIG_H
#define FLOWTAP_KMOD_ETE_CONFIG_H

#include <linux/flowtap.h>

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/**
 * ete_config_settable() - which bits of TRCCONFIGR a trace unit has
 * @trcidr: TRCIDR0 to TRCIDR2.
 *
 * Context: any.
 * Return: the bits that flowtap_ete_configure.config may hold.
 */
u64 ete_config_settable(const u32 *trcidr);

/**
 * ete_config_victlr() - TRCVICTLR: trace everything, but no exception level that is not asked for
 * @modes: FLOWTAP_MODE_.
 * @trcidr3: TRCIDR3.
 *
 * Context: any.
 * Return: the register's value.
 */
u64 ete_config_victlr(u32 modes, u32 trcidr3);

/**
 * ete_config_trfcr() - TRFCR_EL1, or TRFCR_EL2 where the kernel runs there
 * @modes: FLOWTAP_MODE_; 0: trace is prohibited.
 * @config: TRCCONFIGR.
 * @el2: the kernel runs at EL2.
 *
 * Context: any.
 * Return: the register's value.
 */
u64 ete_config_trfcr(u32 modes, u64 config, bool el2);

/**
 * ete_config_complete() - check what is asked for, and fill in what is left to the module
 * @caps: the trace unit's.
 * @ete: as the caller of CONFIGURE gives it; complete after success.
 *
 * Context: any.
 * Return: 0; -EINVAL: nonsense anywhere; -EOPNOTSUPP: more address ranges, or bits of config, than
 * this trace unit has.
 */
int ete_config_complete(const struct flowtap_ete_caps *caps, struct flowtap_ete_configure *ete);

#endif /* FLOWTAP_KMOD_ETE_CONFIG_H */
