// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checks a trace unit's configuration against its capabilities, completes it, and computes
 * TRCVICTLR and TRFCR_EL1.
 */
#ifdef __KERNEL__
#include <linux/errno.h>
#endif

#include "ete_config.h"
#include "ete_registers.h"
#include "trbe_registers.h"

#define SYNC_PERIOD	12			/* log2 of bytes, as in table K10-3 */
#define SYNC_MIN	8			/* 0 turns it off, and lower ones are reserved */
#define SYNC_MAX	20
#define THRESHOLD	0x100			/* cycles */
#define THRESHOLD_MAX	0xfff			/* TRCCCCTLR.THRESHOLD */
#define STROBE_NS_MIN	100000ULL
#define STROBE_NS_MAX	60000000000ULL
#define RANGES		4

static u32 field(u32 value, u32 mask)
{
	return (value & mask) / (mask & -mask);
}

u64 ete_config_settable(const u32 *trcidr)
{
	u64 settable = 0;

	if (field(trcidr[0], IDR0_BB))
		settable |= CONFIGR_BB;
	if (field(trcidr[0], IDR0_CCI))
		settable |= CONFIGR_CCI;
	if (field(trcidr[0], IDR0_RETSTACK))
		settable |= CONFIGR_RS;
	if (field(trcidr[0], IDR0_TSSIZE))
		settable |= CONFIGR_TS;
	if (field(trcidr[2], IDR2_CIDSIZE))
		settable |= CONFIGR_CID;
	if (field(trcidr[2], IDR2_VMIDSIZE))
		settable |= CONFIGR_VMID;
	if (field(trcidr[2], IDR2_VMIDOPT))
		settable |= CONFIGR_VMIDOPT;
	return settable;
}

u64 ete_config_victlr(u32 modes, u32 trcidr3)
{
	u64 excluded = VICTLR_S;

	if (!(modes & FLOWTAP_MODE_USER))
		excluded |= VICTLR_NS_EL0;
	if (!(modes & FLOWTAP_MODE_KERNEL))
		excluded |= VICTLR_NS_KERNEL;
	return VICTLR_ALWAYS | VICTLR_SSSTATUS | (excluded & trcidr3 & IDR3_EXLEVELS);
}

u64 ete_config_trfcr(u32 modes, u64 config, bool el2)
{
	u64 value = TRFCR_VIRTUAL;

	if (modes & FLOWTAP_MODE_USER)
		value |= TRFCR_E0;
	if (modes & FLOWTAP_MODE_KERNEL)
		value |= TRFCR_EX;
	if (modes && el2 && config & (CONFIGR_VMID | CONFIGR_CID))
		value |= TRFCR_CX;
	return value;
}

static bool is_strobe(u64 ns)
{
	return ns >= STROBE_NS_MIN && ns <= STROBE_NS_MAX;
}

static int check_ranges(const struct flowtap_ete_configure *ete, u32 most)
{
	u32 n;

	if (ete->address_ranges > RANGES)
		return -EINVAL;
	for (n = 0; n < RANGES; n++) {
		if (n < ete->address_ranges ? ete->address_start[n] >= ete->address_end[n] :
		    ete->address_start[n] || ete->address_end[n])
			return -EINVAL;
	}
	return ete->address_ranges > most ? -EOPNOTSUPP : 0;
}

int ete_config_complete(const struct flowtap_ete_caps *caps, struct flowtap_ete_configure *ete)
{
	const u64 known = CONFIGR_BB | CONFIGR_CCI | CONFIGR_CID | CONFIGR_VMID | CONFIGR_TS |
			  CONFIGR_RS | CONFIGR_VMIDOPT;
	const u32 least = field(caps->trcidr[3], IDR3_CCITMIN);
	int error;

	if (ete->flags || ete->reserved || ete->config & ~known)
		return -EINVAL;
	if ((ete->strobe_on_ns || ete->strobe_off_ns) &&
	    !(is_strobe(ete->strobe_on_ns) && is_strobe(ete->strobe_off_ns)))
		return -EINVAL;
	if (ete->sync_period && (ete->sync_period < SYNC_MIN || ete->sync_period > SYNC_MAX))
		return -EINVAL;
	if (ete->cycle_threshold > THRESHOLD_MAX ||
	    (ete->cycle_threshold && !(ete->config & CONFIGR_CCI)))
		return -EINVAL;
	error = check_ranges(ete, caps->address_ranges);
	if (error)
		return error;
	if (ete->config & ~caps->settable)
		return -EOPNOTSUPP;
	if (!ete->sync_period)
		ete->sync_period = SYNC_PERIOD;
	if (!(ete->config & CONFIGR_CCI))
		return 0;
	if (!ete->cycle_threshold)
		ete->cycle_threshold = THRESHOLD;
	if (ete->cycle_threshold < least)
		ete->cycle_threshold = least;
	return 0;
}
