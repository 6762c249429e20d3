/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace buffer of each CPU (FEAT_TRBE): stores what the CPU's trace unit generates in an AUX
 * area.
 */
#ifndef FLOWTAP_KMOD_TRBE_H
#define FLOWTAP_KMOD_TRBE_H

#include <linux/types.h>

struct flowtap_aux;
struct flowtap_collected;

/**
 * trbe_init() - find the buffers' interrupts and request them
 *
 * It cannot fail: trbe_online() says what is missing.
 *
 * Context: the module's load; may sleep.
 */
void trbe_init(void);

/**
 * trbe_exit() - free the buffers' interrupts
 *
 * Context: every CPU is after trbe_offline(); may sleep.
 */
void trbe_exit(void);

/**
 * trbe_online() - look whether this CPU's buffer is usable, and enable its interrupt
 *
 * Context: the CPU in question, interrupts off.
 * Return: FLOWTAP_REASON_NONE: it is; else another FLOWTAP_REASON_, and the kernel log says why.
 */
u32 trbe_online(void);

/**
 * trbe_offline() - disable the interrupt of this CPU's buffer
 *
 * Context: the CPU in question, interrupts off; the buffer is disabled.
 */
void trbe_offline(void);

/**
 * trbe_recover() - clear the state of a CPU that may have lost what its registers held
 *
 * Context: the CPU in question, interrupts off; the buffer is disabled.
 */
void trbe_recover(void);

/**
 * trbe_idr() - TRBIDR_EL1 of this CPU
 *
 * Context: the CPU in question, after trbe_online().
 * Return: the register's value.
 */
u64 trbe_idr(void);

/**
 * trbe_enable() - enable this CPU's buffer (K10.5.10, restoring: steps 1 to 3)
 * @aux: the area; the buffer stores from its head on.
 * @spare: it stores in the area's spare pages instead, of which nothing is kept.
 *
 * Context: the stream's CPU, interrupts off; trace is prohibited.
 * Return: 0; -ENOSPC: the reader has not taken enough; -EBUSY: somebody else has enabled it.
 */
int trbe_enable(struct flowtap_aux *aux, bool spare);

/**
 * trbe_disable() - disable this CPU's buffer and say what it has stored since trbe_enable()
 * @aux: the same area. Bytes that were skipped are filled with Ignore packets; the head is not
 * moved.
 * @collected: all but collision is set; collision only ever becomes true.
 *
 * Context: the stream's CPU, interrupts off; trace is prohibited, TSB CSYNC has been executed.
 */
void trbe_disable(struct flowtap_aux *aux, struct flowtap_collected *collected);

#endif /* FLOWTAP_KMOD_TRBE_H */
