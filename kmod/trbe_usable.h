/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a CPU's trace buffer can be used, and which of its errata are to be worked around. Nothing
 * here touches hardware: the host's unit tests compile it as well.
 */
#ifndef FLOWTAP_TRBE_USABLE_H
#define FLOWTAP_TRBE_USABLE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/* TRBE_ of trbe_window.h for those ARM64_WORKAROUND_ of which `has` says true. */
u32 trbe_errata(bool (*has)(unsigned int capability));

/* As a CPU was found. */
struct trbe_cpu {
	u64 idr;		/* TRBIDR_EL1 */
	u64 limitr;		/* TRBLIMITR_EL1 */
	u32 errata;		/* trbe_errata */
	bool hidden;		/* the kernel is not mapped while user programs run */
};

/* A FLOWTAP_REASON_; *why is a text that says what is in the way, NULL for FLOWTAP_REASON_NONE. */
u32 trbe_usable(const struct trbe_cpu *cpu, const char **why);
/* Bytes that the write pointer is aligned to, of a buffer that can be used. */
u32 trbe_alignment(u64 idr);

#endif /* FLOWTAP_TRBE_USABLE_H */
