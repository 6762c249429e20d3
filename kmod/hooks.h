/* SPDX-License-Identifier: GPL-2.0-only */
/* The scheduler's and the interrupts' tracepoints: in place while any stream is configured. */
#ifndef FLOWTAP_HOOKS_H
#define FLOWTAP_HOOKS_H

/* Finds the tracepoints; they are not exported by name. -ENOENT where the kernel has them not. */
int hooks_init(void);
int hooks_get(void);
/* After the last one no hook runs any more. May sleep. */
void hooks_put(void);

#endif /* FLOWTAP_HOOKS_H */
