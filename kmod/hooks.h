/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's and the interrupts' tracepoints: in place while any stream is configured, and some seconds
 * longer. To put them there and to take them away interrupts every CPU, which nobody may do over and over.
 */
#ifndef FLOWTAP_HOOKS_H
#define FLOWTAP_HOOKS_H

/* Finds the tracepoints; they are not exported by name. -ENOENT where the kernel has them not. */
int hooks_init(void);
/* Takes them away. May sleep. */
void hooks_exit(void);
/* For a stream. May sleep; -errno. */
int hooks_get(void);
void hooks_put(void);

#endif /* FLOWTAP_HOOKS_H */
