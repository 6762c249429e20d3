/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The trace buffer of each CPU (FEAT_TRBE): stores what the CPU's trace unit generates in an AUX
 * area. All but trbe_init and trbe_exit run on the CPU in question with interrupts off.
 */
#ifndef FLOWTAP_TRBE_H
#define FLOWTAP_TRBE_H

#include <linux/types.h>

struct aux;
struct collected;

/* Finds the buffers' interrupts and takes them. May sleep. What is missing trbe_online tells. */
void trbe_init(void);
void trbe_exit(void);

/* A FLOWTAP_REASON_; the kernel log says why it is not usable. */
u32 trbe_online(void);
void trbe_offline(void);
/* The CPU may have lost what its registers held. */
void trbe_recover(void);
u64 trbe_idr(void);

/*
 * Enables the buffer behind the area's head, or in its spare pages (K10.5.10, restoring: steps 1 to
 * 3). Trace is prohibited. 0, -ENOSPC (the reader has not taken enough) or -EBUSY (someone enabled
 * it).
 */
int trbe_enable(struct aux *aux, bool spare);
/*
 * Trace is prohibited and TSB CSYNC has been executed. Disables the buffer and tells what it
 * stored since trbe_enable; the bytes in between are filled with Ignore packets.
 */
void trbe_disable(struct aux *aux, struct collected *collected);

#endif /* FLOWTAP_TRBE_H */
