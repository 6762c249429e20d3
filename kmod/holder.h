/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who holds this CPU's source. A CPU has a list of streams, oldest first; when a task comes onto
 * the CPU the first enabled stream whose set has it gets the source, until the task leaves. A
 * CPU-wide stream, of which there is one at most, is the first in the list.
 */
#ifndef FLOWTAP_KMOD_HOLDER_H
#define FLOWTAP_KMOD_HOLDER_H

#include <linux/types.h>

struct irqaction;

struct flowtap_group;
struct pt_regs;
struct flowtap_stream;
struct task_struct;

/**
 * holder_is() - whether a stream holds its CPU's source
 * @stream: any stream.
 *
 * Context: any, any CPU.
 * Return: it does, at this moment.
 */
bool holder_is(const struct flowtap_stream *stream);

/**
 * holder_write_rest() - write what a disabled stream has yet to say, where its CPU is offline
 * @stream: its LOST record, its tasks' GAP records; nothing happens while it is enabled.
 *
 * Context: process context; the CPU stays offline (cpus_read_lock()).
 */
void holder_write_rest(struct flowtap_stream *stream);

/* --- On the stream's CPU, with interrupts off: for other CPUs, see remote.h. --- */

/**
 * holder_reconsider() - look whether the current task is a stream's
 * @stream: of this CPU: the current task may be its from now on, or not any more.
 *
 * A stream that is disabled writes what it still has to: the GAP records of displaced tasks and a
 * LOST record.
 *
 * Context: this CPU, interrupts off.
 */
void holder_reconsider(struct flowtap_stream *stream);

/**
 * holder_snapshot() - take a sample, or an AUX record, if the stream holds the source
 * @stream: of this CPU.
 *
 * Context: this CPU, in an interrupt.
 * Return: entries of the sample, bytes of the AUX record; 0 also where there is none.
 */
u32 holder_snapshot(struct flowtap_stream *stream);

/**
 * holder_release() - take the source from a stream that holds it
 * @stream: of this CPU; cannot be enabled any more.
 *
 * Context: this CPU, interrupts off.
 */
void holder_release(struct flowtap_stream *stream);

/**
 * holder_trigger() - an event has overflowed, or a timer has expired: take a sample
 * @group: whose trigger it is. Where another group holds the source its task is displaced.
 * @trigger: FLOWTAP_TRIGGER_.
 * @regs: what was interrupted; for FLOWTAP_TRIGGER_TIMER NULL is allowed.
 *
 * Context: this CPU, interrupts off, not in an NMI.
 */
void holder_trigger(struct flowtap_group *group, u32 trigger, struct pt_regs *regs);

/**
 * holder_throttled() - perf stops the event of the current task for a while: write a GAP record
 * @group: whose event it is.
 *
 * Context: this CPU, interrupts off.
 */
void holder_throttled(struct flowtap_group *group);

/**
 * holder_tick() - the tick of a stream with an AUX area: see piece_tick()
 * @stream: of this CPU.
 *
 * Context: this CPU, interrupts off.
 */
void holder_tick(struct flowtap_stream *stream);

/**
 * holder_interrupt_done() - an interrupt handler is done: a source that it stopped goes on
 * @data: the number of the interrupt that may stop a source; 0: any may.
 * @irq: whose handler it was.
 * @action: the handler.
 * @result: of the handler.
 *
 * Context: the probe of irq_handler_exit; this CPU, interrupts off.
 */
void holder_interrupt_done(void *data, int irq, struct irqaction *action, int result);

/**
 * holder_switch() - the CPU goes from one task to another
 * @previous: leaves.
 * @next: comes: the first stream that wants it gets the source.
 *
 * Context: this CPU, interrupts off, the scheduler's locks held.
 */
void holder_switch(struct task_struct *previous, struct task_struct *next);

/* --- On this CPU, preemption disabled. --- */

/**
 * holder_task_here() - look who traces the current task
 *
 * It may be traced from now on, or not any more by a stream that excludes it.
 *
 * Context: this CPU, preemption disabled.
 */
void holder_task_here(void);

#endif /* FLOWTAP_KMOD_HOLDER_H */
