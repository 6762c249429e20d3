/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the model asks of the machine that it is part of: QEMU (plugin_machine.c) or a test's own.
 * One machine has several PEs; each function is called from its PE's own thread only.
 */
#ifndef FLOWTAP_SELFTESTS_MODEL_MACHINE_H
#define FLOWTAP_SELFTESTS_MODEL_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* System registers that the machine has by itself and the model reads (translation, identity). */
enum machine_register {
	MACHINE_SCTLR_EL1,
	MACHINE_TCR_EL1,
	MACHINE_TTBR0_EL1,
	MACHINE_TTBR1_EL1,
	MACHINE_HCR_EL2,
	MACHINE_SCTLR_EL2,
	MACHINE_TCR_EL2,
	MACHINE_TTBR0_EL2,
	MACHINE_TTBR1_EL2,
	MACHINE_VTCR_EL2,
	MACHINE_VTTBR_EL2,
	MACHINE_MIDR_EL1,
	MACHINE_REGISTERS
};

struct machine {
	void *opaque;
	/* Guest physical memory. False: nothing answers there, which is an external abort. */
	bool (*read)(void *opaque, unsigned int cpu, uint64_t physical, void *bytes, size_t n);
	bool (*write)(void *opaque, unsigned int cpu, uint64_t physical, const void *bytes, size_t n);
	/* 0 where this machine does not have the register (no EL2). */
	uint64_t (*sysreg)(void *opaque, unsigned int cpu, enum machine_register which);
	/* The level of the PE's TRBIRQ (PPI). */
	void (*interrupt)(void *opaque, unsigned int cpu, bool level);
	/* The generic counter, CNTPCT. */
	uint64_t (*counter)(void *opaque, unsigned int cpu);
};

#endif
