/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a stream's CPU is asked from others. What is asked is done when the call returns; where that
 * CPU is offline nothing is done, and nothing is recorded there.
 */
#ifndef FLOWTAP_KMOD_REMOTE_H
#define FLOWTAP_KMOD_REMOTE_H

#include <linux/types.h>

struct flowtap_stream;
struct task_struct;

/**
 * remote_may_have() - whether a stream's CPU has to be asked about a task
 * @stream: whose CPU.
 * @task: whether it is recorded has changed before the call.
 *
 * No CPU is interrupted where the task cannot be.
 *
 * Context: any.
 * Return: the stream holds its source, or the task runs there or is allowed to.
 */
bool remote_may_have(const struct flowtap_stream *stream, const struct task_struct *task);

/**
 * remote_may_have_any() - whether a stream's CPU has to be asked about any of the set
 * @stream: who it records has changed before the call.
 *
 * Context: any.
 * Return: as remote_may_have(); true for a CPU-wide stream.
 */
bool remote_may_have_any(struct flowtap_stream *stream);

/**
 * remote_reconsider() - have the CPU look who it records: holder_reconsider() there
 * @stream: it may record the task there from now on, or not any more.
 *
 * Of a CPU that is offline this CPU writes what there is to be written: holder_write_rest().
 *
 * Context: process context, may sleep.
 */
void remote_reconsider(struct flowtap_stream *stream);

/**
 * remote_snapshot() - take a sample, or an AUX record, of the task there
 * @stream: the CPU is not interrupted unless this holds its source.
 *
 * Context: interrupts on; does not sleep.
 * Return: entries of the sample, or bytes of the AUX record; 0 also where there is none.
 */
u32 remote_snapshot(struct flowtap_stream *stream);

/**
 * remote_release() - take a stream's source from it: holder_release() there
 * @stream: cannot be enabled any more. The CPU is not interrupted unless this holds its source.
 *
 * Context: interrupts on; does not sleep.
 */
void remote_release(struct flowtap_stream *stream);

#endif /* FLOWTAP_KMOD_REMOTE_H */
