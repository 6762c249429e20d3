/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be known about an Arm machine's trace hardware without the module. */
#ifndef FLOWTAP_TOOLS_COMMON_ARM_MACHINE_H
#define FLOWTAP_TOOLS_COMMON_ARM_MACHINE_H

#include <stdbool.h>

struct arm_machine {
	bool tree;		/* a device tree describes it; else ACPI does */
	bool unit;		/* the tree names a trace unit: arm,embedded-trace-extension */
	bool buffer;		/* and a trace buffer: arm,trace-buffer-extension */
	bool kpti;		/* the kernel is not mapped while user programs run */
};

void arm_machine_read(struct arm_machine *machine);
bool is_arm_machine(void);

/*
 * The kernel's own drivers of this hardware that are there, as words for rmmod; static, NULL: none.
 * built_in: into the kernel, so that they cannot go.
 */
const char *arm_machine_drivers(bool *built_in);

#endif /* FLOWTAP_TOOLS_COMMON_ARM_MACHINE_H */
