/* SPDX-License-Identifier: GPL-2.0-only */
/* What of other_driver.ko is the architecture's. */
#ifndef FLOWTAP_SELFTESTS_KERNEL_MODULE_OTHER_DRIVER_MACHINE_H
#define FLOWTAP_SELFTESTS_KERNEL_MODULE_OTHER_DRIVER_MACHINE_H

#include <linux/prandom.h>
#include <linux/types.h>

/* words: what came after the name. answer: `size` bytes for a line to be read. 0 or -errno. */
struct other_driver_command {
	const char *name;
	int (*function)(const char *words, char *answer, size_t size);
};

/* Up to one without a name. */
extern const struct other_driver_command other_driver_machine_commands[];

/* Whether there is what flowtap.ko records with. */
bool other_driver_machine_here(void);
/* This CPU's registers hold anything, as after a reset. With interrupts off, nothing recording. */
void other_driver_scramble(struct rnd_state *random);

#endif /* FLOWTAP_SELFTESTS_KERNEL_MODULE_OTHER_DRIVER_MACHINE_H */
