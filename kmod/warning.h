/* SPDX-License-Identifier: GPL-2.0-only */
/* What code under locks of the scheduler has for the kernel log. */
#ifndef FLOWTAP_KMOD_WARNING_H
#define FLOWTAP_KMOD_WARNING_H

#include <linux/types.h>

/**
 * warning_init() - make the works that print
 *
 * Context: the module's load.
 */
void warning_init(void);

/**
 * warning_exit() - wait for what is still to be printed
 *
 * Context: nobody warns any more; may sleep.
 */
void warning_exit(void);

/**
 * warning_unit_busy() - the trace unit of this CPU does not become idle
 *
 * A console may take locks of the scheduler, under which the switch hook runs: it is printed a moment
 * later, of several at once the last one.
 *
 * Context: the CPU in question, interrupts off.
 */
void warning_unit_busy(void);

/**
 * warning_buffer_stopped() - the trace buffer of this CPU stopped for another reason than being full
 * @status: TRBSR_EL1
 * @pointer: where it wrote next, in the area
 * @size: of the area
 *
 * Context: as warning_unit_busy().
 */
void warning_buffer_stopped(u64 status, u64 pointer, u64 size);

#endif /* FLOWTAP_KMOD_WARNING_H */
