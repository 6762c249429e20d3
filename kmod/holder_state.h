/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU knows of its streams, and how its source changes hands: for holder*.c alone. All of it
 * is the CPU's own, with interrupts off, but for the list.
 */
#ifndef FLOWTAP_KMOD_HOLDER_STATE_H
#define FLOWTAP_KMOD_HOLDER_STATE_H

#include <linux/bug.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rculist.h>

#include "stream.h"

/**
 * struct flowtap_cpu - a CPU, its streams and who has its source
 * @streams: changed under a lock of holder_cpu.c, read under RCU.
 * @holder: the stream that has the source, or NULL.
 * @member: the current task's, in the holder's set.
 * @sources: bit FLOWTAP_SOURCE_x: usable; 0: offline.
 * @asleep: about to enter a state that may lose registers.
 * @onlines: times that the CPU has come online, the first one included.
 * @scratch: FLOWTAP_DEPTH_MAX entries.
 */
struct flowtap_cpu {
	struct list_head streams;
	struct flowtap_stream *holder;
	struct flowtap_member *member;
	u64 sources;
	bool asleep;
	u64 onlines;
	struct flowtap_entry *scratch;
};

DECLARE_PER_CPU(struct flowtap_cpu, holder_cpus);

/**
 * enum flowtap_leaving - how a stream loses the source
 * @LEAVING_FOR_NOW: what was recorded goes on when it is back.
 * @LEAVING_FOR_EVER: a last sample, if there are samples at switches.
 * @LEAVING_AT_ONCE: what was recorded is dropped.
 */
enum flowtap_leaving {
	LEAVING_FOR_NOW,
	LEAVING_FOR_EVER,
	LEAVING_AT_ONCE,
};

/**
 * holder_leave() - take the source from its holder: nobody has it then
 * @cpu: this one, with a holder.
 * @leaving: what becomes of what was recorded.
 * @cause: FLOWTAP_CAUSE_ of the loss, if something is dropped.
 *
 * Context: this CPU, interrupts off.
 */
void holder_leave(struct flowtap_cpu *cpu, enum flowtap_leaving leaving, u32 cause);

/**
 * holder_claim() - give the source to the first stream that wants it; others get a loss
 * @cpu: this one. A CPU-wide stream is the first in the list.
 * @task: on this CPU now.
 * @running: it has been there for a while.
 *
 * Nothing is recorded yet where it was free: see holder_resume().
 *
 * Context: this CPU, interrupts off.
 */
void holder_claim(struct flowtap_cpu *cpu, struct task_struct *task, bool running);

/**
 * holder_claim_for_current() - the same where streams came or went, or the current task's
 * @cpu: this one.
 *
 * One may get the source, and records from here on; others are displaced.
 *
 * Context: this CPU, interrupts off.
 */
void holder_claim_for_current(struct flowtap_cpu *cpu);

/**
 * holder_write_now() - write a sample or an AUX record of the holder
 * @cpu: this one, with a holder.
 * @trigger: FLOWTAP_TRIGGER_.
 * @regs: what was interrupted, or NULL.
 *
 * Context: this CPU, interrupts off.
 * Return: entries of the sample, bytes of the AUX record.
 */
u32 holder_write_now(struct flowtap_cpu *cpu, u32 trigger, struct pt_regs *regs);

/**
 * holder_update_number() - begin a sequence of its own where the task has another number
 * @stream: has the source, or is about to.
 * @member: the task's.
 *
 * Samples under another number do not go on from the one before.
 *
 * Context: this CPU, interrupts off.
 */
void holder_update_number(const struct flowtap_stream *stream, struct flowtap_member *member);

/**
 * holder_resume() - have the source record whoever is on the CPU from here on
 * @cpu: this one.
 *
 * Context: this CPU, interrupts off.
 */
static inline void holder_resume(const struct flowtap_cpu *cpu)
{
	if (cpu->holder)
		cpu->holder->source->resume(&cpu->holder->recording);
}

/**
 * holder_wide_of() - find the CPU-wide stream of a CPU
 * @cpu: the CPU.
 *
 * Context: under RCU, or the lock of the list.
 * Return: the stream, or NULL.
 */
static inline struct flowtap_stream *holder_wide_of(struct flowtap_cpu *cpu)
{
	struct flowtap_stream *first = list_first_or_null_rcu(&cpu->streams,
							      struct flowtap_stream, cpu_link);

	return first && stream_is_wide(first) ? first : NULL;
}

/**
 * holder_assert_on_this_cpu() - warn where the caller could be moved to another CPU
 *
 * What the caller has changed is of this CPU: elsewhere the task would have run meanwhile. Kernels
 * after 6.12 call hooks with preemption on: better a warning here than a false loss now and then.
 *
 * Context: any.
 */
static inline void holder_assert_on_this_cpu(void)
{
	WARN_ON_ONCE(preemptible());
}

#endif /* FLOWTAP_KMOD_HOLDER_STATE_H */
