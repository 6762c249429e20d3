/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether a CPU's trace buffer can be used, and which of its errata are to be worked around.
 * Nothing here touches hardware: the host's unit tests compile it as well.
 */
#ifndef FLOWTAP_KMOD_TRBE_USABLE_H
#define FLOWTAP_KMOD_TRBE_USABLE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

/**
 * trbe_errata() - the errata that a CPU's buffer has
 * @midr: its MIDR_EL1.
 * @has: whether this CPU has a capability, ARM64_WORKAROUND_.
 *
 * Context: as @has.
 * Return: TRBE_ of trbe_window.h.
 */
u32 trbe_errata(u32 midr, bool (*has)(unsigned int capability));

/**
 * struct trbe_cpu - a CPU as it was found
 */
struct trbe_cpu {
	/** @idr: TRBIDR_EL1. */
	u64 idr;
	/** @limitr: TRBLIMITR_EL1; 0 where @idr has P: reading it would trap. */
	u64 limitr;
	/** @errata: of trbe_errata(). */
	u32 errata;
	/** @hidden: the kernel is not mapped while user programs run. */
	bool hidden;
	/** @kvm_faults: KVM cannot be told that the buffer is enabled. */
	bool kvm_faults;
};

/**
 * trbe_usable() - whether a CPU's buffer can be used
 * @cpu: as it was found.
 * @why: set to a text that says what prevents it; NULL for FLOWTAP_REASON_NONE.
 *
 * Context: any.
 * Return: FLOWTAP_REASON_NONE, _UNUSABLE or _OWNED.
 */
u32 trbe_usable(const struct trbe_cpu *cpu, const char **why);

/**
 * trbe_alignment() - the alignment of a buffer's write pointer
 * @idr: TRBIDR_EL1 of one that can be used.
 *
 * Context: any.
 * Return: bytes, 1 to 2048.
 */
u32 trbe_alignment(u64 idr);

#endif /* FLOWTAP_KMOD_TRBE_USABLE_H */
