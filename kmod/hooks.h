/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The scheduler's and the interrupts' tracepoints: their probes are in place while any stream is
 * configured, and some seconds longer. To put them there and to take them away interrupts every
 * CPU, which nobody may do over and over.
 */
#ifndef FLOWTAP_KMOD_HOOKS_H
#define FLOWTAP_KMOD_HOOKS_H

/**
 * hooks_init() - find the tracepoints, which are not exported by name
 *
 * Context: the module's load.
 * Return: 0; -ENOENT: the kernel lacks one.
 */
int hooks_init(void);

/**
 * hooks_exit() - take the probes away; none runs any more
 *
 * Context: the module's unload: no stream is left. May sleep.
 */
void hooks_exit(void);

/**
 * hooks_get() - have the probes in place for one more stream
 *
 * Context: may sleep.
 * Return: 0 or -errno of tracepoint_probe_register_prio().
 */
int hooks_get(void);

/**
 * hooks_put() - end what hooks_get() has begun
 *
 * Context: may sleep.
 */
void hooks_put(void);

#endif /* FLOWTAP_KMOD_HOOKS_H */
