/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of a trace unit's configuration: what may be asked for, and which values of
 * registers it becomes. Nothing here touches hardware: the host's unit tests compile it as well.
 */
#ifndef FLOWTAP_ETE_CONFIG_H
#define FLOWTAP_ETE_CONFIG_H

#include <linux/flowtap.h>

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* The bits of TRCCONFIGR that flowtap_ete_configure.config may hold, by TRCIDR0 and TRCIDR2. */
u64 ete_config_settable(const u32 *trcidr);
/* TRCVICTLR for FLOWTAP_MODE_, by TRCIDR3: everything, but no exception level that is not asked for. */
u64 ete_config_victlr(u32 modes, u32 trcidr3);
/* TRFCR_EL1, or TRFCR_EL2 where the kernel runs there. modes 0: trace is prohibited. */
u64 ete_config_trfcr(u32 modes, u64 config, bool el2);
/*
 * 0, and what was left to us is filled in; -EINVAL: nonsense anywhere; -EOPNOTSUPP: more address
 * ranges, or bits of config, than this trace unit has.
 */
int ete_config_complete(const struct flowtap_ete_caps *caps, struct flowtap_ete_configure *ete);

#endif /* FLOWTAP_ETE_CONFIG_H */
